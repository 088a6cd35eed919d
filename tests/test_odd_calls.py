"""Odd values and damaged files: one line that names the culprit, exit code 2, nothing lost.

Some of all calls, chosen by a fixed seed; with HYPOTHESIS_PROFILE=nightly all of them.
"""

import os
import random

import pytest

from dnatrace.sweeps import sweep as sweeps

from .forked_sweeps import in_process
from .odd_calls import CALLS, READERS, Desk, commands, damages, odd_values

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
LONG = "x" * 300
# Each of these ended in a traceback or not at all.
MENDED = (
    f"certify {LONG}",
    f"list {LONG}",
    f"privacy ledger {LONG}",
    f"infer {LONG} tests.csv",
    f"run --config {LONG}",
    "run --method \udcff",
    "run --simulator \udcff",
    "run --people 60 --days 3 --out \udcff",
    "infer contacts.csv tests.csv --rounds 99999999999999999999",
    "audit --method dpfn-s --draws 99999999999999999999",
    "attack --method dpfn-s --draws 99999999999999999999",
    "evaluate --data data --resamplings 99999999999999999999",
    "train data --epochs 1 --variant combined --out NEW",
    "plan --scenario scarce --tests 0.1 --quarantine 0.1 --epsilon 1 --seed 99999999999999999999",
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    # Some odd values lead two directories up.
    directory = tmp_path_factory.mktemp("odd") / "a" / "b" / "desk"
    directory.mkdir(parents=True)
    return Desk(directory)


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.setattr(sweeps, "execute", in_process)


def some(values, most):
    values = list(values)
    return values if ALL or len(values) <= most else random.Random(len(values)).sample(values, most)


def test_every_command_has_a_call_that_succeeds(desk):
    assert set(CALLS) == set(commands())
    unfit = ("train",)  # the dataset of the desk is too small for it, and that is told
    assert [f for w, c in CALLS.items() if w not in unfit and (f := desk.fault(c.split()))] == []


@pytest.mark.parametrize("call", MENDED, ids=lambda call: ascii(call)[:60])
def test_what_ended_in_a_traceback_is_one_line(desk, call):
    assert desk.fault(call.split(" ")) == ""


@pytest.mark.parametrize("words", CALLS)
def test_odd_values(desk, words):
    faults = [desk.fault(call) for call in some(odd_values(words), 20)]
    assert [fault for fault in faults if fault] == []


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(desk, name):
    content = desk.kept[name.replace("RUN", desk.run)]
    faults = [desk.faults_of_reading(name, other) for other in some(damages(content), 8)]
    assert [fault for found in faults for fault in found] == []
