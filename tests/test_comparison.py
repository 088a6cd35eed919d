import csv
import json

import numpy as np
import pytest
from scipy import stats

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import run
from dnatrace.sweeps import study as studies
from dnatrace.sweeps import sweep as sweeps
from dnatrace.sweeps.entries import labelled, meant
from dnatrace.sweeps.results import write_all
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.study import Comparison, Study, best_settings, compare, run_study
from tests.forked_sweeps import in_process
from verification.closed_loop import study_files

SMALL = {"people": 300, "days": 8, "initially_infected": 9}


@pytest.fixture
def here(monkeypatch):
    """Run in this process: what processes add is tested once."""
    monkeypatch.setattr(sweeps, "execute", in_process)


def test_processes_give_what_one_process_gives():
    configs = {name: RunConfig(method=name, **SMALL) for name in ("none", "fn")}
    comparison = compare(configs, seeds=(3, 4), workers=2)
    for name in configs:
        for seed, summary in zip((3, 4), comparison.summaries[name], strict=True):
            assert summary == run(RunConfig(method=name, seed=seed, **SMALL)).summary
    expected = np.mean([s["peak_infected"] for s in comparison.summaries["fn"]])
    assert comparison.spread("fn", "peak_infected").mean == expected


def test_interval_is_that_of_student():
    values = np.array([1.0, 2.0, 4.0, 7.0])
    low, high = stats.t.interval(0.9, 3, loc=values.mean(), scale=stats.sem(values))
    spread = Spread(values=values)
    assert spread.interval == pytest.approx((low, high))
    assert spread.mean - spread.half_width == pytest.approx(low)
    assert spread.median == 3.0
    assert spread.p95 == pytest.approx(np.percentile(values, 95))
    assert np.isnan(Spread(values=values[:1]).half_width)


def test_intervals_of_shares_are_shares_and_those_of_differences_are_not_cut():
    rows = [{"attack_rate": v, "day_of_peak": 90 * v, "auroc": v} for v in (0.0, 0.05, 1.0)]
    study = Study(seeds=(1, 2, 3), summaries={"a": rows, "b": rows[::-1]})
    assert Spread(values=study.spread("a", "attack_rate").values).interval[0] < 0.0
    for metric, most in (("attack_rate", 1.0), ("auroc", 1.0), ("day_of_peak", np.inf)):
        low, high = study.spread("a", metric).interval
        assert low == 0.0
        assert (high == most) is (most == 1.0)
        assert study.spread("a", metric, scale=1000.0).interval[0] == 0.0
    table = study.table(["attack_rate"], baseline="b").to_pylist()
    assert [row["low"] for row in table] == [0.0, 0.0]
    assert table[0]["difference_low"] < 0.0 < table[0]["difference_high"]
    assert np.isnan(Spread(values=np.zeros(1), bounds=(0.0, 1.0)).interval).all()


def test_nothing_to_compare():
    with pytest.raises(InputError, match="at least one configuration"):
        compare({}, seeds=(1,))
    with pytest.raises(InputError, match="at least one configuration"):
        compare([], seeds=(1,))


def test_a_list_is_labelled_by_what_differs(here):
    configs = [
        RunConfig(method="fn", seed=1, **SMALL),
        RunConfig(method="random", seed=2, **SMALL),
        RunConfig(method="tally", p1=0.05, **SMALL),
        RunConfig(method="tally", p1=0.05, **SMALL),
    ]
    comparison = dt.compare(configs, seeds=[1])
    assert list(comparison.summaries) == [
        "fn",  # 0.03, as usual
        "random",  # which does not ask for it
        "tally, transmission per contact 0.05",
        "tally, transmission per contact 0.05 #2",
    ]
    (alone,) = dt.compare(configs[:1], seeds=[1]).summaries
    assert alone == "fn"


class Ranker:
    def rank(self, day, contacts, tests):
        return np.arange(300)


