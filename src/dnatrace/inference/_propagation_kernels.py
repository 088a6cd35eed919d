"""Compiled array functions of belief propagation: everybody hears, everybody sends.

What messages are and say is in `_message_kernels`; who met whom in `_pair_kernels`. Arrays are
taken out of their tuples before a loop: inside, each access would count references.
"""

from typing import Any

import numpy as np
from numba import njit, prange

from dnatrace.inference._message_kernels import factor, send_often, send_once, workspace
from dnatrace.inference._pair_kernels import NONE
from dnatrace.inference.course import REACH

_LEAST_EVIDENCE = 1e-13  # of b: below, the factors are 1 to rounding
_ROOM = 256  # factors between 1/2 and 3/2 that a product holds safely before it is rescaled
_MUCH = 16  # of them that one other factor stands for
_CHUNK = 64  # people that one thread takes at a time


@njit(cache=True)
def _multiply_once(both: Any, place: Any, transmissions: Any, group: Any, b: Any) -> None:
    for k in range(REACH):
        both[np.uint64(place) + np.uint64(k)] *= 1.0 + transmissions[group, k] * b


@njit(cache=True)
def _multiply_vector(first: Any, through: Any, old: Any, vectors: Any, slot: Any) -> None:
    n_days = through.size
    row, place = np.uint64(slot), np.uint64(old - REACH)
    for k in range(REACH + n_days):
        first[place + np.uint64(k)] *= 1.0 + np.float64(vectors[row, k])
    for t in range(n_days):
        at = np.uint64(REACH + t)
        drop = np.float64(vectors[row, at + np.uint64(n_days)])
        through[t] *= 1.0 + np.float64(vectors[row, at]) - drop


@njit(cache=True)
def _fold(old: Any, first: Any, through: Any, both: Any) -> None:
    """Move the factors that hold for both terms into them."""
    for x in range(first.size):
        first[x] *= both[x]
    for t in range(through.size):
        through[t] *= both[old + t]
    both[:] = 1.0


@njit(cache=True)
def _rescale(first: Any, through: Any, ends: Any) -> None:
    """Divide all factors by the largest, so that no product leaves the range of float64."""
    largest = max(ends[0], ends[1], first.max(), through.max())
    first /= largest
    through /= largest
    ends /= largest


@njit(cache=True)
def gather(pairs: Any, inbox: Any, model: Any, i: Any, old: Any, heard: Any, space: Any) -> None:
    """Multiply all messages to person i into row i of `heard`, the prior and own tests included.

    Cost: O(reach) per pair that met once, O(reach + days) per other pair.
    """
    offsets, others, _, starts, days, slots = pairs
    q, b, vectors = inbox
    transmissions, groups, most = model.transmissions, model.groups, model.most_transmission
    first, through, ends = heard.first[i], heard.through[i], heard.ends[i]
    stay, both = space
    first[:], through[:], ends[:], stay[:], both[:] = 1.0, 1.0, 1.0, 1.0, 1.0
    never = vectors.shape[1] - 1
    used = 0
    for e in range(offsets[i], offsets[i + 1]):
        slot = slots[e]
        if slot == NONE:
            d = days[starts[e]] - model.first
            says = np.float64(b[e])
            stay[d] *= 1.0 - np.float64(q[e])
            if abs(says) > _LEAST_EVIDENCE:
                _multiply_once(both, old + d - REACH, transmissions, groups[others[e]], says)
            used += 1 if abs(says) * most <= 0.5 else _MUCH
        else:
            _multiply_vector(first, through, old, vectors, slot)
            ends[0] *= 1.0 + np.float64(vectors[slot, never])
            used += _MUCH
        if used >= _ROOM:
            _fold(old, first, through, both)
            _rescale(first, through, ends)
            used = 0
    _fold(old, first, through, both)
    _finish(model, i, old, heard, stay)


@njit(cache=True)
def _finish(model: Any, i: Any, old: Any, heard: Any, stay: Any) -> None:
    """Multiply the prior, the chance of no infection so far and own tests; add up infections."""
    prior, likelihood, outside = model.prior[i], model.likelihood[i], model.outside
    first, through, ends = heard.first[i], heard.through[i], heard.ends[i]
    infected, sums = heard.infected[i], heard.sums[i]
    n_days = through.size
    for x in range(old):
        first[x] *= prior[x] * likelihood[x]
        infected[x] = first[x]
    free = prior[old]
    for t in range(n_days):
        first[old + t] *= free * likelihood[old + t]
        free *= (1.0 - outside[t]) * stay[t]
        through[t] *= free * likelihood[old + t]
        infected[old + t] = max(first[old + t] - through[t], 0.0)
    ends[0] *= free * likelihood[old + n_days]
    ends[1] *= prior[old + 1] * likelihood[old + n_days + 1]
    sums[0] = 0.0
    for x in range(infected.size):
        sums[x + 1] = sums[x] + infected[x]


