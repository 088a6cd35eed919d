"""Private methods: what they noise moves no more than stated, nothing outlives the window."""

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnatrace.errors import InputError
from dnatrace.inference.exposures import clipped_exposures, reference_exposures
from dnatrace.methods.adversary import AdversaryGame, Encounter, OwnTests
from dnatrace.methods.base import Needs, Score
from dnatrace.methods.settings import renewed_lifetime
from dnatrace.privacy import sensitivity as sv
from dnatrace.privacy.accounting import (
    GaussianEvent,
    Ledger,
    PublicEvent,
    Target,
    Unit,
    UnprotectedEvent,
    UnprovenEvent,
)
from dnatrace.privacy.noise import FastNoise, SecureNoise
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.seir import SeirParameters

from . import reference_privacy as reference
from .private_methods import SOUND, RecordingNoise, facts_of, made, released
from .reference_privacy import PAPER_TESTS, SilentNoise, parameters

ALL = [*SOUND, ("dpfn-s", "as_published")]
PAPER = SeirParameters()


def noised(kind, variant, facts, **settings):
    """Return (values, sensitivity, event) of what one release noises."""
    noise = RecordingNoise()
    event = released(made(kind, variant, noise=noise, **settings), facts).event
    return np.concatenate(noise.values), np.concatenate(noise.sensitivity), event


def loss(kind, variant, crowd, p, **settings):
    """How far neighbours are apart, in multiples of what is stated, for every person."""
    here, stated, event = noised(kind, variant, crowd.facts(crowd.messages, p), **settings)
    there, same, _ = noised(kind, variant, crowd.facts(crowd.neighbour, p), **settings)
    assert np.array_equal(stated, same)  # the size of the noise is public
    moved = np.abs(there - here)
    assert (moved[stated == 0] == 0).all()
    apart = np.sqrt(((moved / np.where(stated > 0, stated, 1.0)) ** 2).sum(axis=0))
    return apart / max(event.lifetime.shares)


@pytest.mark.parametrize(("kind", "variant"), SOUND)
@given(
    seed=st.integers(0, 2**32 - 1), score=st.sampled_from(Score), gamma=st.sampled_from([0.1, 1.0])
)
@settings(max_examples=12)
def test_no_neighbour_is_further_than_stated(kind, variant, seed, score, gamma):
    crowd = reference.crowd(np.random.default_rng(seed), n_receivers=80)
    assert (loss(kind, variant, crowd, parameters(0.1), score=score, gamma=gamma) <= 1 + 1e-9).all()


@pytest.mark.parametrize("n_days", [1, 2, 3, 9])
@pytest.mark.parametrize(("kind", "variant"), ALL)
@pytest.mark.parametrize("score", list(Score))
def test_short_windows_work(kind, variant, score, n_days):
    crowd = reference.crowd(np.random.default_rng(n_days), n_receivers=20, n_days=n_days)
    found = released(made(kind, variant, score=score), crowd.facts(crowd.messages, PAPER))
    assert np.isfinite(found.scores).all()
    heard = n_days > sv.first_age(score is Score.EXPOSED_OR_INFECTED)
    if (kind, variant) != ("dpfn-s", "as_published"):
        assert isinstance(found.event, GaussianEvent if heard else PublicEvent)


def test_linear_is_tight_for_every_history():
    """The directed search: the message of the heaviest day reaches the stated sensitivity."""
    for tests in OwnTests:
        for score in Score:
            found = []
            for day in range(13):
                encounter = Encounter(own_tests=tests.outcomes(14), met_on=(day,), others=2)
                noise = RecordingNoise()
                method = made("dpfn-s", rho=0.0, noise=noise, score=score)
                play = AdversaryGame(encounter, lambda _, m=method: m)
                play(0, 1)
                play(1, 1)
                reach = noise.sensitivity[0][0, 0]
                found.append(abs(noise.values[1][0, 0] - noise.values[0][0, 0]) / reach)
            assert 0.97 <= max(found) <= 1 + 1e-12