def test_a_ranker_beside_our_methods(here, tmp_path):
    config = RunConfig(method="fn", **SMALL)
    comparison = compare([config, (config, Ranker())], seeds=(1, 2), store=tmp_path)
    assert list(comparison.summaries) == ["fn", "Ranker"]
    assert [s["method"] for s in comparison.summaries["Ranker"]] == ["Ranker"] * 2
    assert len(list(tmp_path.iterdir())) == 2  # those of `fn`


def test_runs_of_a_ranker_with_a_name_are_kept(here, tmp_path, monkeypatch):
    entry = (RunConfig(method="fn", **SMALL), Ranker(), "by number 1")
    first = compare([entry], seeds=(1, 2), store=tmp_path)
    assert list(first.summaries) == ["by number 1"]
    assert len(list(tmp_path.iterdir())) == 2
    monkeypatch.setattr(studies, "run", None)  # nothing may be run again
    again = compare([entry], seeds=(1, 2), store=tmp_path)
    assert again.summaries == first.summaries


def test_a_store_is_used(here, tmp_path, monkeypatch):
    config = RunConfig(method="random", **SMALL)
    first = compare([config], seeds=(1, 2), store=str(tmp_path))
    monkeypatch.setattr(sweeps, "execute", None)  # nothing may be run again
    again = compare([config], seeds=(1, 2), store=tmp_path)
    assert again.summaries == first.summaries


def test_a_failed_run_is_told(here):
    with pytest.raises(RuntimeError, match=r"dpfn-s, seed 7: simulator\.contacts"):
        compare([RunConfig(method="dpfn-s", simulator="replay", **SMALL)], seeds=(7,))
    with pytest.raises(InputError, match="method 'nn' does not exist"):
        compare([RunConfig(method="nn")])


def test_tables_for_people_and_programs():
    rows = [
        {"peak_infected": v, "attack_rate": 1.0, "tests_used": 3, "isolation_person_days": 1}
        for v in (0.1, 0.2, 0.6)
    ]
    comparison = Comparison(seeds=(1, 2, 3), summaries={"<a>": rows})
    table = comparison.table(["peak_infected"])
    (row,) = table.to_pylist()
    spread = Spread(values=np.array([0.1, 0.2, 0.6]), bounds=(0.0, 1.0))
    assert row == {
        "label": "<a>",
        "metric": "peak_infected",
        "runs": 3,
        "runs_still_rising": None,
        "mean": spread.mean,
        "median": 0.2,
        "low": spread.interval[0],
        "high": spread.interval[1],
        "p95": spread.p95,
    }
    shown = comparison._repr_html_()
    assert "&lt;a&gt;" in shown
    assert "<a>" not in shown
    assert "median 0.2" in shown


PEAKS = {"<a>": (0.1, 0.2, 0.6), "b": (0.2, 0.4, 0.5), "c": (0.3, 0.3, 0.3)}


def compared(peaks=PEAKS):
    same = {"attack_rate": 1.0, "tests_used": 3, "isolation_person_days": 1}
    return Comparison(
        seeds=tuple(range(len(peaks["b"]))),
        summaries={k: [{"peak_infected": v} | same for v in values] for k, values in peaks.items()},
    )


def test_tables_compare_with_a_baseline_seed_by_seed():
    comparison = compared()
    table = comparison.table(["peak_infected"], baseline="<a>")
    first, second, third = table.to_pylist()
    assert {first[k] for k in ("difference", "difference_low", "difference_high")} == {None}
    for row, gains in ((second, (0.1, 0.2, -0.1)), (third, (0.2, 0.1, -0.3))):
        expected = Spread(values=np.array(gains))
        assert row["difference"] == pytest.approx(expected.mean)
        interval = (row["difference_low"], row["difference_high"])
        assert interval == pytest.approx(expected.interval)
    assert "difference" not in comparison.table().column_names
    assert "difference" not in comparison._repr_html_()
    chosen = comparison.against("<a>")
    assert chosen.table(["peak_infected"]).equals(table)
    shown = chosen._repr_html_()
    assert "differences from &lt;a&gt; on the same seeds" in shown
    gain = Spread(values=np.array([0.1, 0.2, -0.1]))
    assert f"difference {gain.mean:+.4g} ± {gain.half_width:.2g}" in shown
    assert shown.count("<small>difference") == 2 * 4  # not the baseline's own


