"""Read a CSV or Parquet file as a table, or say why it cannot be read."""

import csv
import re
import zipfile
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dnatrace.errors import InputError

_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls an index that has no name
_SAVE = "save it as CSV UTF-8"
# Files of other kinds, by their first bytes.
_ZIP = b"PK\x03\x04"
_OTHERS = {
    b"\xd0\xcf\x11\xe0": f"is an Excel workbook: {_SAVE}",
    b"\x1f\x8b": "is compressed: unpack it first",
    b"%PDF": "is a PDF, expected a CSV or Parquet file",
    b"{": "is JSON, expected a CSV or Parquet file",
}
_IN_ZIP = {"xl/": "an Excel workbook", "content.xml": "an OpenDocument spreadsheet"}


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
            raise InputError(f"{path}: the file is empty, without even a header")
        _check_kind(path)
        return _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path, as_text)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {first_line(error)}") from error


def without_index(table: pa.Table) -> pa.Table:
    """Return a table without the numbers of rows that pandas writes beside the columns."""
    return table.select([i for i, c in enumerate(table.column_names) if not _INDEX.fullmatch(c)])


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, or its name."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _check_kind(path: Path) -> None:
    """Raise for a file of another kind, whatever its name says."""
    with path.open("rb") as file:
        begins = file.read(4)
    if begins == _ZIP:
        raise InputError(f"{path}: is {_in_zip(path)}")
    if begins == b"PAR1" and path.suffix != ".parquet":
        raise InputError(f"{path}: is a Parquet file, whose name has to end in .parquet")
    for mark, kind in _OTHERS.items():
        if begins.startswith(mark):
            raise InputError(f"{path}: {kind}")


def _in_zip(path: Path) -> str:
    """Return what an archive is, and what to do with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        names = []
    for mark, kind in _IN_ZIP.items():
        if any(name.startswith(mark) for name in names):
            return f"{kind}: {_SAVE}"
    return f"a zip archive: unpack it first (if it is a workbook, {_SAVE})"


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq  # noqa: PLC0415  (only where needed: half of the import time)

    try:
        return without_index(pq.read_table(path))
    except pa.ArrowException as error:
        raise InputError(f"{path}: not a readable Parquet file: {first_line(error)}") from error


def _read_csv(path: Path, as_text: Sequence[str]) -> pa.Table:
    import pyarrow.csv as pacsv  # noqa: PLC0415

    with path.open("rb") as file:
        header = file.readline()
    _check_header(path, header)
    # A header without the end of its line is the whole file.
    whole = None if header.endswith(b"\n") else header + b"\n"

    def source() -> Any:
        return path if whole is None else pa.BufferReader(whole)

    separator = max(
        ",;\t", key=lambda mark: header.count(mark.encode())
    )  # a comma if there is none
    parse = pacsv.ParseOptions(delimiter=separator)
    try:
        with pacsv.open_csv(source(), parse_options=parse) as reader:
            written = [name for name in reader.schema.names if name.strip() in as_text]
        convert = pacsv.ConvertOptions(
            null_values=[""],  # "nan" is a wrong number, not absent
            column_types=dict.fromkeys(written, pa.string()),
        )
        table = pacsv.read_csv(source(), convert_options=convert, parse_options=parse)
        return table.rename_columns([name.strip() for name in table.column_names])
    except pa.ArrowException as error:
        if "invalid UTF8" in str(error):
            raise _not_utf8(path) from error
        at = _uneven_line(path, separator)
        raise InputError(f"{path}: not a readable CSV file: {at or first_line(error)}") from error


def _uneven_line(path: Path, separator: str) -> str:
    """Return which line has more or fewer fields than the first; "" if none has."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=separator)
        header = next(reader, [])
        for values in reader:
            if values and len(values) != len(header):
                return f"line {reader.line_num} has {len(values)} fields, the first {len(header)}"
    return ""


def _check_header(path: Path, header: bytes) -> None:
    """Raise unless the first line can be the names of columns, in UTF-8."""
    if header.startswith(b"sep="):
        raise InputError(f"{path}: line 1 is 'sep=…', expected the names of columns: remove it")
    if header.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or b"\0" in header:
        raise InputError(f"{path}: is encoded in UTF-16, expected UTF-8 ({_SAVE})")
    try:
        header.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error


def _not_utf8(path: Path) -> InputError:
    """Return the error for a file in another encoding: it names the first line that shows it."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return InputError(f"{path}: line {number} is not encoded in UTF-8 ({_SAVE})")
    return InputError(f"{path}: is not encoded in UTF-8 ({_SAVE})")
