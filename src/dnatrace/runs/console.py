"""Print tables whole: nothing is cut off where the terminal is narrow."""

import io
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from rich.cells import cell_len
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
    needs = _needs(table, console)
    width = max(console.width, needs.minimum) if console.is_terminal else needs.maximum
    Console(width=width).print(table, crop=False)


Rows = Sequence[dict[str, Any]]


def print_note(text: str) -> None:
    """Print a line of words, wrapped at the width of the terminal."""
    Console().print(text, highlight=False, markup=False)


def print_rows(forms: Sequence[Rows], table: Callable[[Rows], Table]) -> None:
    """Print rows of texts as a table in the first of several forms that fits the terminal.

    Where a form does not fit, what is alike in all rows is said once, below the table; where none
    fits, every row is a paragraph. The first column is always kept.
    """
    width, rows = Console().width, forms[0]
    first, *others = rows[0]
    if not Console().is_terminal:
        return print_table(table(rows))
    for form in forms:
        alike = [key for key in form[0] if key != first and len({row[key] for row in form}) == 1]
        for left_out in ([], alike) if len(form) > 1 else ([],):
            fewer = [{k: text for k, text in row.items() if k not in left_out} for row in form]
            if _fits(table(fewer), width):
                print_table(table(fewer))
                said = [key for key in left_out if form[0][key] != "–"]
                return _print_paragraph("In all of them:", form[0], said, width) if said else None
    for row in rows:
        _print_paragraph(row[first], row, others, width)
    return None


def _print_paragraph(head: str, row: Mapping[str, str], keys: Sequence[str], width: int) -> None:
    """Print some texts of a row with their names, wrapped between words; no absent ones."""
    told = "; ".join(f"{key} {row[key]}" for key in keys if row[key] != "–")
    wrap = textwrap.TextWrapper(width, subsequent_indent="  ", break_long_words=False)
    wrap.break_on_hyphens = False
    print(wrap.fill(f"{head} {told}"))


def _fits(table: Table, width: int) -> bool:
    """Whether a table is no wider than a terminal, as it is drawn: estimates may be too small."""
    drawn = io.StringIO()
    Console(width=width, file=drawn, color_system=None).print(table, crop=False)
    lines = drawn.getvalue().splitlines()
    return max(map(cell_len, lines), default=0) <= width


def _needs(table: Table, console: Console) -> Measurement:
    """Return how many columns a table needs at least, and at most."""
    return Measurement.get(console, console.options.update(max_width=_NO_LIMIT), table)


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
