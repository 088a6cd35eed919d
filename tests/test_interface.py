"""The names that users and scripts rely on."""

import inspect
import itertools
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dnatrace as dt
from dnatrace.sweeps import sweep as sweeps
from tests.forked_sweeps import in_process


def test_the_ten_lines_of_the_first_page_run(capsys, tmp_path, monkeypatch):
    """As it is printed there, but for a smaller city and fewer days."""
    text = (Path(__file__).parents[1] / "docs" / "start.md").read_text("utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    small = block.replace("people=10_000, days=100", "people=300, days=5")
    assert small != block
    names = {}
    monkeypatch.chdir(tmp_path)
    exec(compile(small, "start.md", "exec"), names)
    assert (tmp_path / "epidemic.png").stat().st_size > 1000
    assert names["beliefs"].shape == (3, 7, 4)
    assert names["beliefs"].dtype == np.float32
    assert names["result"].daily.num_rows == 5
    peak, contact = map(float, capsys.readouterr().out.splitlines()[-1].split())
    assert 0.0 <= peak <= 1.0
    assert contact > 0.0


def test_the_contract_of_infer_and_of_a_private_run():
    rows = np.array([[0, 1, 2], [1, 0, 2], [1, 2, 3], [2, 1, 3]])
    tests = np.array([[0, 4, 1]])
    sizes = {"n_people": 3, "n_days": 7, "rounds": 5, "clip": None, "levels": None}
    assert dt.infer(rows, tests, **sizes).shape == (3, 7, 4)
    result = dt.run(dt.RunConfig(method="dpfn-s", epsilon=1.0, people=200, days=5, seed=1))
    assert 0 <= result.summary["peak_infected"] <= 1
    assert sys.modules[dt.RunConfig.__module__].load_config is dt.load_config


def test_privacy_is_reachable_from_the_package():
    sigma = dt.privacy.gaussian_sigma(epsilon=1.0, delta=1e-3, sensitivity=0.02)
    assert sigma == pytest.approx(0.02 * 2.574657, rel=1e-6)


def test_every_public_name_loads_and_importing_is_light():
    code = (
        "import sys, dnatrace\n"
        "assert not {'numpy', 'numba', 'pyarrow'} & set(sys.modules)\n"
        "for name in dir(dnatrace): getattr(dnatrace, name)\n"
        "try: dnatrace.no_such_name\n"
        "except AttributeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "no_such_name" in done.stdout


def test_what_there_is_can_be_listed():
    assert dt.methods()["fn"] == "Factorised Neighbours without privacy."
    assert dt.presets()["quick"] == "Small enough to try things: a few seconds"
    for listed in (dt.methods(), dt.presets()):
        assert all(line and "\n" not in line for line in listed.values())
    assert dt.methods.__name__ == "dnatrace.methods"
    assert "autumn" not in dt.scenarios()
    assert dt.scenarios()["uk-2020-autumn"].title


def test_a_result_can_be_looked_at():
    pytest.importorskip("pandas")
    result = dt.run(dt.RunConfig(method="fn", people=100, days=4))
    assert result.to_pandas()["day"].tolist() == [1, 2, 3, 4]
    above, below = result.plot()
    assert above.figure is below.figure
    above.figure.clear()
    assert re.fullmatch(r"<RunResult: \w+, seed \d+, \d+ days; peak [\d.]+% .*>", repr(result))
    shown = result._repr_html_()
    assert "<th>Peak of infected people (I)</th>" in shown
    assert "‰ of people" in shown


def test_a_result_becomes_a_frame_of_polars(monkeypatch):
    """Polars is none of our dependencies: what it is handed is an Arrow table."""
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(from_arrow=lambda table: table))
    result = dt.run(dt.RunConfig(method="none", people=50, days=2))
    assert result.to_polars() is result.daily


def test_help_on_run_is_enough_to_use_it():
    """The example of the docstring runs as it is printed there, smaller."""
    lines = [x[4:] for x in inspect.getdoc(dt.run).splitlines() if x.startswith("    ")]
    example = "\n".join(itertools.takewhile(lambda x: not x.startswith("config:"), lines[:4]))
    small = example.replace("people=1000, days=30", "people=100, days=5")
    assert small != example
    names = {"dt": dt}
    exec(compile(small, "help(dt.run)", "exec"), names)
    assert names["result"].daily.num_rows == 5
    plt.close("all")


@pytest.fixture(scope="module")
def study():
    size = {"people": 100, "days": 6, "initially_infected": 5}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "execute", in_process)
        configs = {name: dt.RunConfig(method=name, **size) for name in ("none", "fn")}
        return dt.compare(configs, seeds=(3, 5))


