"""Pages of results with what they were made of beside them."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dnatrace import files


def write(out: Path, text: str, rows: Sequence[dict[str, Any]], record: dict[str, Any]) -> None:
    """Write a page, its rows as CSV and all figures with their provenance as JSON beside it."""
    with files.replacing(out) as path:
        path.write_text(text, "utf-8")
    with files.replacing(out.with_suffix(".csv")) as path, path.open("w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with files.replacing(out.with_suffix(".json")) as path:
        path.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
