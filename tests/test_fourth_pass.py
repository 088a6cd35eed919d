"""What a fourth pass of new users stumbled over."""

import io
import json
import re
import sys

import numpy as np
import pytest

import dnatrace as dt
from dnatrace import cli
from dnatrace.cli._command import table
from dnatrace.methods import adversary
from dnatrace.privacy.accounting import Target
from dnatrace.runs import quantities
from dnatrace.runs.console import print_table

from .command_line import run

CONTACTS = np.array([[0, 1, 2], [1, 0, 2]])
TESTS = np.array([[0, 4, 1]])


# --- options that would change nothing ---


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("gamma", "--method", "fn"), "method 'fn' clips no messages: it has no γ to choose"),
        (("gamma", "--method", "tally"), "method 'tally' clips no messages: it has no γ to choose"),
        (("gamma", "--fresh"), "--fresh has no meaning for gamma here"),
        (("gamma", "--data", "x"), "--data has no meaning for gamma here"),
        (("theorems", "--method", "dpfn"), "--method has no meaning for theorems here"),
        (("theorems", "--fresh"), "--fresh has no meaning for theorems here"),
        (("auc", "--method", "dpfn"), "--method has no meaning for auc here"),
        (("table", "--data", "x"), "--data has no meaning for table here"),
        (
            ("auc", "--data", "x"),
            "--quick makes a small run of its own: leave out --data, or --quick",
        ),
    ],
)
def test_reproduce_refuses_what_it_would_ignore(tmp_path, options, line):
    done = run("reproduce", *options, "--quick", "--out", "reproduced", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"dnatrace: {line}\n")
    assert not list(tmp_path.rglob("*"))


# --- wrong kinds in Python ---

NO_NUMBERS = ["a", "0.5", b"x", [1], {}, None, True, 1j, np.array([1.0, 2.0]), object]


@pytest.mark.parametrize("wrong", [w for w in NO_NUMBERS if w is not None], ids=repr)
def test_a_clip_that_is_no_number_is_named(wrong):
    with pytest.raises(dt.InputError, match="clip must be a number, not "):
        dt.infer(CONTACTS, TESTS, n_people=3, n_days=7, clip=wrong)


@pytest.mark.parametrize("wrong", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize(
    ("function", "names"),
    [
        (dt.privacy.gaussian_sigma, ("epsilon", "delta", "sensitivity")),
        (dt.privacy.gaussian_epsilon, ("sigma", "delta", "sensitivity")),
        (dt.privacy.gaussian_delta, ("sigma", "epsilon", "sensitivity")),
        (Target, ("epsilon", "delta")),
    ],
)
def test_budgets_that_are_no_numbers_are_named(function, names, wrong):
    right = dict.fromkeys(names, 0.5)
    function(**right)
    for name in names:
        with pytest.raises(dt.InputError, match=f"{name} must be a number, not "):
            function(**right | {name: wrong})


def test_noise_beyond_all_numbers_is_refused():
    with pytest.raises(dt.InputError, match="needs noise beyond all numbers"):
        dt.privacy.gaussian_sigma(epsilon=1.0, delta=1e-3, sensitivity=1e308)


def test_more_attackers_than_memory_holds_are_refused():
    done = run("attack", "--co-attackers", "1000000", "--draws", "1000")
    line = "co-attackers must be at most 100, not 1000000"
    assert (done.returncode, done.stderr) == (2, f"dnatrace: {line}\n")


def test_many_attackers_are_played_in_small_populations(monkeypatch):
    """They take as much memory as few do, and every draw has noise of its own."""
    sizes = []

    def counted(encounter, method, world, copies):
        sizes.append(copies * (1 + encounter.attackers))
        return np.full((copies, encounter.attackers), len(sizes), dtype=float), ()

    monkeypatch.setattr(adversary, "_release_in", counted)
    game = adversary.AdversaryGame(adversary.attack_encounter(co_attackers=101), lambda s: s)
    assert game(0, 20_000).shape == (20_000, 101)
    assert max(sizes) <= 2**20
    assert game.next_seed == len(sizes) == 2


def test_another_calibration_than_asked_for_is_never_used():
    """A name that nobody knows was taken for `exact`."""
    assert Target(epsilon=1.0, calibration="classical").mu != Target(epsilon=1.0).mu
    for wrong in ("clasical", None, 5, np.array([1, 2])):
        with pytest.raises(dt.InputError, match=r"unknown calibration .*: exact, classical, renyi"):
            Target(epsilon=1.0, calibration=wrong)


@pytest.mark.parametrize("wrong", [5, [1], {"a": 1}, np.array([1, 2])], ids=repr)
def test_names_that_are_no_texts_are_named(wrong):
    for name in ("preset", "scenario"):
        with pytest.raises(dt.InputError, match=f"{name}: expected a name, not "):
            dt.load_config(**{name: wrong})


def small():
    return dt.load_config(preset="quick", overrides={"people": 60, "days": 3, "method": "none"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"track": 5}, "track must be a function, not 5"),
        ({"watch": "x"}, "watch must be a function, not 'x'"),
        ({"method": object(), "name": 5}, "name must be a text, not 5"),
    ],
)
def test_wrong_kinds_given_to_run_are_named(arguments, message):
    with pytest.raises(dt.InputError, match=re.escape(message)):
        dt.run(small(), **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 1.5}, "workers must be a whole number, not 1.5"),
        ({"workers": float("nan")}, "workers must be a whole number, not nan"),
        ({"workers": 0}, "workers must be at least 1, not 0"),
        ({"store": 5}, "store must be a path, not 5"),
        ({"cluster": 5}, "cluster must be a text, not 5"),
        ({"track": 5}, "track must be a function, not 5"),
        ({"seeds": b"x"}, "seeds: give a list such as [1, 2, 3], not b'x'"),
        ({"baseline": np.array([1, 2])}, "baseline '[1 2]' is not among the labels: 'a'"),
    ],
)
def test_wrong_kinds_given_to_compare_are_named(arguments, message):
    with pytest.raises(dt.InputError, match=re.escape(message)):
        dt.compare({"a": small()}, **{"seeds": [1]} | arguments)


