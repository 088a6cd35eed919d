import numpy as np
import pytest
from scipy import stats

from dnatrace.errors import InputError
from dnatrace.experiments.comparison import Spread, compare
from dnatrace.experiments.config import RunConfig
from dnatrace.experiments.runs import run

SMALL = {"people": 300, "days": 8, "initially_infected": 9}


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
    assert spread.mean - spread.half_width == pytest.approx(low)
    assert spread.mean + spread.half_width == pytest.approx(high)
    assert spread.median == 3.0
    assert np.isnan(Spread(values=values[:1]).half_width)


def test_nothing_to_compare():
    with pytest.raises(InputError, match="at least one configuration"):
        compare({}, seeds=(1,))
