"""`dnatrace list`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from dnatrace.cli._command import Answer, command, table


@command()
def list(  # noqa: A001 - the name of the command
    store: Annotated[Path, Argument(metavar="STORE", help="Directory of stored runs.")],
    csv: Annotated[
        bool, Option("--csv", help="Print CSV: shares as fractions, unrounded.")
    ] = False,
) -> Answer:
    """Print the runs of a store, one per row: label, settings, peak, isolation.

    Example: dnatrace list runs --csv > runs.csv
    """
    from dnatrace.runs import listing
    from dnatrace.sweeps.results import as_csv

    rows, left_out = listing.list_runs(store)
    text = as_csv(rows).decode().rstrip() if csv else table([listing.for_people(r) for r in rows])
    values = {"store": str(store), "runs": rows, "left_out": left_out}
    return Answer(values=values, shown=[text])
