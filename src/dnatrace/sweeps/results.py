"""Write what came of many runs: rows as CSV and Markdown, a record with provenance as JSON."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.files import replacing
from dnatrace.runs.config import RunConfig
from dnatrace.runs.provenance import provenance


def origin() -> dict[str, Any]:
    """Return version, commit and libraries."""
    values = provenance(RunConfig())
    return {k: v for k, v in values.items() if k not in ("config_digest", "seed")}


def study_files(
    stem: str,
    rows: Sequence[dict[str, Any]],
    *,
    title: str,
    command: str,
    notes: Sequence[str],
    tables: Sequence[str] | None = None,
    **record: Any,
) -> dict[str, bytes]:
    """Return rows of a study as CSV, Markdown and JSON by name.

    Args:
        stem: of the names.
        rows: with common columns; what is a list or a mapping is left to the JSON.
        title: of the page.
        command: that made them.
        notes: what a reader must know.
        tables: lines of the page, where one table of all rows would not be read.
        record: what the JSON has besides, the seeds for instance.
    """
    shown = [{k: v for k, v in r.items() if not isinstance(v, list | dict)} for r in rows]
    cells = [[_cell(value) for value in row.values()] for row in shown]
    head = [name.replace("_", " ") for name in shown[0]] if shown else []
    page = [*page_head(title, command, notes), *(tables or markdown_table(head, cells))]
    values = {"command": command, "notes": list(notes), "provenance": origin(), **record}
    return {
        f"{stem}.csv": as_csv(shown),
        f"{stem}.json": as_json(values | {"rows": list(rows)}),
        f"{stem}.md": as_text(page),
    }


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows under the names of their columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_json(values: Mapping[str, Any]) -> bytes:
    """Return an object; raise when a number is not finite."""
    return (json.dumps(values, indent=1, allow_nan=False) + "\n").encode()


def as_text(lines: Sequence[str]) -> bytes:
    """Return lines."""
    return ("\n".join(lines) + "\n").encode()


def page_head(title: str, command: str, notes: Sequence[str]) -> list[str]:
    """Return the head of a Markdown page: what made it, and what a reader must know."""
    where = origin()
    made_by = (
        f"`{command}`, dnatrace {where['dnatrace']}, commit {where['commit'] or 'unknown'}, "
        f"Python {where['python']}."
    )
    return [f"# {title}", "", made_by, "", *(f"- {note}" for note in notes), ""]


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return [lines[0], "|---" * len(head) + "|", *lines[1:]]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write_all(files: Mapping[str, bytes], out: Path) -> list[Path]:
    """Write files into a directory, which is made if it does not exist; all of them or none."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror or error}") from error
    with ExitStack() as stack:
        for name, content in files.items():
            stack.enter_context(replacing(out / name)).write_bytes(content)
    return [out / name for name in files]
