"""`dpfn`, `correlated`: what one score costs; who is forgotten is in no later sum."""

from dataclasses import replace

import numpy as np
import pytest

from dnatrace.methods.dpfn import Correlated
from dnatrace.privacy.accounting import GaussianEvent, Ledger, Lifetime, Unit
from dnatrace.privacy.gaussian import epsilon_of_mu
from dnatrace.privacy.noise import FastNoise
from dnatrace.records import ContactWindow, DayContacts

from .private_methods import RecordingNoise, facts_of, made
from .reference_privacy import SilentNoise, parameters


def scores_of_correlated(noise, said, own, copies):
    """Return scores [days, copies] of people who met one other on the first day, and the ledger."""
    n_days, n = len(own), copies
    window = ContactWindow(n_people=2 * n, n_days=14)
    outcomes = np.full((n_days, 2 * n), -1, dtype=np.int8)
    outcomes[:, :n] = np.array(own)[:, None]
    messages = np.zeros((n_days, 2 * n), dtype=np.float32)
    messages[:, n:] = said
    method = made("dpfn", "correlated", noise=noise)
    state, seen, ledger = method.start(2 * n), [], Ledger()
    met = DayContacts.from_pairs(np.arange(n) + n, np.arange(n), n_people=2 * n)
    for day in range(n_days):
        window.push(met if day == 0 else DayContacts.empty(2 * n))
        known = slice(0, day + 1)
        facts = facts_of(window, outcomes[known], messages[known], parameters(0.05))
        released, state = method.release(*facts, state)
        seen.append(released.scores[:n])
        ledger.record(released.event)
    return np.stack(seen), ledger


def test_one_score_of_correlated_sums_costs_more_than_a_release():
    """The score is a linear form of sums with Gaussian noise, so its shift over its spread is μ.

    Own tests weigh days as hardly anybody's do; 40,000 draws know the spread to 0.35 %, and four of
    these are allowed for.
    """
    own = (-1, 1, 1, -1, -1, -1, -1, 1, -1, -1, -1, -1, 1, -1)
    drawn, ledger = scores_of_correlated(FastNoise(seed=1), 0.0, own, 40_000)
    healthy, _ = scores_of_correlated(SilentNoise(), 0.0, own, 1)
    ill, _ = scores_of_correlated(SilentNoise(), 1.0, own, 1)
    mu = abs(ill[-1, 0] - healthy[-1, 0]) / drawn[-1].std()
    measured = epsilon_of_mu(float(mu) * (1 - 4 * 0.0035), 1e-3)
    assert ledger.epsilon(Unit.RELEASE, 1e-3) < measured < ledger.score_epsilon(1e-3)
    assert ledger.score_epsilon(1e-3) <= ledger.epsilon(Unit.CONTACT, 1e-3) * (1 + 1e-9)


@pytest.mark.parametrize("reads", [1, 2, 3, 5])
def test_a_score_costs_what_the_releases_it_reads_tell_of_one_contact(reads):
    """Against a sum over contact days, written out."""
    shares = (0.0, 1.0, 0.5, 0.25)
    life = Lifetime(shares=shares, joint=True)
    event = GaussianEvent(day=0, mechanism="m", mu=0.7, lifetime=life, reads=reads)
    ledger = Ledger([replace(event, day=day) for day in range(20)])
    worst = max(
        sum((0.7 * share) ** 2 for share in shares[first : first + reads])
        for first in range(len(shares))
    )
    assert ledger.score_epsilon(1e-3) == pytest.approx(epsilon_of_mu(worst**0.5, 1e-3))


def days_of_meetings(forgotten):
    """Return windows of sixteen days, one per day; one person is forgotten after the tenth."""
    n, rng = 8, np.random.default_rng(3)
    window = ContactWindow(n_people=n, n_days=14)
    for day in range(16):
        pairs = np.array([(a, b) for a in range(n) for b in range(n) if a != b])
        senders, receivers = pairs[rng.random(len(pairs)) < 0.6].T
        window.push(DayContacts.from_pairs(senders, receivers, n_people=n))
        if day >= 9 and forgotten is not None:
            window.forget(forgotten)
        yield day, window


def sums_of(forgotten, silent=None):
    """Return what `correlated` noises on every day."""
    noise = RecordingNoise()
    method, state = made("dpfn", "correlated", noise=noise, gamma=1.0), None
    assert isinstance(method, Correlated)
    rng = np.random.default_rng(4)
    messages = rng.random((16, 8), dtype=np.float32)
    if silent is not None:
        messages[:, silent] = 0.0
    state = method.start(8)
    for _, window in days_of_meetings(forgotten):
        said = messages[window.first_day : window.first_day + len(window)]
        outcomes = np.full(said.shape, -1, dtype=np.int8)
        _, state = method.release(*facts_of(window, outcomes, said, parameters(0.05)), state)
    return noise.values


def test_who_is_forgotten_is_in_no_later_sum_of_correlated():
    """Their messages, silent or not, are in no sum from the day on which they are forgotten."""
    others = np.arange(8) != 5
    loud, silent, kept = (
        np.concatenate(sums)[:, others]
        for sums in (sums_of(5), sums_of(5, silent=5), sums_of(None))
    )
    assert not np.array_equal(loud[:8], silent[:8])
    assert np.array_equal(loud[-6:], silent[-6:])
    assert not np.array_equal(loud[-6:], kept[-6:])
