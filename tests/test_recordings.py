import numpy as np
import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.experiments.config import RunConfig
from dnatrace.experiments.runs import build_simulator, run
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.recordings import Recorder, read_recording


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    directory = tmp_path_factory.mktemp("recording")
    config = RunConfig(
        method="random", people=300, days=9, seed=4, initially_infected=9, seir={"window": 5}
    )
    return config, directory, run(config, record=Recorder.create(directory))


def test_recording_changes_nothing(recorded):
    config, _, result = recorded
    assert run(config).daily.equals(result.daily)


def test_what_was_written_gives_the_messages_again(recorded):
    config, directory, result = recorded
    days = list(read_recording(directory))
    assert [d.day for d in days] == list(range(1, 10))
    last = days[-1]
    assert len(last.contacts) == 5
    window = dt.ContactWindow(n_people=300, n_days=5)
    for day in last.contacts:
        window.push(day)
    model = {"parameters": dt.SeirParameters(), "test_errors": dt.TestErrors()}
    heard = fn.converse(window, last.outcomes, rounds=config.seir.rounds, **model)
    np.testing.assert_array_equal(fn.infected(heard, last.outcomes, **model), last.messages)
    assert (last.outcomes[-1] >= 0).sum() == result.daily["tests"][-1].as_py()
    assert (last.states > 0).sum() == result.daily["ever_infected"][-1].as_py()
    assert last.isolated.sum() == result.daily["isolated"][-1].as_py() > 0
    np.testing.assert_array_equal(last.age_groups, build_simulator(config).age_groups)


def test_bad_directories(recorded, tmp_path):
    _, directory, _ = recorded
    with pytest.raises(InputError, match="not a new or empty directory"):
        Recorder.create(directory)
    with pytest.raises(InputError, match="holds no recorded days"):
        next(read_recording(tmp_path))
    with np.load(directory / "day-0001.npz") as stored:
        kept = {name: stored[name] for name in stored if name != "isolated"}
    older = tmp_path / "older"
    older.mkdir()
    np.savez(older / "day-0001.npz", **kept)
    with pytest.raises(InputError, match="older version"):
        next(read_recording(older))
    (tmp_path / "day-0002.npz").touch()
    with pytest.raises(InputError, match="day 1 is missing"):
        next(read_recording(tmp_path))
