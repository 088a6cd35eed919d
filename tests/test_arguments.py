"""Arguments in Python: whatever is wrong with one is named in a line."""

import re
import subprocess
import sys

import numpy as np
import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.privacy.accounting import Target
from dnatrace.runs import audits

SMALL = {"people": 150, "days": 4, "initially_infected": 5}


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


CONTACTS = np.array([[0, 1, 2], [1, 0, 2]])


TESTS = np.array([[0, 4, 1]])


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


@pytest.mark.parametrize("wrong", [5, [1], {"a": 1}, np.array([1, 2])], ids=repr)
def test_names_that_are_no_texts_are_named(wrong):
    for name in ("preset", "scenario"):
        with pytest.raises(dt.InputError, match=f"{name}: expected a name, not "):
            dt.load_config(**{name: wrong})


def test_a_preset_that_is_none_is_told_where_names_are():
    assert dt.load_config(scenario=None) == dt.load_config()
    with pytest.raises(dt.InputError) as raised:
        dt.load_config(preset=None)
    assert str(raised.value) == "preset: expected a name, not None; dt.presets() lists them"


@pytest.mark.parametrize("section", ["method", "policy", "simulator"])
def test_settings_of_something_else_are_told_as_such(section):
    with pytest.raises(dt.InputError) as raised:
        dt.RunConfig(**{section: dt.SeirParameters()})
    expected = f"{section}: expected the name of a {section} or its settings, not SeirParameters("
    assert str(raised.value).startswith(expected)


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
        ({"baseline": np.array([1, 2])}, "baseline 'array([1, 2])' is not among the labels: 'a'"),
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


WIDE = np.zeros((4, 3))


@pytest.mark.parametrize("wrong", [WIDE, np.zeros(10**6), [0] * 10**5, "x" * 10**4], ids=len)
@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: dt.ContactWindow(n_people=3, n_days=2).push(wrong),
        lambda wrong: dt.infer(CONTACTS, TESTS, clip=wrong),
        lambda wrong: dt.infer(CONTACTS, TESTS, parameters=wrong),
        lambda wrong: dt.infer(CONTACTS, TESTS, inference=wrong),
        dt.run,
        lambda wrong: dt.run(small(), track=wrong),
        lambda wrong: dt.compare([small()], seeds=[1], store=[wrong]),
        lambda wrong: dt.compare([small()], seeds=[wrong]),
        lambda wrong: dt.load_config(settings=[wrong, 5]),
        lambda wrong: dt.load_config(overrides=[wrong]),
        lambda wrong: dt.RunConfig(people=wrong),
        lambda wrong: dt.RunConfig(epsilon=wrong),
        lambda wrong: small().model_copy(update={"tests": wrong}),
    ],
)
def test_a_message_on_a_large_value_is_one_short_line(call, wrong):
    with pytest.raises(dt.InputError) as raised:
        call(wrong)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 250


def test_an_array_instead_of_a_day_is_told_with_its_shape():
    with pytest.raises(dt.InputError) as raised:
        dt.ContactWindow(n_people=3, n_days=2).push(WIDE)
    message = "a day must be a DayContacts, not a value of type ndarray and shape [4, 3]"
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: dt.infer("", TESTS), "contacts"),
        (lambda: dt.infer(CONTACTS, ""), "tests"),
        (lambda: dt.ContactWindow.from_rows(""), "contacts"),
        (lambda: dt.load_config(file=""), "file"),
        (lambda: dt.compare([small()], seeds=[1], store=""), "store"),
    ],
)
def test_an_empty_path_is_named(call, name):
    with pytest.raises(dt.InputError, match=f"^{name} is empty, expected a path$"):
        call()


SERIAL = 43891  # 2020-03-01 in spreadsheets


@pytest.mark.parametrize(
    "call",
    [
        lambda: dt.infer([[0, 1, SERIAL]], TESTS),
        lambda: dt.infer([[0, 1, 2]], [[0, SERIAL, 1]]),
        lambda: dt.infer([[0, 1, SERIAL]], TESTS, n_days=14),
        lambda: dt.infer({"sender": [0], "receiver": [1], "day": [SERIAL]}, TESTS),
        lambda: dt.ContactWindow.from_rows([[0, 1, SERIAL]]),
        lambda: dt.TestLog.from_rows([[0, SERIAL, 1]]),
    ],
)
def test_a_day_of_an_array_that_looks_like_a_date_is_to_be_counted(call):
    """Where dates are refused, to write one is no advice."""
    with pytest.raises(dt.InputError) as raised:
        call()
    assert str(raised.value).endswith(
        "; it looks like the date 2020-03-01: give whole numbers, counted from the first day"
    )


def test_a_log_has_the_days_from_its_first_on():
    assert len(dt.TestLog.from_rows([[0, 1005, 1]], first_day=1000)) == 6


def test_a_path_with_the_home_directory_of_a_shell_is_named(monkeypatch):
    """Python opens a directory named ~; a study would be stored there."""
    monkeypatch.setenv("HOME", "/home/ann")
    with pytest.raises(dt.InputError) as raised:
        dt.compare([small()], seeds=[1], store="~/runs")
    told = "store: '~/runs' begins with the home directory as a shell has it: give '/home/ann/runs'"
    assert str(raised.value) == f"{told}, as Path.expanduser() does"


def test_a_day_of_a_file_that_looks_like_a_date_is_to_be_counted_in_python(tmp_path):
    """`dt.infer` reads no dates; `dnatrace infer` does, and says to write one."""
    path = tmp_path / "contacts.csv"
    path.write_text(f"sender,receiver,day\n0,1,{SERIAL}\n")
    with pytest.raises(dt.InputError, match="give whole numbers, counted from the first day"):
        dt.infer(path, TESTS)


COMPARED = dt.Comparison(seeds=(1,), summaries={"fn": [{"peak_infected": 0.1}]})


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: COMPARED.n_rising("x"), "label 'x' is not among the labels"),
        (lambda: COMPARED.is_comparable("x", "fn"), "label 'x' is not among the labels"),
        (lambda: dt.CourseParameters().still_found("3"), "most_age must be a whole number"),
        (lambda: dt.CourseParameters().before_onset(2.5), "most_age must be a whole number"),
        (lambda: dt.CourseParameters().still_found(-1), "most_age must be at least 0"),
        (lambda: dt.TestErrors().likelihood_ratio(-1), "positive must be true or false, not -1"),
        (lambda: dt.TestErrors().likelihood_ratio("no"), "positive must be true or false"),
        (lambda: audits.audit("fn"), "config must be a RunConfig, not 'fn'"),
        (lambda: audits.attack(None), "config must be a RunConfig, not None"),
    ],
)
def test_what_the_reference_names_refuses_in_one_line(call, told):
    with pytest.raises(dt.InputError) as raised:
        call()
    assert str(raised.value).startswith(told)
