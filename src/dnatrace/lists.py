"""Read contact lists and tests as people keep them: with names, dates and columns of their own.

Files that hold whole numbers in columns with our names go straight to `tables`, at its speed. In
other files, names become numbers in the order of first appearance, dates become days counted from
the earliest one, and results may be words. Messages name the file, the row and the column as it is
called in the file.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dnatrace import tables
from dnatrace.errors import InputError
from dnatrace.sheets import read_file
from dnatrace.tables import CONTACT_COLUMNS, TEST_COLUMNS, Columns, Rows

_COLUMNS = 8  # of a file, the most that a message lists
_IDS = ("sender", "receiver", "person")
# How to ask that ids are names, for messages: of the command, and of the simulator.
AS_NAMES = "infer --id-map, simulator.as_names of replay"
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(?:\.0)?")  # with .0 where a program had gaps in the column
_DATE = re.compile(r"[1-8]\d{3}-\d{2}-\d{2}")  # other years are slips, and have no days beside them
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:.*")
_HAS_TIME = "has a time of day: give the date alone, like 2020-03-01"
_RESULTS = {
    "0": 0,
    "0.0": 0,
    "false": 0,
    "no": 0,
    "negative": 0,
    "neg": 0,
    "1": 1,
    "1.0": 1,
    "true": 1,
    "yes": 1,
    "positive": 1,
    "pos": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """How the files are worded.

    Attributes:
        contacts: the file's names for our columns of contacts, where they differ.
        tests: the same for tests.
        ignore_extra: whether columns that are not needed are ignored; otherwise they are an error.
        keep_extra: the same for those of contacts alone, because they are written again.
        as_names: whether ids are names even if they look like numbers.
    """

    contacts: Mapping[str, str] = field(default_factory=dict)
    tests: Mapping[str, str] = field(default_factory=dict)
    ignore_extra: bool = False
    keep_extra: bool = False
    as_names: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """The contacts and tests that were read.

    Attributes:
        contacts: sender, receiver, day.
        tests: person, day, positive; no rows when there was no file of tests.
        names: by id; None when ids were numbers.
        first_date: the date of day 0 here; None when days were numbers.
        days_before: how many days here come before day 0 of the files.
    """

    contacts: Rows
    tests: Rows
    names: tuple[str, ...] | None = None
    first_date: date | None = None
    days_before: int = 0

    def date_of(self, day: int) -> date | None:
        """Return the date of a day; None when days were numbers."""
        return None if self.first_date is None else self.first_date + timedelta(days=day)

    def begun_before(self, days: int) -> "Lists":
        """Return the same lists with this many days added before the first one."""
        if not days:
            return self
        first = self.first_date and self.first_date - timedelta(days=days)
        contacts, tests = (
            replace(
                rows, columns=rows.columns | {"day": rows.columns["day"] + days}, first_date=first
            )
            for rows in (self.contacts, self.tests)
        )
        return replace(self, contacts=contacts, tests=tests, first_date=first, days_before=days)

    def without_contacts(self) -> list[int]:
        """Return the people who are tested and have no contact, in the order of their ids."""
        met = [self.contacts.columns[column] for column in ("sender", "receiver")]
        return np.setdiff1d(self.tests.columns["person"], np.concatenate(met)).tolist()


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file that was read: its columns by our names, and what it calls them."""

    path: Path
    columns: dict[str, pa.ChunkedArray]
    called: dict[str, str]

    @property
    def size(self) -> int:
        return len(self.columns["day"])

    def rows(
        self,
        columns: Mapping[str, NDArray[np.int64]],
        people: Sequence[str] | None = None,
        first_date: date | None = None,
    ) -> Rows:
        return Rows(str(self.path), dict(columns), self.called, people, first_date)

    def refuse(self, row: int, column: str, problem: str) -> InputError:
        return self.rows({}).refuse(row, column, problem)


def parse_columns(text: str | None, known: Sequence[str], option: str) -> dict[str, str]:
    """Return the file's column names by ours, from "ours=theirs,ours=theirs"."""
    named: dict[str, str] = {}
    for part in text.split(",") if text else ():
        ours, equals, theirs = (piece.strip() for piece in part.partition("="))
        if not equals or not theirs or ours not in known:
            example = ",".join(f"{column}=…" for column in known)
            raise InputError(f"{option} {part}: expected some of {example}")
        if ours in named:
            raise InputError(f"{option}: '{ours}' is named twice")
        named[ours] = theirs
    return named


