"""What is averted and what it costs: by hand on made-up runs, and on runs of the loop."""

import math

import numpy as np
import pytest
from scipy import stats

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.runs import guarantees, presentation
from dnatrace.runs.run import run
from dnatrace.sweeps import sweep as sweeps
from dnatrace.sweeps.costs import nothing_of, ratio_of_means, status_quo_of
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.study import Study
from tests.forked_sweeps import in_process


def summary(attack, tests, **more):
    return {
        "people": 1000,
        "attack_rate": attack,
        "deaths": attack / 100,
        "peak_hospitalised": attack / 10,
        "tests_used": tests,
        **more,
    }


def group(attack, days):
    age = {"grouped_by": "age", "group": "0-9", "attack_rate": attack, "deaths": 0.0}
    return [age | {"isolation_days_per_person": days}]


STUDY = Study(
    seeds=(1, 2, 3),
    summaries={
        "nothing": [summary(0.8, 0), summary(0.7, 0), summary(0.9, 0)],
        "usual": [summary(0.6, 1000), summary(0.5, 1000), summary(0.7, 1000)],
        "traced": [summary(0.3, 3000), summary(0.1, 3000), summary(0.5, 3000)],
    },
    groups={
        "nothing": [group(0.8, 0.0)] * 3,
        "traced": [group(0.3, 1.0), group(0.2, 2.0), group(0.4, 3.0)],
    },
)


def rows_of(table, against):
    return {r["quantity"]: r for r in table.to_pylist() if r["against"] == against}


def test_averted_is_paired_and_counted_in_people():
    table = STUDY.averted("traced", nothing="nothing", status_quo="usual")
    nothing, usual = (rows_of(table, name) for name in ("nothing", "status_quo"))
    assert nothing["infections averted"]["mean"] == pytest.approx(500)  # 500, 600, 400
    low, high = Spread(values=np.array([500.0, 600.0, 400.0])).interval
    assert nothing["infections averted"]["low"] == pytest.approx(low)
    assert nothing["infections averted"]["high"] == pytest.approx(high)
    assert usual["infections averted"]["mean"] == pytest.approx(300)  # 300, 400, 200
    assert nothing["deaths averted"]["mean"] == pytest.approx(5)
    assert nothing["hospital peak averted"]["mean"] == pytest.approx(50)
    assert nothing["tests_used"]["per_infection_averted"] == pytest.approx(3000 / 500)
    assert usual["tests_used"]["per_infection_averted"] == pytest.approx(2000 / 300)


def test_costs_in_cities_of_different_size_count_for_as_many_people():
    """Infections were scaled and tests were not: a price of tests where none were added."""
    small, large = (summary(a, 1.2 * n) | {"people": n} for a, n in ((0.3, 300), (0.2, 600)))
    study = Study(seeds=(1, 2), summaries={"small": [small] * 2, "large": [large] * 2})
    rows = rows_of(study.averted("large", nothing="small", prices={"tests_used": 20.0}), "nothing")
    assert rows["infections averted"]["mean"] == pytest.approx(60)
    assert rows["tests_used"]["mean"] == pytest.approx(0.0)
    assert rows["money"]["mean"] == pytest.approx(0.0)
    table = study.table(["attack_rate", "tests_used"], baseline="small").to_pylist()
    found = {row["metric"]: row["difference"] for row in table if row["label"] == "large"}
    assert found == pytest.approx({"attack_rate": -0.1, "tests_used": 0.0})


def test_what_older_runs_do_not_say_is_none():
    row = rows_of(STUDY.averted("traced", nothing="nothing"), "nothing")["notices"]
    assert row["mean"] is None
    assert row["per_infection_averted"] is None


def test_nothing_averted_has_no_price():
    row = rows_of(STUDY.averted("nothing", usual="usual"), "usual")["tests_used"]
    assert row["mean"] == -1000
    assert row["per_infection_averted"] is None


def test_money_needs_prices():
    quantities = STUDY.averted("traced", nothing="nothing")["quantity"].to_pylist()
    assert "money" not in quantities
    table = STUDY.averted("traced", nothing="nothing", prices={"tests_used": 20.0})
    money = rows_of(table, "nothing")["money"]
    assert money["mean"] == 60_000
    assert money["per_infection_averted"] == pytest.approx(120)
    with pytest.raises(InputError, match="prices: 'beds' is not a cost; there are tests_used"):
        STUDY.averted("traced", nothing="nothing", prices={"beds": 1.0})


def test_groups_gain_and_bear():
    table = STUDY.averted("traced", by_group=True, nothing="nothing")
    rows = rows_of(table, "nothing")
    assert rows["infections averted"]["mean"] == pytest.approx(0.5)
    assert rows["isolation_days_per_person"]["mean"] == pytest.approx(2.0)
    assert rows["quarantine_days_per_person"]["mean"] is None
    with pytest.raises(InputError, match="'usual': its runs keep no table of groups"):
        STUDY.averted("traced", by_group=True, usual="usual")
    with pytest.raises(InputError, match="baseline 'elsewhere' is not among the labels"):
        STUDY.averted("traced", nothing="elsewhere")
    for by_group in (False, True):
        with pytest.raises(InputError, match="averted needs a label to compare with, such as noth"):
            STUDY.averted("traced", by_group=by_group)


