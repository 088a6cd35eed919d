import numpy as np
import pytest
from scipy import stats

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import run
from dnatrace.sweeps import sweep as sweeps
from dnatrace.sweeps.study import Comparison, Spread, compare
from tests.forked_sweeps import in_process

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


def test_nothing_to_compare():
    with pytest.raises(InputError, match="at least one configuration"):
        compare({}, seeds=(1,))
    with pytest.raises(InputError, match="at least one configuration"):
        compare([], seeds=(1,))


def test_a_list_is_labelled_by_what_differs(here):
    configs = [
        RunConfig(method="fn", seed=1, **SMALL),
        RunConfig(method="random", seed=2, **SMALL),
        RunConfig(method="random", p1=0.05, **SMALL),
        RunConfig(method="random", p1=0.05, **SMALL),
    ]
    comparison = dt.compare(configs, seeds=[1])
    assert list(comparison.summaries) == [
        "fn, p1=0.03",
        "random, p1=0.03",
        "random, p1=0.05",
        "random, p1=0.05 #2",
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
    spread = Spread(values=np.array([0.1, 0.2, 0.6]))
    assert row == {
        "label": "<a>",
        "metric": "peak_infected",
        "runs": 3,
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
