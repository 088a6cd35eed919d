"""Compiled array functions of belief propagation: everybody hears, everybody sends.

What messages are and say is in `_message_kernels`; who met whom in `_pair_kernels`. Arrays are
taken out of their tuples before a loop: inside, each access would count references.
"""

from typing import Any

import numpy as np
from numba import njit, prange

from dnatrace.inference._message_kernels import factor, send_often, send_once, workspace
from dnatrace.inference._pair_kernels import CHUNK, NONE
from dnatrace.inference.course import REACH

_LEAST_EVIDENCE = 1e-13  # of b: below, the factors are 1 to rounding
_ROOM = 256  # factors between 1/2 and 3/2 that a product holds safely before it is rescaled
_MUCH = 16  # of them that one other factor stands for


@njit(cache=True)
def _multiply_once(both: Any, place: Any, transmissions: Any, group: Any, b: Any) -> None:
    for k in range(REACH):
        both[np.uint64(place) + np.uint64(k)] *= 1.0 + transmissions[group, k] * b


@njit(cache=True)
def _multiply_vector(first: Any, through: Any, i: Any, old: Any, vectors: Any, slot: Any) -> None:
    n_days = through.shape[1]
    row, place = np.uint64(slot), np.uint64(old - REACH)
    for k in range(REACH + n_days):
        first[i, place + np.uint64(k)] *= 1.0 + np.float64(vectors[row, k])
    for t in range(n_days):
        at = np.uint64(REACH + t)
        drop = np.float64(vectors[row, at + np.uint64(n_days)])
        through[i, t] *= 1.0 + np.float64(vectors[row, at]) - drop


@njit(cache=True)
def _fold(old: Any, first: Any, through: Any, i: Any, both: Any) -> None:
    """Move the factors that hold for both terms into them."""
    for x in range(first.shape[1]):
        first[i, x] *= both[x]
    for t in range(through.shape[1]):
        through[i, t] *= both[old + t]
    both[:] = 1.0


@njit(cache=True)
def _rescale(first: Any, through: Any, ends: Any) -> None:
    """Divide all factors by the largest, so that no product leaves the range of float64."""
    largest = max(ends[0], ends[1], first.max(), through.max())
    first /= largest
    through /= largest
    ends /= largest


@njit(cache=True)
def _gather(
    pairs: Any, inbox: Any, model: Any, begin: Any, end: Any, old: Any, heard: Any, stay: Any
) -> None:
    """Multiply all messages to people from `begin` on into their rows of `heard`, before the prior.

    stay [chunk, days] gets P(no pair that met once infects) of each.
    Cost: O(reach) per pair that met once, O(reach + days) per other pair.
    """
    offsets, others, _, starts, days, slots = pairs
    q, b, vectors = inbox
    transmissions, groups, most = model.transmissions, model.groups, model.most_transmission
    first, through, ends, _, _ = heard
    both = np.ones(first.shape[1])
    never = vectors.shape[1] - 1
    first[begin:end], through[begin:end], ends[begin:end], stay[:] = 1.0, 1.0, 1.0, 1.0
    for i in range(begin, end):
        used = 0
        for e in range(offsets[i], offsets[i + 1]):
            slot = slots[e]
            if slot == NONE:
                d = days[starts[e]] - model.first
                says = np.float64(b[e])
                stay[i - begin, d] *= 1.0 - np.float64(q[e])
                if abs(says) > _LEAST_EVIDENCE:
                    _multiply_once(both, old + d - REACH, transmissions, groups[others[e]], says)
                used += 1 if abs(says) * most <= 0.5 else _MUCH
            else:
                _multiply_vector(first, through, i, old, vectors, slot)
                ends[i, 0] *= 1.0 + np.float64(vectors[slot, never])
                used += _MUCH
            if used >= _ROOM:
                _fold(old, first, through, i, both)
                _rescale(first[i], through[i], ends[i])
                used = 0
        _fold(old, first, through, i, both)