def test_the_interval_of_a_ratio_is_that_of_fieller():
    rng = np.random.default_rng(1)
    below = 10 + rng.normal(size=8)
    above = 3 * below + rng.normal(size=8)
    found = ratio_of_means(above, below)
    t = stats.t.ppf(0.95, 7)
    for end in (found.low, found.high):  # where the mean of above - end · below is just not 0
        difference = above - end * below
        assert abs(difference.mean()) == pytest.approx(t * stats.sem(difference))
    assert found.low < found.value < found.high
    assert ratio_of_means(above, np.array([5.0, -5] * 4)).value is None
    assert ratio_of_means(above, rng.normal(size=8)).low is None  # not told apart from 0
    assert ratio_of_means(above[:1], below[:1]).low is None


def test_a_fieller_interval_covers():
    """True ratio 2; 90 % of 1,000 intervals: standard deviation 0.95 %, 5 of them."""
    rng = np.random.default_rng(2)
    below = 5 + rng.normal(size=(1000, 5))
    above = 10 + rng.normal(size=(1000, 5))
    found = [ratio_of_means(a, b) for a, b in zip(above, below, strict=True)]
    covered = [r.low <= 2.0 <= r.high for r in found if r.low is not None]
    assert len(covered) > 990
    assert abs(np.mean(covered) - 0.9) < 0.048


LEVERS = {
    "name": "levers",
    "symptoms": {"severe": 1.0, "mild": 0.5},
    "household": {"days": 6},
    "quarantine": {"capacity": 0.01, "days": 4},
}
SMALL = {"people": 400, "days": 20, "initially_infected": 12, "seed": 2}


def test_a_comparison_has_costs(monkeypatch, tmp_path):
    monkeypatch.setattr(sweeps, "execute", in_process)
    traced = dt.RunConfig(method="fn", policy=LEVERS, **SMALL)
    configs = {"fn": traced, "usual": status_quo_of(traced), "nothing": nothing_of(traced)}
    found = dt.compare(configs, seeds=(1, 2), store=tmp_path)
    rows = rows_of(found.averted("fn", nothing="nothing", usual="usual"), "nothing")
    quarantine = found.spread("fn", "quarantine_person_days").mean
    assert rows["quarantine_person_days"]["mean"] == quarantine > 0
    assert found.spread("nothing", "quarantine_person_days").mean == 0
    assert found.spread("usual", "quarantine_person_days").mean > 0
    groups = found.averted("fn", by_group=True, nothing="nothing").to_pylist()
    ages = [r for r in groups if r["grouped_by"] == "age" and r["quantity"].startswith("quarant")]
    assert any(r["mean"] > 0 for r in ages if r["mean"] is not None)


def test_days_and_notices_add_up():
    result = run(dt.RunConfig(method="fn", policy=LEVERS, **SMALL))
    s, daily = result.summary, result.daily.to_pydict()
    assert s["quarantine_person_days"] == sum(daily["quarantined"]) > 0
    ill = sum(daily["quarantined_exposed_or_infected"])
    assert s["quarantine_person_days_uninfected"] == s["quarantine_person_days"] - ill
    assert s["notices"] == sum(daily["notices"]) > 0
    assert all(a <= b for a, b in zip(daily["quarantined"], daily["isolated"], strict=True))
    ages = [row for row in result.groups.to_pylist() if row["grouped_by"] == "age"]
    by_person = [r["people"] * (r["quarantine_days_per_person"] or 0) for r in ages]
    assert math.isclose(sum(by_person), s["quarantine_person_days"], rel_tol=1e-9)


def test_the_papers_policy_has_no_quarantine_and_a_notice_for_each_test():
    s = run(dt.RunConfig(method="fn", **SMALL)).summary
    assert s["quarantine_person_days"] == s["quarantine_person_days_uninfected"] == 0
    assert s["notices"] == s["tests_used"] > 0


def test_a_policy_that_tells_contacts_says_so():
    for lever, says in (
        ({"manual": {"capacity": 0.01}}, True),
        ({"household": {"days": 10}}, True),  # whoever lives with one other person knows who it is
        ({"household": {"days": 0}, "symptoms": {"severe": 1.0}}, False),
    ):
        config = dt.RunConfig(method="fn", policy=LEVERS | {"manual": {}} | lever, **SMALL)
        result = run(config)
        privacy = result.summary["privacy"]
        assert privacy.get("policy_tells_of_cases", False) is says
        assert ("no ε covers that" in presentation.privacy_line(privacy)) is says
        assert ("In addition to scores" in guarantees.state(config, result.ledger)) is says
