"""One directory per run, named by the digest of its configuration, complete or absent.

A run is written under a temporary name and renamed when every file is on disk, so that a directory
with the name of a digest is always whole. Everything in it but `timing.json` is the same for every
run of one configuration and code.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from dnatrace.errors import InputError
from dnatrace.experiments import figures, guarantees
from dnatrace.experiments.runs import RunResult


def check_store(store: Path) -> None:
    """Raise before the work is done rather than after, if a store could not be written."""
    nearest = next(p for p in (store, *store.absolute().parents) if p.exists())
    if not nearest.is_dir():
        raise InputError(f"{store}: cannot be written: {nearest} is a file, not a directory")
    if not os.access(nearest, os.W_OK):
        raise InputError(f"{store}: cannot be written: no permission in {nearest}")


def write_run(result: RunResult, store: Path) -> Path:
    """Write a run into a store and return its directory; an earlier run of that name is replaced.

    Raises:
        InputError: the store cannot be written; nothing is left behind.
    """
    final = store / result.config.digest
    temporary = store / f".{final.name}.{os.getpid()}.partial"
    try:
        store.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        _write_files(result, temporary)
        _sync(temporary)
        _replace(temporary, final)
    except OSError as error:
        raise InputError(f"{store}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return final


def _write_files(result: RunResult, directory: Path) -> None:
    _write_json(directory / "config.json", result.config.as_dict())
    _write_json(directory / "summary.json", result.summary)
    _write_json(directory / "provenance.json", result.provenance)
    _write_json(directory / "timing.json", result.seconds)
    _write_json(directory / "ledger.json", guarantees.ledger_table(result.config, result.ledger))
    text = guarantees.state(result.config, result.ledger)
    (directory / "statement.txt").write_text(text + "\n", "utf-8")
    for name, table in (("daily", result.daily), ("groups", result.groups)):
        pq.write_table(table, directory / f"{name}.parquet")
        pacsv.write_csv(table, directory / f"{name}.csv")
    figures.save(figures.epidemic(result.daily, result.summary), directory / "epidemic")


def _write_json(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, indent=2, allow_nan=False) + "\n", "utf-8")


def _sync(directory: Path) -> None:
    """Make sure that the files are on disk before the directory gets its name."""
    for path in [*directory.iterdir(), directory]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _replace(temporary: Path, final: Path) -> None:
    if final.exists():
        old = final.with_name(f".{final.name}.{os.getpid()}.old")
        final.rename(old)
        temporary.rename(final)
        shutil.rmtree(old)
    else:
        temporary.rename(final)


def read_text(run: Path, name: str) -> str:
    """Read a file of a stored run, or say what is missing."""
    if not (run / "summary.json").is_file():
        raise InputError(f"{run}: is not a stored run")
    try:
        return (run / name).read_text("utf-8").rstrip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{run / name}: cannot be read: {error}") from error


def read_ledger(run: Path) -> dict[str, Any]:
    """Read the ledger of a stored run, or say what is wrong with it."""
    path = run / "ledger.json"
    try:
        ledger = json.loads(read_text(run, path.name))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: is damaged: {error}") from error
    if not isinstance(ledger, dict) or not {"target", "spent", "releases"} <= set(ledger):
        raise InputError(f"{path}: is damaged: it is not a ledger")
    return ledger
