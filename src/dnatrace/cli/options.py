"""What all commands share: options, set-up, ways to print."""

import json
import logging
import sys
import warnings
from typing import Annotated, Any

import typer

from dnatrace.errors import InputError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No log lines on stderr.")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads to use; all cores by default.")
]


def start(quiet: bool, threads: int | None = None) -> None:
    """Set up logging, warnings and threads for a command."""
    level = logging.ERROR if quiet else logging.INFO
    logging.basicConfig(level=level, format="%(message)s", stream=sys.stderr)
    logging.captureWarnings(True)
    warnings.showwarning = lambda message, *_: logging.getLogger("dnatrace").warning(
        "warning: %s", message
    )
    if threads is not None:
        import numba

        most = numba.get_num_threads()
        if threads > most:
            raise InputError(f"--threads {threads}: this machine offers {most}")
        numba.set_num_threads(threads)


def print_json(values: dict[str, Any]) -> None:
    """Print one JSON object."""
    print(json.dumps(values, allow_nan=False))


def print_table(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows under the names of their columns."""
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for column in rows[0] if rows else ():
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(f"{v:.4f}" if isinstance(v, float) else str(v) for v in row.values()))
    print(title)
    Console().print(table)
