"""One directory per run, named by the digest of its configuration, complete or absent.

A run is written under a temporary name and renamed when every file is on disk, so that a directory
with the name of a digest is always complete, even after a crash or a power failure, and no matter
who else writes into the store at the same time. Everything in it except `timing.json` and
`label.txt` (the name that a person gave it) is the same for every run of one configuration and
code. Files that people put there themselves stay when a run is written again.
"""

import errno
import hashlib
import io
import json
import logging
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from dnatrace.errors import InputError, is_readable, require_path, require_text
from dnatrace.files import parse_json
from dnatrace.runs import guarantees
from dnatrace.runs.run import RunResult

_LOG = logging.getLogger(__name__)
NOT_REPRODUCIBLE = frozenset({"timing.json", "label.txt"})
# What runs write into their directory. Everything else in it is somebody's own.
OURS = frozenset(
    {
        *("config.json", "summary.json", "provenance.json", "timing.json", "ledger.json"),
        *("statement.txt", "daily.parquet", "daily.csv", "groups.parquet", "groups.csv"),
        *("epidemic.png", "epidemic.svg", "label.txt", "report.html"),
    }
)
_DIGEST = re.compile(r"[0-9a-f]{16}")
# .<digest>.<machine>-<process>-<random>.partial (being written) or .old (being replaced)
_UNFINISHED = re.compile(r"\.(.+)\.([0-9a-f]{12})-(\d+)-[0-9a-f]+\.(partial|old)")
_LONGEST_LABEL = 100  # characters
_ABANDONED_SECONDS = 24 * 3600.0  # for writers on other machines; writing takes seconds


def write_run(result: RunResult, store: Path | str, *, label: str | None = None) -> Path:
    """Write a run with its figure and return its directory; an earlier one is replaced.

    Files in the directory that no run writes are kept. A label names the run for people and changes
    nothing else; without one the label of the earlier run stays. What dead writers left in the
    store is cleared first.

    Raises:
        InputError: the store cannot be written; nothing is left behind and the earlier run stays.
    """
    from dnatrace.runs import figures  # noqa: PLC0415 - sweeps do without matplotlib

    store = _directory(store)
    require_text(label=label)
    figure = figures.rendered(figures.epidemic(result.daily, result.summary), "epidemic")
    files = render(result) | figure
    clear_leftovers(store)
    final = store / result.config.digest
    before = _earlier_label(final)
    kept = check_label(label) if label is not None else before
    if before and kept != before:
        _LOG.info("the label '%s' of this run becomes '%s'", before, kept)
    if kept:
        files["label.txt"] = f"{kept}\n".encode()
    write_files(files, store, final.name, replace=True)
    return final


def _directory(store: Any) -> Path:
    """Return the directory of a store, or raise unless one is given."""
    if store is None:
        raise InputError("store must be a path, not None")
    require_path(store=store)
    return Path(store)


def _earlier_label(run: Path) -> str:
    """Return the label of a run that is replaced; a damaged one is told and gone."""
    try:
        return read_label(run)
    except InputError as error:
        _LOG.warning("%s; the label is lost", error)
        return ""


def check_label(label: str) -> str:
    """Return a label as it is stored, "" for none; raise unless it is one short line."""
    stripped = label.strip()
    if not is_readable(stripped):
        raise InputError("label: the encoding of this shell cannot read it; LC_ALL=C.UTF-8 can")
    if len(stripped) > _LONGEST_LABEL or not stripped.isprintable():
        raise InputError(f"label: give one line of at most {_LONGEST_LABEL} characters")
    return stripped


def read_label(run: Path) -> str:
    """Return the label of a stored run; empty when it has none."""
    return read_text(run, "label.txt") if (run / "label.txt").is_file() else ""


def render(result: RunResult) -> dict[str, bytes]:
    """Return the files of a run by name, without figures, so without matplotlib.

    Raises:
        InputError: the run was made by a method given as an object without a name.
    """
    if result.summary["config_digest"] is None:
        message = "a run of a method given as an object cannot be stored without a name"
        raise InputError(f"{message}: dt.run(config, method=…, name=…)")
    ledger = guarantees.ledger_table(result.config, result.ledger)
    files = {
        "config.json": _json(result.config.effective()),
        "summary.json": _json(result.summary),
        "provenance.json": _json(result.provenance),
        "timing.json": _json(result.seconds),
        "ledger.json": _json(ledger),
        "statement.txt": (guarantees.state(result.config, result.ledger) + "\n").encode(),
    }
    for name, table in (("daily", result.daily), ("groups", result.groups)):
        files[f"{name}.parquet"] = _written(pq.write_table, table)
        files[f"{name}.csv"] = _written(pacsv.write_csv, table)
    return files


def _json(values: Any) -> bytes:
    return (json.dumps(values, indent=2, allow_nan=False) + "\n").encode()