def test_a_baseline_of_one_seed_has_no_interval():
    (_, row) = (
        compared({"a": (0.1,), "b": (0.3,)}).table(["peak_infected"], baseline="a").to_pylist()
    )
    assert row["difference"] == pytest.approx(0.2)
    assert np.isnan(row["difference_low"])


def test_a_baseline_must_be_one_of_the_labels(monkeypatch):
    for wrong in (lambda c: c.against("x"), lambda c: c.table(baseline="x")):
        with pytest.raises(InputError, match=r"baseline 'x' is not among the labels: '<a>', 'b'"):
            wrong(compared())
    monkeypatch.setattr(sweeps, "execute", None)  # said before anything is run
    with pytest.raises(InputError, match="baseline 'x' is not among the labels: 'fn'"):
        compare([RunConfig(method="fn", **SMALL)], seeds=(1,), baseline="x")


def test_a_setting_of_a_list_is_meant_however_it_is_typed():
    choices = [(e, share) for e in (1.0, 10.0) for share in (0.02, 0.08)]
    tests = [{"capacity": share} for _, share in choices]
    configs = [
        RunConfig(method="headcount", epsilon=e, tests=held)
        for (e, _), held in zip(choices, tests, strict=True)
    ]
    settings = labelled([*configs, RunConfig(method="none")])
    usual, scarce = "headcount, ε 1", "headcount, ε 1, tests.capacity 0.02"
    for typed, expected in (
        (usual, usual),
        ("headcount, eps=1.0", usual),
        ("Headcount epsilon=1", usual),
        ("headcount, privacy.epsilon: 1, capacity 0.080", usual),
        ("headcount, capacity=0.02, epsilon=1", scarce),
        ("none", "none"),
    ):
        assert meant(typed, settings) == expected
    for typed in ("headcount", "headcount, ε 5", "headcount, ε 1, tests.capacity 0.04"):
        with pytest.raises(
            InputError, match=f"baseline '{typed}' is not among the settings: "
        ) as e:
            meant(typed, settings)
        assert "did you mean" not in str(e.value)  # another number is another setting


def test_a_comparison_is_made_with_its_baseline(here):
    configs = {name: RunConfig(method=name, **SMALL) for name in ("none", "fn")}
    comparison = compare(configs, seeds=(1, 2), baseline="none")
    rows = {(r["label"], r["metric"]): r["difference"] for r in comparison.table().to_pylist()}
    assert rows["none", "peak_infected"] is None
    expected = comparison.difference("fn", "none", "tests_used").mean
    assert rows["fn", "tests_used"] == expected > 0


# --- studies ---


def study_of(**peaks):
    """A study of labels (name, setting) with these peaks by seed."""
    summaries = {
        tuple(label.split("_")): [{"peak_infected": v} for v in values]
        for label, values in peaks.items()
    }
    return Study(seeds=(1, 2), summaries=summaries)


def test_labels_that_are_one_run_are_told(caplog, monkeypatch):
    """Two ε of a method without noise are no comparison of ε."""
    monkeypatch.setattr(
        studies, "run_study", lambda *_, **__: studies.Study(seeds=(), summaries={})
    )
    small = {"people": 60, "days": 3, "initially_infected": 6}
    many = {f"ε {e}": dt.RunConfig(method="fn", epsilon=e, **small) for e in (0.1, 10.0)}
    dt.compare(many, seeds=[1], workers=1)
    assert (
        "'ε 0.1' and 'ε 10.0' are the same run: what differs between them has no effect"
        in caplog.text
    )
    caplog.clear()
    many = {f"ε {e}": dt.RunConfig(method="tally", epsilon=e, **small) for e in (0.1, 10.0)}
    dt.compare(many, seeds=[1], workers=1)
    assert caplog.text == ""