@njit(cache=True, parallel=True)
def gather_all(pairs: Any, inbox: Any, model: Any, old: Any, heard: Any) -> None:
    """Fill heard, a `Heard`, with what everybody's messages come to."""
    n_people = pairs.offsets.size - 1
    for chunk in prange((n_people + _CHUNK - 1) // _CHUNK):
        space = np.empty(model.n_days), np.empty(old + model.n_days)
        for i in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, n_people)):
            gather(pairs, inbox, model, i, old, heard, space)


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
    pairs: Any, fresh: Any, inbox: Any, model: Any, old: Any, damping: Any, speaks: Any, heard: Any
) -> Any:
    """Write what those who speak tell everybody, and what fresh pairs tell each other, to `inbox`.

    Returns the largest change. Messages are damped: (1 - damping)·computed + damping·before.
    Both messages of a pair are computed before one is written, by the thread of one of the two: the
    bits do not depend on threads.
    Cost: O(reach) per contact, O(reach + days) per pair, of those who speak.
    """
    n_people = pairs.offsets.size - 1
    n_chunks = (n_people + _CHUNK - 1) // _CHUNK
    changes = np.zeros(n_chunks)
    for chunk in prange(n_chunks):
        space = workspace(model.n_days)
        messages = np.empty((2, inbox.vectors.shape[1]))
        for i in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, n_people)):
            news = fresh, speaks
            change = _settle_pairs(
                pairs, news, inbox, model, i, old, damping, heard, space, messages
            )
            changes[chunk] = max(changes[chunk], change)
    return changes.max() if n_chunks else 0.0


@njit(cache=True)
def _settle_pairs(
    pairs: Any,
    news: Any,
    inbox: Any,
    model: Any,
    i: Any,
    old: Any,
    damping: Any,
    heard: Any,
    space: Any,
    messages: Any,
) -> Any:
    """Exchange the messages of person i's pairs, of every other one of them; return the change.

    A pair with an even sum of ids is that of the larger one, others are that of the smaller one.
    """
    offsets, others, reverse, starts, days, slots = pairs
    fresh, speaks = news
    q, b, vectors = inbox
    change = 0.0
    for e in range(offsets[i], offsets[i + 1]):
        other, r = others[e], reverse[e]
        tells, hears = speaks[i] or fresh[e], speaks[other] or fresh[e]
        mine = (i < other) == ((i + other) % 2 == 1)
        if not mine or not (tells or hears):
            continue
        if slots[e] == NONE:
            d = days[starts[e]] - model.first
            came = q[e], b[e]
            if hears:
                message = send_once(d, other, i, q[r], b[r], old, model, heard)
                change = max(change, _write_once(inbox, e, message, damping))
            if tells:
                message = send_once(d, i, other, came[0], came[1], old, model, heard)
                change = max(change, _write_once(inbox, r, message, damping))
            continue
        if tells:
            send_often(pairs, e, r, i, other, old, model, heard, space, vectors, messages, 0)
        if hears:
            send_often(pairs, r, e, other, i, old, model, heard, space, vectors, messages, 1)
        if tells:
            change = max(change, _write_often(vectors, slots[r], messages, 0, damping))
        if hears:
            change = max(change, _write_often(vectors, slots[e], messages, 1, damping))
    return change


@njit(cache=True)
def _write_once(inbox: Any, e: Any, message: Any, damping: Any) -> Any:
    """Write a damped message of two numbers; return the change of the first."""
    was = np.float64(inbox.q[e])
    q = message[0] + damping * (was - message[0])
    inbox.q[e] = q
    inbox.b[e] = message[1] + damping * (np.float64(inbox.b[e]) - message[1])
    return abs(q - was)


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
    for i in prange(len(out)):
        infected, sums, ends = heard.infected[i], heard.sums[i], heard.ends[i]
        n = infected.size
        total = sums[n] + ends[0] + ends[1]
        for x in range(n):
            out[i, x] = infected[x] / total
        out[i, n] = ends[0] / total
        out[i, n + 1] = ends[1] / total
        stays[i] = _stay_of_first_day(pairs, inbox, model, i)


@njit(cache=True)
def _stay_of_first_day(pairs: Any, inbox: Any, model: Any, i: Any) -> Any:
    """Return P(no contact of the first day infects i)."""
    offsets, _, _, starts, days, slots = pairs
    q, _, vectors = inbox
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
    return min(stay, 1.0)
