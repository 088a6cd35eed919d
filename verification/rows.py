"""A contact list of 100 million rows: `python -m verification.rows`.

Writes lists as Parquet into a temporary directory, one ordered by day and one in no order, and
reads each in a process of its own as `dnatrace infer` does: batch by batch into a window, with
progress. Tells time and memory (a page by --out, the rows as CSV and JSON beside it), and checks
that the window holds what was written: the number of rows and the sum of a hash of each. Then
`dnatrace infer` itself, from the file to beliefs. `--quick` takes seconds.
"""

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.measure import in_own_process, peak_gigabytes
from dnatrace import parquet, tables
from dnatrace.cli import main as command
from dnatrace.runs.config import RunConfig
from dnatrace.runs.progress import tracker
from dnatrace.runs.provenance import provenance
from verification.closed_loop import write_page

DAYS = 14
CONTACTS = 12.6  # per person and day, as in the reference city
MOST_GROUP_ROWS = 2**20
DEFAULT_OUT = Path("docs/results/rows.md")
SEED = 1
Ids = NDArray[np.int32]


def hashed(senders: Any, receivers: Any, day: Any) -> int:
    """Return a sum over rows modulo 2⁶⁴, the same in any order of rows (splitmix64 of each)."""
    x = np.asarray(senders, np.uint64) << np.uint64(32) | np.asarray(receivers, np.uint64)
    x += (np.atleast_1d(day).astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return int(np.sum(x ^ (x >> np.uint64(31)), dtype=np.uint64))


def group_rows(n_rows: int) -> int:
    """Return how many rows a row group of a list has: fewer than a day, a million at most."""
    return min(MOST_GROUP_ROWS, max(1, n_rows // (2 * DAYS)))


def drawn(n_rows: int, n_people: int, *, by_day: bool) -> Iterator[tuple[Ids, Ids, Ids]]:
    """Yield senders, receivers and days of so many rows, a row group at a time."""
    rng = np.random.default_rng(SEED)
    per_day = -(-n_rows // DAYS)
    most = group_rows(n_rows)
    for first in range(0, n_rows, most):
        n = min(most, n_rows - first)
        senders = rng.integers(0, n_people, n, dtype=np.int32)
        receivers = (senders + rng.integers(1, n_people, n, dtype=np.int32)) % n_people
        in_order = (np.arange(first, first + n) // per_day).astype(np.int32)
        yield senders, receivers, in_order if by_day else rng.integers(0, DAYS, n, dtype=np.int32)


def write_list(path: Path, n_rows: int, n_people: int, *, by_day: bool) -> int:
    """Write a list and return the hash of its rows."""
    names, found = tables.CONTACT_COLUMNS, 0
    with pq.ParquetWriter(path, pa.schema([(name, pa.int32()) for name in names])) as writer:
        for columns in drawn(n_rows, n_people, by_day=by_day):
            batch = pa.table(dict(zip(names, columns, strict=True)))
            writer.write_table(batch, row_group_size=MOST_GROUP_ROWS)
            found = (found + hashed(*columns)) % 2**64
    return found


def read_list(path: Path) -> dict[str, Any]:
    """Read a list into a window; return time, memory, and the hash of what the window holds."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    none = tables.Rows("tests", dict.fromkeys(tables.TEST_COLUMNS, np.empty(0, dtype=np.int64)))
    few = path.with_name("few.parquet")
    write_list(few, DAYS * 10, 10, by_day=True)
    parquet.window_of(few, n_people=10, n_days=DAYS)  # compiles
    before, start = peak_gigabytes(), time.perf_counter()
    n_people, n_days = parquet.sizes(path, none)
    window = parquet.window_of(path, n_people=n_people, n_days=n_days, track=tracker("batches"))
    spent, peak = time.perf_counter() - start, peak_gigabytes()
    held = sum(day.senders.nbytes + day.offsets.nbytes for day in window)
    found = 0
    for number, day in enumerate(window):
        receivers = day.receivers()
        for part in range(0, receivers.size, MOST_GROUP_ROWS):
            rows = slice(part, part + MOST_GROUP_ROWS)
            found = (found + hashed(day.senders[rows], receivers[rows], number)) % 2**64
    return {
        "people": n_people,
        "rows": window.n_contacts,
        "seconds": spent,
        "rows_per_s": window.n_contacts / spent,
        "peak_gb": peak,
        "before_gb": before,
        "window_gb": held / 1e9,
        "bytes_per_row": 1e9 * (peak - before) / window.n_contacts,
        "hash": found,
    }


def inferred(contacts: Path) -> dict[str, float]:
    """Run `dnatrace infer` on a list and one test; return its time and the most memory it held."""
    tests = contacts.with_name("tests.csv")
    tests.write_text("person,day,positive\n0,9,1\n", "utf-8")
    sys.argv = ["dnatrace", "infer", str(contacts), str(tests), "--json"]
    start = time.perf_counter()
    try:
        command()
    except SystemExit as end:
        if end.code:
            raise
    return {"seconds": time.perf_counter() - start, "peak_gb": peak_gigabytes()}


def measure(n_rows: int, n_people: int, directory: Path) -> tuple[list[dict[str, Any]], Any]:
    """Return what reading took, by order of rows, and what the command took."""
    rows, whole = [], None
    for order, by_day in (("by day", True), ("none", False)):
        path = directory / "contacts.parquet"
        start = time.perf_counter()
        written = write_list(path, n_rows, n_people, by_day=by_day)
        wrote = time.perf_counter() - start
        row = in_own_process("verification.rows", "--read", path)
        same = (row["rows"], row.pop("hash")) == (n_rows, written)
        about = {"order": order, "written_s": wrote, "file_gb": path.stat().st_size / 1e9}
        rows.append(about | row | {"same": same})
        if by_day:
            whole = in_own_process("verification.rows", "--infer", path)
    return rows, whole


def page(rows: Sequence[dict[str, Any]], whole: Any, loads: Sequence[float]) -> str:
    """Return what to read."""
    n, people = rows[0]["rows"], rows[0]["people"]
    lines = "\n".join(
        f"| {r['order']} | {r['file_gb']:.2f} GB | {r['seconds']:.1f} s | {r['rows_per_s']:,.0f} | "
        f"{r['peak_gb']:.2f} GB | {r['bytes_per_row']:.1f} | {r['window_gb']:.2f} GB | "
        f"{'yes' if r['same'] else 'NO'} |"
        for r in rows
    )
    commit = provenance(RunConfig())["commit"]
    return f"""# A contact list of {n:,} rows

`python -m verification.rows --rows {n}`: {people:,} people and {DAYS} days in Parquet, row groups
of {group_rows(n):,}, read into a window as `dnatrace infer` does, on {os.cpu_count()} cores, commit
{commit}. Load of the machine {loads[0]:.1f} before, {loads[1]:.1f} after.

| order of rows | file | read in | rows/s | most memory | bytes per row | the window | as written |
|---|---|---|---|---|---|---|---|
{lines}

Bytes per row are the most memory less what the libraries held before, {rows[0]["before_gb"]:.2f}
GB; three columns of 64-bit numbers would have 24. "As written": the window has as many rows, and
the same sum of a hash of each.

`dnatrace infer` on the first list, one test and five rounds, from the file to beliefs:
{whole["seconds"]:.1f} s and {whole["peak_gb"]:.2f} GB.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--out", type=Path, default=None, help=f"for instance {DEFAULT_OUT}")
    parser.add_argument("--read", type=Path, help="read one list and print what it took")
    parser.add_argument("--infer", type=Path, help="infer from one list and print the same")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    for path, call in ((options.read, read_list), (options.infer, inferred)):
        if path:
            print(json.dumps(call(path)))
            return 0
    n_rows = 200_000 if options.quick else options.rows
    n_people = int(n_rows / (DAYS * CONTACTS))
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        rows, whole = measure(n_rows, n_people, Path(name))
    loads = (before, os.getloadavg()[0])
    text = page(rows, whole, loads)
    if options.out:
        record = {"provenance": provenance(RunConfig()), "load": loads, "command": whole}
        write_page(options.out, text, rows, record | {"rows": rows})
    print(text)
    return 0 if all(row["same"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
