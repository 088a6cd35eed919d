"""A run that was killed resumes to the same bits; what is not its checkpoint is refused."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.runs import checkpoint as checkpoints
from dnatrace.runs.checkpoint import Checkpoint
from dnatrace.tracing import Loop

from .command_line import run

SMALL = {"people": 250, "days": 18, "seed": 3, "initially_infected": 10}


class KilledError(Exception):
    """What ends a run in these tests."""


def stop_after(day):
    def watch(row):
        if row["day"] == day:
            raise KilledError

    return watch


def results(result):
    summary = {k: v for k, v in result.summary.items() if k != "seconds"}
    return result.daily, result.groups, repr(summary)


def resumed(config, path, *, stops, every=4, **more):
    for day in stops:
        with pytest.raises(KilledError):
            dt.run(config, checkpoint=path, checkpoint_every=every, watch=stop_after(day), **more)
    seen = []
    result = dt.run(
        config,
        checkpoint=path,
        checkpoint_every=every,
        watch=lambda row: seen.append(row["day"]),
        **more,
    )
    return result, seen


CASES = {
    "headcount": {},
    "news, apart": {"method": {"name": "headcount", "release": "news"}, "epsilon": 30.0},
    "fn": {"method": "fn"},
    "dpfn-s": {"method": "dpfn-s", "unit": "contact"},
    "delays and levers": {
        "method": "tally",
        "tests": {"order_delay": 1, "result_delay": 2, "capacity": 0.2},
        "isolation": {"dropout": 0.1, "adherence": 0.7},
    },
    "bp": {"method": "bp"},
    "times": {
        "method": "none",
        "simulator": {
            "name": "city",
            "imports_per_day": 1.0,
            "variant": {"from_day": 3, "first": 5, "transmissibility": 1.5},
        },
    },
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_resumes_to_the_same_bits(tmp_path, case):
    config = dt.RunConfig(**SMALL, **CASES[case])
    whole = dt.run(config)
    path = tmp_path / "run.checkpoint"
    again, seen = resumed(config, path, stops=(3, 10, 13))
    assert results(again) == results(whole)
    assert seen == list(range(13, 19))  # day 12 was kept, 13 was not
    assert not list(tmp_path.iterdir())  # nothing is left at the end


def test_a_replayed_list_resumes(tmp_path):
    rows = np.random.default_rng(1).integers(0, 50, (400, 2))
    lines = [f"{a},{b},{i % 5}" for i, (a, b) in enumerate(rows) if a != b]
    contacts = tmp_path / "contacts.csv"
    contacts.write_text("\n".join(["sender,receiver,day", *lines]))
    config = dt.RunConfig(
        days=12, simulator={"name": "replay", "contacts": str(contacts)}, initially_infected=5
    )
    again, _ = resumed(config, tmp_path / "c", stops=(7,), every=3)
    assert results(again) == results(dt.run(config))


COMMAND = [sys.executable, "-m", "dnatrace", "run", "--people", "400", "--days", "60", "--json"]


def test_a_run_killed_at_any_moment_resumes_to_the_same_bits(tmp_path):
    """SIGKILL, often while a checkpoint is written: half-written ones are never read."""
    path = tmp_path / "run.checkpoint"
    keep = ["--checkpoint", str(path), "--checkpoint-every", "1"]
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1"}

    def said(command):
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        values = json.loads(done.stdout)
        values.pop("seconds")
        return values, done.stderr

    whole, _ = said(COMMAND)
    killed = 0
    for wait in (0.05, 0.17, 0.29):
        with subprocess.Popen(
            [*COMMAND, *keep],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        ) as process:
            before = path.stat().st_mtime_ns if path.exists() else 0
            while process.poll() is None and not (
                path.exists() and path.stat().st_mtime_ns != before
            ):
                time.sleep(0.01)
            time.sleep(wait)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                killed += 1
    assert killed >= 1
    again, log = said([*COMMAND, *keep]) if path.exists() else (whole, "resumes")
    assert again == whole
    assert "resumes" in log
    assert not list(tmp_path.iterdir())


def kept(tmp_path, **settings):
    path = tmp_path / "run.checkpoint"
    config = dt.RunConfig(**(SMALL | settings))
    with pytest.raises(KilledError):
        dt.run(config, checkpoint=path, checkpoint_every=2, watch=stop_after(3))
    return path, config


def test_what_is_not_the_checkpoint_of_the_run_is_refused(tmp_path, monkeypatch):
    path, config = kept(tmp_path)
    whole = path.read_bytes()
    with pytest.raises(InputError, match="checkpoint of another run"):
        dt.run(config.model_copy(update={"seed": 4}), checkpoint=path)
    path.write_bytes(whole[:-1])
    with pytest.raises(InputError, match="incomplete"):
        dt.run(config, checkpoint=path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="incomplete"):
        dt.run(config, checkpoint=path)
    path.write_text("my notes")
    with pytest.raises(InputError, match="is not a checkpoint"):
        dt.run(config, checkpoint=path)
    assert path.read_text() == "my notes"
    path.write_bytes(whole)
    monkeypatch.setattr(checkpoints, "__version__", "0.0.1")
    with pytest.raises(InputError, match=r"of version .*, while this is 0\.0\.1"):
        dt.run(config, checkpoint=path)
    assert path.read_bytes() == whole


def test_what_a_process_left_half_written_is_removed_and_of_one_that_runs_is_not(tmp_path):
    path = tmp_path / "run.checkpoint"
    done = subprocess.Popen([sys.executable, "-c", "pass"])
    done.wait()
    dead = tmp_path / f".run.{done.pid}.partial.checkpoint"
    mine = tmp_path / f".run.{os.getpid()}.partial.checkpoint"
    other = tmp_path / ".run.notes.partial.checkpoint"
    for file in (dead, mine, other):
        file.write_bytes(b"half")
    Checkpoint(path=path, digest="0")
    assert not dead.exists()
    assert mine.exists()
    assert other.exists()


class Harmful:
    def __reduce__(self):
        return print, ("run by reading",)


def test_a_checkpoint_runs_nothing_of_others(tmp_path, capsys):
    path, config = kept(tmp_path)
    whole = path.read_bytes()
    head = b"\n".join(whole.split(b"\n")[:2]) + b"\n"
    path.write_bytes(head + pickle.dumps(Harmful()) + b"\nend of checkpoint\n")
    with pytest.raises(InputError, match=r"holds builtins\.print"):
        dt.run(config, checkpoint=path)
    assert capsys.readouterr().out == ""


def test_what_cannot_resume_says_so(tmp_path):
    path = tmp_path / "c"
    simulator = type("Elsewhere", (), {})()
    with pytest.raises(InputError, match="simulator Elsewhere cannot resume"):
        Checkpoint(path=path, digest="0").check(simulator)
    with pytest.raises(InputError, match="needs a name"):
        dt.run(dt.RunConfig(**SMALL), method=dt.methods.oracle.Oracle(), checkpoint=path)
    with pytest.raises(InputError, match="at least 1"):
        dt.run(dt.RunConfig(**SMALL), checkpoint=path, checkpoint_every=0)


def test_the_command_refuses_in_one_line(tmp_path):
    path, _ = kept(tmp_path)
    for where, why in ((path, "a checkpoint of another run"), (tmp_path, "is a directory")):
        done = run("run", "--people", "250", "--checkpoint", str(where))
        assert done.returncode == 2
        assert why in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_the_time_of_a_resumed_run_includes_what_came_before(tmp_path):
    config = dt.RunConfig(**SMALL, method="none")
    path = tmp_path / "c"

    def slowly(row):
        time.sleep(0.1)
        if row["day"] == 11:
            raise KilledError

    with pytest.raises(KilledError):
        dt.run(config, checkpoint=path, checkpoint_every=2, watch=slowly)
    with pytest.raises(KilledError):
        dt.run(config, checkpoint=path, checkpoint_every=2, watch=slowly)
    seconds = dt.run(config, checkpoint=path, checkpoint_every=2).seconds
    assert seconds["total"] > 1.0
    assert seconds["total"] >= sum(value for phase, value in seconds.items() if phase != "total")


@pytest.mark.parametrize(("stops", "told"), [(7, "; the same command resumes"), (2, "")])
def test_an_interrupted_run_says_that_it_resumes_if_it_does(tmp_path, monkeypatch, stops, told):
    step = Loop.step

    def interrupted(self, state):
        if state.day == stops:
            raise KeyboardInterrupt
        return step(self, state)

    monkeypatch.setattr(Loop, "step", interrupted)
    options = ("--people", "60", "--days", "9", "--checkpoint", "c", "--checkpoint-every", "3")
    done = run("run", "-q", *options, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, f"dnatrace: interrupted{told}\n")
    assert (tmp_path / "c").exists() == bool(told)


class Remembers:
    """A ranker with arrays, lists and a generator of its own."""

    def init(self, n_people, n_days):
        del n_days
        self.n_people, self.seen, self.draws = n_people, [], np.random.default_rng(5)

    def rank(self, day, contacts, tests, data):
        self.seen.append((day, len(contacts), len(tests)))
        data["logger"].debug("day %d", day)
        return self.draws.random(self.n_people)


class HoldsFunction:
    """A ranker whose state cannot be written."""

    def init(self, n_people, n_days):
        del n_days
        self.rank_all = lambda: np.zeros(n_people)

    def rank(self, day, contacts, tests):
        del day, contacts, tests
        return self.rank_all()


def test_a_run_of_a_ranker_resumes(tmp_path):
    """What it was given, a logger, could be written and not be read: the run was lost."""

    def stop(row):
        if row["day"] == 5:
            raise KeyboardInterrupt

    config, about = dt.RunConfig(**SMALL), {"method": Remembers(), "name": "remembers 1"}
    path = tmp_path / "c"
    with pytest.raises(KeyboardInterrupt):
        dt.run(config, **about, checkpoint=path, checkpoint_every=2, watch=stop)
    assert path.exists()
    resumed = dt.run(config, **about, checkpoint=path, checkpoint_every=2)
    assert resumed.daily == dt.run(config, **about).daily


def test_a_ranker_that_cannot_resume_is_told_before_the_run(tmp_path):
    path, days = tmp_path / "c", []
    given = {"method": HoldsFunction(), "name": "holds 1", "watch": days.append}
    with pytest.raises(InputError, match=r"c: a run of this object cannot resume: .*lambda"):
        dt.run(dt.RunConfig(**SMALL), **given, checkpoint=path)
    assert (days, path.exists()) == ([], False)