def test_a_study_becomes_a_frame(study):
    frame = study.to_pandas()
    assert frame["label"].tolist() == ["none", "none", "fn", "fn"]
    assert frame["seed"].tolist() == [3, 5, 3, 5]
    expected = [s["attack_rate"] for label in ("none", "fn") for s in study.summaries[label]]
    assert frame["attack_rate"].tolist() == expected
    assert study.to_polars()["attack_rate"].to_list() == expected
    assert dt.Comparison is dt.Study is type(study)


def test_a_study_is_drawn_in_the_unit_of_the_page(study):
    axes = study.plot()  # the peak
    dots = axes.lines[0].get_xdata()
    assert dots.tolist() == [1000 * s["peak_infected"] for s in study.summaries["none"]]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["none", "fn"]
    assert axes.get_xlabel().endswith("‰ of people")
    tests = study.plot("tests_used")  # a count: per person
    assert tests.lines[3].get_xdata().max() <= 6.0
    plt.close("all")


@pytest.mark.parametrize(
    ("wrong", "guess"),
    [
        (lambda study: study.plot("atack_rate"), "did you mean 'attack_rate'?"),
        (lambda study: study.against("fnn"), "did you mean 'fn'?"),
        (lambda _: dt.RunConfig(method="headcont"), "did you mean 'headcount'?"),
        (lambda _: dt.load_config(preset="standart"), "did you mean 'standard'?"),
        (lambda _: dt.load_config(scenario="autum"), "did you mean 'autumn'?"),
        (lambda _: dt.load_config(settings=["test.capacity=1"]), "did you mean 'tests'"),
    ],
)
def test_wrong_names_suggest_the_right_one(study, wrong, guess):
    with pytest.raises(dt.InputError) as error:
        wrong(study)
    assert guess in str(error.value)
    assert "\n" not in str(error.value)


def test_a_name_like_no_other_suggests_nothing(study):
    with pytest.raises(dt.InputError) as error:
        dt.load_config(preset="qqqqqq")
    assert "did you mean" not in str(error.value)


# --- what Python users give that is not quite right ---


def test_numbers_of_numpy_are_numbers(monkeypatch):
    """As `for seed in np.arange(1, 4)` gives them; the digest is that of plain ones."""
    small = {"people": 60, "days": 2, "seed": 3}
    given = {key: np.int64(value) for key, value in small.items()}
    config = dt.RunConfig(**given, epsilon=np.float64(2.0), tests={"order_delay": np.int8(1)})
    assert (type(config.seed), type(config.tests.order_delay)) == (int, int)
    assert config.digest == dt.RunConfig(**small, epsilon=2.0, tests={"order_delay": 1}).digest
    with pytest.raises(dt.InputError, match=r"people: input should be a valid integer, not 60\.5"):
        dt.RunConfig(people=np.float64(60.5))
    monkeypatch.setattr(sweeps, "execute", in_process)
    by_array, by_list = (
        dt.compare({"a": config}, seeds=seeds) for seeds in (np.arange(1, 3), [1, 2])
    )
    assert by_array.seeds == (1, 2)
    assert by_array.summaries == by_list.summaries


def test_a_copy_with_a_name_that_is_no_field_is_refused():
    """Such a name was kept and changed nothing: the run had another ε than was asked for."""
    config = dt.RunConfig(people=60)
    assert config.model_copy(update={"people": 70}).people == 70
    with pytest.raises(dt.InputError, match="'epsilon' is no field of RunConfig"):
        config.model_copy(update={"epsilon": 5.0})
    with pytest.raises(dt.InputError, match="'capacty' is no field of TestRules"):
        config.tests.model_copy(update={"capacty": 0.1})


