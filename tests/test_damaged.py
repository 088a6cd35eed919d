"""Whatever stands in the files of a stored run, commands read it or refuse it in one line."""

import json
import math
import random

import pytest

from .command_line import run
from .damage import GONE, TABLES, cases, commands, copy_of, damage
from .report_store import config_of

# Cases per file, drawn from the values that do most harm: more where more is read.
HARSH = (None, 10**30, [], {}, math.nan, GONE)
SAMPLES = {"summary.json": 30, "config.json": 4, "ledger.json": 6, "provenance.json": 2}
SAMPLES |= {"daily.parquet": 2, "groups.parquet": 2}
# What was once a traceback.
KNOWN = (
    ("summary.json", ("people",), 10**30),
    ("summary.json", ("simulator",), []),
    ("summary.json", ("method",), {}),
    ("summary.json", ("privacy", "true_epsilon"), {}),
    ("summary.json", ("privacy", "true_epsilon"), {"a": None}),
    *(("summary.json", (key,), float("nan")) for key in ("peak_infected", "seed", "version")),
    ("summary.json", ("privacy", "release"), float("inf")),
    ("ledger.json", ("spent", "noise"), [None]),
    ("ledger.json", ("spent", "noise"), True),
    ("daily.parquet", "infected", 1e308),  # its squares are infinite
)


@pytest.fixture(scope="module")
def stored(report_store, tmp_path_factory):
    name = config_of("dpfn-s, release as_published, ε 1", 1).digest
    return copy_of(report_store / name, tmp_path_factory.mktemp("damaged"))


def readers(name, stored):
    """Return the commands that read a file of a run."""
    kinds = {"summary.json": ("list", "report"), "config.json": ("list", "report")}
    kinds |= {"ledger.json": ("privacy", "report")}
    found = [c for c in commands(stored) if c[0] in kinds.get(name, ("report",))]
    return [c for c in found if c[-1] == "--json"]


def check(case, stored):
    mend = damage(stored, case)
    try:
        for command in readers(case[0], stored):
            done = run(*command)
            told = done.stderr.splitlines()
            assert done.returncode in (0, 2), (case, command)
            assert len(told) == (done.returncode == 2), (case, told)
            assert done.stderr.count(str(stored)) <= 1, told
    finally:
        mend()


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: f"{case[1][-1]}={case[2]}")
def test_what_was_a_traceback_is_one_line(stored, case):
    check(case, stored)
    mend = damage(stored, case)
    codes = [run(*command).returncode for command in readers(case[0], stored)]
    mend()
    assert 2 in codes or "true_epsilon" in case[1]


def test_any_damage_is_read_or_refused_in_one_line(stored):
    every = list(cases(stored))
    kinds = set(map(repr, HARSH))
    assert len(every) > 1000
    assert kinds <= {repr(value) for _, _, value in every}
    for name, n in SAMPLES.items():
        harsh = [one for one in every if one[0] == name and repr(one[2]) in kinds]
        for case in random.Random(5).sample(harsh, n):
            check(case, stored)


def test_an_epsilon_without_its_delta_is_refused(report_store, tmp_path):
    proved = copy_of(report_store / config_of("dpfn-s, ε 1", 1).digest, tmp_path)
    summary = json.loads((proved / "summary.json").read_text())
    summary["privacy"] |= {"per_person_epsilon": 1.0}
    for delta in (None, GONE):
        changed = summary["privacy"] | {"delta": delta}
        changed = {key: value for key, value in changed.items() if value is not GONE}
        (proved / "summary.json").write_text(json.dumps(summary | {"privacy": changed}))
        done = run("report", proved)
        line = f"dnatrace: {proved / 'summary.json'}: is damaged: 'delta' is not a number\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


@pytest.mark.parametrize("name", [*TABLES, "config.json", "ledger.json", "statement.txt"])
def test_a_missing_file_is_missing_and_not_damaged(stored, tmp_path, name):
    path = copy_of(stored, tmp_path)
    (path / name).unlink()
    done = run("report", path)
    line = f"dnatrace: {path / name}: is missing\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_an_undamaged_run_is_read(stored):
    for command in commands(stored):
        done = run(*command)
        assert (done.returncode, done.stderr) == (0, ""), command
