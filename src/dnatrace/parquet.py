"""Contacts of a large Parquet file, read batch by batch.

A list of 100 million rows has 2.4 GB as three columns of 64 bits, and several copies of it on the
way into a window. Here a batch of rows is read, checked and grouped by day at a time; what is kept
of a row is 8 bytes, and 4 when its day has been sorted, which is done as soon as the file says that
no more rows of that day come: soon where rows are ordered by day, else at its end.
"""

from collections.abc import Callable, Iterable, Iterator
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
    most_id, most_day = (np.array([most]) for most in largest(path))
    if n_people is None:
        n_people = tables.infer_people(most_id, tests.columns["person"])
    if n_days is None:
        n_days = tables.infer_days(most_day, tests.columns["day"])
    return int(n_people), int(n_days)


def window_of(
    path: Path,
    *,
    n_people: int,
    n_days: int,
    batch_rows: int = BATCH_ROWS,
    track: Track | None = None,
) -> ContactWindow:
    """Return the window of a Parquet file; the same as `ContactWindow.from_rows` of it.

    Memory: 4 bytes per row of days that are complete, 8 per row of others, and about 60 bytes per
    row of a batch while it is read. In a file that is ordered by day one day at a time is not
    complete (those of one row group, where it has several), else all are until the end.

    Args:
        path: of the file, one that `can_stream`.
        n_people: ids are 0 … n_people-1.
        n_days: days are 0 … n_days-1.
        batch_rows: how many rows are read at a time.
        track: wraps the batches, for instance with a progress bar.
    """
    pieces: list[list[tuple[Ids, Ids]]] = [[] for _ in range(n_days)]
    complete: dict[int, DayContacts] = {}
    rows_until = _rows_until(path, n_days)
    total = -(-n_rows(path) // batch_rows)  # about: batches end with row groups
    batches = _batches(path, batch_rows)
    for rows, first in track(batches, total) if track else batches:
        _split(path, rows, first, pieces, n_people)
        for day in np.flatnonzero(rows_until <= first + rows["day"].size).tolist():
            if day not in complete:
                complete[day] = _sorted(pieces[day], n_people)
    window = ContactWindow(n_people=n_people, n_days=n_days)
    for day, of_day in enumerate(pieces):
        if of_day and day in complete:
            raise InputError(f"{path}: has rows of day {day} where its statistics say that none is")
        window.push(complete.pop(day) if day in complete else _sorted(of_day, n_people))
    return window


def _rows_until(path: Path, n_days: int) -> NDArray[np.int64]:
    """Return after how many rows of a file no row of each day comes, by its row groups: [days]."""
    until, end = np.zeros(n_days, dtype=np.int64), 0
    about = _opened(path).metadata
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        end += group.num_rows
        columns = [group.column(place) for place in range(group.num_columns)]
        statistics = next(c.statistics for c in columns if c.path_in_schema == "day")
        if statistics is not None and statistics.has_min_max:
            until[max(0, statistics.min) : max(0, statistics.max + 1)] = end
        else:
            until[:] = end
    return until


def _sorted(of_day: list[tuple[Ids, Ids]], n_people: int) -> DayContacts:
    """Return the contacts of a day, whose pieces are emptied."""
    senders = np.concatenate([np.empty(0, dtype=np.uint32), *(s for s, _ in of_day)])
    receivers = np.concatenate([np.empty(0, dtype=np.uint32), *(r for _, r in of_day)])
    of_day.clear()
    ends = np.array([senders.size], dtype=np.uint64)
    offsets, by_receiver = _csr.sort_by_receiver(
        senders, receivers, np.zeros(1, dtype=np.uint64), ends, n_people
    )
    return DayContacts(offsets=offsets, senders=by_receiver)


def people_met(window: ContactWindow) -> tables.Columns:
    """Return who sends and who receives at all, each once, in place of rows that are not kept."""
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


def _batches(path: Path, batch_rows: int) -> Iterator[tuple[tables.Columns, int]]:
    """Yield columns of so many rows at most, and how many came before them."""
    first = 0
    file = _opened(path)
    for batch in file.iter_batches(batch_size=batch_rows, columns=list(tables.CONTACT_COLUMNS)):
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
    path: Path, columns: tables.Columns, first: int, pieces: list[Any], n_people: int
) -> None:
    """Check the rows of a batch and add those of each day to its pieces."""
    senders, receivers, days = (columns[c] for c in tables.CONTACT_COLUMNS)
    bad, day_senders, day_receivers, starts = _csr.split_by_day(
        senders, receivers, days, n_people, len(pieces)
    )
    if bad < senders.size:
        row = {name: int(values[bad]) for name, values in columns.items()}
        raise _refused(path, row, first + int(bad), n_people, len(pieces))
    for day, of_day in enumerate(pieces):
        parts = [slice(a, b) for a, b in zip(starts[day], starts[day + 1], strict=True) if b > a]
        if parts:
            of_day.append(
                (
                    np.concatenate([day_senders[part] for part in parts]),
                    np.concatenate([day_receivers[part] for part in parts]),
                )
            )


def _refused(
    path: Path, values: dict[str, int], row: int, n_people: int, n_days: int
) -> InputError:
    """Return what is wrong with a row, which is counted from 0 over the whole file."""
    ends = {"sender": n_people, "receiver": n_people, "day": n_days}
    meanings = {"day": f"the window of days 0 … {n_days - 1}"}
    for name, end in ends.items():
        if not 0 <= values[name] < end:
            meaning = meanings.get(name, f"the ids 0 … {n_people - 1}")
            return tables.refuse(str(path), row, name, f"{values[name]} is outside {meaning}")
    problem = f"person {values['sender']} meets themselves"
    return tables.refuse(str(path), row, "receiver", problem)
