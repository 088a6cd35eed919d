"""Write files whole or not at all, say beforehand what could not be written, and read JSON."""

import json
import math
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError

_BLOCK = 4096  # bytes: what a file takes at least


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; the file replaces `path` when the block succeeds.

    When the block raises, the temporary file is removed and a file that was at `path` stays as it
    was. The content is on the disk before it gets the name, so that a crash of the machine leaves
    the earlier file or the whole new one. Cost: one fsync.
    """
    check_place(path)
    temporary = _temporary(path)
    try:
        yield temporary
        _flush(temporary)
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # a read-only file system refuses even what is not there
            temporary.unlink(missing_ok=True)


def _temporary(path: Path, kind: str = "partial") -> Path:
    """Return where a file is written; the suffix stays last: writers choose the format by it."""
    return path.with_name(f".{path.stem}.{os.getpid()}.{kind}{path.suffix}")


def check_place(path: Path) -> None:
    """Raise unless a file can be written under this name."""
    if path.is_dir():
        raise InputError(f"{path}: is a directory, expected the name of a file to write")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such directory to write to")
    if path.exists() and not path.is_file():  # a device or a pipe must not be replaced by a file
        raise InputError(f"{path}: is not a regular file")


def check_file(path: Path) -> None:
    """Raise before the work is done rather than after, if a file could not be written."""
    try:
        check_place(path)
        # As long a name as that of the file while it is written, which may be under way.
        _try_out(_temporary(path, f"try{secrets.token_hex(2)}"))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def check_directory(path: Path) -> None:
    """Raise before the work is done rather than after, if a directory could not be written.

    It need not exist yet: what is above it must then take it.
    """
    try:
        nearest = next(p for p in (path, *path.absolute().parents) if p.exists() or p.is_symlink())
        if not nearest.is_dir():
            kind = "a file, not a directory" if nearest.exists() else "a link that leads nowhere"
            raise InputError(f"{path}: cannot be written: {nearest} is {kind}")
        if not os.access(nearest, os.W_OK):
            raise InputError(f"{path}: cannot be written: no permission in {nearest}")
        _try_out(_temporary(nearest / "dnatrace", f"try{secrets.token_hex(2)}"))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _try_out(path: Path) -> None:
    """Write a small file and remove it: permissions do not tell of a full disk, or of /proc."""
    try:
        path.write_bytes(bytes(_BLOCK))
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def keep_inputs(out: Path, inputs: Iterable[Path], *, force: bool = True) -> None:
    """Raise if the output would overwrite one of the inputs, under whatever name or link.

    Without `force`, raise if the output exists at all. A path that cannot be written is reported
    here, too, before any work is done.
    """
    check_file(out)
    if not out.exists():
        return
    for path in inputs:
        if path.exists() and out.samefile(path):
            raise InputError(f"{out}: is read by this command and would be overwritten")
    if not force:
        raise InputError(f"{out}: exists already; --force replaces it")


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON, nested too deeply, or has a number that is not finite.
    """
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _finite(text: str) -> float:
    """Return a number of a JSON text; Python also reads NaN, Infinity and 1e999."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number


def _flush(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