def test_labels_of_other_size_are_told(caplog, monkeypatch):
    monkeypatch.setattr(
        studies, "run_study", lambda *_, **__: studies.Study(seeds=(), summaries={})
    )
    small = {"method": "none", "people": 60, "days": 3, "initially_infected": 6}
    many = {"a": dt.RunConfig(**small), "b": dt.RunConfig(**small | {"people": 50, "days": 2})}
    dt.compare(many, seeds=[1], workers=1)
    assert "Compared per person: b has 50 people, a 60." in caplog.text
    assert "would not be one of policies: b lasts 2 days, a 3." in caplog.text


def test_labels_of_other_length_have_no_difference():
    study = compared({"a": (0.1, 0.2), "b": (0.3, 0.5), "c": (0.2, 0.6)}).against("a")
    for label, days in (("a", 30), ("b", 60), ("c", 30)):
        for summary in study.summaries[label]:
            summary["days"] = days
    rows = {row["label"]: row for row in study.table(["peak_infected"]).to_pylist()}
    names = ("difference", "difference_low", "difference_high")
    assert [rows["b"][name] for name in names] == [None] * 3
    assert rows["c"]["difference"] == pytest.approx(0.25)
    assert study._repr_html_().count("<small>difference") == 4  # those of c alone
    with pytest.raises(InputError, match=r"averted: .* policies: c lasts 30 days, b 60\."):
        study.averted("c", nothing="b")


def test_differences_are_paired_by_seed():
    study = study_of(a_1=(0.1, 0.5), b_1=(0.2, 0.6))
    difference = study.difference(("a", "1"), ("b", "1"), "peak_infected", scale=1000.0)
    assert difference.values == pytest.approx([-100.0, -100.0])
    assert difference.half_width == pytest.approx(0.0)  # though each alone varies
    assert study.spread(("a", "1"), "peak_infected").half_width > 0.1
    first, second = study.rows(("name", "setting"), baselines={("a", "1"): ("b", "1")})
    assert (first["name"], first["setting"], first["runs"]) == ("a", "1", 2)
    assert (first["mean"], first["values"]) == (pytest.approx(300.0), pytest.approx([100, 500]))
    assert first["difference"] == pytest.approx(-100.0)
    assert second["difference"] is None


def test_the_best_setting_is_that_of_the_lowest_mean():
    study = study_of(a_1=(0.1, 0.5), a_2=(0.2, 0.3), a_3=(0.3, 0.2), b_1=(1, 1), b_2=(2, 2))
    assert best_settings(study, "peak_infected") == {("a",): "2", ("b",): "1"}
    study.failures["b", "3"] = None
    assert best_settings(study, "peak_infected") == {("a",): "2"}  # the third might be better


def test_failures_are_values_unless_strict(here, tmp_path):
    good, bad = RunConfig(method="random", **SMALL), RunConfig(simulator="replay", **SMALL)
    study = run_study({"bad": bad, "good": good}, seeds=(1, 2), store=tmp_path)
    assert list(study.summaries) == ["good"]
    failure = study.failures["bad"]
    assert (failure.config.seed, failure.error[:18]) == (1, "simulator.contacts")
    with pytest.raises(RuntimeError, match="seed 1"):
        run_study({"bad": bad, "good": good}, seeds=(1, 2), store=tmp_path, strict=True)
    assert len(list(tmp_path.iterdir())) == 2  # what the others gave is kept


def test_without_a_store_the_first_failure_ends_a_comparison(monkeypatch):
    begun = []

    def engine(configs, **_):
        for config in configs:
            begun.append(config.method.name)
            yield from in_process([config])

    monkeypatch.setattr(sweeps, "execute", engine)
    bad, good = RunConfig(simulator="replay", **SMALL), RunConfig(method="random", **SMALL)
    with pytest.raises(RuntimeError):
        compare({"bad": bad, "good": good}, seeds=(1,))
    assert begun == [bad.method.name]


