"""Files are whole or not there."""

import errno
import os
import stat
from pathlib import Path

import pytest

from dnatrace.errors import InputError
from dnatrace.files import check_directory, check_file, keep_inputs, replacing


def test_content_is_on_the_disk_before_it_has_the_name(tmp_path, monkeypatch):
    path, done = tmp_path / "a.txt", []
    sync, replace = os.fsync, Path.replace

    def spying_sync(descriptor):
        done.append(("sync", os.fstat(descriptor).st_size))
        sync(descriptor)

    def spying_replace(self, target):
        done.append(("replace", target.name))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", spying_sync)
    monkeypatch.setattr(Path, "replace", spying_replace)
    with replacing(path) as temporary:
        temporary.write_text("whole", "utf-8")
    assert done == [("sync", 5), ("replace", "a.txt")]
    assert path.read_text("utf-8") == "whole"


def test_an_earlier_file_stays_when_writing_fails(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("earlier", "utf-8")

    def fail():
        with replacing(path) as temporary:
            temporary.write_text("ha", "utf-8")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert path.read_text("utf-8") == "earlier"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="cannot be written"), replacing(path):
        pass  # nothing was written
    assert path.read_text("utf-8") == "earlier"


def test_a_read_only_file_system_is_one_clear_error(tmp_path, monkeypatch):
    """Such a system refuses also to remove what is not there."""

    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("write_text", "open", "unlink"):
        monkeypatch.setattr(Path, name, refuse)
    with (
        pytest.raises(InputError, match="txt: cannot be written: Read-only file system"),
        replacing(tmp_path / "a.txt") as temporary,
    ):
        temporary.write_text("whole", "utf-8")


def test_files_that_are_read_are_not_written(tmp_path):
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    keep_inputs(path, [path])  # neither is there
    path.touch()
    other.touch()
    (tmp_path / "link.csv").symlink_to(path)
    (tmp_path / "hard.csv").hardlink_to(path)
    keep_inputs(other, [path, tmp_path / "absent.csv"])
    for out in (path, tmp_path / "link.csv", tmp_path / "hard.csv", tmp_path / "." / "a.csv"):
        with pytest.raises(InputError, match="would be overwritten"):
            keep_inputs(out, [other, path])


def refusing(number):
    """Return a write that fails as a full disk or a strange file system does."""

    def write(*_):
        raise OSError(number, os.strerror(number))

    return write


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOENT])  # a full disk, and /proc
def test_what_cannot_be_written_is_known_beforehand(tmp_path, monkeypatch, number):
    """Root may write everywhere, says the system, also where nothing can be written."""
    path, store = tmp_path / "a.json", tmp_path / "new" / "store"
    for check, place in ((check_file, path), (check_directory, store), (check_directory, tmp_path)):
        check(place)
        with monkeypatch.context() as patched:
            patched.setattr(Path, "write_bytes", refusing(number))
            with pytest.raises(
                InputError, match=f"{place.name}: cannot be written: {os.strerror(number)}"
            ):
                check(place)
    assert list(tmp_path.iterdir()) == []


def test_names_that_no_file_can_have_are_one_line(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "x")
    for check, name, words in (
        (check_directory, "a" * 300, "File name too long"),
        (check_file, "a" * 300 + ".json", "File name too long"),
        (check_file, "a" * 245 + ".json", "File name too long"),  # with what stands there meanwhile
        (check_directory, "link", "link is a link that leads nowhere"),
        (check_directory, "link/store", "link is a link that leads nowhere"),
    ):
        with pytest.raises(InputError, match=words):
            check(tmp_path / name)


def test_a_device_or_pipe_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe.html"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is not a regular file"), replacing(pipe) as temporary:
        temporary.write_text("x")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