def test_as_published_is_caught_by_the_search():
    """One positive own test at c = .035 moves the score by more than eight times what is stated."""
    encounter = Encounter(
        own_tests=OwnTests.POSITIVE.outcomes(14), met_on=(11,), parameters=parameters(0.05)
    )
    noise = RecordingNoise()
    method = made("dpfn-s", "as_published", gamma=0.7, score=Score.INFECTED, noise=noise)
    play = AdversaryGame(encounter, lambda _: method)
    play(0, 1)
    play(1, 1)
    ratio = abs(noise.values[1][0, 0] - noise.values[0][0, 0]) / noise.sensitivity[0][0, 0]
    assert ratio == pytest.approx(11.02, abs=0.01)
    assert not Ledger(list(play.events)).sound


def test_linear_statistic_agrees_with_its_definition():
    crowd = reference.crowd(np.random.default_rng(2), n_receivers=10)
    facts = crowd.facts(crowd.messages, PAPER)
    scores = released(made("dpfn-s", rho=0.0, noise=SilentNoise()), facts).scores
    counts = crowd.window.counts
    x = clipped_exposures(crowd.window, crowd.messages, p1=PAPER.p1, gamma=0.2)
    for i in range(10):
        x_ref = counts[:, i] * -math.log1p(-PAPER.p1 * 0.005)
        args = (crowd.outcomes[:, i], PAPER, PAPER_TESTS, True)
        expected = reference.score(x_ref, *args) + reference.weights(x_ref, *args) @ (
            x[:, i] - x_ref
        )
        assert scores[i] == pytest.approx(expected, rel=1e-6)


def test_shrinkage_pulls_towards_the_public_score():
    crowd = reference.crowd(np.random.default_rng(3), n_receivers=30)
    facts = crowd.facts(crowd.messages, PAPER)
    scores = {rho: released(made("dpfn-s", rho=rho), facts).scores for rho in (0.0, 0.05)}
    public = sv.linear_form(
        reference_exposures(crowd.window.counts, p1=PAPER.p1, mu_ref=0.005),
        crowd.outcomes,
        parameters=PAPER,
        test_errors=PAPER_TESTS,
        with_exposed=True,
    ).scores
    noise = 2.574657 * sv.exposure_reach(PAPER.p1, 0.2)
    kept = 0.05**2 / (0.05**2 + noise**2)
    assert scores[0.05] == pytest.approx(public + kept * (scores[0.0] - public), rel=1e-5)


def test_as_published_clips_and_reports():
    crowd = reference.crowd(np.random.default_rng(4))
    method = made("dpfn-s", "as_published", gamma=0.7)
    found = released(method, crowd.facts(crowd.messages, parameters(0.05)))
    assert found.scores.min() >= 0.0
    assert found.scores.max() <= 0.7
    event = found.event
    assert isinstance(event, UnprovenEvent)
    assert sum(people for _, people in event.attained) == found.scores.size
    assert 8 < event.attained_worst <= event.bound_worst
    true = Ledger([event]).true_epsilon(1e-3)
    assert true["median"] <= 1.0
    assert 15 < true["worst"] <= true["bound"]


# Runs over many days.


