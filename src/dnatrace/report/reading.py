"""Read stored runs back, or say in one line what is wrong with them."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.report.quantities import DAILY, GROUPED, SUMMARY
from dnatrace.runs import store

_DIGEST = re.compile(r"[0-9a-f]{16}")
_PRIVACY_EPSILONS = ("epsilon", "per_release_epsilon", "per_contact_epsilon", "per_pair_epsilon")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredRun:
    """One run as its directory tells it.

    Attributes:
        settings: by dotted key, without the seed; plain values.
        seed: of the run.
        summary: one number each, and the text of `method` and `privacy`.
        daily: by column, one value a day, NaN where there was nothing to measure.
        groups: one row for each age group and household size.
        ledger: what was released and spent.
        statement: the guarantee in words.
        provenance: version, commit, digest, seed, libraries.
    """

    settings: dict[str, Any]
    seed: int
    summary: dict[str, Any]
    daily: dict[str, NDArray[np.float64]]
    groups: list[dict[str, Any]]
    ledger: dict[str, Any]
    statement: str
    provenance: dict[str, Any]


def read_runs(directory: Path) -> list[StoredRun]:
    """Read all runs of a store, or the one run whose directory is given, in order of name.

    Directories that are not named by a digest are not runs; those that are must be whole.

    Raises:
        InputError: there is no run, or one of them is damaged.
    """
    if not directory.is_dir():
        kind = "is a file, not a directory" if directory.exists() else "no such directory"
        raise InputError(f"{directory}: {kind}")
    if (directory / "config.json").exists() or (directory / "summary.json").exists():
        return [read_run(directory)]
    try:
        names = sorted(p for p in directory.iterdir() if _DIGEST.fullmatch(p.name) and p.is_dir())
    except OSError as error:
        raise InputError(f"{directory}: cannot be read: {error.strerror or error}") from error
    if not names:
        raise InputError(f"{directory}: holds no stored run; `dnatrace run --out` makes them")
    return [read_run(path) for path in names]


def read_run(path: Path) -> StoredRun:
    """Read one run; every value that a report computes with is checked to be a number.

    Raises:
        InputError: a file is missing or damaged.
    """
    settings = flatten(store.read_json(path, "config.json"))
    seed = settings.pop("seed", None)
    if not isinstance(seed, int) or isinstance(seed, bool):
        _damaged(path / "config.json", "it has no seed")
    return StoredRun(
        settings=settings,
        seed=seed,
        summary=_check_summary(path / "summary.json", store.read_json(path, "summary.json")),
        daily=_read_daily(path / "daily.parquet"),
        groups=_read_groups(path / "groups.parquet"),
        ledger=_check_ledger(path / "ledger.json", store.read_ledger(path)),
        statement=store.read_text(path, "statement.txt"),
        provenance=store.read_json(path, "provenance.json"),
    )


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values by dotted key."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _check_summary(path: Path, summary: dict[str, Any]) -> dict[str, Any]:
    for key in ("people", "days", *(q.key for q in SUMMARY)):
        _require_number(path, summary, key)
    if not summary["people"] or summary["people"] < 1:
        _damaged(path, "'people' is not a positive number")
    privacy = summary.get("privacy")
    if not isinstance(privacy, dict):
        _damaged(path, "it says nothing about privacy")
    for key in _PRIVACY_EPSILONS:
        _require_number(path, privacy, key)
    return summary


def _require_number(path: Path, values: Mapping[str, Any], key: str) -> None:
    if key not in values:
        _damaged(path, f"'{key}' is missing")
    value = values[key]
    if value is not None and not _is_finite(value):
        _damaged(path, f"'{key}' is not a number")


def _is_finite(value: Any) -> bool:
    try:
        return not isinstance(value, bool | str) and math.isfinite(value)
    except (TypeError, OverflowError):
        return False


def _check_ledger(path: Path, ledger: dict[str, Any]) -> dict[str, Any]:
    rows = ledger["releases"]
    if not isinstance(ledger["spent"], dict) or not isinstance(rows, list):
        _damaged(path, "it is not a ledger")
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("day"), int):
            _damaged(path, "a release has no day")
    return ledger


def _read_daily(path: Path) -> dict[str, NDArray[np.float64]]:
    table = _read_parquet(path, ["day", *dict.fromkeys(c for q in DAILY for c in q.columns)])
    if table.num_rows == 0:
        _damaged(path, "it has no days")
    try:
        return {
            name: table[name].cast(pa.float64()).to_numpy(zero_copy_only=False)
            for name in table.column_names
        }
    except (pa.ArrowException, ValueError) as error:
        _damaged(path, str(error))


def _read_groups(path: Path) -> list[dict[str, Any]]:
    rows = _read_parquet(path, ["grouped_by", "group", "people", *(q.key for q in GROUPED)])
    records: list[dict[str, Any]] = rows.to_pylist()
    for record in records:
        for quantity in GROUPED:
            _require_number(path, record, quantity.key)
    return records


def _read_parquet(path: Path, columns: list[str]) -> pa.Table:
    try:
        return pq.read_table(path, columns=columns).select(columns)
    except KeyError as error:
        _damaged(path, f"it lacks a column: {error}")
    except (OSError, pa.ArrowException) as error:
        _damaged(path, str(error))


def _damaged(path: Path, why: str) -> NoReturn:
    raise InputError(f"{path}: is damaged: {why}") from None