def read_lists(contacts: Path, tests: Path | None = None, wording: Wording | None = None) -> Lists:
    """Read contacts, and tests if there are any, with names and dates in common.

    Ids are names when none of them is a whole number, or when `wording` says so. Numbers among
    names are taken for slips and refused.

    Raises:
        InputError: a file cannot be read, or a row is wrong; the message names it.
    """
    wording = wording or Wording()
    any_extra = wording.ignore_extra or wording.keep_extra
    files = [_read(contacts, CONTACT_COLUMNS, wording.contacts, any_extra, ("kind",))]
    if tests is not None:
        files.append(_read(tests, TEST_COLUMNS, wording.tests, wording.ignore_extra))
    names, first_date = None, None
    if not wording.as_names and all(_is_plain(file) for file in files):
        found = [file.rows(_plain_columns(file)) for file in files]
    else:
        texts = [_as_text(file) for file in files]
        ids, names = _ids(texts, as_names=wording.as_names)
        days, first_date = _days(texts)
        found = [
            file.rows(ids[i] | {"day": days[i]} | _results(file), names, first_date)
            for i, file in enumerate(texts)
        ]
    none = Rows("tests", {column: np.empty(0, dtype=np.int64) for column in TEST_COLUMNS})
    return Lists(
        contacts=found[0],
        tests=found[1] if tests is not None else none,
        names=names,
        first_date=first_date,
    )


def read_plain_tests(path: Path) -> Rows:
    """Read tests beside contacts with whole numbers: only their results may be words."""
    file = _read(path, TEST_COLUMNS, {}, any_extra=False)
    if _is_plain(file):
        return file.rows(_plain_columns(file))
    text = _as_text(file)
    numbers = {column: _by_value(text, column, _beside_numbers) for column in ("person", "day")}
    return text.rows(numbers | _results(text))


def _beside_numbers(text: str) -> int:
    if _WHOLE.fullmatch(text):
        return _whole(text)
    raise ValueError(f"{text!r} is not a whole number, as in the contacts")


def _read(
    path: Path,
    ours: Sequence[str],
    theirs: Mapping[str, str],
    any_extra: bool,
    optional: Sequence[str] = (),
) -> _File:
    """Read the columns that are needed, or raise naming those that are missing or unknown."""
    table = read_file(path)
    called = {column: theirs.get(column, column) for column in ours}
    expected = f"expected {', '.join(called.values())}"
    has = f"; the file has {', '.join(table.column_names[:_COLUMNS])}"
    for column in called.values():
        if (times := table.column_names.count(column)) != 1:
            wrong = "appears more than once" if times else "is missing"
            raise InputError(f"{path}: column '{column}' {wrong} ({expected}{has})")
    if len(set(called.values())) < len(called):
        raise InputError(f"{path}: one column cannot stand for two ({expected})")
    extra = [c for c in table.column_names if c not in (*called.values(), *optional)]
    if extra and not any_extra:
        listed = ", ".join(f"'{column}'" for column in extra)
        many = "s" if len(extra) > 1 else ""
        hint = "infer --ignore-extra, simulator.ignore_extra of replay: they are left out"
        raise InputError(f"{path}: unknown column{many} {listed} ({expected}; {hint})")
    return _File(path=path, columns={o: table[t] for o, t in called.items()}, called=called)


def _is_plain(file: _File) -> bool:
    """Return whether a file holds only numbers, or nothing, so that `tables` checks it."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
    of_results = (*kinds, pa.types.is_boolean)  # people called true and false are not 1 and 0
    return all(
        any(is_kind(column.type) for is_kind in (of_results if name == "positive" else kinds))
        for name, column in file.columns.items()
    )


def _plain_columns(file: _File) -> Columns:
    return {
        column: tables.whole_numbers(values, str(file.path), file.called[column])
        for column, values in file.columns.items()
    }


def _as_text(file: _File) -> _File:
    """Return a file with its columns as text, without spaces around values."""
    table = read_file(file.path, as_text=tuple(file.called.values()))
    columns = {}
    for ours, theirs in file.called.items():
        try:
            written = _dates(file, table[theirs]) if ours == "day" else table[theirs]
            text = pc.utf8_trim_whitespace(pc.fill_null(written.cast(pa.string()), ""))
        except pa.ArrowException:
            held = f"{file.path}: column '{theirs}' holds {table[theirs].type}"
            raise InputError(f"{held}, expected whole numbers or texts") from None
        empty = pc.equal(text, "").to_numpy()
        if empty.any():
            raise file.refuse(int(np.argmax(empty)), ours, "the value is missing")
        columns[ours] = text
    return _File(path=file.path, columns=columns, called=file.called)


def _dates(file: _File, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return dates of times that are all midnight, of no time zone; other columns as they are."""
    if not pa.types.is_timestamp(column.type) or column.type.tz is not None:
        return column
    days = column.cast(pa.date32(), safe=False)
    at_midnight = pc.fill_null(pc.equal(days.cast(column.type), column), True).to_numpy()
    if at_midnight.all():
        return days
    row = int(np.argmin(at_midnight))
    raise file.refuse(row, "day", f"{column[row].as_py()} {_HAS_TIME}")


