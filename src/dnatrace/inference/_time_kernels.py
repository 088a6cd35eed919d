"""Compiled array functions over days of infection: own tests, what is carried over, posteriors.

The days of infection of a person, in order: OLD days before the window, the days of the window, and
then two more places: never (susceptible at the end of the window) and removed (infected before all
distinguished days, immune since). Arrays over them are [places] or [people, places]. Everybody is
computed by one thread from inputs that no thread writes.
"""

from typing import Any

import numpy as np
from numba import njit, prange


@njit(cache=True)
def _likelihood_of_age(first_test: Any, tests: Any, infected_on: Any, found: Any, lik: Any) -> Any:
    """Return P(tests | infected on a day), summed over the unknown day of recovery.

    `tests`, int8 [days], has the tests of days first_test, first_test + 1, …. Recovery lies between
    two tests or after the last; tests before infection and after recovery find nothing.
    """
    recovered = 0.0  # weight of being recovered by now
    ill = 1.0  # weight of not being recovered by now
    share = 1.0  # P(not recovered) at the previous test
    for t in range(tests.size):
        if tests[t] < 0:
            continue
        age = first_test + t - infected_on
        nothing = lik[tests[t], 0]
        if age < 0:
            ill *= nothing
            continue
        now = found[min(age, found.size - 1)]
        leaves = ill * (1.0 - now / share) if share > 0.0 else ill
        recovered = (recovered + leaves) * nothing
        ill = (ill - leaves) * lik[tests[t], 1]
        share = now
    return recovered + ill


@njit(cache=True, parallel=True)
def own_likelihoods(outcomes: Any, old: int, found: Any, lik: Any, out: Any) -> None:
    """Fill out [people, old + days + 2] with P(own tests of the window | day of infection).

    `outcomes` is int8 [days, people], `found` P(not recovered) by age, `lik` as in `course.Tables`.
    People infected before the window may have recovered before it; that is accounted for, too.
    Cost: O(places × tests) per person who has tests, O(places) for the others.
    """
    n_days, n_people = outcomes.shape
    for i in prange(n_people):
        tests = outcomes[:, i].copy()
        any_test = False
        nothing = 1.0
        for t in range(n_days):
            if tests[t] >= 0:
                any_test = True
                nothing *= lik[tests[t], 0]
        if not any_test:
            out[i, :] = 1.0
            continue
        for x in range(old + n_days):
            out[i, x] = _likelihood_of_age(0, tests, x - old, found, lik)
        out[i, old + n_days] = nothing
        out[i, old + n_days + 1] = nothing


@njit(cache=True)
def time_weights(
    prior: Any, likelihood: Any, old: int, outside: Any, stays: Any, factors: Any, weights: Any
) -> Any:
    """Fill weights [places] of one person and return their sum.

    Args:
        prior: what is carried over: days of infection [old], susceptible, removed.
        likelihood: the likelihood of own tests, [places].
        old: the number of days before the window.
        outside: P(infected from outside), float64 [days].
        stays: P(no contact of the day infects), float64 [days].
        factors: further evidence by day of infection, [old + days].
        weights: the result.
    """
    n_days = stays.size
    total = 0.0
    for x in range(old):
        weights[x] = prior[x] * factors[x] * likelihood[x]
        total += weights[x]
    free = prior[old]
    for t in range(n_days):
        stay = (1.0 - outside[t]) * stays[t]
        x = old + t
        weights[x] = free * (1.0 - stay) * factors[x] * likelihood[x]
        free *= stay
        total += weights[x]
    never, removed = old + n_days, old + n_days + 1
    weights[never] = free * likelihood[never]
    weights[removed] = prior[old + 1] * likelihood[removed]
    return total + weights[never] + weights[removed]


@njit(cache=True, parallel=True)
def own_messages(
    prior: Any, likelihood: Any, old: int, outside: Any, infectiousness: Any, messages: Any
) -> None:
    """Fill messages [days, people] with the expected infectiousness of everybody on every day.

    It is given own tests and what is carried over alone: Σ P(infected on x)·infectiousness(day -
    x).
    Cost: O(days × reach) per person.
    """
    n_days, n_people = messages.shape
    for i in prange(n_people):
        weights = np.empty(old + n_days + 2)
        stays, factors = np.ones(n_days), np.ones(old + n_days)
        total = time_weights(prior[i], likelihood[i], old, outside, stays, factors, weights)
        for t in range(n_days):
            messages[t, i] = _infectiousness_on(weights, old + t, infectiousness) / total


@njit(cache=True, parallel=True)
def marginal_messages(posterior: Any, old: int, infectiousness: Any, messages: Any) -> None:
    """Fill messages [days, people] with the same given everything heard, which causes echo."""
    n_days, n_people = messages.shape
    for i in prange(n_people):
        for t in range(n_days):
            messages[t, i] = _infectiousness_on(posterior[i], old + t, infectiousness)


@njit(cache=True)
def _infectiousness_on(weights: Any, place: Any, infectiousness: Any) -> Any:
    """Return Σ weight(infected on x)·infectiousness(place - x)."""
    sent = 0.0
    for age in range(1, min(infectiousness.size - 1, place) + 1):
        sent += weights[place - age] * infectiousness[age]
    return sent


@njit(cache=True, parallel=True)
def posteriors(
    prior: Any, likelihood: Any, old: int, outside: Any, exposures: Any, factors: Any, out: Any
) -> None:
    """Fill out [people, places] with the posterior of the day of infection, given exposures.

    `exposures` is the hazard of the day's contacts, [days, people]; `factors` [people] multiply it.
    """
    n_days, n_people = exposures.shape
    for i in prange(n_people):
        stays = np.exp(-factors[i] * exposures[:, i])
        ones = np.ones(old + n_days)
        total = time_weights(prior[i], likelihood[i], old, outside, stays, ones, out[i])
        out[i] /= total


@njit(cache=True, parallel=True)
def carry_over(
    prior: Any, tests: Any, stay: Any, old: int, p0: Any, found: Any, lik: Any, out: Any
) -> None:
    """Fill out [people, old + 2] with what is known when the first day leaves the window.

    It uses what leaves with that day: its tests, int8 [people], the probability `stay` [people]
    that none of its contacts infected, and p0, the probability of an infection from outside.
    Nothing that stays in the window is used, so that nothing counts twice.
    """
    n_people = tests.size
    for i in prange(n_people):
        before, after = prior[i], out[i]
        free = before[old]
        stays = (1.0 - p0) * stay[i]
        removed = before[old + 1] + before[0]
        for x in range(old - 1):
            after[x] = before[x + 1]
        after[old - 1] = free * (1.0 - stays)
        free *= stays
        if tests[i] >= 0:
            nothing, something = lik[tests[i], 0], lik[tests[i], 1]
            removed *= nothing
            free *= nothing
            for x in range(old):
                share = found[min(old - 1 - x, found.size - 1)]
                after[x] *= share * something + (1.0 - share) * nothing
        total = removed + free
        for x in range(old):
            total += after[x]
        for x in range(old):
            after[x] /= total
        after[old] = free / total
        after[old + 1] = removed / total
