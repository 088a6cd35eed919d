"""Compiled array functions of the disease: infection over contacts, and the course in a person.

Every draw is addressed by a counter, and every output element is written by one iteration that
reads in a fixed order, so that results do not depend on the number of threads. Indices in inner
loops are unsigned: numba then omits the test for negative ones.
"""
# mypy: disallow-untyped-decorators=False

from typing import Any

import numpy as np
from numba import njit, prange

from dnatrace.rng import ONE, ZERO, uniform_at
from dnatrace.simulators.base import CourseState

# Plain integers: compiled code reads these faster than enum members.
_UNINFECTED = int(CourseState.UNINFECTED)
_PRESYMPTOMATIC = int(CourseState.PRESYMPTOMATIC)
_PRESYMPTOMATIC_MILD = int(CourseState.PRESYMPTOMATIC_MILD)
_ASYMPTOMATIC = int(CourseState.ASYMPTOMATIC)
_SYMPTOMATIC = int(CourseState.SYMPTOMATIC)
_SYMPTOMATIC_MILD = int(CourseState.SYMPTOMATIC_MILD)
_HOSPITALISED = int(CourseState.HOSPITALISED)
_CRITICAL = int(CourseState.CRITICAL)
_HOSPITALISED_RECOVERING = int(CourseState.HOSPITALISED_RECOVERING)
_RECOVERED = int(CourseState.RECOVERED)
_DEATH = int(CourseState.DEATH)

# Rows of the table of times between states.
TO_SYMPTOMS = 0
TO_HOSPITAL = 1
TO_CRITICAL = 2
TO_DEATH = 3
TO_RECOVERY = 4
ASYMPTOMATIC_TO_RECOVERY = 5
HOSPITAL_TO_RECOVERY = 6
CRITICAL_TO_SURVIVAL = 7

# Rows of the table of fractions by age group.
ASYMPTOMATIC_FRACTION = 0
MILD_FRACTION = 1
HOSPITALISED_FRACTION = 2
CRITICAL_FRACTION = 3
FATALITY_FRACTION = 4
INTENSIVE_CARE_FRACTION = 5

# Draw numbers of the course stream, addressed by (person, state entered, draw).
_DRAW_BRANCH = ZERO
_DRAW_TIME = ONE

NEVER = 2**31 - 1  # the day of the next change for people whose state is final


def emissions(day: int, states: Any, infected_on: Any, course_factors: Any, mass: Any) -> Any:
    """Return how much each person emits in one contact of this day: float64 [people].

    It is `course_factors`, float64 [states], times `mass`, float64 [days], the share of
    infectiousness that falls on each day since infection. Cost: one look-up per person, more for
    the infectious.
    """
    out = np.zeros(states.size)
    emitting = np.flatnonzero((course_factors > 0.0)[states])
    ages = day - infected_on[emitting]
    emitting, ages = emitting[ages < mass.size], ages[ages < mass.size]
    out[emitting] = course_factors[states[emitting]] * mass[ages]
    return out


@njit(cache=True, parallel=True)
def expose(
    offsets: Any, senders: Any, kinds: Any, emitted: Any, weights: Any, states: Any, exposure: Any
) -> None:
    """Add the day's emissions to the `exposure` float64 [people] of everyone uninfected.

    A contact counts `weights[kind]`; when `kinds` is empty, every contact counts 1. Cost: one pass
    over the contacts of uninfected people, parallel over receivers.
    """
    for p in prange(states.size):
        if states[p] != _UNINFECTED:
            continue
        total = 0.0
        begin, end = np.uint32(offsets[p]), np.uint32(offsets[p + 1])
        if kinds.size:
            for k in range(begin, end):
                total += weights[kinds[k]] * emitted[np.uint32(senders[k])]
        else:
            for k in range(begin, end):
                total += emitted[np.uint32(senders[k])]
        exposure[p] += total