def test_labels_and_metrics_that_a_comparison_has_not_are_named():
    study = dt.compare({"a": small()}, seeds=[1, 2], workers=1)
    for call, message in (
        (lambda: study.spread("b", "deaths"), "label 'b' is not among the labels: 'a'"),
        (lambda: study.spread([1], "deaths"), "label '[1]' is not among the labels: 'a'"),
        (lambda: study.spread("a", "death"), "metric 'death' is not among the numbers of a"),
        (lambda: study.spread("a", "method"), "metric 'method' is not among the numbers of a"),
        (
            lambda: study.table(["peak"]),
            "metric 'peak' is not among the numbers of a summary: peak",
        ),
        (lambda: study.table("deaths"), "metrics: give a list such as ['deaths'], not a text"),
        (lambda: study.difference("a", "b", "deaths"), "label 'b' is not among"),
    ):
        with pytest.raises(dt.InputError, match=re.escape(message)):
            call()


@pytest.mark.parametrize("kind", [dt.ContactWindow, dt.TestLog])
@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"n_people": 1.5, "n_days": 2}, "n_people must be a whole number, not 1.5"),
        ({"n_people": 3, "n_days": float("inf")}, "n_days must be a whole number, not inf"),
        ({"n_people": 3, "n_days": "2"}, "n_days must be a whole number, not '2'"),
        ({"n_people": 3, "n_days": 10**30}, "days are more than 10000"),
    ],
)
def test_sizes_of_windows_and_logs_that_cannot_be_are_named(kind, sizes, message):
    for make in (kind, lambda **given: kind.from_rows(np.array([[0, 1, 1]]), **given)):
        with pytest.raises(dt.InputError, match=message):
            make(**sizes)


def test_a_day_that_is_none_is_named():
    with pytest.raises(dt.InputError, match="a day must be a DayContacts, not 'x'"):
        dt.ContactWindow(n_people=3, n_days=2).push("x")


# --- lists ---


