"""The Gaussian mechanism: closed form, calibration, and the only door to a released score."""

import ast
import math
from pathlib import Path

import dp_accounting
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dnatrace as dt
import dnatrace.privacy
from dnatrace.errors import InputError
from dnatrace.methods.dpfn import DpfnSettings
from dnatrace.privacy.accounting import GaussianEvent, Lifetime, PublicEvent, Target
from dnatrace.privacy.gaussian import (
    delta_of_mu,
    epsilon_of_mu,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
    mu_of_budget,
    renyi_multiplier,
)
from dnatrace.privacy.mechanisms import GaussianMechanism, publish_processed
from dnatrace.privacy.noise import FastNoise
from dnatrace.privacy.release import Bounded, Protected, Released, TrustBoundaryError
from dnatrace.privacy.sensitivity import exposure_reach
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.seir import SeirParameters

from .private_methods import ONE, facts_of, made
from .reference_privacy import delta_by_integration, delta_by_tails

EPSILONS = (1e-4, 1e-2, 0.1, 1.0, 3.0, 10.0, 30.0)
DELTAS = (1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.2, 0.5)
ONCE = Lifetime(shares=(1.0,), joint=True)


def mechanism(multiplier, seed=1):
    return GaussianMechanism(
        name="test",
        multiplier=multiplier,
        lifetime=ONCE,
        noise=FastNoise(seed=seed),
        purpose="test",
    )


@pytest.mark.parametrize(
    ("epsilon", "multiplier"), [(1.0, 2.574657), (0.1, 17.404396), (10.0, 0.4060596)]
)
def test_known_multipliers(epsilon, multiplier):
    sigma = gaussian_sigma(epsilon=epsilon, delta=1e-3, sensitivity=1.0)
    assert sigma == pytest.approx(multiplier, rel=1e-6)


def test_renyi_route_needs_more_noise():
    assert renyi_multiplier(1.0, 1e-3) == pytest.approx(3.85, abs=0.005)
    for epsilon in EPSILONS:
        for delta in DELTAS:
            assert renyi_multiplier(epsilon, delta) > 1 / mu_of_budget(epsilon, delta)


@pytest.mark.parametrize(
    ("nominal", "true"), [(0.1, 0.037), (1.0, 0.63), (10.0, 11.0), (30.0, 55.0)]
)
def test_classical_formula_relabelled(nominal, true):
    sigma = math.sqrt(2 * math.log(1.25 / 1e-3)) / nominal
    found = gaussian_epsilon(sigma=sigma, delta=1e-3, sensitivity=1.0)
    assert found == pytest.approx(true, rel=0.01)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_inversion_and_second_library(epsilon, delta):
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=0.02)
    assert gaussian_delta(sigma=sigma, epsilon=epsilon, sensitivity=0.02) <= delta
    back = gaussian_epsilon(sigma=sigma, delta=delta, sensitivity=0.02)
    assert back <= epsilon  # never reported to cost more than what it was calibrated for
    # ε hardly moves δ when ε is tiny and δ large, so the inverse is loose there.
    assert back == pytest.approx(epsilon, rel=1e-6, abs=1e-8)
    with np.errstate(divide="ignore"):  # the second library takes log(0) on its way
        other_sigma = dp_accounting.get_sigma_gaussian(epsilon, delta) * 0.02
        other_epsilon = dp_accounting.get_epsilon_gaussian(sigma / 0.02, delta)
    assert sigma == pytest.approx(other_sigma, rel=1e-8)
    assert back == pytest.approx(other_epsilon, rel=1e-6, abs=1e-8)


@given(log_mu=st.floats(-9, 3), epsilon=st.floats(0, 30))
@settings(deadline=None)
def test_delta_agrees_with_the_printed_formula(log_mu, epsilon):
    mu = math.exp(log_mu)
    assert delta_of_mu(mu, epsilon) == pytest.approx(
        delta_by_tails(mu, epsilon), rel=1e-6, abs=1e-13
    )


