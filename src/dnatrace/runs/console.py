"""Tables on the terminal, whole: nothing is cut where the terminal is narrow."""

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def print_table(table: Table) -> None:
    """Print a table in the width of the terminal, or wider where its longest words need it.

    Sentences are wrapped between words; a path or a number is never cut. What is not a terminal has
    no width: there every row stands on one line.
    """
    console = Console()
    needs = Measurement.get(console, console.options.update(max_width=_NO_LIMIT), table)
    width = max(console.width, needs.minimum) if console.is_terminal else needs.maximum
    Console(width=width).print(table, crop=False)


_NO_LIMIT = 10_000  # columns
