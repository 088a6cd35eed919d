"""Read contacts and tests from arrays, tables, CSV or Parquet, and say exactly what is wrong.

Rows are numbered from 1, without the header; messages about a CSV file also give the line as an
editor counts it. Ids and days are whole numbers from 0.
"""

import csv
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dnatrace.errors import InputError, require_path
from dnatrace.sheets import first_line, read_file, without_index

Columns = dict[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Whole-number columns that were read, and the names that messages use for them.

    Attributes:
        name: the name of the source.
        columns: the columns by our names.
        called: the source's names for columns, where they differ from ours.
        people: the names of people by id; None when they have none.
        first_date: the date of day 0; None when days are numbers.
        takes_dates: whether dates are read as days: by commands and replays, not from Python.
    """

    name: str
    columns: Columns
    called: Mapping[str, str] = field(default_factory=dict)
    people: Sequence[str] | None = None
    first_date: date | None = None
    takes_dates: bool = True

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.columns["day"].size

    def refuse(self, row: int, column: str, problem: str) -> InputError:
        """Return the error for a value; rows are counted from 0 here."""
        return refuse(self.name, row, self.called.get(column, column), problem)

    def person(self, number: int) -> str:
        """Return what a person is called."""
        return f"person {number}" if self.people is None else self.people[number]

    def day(self, number: int) -> str:
        """Return a day as the source writes it."""
        if self.first_date is None:
            return str(number)
        return str(self.first_date + timedelta(days=int(number)))


def refuse(name: str, row: int, label: str, problem: str) -> InputError:
    """Return the error for a value of a source; rows are counted from 0 here."""
    line = _line_of(Path(name), row)
    at = "" if line is None else f" (line {line} of the file)"
    return InputError(f"{name}: row {row + 1}, column '{label}': {problem}{at}")


def _line_of(path: Path, row: int) -> int | None:
    """Return the line on which a row of a CSV file ends; empty lines do not count as rows."""
    if path.suffix == ".parquet" or not path.is_file():
        return None
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file)
        filled = (reader.line_num for values in reader if values)
        next(filled, None)  # the header
        return next((line for number, line in enumerate(filled) if number == row), None)


CONTACT_COLUMNS = ("sender", "receiver", "day")
TEST_COLUMNS = ("person", "day", "positive")

# Ids above this are hashes or phone numbers, not indices: refuse before allocating.
MOST_PEOPLE_INFERRED = 50_000_000
MOST_DAYS_INFERRED = 366
DAYS_SAID = "infer --days, simulator.n_days of replay (n_days in Python)"

# Numbers that stand for dates elsewhere: days since 1899-12-30 in spreadsheets (here the years 1982
# to 2064), seconds since 1970 (from 2001 on).
_SERIALS, _SERIAL_ZERO = (30_000, 60_000), date(1899, 12, 30)
_SECONDS = (1_000_000_000, 4_000_000_000)


def read_columns(
    source: Any, *, what: str, required: Sequence[str], optional: Sequence[str] = ()
) -> Rows:
    """Return the required columns as int64 arrays; rows that were read before pass through.

    Args:
        source: an array [rows, columns], a table (mapping, Arrow, pandas, polars), or a path.
        what: what to call the source in messages when it is not a file.
        required: names of the columns, in the order of an array's columns.
        optional: columns that may be present; they are not returned.
    """
    if isinstance(source, Rows):
        return source
    if isinstance(source, str | Path):
        require_path(**{what: source})
        name = str(source)
        table = read_file(Path(source))
    else:
        name = what
        if not isinstance(source, Mapping) and not hasattr(source, "__arrow_c_stream__"):
            return Rows(name, _array_columns(source, name, required), takes_dates=False)
        table = _as_table(source, name, required)
    _check_names(table.column_names, name, required, optional)
    columns = {c: whole_numbers(table[c], name, c) for c in required}
    return Rows(name, columns, takes_dates=False)


def _as_table(source: Any, name: str, required: Sequence[str]) -> pa.Table:
    try:
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(source, pandas.DataFrame):
            columns = [level for level in source.index.names if level in required]
            flat = source.reset_index(columns) if columns else source
            return pa.Table.from_pandas(flat, preserve_index=False)
        return without_index(pa.table(dict(source) if isinstance(source, Mapping) else source))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"{name}: not a table of columns: {first_line(error)}") from error


def _array_columns(source: Any, name: str, required: Sequence[str]) -> Columns:
    try:
        array = np.asarray(source)
    except ValueError as error:
        raise InputError(f"{name}: not an array: {first_line(error)}") from error
    if array.ndim == 0:
        rows = f"rows ({', '.join(required)}), a table of these columns or a path"
        raise InputError(f"{name}: expected {rows}, got a value of type {type(source).__name__}")
    if array.size == 0:
        array = array.reshape(0, len(required)).astype(np.int64)
    if array.ndim != 2 or array.shape[1] != len(required):
        raise InputError(
            f"{name}: expected an array [rows, {len(required)}] of ({', '.join(required)}), "
            f"got shape {list(array.shape)}"
        )
    if np.ma.is_masked(source):
        row, column = np.argwhere(np.ma.getmaskarray(source))[0][:2]
        raise refuse(name, int(row), required[column], "the value is missing")
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name}: expected whole numbers, got an array of {array.dtype}")
    return {column: _whole_array(array[:, i], name, column) for i, column in enumerate(required)}


def _check_names(
    present: Sequence[str], name: str, required: Sequence[str], optional: Sequence[str]
) -> None:
    expected = f"expected {', '.join(required)}"
    for column in required:
        if column not in present:
            raise InputError(f"{name}: column '{column}' is missing ({expected})")
    for column in present:
        if column not in (*required, *optional):
            raise InputError(f"{name}: unknown column '{column}' ({expected})")
        if present.count(column) > 1:
            raise InputError(f"{name}: column '{column}' appears more than once")


def whole_numbers(column: pa.ChunkedArray, name: str, label: str) -> NDArray[np.int64]:
    """Return a column as whole numbers, or raise naming the first row that is not one."""
    if len(column) == 0:
        return np.empty(0, dtype=np.int64)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise refuse(name, row, label, "the value is missing")
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        _reject_text(column, name, label)
    return _whole_array(column.to_numpy(), name, label)


def _reject_text(column: pa.ChunkedArray, name: str, label: str) -> None:
    for row, value in enumerate(column.to_pylist()):
        try:
            int(value)
        except (TypeError, ValueError):
            raise refuse(name, row, label, f"{value!r} is not a whole number") from None
    kind = column.type
    held = "text" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else str(kind)
    raise InputError(f"{name}: column '{label}' holds {held}, expected whole numbers")


def column(values: Any, name: str, label: str, *, kinds: str = "iuf") -> NDArray[np.int64]:
    """Return one column, a sequence or a single value, as whole numbers, or raise.

    `kinds` are the kinds of numpy that are taken; without "b", a mask is not read as numbers.
    """
    try:
        array = np.atleast_1d(np.asarray(values))
    except ValueError as error:
        problem = f"not an array: {first_line(error)}"
        raise InputError(f"{name}: column '{label}': {problem}") from error
    if array.ndim != 1 or array.dtype.kind not in kinds:
        kind = f"{array.dtype} of shape {list(array.shape)}"
        raise InputError(f"{name}: column '{label}': expected whole numbers, got {kind}")
    return _whole_array(array, name, label)


def _whole_array(values: NDArray[Any], name: str, label: str) -> NDArray[np.int64]:
    if values.dtype == np.float16:
        values = values.astype(np.float64)  # 2^53 is beyond its range
    if values.dtype.kind == "f":
        bad = ~(np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2.0**53))
        if bad.any():
            row = int(np.argmax(bad))
            large = np.abs(values[row]) >= 2.0**53 and np.isfinite(values[row])
            problem = "too large" if large else "not a whole number"
            raise refuse(name, row, label, f"{values[row]} is {problem}")
    elif values.dtype == np.uint64 and values.size and int(values.max()) >= 2**63:
        row = int(np.argmax(values))
        raise refuse(name, row, label, f"{values[row]} is too large")
    return values.astype(np.int64, copy=False)


def check_range(rows: Rows, column: str, *, end: int, meaning: str, first: int = 0) -> None:
    """Raise unless all values lie in first … end-1; the message names the first row that errs."""
    values = rows.columns[column]
    if values.size and (int(values.min()) < first or int(values.max()) >= end):
        row = int(np.argmax((values < first) | (values >= end)))
        raise rows.refuse(row, column, f"{values[row]} is outside {meaning}")


def check_ids(rows: Rows, label: str, n_people: int) -> None:
    """Raise unless every id of a column lies in 0 … n_people-1."""
    beyond = rows.columns[label] >= n_people
    if rows.people is not None and beyond.any():
        row = int(np.argmax(beyond))
        who = rows.people[rows.columns[label][row]]
        there = f"there are {len(rows.people)} names and room for {n_people} people"
        raise rows.refuse(row, label, f"{who} is one too many: {there}")
    check_range(rows, label, end=n_people, meaning=f"the ids 0 … {n_people - 1}")


def check_days(rows: Rows, n_days: int, *, first: int = 0) -> None:
    """Raise unless every day is one of the n_days days from `first` on."""
    days = rows.columns["day"]
    outside = (days < first) | (days >= first + n_days)
    if outside.any():
        row = int(np.argmax(outside))
        raise rows.refuse(row, "day", outside_days(int(days[row]), n_days, rows, first=first))


def outside_days(day: int, n_days: int, rows: Rows, *, first: int = 0) -> str:
    """Return that a day is outside the window, in dates where the rows have them."""
    window = f"{rows.day(first)} … {rows.day(first + n_days - 1)}"
    return f"{rows.day(day)} is outside the window of days {window}{_meant(rows, day)}"


def read_contacts(source: Any) -> Rows:
    """Read rows (sender, receiver, day); a further column `kind` is allowed."""
    return read_columns(source, what="contacts", required=CONTACT_COLUMNS, optional=("kind",))


def read_tests(source: Any) -> Rows:
    """Read rows (person, day, positive)."""
    return read_columns(source, what="tests", required=TEST_COLUMNS)


def people_of(*sources: Rows) -> int:
    """Return how many people rows call for; the message names the row of an id too large."""
    for rows in sources:
        for column in (c for c in ("sender", "receiver", "person") if c in rows.columns):
            ids = rows.columns[column]
            if ids.size and int(ids.max()) >= MOST_PEOPLE_INFERRED:
                raise rows.refuse(int(np.argmax(ids)), column, _too_large(ids, "person id"))
    return max(
        infer_people(*(rows.columns[c] for c in rows.columns if c not in ("day", "positive")))
        for rows in sources
    )


def days_of(*sources: Rows, first: int = 0) -> int:
    """Return how many days from `first` on rows call for; an error names the row that errs."""
    filled = [rows for rows in sources if rows.size]
    days = [rows.columns["day"] for rows in filled]
    size = max((int(one.max()) + 1 - first for one in days), default=1)
    if size <= MOST_DAYS_INFERRED:
        return max(size, 1)
    if filled[0].first_date is not None:
        raise _far_apart(filled)
    rows = max(filled, key=lambda one: int(one.columns["day"].max()))
    numbers = rows.columns["day"]
    problem = _too_large(numbers, "day", takes_dates=rows.takes_dates)
    raise rows.refuse(int(np.argmax(numbers)), "day", problem)


def _far_apart(filled: Sequence[Rows]) -> InputError:
    """Return the error for dates that are too far apart: it names the one far from most others."""
    days = np.concatenate([rows.columns["day"] for rows in filled])
    first, middle, last = int(days.min()), int(np.median(days)), int(days.max())
    culprit, other, side = (
        (first, last, "before the latest date")
        if middle - first > last - middle
        else (last, first, "after the earliest date")
    )
    rows = next(one for one in filled if (one.columns["day"] == culprit).any())
    problem = (
        f"{rows.day(culprit)} is {last - first:,} days {side}, {rows.day(other)}; "
        f"more than {MOST_DAYS_INFERRED} days need {DAYS_SAID}"
    )
    return rows.refuse(int(np.argmax(rows.columns["day"] == culprit)), "day", problem)


def infer_people(*ids: NDArray[np.int64]) -> int:
    """Return how many people the ids call for."""
    return _infer_size(ids, most=MOST_PEOPLE_INFERRED, what="person id")


def infer_days(*days: NDArray[np.int64]) -> int:
    """Return how many days the day numbers call for."""
    return _infer_size(days, most=MOST_DAYS_INFERRED, what="day")


def _infer_size(columns: Sequence[NDArray[np.int64]], *, most: int, what: str) -> int:
    """Return one more than the largest value, at least 1; refuse values too large for indices."""
    filled = [column for column in columns if column.size]
    size = max((int(column.max()) + 1 for column in filled), default=1)
    if size > most:
        raise InputError(_too_large(np.concatenate(filled), what))
    return max(size, 1)


def _too_large(values: NDArray[np.int64], what: str, *, takes_dates: bool = True) -> str:
    """Return that the largest value is too large for an index, and what may be meant."""
    largest = int(values.max())
    told = f"the largest {what} is {largest}: {what}s are counted from 0"
    names = "" if what == "day" else "; `infer --id-map` takes names"
    said = DAYS_SAID if what == "day" else "--people (n_people in Python)"
    meant = f"; if so many are meant, say so with {said}{names}"
    return told + ((_date_meant(largest, takes_dates) if what == "day" else "") or meant)


def _date_meant(number: int, takes_dates: bool) -> str:
    """Return which date a number that is no day may stand for, as a remark; "" for none."""
    found, written = None, str(number)
    with suppress(ValueError):
        if _SERIALS[0] <= number <= _SERIALS[1]:
            found = _SERIAL_ZERO + timedelta(days=number)
        elif len(written) == len("20200301") and written.startswith(("19", "20")):
            found = date.fromisoformat(written)
        elif _SECONDS[0] <= number <= _SECONDS[1]:
            found = date(1970, 1, 1) + timedelta(seconds=number)
    if found is None:
        return ""
    if takes_dates:
        return f"; it looks like a date: write {found}"
    return f"; it looks like the date {found}: give whole numbers, counted from the first day"


def _meant(rows: Rows, day: int) -> str:
    return _date_meant(day, rows.takes_dates) if rows.first_date is None else ""