@pytest.mark.parametrize("mu", [0.02, 0.4, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0])
def test_delta_agrees_with_integration(mu, epsilon):
    integral = delta_by_integration(mu, epsilon)
    assert delta_of_mu(mu, epsilon) == pytest.approx(integral, rel=1e-7, abs=1e-250)


@given(
    log_epsilon=st.floats(math.log(1e-4), math.log(1e3)),
    log_delta=st.floats(math.log(1e-12), math.log(0.5)),
)
@settings(deadline=None)
def test_calibration_is_enough_and_not_too_much(log_epsilon, log_delta):
    epsilon, delta = math.exp(log_epsilon), math.exp(log_delta)
    mu = mu_of_budget(epsilon, delta)
    assert delta_of_mu(mu, epsilon) <= delta
    assert delta_of_mu(mu * (1 + 1e-6), epsilon) > delta
    # ε is rounded up.
    found = epsilon_of_mu(mu * 1.3, delta)
    assert delta_of_mu(mu * 1.3, found) <= delta


def test_edge_cases():
    assert gaussian_sigma(epsilon=1, delta=1e-3, sensitivity=0) == 0
    assert gaussian_epsilon(sigma=0, delta=1e-3, sensitivity=1) == math.inf
    assert gaussian_epsilon(sigma=0, delta=1e-3, sensitivity=0) == 0
    assert gaussian_epsilon(sigma=1e6, delta=1e-3, sensitivity=1) == 0
    assert delta_of_mu(math.inf, 1.0) == 1.0
    assert dnatrace.privacy.gaussian_sigma is gaussian_sigma
    assert "gaussian_epsilon" in dir(dnatrace.privacy)
    with pytest.raises(AttributeError):
        _ = dnatrace.privacy.nothing


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"sensitivity": -1.0}, "sensitivity"),
        ({"sensitivity": math.nan}, "sensitivity"),
    ],
)
def test_wrong_input_is_named(wrong, named):
    with pytest.raises(InputError, match=named):
        gaussian_sigma(**({"epsilon": 1.0, "delta": 1e-3, "sensitivity": 1.0} | wrong))


def test_wrong_sigma_and_epsilon_are_named():
    with pytest.raises(InputError, match="sigma"):
        gaussian_epsilon(sigma=-1.0, delta=1e-3, sensitivity=1.0)
    with pytest.raises(InputError, match="epsilon"):
        gaussian_delta(sigma=1.0, epsilon=-1.0, sensitivity=1.0)
    with pytest.raises(TrustBoundaryError):
        mechanism(0.0)


def test_noise_has_the_right_size():
    """KS at n = 20,000 accepts σ (false alarm 1e-4) and rejects 2/3 σ and 3/2 σ."""
    multiplier, reach = 2.574657, 0.02
    bounded = Bounded(values=np.full(20_000, 0.3), sensitivity=np.full(20_000, reach))
    noisy = mechanism(multiplier).protect(bounded, day=3).values
    for factor, accepted in ((1.0, True), (2 / 3, False), (3 / 2, False)):
        normal = stats.norm(0.3, factor * multiplier * reach)
        assert (stats.kstest(noisy, normal.cdf).pvalue > 1e-4) == accepted


def test_no_dependence_no_noise():
    bounded = Bounded(values=np.array([0.1, 0.2]), sensitivity=np.array([0.0, 0.5]))
    noisy = mechanism(2.0).protect(bounded, day=0)
    assert noisy.values[0] == 0.1
    assert noisy.values[1] != 0.2
    noise = FastNoise(seed=1).name
    expected = GaussianEvent(day=0, mechanism="test", mu=0.5, lifetime=ONCE, noise=noise)
    assert noisy.event == expected
    still = Bounded(values=np.array([0.1]), sensitivity=np.zeros(1))
    assert mechanism(2.0).protect(still, day=4).event == PublicEvent(day=4)


