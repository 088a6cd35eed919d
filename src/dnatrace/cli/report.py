"""`dnatrace report`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from dnatrace._version import __version__
from dnatrace.cli._command import Answer, command


@command()
def report(
    directory: Annotated[
        Path, Argument(metavar="DIR", help="Store of runs, or the directory of one run.")
    ],
    out: Annotated[Path | None, Option(help="Page to write; DIR/report.html else.")] = None,
) -> Answer:
    """Write one HTML page about a store of runs: curves, trade-offs, privacy, parameters.

    The page needs no network and can be mailed. Runs that differ only in their seed are put
    together; numbers are means with 90 % intervals.

    Example: dnatrace report runs --out report.html
    """
    from dnatrace.report import write_report

    written = write_report(directory, out)
    size = f"{written.bytes / 1000:,.0f} kB"
    counts = f"runs {written.runs}, settings {written.settings}"
    return Answer(
        values=asdict(written) | {"path": str(written.path), "version": __version__},
        shown=[f"Wrote {written.path} ({size}): {counts}"],
    )
