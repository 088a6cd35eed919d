"""Read stored runs, or say in one line what is wrong with them."""

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.runs import checked, store
from dnatrace.runs.listing import contents_of, settings_with_effect
from dnatrace.runs.quantities import DAILY, EPSILONS, GROUPED, RESULTS

_LOG = logging.getLogger(__name__)
_DIGEST = re.compile(r"[0-9a-f]{16}")
_DAILY_COLUMNS = ("day", *dict.fromkeys(column for q in DAILY for column in q.columns))
_RENAMED = {"isolated_ill": "isolated_exposed_or_infected"}  # columns of older stores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredRun:
    """One run as stored in its directory.

    A number that the files lack, because an older version wrote them, is None in `summary` and
    `groups` and NaN in `daily`.

    Attributes:
        settings: the settings that have an effect, by dotted key, without the seed; plain values.
        seed: the seed of the run.
        summary: one number per measure, the text of `method`, and the table `privacy`.
        daily: one value per day by column, NaN where there was nothing to measure.
        groups: one row per age group and household size.
        ledger: what was released and spent.
        statement: the guarantee in words.
        provenance: version, commit, digest, seed, libraries.
        label: the label that a person gave it; empty for none.
        contents: the first digits of the digests of the files that settings name, by the dotted
            key and "content"; older versions did not store them.
    """

    settings: dict[str, Any]
    seed: int
    summary: dict[str, Any]
    daily: dict[str, NDArray[np.float64]]
    groups: list[dict[str, Any]]
    ledger: dict[str, Any]
    statement: str
    provenance: dict[str, Any]
    label: str
    contents: dict[str, str]


def read_runs(directory: Path) -> tuple[list[StoredRun], list[str]]:
    """Read the runs of a store in order of name, or the one run whose directory is given.

    Directories that are not named by a digest are not runs. Those that are and are damaged are told
    and left out, as `list_runs` does; their names are returned, too.

    Raises:
        InputError: there is no run, or none that can be read.
    """
    if not directory.is_dir():
        kind = "is a file, not a directory" if directory.exists() else "no such directory"
        raise InputError(f"{directory}: {kind}")
    if (directory / "config.json").exists() or (directory / "summary.json").exists():
        return [read_run(directory)], []
    try:
        names = sorted(p for p in directory.iterdir() if _DIGEST.fullmatch(p.name) and p.is_dir())
    except OSError as error:
        raise InputError(f"{directory}: cannot be read: {error.strerror or error}") from error
    if not names:
        raise InputError(f"{directory}: holds no stored run; `dnatrace run --out` makes them")
    runs: list[StoredRun] = []
    wrong: dict[str, InputError] = {}
    for path in names:
        try:
            runs.append(read_run(path))
        except InputError as error:
            wrong[path.name] = error
    if not runs:
        first = next(iter(wrong.values()))
        many = f"{directory}: none of its {len(wrong)} runs can be read: "
        raise InputError(f"{many if len(wrong) > 1 else ''}{first}")
    for told in wrong.values():
        _LOG.warning("warning: %s; this run is left out", told)
    return runs, list(wrong)


def read_run(path: Path) -> StoredRun:
    """Read one run; every value used in a report's calculations is a number or absent.

    Raises:
        InputError: a file is missing or damaged.
    """
    config = store.read_json(path, "config.json")
    summary = _check_summary(path / "summary.json", checked.read_summary(path))
    seed = config.get("seed")
    if not isinstance(seed, int) or isinstance(seed, bool):
        _damaged(path / "config.json", "it has no seed")
    settings = {k: v for k, v in settings_with_effect(config).items() if k != "seed"}
    provenance = store.read_json(path, "provenance.json")
    return StoredRun(
        settings=settings,
        seed=seed,
        summary=summary,
        daily=_read_daily(path / "daily.parquet"),
        groups=_read_groups(path / "groups.parquet"),
        ledger=_check_ledger(path / "ledger.json", checked.read_ledger(path)),
        statement=store.read_text(path, "statement.txt"),
        provenance=provenance,
        label=store.read_label(path),
        contents=contents_of(provenance),
    )


def _check_summary(path: Path, summary: dict[str, Any]) -> dict[str, Any]:
    """Return a summary with every number that a report shows, None where it has none."""
    if summary.get("people") is None:
        _damaged(path, "'people' is not a positive number")
    numbers = {quantity.key: summary.get(quantity.key) for quantity in RESULTS}
    privacy = summary.get("privacy", {})
    epsilons = {quantity.key: privacy.get(quantity.key) for quantity in EPSILONS}
    if epsilons["per_person_epsilon"] is not None and privacy.get("delta") is None:
        _damaged(path, "'delta' is not a number")  # an ε means nothing without it
    return summary | numbers | {"privacy": privacy | epsilons}


def _check_ledger(path: Path, ledger: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(ledger["releases"], list):
        _damaged(path, "it is not a ledger")
    for row in ledger["releases"]:
        if not isinstance(row, dict) or not isinstance(row.get("day"), int):
            _damaged(path, "a release has no day")
    return ledger


def _read_daily(path: Path) -> dict[str, NDArray[np.float64]]:
    """Return the columns that charts show, by their current names, float64 [days] each."""
    table = _read_parquet(path, ("day",), (*_DAILY_COLUMNS, *_RENAMED))
    daily = {name: np.full(table.num_rows, np.nan) for name in _DAILY_COLUMNS}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
            _damaged(path, f"'{name}' is not a number")
        numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        if (np.abs(numbers) > checked.LARGEST).any():
            _damaged(path, f"'{name}' is not a number")
        daily[_RENAMED.get(name, name)] = numbers
    if daily["day"].size == 0 or not np.isfinite(daily["day"]).all():
        _damaged(path, "it has no days")
    return daily


def _read_groups(path: Path) -> list[dict[str, Any]]:
    classes, keys = ("grouped_by", "group"), tuple(quantity.key for quantity in GROUPED)
    rows = _read_parquet(path, classes, (*classes, *keys)).to_pylist()
    for row in rows:
        for key in keys:
            if row.setdefault(key, None) is not None and not checked.is_number(row[key]):
                _damaged(path, f"'{key}' is not a number")
    return rows


def _read_parquet(path: Path, needed: tuple[str, ...], columns: tuple[str, ...]) -> pa.Table:
    """Return those of the columns that a table has."""
    if not path.exists():
        raise InputError(f"{path}: is missing")
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        _damaged(path, str(error).partition("\n")[0])
    for name in needed:
        if name not in table.column_names:
            _damaged(path, f"it lacks the column '{name}'")
    return table.select([name for name in columns if name in table.column_names])


def _damaged(path: Path, why: str) -> NoReturn:
    raise InputError(f"{path}: is damaged: {why}") from None