@njit(cache=True)
def _days_until(key: Any, person: Any, state: Any, cumulative: Any) -> Any:
    """Draw a whole number of days ≥ 1 by inverting a cumulative distribution."""
    u = uniform_at(key, np.uint64(person), np.uint64(state), _DRAW_TIME)
    days = 1
    while days < cumulative.size and u >= cumulative[days - 1]:
        days += 1
    return days


@njit(cache=True)
def _first_state(key: Any, person: Any, fractions: Any) -> Any:
    u = uniform_at(key, np.uint64(person), np.uint64(_UNINFECTED), _DRAW_BRANCH)
    if u < fractions[ASYMPTOMATIC_FRACTION]:
        return _ASYMPTOMATIC
    if u < fractions[ASYMPTOMATIC_FRACTION] + fractions[MILD_FRACTION]:
        return _PRESYMPTOMATIC_MILD
    return _PRESYMPTOMATIC


@njit(cache=True)
def _what_follows(state: Any, u: Any, fractions: Any) -> Any:
    """Return the state after `state` and the row of the time until then; u decides at forks."""
    if state in (_PRESYMPTOMATIC, _PRESYMPTOMATIC_MILD):
        return (_SYMPTOMATIC if state == _PRESYMPTOMATIC else _SYMPTOMATIC_MILD), TO_SYMPTOMS
    if state == _ASYMPTOMATIC:
        return _RECOVERED, ASYMPTOMATIC_TO_RECOVERY
    if state == _SYMPTOMATIC and u < fractions[HOSPITALISED_FRACTION]:
        return _HOSPITALISED, TO_HOSPITAL
    if state in (_SYMPTOMATIC, _SYMPTOMATIC_MILD):
        return _RECOVERED, TO_RECOVERY
    if state == _HOSPITALISED and u < fractions[CRITICAL_FRACTION]:
        # Without a place in intensive care the patient dies at the time it would have begun.
        treated = u < fractions[CRITICAL_FRACTION] * fractions[INTENSIVE_CARE_FRACTION]
        return (_CRITICAL if treated else _DEATH), TO_CRITICAL
    if state == _CRITICAL and u < fractions[FATALITY_FRACTION]:
        return _DEATH, TO_DEATH
    if state == _CRITICAL:
        return _HOSPITALISED_RECOVERING, CRITICAL_TO_SURVIVAL
    return _RECOVERED, HOSPITAL_TO_RECOVERY


def move_on(
    key: Any,
    day: int,
    exposure: Any,
    tolerance: Any,
    age_groups: Any,
    fractions: Any,
    times: Any,
    states: Any,
    next_states: Any,
    change_days: Any,
    infected_on: Any,
) -> None:
    """Infect everybody whose exposure exceeds their tolerance, and change the states due today.

    What happens to a person depends on (person, state) alone and not on the day: a person has the
    same course whenever they are infected. The last four arrays change in place.

    Cost: two comparisons per person; draws only for those who change.
    """
    due = (change_days == day) & (states != _UNINFECTED)
    due |= (exposure > tolerance) & (states == _UNINFECTED)
    _change(
        key,
        day,
        np.flatnonzero(due),
        age_groups,
        fractions,
        times,
        states,
        next_states,
        change_days,
        infected_on,
    )


@njit(cache=True)
def _change(
    key: Any,
    day: Any,
    due: Any,
    age_groups: Any,
    fractions: Any,
    times: Any,
    states: Any,
    next_states: Any,
    change_days: Any,
    infected_on: Any,
) -> None:
    """Change the states of the people who are due."""
    for p in due:
        by_age = fractions[:, age_groups[p]]
        if states[p] == _UNINFECTED:
            states[p] = _first_state(key, p, by_age)
            infected_on[p] = day
        else:
            states[p] = next_states[p]
        if states[p] in (_RECOVERED, _DEATH):
            change_days[p] = NEVER
            continue
        u = uniform_at(key, np.uint64(p), np.uint64(states[p]), _DRAW_BRANCH)
        following, row = _what_follows(states[p], u, by_age)
        next_states[p] = following
        change_days[p] = day + _days_until(key, p, states[p], times[row])