@pytest.mark.parametrize(
    ("contacts", "sizes", "message"),
    [
        ([(0, 1), (1, 2, 3)], {}, "contacts: not an array: "),
        (np.ones((2, 3), dtype=bool), {}, "contacts: expected whole numbers, got an array of bool"),
        (
            np.ma.array([[0, 1, 1]], mask=[[False, False, True]]),
            {},
            "contacts: row 1, column 'day': the value is missing",
        ),
        ([], {}, "contacts, tests: neither has a row; n_people says how many there are"),
        (
            dt.ContactWindow(n_people=5, n_days=4),
            {"n_people": 3},
            "n_people: the window of contacts has 5, not 3",
        ),
        (
            dt.ContactWindow(n_people=5, n_days=4),
            {"n_days": 9},
            "n_days: the window of contacts has 4, not 9",
        ),
    ],
)
def test_contacts_that_cannot_be_meant_are_refused(contacts, sizes, message):
    with pytest.raises(dt.InputError, match=re.escape(message)):
        dt.infer(contacts, [], **sizes)


def test_checkpoints_that_cannot_be_are_refused(tmp_path):
    small = dt.RunConfig(people=60, days=2)
    for given, message in (
        ({"checkpoint": 3}, "checkpoint must be a path, not 3"),
        ({"checkpoint_every": 3}, "checkpoint_every has no effect without checkpoint"),
        (
            {"checkpoint": tmp_path / "c", "checkpoint_every": "3"},
            "checkpoint_every must be a whole number, not '3'",
        ),
    ):
        with pytest.raises(dt.InputError, match=re.escape(message)):
            dt.run(small, **given)


def test_ids_and_seeds_are_not_cut_to_whole_numbers():
    with pytest.raises(dt.InputError, match="senders and receivers must be whole numbers"):
        dt.DayContacts.from_pairs([0.5], [1], n_people=3)
    assert dt.DayContacts.from_pairs([], [], n_people=3).counts.tolist() == [0, 0, 0]
    for seed in (1.5, "a"):
        with pytest.raises(dt.InputError, match=f"seed must be a whole number, not {seed!r}"):
            dt.Stream(seed, "x")


def test_labels_of_two_kinds_are_refused_before_the_runs():
    config = dt.RunConfig(people=60, days=2)
    for labels in ((0.5, "x"), (None,)):
        with pytest.raises(dt.InputError, match="labels: give texts, or numbers alone, not "):
            dt.compare(dict.fromkeys(labels, config), seeds=[1])


def test_a_study_at_the_prompt_is_one_line(study):
    labels = ", ".join(map(repr, study.summaries))
    assert repr(study) == f"<Study: {labels} on {len(study.seeds)} seeds; table() compares>"


# The calls that pages show, with what they return.
TYPED = """
import numpy as np

import dnatrace as dt

config = dt.RunConfig(method="headcount", epsilon=1.0, people=1000, days=30, seed=1)
result = dt.run(config)
result.plot()
lines: dict[str, str] = dt.methods() | dt.presets()
other = dt.load_config(preset="quick", settings=["tests.capacity=0.04"])
study = dt.compare({"a": config, "b": other}, seeds=[1, 2], baseline="a")
window = dt.ContactWindow(n_people=3, n_days=14)
window.push(dt.DayContacts.from_pairs([0], [1], n_people=3))
log = dt.TestLog(n_people=3, n_days=14, first_day=0)
log.push_day()
log.record(0, [0], [True])
errors = dt.TestErrors(false_positive_rate=0.02)
beliefs = dt.infer(window, log, parameters=dt.SeirParameters(p1=0.05), test_errors=errors)
dt.infer([[0, 1, 0]], [], inference="bp", course=dt.CourseParameters(transmission=0.1))
mine = dt.Beliefs(values=beliefs).infected
draws = dt.Stream(1, "x").uniform(np.arange(3), day=2)
sigma: float = dt.privacy.gaussian_sigma(epsilon=1.0, delta=1e-3, sensitivity=0.02)
"""


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["", "plugins = pydantic.mypy"])
def test_documented_calls_pass_a_type_checker(tmp_path, settings):
    """Without our settings, as somebody else would check a program of their own."""
    (tmp_path / "calls.py").write_text(TYPED)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nstrict = True\n{settings}\n")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "calls.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
