import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dnatrace as dt
from dnatrace.runs import metrics, presentation, quantities, store
from dnatrace.runs.config import RunConfig
from dnatrace.runs.quantities import SUMMARY
from dnatrace.runs.run import run

from . import reference

scored = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.7, 1.0]), st.booleans()), min_size=1, max_size=30
)


@given(scored)
def test_ranking_metrics_equal_twins(rows):
    scores = np.array([score for score, _ in rows])
    positive = np.array([p for _, p in rows])
    for fast, slow in (
        (metrics.area_under_roc, reference.area_under_roc),
        (metrics.average_precision, reference.average_precision),
    ):
        mine, theirs = fast(scores, positive), slow(scores, positive)
        assert mine == (None if theirs is None else pytest.approx(theirs))


def test_reproduction_number_of_exponential_growth():
    """With growth rate r and a gamma generation time, R = (1 + r·scale)^shape."""
    rate, days = 0.1, np.arange(120)
    shape = (metrics.GENERATION_MEAN / metrics.GENERATION_SD) ** 2
    scale = metrics.GENERATION_MEAN / shape
    got = metrics.reproduction_numbers(np.exp(rate * days), 1)[-1]
    # The day of an infection counts as its start: half a day shifts the generation time.
    expected = (1 + rate * scale) ** shape * np.exp(rate * 0.5)
    assert got == pytest.approx(expected, rel=0.01)
    assert np.isnan(metrics.reproduction_numbers(np.zeros(5), 0)).all()


def test_the_first_infections_count_from_day_one_on():
    """A series in which everybody infects two others has a reproduction number of 2 every day."""
    shape = (metrics.GENERATION_MEAN / metrics.GENERATION_SD) ** 2
    generation = stats.gamma(shape, scale=metrics.GENERATION_MEAN / shape)
    weights = np.diff(generation.cdf(np.arange(31)))
    infections = [1000.0]  # on day 0
    for day in range(1, 31):
        infections.append(
            2.0 * sum(infections[day - k] * weights[k - 1] for k in range(1, day + 1))
        )
    got = metrics.reproduction_numbers(np.array(infections[1:]), 1000)
    assert got == pytest.approx(np.full(30, 2.0))
    # Four people are infected by five on day 4; without the five it was 4 / 0.
    assert 4.0 < metrics.reproduction_numbers(np.array([0.0, 0.0, 0.0, 4.0]), 5)[-1] < 7.0


def test_imported_infections_transmit_but_were_not_caught_here():
    new, imported = np.array([0.0, 3.0, 0.0, 4.0, 6.0]), np.array([0.0, 3.0, 0.0, 4.0, 0.0])
    numbers = metrics.reproduction_numbers(new, 5, imported)
    assert numbers[:4] == pytest.approx(np.zeros(4))
    assert numbers[4] == metrics.reproduction_numbers(new, 5)[4] > 0.0


def contact_list(path, n_people=300):
    rows = [f"{a},{(a + 1 + day) % n_people},{day}" for day in range(7) for a in range(n_people)]
    path.write_text("sender,receiver,day\n" + "\n".join(rows) + "\n")
    return str(path)


@pytest.mark.parametrize("name", ["city", "replay", "covasim"])
def test_a_disease_that_does_not_spread_has_no_reproduction_number_above_0(name, tmp_path):
    simulator = {"name": name, "transmissibility": 0.0, "imports_per_day": 10.0}
    if name == "covasim":
        pytest.importorskip("covasim", reason="Covasim is not installed")
    else:
        simulator["variant"] = {"first": 50, "from_day": 20}
    if name == "replay":
        simulator["contacts"] = contact_list(tmp_path / "contacts.csv")
    people = {} if name == "replay" else {"people": 300}
    result = run(RunConfig(method="none", days=30, seed=2, simulator=simulator, **people))
    daily = result.daily.to_pydict()
    assert daily["new_infections"] == daily["imported_infections"]
    assert sum(daily["imported_infections"]) > 100
    assert set(daily["reproduction_number"]) == {0.0}


def test_without_imports_every_infection_is_local(result):
    daily = result.daily.to_pydict()
    assert set(daily["imported_infections"]) == {0}
    expected = metrics.reproduction_numbers(np.array(daily["new_infections"], float), 20)
    assert daily["reproduction_number"] == expected.tolist()


