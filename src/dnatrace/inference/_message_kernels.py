"""Compiled array functions of messages between two people, over days of infection.

The factor of a person says: infected on day t if no contact before t infected them and one of day t
did. Its survival terms make every message between two people a factor on the receiver's weight of
each day of infection: 1 + deviation, written `before` for the term that survives until the day
begins and `through` for the one that survives the day. Between two people who met once, on day d,
two numbers say all of it:

- q, the chance that the contact infected the receiver: through = 1 - q on day d, both 1 - q after;
- b, what the sender's evidence says about having been infected by the receiver: both are
  1 + b·transmission(d - t) for a receiver infected on t before d.

Derivation: Altarelli et al. 2014 (Physical Review Letters 112, 118701) and Baker et al. 2021 (PNAS
118, e2106548118), with recovery summed out. Places of days of infection as in `_time_kernels`.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from dnatrace.inference._pair_kernels import NONE

_SMALLEST_FACTOR = 1e-12  # a factor on evidence; keeps divisions finite
_SUM = {"reassoc", "contract"}  # sums in the order that vector units like, the same on any thread


class Inbox(NamedTuple):
    """Messages by receiving entry.

    Attributes:
        q: float32 [entries], of pairs that met once.
        b: float32 [entries], of the same.
        vectors: float32 [slots, reach + 2·days + 1]: deviations of infections before the window
            (reach), of `before` on its days, by how much `through` is below it, and of never. The
            difference has a place of its own, because it may be small beside both.
    """

    q: Any
    b: Any
    vectors: Any


class Model(NamedTuple):
    """What everybody's factor needs.

    Attributes:
        transmissions: by age of the infection, from reach days down to one, float64 [age groups,
            reach]: as days of infection before a contact stand side by side.
        groups: of everybody, uint8 [people].
        prior: what is carried over, float64 [people, old + 2].
        likelihood: of own tests, float64 [people, places].
        p0: infection from outside per day.
        first: number of the first day of the window.
        n_days: of the window.
        news: who has a new test, bool [people].
        quiet: who was infected lately with less probability, and says nothing new, need not be
            computed for people they meet often; 0 computes everybody.
    """

    transmissions: Any
    groups: Any
    prior: Any
    likelihood: Any
    p0: Any
    first: Any
    n_days: Any
    news: Any
    quiet: Any


@njit(cache=True)
def write(out: Any, e: Any, q: Any, b: Any) -> None:
    out.q[e] = q
    out.b[e] = b


@njit(cache=True)
def factor(deviation: Any) -> Any:
    return max(1.0 + deviation, _SMALLEST_FACTOR)


@njit(cache=True)
def send_once(
    d: Any, passes: Any, q: Any, b: Any, old: Any, work: Any, infected: Any, sums: Any
) -> Any:
    """Return (q, b) for somebody met once, on day d, leaving out what came from them.

    `passes` are transmissions to them, (q, b) came from them; infected [old + days] are the
    weights of infection and `sums` their running sums.
    """
    _, before, through, ends, _, _ = work
    reach = passes.size
    x = old + d
    early = sums[x - reach]  # of all infections longer ago than reach
    infects = 0.0
    recent = infected[x - reach : x]
    for k in range(reach):
        weight = recent[k] / max(1.0 + passes[k] * b, _SMALLEST_FACTOR)
        early += weight
        infects += weight * passes[k]
    survives = factor(-q)
    late = (sums[sums.size - 1] - sums[x + 1] + ends[0]) / survives
    through_d = through[d] / survives
    total = early + max(before[d] - through_d, 0.0) + late + ends[1]
    if not total > 0.0:
        return 0.0, 0.0
    return infects / total, (through_d - late) / total


@njit(cache=True)
def _divide(values: Any, deviations: Any, out: Any) -> None:
    for k in range(values.size):
        out[k] = values[k] / max(1.0 + np.float64(deviations[k]), _SMALLEST_FACTOR)


@njit(cache=True)
def _cavity(vector: Any, reach: Any, old: Any, work: Any, left: Any) -> Any:
    """Fill left (weights [old + days], before, through) without one neighbour; return never."""
    weights, before, through, ends, _, _ = work
    rest, first, after = left
    n_days = before.size
    rest[: old - reach] = weights[: old - reach]
    _divide(weights[old - reach :], vector[:reach], rest[old - reach : old])
    _divide(before, vector[reach : reach + n_days], first)
    window, drops = rest[old:], vector[reach + n_days : reach + 2 * n_days]
    for t in range(n_days):
        after[t] = through[t] / factor(np.float64(vector[reach + t]) - drops[t])
        window[t] = max(first[t] - after[t], 0.0)
    return ends[0] / factor(vector[reach + 2 * n_days])


@njit(cache=True, fastmath=_SUM)
def _pass_on(alive: Any, passes: Any, weights: Any) -> Any:
    """Let one contact infect with the chance `passes`; return the weight of those infected."""
    lost = 0.0
    for k in range(passes.size):
        caught = alive[k] * passes[k]
        alive[k] -= caught
        lost += weights[k] * caught
    return lost


@njit(cache=True)
def _infected_by_sender(
    days: Any, first: Any, passes: Any, old: Any, rest: Any, alive: Any, vector: Any
) -> None:
    """Subtract from `before` and never what the sender's infection would have caused; fill drops.

    For each place x of the sender's infection `alive` is the chance that no contact so far infected
    the receiver. `vector` holds sums that are divided by the total later.
    """
    reach = passes.size
    n_days = rest.size - old
    alive[:] = 1.0
    vector[:] = 0.0
    lost = 0.0
    t = 0
    for c in range(days.size):
        d = days[c] - first
        while t <= d:  # days up to this contact begin with what was lost before
            vector[reach + t] = -lost
            t += 1
        recent = rest[old + d - reach : old + d]
        lost_now = _pass_on(alive[old + d - reach : old + d], passes, recent)
        vector[reach + n_days + d] += lost_now
        lost += lost_now
    while t < n_days:
        vector[reach + t] = -lost
        t += 1
    vector[reach + 2 * n_days] = -lost


@njit(cache=True)
def _infected_by_receiver(
    days: Any, first: Any, passes: Any, old: Any, left: Any, never: Any, caught: Any, shift: Any
) -> None:
    """Fill shift [old + days] with what the sender's evidence says for each receiver's infection.

    `passes` are transmissions to the sender, who heard the receiver on `days`; caught [old + days]
    is the chance that they infected the sender so far.
    """
    _, before, through = left
    n_days, reach = before.size, passes.size
    caught[:] = 0.0
    shift[:] = 0.0
    c = 0
    start = old + days[0] - first - reach if days.size else 0
    while c < days.size:
        d = days[c] - first
        _add(shift[start : old + d], -before[d], caught[start : old + d])
        while c < days.size and days[c] - first == d:
            recent = caught[old + d - reach : old + d]
            for k in range(reach):
                recent[k] += (1.0 - recent[k]) * passes[k]
            c += 1
        end = days[c] - first if c < days.size else n_days
        rise = through[d] - (never if c == days.size else 0.0)
        for t in range(d + 1, end):
            rise += through[t] - before[t]
        _add(shift[start : old + d], rise, caught[start : old + d])


@njit(cache=True)
def _add(totals: Any, factor: Any, values: Any) -> None:
    for k in range(totals.size):
        totals[k] += factor * values[k]


@njit(cache=True)
def send_often(
    heard: Any,
    told: Any,
    model: Any,
    i: Any,
    other: Any,
    old: Any,
    work: Any,
    left: Any,
    space: Any,
    arrived: Any,
    out: Any,
) -> None:
    """Fill out [reach + 2·days + 1] with the message of i to somebody met more than once.

    `heard` are the days on which i heard them, `told` those on which they heard i, `arrived` the
    message that came from them. Cost: O(reach) per contact and O(reach + days).
    """
    alive, shift, sums = space
    n_days, reach = model.n_days, model.transmissions.shape[1]
    never = _cavity(arrived, reach, old, work, left)
    rest = left[0]
    total = never + work[3][1] + rest.sum()
    to_other = model.transmissions[model.groups[other]]
    _infected_by_sender(told, model.first, to_other, old, rest, alive, sums)
    to_me = model.transmissions[model.groups[i]]
    _infected_by_receiver(heard, model.first, to_me, old, left, never, alive, shift)
    if not total > 0.0:
        out[:] = 0.0
        return
    scale = 1.0 / total
    _add(sums[: reach + n_days], 1.0, shift[old - reach :])
    for k in range(out.size):
        out[k] = sums[k] * scale


@njit(cache=True, parallel=True)
def carry_messages(
    pairs: Any, origins: Any, before: Any, old_slots: Any, model: Any, moved: Any, out: Any
) -> None:
    """Fill out with yesterday's messages where a pair met before, nothing said where it did not.

    `moved` says by how many days the window moved; vectors move with it. A pair that met once and
    meets again gets the vector that its two numbers stand for, and the other way round.
    """
    n_days, reach = model.n_days, model.transmissions.shape[1]
    for i in prange(pairs.offsets.size - 1):
        for e in range(pairs.offsets[i], pairs.offsets[i + 1]):
            was, slot = origins[e], pairs.slots[e]
            passes = model.transmissions[model.groups[pairs.others[e]]]
            if slot == NONE:
                write(out, e, 0.0, 0.0)
                if was != NONE:
                    d = pairs.days[pairs.starts[e]] - model.first
                    if old_slots[was] == NONE:
                        write(out, e, before.q[was], before.b[was])
                    else:
                        _to_numbers(
                            before.vectors[old_slots[was]], d + moved, passes, n_days, out, e
                        )
                continue
            vector = out.vectors[slot]
            vector[:] = 0.0
            if was == NONE:
                continue
            if old_slots[was] == NONE:
                if pairs.starts[e] < pairs.starts[e + 1]:
                    d = pairs.days[pairs.starts[e]] - model.first
                    _to_vector(before.q[was], before.b[was], d, passes, n_days, vector)
            else:
                _move_vector(before.vectors[old_slots[was]], moved, reach, n_days, vector)


@njit(cache=True)
def _to_numbers(vector: Any, d: Any, passes: Any, n_days: Any, out: Any, e: Any) -> None:
    """Read (q, b) off a vector; d counts in the days of the vector."""
    reach = passes.size
    out.q[e] = min(max(vector[reach + n_days + d], 0.0), 1.0)
    k = np.argmax(passes)
    if passes[k] > 0.0:
        out.b[e] = vector[d + k] / passes[k]


@njit(cache=True)
def _to_vector(q: Any, b: Any, d: Any, passes: Any, n_days: Any, vector: Any) -> None:
    """Write out what (q, b) of a contact on day d mean."""
    reach = passes.size
    for k in range(reach):
        vector[d + k] = passes[k] * b
    vector[reach + n_days + d] = q
    for t in range(d + 1, n_days):
        vector[reach + t] = -q
    vector[reach + 2 * n_days] = -q


@njit(cache=True)
def _move_vector(vector: Any, moved: Any, reach: Any, n_days: Any, out: Any) -> None:
    """Copy a vector for a window that begins `moved` days later."""
    never = vector[reach + 2 * n_days]
    for k in range(reach + n_days):
        out[k] = vector[k + moved] if k + moved < reach + n_days else never
    for t in range(n_days):
        after = t + moved
        out[reach + n_days + t] = vector[reach + n_days + after] if after < n_days else 0.0
    out[reach + 2 * n_days] = never
