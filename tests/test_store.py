import json
import os

import pyarrow.parquet as pq
import pytest

from dnatrace.errors import InputError
from dnatrace.experiments import store
from dnatrace.experiments.config import RunConfig
from dnatrace.experiments.runs import run

CONFIG = RunConfig(method="random", people=200, days=5, seed=1)


@pytest.fixture(scope="module")
def result():
    return run(CONFIG)


def contents(directory):
    return {p.name: p.read_bytes() for p in directory.iterdir() if p.name != "timing.json"}


def test_a_run_directory_is_complete_and_reproducible(result, tmp_path):
    first = store.write_run(result, tmp_path / "a")
    assert first.name == CONFIG.digest
    assert contents(first) == contents(store.write_run(run(CONFIG), tmp_path / "b"))
    summary = json.loads((first / "summary.json").read_text())
    assert summary["peak_infected"] == result.summary["peak_infected"]
    assert RunConfig(**json.loads((first / "config.json").read_text())) == CONFIG
    assert pq.read_table(first / "daily.parquet").equals(result.daily)
    provenance = json.loads((first / "provenance.json").read_text())
    assert provenance["seed"] == 1
    assert provenance["config_digest"] == CONFIG.digest
    assert (first / "epidemic.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (first / "epidemic.svg").read_text()


def test_an_earlier_run_is_replaced_whole(result, tmp_path):
    directory = store.write_run(result, tmp_path)
    (directory / "stray").touch()
    assert store.write_run(result, tmp_path) == directory
    assert not (directory / "stray").exists()
    assert [p.name for p in tmp_path.iterdir()] == [CONFIG.digest]


def test_a_failure_leaves_nothing_and_keeps_the_old(result, tmp_path, monkeypatch):
    before = contents(store.write_run(result, tmp_path))

    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        store.write_run(result, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [CONFIG.digest]
    assert contents(tmp_path / CONFIG.digest) == before


def test_a_file_in_the_way(result, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: cannot be written"):
        store.write_run(result, tmp_path / "file")
