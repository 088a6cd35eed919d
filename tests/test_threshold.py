"""The policy `threshold`: local decisions, a histogram that costs what it says, never too many."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnatrace as dt
from dnatrace.policy.base import Publishes, Situation
from dnatrace.policy.isolation import IsolationRules
from dnatrace.policy.threshold import (
    SENSITIVITY,
    Published,
    Threshold,
    ThresholdSettings,
    finer,
    threshold,
)
from dnatrace.privacy import mechanisms
from dnatrace.privacy.audit import audit
from dnatrace.privacy.gaussian import epsilon_of_mu, mu_of_budget
from dnatrace.privacy.noise import FastNoise
from dnatrace.privacy.release import TrustBoundaryError
from dnatrace.runs import guarantees
from dnatrace.runs.presentation import privacy_line
from dnatrace.runs.run import run

from . import reference_threshold as reference
from .private_methods import RecordingNoise, WeakNoise

COUNTS = st.lists(st.floats(-20, 200), min_size=1, max_size=12)


def policy(seed=1, **known):
    made = ThresholdSettings(**known).build(IsolationRules(), seed)
    assert isinstance(made, Publishes)
    return made


def chosen_on_days(made, scores_of_day, most, *, eligible=None, days=6):
    """Return who was chosen on each day, and the states."""
    n = scores_of_day(1).size
    state, found = made.start(n), []
    everybody = np.ones(n, dtype=bool) if eligible is None else eligible
    for day in range(1, days + 1):
        released = mechanisms.publish_public(scores_of_day(day), day=day - 1)
        situation = Situation(day=day, eligible=everybody, most_tests=most)
        people, state = made.choose(released, situation, state)
        found.append((people, state))
    return found


@given(noisy=COUNTS, most=st.integers(0, 300))
def test_the_published_threshold_equals_its_twin_or_publishes_as_much(noisy, most):
    """The twin stops at the first bin that is full; noise can make sums fall again below it."""
    edges = np.arange(len(noisy) - 1, dtype=float)
    found = threshold(np.array(noisy), edges, most)
    expected = reference.published(noisy, edges.tolist(), most)
    assert (found.low, found.high) == expected[:2]
    assert found.share == pytest.approx(expected[2])


@pytest.mark.parametrize(
    "scores",
    [
        lambda rng: rng.normal(size=10_000),
        lambda rng: rng.normal(-8.0, 3.0, 10_000),
        lambda rng: rng.beta(0.05, 3.0, 10_000),
        lambda rng: np.zeros(10_000),
        lambda rng: rng.poisson(0.05, 10_000).astype(float),
        lambda rng: 1e7 * rng.normal(size=10_000),
    ],
    ids=["normal", "log odds", "probabilities", "nobody", "few", "huge"],
)
def test_about_the_capacity_is_tested_and_never_more(scores):
    rng = np.random.default_rng(1)
    days = chosen_on_days(policy(), lambda _: scores(rng), 800)
    used = [people.size for people, _ in days]
    assert max(used) <= 800
    assert np.mean(used[1:]) > 0.93 * 800


def test_tests_go_to_high_scores():
    """From the second day on nearly all are among the highest, though nobody read all scores."""
    rng = np.random.default_rng(2)
    drawn = {day: rng.normal(-5.0, 2.0, 10_000) for day in range(1, 7)}
    found = []
    for epsilon in (1.0, 0.001):  # the second is the control: noise alone
        days = chosen_on_days(policy(epsilon=epsilon), drawn.get, 800)
        highest = {day: np.argsort(-drawn[day])[:700] for day in drawn}
        tested = [np.isin(highest[d], people).mean() for d, (people, _) in enumerate(days, start=1)]
        found.append(min(tested[1:]))
    assert found[0] > 0.9
    assert found[1] < 0.6


def test_only_the_eligible_with_a_score_are_tested():
    rng = np.random.default_rng(3)
    scores, eligible = rng.normal(size=1000), rng.random(1000) < 0.5
    scores[::3] = np.nan
    for people, _ in chosen_on_days(policy(), lambda _: scores, 100, eligible=eligible):
        assert eligible[people].all()
        assert not np.isnan(scores[people]).any()
        assert np.array_equal(people, np.unique(people))
    assert all(p.size == 0 for p, _ in chosen_on_days(policy(), lambda _: scores, 0))
    situation = Situation(day=1, eligible=eligible, most_tests=9)
    with pytest.raises(TrustBoundaryError):
        policy().choose(scores, situation, policy().start(1000))


@given(st.data())
def test_a_phone_decides_by_its_own_score_and_coin(data):
    numbers = st.floats(-5, 5)
    low, high = sorted(data.draw(st.tuples(numbers, numbers)))
    told = Published(low=low, high=high, share=data.draw(st.floats(0, 1)))
    scores = np.array(data.draw(st.lists(numbers, min_size=2, max_size=6)))
    coins = np.array(data.draw(st.lists(st.floats(0, 1), min_size=scores.size)))[: scores.size]
    together = told.asks(scores, coins)
    alone = [told.asks(s[None], c[None])[0] for s, c in zip(scores, coins, strict=True)]
    assert together.tolist() == alone


# What it costs.


def noised(scores, eligible, edges=None):
    """Return what gets noise, and the sensitivity that is stated for it."""
    noise = RecordingNoise()
    made = replace(policy(), noise=noise)
    state = made.start(scores.size)
    state = state if edges is None else replace(state, edges=edges)
    released = mechanisms.publish_public(scores, day=0)
    made.choose(released, Situation(day=1, eligible=eligible, most_tests=3), state)
    return noise.values[0][0], noise.sensitivity[0][0]


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_one_score_moves_the_histogram_by_at_most_its_sensitivity(data):
    """For any other score of one person, or none, and for any public bins."""
    n = data.draw(st.integers(1, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    scores, eligible = rng.normal(0, 3, n), rng.random(n) < 0.7
    edges = np.unique(rng.normal(0, 3, data.draw(st.integers(1, 30))))
    other, free = scores.copy(), eligible.copy()
    other[0] = data.draw(st.sampled_from([np.nan, -100.0, 0.0, 1.0, 1e9]))
    free[0] = data.draw(st.booleans())
    (first, stated), (second, _) = noised(scores, eligible, edges), noised(other, free, edges)
    assert first.tolist() == reference.histogram(scores[eligible].tolist(), edges.tolist())
    assert np.linalg.norm(first - second) <= SENSITIVITY + 1e-12
    assert (stated == SENSITIVITY).all()


def test_the_sensitivity_is_reached():
    everybody = np.ones(4, dtype=bool)
    first, _ = noised(np.array([-1.0, 0.0, 0.0, 0.0]), everybody)
    second, _ = noised(np.array([1.0, 0.0, 0.0, 0.0]), everybody)
    assert np.linalg.norm(first - second) == pytest.approx(SENSITIVITY)


def test_the_histogram_passes_an_audit_and_less_noise_does_not(threads):
    threads(1)
    scores = np.array([0.5, 0.0, 0.0, -3.0, 2.0])
    target, edges = policy().target, np.array([-2.0, 0.2, 1.0])

    def sample(noise):
        def draw(world, draws):
            mine = np.where(np.arange(5) == 0, -5.0 if world else 0.5, scores)
            made = Threshold(usual=policy().usual, target=target, noise=noise, seed=1)
            sample.day += draws
            days = range(sample.day, sample.day + draws)
            return np.stack([made._histogram(mine, edges, day)[0] for day in days])

        sample.day = 0
        return draw

    known = {"claimed_epsilon": 1.0, "delta": 1e-3, "draws": 1000}
    assert audit(sample(FastNoise(seed=1)), **known).passed
    assert not audit(sample(WeakNoise(1, share=1 / 8)), **known).passed


def test_its_cost_is_on_the_ledger_and_in_the_statement():
    small = {"people": 200, "days": 9, "initially_infected": 10, "method": "dpfn-s"}
    result = run(dt.RunConfig(policy="threshold", **small))
    spent = result.summary["privacy"]["selection_epsilon"]
    assert spent["day"] == pytest.approx(1.0)
    assert spent["run"] == pytest.approx(epsilon_of_mu(3.0 * mu_of_budget(1.0, 1e-3), 1e-3))
    assert len(result.ledger.selections) == 9
    text = guarantees.state(result.config, result.ledger)
    assert "nobody reads all scores" in text
    plain = run(dt.RunConfig(**small))
    assert plain.summary["privacy"]["selection_epsilon"] is None
    assert "nobody reads" not in guarantees.state(plain.config, plain.ledger)
    units = ("per_release_epsilon", "per_contact_epsilon", "per_pair_epsilon", "sound")
    assert all(result.summary["privacy"][u] == plain.summary["privacy"][u] for u in units)


def test_a_public_method_with_a_threshold_is_a_simulation_too():
    small = {"people": 100, "days": 2, "method": "random"}
    assert run(dt.RunConfig(**small)).summary["privacy"]["protects"]
    config = dt.RunConfig(policy="threshold", **small)
    result = run(config)
    assert not result.summary["privacy"]["protects"]
    assert "The threshold that chooses tests is published" in privacy_line(
        result.summary["privacy"]
    )
    assert "Choice of tests: nobody reads all scores." in guarantees.state(config, result.ledger)


def test_bins_of_tomorrow_are_finer_where_tests_go():
    rng = np.random.default_rng(4)
    scores = rng.normal(-5.0, 2.0, 10_000)
    (_, first), *_ = chosen_on_days(policy(), lambda _: scores, 800, days=1)
    assert (np.diff(first.edges) > 0).all()
    near = ((first.edges > -3.5) & (first.edges < 2.0)).sum()
    assert near > 30
    nothing = finer(np.full(first.edges.size + 1, -3.0), first.edges, 100.0)
    assert np.isfinite(nothing).all()
    assert math.isinf(threshold(np.full(4, -3.0), np.arange(3.0), 10).low)
