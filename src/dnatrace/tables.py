"""Read contacts and tests from arrays, tables, CSV or Parquet, and say exactly what is wrong.

Rows are numbered from 1, without the header; messages about a CSV file also give the line as an
editor counts it. Ids and days are whole numbers from 0.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dnatrace.errors import InputError

Columns = dict[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Whole-number columns that were read, and the names that messages use for them.

    Attributes:
        name: the name of the source.
        columns: the columns by our names.
        called: the source's names for columns, where they differ from ours.
        people: the names of people by id; None when they have none.
    """

    name: str
    columns: Columns
    called: Mapping[str, str] = field(default_factory=dict)
    people: Sequence[str] | None = None

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
        name = str(source)
        table = read_file(Path(source))
    else:
        name = what
        if not isinstance(source, Mapping) and not hasattr(source, "__arrow_c_stream__"):
            return Rows(name, _array_columns(source, name, required))
        table = _as_table(source, name)
    _check_names(table.column_names, name, required, optional)
    return Rows(name, {c: whole_numbers(table[c], name, c) for c in required})


def read_file(path: Path, *, as_text: Sequence[str] = ()) -> pa.Table:
    """Return the table of a CSV or Parquet file, or say why it cannot be read.

    Args:
        path: a name that ends in .parquet, or else a CSV file whose columns are separated by
            commas, semicolons or tabs.
        as_text: columns to be kept as text, as they are written.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a directory, expected a CSV or Parquet file")
    if not path.exists():
        raise InputError(f"{path}: no such file")
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{path}: the file is empty (a header without rows would be valid)")
        return _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path, as_text)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {_first_line(error)}") from error


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq  # noqa: PLC0415  (only where needed: half of the import time)

    try:
        return pq.read_table(path)
    except pa.ArrowException as error:
        raise InputError(f"{path}: not a readable Parquet file: {_first_line(error)}") from error


def _read_csv(path: Path, as_text: Sequence[str]) -> pa.Table:
    import pyarrow.csv as pacsv  # noqa: PLC0415

    with path.open("rb") as file:
        header = file.readline()
    _check_encoding(path, header)
    separator = max(
        ",;\t", key=lambda mark: header.count(mark.encode())
    )  # a comma if there is none
    parse = pacsv.ParseOptions(delimiter=separator)
    try:
        with pacsv.open_csv(path, parse_options=parse) as reader:
            written = [name for name in reader.schema.names if name.strip() in as_text]
        convert = pacsv.ConvertOptions(
            null_values=[""],  # "nan" is a wrong number, not absent
            column_types=dict.fromkeys(written, pa.string()),
        )
        table = pacsv.read_csv(path, convert_options=convert, parse_options=parse)
        return table.rename_columns([name.strip() for name in table.column_names])
    except pa.ArrowException as error:
        if "invalid UTF8" in str(error):
            raise InputError(f"{path}: is not encoded in UTF-8") from error
        at = _uneven_line(path, separator)
        raise InputError(f"{path}: not a readable CSV file: {at or _first_line(error)}") from error


def _uneven_line(path: Path, separator: str) -> str:
    """Return which line has more or fewer fields than the first; "" if none has."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=separator)
        header = next(reader, [])
        for values in reader:
            if values and len(values) != len(header):
                return f"line {reader.line_num} has {len(values)} fields, the first {len(header)}"
    return ""


def _check_encoding(path: Path, header: bytes) -> None:
    """Raise unless the names of columns are in UTF-8."""
    if header.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: is encoded in UTF-16, expected UTF-8")
    try:
        header.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not encoded in UTF-8") from error


def _as_table(source: Any, name: str) -> pa.Table:
    try:
        return pa.table(dict(source) if isinstance(source, Mapping) else source)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"{name}: not a table of columns: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _array_columns(source: Any, name: str, required: Sequence[str]) -> Columns:
    try:
        array = np.asarray(source)
    except ValueError as error:
        raise InputError(f"{name}: not an array: {_first_line(error)}") from error
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
    raise InputError(f"{name}: column '{label}' holds text, expected whole numbers")


def _whole_array(values: NDArray[Any], name: str, label: str) -> NDArray[np.int64]:
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


def check_range(rows: Rows, column: str, *, end: int, meaning: str) -> None:
    """Raise unless every value lies in 0 … end-1; the message names the first row that does not."""
    values = rows.columns[column]
    if values.size and (int(values.min()) < 0 or int(values.max()) >= end):
        row = int(np.argmax((values < 0) | (values >= end)))
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


def check_days(rows: Rows, n_days: int) -> None:
    """Raise unless every day lies in 0 … n_days-1."""
    check_range(rows, "day", end=n_days, meaning=f"the window of days 0 … {n_days - 1}")


def read_contacts(source: Any) -> Rows:
    """Read rows (sender, receiver, day); a further column `kind` is allowed."""
    return read_columns(source, what="contacts", required=CONTACT_COLUMNS, optional=("kind",))


def read_tests(source: Any) -> Rows:
    """Read rows (person, day, positive)."""
    return read_columns(source, what="tests", required=TEST_COLUMNS)


def infer_people(*ids: NDArray[np.int64]) -> int:
    """Return how many people the ids call for."""
    return _infer_size(ids, most=MOST_PEOPLE_INFERRED, what="person id")


def infer_days(*days: NDArray[np.int64]) -> int:
    """Return how many days the day numbers call for."""
    return _infer_size(days, most=MOST_DAYS_INFERRED, what="day")


def _infer_size(columns: Sequence[NDArray[np.int64]], *, most: int, what: str) -> int:
    """Return one more than the largest value, at least 1; refuse values too large for indices."""
    size = max((int(c.max()) + 1 for c in columns if c.size), default=1)
    if size > most:
        option, names = (
            ("people", "; `infer --id-map` takes names") if "id" in what else ("days", "")
        )
        raise InputError(
            f"the largest {what} is {size - 1}: {what}s are counted from 0; if so many are meant, "
            f"say so with --{option} (n_{option} in Python){names}"
        )
    return max(size, 1)
