"""`dnatrace report`."""

from pathlib import Path
from typing import Annotated

import typer

from dnatrace._version import __version__
from dnatrace.cli.options import Json, Quiet, print_json, start


def report(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Store of runs, or the directory of one run.")
    ],
    out: Annotated[Path | None, typer.Option(help="Page to write; DIR/report.html else.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page about a store of runs: curves, trade-offs, privacy, parameters.

    The page needs no network and can be mailed. Runs that differ only in their seed are put
    together; numbers are means with 90 % intervals.

    Example: dnatrace report runs --out report.html
    """
    start(quiet)
    from dnatrace.report import write_report

    written = write_report(directory, out)
    if as_json:
        print_json(
            {
                "path": str(written.path),
                "runs": written.runs,
                "settings": written.settings,
                "bytes": written.bytes,
                "version": __version__,
            }
        )
    else:
        print(
            f"Wrote {written.path} ({written.bytes / 1000:,.0f} kB): "
            f"runs {written.runs}, settings {written.settings}"
        )
