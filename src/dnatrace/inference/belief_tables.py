"""Beliefs as tables: the highest for reading, all of them for a file."""

import csv
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.files import replacing
from dnatrace.seir import State
from dnatrace.sheets import read_file
from dnatrace.tables import Rows

# What is added to a contact list, and about whom.
_BESIDE = {"sender_infected": "sender", "receiver_infected": "receiver"}


def highest(
    beliefs: NDArray[np.float32], *, n: int, names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return the n people with the highest P(E) + P(I) on the last day, highest first.

    Names are listed next to ids where there are any.
    """
    last = beliefs[:, -1].astype(np.float64)
    score = last[:, State.E] + last[:, State.I]
    order = np.argsort(-score, kind="stable")[:n]
    return [
        {"person": int(p)}
        | ({} if names is None else {"name": _name(names, p)})
        | {"P(E)+P(I)": round(float(score[p]), 6)}
        | {f"P({s.name})": round(float(last[p, s]), 6) for s in State}
        for p in order
    ]


def _name(names: Sequence[str], person: int) -> str:
    """Return a name; "" for people whom no list mentions."""
    return names[person] if person < len(names) else ""


def check_format(path: Path) -> None:
    """Raise unless the file name ends in .csv or .parquet."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"{path}: the name must end in .csv or .parquet")


def write(
    beliefs: NDArray[np.float32],
    path: Path,
    *,
    names: Sequence[str] | None = None,
    first_date: date | None = None,
    first_day: int = 0,
) -> None:
    """Write one row per person and day (person, day, S, E, I, R), whole or not at all.

    Args:
        beliefs: [people, days, 4].
        path: ends in .csv or .parquet.
        names: the names by id, for a column `name`; None writes none.
        first_date: of the first day, for a column `date`; None writes none.
        first_day: its number; below 0 for days before those of the lists.
    """
    check_format(path)
    n_people, n_days, _ = beliefs.shape
    columns: dict[str, Any] = {
        "person": np.repeat(np.arange(n_people, dtype=np.int32), n_days),
        "day": np.tile(np.arange(first_day, first_day + n_days, dtype=np.int32), n_people),
    }
    if names is not None:
        padded = pa.array([_name(names, person) for person in range(n_people)])
        columns["name"] = padded.take(pa.array(columns["person"]))
    if first_date is not None:
        since = (columns["day"] - first_day).astype("timedelta64[D]")
        columns["date"] = np.datetime64(first_date, "D") + since
    columns |= {s.name: np.ascontiguousarray(beliefs[:, :, s]).reshape(-1) for s in State}
    table = pa.table(columns)
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            import pyarrow.csv as pacsv  # noqa: PLC0415

            pacsv.write_csv(table, temporary)
        else:
            _write_parquet(table, temporary)


def kept_sheet(path: Path) -> pa.Table:
    """Return a contact list with all its columns, those of a CSV file as they are written.

    Raises:
        InputError: it has a column already that `write_beside` would add.
    """
    names = read_file(path).column_names
    for added in _BESIDE:
        if added in names:
            raise InputError(f"{path}: has a column '{added}' already, which would be added")
    return read_file(path, as_text=names)


def write_beside(beliefs: NDArray[np.float32], sheet: pa.Table, contacts: Rows, path: Path) -> None:
    """Write a contact list again with P(I) of sender and receiver on the day of each contact.

    Args:
        beliefs: [people, days, 4].
        sheet: the list as it was read, by `kept_sheet`.
        contacts: the same rows as numbers.
        path: ends in .csv or .parquet; it is written whole or not at all.
    """
    check_format(path)
    columns, day = contacts.columns, contacts.columns["day"]
    for added, who in _BESIDE.items():
        infected = np.round(beliefs[columns[who], day, State.I].astype(np.float64), 6)
        sheet = sheet.append_column(added, pa.array(infected))
    with replacing(path) as temporary:
        if path.suffix == ".parquet":
            _write_parquet(sheet, temporary)
        else:
            values = [column.to_pylist() for column in sheet.columns]
            _write_csv(sheet.column_names, zip(*values, strict=True), temporary)


def _write_parquet(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415

    pq.write_table(table, path)


def write_id_map(names: Sequence[str], path: Path) -> None:
    """Write which id stands for which name as CSV (id, name), whole or not at all."""
    with replacing(path) as temporary:
        _write_csv(("id", "name"), enumerate(names), temporary)


def _write_csv(header: Sequence[str], rows: Iterable[Iterable[Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
