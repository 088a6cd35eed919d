"""Read the contacts of a large Parquet file batch by batch.

A list of 100 million rows has 2.4 GB as three columns of 64 bits, and several copies of it on the
way into a window. Here days are counted first; then a batch of rows is read, checked and grouped by
day at a time. What is kept of a row is 8 bytes, and 4 when its day has been sorted, which is done
as soon as its last row has come: early where rows are ordered by day, else at the end of the file.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dnatrace import _csr, tables
from dnatrace.errors import InputError
from dnatrace.records import ContactWindow, DayContacts

BATCH_ROWS = 2**20
MANY_ROWS = 5_000_000  # from which on the command reads a list this way
_KNOWN = {*tables.CONTACT_COLUMNS, "kind"}

Ids = NDArray[np.uint32]
Track = Callable[[Iterable[Any], int], Iterable[Any]]


def can_stream(path: Path) -> bool:
    """Return whether a file is Parquet with whole numbers under our names, and nothing else."""
    if path.suffix != ".parquet" or not path.is_file():
        return False
    try:
        schema = _opened(path).schema_arrow
    except (pa.ArrowException, OSError):
        return False
    names = schema.names
    if len(set(names)) < len(names):
        return False
    plain = all(c in names for c in tables.CONTACT_COLUMNS) and set(names) <= _KNOWN
    return plain and all(pa.types.is_integer(schema.field(c).type) for c in tables.CONTACT_COLUMNS)


def n_rows(path: Path) -> int:
    """Return the number of rows of a Parquet file, from its last bytes."""
    return int(_opened(path).metadata.num_rows)


def largest(path: Path) -> tuple[int, int]:
    """Return the largest id and the largest day of a file, -1 of an empty one.

    From the statistics of its row groups where they are there; else the columns are read.
    """
    file = _opened(path)
    found = dict.fromkeys(tables.CONTACT_COLUMNS, -1)
    for group in range(file.num_row_groups):
        about = file.metadata.row_group(group)
        for place in range(about.num_columns):
            column = about.column(place)
            if column.path_in_schema in found and about.num_rows:
                name, statistics = column.path_in_schema, column.statistics
                if statistics is not None and statistics.has_min_max:
                    most = statistics.max
                else:
                    values = file.read_row_group(group, columns=[name])[name]
                    most = pc.max(values).as_py()
                found[name] = max(found[name], -1 if most is None else int(most))
    return max(found["sender"], found["receiver"]), found["day"]


def sizes(
    path: Path, tests: tables.Rows, *, n_people: int | None = None, n_days: int | None = None
) -> tuple[int, int]:
    """Return how many people and days there are, or are called for by contacts and tests."""
    most_id, most_day = largest(path)
    if n_people is None:
        most = _called_for(path, tables.infer_people, most_id)
        n_people = max(most, tables.people_of(tests))
    if n_days is None:
        n_days = max(_called_for(path, tables.infer_days, most_day), tables.days_of(tests))
    return int(n_people), int(n_days)


def _called_for(path: Path, infer: Callable[[NDArray[np.int64]], int], largest: int) -> int:
    """Return the size that the largest value of a file calls for, or raise naming the file."""
    try:
        return infer(np.array([largest]))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def window_of(
    path: Path,
    *,
    n_people: int,
    n_days: int,
    batch_rows: int = BATCH_ROWS,
    track: Track | None = None,
) -> ContactWindow:
    """Return the window of a Parquet file, the same as `ContactWindow.from_rows` would.

    Memory: 4 bytes per row of days that are complete, 8 per row of those that have begun, and about
    60 bytes per row of a batch while it is read. In a file that is ordered by day one day at a time
    has begun and is not complete; in no order, all.

    Args:
        path: a file for which `can_stream` holds.
        n_people: ids are 0 … n_people-1.
        n_days: days are 0 … n_days-1.
        batch_rows: how many rows are read at a time.
        track: wraps the batches, for instance with a progress bar.
    """
    sizes = _rows_by_day(path, n_days, batch_rows)
    begun: dict[int, _Begun] = {}
    complete: dict[int, DayContacts] = {}
    total = -(-n_rows(path) // batch_rows)  # approximate: batches end with row groups
    batches = _batches(path, batch_rows)
    for rows, first in track(batches, total) if track else batches:
        for day, senders, receivers in _split(path, rows, first, n_people, n_days):
            if day not in begun:
                begun[day] = _Begun.with_room(int(sizes[day]))
            begun[day].add(senders, receivers)
        for day in [day for day, rows_of in begun.items() if rows_of.n_rows == sizes[day]]:
            complete[day] = begun.pop(day).sorted(n_people)
    window = ContactWindow(n_people=n_people, n_days=n_days)
    for day in range(n_days):
        window.push(complete.pop(day) if day in complete else DayContacts.empty(n_people))
    return window


@dataclass(slots=True, kw_only=True, eq=False)
class _Begun:
    """The rows of a day that have come, in room for all of them."""

    senders: Ids
    receivers: Ids
    n_rows: int = 0

    @classmethod
    def with_room(cls, size: int) -> "_Begun":
        senders, receivers = (np.empty(size, dtype=np.uint32) for _ in range(2))
        return cls(senders=senders, receivers=receivers)

    def add(self, senders: Ids, receivers: Ids) -> None:
        """Take in rows."""
        place = slice(self.n_rows, self.n_rows + senders.size)
        self.senders[place], self.receivers[place] = senders, receivers
        self.n_rows += senders.size

    def sorted(self, n_people: int) -> DayContacts:
        """Return the contacts of the day."""
        starts, ends = np.zeros(1, dtype=np.uint64), np.array([self.n_rows], dtype=np.uint64)
        offsets, senders = _csr.sort_by_receiver(
            self.senders, self.receivers, starts, ends, n_people
        )
        return DayContacts(offsets=offsets, senders=senders)


def people_met(window: ContactWindow) -> tables.Columns:
    """Return all senders and all receivers, once each, instead of rows that are not kept."""
    sends = np.zeros(window.n_people, dtype=np.bool_)
    receives = np.zeros(window.n_people, dtype=np.bool_)
    for day in window:
        sends[day.senders] = True
        receives |= day.counts > 0
    found = {"sender": np.flatnonzero(sends), "receiver": np.flatnonzero(receives)}
    return found | {"day": np.empty(0, dtype=np.int64)}


def _opened(path: Path) -> Any:
    import pyarrow.parquet as pq  # noqa: PLC0415  (only where needed: half of the import time)

    return pq.ParquetFile(path)


def _rows_by_day(path: Path, n_days: int, batch_rows: int) -> NDArray[np.int64]:
    """Return how many rows each day has: [days]; those outside are told when they are read."""
    counts = np.zeros(n_days, dtype=np.int64)
    for batch in _raw_batches(path, batch_rows, ("day",)):
        days = batch.column("day").drop_null().to_numpy(zero_copy_only=False)
        days = days.astype(np.int64, copy=False)
        counts += np.bincount(days[(days >= 0) & (days < n_days)], minlength=n_days)
    return counts


def _raw_batches(path: Path, batch_rows: int, columns: Sequence[str]) -> Iterator[Any]:
    """Yield batches of so many rows at most, from a few row groups at a time.

    From all of them at once the library keeps most of what it has read, and takes longer.
    """
    file, groups, rows = _opened(path), [], 0
    for group in range(file.num_row_groups):
        groups.append(group)
        rows += file.metadata.row_group(group).num_rows
        if rows >= batch_rows or group == file.num_row_groups - 1:
            yield from file.iter_batches(batch_rows, row_groups=groups, columns=list(columns))
            groups, rows = [], 0


def _batches(path: Path, batch_rows: int) -> Iterator[tuple[tables.Columns, int]]:
    """Yield columns of so many rows at most, and how many came before them."""
    first = 0
    for batch in _raw_batches(path, batch_rows, tables.CONTACT_COLUMNS):
        columns = {}
        for name in tables.CONTACT_COLUMNS:
            column = batch.column(name)
            if column.null_count:
                row = first + int(
                    np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]
                )
                raise tables.refuse(str(path), row, name, "the value is missing")
            columns[name] = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        yield columns, first
        first += batch.num_rows


def _split(
    path: Path, columns: tables.Columns, first: int, n_people: int, n_days: int
) -> Iterator[tuple[int, Ids, Ids]]:
    """Check the rows of a batch, then yield those of each day, a chunk at a time."""
    senders, receivers, days = (columns[c] for c in tables.CONTACT_COLUMNS)
    bad, day_senders, day_receivers, starts = _csr.split_by_day(
        senders, receivers, days, n_people, n_days
    )
    if bad < senders.size:
        row = {name: int(values[bad]) for name, values in columns.items()}
        raise _refused(path, row, first + int(bad), n_people, n_days)
    for day in range(n_days):
        for start, end in zip(starts[day], starts[day + 1], strict=True):
            if end > start:
                yield day, day_senders[start:end], day_receivers[start:end]


def _refused(
    path: Path, values: dict[str, int], row: int, n_people: int, n_days: int
) -> InputError:
    """Return what is wrong with a row, which is counted from 0 over the whole file."""
    rows = tables.Rows(str(path), {})
    for name in ("sender", "receiver"):
        if not 0 <= values[name] < n_people:
            meaning = f"the ids 0 … {n_people - 1}"
            return rows.refuse(row, name, f"{values[name]} is outside {meaning}")
    if not 0 <= values["day"] < n_days:
        return rows.refuse(row, "day", tables.outside_days(values["day"], n_days, rows))
    problem = f"person {values['sender']} meets themselves"
    return rows.refuse(row, "receiver", problem)
