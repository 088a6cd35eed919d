"""Print tables whole: nothing is cut off where the terminal is narrow."""

from typing import IO, Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def print_table(table: Table) -> None:
    """Print a table as wide as the terminal, or wider where its longest words need it.

    Sentences are wrapped between words; a path or a number is never cut. Output that is not a
    terminal has no width: there every row is one line. Characters that the output cannot show are
    spelled out before columns are measured, so that columns stay aligned.
    """
    console = Console()
    _spell(table, console.file)
    needs = Measurement.get(console, console.options.update(max_width=_NO_LIMIT), table)
    width = max(console.width, needs.minimum) if console.is_terminal else needs.maximum
    Console(width=width).print(table, crop=False)


_NO_LIMIT = 10_000  # columns


def _spell(table: Table, stream: IO[str]) -> None:
    """Write the texts of a table as a stream will show them (`cli` spells out characters)."""
    encoding, errors = getattr(stream, "encoding", None), getattr(stream, "errors", None)
    if not encoding or not errors:
        return

    def shown(part: Any) -> Any:
        return part.encode(encoding, errors).decode(encoding) if isinstance(part, str) else part

    table.title, table.caption = shown(table.title), shown(table.caption)
    for column in table.columns:
        column.header = shown(column.header)
        column._cells[:] = map(shown, column.cells)
