"""What a second pass of new users stumbled over."""

import json
import os
import re
import stat
import subprocess
import sys

import numpy as np
import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.files import replacing
from dnatrace.runs.run import run

from .command_line import run as dnatrace

SMALL = {"people": 150, "days": 4, "initially_infected": 5}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "contacts.csv").write_text("sender,receiver,day\n0,1,2\n1,0,2\n1,2,3\n")
    (tmp_path / "tests.csv").write_text("person,day,positive\n0,4,1\n2,1,0\n")
    return tmp_path


def test_a_device_or_pipe_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe.html"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is not a regular file"), replacing(pipe) as temporary:
        temporary.write_text("x")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_results_are_replaced_by_force_alone(files):
    order = ["infer", "contacts.csv", "tests.csv", "-q", "--out", "beliefs.csv"]
    audit = ["audit", "--draws", "2000", "-q", "--out", "audit.json"]
    attack = ["attack", "--draws", "200", "-q", "--out", "attack.png"]
    names = [*order[:-2], "--id-map", "names.csv"]
    export = ["export", "dna", "dna.onnx", "-q"]
    orders = ((order, "beliefs.csv"), (audit, "audit.json"), (attack, "attack.png"))
    for command, name in (*orders, (names, "names.csv"), (export, "dna.onnx")):
        assert dnatrace(*command, cwd=files).returncode == 0
        (files / name).write_text("mine")
        again = dnatrace(*command, cwd=files)
        assert again.returncode == 2
        assert again.stderr == f"dnatrace: {name}: exists already; --force replaces it\n"
        assert (files / name).read_text() == "mine"
        assert dnatrace(*command, "--force", cwd=files).returncode == 0
        assert (files / name).read_bytes() != b"mine"


def test_pages_and_audits_have_their_suffix(files):
    stored = dnatrace("run", "--preset", "quick", "--people", 150, "--days", 3, "--out", "r", "-q",
                      cwd=files)  # fmt: skip
    assert stored.returncode == 0
    before = (files / "contacts.csv").read_text()
    for command in (["report", "r"], ["audit", "--draws", "2000"]):
        done = dnatrace(*command, "--out", "contacts.csv", "-q", cwd=files)
        assert done.returncode == 2
        assert "contacts.csv: the name must end in ." in done.stderr
    assert (files / "contacts.csv").read_text() == before


def test_options_of_privacy_without_noise_are_told(files):
    small = ["--people", 150, "--days", 3, "--json"]
    for method, told in (("fn", True), ("random", True), ("dpfn", False)):
        done = dnatrace("run", "--method", method, "--epsilon", 3, *small, cwd=files)
        line = f"--epsilon has no effect: method '{method}' adds no noise"
        assert (line in done.stderr) is told


def test_a_sweep_says_that_peaks_still_rise(files):
    (files / "s.toml").write_text("seeds = [1]\nmethod = 'none'\npeople = 300\ndays = 12\n")
    done = dnatrace("sweep", "s.toml", "--store", "runs", "-q", cwd=files)
    assert "(still rising)" in done.stdout
    (files / "s.toml").write_text("seeds = [1, 2]\nmethod = 'none'\npeople = 300\ndays = 12\n")
    done = dnatrace("sweep", "s.toml", "--store", "runs", "-q", cwd=files)
    assert re.search(r"\(still rising in [12] of 2\)", done.stdout)
    answer = json.loads(
        dnatrace("sweep", "s.toml", "--store", "runs", "-q", "--json", cwd=files).stdout
    )
    assert f"in {answer['results'][0]['runs_still_rising']} of 2)" in done.stdout


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        (3, "give a list"),
        ([1, 1], "twice"),
        (["1"], "give a list"),
        ([1, -1], "at least 0, not -1"),
        ([True, 2], "not True"),
        (np.array([True]), "not True"),
        ([2**63], "below 2.63, not 9223372036854775808"),
    ],
)
def test_wrong_seeds_are_named(seeds, message):
    with pytest.raises(InputError, match=message):
        dt.compare([dt.RunConfig(**SMALL)], seeds=seeds)


def test_a_script_without_a_guard_is_told_in_one_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import dnatrace as dt\n"
        f"dt.compare([dt.RunConfig(method='random', **{SMALL})], seeds=[1, 2])\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "bootstrapping" not in done.stderr
    assert done.stderr.count("Traceback") == 1
    assert 'must do so under `if __name__ == "__main__":`' in done.stderr


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_people": "3"}, "n_people must be a whole number, not '3'"),
        ({"n_days": 7.5}, "n_days must be a whole number, not 7.5"),
        ({"rounds": True}, "rounds must be a whole number, not True"),
        ({"levels": 2.5}, "levels must be a whole number, not 2.5"),
        ({"parameters": {"p1": 0.1}}, "parameters must be a SeirParameters, not {'p1': 0.1}"),
        ({"test_errors": 0.1}, "test_errors must be a TestErrors, not 0.1"),
    ],
)
def test_wrong_arguments_of_infer_are_named(wrong, message):
    with pytest.raises(InputError) as raised:
        dt.infer(np.array([[0, 1, 2]]), np.array([[0, 4, 1]]), **wrong)
    assert str(raised.value) == message


class Ranker:
    def __init__(self, answer):
        self.answer = answer

    def rank(self, day, contacts, tests):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([(1, 1.0), (1, 2.0)], "named a person twice"),
        (np.ones(150) * 1j, "complex scores have no order"),
    ],
)
def test_rankings_without_sense_are_refused(answer, message):
    with pytest.raises(InputError, match=message):
        run(dt.RunConfig(**SMALL), method=Ranker(answer))


def test_a_ranking_as_a_dictionary_is_that_of_its_pairs():
    config = dt.RunConfig(**SMALL)
    pairs = [(person, float(person)) for person in range(150)]
    found = [run(config, method=Ranker(answer)).daily for answer in (pairs, dict(pairs))]
    assert found[0].equals(found[1])
    with pytest.raises(InputError, match="Ranker is a class: give an object of it"):
        run(config, method=Ranker)


def test_a_statement_of_a_short_run_says_so(files):
    words = "These are the costs so far"
    for days, told in ((5, True), (30, False)):
        done = dnatrace("privacy", "statement", "--epsilon", 1, "--set", f"days={days}", cwd=files)
        assert (words in done.stdout) is told


def test_an_attack_on_tally_says_that_it_is_one_score(files):
    told = "later ones are computed from up to 14 releases"
    for method, expected in (("tally", True), ("dpfn-s", False)):
        done = dnatrace("attack", "--method", method, "--draws", 1000, "-q", cwd=files)
        assert (told in done.stdout) is expected


def test_what_is_not_sound_claims_no_accountant(files):
    order = ["privacy", "statement", "--method", "dpfn-s", "--release"]
    assert "Accountant:" in dnatrace(*order, "linear", cwd=files).stdout
    assert "Accountant:" not in dnatrace(*order, "as_published", cwd=files).stdout
