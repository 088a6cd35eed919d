"""`dnatrace report`."""

import logging
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from dnatrace._version import __version__
from dnatrace.cli._command import Answer, Force, command, table
from dnatrace.files import keep_inputs

_LOG = logging.getLogger("dnatrace")


@command()
def report(
    directory: Annotated[
        Path, Argument(metavar="DIR", help="Store of runs, or the directory of one run.")
    ],
    out: Annotated[Path | None, Option(help="Page to write; DIR/report.html by default.")] = None,
    baseline: Annotated[
        str | None,
        Option(
            help="Setting to compare the others with, seed by seed: its label, or that of a run."
        ),
    ] = None,
    force: Force = False,
) -> Answer:
    """Write one HTML page about a store of runs: curves, trade-offs, privacy, parameters.

    The page needs no network and can be mailed. Runs that differ only in their seed are grouped;
    numbers are means with 90 % intervals. The page shows the differences from any setting that is
    chosen on it; --baseline chooses one beforehand and prints the differences here, too.

    Example: dnatrace report runs --out report.html
    """
    from dnatrace.report import write_report
    from dnatrace.report.page import is_page_of, shown_difference
    from dnatrace.runs.quantities import SUMMARY

    page = directory / "report.html" if out is None else out
    if page.suffix in (".html", ".htm") and (out is not None or page.exists()):
        keep_inputs(
            page, (), force=force or is_page_of(page, directory)
        )  # other suffixes are refused later
    written = write_report(directory, out, baseline)
    size = f"{written.bytes / 1e6:.1f} MB"
    counts = f"runs {written.runs}, settings {written.settings}"
    for name in written.repeated:
        _LOG.warning(
            "warning: run %s has the settings and the seed of another run; it is left out", name
        )
    left_out = len(written.left_out) + len(written.repeated)
    counts += f", left out {left_out}" if left_out else ""
    rows = [
        {"setting": row["label"]}
        | {SUMMARY[key].name: shown_difference(row[key]) for key in row if key != "label"}
        for row in written.differences
    ]
    title = f"Differences from {written.baseline}, seed by seed, ± half of their 90 % interval"
    return Answer(
        values=asdict(written) | {"path": str(written.path), "version": __version__},
        shown=[
            *((title, table(rows)) if rows else ()),
            *(
                [f"Unless a label says otherwise: {written.unsaid}."]
                if rows and written.unsaid
                else []
            ),
            *written.other_extent,
            f"Wrote {written.path} ({size}): {counts}",
        ],
    )
