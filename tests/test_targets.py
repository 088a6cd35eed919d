"""A target is met for the whole life of its unit, so far, or not; what tells of costs says so."""

import json
from functools import cache

import pytest

from dnatrace.privacy.accounting import GaussianEvent, Kept, Ledger, Lifetime, Target, Unit
from dnatrace.privacy.gaussian import epsilon_of_mu
from dnatrace.privacy.statement import Provenance, statement
from dnatrace.runs import guarantees, store
from dnatrace.runs.config import load_config
from dnatrace.runs.presentation import privacy_line
from dnatrace.runs.run import run

from .command_line import run as dnatrace

DAILY = Lifetime(shares=(1.0,) * 14, joint=True, person=(1.0,) * 14, once=True)
LIVES = {
    "daily": DAILY,
    "joint": Lifetime(shares=(0.0,) + (1.0,) * 13, joint=True),
    "apart": Lifetime(shares=(0.0, 1.0, 0.9, 0.5), joint=False),
}
CLASSICAL = ("privacy.epsilon=20", "privacy.calibration=classical")


def ledger_of(days, *, mu=0.4, life=DAILY, noise="secure"):
    ledger = Ledger()
    for day in range(days):
        ledger.record(GaussianEvent(day=day, mechanism="n", mu=mu, lifetime=life, noise=noise))
    return ledger


@cache
def told(days, *settings, scenario=None):
    size = {"people": 60, "days": days, "initially_infected": 6}
    result = run(load_config(scenario=scenario, settings=settings, overrides=size))
    return result, guarantees.state(result.config, result.ledger)


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("unit", list(Unit))
def test_a_whole_life_costs_what_a_long_run_spends(life, unit):
    """Computed after three days, against the ledger of a run that sees every life end."""
    short, long = (ledger_of(days, life=LIVES[life]) for days in (3, 80))
    expected = long.epsilon(unit, 1e-3)
    assert short.life_epsilon(unit, 1e-3) == pytest.approx(expected, rel=1e-9)
    assert long.life_epsilon(unit, 1e-3) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("days", [1, 5, 40])
def test_a_target_is_met_so_far_exactly_while_a_longer_run_would_miss_it(unit, days):
    ledger, longer = ledger_of(days), ledger_of(80)
    now, later = (one.epsilon(unit, 1e-3) for one in (ledger, longer))
    for epsilon in (0.9 * now, 1.001 * now, 0.999 * later, 1.001 * later):
        target = Target(epsilon=epsilon, unit=unit)
        expected = Kept.NOT if now > epsilon else Kept.SO_FAR if later > epsilon else Kept.MET
        assert ledger.kept(target) is expected, (epsilon, now, later)


def test_the_budget_of_a_filter_bounds_a_whole_life():
    ledger, budget = Ledger(), 0.5
    event = {"mechanism": "n", "mu": 0.4, "lifetime": LIVES["joint"], "budget": budget}
    ledger.record(GaussianEvent(day=0, **event))
    assert ledger.life_epsilon(Unit.CONTACT, 1e-3) == epsilon_of_mu(budget, 1e-3)


def test_a_statement_certifies_no_target_that_a_longer_run_would_miss():
    target = Target(epsilon=3.0, unit=Unit.CONTACT)
    said = [
        statement(ledger_of(days), Provenance(method="m", release="r"), target=target)
        for days in (3, 30)
    ]
    assert "TARGET MET SO FAR ALONE: over its whole life a contact costs up to" in said[0]
    assert "TARGET NOT MET" in said[1]
    kept = Target(epsilon=6.0, unit=Unit.CONTACT)
    for days in (3, 30):
        text = statement(ledger_of(days), Provenance(method="m", release="r"), target=kept)
        assert "The scores are differentially private: ε = 6" in text


@pytest.mark.parametrize(
    ("unit", "days", "words"),
    [
        ("release", 3, "TARGET NOT MET: ε = 20 per release was asked for."),
        ("contact", 20, "TARGET NOT MET: ε = 20 per contact was asked for."),
        ("contact", 3, "TARGET MET SO FAR ALONE: ε = 20 per contact was asked for, a whole life"),
        ("person", 3, "TARGET MET SO FAR ALONE: ε = 20 per person was asked for, a whole life"),
    ],
)
def test_a_missed_target_is_told_by_run_ledger_and_statement(unit, days, words, tmp_path):
    """The classical calibration adds too little noise far above ε = 1."""
    result, text = told(days, *CLASSICAL, f"privacy.unit={unit}")
    assert words in privacy_line(result.summary["privacy"])
    assert words.partition(":")[0] in text.split("\n\n")[0]
    stored = store.write_run(result, tmp_path)
    assert words in " ".join(dnatrace("privacy", "ledger", stored).stdout.split())
    assert json.loads((stored / "summary.json").read_text())["privacy"]["target_kept"] != "met"


def test_a_target_that_is_met_is_not_told():
    result, text = told(3)
    assert result.summary["privacy"]["target_kept"] == "met"
    assert "TARGET" not in text + privacy_line(result.summary["privacy"])
    nothing, _ = told(3, "method=fn")
    assert nothing.summary["privacy"]["target_kept"] is None


def test_the_statement_marks_every_unit_whose_cost_is_that_so_far():
    _, short = told(5)
    costs = next(p for p in short.split("\n\n") if p.startswith("Cost at δ = 0.001"))
    assert costs.count(", so far") == 3
    odds = next(p for p in short.split("\n\n") if p.startswith("What that means"))
    assert odds.count("(so far)") == 3
    assert "at δ = 0.001, so far. All of them together" in short
    person = next(p for p in short.split("\n\n") if p.startswith("One person"))
    assert person.count("so far") == 3  # the ε, the guesses, and what pooled scores reveal
    _, middle = told(16)
    assert "for one contact over all releases it reaches; " in middle
    assert "on 14 days, so far." in middle
    assert middle.count("(so far)") == 1
    _, long = told(27)
    assert "so far" not in long


@pytest.mark.parametrize("noise", ["fast", "secure"])
def test_the_printed_ledger_has_what_comes_on_top_of_units(noise, tmp_path):
    result, _ = told(3, "policy=threshold", f"policy.noise={noise}")
    shown = dnatrace("privacy", "ledger", store.write_run(result, tmp_path)).stdout
    costs = result.summary["privacy"]["selection_epsilon"]
    assert f"the threshold that chooses tests is published: ε = {costs['day']:.3g} per day" in shown
    assert f"{costs['run']:.3g} over all days" in shown
    both = "that of scores (fast) and that of the threshold (fast) protects nobody"
    assert ("and that of scores (fast) protects nobody" in shown) is (noise == "secure")
    assert (both in shown) is (noise == "fast")


def test_the_printed_ledger_says_what_policies_tell(tmp_path):
    result, _ = told(3, scenario="household")
    shown = dnatrace("privacy", "ledger", store.write_run(result, tmp_path)).stdout
    assert "The policy tells people of a case without noise; no ε covers that." in shown


def test_what_is_nearly_certain_is_not_called_at_most_over_99():
    result, text = told(3, "privacy.epsilon=200")
    assert "guesses the result right nearly always" in text
    assert "at most over" not in text + privacy_line(result.summary["privacy"])