def test_blanks_around_the_names_of_columns_do_not_matter(tmp_path):
    plain = ("sender,receiver,day\n0,1,2\n1,0,3\n", "person,day,positive\n0,4,1\n")
    blank = ("sender, receiver ,day\n0, 1, 2\n1,0,3\n", " person,day , positive\n0,4,1\n")
    found = []
    for texts in (plain, blank):
        for name, text in zip(("c.csv", "t.csv"), texts, strict=True):
            (tmp_path / name).write_text(text)
        found.append(run("infer", "c.csv", "t.csv", "--json", cwd=tmp_path))
    assert (found[1].returncode, found[1].stdout) == (0, found[0].stdout)
    (tmp_path / "c.csv").write_text("from ; to; when \nAnna;Ben;2024-03-01\n")
    (tmp_path / "t.csv").write_text("person;day; positive\nAnna;2024-03-04;yes\n")
    named = ("--columns", "sender=from,receiver=to,day=when")
    assert run("infer", "c.csv", "t.csv", *named, cwd=tmp_path).returncode == 0
    (tmp_path / "c.csv").write_text("sender,receiver,day, day\n0,1,2,2\n")
    done = run("infer", "c.csv", "t.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "c.csv: column 'day' appears more than once" in done.stderr


def test_lists_with_the_line_ends_of_old_spreadsheets_are_read(tmp_path):
    (tmp_path / "c.csv").write_bytes(b"sender, receiver,day\rAnna,Ben,2024-03-01\r")
    (tmp_path / "t.csv").write_bytes(b"person,day,positive\rAnna,2024-03-04,yes\r")
    done = run("infer", "c.csv", "t.csv", cwd=tmp_path)
    assert (done.returncode, "Anna" in done.stdout) == (0, True)


def test_an_id_beyond_all_numbers_is_called_too_large(tmp_path):
    (tmp_path / "c.csv").write_text("sender,receiver,day\n0,99999999999999999999,2\n")
    (tmp_path / "t.csv").write_text("person,day,positive\n")
    done = run("infer", "c.csv", "t.csv", cwd=tmp_path)
    line = "row 1, column 'receiver': 1e+20 is too large (line 2 of the file)"
    assert (done.returncode, done.stderr) == (2, f"dnatrace: c.csv: {line}\n")


# --- what the terminal shows ---


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_columns_stay_aligned_where_signs_are_spelled(monkeypatch, encoding):
    """Every line of a table is as wide as the others, whatever a sign becomes."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    cli._make_legible()
    print_table(table([{"ε": "0.5", "peak, ‰": "3 ± 1"}, {"ε": "1", "peak, ‰": "≤ 2"}]))
    stream.flush()
    text = stream.buffer.getvalue().decode(encoding)
    lines = text.splitlines()
    assert len(lines) == 6
    assert len({len(line) for line in lines}) == 1, text
    assert ("epsilon" in text, "per mille" in text) == (encoding != "utf-8",) * 2


def test_a_label_that_the_shell_cannot_read_says_why(tmp_path):
    """In a locale of ASCII arguments are bytes; that is not too long a label."""
    label = "Gr\udcc3\udcbc\udcc3\udc9fe"
    done = run("run", "--people", "60", "--out", "runs", "--label", label, cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert done.stderr.startswith("dnatrace: label: the encoding of this shell cannot read '")
    assert done.stderr.endswith("; LC_ALL=C.UTF-8 may\n")


# --- presets ---


def test_messages_without_privacy_pay_in_the_small_city():
    """Of preset quick: one exchange and ages, as in standard; with five rounds it was luck.

    Peaks in ‰ on seeds 1 to 30: floor 29.1 ± 2.8, fn 22.0 ± 1.4, with five rounds 26.2 ± 1.9; on
    seed 1, which everybody sees first, 35.5, 28.5 and 36.5. Of the first six seeds fn is 10.9 below
    the floor on average, with five rounds 3.4.
    """
    quick = dt.load_config(preset="quick", overrides={"method": "fn"})
    assert quick.method == dt.load_config(overrides={"method": "fn"}).method

    def peaks(method):
        config = dt.load_config(preset="quick", overrides={"method": method})
        seeds = (config.model_copy(update={"seed": seed}) for seed in range(1, 7))
        return np.array([1000 * dt.run(one).summary["peak_infected"] for one in seeds])

    differences = peaks("fn") - peaks("public-facts")
    assert differences[0] < 0
    assert differences.mean() < -7


def test_seeds_of_a_sweep_that_stand_there_twice_are_refused(tmp_path):
    (tmp_path / "study.toml").write_text("preset = 'quick'\nseeds = [1, 2, 1]\n")
    done = run("sweep", "study.toml", "--store", "runs", cwd=tmp_path)
    line = "seeds: one of them is given twice, which would count it twice"
    assert (done.returncode, done.stderr) == (2, f"dnatrace: study.toml: {line}\n")


def test_an_address_of_a_cluster_that_is_none_is_one_line(tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "study.toml").write_text("preset = 'quick'\npeople = 60\nseeds = [1]\n")
    done = run("sweep", "study.toml", "--store", "runs", "--cluster", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("dnatrace: nowhere: no Dask scheduler answers: ")
    assert len(done.stderr.splitlines()) == 1


# --- values that are empty ---


@pytest.mark.parametrize(
    ("given", "culprit"),
    [
        (("run", "--preset", "quick", "--out", ""), "--out"),
        (("run", "--preset", "quick", "--out="), "--out"),
        (("run", "--preset", "quick", "--checkpoint", ""), "--checkpoint"),
        (("sweep", "study.toml", "--store", ""), "--store"),
        (("plan", "--out", ""), "--out"),
        (("reproduce", "table", "--quick", "--out", ""), "--out"),
        (("app", "--store", ""), "--store"),
        (("report", ""), "an argument"),
        (("list", ""), "an argument"),
        (("privacy", "statement", ""), "an argument"),
        (("privacy", "ledger", ""), "an argument"),
    ],
)
def test_an_empty_path_is_not_the_current_directory(tmp_path, given, culprit):
    """A variable of the shell that is not set: `--out "$OUT"`."""
    done = run(*given, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"dnatrace: {culprit} is empty\n"
    assert not list(tmp_path.iterdir())


def test_an_empty_label_takes_the_name_away(tmp_path):
    small = ("run", "--preset", "quick", "--people", 60, "--days", 3, "--out", "runs", "--label")
    for label in ("first", ""):
        assert run(*small, label, cwd=tmp_path).returncode == 0
    (row,) = json.loads(run("list", "runs", "--json", cwd=tmp_path).stdout)["runs"]
    assert not row["label"]


def test_lists_without_a_row_do_not_make_a_person(tmp_path):
    (tmp_path / "contacts.csv").write_text("sender,receiver,day\n")
    (tmp_path / "tests.csv").write_text("person,day,positive\n")
    given = ("infer", "contacts.csv", "tests.csv")
    line = "contacts.csv, tests.csv: neither has a row; --people says how many there are"
    done = run(*given, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"dnatrace: {line}\n")
    assert run(*given, "--people", 3, cwd=tmp_path).returncode == 0


# --- what a run says ---


def test_days_between_checkpoints_need_a_checkpoint():
    done = run("run", "--preset", "quick", "--checkpoint-every", 3)
    line = "--checkpoint-every has no effect without --checkpoint"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"dnatrace: {line}\n")


def test_positive_tests_are_not_called_infections():
    """People who are found are tested again: there are more such tests than infected people."""
    overrides = {"method": "fn", "people": 300, "days": 20, "tests.capacity": 0.5}
    result = dt.run(dt.load_config(preset="quick", overrides=overrides))
    key = "tests_per_infection_found"
    found = result.summary["tests_used"] / result.summary[key]
    assert found > result.summary["attack_rate"] * 300
    assert quantities.SUMMARY[key].label == "Tests per positive test in E or I"


def test_days_before_the_lists_are_told(tmp_path):
    (tmp_path / "contacts.csv").write_text("sender,receiver,day\n0,1,2\n")
    (tmp_path / "tests.csv").write_text("person,day,positive\n0,2,1\n")
    done = run("infer", "contacts.csv", "tests.csv", "--days-before", 5, cwd=tmp_path)
    assert "on day 2 of 2 people" in done.stdout


# --- stores ---


def test_a_foreign_page_is_kept_under_either_ending(tmp_path):
    store = "--preset", "quick", "--people", 60, "--days", 3, "--out", "runs"
    assert run("run", *store, cwd=tmp_path).returncode == 0
    for name in ("mine.html", "mine.htm"):
        (tmp_path / name).write_text("mine")
        done = run("report", "runs", "--out", name, cwd=tmp_path)
        assert done.stderr == f"dnatrace: {name}: exists already; --force replaces it\n"
        assert (tmp_path / name).read_text() == "mine"
    done = run("list", "runs", "--csv", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "dnatrace: --csv, --json: choose one of them\n")
    (tmp_path / "runs" / "0123456789abcdef").mkdir()
    done = run("list", "runs", cwd=tmp_path)
    line = "warning: runs/0123456789abcdef: is not a complete run; this run is left out\n"
    assert (done.returncode, done.stderr) == (0, line)
