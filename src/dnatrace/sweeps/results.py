"""Write the results of many runs: rows as CSV and Markdown, a record with provenance as JSON."""

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


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as CSV, with a header of their columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_json(values: Mapping[str, Any]) -> bytes:
    """Return an object as JSON; raise when a number is not finite."""
    return (json.dumps(values, indent=1, allow_nan=False) + "\n").encode()


def as_text(lines: Sequence[str]) -> bytes:
    """Return lines as text."""
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


def write_all(files: Mapping[str, bytes], out: Path) -> list[Path]:
    """Write files into a directory, created if it does not exist; all of them or none."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror or error}") from error
    with ExitStack() as stack:
        for name, content in files.items():
            stack.enter_context(replacing(out / name)).write_bytes(content)
    return [out / name for name in files]