def test_a_curve_that_still_rises_has_not_reached_its_peak():
    settings = {"method": "none", "people": 2000, "initially_infected": 40, "seed": 3}
    rising = run(RunConfig(days=12, **settings))
    assert rising.summary["day_of_peak"] == 12
    assert rising.summary["peak_reached"] is False
    assert run(RunConfig(days=90, **settings)).summary["peak_reached"] is True


def test_an_epidemic_that_never_began_has_no_day_of_its_peak(tmp_path, capsys):
    nobody = run(RunConfig(days=3, people=50, initially_infected=0))
    assert nobody.summary["peak_reached"] is True
    assert nobody.summary["day_of_peak"] is None
    presentation.show_run(nobody)
    assert re.search(r"Day of the peak +│ +– ", capsys.readouterr().out)
    store.write_run(nobody, tmp_path)  # draws it


@pytest.fixture(scope="module")
def result():
    return run(RunConfig(method="fn", people=600, days=30, seed=3, initially_infected=20))


def test_a_run_adds_up(result):
    daily = {k: np.array(v) for k, v in result.daily.to_pydict().items()}
    s = result.summary
    states = "uninfected presymptomatic presymptomatic_mild asymptomatic symptomatic"
    states += " symptomatic_mild hospitalised critical hospitalised_recovering recovered death"
    assert (sum(daily[name] for name in states.split()) == 600).all()
    assert daily["new_infections"].sum() + 20 == daily["ever_infected"][-1]
    assert s["attack_rate"] == daily["ever_infected"][-1] / 600
    assert s["peak_infected"] == daily["infected"].max() / 600
    assert daily["infected"][s["day_of_peak"] - 1] == daily["infected"].max()
    assert s["peak_infected"] <= s["peak_infected_with_asymptomatic"]
    assert s["tests_used"] == daily["tests"].sum() == 30 * 48
    assert s["isolation_person_days"] == daily["isolated"].sum() > 0
    assert (
        s["isolation_precision"]
        == daily["isolated_exposed_or_infected"].sum() / daily["isolated"].sum()
    )
    assert 0 < s["isolation_recall"] < 1
    assert 0 < s["days_infection_to_positive_test"] < 15
    assert s["days_infection_to_isolation"] >= s["days_infection_to_positive_test"]
    assert 0.5 < s["auroc"] <= 1.0
    capable = daily["recall_at_capacity"].astype(float)
    assert (capable[np.isfinite(capable)] <= 1.0 + 1e-12).all()


def test_groups_add_up(result):
    groups = result.groups.to_pylist()
    for kind in ("age", "household size"):
        rows = [g for g in groups if g["grouped_by"] == kind]
        assert sum(g["people"] for g in rows) == 600
        infected = sum(g["people"] * (g["attack_rate"] or 0) for g in rows)
        assert infected == pytest.approx(result.summary["attack_rate"] * 600)
        days = sum(g["people"] * (g["isolation_days_per_person"] or 0) for g in rows)
        assert days == pytest.approx(result.summary["isolation_person_days"])


def test_nothing_to_measure():
    summary = run(RunConfig(method="none", people=100, days=3, initially_infected=0)).summary
    assert summary["peak_infected"] == summary["attack_rate"] == 0
    for key in ("positivity", "isolation_precision", "isolation_recall", "auroc"):
        assert summary[key] is None


def test_days_at_home_are_called_so_whatever_the_reason():
    """Nobody isolates after a positive result here: all days at home are days in quarantine."""
    overrides = {"people": 300, "days": 20, "method": "fn", "isolation.adherence": 0.0}
    overrides |= {"policy.name": "levers", "policy.quarantine.capacity": 0.02}
    summary = dt.run(dt.load_config(overrides=overrides)).summary
    assert summary["isolation_person_days"] == summary["quarantine_person_days"] > 0
    labels = {key: SUMMARY[key].label for key in SUMMARY if key.startswith(("isolation", "quaran"))}
    assert all("at home" in label for label in labels.values()), labels


def test_positive_tests_are_not_called_infections():
    """People who are found are tested again: there are more such tests than infected people."""
    overrides = {"method": "fn", "people": 300, "days": 20, "tests.capacity": 0.5}
    result = dt.run(dt.load_config(preset="quick", overrides=overrides))
    key = "tests_per_infection_found"
    found = result.summary["tests_used"] / result.summary[key]
    assert found > result.summary["attack_rate"] * 300
    assert quantities.SUMMARY[key].label == "Tests per positive test in E or I"
