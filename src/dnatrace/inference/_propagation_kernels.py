"""Compiled array functions of belief propagation: everybody hears, everybody sends.

What messages are and say is in `_message_kernels`; who met whom in `_pair_kernels`.
"""

from typing import Any

import numpy as np
from numba import njit, prange

from dnatrace.inference._message_kernels import factor, send_often, send_once, write
from dnatrace.inference._pair_kernels import NONE

_LEAST_EVIDENCE = 1e-13  # of b: below, the factors are 1 to rounding
_RESCALE_EVERY = 16  # entries
_CHUNK = 64  # people that one thread takes at a time


@njit(cache=True)
def _multiply(factors: Any, deviations: Any) -> None:
    for k in range(factors.size):
        factors[k] *= 1.0 + deviations[k]


@njit(cache=True)
def _rescale(weights: Any, before: Any, through: Any, ends: Any) -> None:
    """Divide all factors by the largest, so that no product leaves the range of float64."""
    largest = max(ends[0], ends[1], weights.max(), before.max(), through.max())
    weights /= largest
    before /= largest
    through /= largest
    ends /= largest


@njit(cache=True)
def gather(pairs: Any, inbox: Any, model: Any, i: Any, old: Any, work: Any) -> None:
    """Multiply all messages to person i into the weights of their days of infection.

    `work` is (weights [old], before [days], through [days], ends [2] of never and removed, stay):
    before and through are the two terms of an infection on a day of the window, own tests included.
    Cost: O(reach) per pair that met once, O(reach + days) per other pair.
    """
    weights, before, through, ends, stay, both = work
    n_days, reach = model.n_days, model.transmissions.shape[1]
    weights[:] = 1.0
    before[:] = 1.0
    through[:] = 1.0
    ends[:] = 1.0
    stay[:] = 1.0
    both[:] = 1.0
    first = pairs.offsets[i]
    for e in range(first, pairs.offsets[i + 1]):
        slot = pairs.slots[e]
        if slot == NONE:
            d = pairs.days[pairs.starts[e]] - model.first
            b = np.float64(inbox.b[e])
            stay[d] *= 1.0 - np.float64(inbox.q[e])
            if abs(b) > _LEAST_EVIDENCE:
                passes = model.transmissions[model.groups[pairs.others[e]]]
                recent = both[old + d - reach : old + d]
                for k in range(reach):
                    recent[k] *= 1.0 + passes[k] * b
        else:
            vector = inbox.vectors[slot]
            _multiply(both[old - reach : old], vector[:reach])
            _multiply(before, vector[reach : reach + n_days])
            drops = vector[reach + n_days : reach + 2 * n_days]
            for t in range(n_days):
                through[t] *= 1.0 + np.float64(vector[reach + t]) - drops[t]
            ends[0] *= 1.0 + vector[reach + 2 * n_days]
        if (e - first) % _RESCALE_EVERY == _RESCALE_EVERY - 1:
            _fold(old, weights, before, through, both)
            _rescale(weights, before, through, ends)
    _fold(old, weights, before, through, both)
    _finish(model, i, old, work)


@njit(cache=True)
def _fold(old: Any, weights: Any, before: Any, through: Any, both: Any) -> None:
    """Move the factors that hold for both terms into them."""
    weights *= both[:old]
    before *= both[old:]
    through *= both[old:]
    both[:] = 1.0


@njit(cache=True)
def _finish(model: Any, i: Any, old: Any, work: Any) -> None:
    """Multiply the prior, the chance of no infection so far and own tests into the factors."""
    weights, before, through, ends, stay, _ = work
    prior, likelihood = model.prior[i], model.likelihood[i]
    n_days = model.n_days
    for x in range(old):
        weights[x] *= prior[x] * likelihood[x]
    free = prior[old]
    for t in range(n_days):
        before[t] *= free * likelihood[old + t]
        free *= (1.0 - model.p0) * stay[t]
        through[t] *= free * likelihood[old + t]
    ends[0] *= free * likelihood[old + n_days]
    ends[1] *= prior[old + 1] * likelihood[old + n_days + 1]


@njit(cache=True)
def _workspace(old: Any, n_days: Any, reach: Any) -> Any:
    work = (
        np.empty(old),
        np.empty(n_days),
        np.empty(n_days),
        np.empty(2),
        np.empty(n_days),
        np.empty(old + n_days),
    )
    left = (np.empty(old + n_days), np.empty(n_days), np.empty(n_days))
    space = (np.empty(old + n_days), np.empty(old + n_days), np.empty(reach + 2 * n_days + 1))
    return work, left, space


@njit(cache=True)
def _running_sums(old: Any, work: Any, infected: Any, sums: Any) -> None:
    """Fill infected [old + days] with the weights of infection and sums with their sums before."""
    weights, before, through, _, _, _ = work
    infected[:old] = weights
    for t in range(before.size):
        infected[old + t] = max(before[t] - through[t], 0.0)
    sums[0] = 0.0
    for x in range(infected.size):
        sums[x + 1] = sums[x] + infected[x]