def test_files_of_a_study(tmp_path):
    rows = study_of(a_1=(0.1, 0.5)).rows(("name", "setting"))
    files = study_files("x", rows, title="T", command="c", notes=["n"], seeds=[1, 2])
    write_all(files, tmp_path / "new")
    (row,) = csv.DictReader((tmp_path / "new" / "x.csv").read_text().splitlines())
    assert (row["name"], float(row["mean"])) == ("a", pytest.approx(300.0))
    assert "values" not in row
    record = json.loads((tmp_path / "new" / "x.json").read_text())
    assert record["rows"][0]["values"] == pytest.approx([100.0, 500.0])
    assert {"dnatrace", "commit", "libraries"} <= set(record["provenance"])
    assert (record["command"], record["seeds"], record["notes"]) == ("c", [1, 2], ["n"])
    page = (tmp_path / "new" / "x.md").read_text()
    assert page.startswith("# T\n\n`c`, dnatrace ")
    assert "| a | 1 | 2 | 300 |" in page


def test_one_seed_has_no_interval_in_the_files():
    study = Study(seeds=(1,), summaries={"a": [{"peak_infected": 0.1}]})
    files = study_files("x", study.rows(), title="T", command="c", notes=[])
    assert json.loads(files["x.json"])["rows"][0]["half_width"] is None


def test_all_files_are_written_or_none(tmp_path):
    (tmp_path / "a").write_bytes(b"before")
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        write_all({"a": b"after", "b": b""}, tmp_path)
    assert (tmp_path / "a").read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dt.run("fn"), "dt.run takes a configuration, such as .* not 'fn'"),
        (lambda: dt.run({"method": "fn"}), "dt.run takes a configuration, .* not {'method': 'fn'}"),
        (lambda: dt.run(None), "not None"),
        (lambda: dt.compare("x"), "dt.compare takes a list of configurations, .* not 'x'"),
        (lambda: dt.compare(["fn"]), "not 'fn'"),
        (lambda: dt.compare({"a": {"method": "fn"}}), "not {'method': 'fn'}"),
        (lambda: dt.compare(dt.RunConfig()), "or a dict by label, not one"),
        (lambda: dt.compare(7), "not 7"),
    ],
)
def test_what_is_no_configuration_is_told_in_one_line(call, message):
    with pytest.raises(dt.InputError, match=message) as told:
        call()
    assert "\n" not in str(told.value)


def test_runs_that_end_before_their_peak_are_counted():
    summary = {"peak_infected": 0.1, "attack_rate": 0.2, "tests_used": 3}
    summary |= {"isolation_person_days": 4}
    ends = {"rising": (False, True), "done": (True, True), "older": (None, None)}
    study = Study(
        seeds=(1, 2),
        summaries={
            label: [summary | ({} if end is None else {"peak_reached": end}) for end in two]
            for label, two in ends.items()
        },
    )
    rows = study.table(["peak_infected"]).to_pylist()
    assert [row["runs_still_rising"] for row in rows] == [1, 0, None]
    assert study._repr_html_().count("I still rising on the last day in 1 of 2 runs") == 1


def test_a_run_that_fails_is_named_by_its_label(monkeypatch, tmp_path):
    """By its method it was another label, or none."""
    monkeypatch.setattr(sweeps, "execute", in_process)
    small = {"people": 50, "days": 2, "method": "fn"}
    lost = {"name": "replay", "contacts": str(tmp_path / "gone.csv")}
    two = {
        "fn": dt.RunConfig(**small),
        "my list": dt.RunConfig(method="fn", days=2, simulator=lost),
    }
    with pytest.raises(RuntimeError, match=r"^my list, seed 1: .*gone.csv: no such file"):
        dt.compare(two, seeds=[1])


class Boom:
    """A ranker that fails on the third day."""

    def rank(self, day, contacts, tests):
        del contacts, tests
        if day == 3:
            raise ValueError("boom")
        return [(0, 1.0)]


@pytest.mark.parametrize("name", [("boom 1",), ()])
def test_an_object_that_fails_is_named_by_its_label(name):
    small = dt.RunConfig(people=50, days=4, initially_infected=5)
    with pytest.raises(RuntimeError, match=r"^mine, seed 2: boom$"):
        dt.compare({"mine": (small, Boom(), *name)}, seeds=[2], workers=1)