def _written(write: Callable[[pa.Table, io.BytesIO], Any], table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    write(table, buffer)
    return buffer.getvalue()


def write_files(
    files: Mapping[str, bytes], store: Path, digest: str, *, replace: bool = False
) -> bool:
    """Put a run into a store, whole or not at all, and return whether this copy was kept.

    Guarantee: a directory of that name is complete at every moment; files, directory and store are
    on disk when this returns. Of two writers of one run the first wins, unless `replace`. What
    people put into a directory that is replaced is in the new one, too.

    Raises:
        InputError: the store cannot be written; nothing is left behind and an earlier run stays.
    """
    final = store / digest
    mark = f"{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"
    temporary, old = (store / f".{digest}.{mark}.{kind}" for kind in ("partial", "old"))
    try:
        store.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        for name, content in files.items():
            with (temporary / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        replaced = final.exists() and (replace or not is_complete(final))
        if replaced:
            with suppress(FileNotFoundError):  # another writer is replacing it, and carries over
                _carry_over(final, temporary)
        _sync_directory(temporary)
        if replaced and final.exists():
            final.rename(old)
        stands = _rename(temporary, final)
        _sync_directory(store)
    except OSError as error:
        raise InputError(f"{store}: cannot be written: {error.strerror or error}") from error
    finally:  # also after an interrupt
        shutil.rmtree(temporary, ignore_errors=True)
        _put_back(old, final)
    return stands


def _put_back(old: Path, final: Path) -> None:
    """Give a run that was to be replaced its name back, or remove it if it has been replaced.

    Before it is removed, whatever people put there and the new one lacks is carried over: another
    writer may have been first, or a file may have come while the run was written.
    """
    if not final.exists():
        # Another writer may have been first, or there is nothing to put back.
        with suppress(OSError):
            old.rename(final)
    if not final.exists() or not old.exists():
        return
    try:
        _carry_over(old, final)
    except OSError as error:
        _LOG.warning("%s: your files are kept there: %s", old, error.strerror or error)
    else:
        shutil.rmtree(old, ignore_errors=True)


def _carry_over(source: Path, target: Path, ours: frozenset[str] = OURS) -> None:
    """Let a directory have what people put into another one; what it has already stays as it is.

    A file is not copied but gets a second name, where the file system can do that.
    """
    if not source.is_dir():
        return
    for path in source.iterdir():
        place = target / path.name
        if path.name in ours:
            continue
        if path.is_dir() and not path.is_symlink():
            place.mkdir(exist_ok=True)
            _carry_over(path, place, ours=frozenset())
        elif not os.path.lexists(place):
            _link(path, place)
    _sync_directory(target)


def _link(path: Path, place: Path) -> None:
    """Give a file, or a symbolic link, a second name; copy it where there are no such links."""
    try:
        os.link(path, place, follow_symlinks=False)
    except (FileExistsError, FileNotFoundError):
        raise
    except (OSError, NotImplementedError):
        shutil.copy2(path, place, follow_symlinks=False)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rename(temporary: Path, final: Path) -> bool:
    """Give a directory its name, unless another writer was first."""
    try:
        temporary.rename(final)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


@cache
def _machine() -> str:
    """Return an id that keeps process numbers of machines, boots and containers apart."""
    parts = [socket.gethostname()]
    with suppress(OSError):  # not Linux: the name of the machine has to suffice
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii"))
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()


def clear_leftovers(store: Path) -> int:
    """Remove what dead writers left unfinished and return how many directories that was.

    A writer is dead when its process number is free on this machine (same boot and container), or
    when it has not touched its directory for a day. A run that was about to be replaced is put
    back. Several processes may do this at once.
    """
    cleared = 0
    for path, name in _unfinished(store):
        if not _is_dead(path, name[2], int(name[3])):
            continue
        if name[4] == "old":
            _put_back(path, store / name[1])
        else:
            shutil.rmtree(path, ignore_errors=True)
        cleared += 1
    return cleared


def _unfinished(store: Path) -> Iterator[tuple[Path, re.Match[str]]]:
    try:
        paths = list(store.iterdir())
    except OSError:
        return  # there is no store, or it cannot be read: writing will report that
    for path in paths:
        if name := _UNFINISHED.fullmatch(path.name):
            yield path, name


def _is_dead(path: Path, machine: str, process: int) -> bool:
    if machine == _machine():
        try:
            with suppress(PermissionError):  # it is alive, and somebody else's
                os.kill(process, 0)
        except ProcessLookupError:
            return True
    try:
        return time.time() - path.stat().st_mtime > _ABANDONED_SECONDS
    except FileNotFoundError:
        return False  # finished in the meantime


def is_complete(run: Path) -> bool:
    """Return whether a directory is a stored run."""
    return _DIGEST.fullmatch(run.name) is not None and (run / "summary.json").is_file()


def stored_runs(store: Path) -> list[Path]:
    """Return the directories of all complete runs of a store, in the order of their names."""
    if not store.is_dir():
        kind = "is a file, not a directory" if store.exists() else "no such directory"
        raise InputError(f"{store}: {kind}")
    return sorted(path for path in store.iterdir() if is_complete(path))


def read_text(run: Path, name: str) -> str:
    """Read a file of a stored run, or raise naming what is missing."""
    if not (run / "summary.json").is_file():
        inner = sorted(run.iterdir()) if run.is_dir() else []
        held = next((path for path in inner if is_complete(path)), None)
        hint = "" if held is None else f", but a store of them; name one, such as {held}"
        raise InputError(f"{run}: is not a stored run{hint}")
    try:
        return (run / name).read_text("utf-8").rstrip()
    except FileNotFoundError:
        raise InputError(f"{run / name}: is missing") from None
    except OSError as error:
        raise InputError(f"{run / name}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{run / name}: cannot be read: {error}") from error


def read_json(run: Path, name: str) -> dict[str, Any]:
    """Read a JSON object of a stored run, or raise saying what is wrong."""
    text = read_text(run, name)
    try:
        values = parse_json(text)
    except ValueError as error:
        raise InputError(f"{run / name}: is damaged: {error}") from error
    if not isinstance(values, dict):
        raise InputError(f"{run / name}: is damaged: it is not an object")
    return values