@njit(cache=True, parallel=True)
def send_all(
    pairs: Any, inbox: Any, model: Any, old: Any, damping: Any, awake: Any, out: Any
) -> Any:
    """Fill out, another `Inbox`, with everybody's messages, and return the largest change.

    Who is quiet, has no new test and was not awake repeats the vectors of before; awake, bool
    [people], is brought up to date.

    Messages are damped: new = (1 - damping)·computed + damping·old. Every message is written by the
    thread of its sender and read from the messages before: the bits do not depend on threads.
    Cost: O(reach) per contact, O(reach + days) per pair and person.
    """
    n_people = pairs.offsets.size - 1
    n_days, reach = model.n_days, model.transmissions.shape[1]
    n_chunks = (n_people + _CHUNK - 1) // _CHUNK
    changes = np.zeros(n_chunks)
    for chunk in prange(n_chunks):
        spaces = _workspace(old, n_days, reach)
        infected, sums = np.empty(old + n_days), np.empty(old + n_days + 1)
        message = np.empty(reach + 2 * n_days + 1)
        change = 0.0
        for i in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, n_people)):
            work = spaces[0]
            gather(pairs, inbox, model, i, old, work)
            _running_sums(old, work, infected, sums)
            recent = sums[old + n_days] - sums[old + n_days - reach]
            total = sums[old + n_days] + work[3][0] + work[3][1]
            wakes = model.news[i] or recent >= model.quiet * total
            speaks = wakes or awake[i]
            awake[i] = wakes
            mine = (infected, sums, message)
            changed = _send(pairs, inbox, model, i, old, damping, speaks, spaces, mine, out)
            change = max(change, changed)
        changes[chunk] = change
    return changes.max() if n_chunks else 0.0


@njit(cache=True)
def _send(
    pairs: Any,
    inbox: Any,
    model: Any,
    i: Any,
    old: Any,
    damping: Any,
    speaks: Any,
    spaces: Any,
    mine: Any,
    out: Any,
) -> Any:
    """Send all messages of person i and return the largest change."""
    work, left, space = spaces
    infected, sums, message = mine
    change = 0.0
    for e in range(pairs.offsets[i], pairs.offsets[i + 1]):
        r, other = pairs.reverse[e], pairs.others[e]
        if pairs.slots[e] == NONE:
            d = pairs.days[pairs.starts[e]] - model.first
            passes = model.transmissions[model.groups[other]]
            came = np.float64(inbox.q[e]), np.float64(inbox.b[e])
            q, b = send_once(d, passes, came[0], came[1], old, work, infected, sums)
            was = np.float64(inbox.q[r])
            q += damping * (was - q)
            change = max(change, abs(q - was))
            write(out, r, q, b + damping * (np.float64(inbox.b[r]) - b))
            continue
        before, after = inbox.vectors[pairs.slots[r]], out.vectors[pairs.slots[r]]
        if not speaks:
            after[:] = before
            continue
        heard = pairs.days[pairs.starts[e] : pairs.starts[e + 1]]
        told = pairs.days[pairs.starts[r] : pairs.starts[r + 1]]
        arrived = inbox.vectors[pairs.slots[e]]
        send_often(heard, told, model, i, other, old, work, left, space, arrived, message)
        for k in range(message.size):
            after[k] = message[k] + damping * (before[k] - message[k])
        last = message.size - 1
        change = max(change, abs(np.float64(after[last]) - np.float64(before[last])))
    return change


@njit(cache=True, parallel=True)
def conclude(pairs: Any, inbox: Any, model: Any, old: Any, out: Any, stays: Any) -> None:
    """Fill out [people, places] with posteriors and stays [people] with what `Carried` needs.

    Cost: as one `send_all` without its messages.
    """
    n_people = pairs.offsets.size - 1
    n_days, reach = model.n_days, model.transmissions.shape[1]
    for chunk in prange((n_people + _CHUNK - 1) // _CHUNK):
        work, _, _ = _workspace(old, n_days, reach)
        weights, before, through, ends, _, _ = work
        for i in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, n_people)):
            gather(pairs, inbox, model, i, old, work)
            total = ends[0] + ends[1]
            for x in range(old):
                out[i, x] = weights[x]
                total += weights[x]
            for t in range(n_days):
                out[i, old + t] = max(before[t] - through[t], 0.0)
                total += out[i, old + t]
            out[i, old + n_days] = ends[0]
            out[i, old + n_days + 1] = ends[1]
            out[i] /= total
            stays[i] = _stay_of_first_day(pairs, inbox, model, i)


@njit(cache=True)
def _stay_of_first_day(pairs: Any, inbox: Any, model: Any, i: Any) -> Any:
    """Return P(no contact of the first day infects i)."""
    n_days, reach = model.n_days, model.transmissions.shape[1]
    stay = 1.0
    for e in range(pairs.offsets[i], pairs.offsets[i + 1]):
        start = pairs.starts[e]
        if start == pairs.starts[e + 1] or pairs.days[start] != model.first:
            continue
        if pairs.slots[e] == NONE:
            stay *= 1.0 - np.float64(inbox.q[e])
        else:
            vector = inbox.vectors[pairs.slots[e]]
            before = factor(vector[reach])
            stay *= max(before - vector[reach + n_days], 0.0) / before
    return min(stay, 1.0)
