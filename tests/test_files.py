"""Files are whole or not there."""

import os
from pathlib import Path

import pytest

from dnatrace.errors import InputError
from dnatrace.files import replacing


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
