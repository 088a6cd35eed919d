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
    """Print the runs of a store, one per row: label, settings that vary, peak, days at home.

    Example: dnatrace list runs --csv > runs.csv
    """
    from dnatrace.runs import listing
    from dnatrace.runs.console import print_note, print_rows
    from dnatrace.sweeps.results import as_csv

    rows, left_out = listing.list_runs(store)
    values = {"store": str(store), "runs": rows, "left_out": left_out}
    if csv:
        text = as_csv([listing.as_cells(row) for row in rows]).decode().rstrip()
        return Answer(values=values, shown=[text])
    texts = [listing.for_people(row) for row in rows]
    forms = (texts, [listing.in_short(one) for one in texts])
    rises = any(row["peak_reached"] is False for row in rows)
    note = f"{listing.RISING}: still rising on the last day; the peak is yet to come"
    notes = [lambda: print_note(note)] if rises else []
    return Answer(values=values, shown=[lambda: print_rows(forms, table), *notes])
