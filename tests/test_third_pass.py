"""What a third pass of new users stumbled over."""

import json
import re

import numpy as np
import pytest

import dnatrace as dt

from .command_line import run


def test_a_positive_test_on_the_first_days_is_told_and_can_be_given_time(tmp_path):
    """The model has hardly anybody in I on the first two days: such a test would say little."""
    (tmp_path / "c.csv").write_text(
        "sender,receiver,day\nAnna,Ben,2024-03-01\nAnna,Ben,2024-03-06\n"
    )
    (tmp_path / "t.csv").write_text("person,day,positive\nAnna,2024-03-01,1\n")
    told = run("infer", "c.csv", "t.csv", "--json", cwd=tmp_path)
    assert "t.csv: 1 positive test on the first two days says little" in told.stderr
    earlier = run("infer", "c.csv", "t.csv", "--days-before", "14", "--json", cwd=tmp_path)
    assert "says little" not in earlier.stderr
    first, second = (json.loads(done.stdout) for done in (told, earlier))
    assert second["first_date"] == "2024-02-16"
    before, after = (values["highest"][0]["P(E)+P(I)"] for values in (first, second))
    assert after > 10 * before


def test_numbers_that_are_names_are_told(tmp_path):
    (tmp_path / "t.csv").write_text("person,day,positive\n")
    for ids, line in (
        ("007,1", "007 is read as the number 7"),
        ("100234,5", "ids go up to 100234"),
    ):
        (tmp_path / "c.csv").write_text(f"sender,receiver,day\n{ids},3\n")
        done = run("infer", "c.csv", "t.csv", "--json", cwd=tmp_path)
        assert done.returncode == 0
        assert f"c.csv: {line}" in done.stderr
        named = run("infer", "c.csv", "t.csv", "--id-map", f"{ids}.csv", "--json", cwd=tmp_path)
        assert line not in named.stderr
        assert json.loads(named.stdout)["people"] == 2


def test_lists_that_cannot_be_are_told_with_their_place(tmp_path):
    (tmp_path / "t.csv").write_text("person,day,positive\n")
    (tmp_path / "c.csv").write_text("sender,receiver,day\n0,1,2\n\n0,1\n")
    done = run("infer", "c.csv", "t.csv", cwd=tmp_path)
    expected = "dnatrace: c.csv: not a readable CSV file: line 4 has 2 fields, the first 3\n"
    assert (done.returncode, done.stderr) == (2, expected)
    (tmp_path / "c.csv").write_text("sender,receiver,day\n0,1,2\n")
    done = run("infer", "c.csv", "t.csv", "--days", "1000000", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "dnatrace: 1000000 days are more than 10000\n")
    rates = ("--false-positive-rate", "1", "--false-negative-rate", "1")
    done = run("infer", "c.csv", "t.csv", *rates, cwd=tmp_path)
    assert "is then evidence against infection" in done.stderr


def test_sizes_may_be_numbers_of_numpy():
    rows = np.array([[0, 1, 2], [1, 0, 2]])
    beliefs = dt.infer(rows, np.empty((0, 3)), n_people=np.int64(2), n_days=rows[:, 2].max() + 1)
    assert beliefs.shape == (2, 3, 4)


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        ({"file": "nosuch.toml"}, "nosuch.toml: no such file"),
        ({"file": 5}, "file: expected a path, not 5"),
        ({"settings": "people=300"}, "settings: expected a list like"),
        ({"settings": [5]}, "settings: expected a list like"),
        ({"overrides": "x"}, "overrides: expected values by key, not 'x'"),
        ({"overrides": {5: 1}}, "overrides: expected values by key"),
    ],
)
def test_wrong_kinds_given_to_load_config_are_named(arguments, culprit):
    with pytest.raises(dt.InputError, match=re.escape(culprit)):
        dt.load_config(**arguments)


