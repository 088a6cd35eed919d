"""Published figures and reference statistics, with their sources in README.md beside them."""

import csv
from importlib import resources


def read_table(name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file of this package, values as text."""
    text = resources.files(__name__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