def test_noisy_exposures_are_unbiased_for_the_product_and_clipped():
    """E[exp(-x̃)] = exp(-x): mean of 200,000 within five standard errors; days alone stay at 0."""
    n, settings = 200_000, DpfnSettings(gamma=1.0)
    public = facts_of(ContactWindow(n_people=1, n_days=1), None, None, SeirParameters(p1=0.1))[0]
    reach = exposure_reach(0.1, 1.0)
    values = np.stack([np.full(n, 30.0), np.zeros(n)])
    bounded = Bounded(values=values, sensitivity=np.stack([np.full(n, reach), np.zeros(n)]))
    raw = mechanism(3.0).protect(bounded, day=1).values
    counts = np.stack([np.full(n, 600), np.zeros(n)])
    noisy = settings.settled(raw, counts, public, 3.0)
    ratio = np.exp(-(noisy[0] - 30.0))
    assert abs(ratio.mean() - 1) < 5 * ratio.std() / math.sqrt(n)
    assert not noisy[1].any()
    tight = settings.settled(raw, counts // 400, public, 3.0)
    assert tight.max() <= reach
    assert tight.min() >= 0.0


def test_noisy_messages_stay_in_range():
    """A receiver with one contact per day: the exposure is that of a message in [0, γ]."""
    n, p1, gamma = 5000, 0.1, 0.4
    window = ContactWindow(n_people=n, n_days=14)
    for _ in range(14):
        window.push(DayContacts.from_pairs(np.arange(n), np.roll(np.arange(n), 1), n_people=n))
    messages = np.tile(np.linspace(0, 1, n, dtype=np.float32), (14, 1))
    outcomes = np.full((14, n), -1, dtype=np.int8)
    facts = facts_of(window, outcomes, messages, SeirParameters(p1=p1))
    method = made("per-message", gamma=gamma)
    _, state = method.release(*facts, method.start(n))
    kept = np.stack([row.values for row in state.history])
    assert kept.min() == 0.0
    assert kept.max() == pytest.approx(-math.log1p(-p1 * gamma))
    assert state.history[0].event.mu == pytest.approx(ONE.mu)
    assert state.history[0].event.same_for_all


def test_nobody_else_can_release():
    with pytest.raises(TrustBoundaryError):
        Released(scores=np.zeros(2), event=PublicEvent(day=0), seal=object())
    with pytest.raises(TrustBoundaryError):
        Protected(values=np.zeros(2), event=PublicEvent(day=0), seal=None)
    with pytest.raises(TrustBoundaryError):
        Bounded(values=np.zeros(2), sensitivity=np.zeros(3))
    with pytest.raises(TrustBoundaryError):
        Bounded(values=np.zeros(2), sensitivity=np.array([0.0, -1.0]))
    with pytest.raises(TrustBoundaryError):
        Bounded(values=np.array([np.nan]), sensitivity=np.zeros(1))


def test_no_code_outside_privacy_constructs_a_release():
    """Only files of `privacy` call `Released(…)` or `Protected(…)` or touch the seal."""
    source = Path(dnatrace.privacy.__file__).parent.parent
    for path in source.rglob("*.py"):
        if path.parent.name == "privacy":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("Released", "Protected"), path
            if isinstance(node, ast.Name | ast.alias):
                assert "_SEAL" not in (getattr(node, "id", ""), getattr(node, "name", "")), path


def test_nothing_new_costs_nothing():
    released = publish_processed(
        [], lambda rows: rows.sum(axis=0), day=5, n_people=3, noise=FastNoise(seed=0)
    )
    assert released.scores.tolist() == [0.0, 0.0, 0.0]
    assert released.event == PublicEvent(day=5)


def test_another_calibration_than_asked_for_is_never_used():
    """A name that nobody knows was taken for `exact`."""
    assert Target(epsilon=1.0, calibration="classical").mu != Target(epsilon=1.0).mu
    for wrong in ("clasical", None, 5, np.array([1, 2])):
        with pytest.raises(dt.InputError, match=r"unknown calibration .*: exact, classical, renyi"):
            Target(epsilon=1.0, calibration=wrong)