def run(method, *, n_days=24, n_people=40, p=PAPER, seed=0, rule=None):
    """Release day by day on random contacts; return the ledger, the states and the releases."""
    rng = np.random.default_rng(seed)
    window = ContactWindow(n_people=n_people, n_days=14)
    tests = []
    state = method.start(n_people)
    ledger, states, releases = Ledger(), [], []
    for day in range(n_days):
        senders, receivers = rng.integers(0, n_people, (2, 150))
        apart = senders != receivers
        window.push(DayContacts.from_pairs(senders[apart], receivers[apart], n_people=n_people))
        today = np.where(rng.random(n_people) < 0.15, rng.integers(0, 2, n_people), -1)
        if rule is not None and releases:
            today = rule(releases[-1])
        tests = [*tests, today.astype(np.int8)][-14:]
        messages = (rng.random((len(window), n_people)) ** 3).astype(np.float32)
        facts = facts_of(window, np.stack(tests), messages, p, day=day)
        found, state = method.release(*facts, state)
        ledger.record(found.event)
        states.append(state)
        releases.append(found)
    return ledger, states, releases


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize(("kind", "variant"), SOUND)
@pytest.mark.parametrize("score", list(Score))
def test_calibration_meets_every_unit_in_a_run(kind, variant, score, unit):
    method = made(kind, variant, target=Target(epsilon=2.0, unit=unit), score=score)
    ledger, _, _ = run(method, n_days=40)
    assert ledger.sound
    assert ledger.epsilon(unit, 1e-3) <= 2.0 * (1 + 1e-6)
    per = [ledger.epsilon(u, 1e-3) for u in (Unit.RELEASE, Unit.CONTACT, Unit.PAIR)]
    assert per[0] <= per[1] * (1 + 1e-9)
    assert per[1] <= per[2] * (1 + 1e-9)
    if (kind, variant) == ("dpfn", "as_published"):
        assert ledger.epsilon(unit, 1e-3) < 1.7  # the Rényi route wastes some
    elif (variant, unit) not in (("linear", Unit.PAIR), ("correlated", Unit.RELEASE)):
        assert ledger.epsilon(unit, 1e-3) == pytest.approx(2.0, rel=1e-6)


def test_the_lifetime_filter_holds_against_adaptive_tests():
    """Whoever has a high score is tested, the worst case for a contact: the budget still holds."""

    def rule(released):
        high = released.scores > np.quantile(released.scores, 0.5)
        return np.where(high, 1, 0)

    target = Target(epsilon=1.0, unit=Unit.CONTACT)
    ledger, states, _ = run(made("dpfn-s", target=target), n_days=40, rule=rule)
    assert max(state.secret.squares.max() for state in states) <= target.mu**2 * (1 + 1e-9)
    assert ledger.summary(1e-3)["realised_per_contact_epsilon"] <= 1.0 + 1e-6
    free, states, _ = run(made("dpfn-s"), n_days=40, rule=rule)
    assert max(state.secret.squares.max() for state in states) > 2 * target.mu**2
    assert 1.0 < free.summary(1e-3)["realised_per_contact_epsilon"] < 4.8


def test_frozen_values_stay_and_leave_with_the_window():
    for method in (made("dpfn"), made("per-message")):
        _, states, releases = run(method)
        for day, (before, after) in enumerate(pairwise(states)):
            shift = after.secret.first_day - before.secret.first_day
            kept = before.history[shift:]
            assert all(a is b for a, b in zip(kept, after.history, strict=False))
            assert len(after.history) == after.secret.n_days == min(day + 1, 13)
        assert isinstance(releases[0].event, PublicEvent)
        assert isinstance(releases[1].event, GaussianEvent)


def test_renewed_noise_is_fresh_every_day():
    crowd = reference.crowd(np.random.default_rng(1), n_receivers=20)
    facts = crowd.facts(crowd.messages, PAPER)
    later = facts_of(crowd.window, crowd.outcomes, crowd.messages, PAPER, day=99)
    for method in (made("dpfn", "analytic"), made("dpfn-s")):
        first, again = (released(method, facts).scores for _ in range(2))
        other = released(method, later).scores
        assert np.array_equal(first, again)
        assert not np.array_equal(first[:20], other[:20])


def test_correlated_noise_undoes_its_own_sums():
    """Without noise x̃ is x; and nothing is kept beyond the window."""
    _, states, _ = run(made("dpfn", "correlated", noise=SilentNoise()))
    for state in states[1:]:
        raw = state.secret.exposures[-len(state.history) :]
        for x, noisy in zip(raw, state.history, strict=True):
            assert noisy.values == pytest.approx(x, rel=1e-9, abs=1e-12)
        assert len(state.secret.exposures) <= 13
        assert len(state.history) <= 13


def test_secure_noise_runs_every_release():
    crowd = reference.crowd(np.random.default_rng(1), n_receivers=5, n_days=4)
    facts = crowd.facts(crowd.messages, PAPER)
    for kind, variant in ALL:
        scores = released(made(kind, variant, noise=SecureNoise()), facts).scores
        assert np.array_equal(scores * 1024, np.rint(scores * 1024))