def _ids(files: Sequence[_File], *, as_names: bool) -> tuple[list[Columns], tuple[str, ...] | None]:
    """Return the ids of every file by column, and the names they stand for."""
    columns = [[c for c in file.columns if c in _IDS] for file in files]
    # One list in the order of reading: row by row, sender before receiver.
    written = [
        np.column_stack([file.columns[c].to_numpy() for c in own])
        for file, own in zip(files, columns, strict=True)
    ]
    text = pa.array(np.concatenate([part.reshape(-1) for part in written]), type=pa.string())
    coded = text.dictionary_encode()
    distinct, codes = coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.int64)
    whole = np.array([_WHOLE.fullmatch(one) is not None for one in distinct], dtype=np.bool_)
    names = tuple(distinct) if as_names or not whole.any() else None
    if names is None:
        if not whole.all():
            place = int(np.argmin(whole[codes]))
            raise _refused_id(files, columns, place, distinct[codes[place]])
        codes = np.array([_whole(one) for one in distinct], dtype=np.int64)[codes]
    ends = np.cumsum([part.size for part in written])[:-1]
    return [
        {column: np.ascontiguousarray(found[i :: len(own)]) for i, column in enumerate(own)}
        for found, own in zip(np.split(codes, ends), columns, strict=True)
    ], names


def _refused_id(
    files: Sequence[_File], columns: Sequence[Sequence[str]], place: int, text: str
) -> InputError:
    """Return the error for an id that is not a number where others are."""
    problem = (
        f"{text!r} is not a whole number, as other ids are ({AS_NAMES}: all of them are names)"
    )
    for file, names in zip(files, columns, strict=True):
        row, column = divmod(place, len(names))
        if row < file.size:
            return file.refuse(row, names[column], problem)
        place -= file.size * len(names)
    raise AssertionError("the id is in none of the files")


def _days(files: Sequence[_File]) -> tuple[list[NDArray[np.int64]], date | None]:
    """Return the days of every file, and the date of day 0 when they are dates."""
    dated = any(
        _DATE.fullmatch(text)
        for file in files
        for text in pc.unique(file.columns["day"]).to_pylist()
    )
    read = _date_number if dated else _day_number
    days = [_by_value(file, "day", read) for file in files]
    if not dated:
        return days, None
    first = min(int(values.min()) for values in days if values.size)
    return [values - first for values in days], date.fromordinal(first)


def _date_number(text: str) -> int:
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text).toordinal()
    except ValueError:
        pass
    if _TIME.fullmatch(text):
        raise ValueError(f"{text!r} {_HAS_TIME}")
    raise ValueError(f"{text!r} is not a date like 2020-03-01, as other days are")


def _day_number(text: str) -> int:
    if _WHOLE.fullmatch(text):
        return _whole(text)
    if _TIME.fullmatch(text):
        raise ValueError(f"{text!r} {_HAS_TIME}")
    raise ValueError(f"{text!r} is neither a whole number nor a date like 2020-03-01")


def _whole(text: str) -> int:
    return int(text.removesuffix(".0"))


def _results(file: _File) -> Columns:
    """Return the results of a file of tests."""
    if "positive" not in file.columns:
        return {}
    return {"positive": _by_value(file, "positive", _result)}


def _result(text: str) -> int:
    if (found := _RESULTS.get(text.lower())) is not None:
        return found
    pairs = "0/1, true/false, yes/no, positive/negative; leave out tests without a result"
    raise ValueError(f"{text!r} is not a result ({pairs})")


def _by_value(file: _File, column: str, read: Callable[[str], int]) -> NDArray[np.int64]:
    """Return a column as numbers; every distinct text is read once."""
    coded = file.columns[column].combine_chunks().dictionary_encode()
    codes = coded.indices.to_numpy()
    numbers = []
    for code, text in enumerate(coded.dictionary.to_pylist()):
        try:
            numbers.append(read(text))
        except ValueError as error:
            raise file.refuse(int(np.argmax(codes == code)), column, str(error)) from None
    return np.array(numbers, dtype=np.int64)[codes]