def test_files_of_many_runs_are_not_files_of_one(tmp_path):
    for text, line in (
        ("seeds = [1]\n", "'seeds' belongs to a file of many runs: dnatrace sweep"),
        ("preset = 'quick'\n", "'preset' is an option of a run: --preset quick"),
    ):
        (tmp_path / "run.toml").write_text(text)
        done = run("run", "--config", "run.toml", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"dnatrace: run.toml: {line}\n")
    (tmp_path / "many.toml").write_text("seed = 4\nseeds = [1]\n")
    done = run("sweep", "many.toml", "--store", "runs", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "dnatrace: many.toml: seed: give seeds, a list, instead\n",
    )


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("simulator.vaccination.share=0.5", "simulator.vaccination.share: against_infection and"),
        (
            "simulator.variant={first=3, from_day=50}",
            "variant.first: from_day 50 is after the last",
        ),
        ("simulator.distancing=[{from_day=50, work=0.5}]", "distancing: from_day 50 is after"),
        ("seir.p1=0.5", "seir.transmission_per_contact (p1) has no effect with method 'headcount'"),
        ("tests.false_positive_rate=1.0", "add up to more than 1"),
    ],
)
def test_settings_that_change_nothing_are_told(setting, line, caplog):
    dt.load_config(settings=[setting], overrides={"days": 20})
    assert line in caplog.text
    caplog.clear()
    dt.load_config(overrides={"days": 100})
    assert caplog.text == ""


def test_what_phones_believe_names_no_run_of_a_method_that_does_not_ask():
    for method in ("headcount", "public-facts", "bp", "one-round", "traditional", "none"):
        same = dt.RunConfig(method=method, p1=0.5).digest == dt.RunConfig(method=method).digest
        assert same, method
    rounds = {"method": "headcount", "seir": {"exchange": "rounds"}}
    other = {"method": "headcount", "seir": {"exchange": "rounds", "p1": 0.5}}
    assert dt.RunConfig(**rounds).digest != dt.RunConfig(**other).digest
    assert dt.RunConfig(method="tally", p1=0.5).digest != dt.RunConfig(method="tally").digest


def test_an_audit_of_nothing_and_options_of_another_audit_are_refused():
    done = run("audit", "--world", "met-once", "--method", "fn", "--json")
    line = "dnatrace: method 'fn' claims nothing: nothing to audit\n"
    assert (done.returncode, done.stderr) == (2, line)
    done = run("audit", "--world", "met-once", "--releases", "5")
    assert done.returncode == 2
    assert "a world has tests and releases of its own" in done.stderr


def test_a_report_replaces_pages_and_nothing_else(tmp_path):
    small = ("--people", "60", "--days", "3", "--method", "none", "-q")
    assert run("run", *small, "--out", "runs", cwd=tmp_path).returncode == 0
    (tmp_path / "notes.html").write_text("mine")
    done = run("report", "runs", "--out", "notes.html", cwd=tmp_path)
    assert (done.returncode, (tmp_path / "notes.html").read_text()) == (2, "mine")
    for _ in range(2):  # a page of ours may be made anew
        assert run("report", "runs", "--out", "page.html", cwd=tmp_path).returncode == 0
    assert run("report", "runs", "--out", "notes.html", "--force", cwd=tmp_path).returncode == 0
    (tmp_path / "runs" / "report.html").write_text("mine")
    done = run("report", "runs", cwd=tmp_path)
    assert (done.returncode, (tmp_path / "runs" / "report.html").read_text()) == (2, "mine")
    assert run("report", "runs", "--force", cwd=tmp_path).returncode == 0
    assert run("report", "runs", cwd=tmp_path).returncode == 0  # a page of its own is replaced


def test_a_label_that_is_replaced_is_told(tmp_path):
    small = ("run", "--people", "60", "--days", "3", "--method", "none", "--out", "runs")
    assert "becomes" not in run(*small, "--label", "first", cwd=tmp_path).stderr
    done = run(*small, "--label", "second", cwd=tmp_path)
    assert "the label 'first' of this run becomes 'second'" in done.stderr


def test_a_short_run_says_so_of_a_contact_too():
    done = run("run", "--people", "100", "--days", "10", "-q")
    words = " ".join(done.stdout.split())
    assert "per contact so far" in words
    assert "over its life" not in words


def test_a_statement_without_a_run_says_what_was_played_and_knows_the_floor():
    done = run("privacy", "statement", "--epsilon", "1")
    assert done.stdout.startswith(
        "From a run of 500 people and 40 days that was made for this text"
    )
    assert "not measured in this setting" not in done.stdout
    assert "Floor" in done.stdout or "FLOOR" in done.stdout