# Traditional tracing.


def test_traditional_counts_positive_contacts():
    window = ContactWindow(n_people=4, n_days=14)
    window.push(DayContacts.from_pairs([0, 0, 2], [1, 1, 1], n_people=4))
    window.push(DayContacts.from_pairs([2, 0], [1, 3], n_people=4))
    outcomes = np.array([[1, -1, 0, -1], [-1, -1, -1, 1]], dtype=np.int8)
    facts = facts_of(window, outcomes, None, PAPER)
    exact = released(made("traditional", "exact"), facts)
    assert exact.scores.tolist() == [0, 2, 0, 1]
    assert isinstance(exact.event, UnprotectedEvent)
    private = made("traditional")
    noisy = released(private, facts)
    assert private.needs is Needs.NOTHING
    assert (noisy.scores >= 0).all()
    assert noisy.scores[0] == 0  # met nobody: nothing to protect, no noise
    assert noisy.event.lifetime.contact_factor == pytest.approx(math.sqrt(14))


# Settings.


@pytest.mark.parametrize("kind", ["dpfn", "dpfn-s", "per-message"])
@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"release": "thawed"}, "release"),
        ({"score": "guess"}, "score"),
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": 1.1}, "gamma"),
        ({"gamma": math.nan}, "gamma"),
    ],
)
def test_wrong_settings_are_named(kind, wrong, named):
    with pytest.raises(InputError, match=named):
        made(kind, **wrong)


def test_wrong_reference_and_missing_messages_are_named():
    with pytest.raises(InputError, match="mu_ref"):
        made("dpfn-s", mu_ref=-0.1)
    with pytest.raises(InputError, match="rho"):
        made("dpfn-s", rho=-0.1)
    with pytest.raises(InputError, match="reference_message"):
        made("dpfn", reference_message=1.0)
    crowd = reference.crowd(np.random.default_rng(0), n_receivers=5)
    with pytest.raises(InputError, match="messages"):
        released(made("dpfn-s"), crowd.facts(None, PAPER))
    assert made("dpfn-s").needs is Needs.MESSAGES
    for kind in ("dpfn", "dpfn-s", "per-message", "traditional"):
        with pytest.raises(InputError, match="window of 14 days"):
            released(made(kind, window_days=13), crowd.facts(crowd.messages, PAPER))


def test_encounters_are_checked():
    with pytest.raises(InputError, match="own tests"):
        Encounter(own_tests=(-1,), met_on=(0,))
    with pytest.raises(InputError, match="attackers"):
        Encounter(own_tests=(-1,) * 14, met_on=(0,), attackers=0)


def test_copies_of_an_encounter_share_nothing():
    encounter = Encounter(
        own_tests=OwnTests.NONE.outcomes(14), met_on=(3, 11), others=1, attackers=2
    )
    for kind, variant in SOUND:
        play = AdversaryGame(
            encounter, lambda s, k=kind, v=variant: made(k, v, noise=FastNoise(seed=s))
        )
        scores = play(1, 4000)
        assert scores.shape == (4000, 2)
        assert abs(np.corrcoef(scores[:-1, 0], scores[1:, 0])[0, 1]) < 5 / math.sqrt(4000)


@pytest.mark.parametrize("window", [1, 14, 43, 60])
@pytest.mark.parametrize("unit", list(Unit))
def test_what_was_calibrated_is_what_the_ledger_says(unit, window):
    """A pair's releases are all counted, however long the window is."""
    lifetime = renewed_lifetime(window=window, score=Score.EXPOSED_OR_INFECTED, joint=True)
    lifetime = dataclasses.replace(lifetime, person=(1.0,) * window)
    target = Target(epsilon=1.0, unit=unit)
    ledger = Ledger()
    for day in range(150):
        ledger.record(
            GaussianEvent(
                day=day, mechanism="x", mu=1.0 / target.multiplier(lifetime), lifetime=lifetime
            )
        )
    assert ledger.epsilon(unit, 1e-3) <= 1.0 + 1e-6
