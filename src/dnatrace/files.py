"""Write files whole or not at all."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dnatrace.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; the file replaces `path` when the block succeeds.

    When the block raises, the temporary file is removed and a file that was at `path` stays as it
    was. The content is on the disk before it gets the name, so that a crash of the machine leaves
    the earlier file or the whole new one. Cost: one fsync.
    """
    check_place(path)
    # The suffix stays last because writers choose the format by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    try:
        yield temporary
        _flush(temporary)
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # a read-only file system refuses even what is not there
            temporary.unlink(missing_ok=True)


def check_place(path: Path) -> None:
    """Raise unless a file can be written under this name."""
    if path.is_dir():
        raise InputError(f"{path}: is a directory, expected the name of a file to write")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such directory to write to")
    if path.exists() and not path.is_file():  # a device or a pipe must not be replaced by a file
        raise InputError(f"{path}: is not a regular file")


def keep_inputs(out: Path, inputs: Iterable[Path], *, force: bool = True) -> None:
    """Raise if the output would overwrite one of the inputs, under whatever name or link.

    Without `force`, raise if the output exists at all. A path that cannot be written is reported
    here, too, before any work is done.
    """
    check_place(out)
    if not out.exists():
        return
    for path in inputs:
        if path.exists() and out.samefile(path):
            raise InputError(f"{out}: is read by this command and would be overwritten")
    if not force:
        raise InputError(f"{out}: exists already; --force replaces it")


def _flush(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