@njit(cache=True)
def _finish(model: Any, begin: Any, end: Any, old: Any, heard: Any, stay: Any) -> None:
    """Multiply the prior, the chance of no infection so far and own tests; add up infections."""
    prior, likelihood, outside = model.prior, model.likelihood, model.outside
    first, through, ends, infected, sums = heard
    n_days = through.shape[1]
    for i in range(begin, end):
        for x in range(old):
            first[i, x] *= prior[i, x] * likelihood[i, x]
            infected[i, x] = first[i, x]
        free = prior[i, old]
        for t in range(n_days):
            x = old + t
            first[i, x] *= free * likelihood[i, x]
            free *= (1.0 - outside[t]) * stay[i - begin, t]
            through[i, t] *= free * likelihood[i, x]
            infected[i, x] = max(first[i, x] - through[i, t], 0.0)
        ends[i, 0] *= free * likelihood[i, old + n_days]
        ends[i, 1] *= prior[i, old + 1] * likelihood[i, old + n_days + 1]
        sums[i, 0] = 0.0
        for x in range(old + n_days):
            sums[i, x + 1] = sums[i, x] + infected[i, x]


@njit(cache=True, parallel=True)
def gather_all(pairs: Any, inbox: Any, model: Any, old: Any, heard: Any) -> None:
    """Fill heard, a `Heard`, with what everybody's messages, prior and own tests come to."""
    n_people = pairs.offsets.size - 1
    for chunk in prange((n_people + CHUNK - 1) // CHUNK):
        begin, end = chunk * CHUNK, min((chunk + 1) * CHUNK, n_people)
        stay = np.empty((CHUNK, model.n_days))
        _gather(pairs, inbox, model, begin, end, old, heard, stay)
        _finish(model, begin, end, old, heard, stay)


@njit(cache=True, parallel=True)
def wake(model: Any, heard: Any, awake: Any, speaks: Any) -> None:
    """Say who speaks in a round, bool [people]: who has news, is not quiet, or was awake before.

    Who spoke in a round before speaks again. `awake` is brought up to date.
    """
    for i in prange(awake.size):
        sums, ends = heard.sums[i], heard.ends[i]
        everything = sums[sums.size - 1]
        recent = everything - sums[sums.size - 1 - REACH]
        wakes = model.news[i] or recent >= model.quiet * (everything + ends[0] + ends[1])
        speaks[i] = speaks[i] or wakes or awake[i]
        awake[i] = wakes


@njit(cache=True, parallel=True)
def send_all(
    pairs: Any, fresh: Any, inbox: Any, model: Any, damping: Any, speaks: Any, heard: Any
) -> Any:
    """Write what those who speak tell everybody, and what fresh pairs tell each other, to `inbox`.

    Returns the largest change. Messages are damped: (1 - damping)·computed + damping·before.
    Everybody's thread writes what they tell; if both of a pair tell, one thread computes both
    messages before it writes one: the bits do not depend on threads.
    Cost: O(reach + days) per contact and per pair, of those who speak.
    """
    n_people = pairs.offsets.size - 1
    n_chunks = (n_people + CHUNK - 1) // CHUNK
    changes = np.zeros(n_chunks)
    for chunk in prange(n_chunks):
        people = chunk * CHUNK, min((chunk + 1) * CHUNK, n_people)
        change = _settle_once(pairs, fresh, speaks, inbox, model, people, damping, heard)
        often = _settle_often(pairs, fresh, speaks, inbox, model, people, damping, heard)
        changes[chunk] = max(change, often)
    return changes.max() if n_chunks else 0.0


@njit(cache=True)
def _is_of(i: Any, other: Any) -> Any:
    """Say whether a pair in which both tell is that of i: of the larger if the sum is even."""
    return (i < other) == ((i + other) % 2 == 1)


@njit(cache=True)
def _settle_once(
    pairs: Any,
    fresh: Any,
    speaks: Any,
    inbox: Any,
    model: Any,
    people: Any,
    damping: Any,
    heard: Any,
) -> Any:
    """Write what some people tell those they met once; if they tell, too, in half of the pairs.

    Returns the largest change.
    """
    offsets, others, reverse, starts, days, slots = pairs
    q, b, _ = inbox
    passes, groups, begin = model.transmissions, model.groups, model.first
    first, through, ends, infected, sums = heard
    change = 0.0
    for i in range(people[0], people[1]):
        speaking, mine = speaks[i], groups[i]
        for e in range(offsets[i], offsets[i + 1]):
            if not (speaking or fresh[e]) or slots[e] != NONE:
                continue  # what i is told, if anything, is written by the thread of the other
            other, r = others[e], reverse[e]
            hears = speaks[other] or fresh[e]
            if hears and not _is_of(i, other):
                continue
            d, to = days[starts[e]] - begin, groups[other]
            came_q, came_b = np.float64(q[e]), np.float64(b[e])
            if hears:
                my_q, my_b = np.float64(q[r]), np.float64(b[r])
                message = send_once(
                    d, other, mine, my_q, my_b, passes, first, through, ends, infected, sums
                )
                change = max(change, _write_once(q, b, e, message, damping))
            message = send_once(
                d, i, to, came_q, came_b, passes, first, through, ends, infected, sums
            )
            change = max(change, _write_once(q, b, r, message, damping))
    return change


@njit(cache=True)
def _settle_often(
    pairs: Any,
    fresh: Any,
    speaks: Any,
    inbox: Any,
    model: Any,
    people: Any,
    damping: Any,
    heard: Any,
) -> Any:
    """Write what some people tell those they met more than once; else as `_settle_once`."""
    offsets, others, reverse, _, _, slots = pairs
    vectors = inbox.vectors
    space = workspace(model.n_days)
    messages = np.empty((2, vectors.shape[1]))
    change = 0.0
    for i in range(people[0], people[1]):
        speaking = speaks[i]
        for e in range(offsets[i], offsets[i + 1]):
            if not (speaking or fresh[e]) or slots[e] == NONE:
                continue
            other, r = others[e], reverse[e]
            hears = speaks[other] or fresh[e]
            if hears and not _is_of(i, other):
                continue
            send_often(pairs, e, r, i, other, model, heard, space, vectors, messages, 0)
            if hears:
                send_often(pairs, r, e, other, i, model, heard, space, vectors, messages, 1)
                change = max(change, _write_often(vectors, slots[e], messages, 1, damping))
            change = max(change, _write_often(vectors, slots[r], messages, 0, damping))
    return change


@njit(cache=True)
def _write_once(q: Any, b: Any, e: Any, message: Any, damping: Any) -> Any:
    """Write a damped message of two numbers; return the change of the first."""
    was = np.float64(q[e])
    now = message[0] + damping * (was - message[0])
    q[e] = now
    b[e] = message[1] + damping * (np.float64(b[e]) - message[1])
    return abs(now - was)


@njit(cache=True)
def _write_often(vectors: Any, slot: Any, messages: Any, which: Any, damping: Any) -> Any:
    """Write a damped vector; return the change of the probability of infection."""
    row, last = np.uint64(slot), vectors.shape[1] - 1
    was = np.float64(vectors[row, last])
    for k in range(vectors.shape[1]):
        message = messages[which, k]
        vectors[row, k] = message + damping * (np.float64(vectors[row, k]) - message)
    return abs(np.float64(vectors[row, last]) - was)


@njit(cache=True, parallel=True)
def conclude(pairs: Any, inbox: Any, model: Any, heard: Any, out: Any, stays: Any) -> None:
    """Fill out [people, places] with posteriors and stays [people] with what `Carried` needs.

    `heard` is what the messages come to. Cost: O(places) per person, O(1) per pair.
    """
    n_people = len(out)
    for chunk in prange((n_people + CHUNK - 1) // CHUNK):
        begin, end = chunk * CHUNK, min((chunk + 1) * CHUNK, n_people)
        _normalise(heard, begin, end, out)
        _stay_of_first_day(pairs, inbox, model, begin, end, stays)


@njit(cache=True)
def _normalise(heard: Any, begin: Any, end: Any, out: Any) -> None:
    """Fill the posteriors of people from `begin` on."""
    _, _, ends, infected, sums = heard
    n = infected.shape[1]
    for i in range(begin, end):
        total = sums[i, n] + ends[i, 0] + ends[i, 1]
        for x in range(n):
            out[i, x] = infected[i, x] / total
        out[i, n] = ends[i, 0] / total
        out[i, n + 1] = ends[i, 1] / total


@njit(cache=True)
def _stay_of_first_day(
    pairs: Any, inbox: Any, model: Any, begin: Any, end: Any, stays: Any
) -> None:
    """Fill P(no contact of the first day infects) of people from `begin` on."""
    offsets, _, _, starts, days, slots = pairs
    q, _, vectors = inbox
    for i in range(begin, end):
        stay = 1.0
        for e in range(offsets[i], offsets[i + 1]):
            start, slot = starts[e], slots[e]
            if start == starts[e + 1] or days[start] != model.first:
                continue
            if slot == NONE:
                stay *= 1.0 - np.float64(q[e])
            else:
                before = factor(vectors[slot, REACH])
                stay *= max(before - vectors[slot, REACH + model.n_days], 0.0) / before
        stays[i] = min(stay, 1.0)
