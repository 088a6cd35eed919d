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
Places are unsigned numbers in inner loops, which spares a check for negative ones at each access.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from dnatrace.inference._pair_kernels import NONE
from dnatrace.inference.course import REACH

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


class Heard(NamedTuple):
    """What everybody's messages come to, own tests included; row i is person i.

    Attributes:
        first: the weight of an infection before the window, and of one on a day of it without what
            survives that day, float64 [people, old + days].
        through: what survives each day of the window, float64 [people, days].
        ends: the weights of never and removed, float64 [people, 2].
        infected: the weight of an infection on each day, float64 [people, old + days].
        sums: its sums over the days before each, float64 [people, old + days + 1].
    """

    first: Any
    through: Any
    ends: Any
    infected: Any
    sums: Any


class Model(NamedTuple):
    """What everybody's factor needs.

    Attributes:
        transmissions: by age of the infection, from reach days down to one, float64 [age groups,
            reach]: as days of infection before a contact stand side by side.
        most_transmission: the largest of them.
        groups: of everybody, uint8 [people].
        prior: what is carried over, float64 [people, old + 2].
        likelihood: of own tests, float64 [people, places].
        outside: P(infected from outside), float64 [days].
        first: number of the first day of the window.
        n_days: of the window.
        news: who has a new test, bool [people].
        quiet: who was infected lately with less probability, and has no news, need not be
            computed; 0 computes everybody.
    """

    transmissions: Any
    most_transmission: Any
    groups: Any
    prior: Any
    likelihood: Any
    outside: Any
    first: Any
    n_days: Any
    news: Any
    quiet: Any


@njit(cache=True)
def factor(deviation: Any) -> Any:
    return max(1.0 + deviation, _SMALLEST_FACTOR)


@njit(cache=True)
def send_once(
    d: Any, i: Any, other: Any, q: Any, b: Any, old: Any, model: Any, heard: Any
) -> tuple[Any, Any]:
    """Return (q, b) of i for somebody met once, on day d, leaving out what came from them: (q, b).

    Cost: O(reach).
    """
    first, through, ends, infected, sums = heard
    transmissions, group = model.transmissions, model.groups[other]
    came_q, came_b = np.float64(q), np.float64(b)
    x = old + d
    early = sums[i, x - REACH]  # of all infections longer ago than reach
    infects = 0.0
    for k in range(REACH):
        passes = transmissions[group, k]
        weight = infected[i, np.uint64(x - REACH) + np.uint64(k)] / factor(passes * came_b)
        early += weight
        infects += weight * passes
    survives = factor(-came_q)
    late = (sums[i, sums.shape[1] - 1] - sums[i, x + 1] + ends[i, 0]) / survives
    through_d = through[i, d] / survives
    total = early + max(first[i, x] - through_d, 0.0) + late + ends[i, 1]
    if not total > 0.0:
        return 0.0, 0.0
    return infects / total, (through_d - late) / total


@njit(cache=True)
def workspace(n_days: Any) -> Any:
    """Return what `send_often` works in: two rows [reach + days], two [days]."""
    return (
        np.empty(REACH + n_days),
        np.empty(REACH + n_days),
        np.empty(n_days),
        np.empty(n_days),
    )


@njit(cache=True)
def _cavity(
    vectors: Any, slot: Any, i: Any, old: Any, everybody: Any, rest: Any, after: Any
) -> Any:
    """Leave one neighbour's message out of the weights of i; return never and the sum of weights.

    Filled are rest [reach + days], the weight of an infection from reach days before the window on,
    and after [days], what survives each day.
    """
    first, through, ends, _, sums = everybody
    n_days, row = after.size, np.uint64(slot)
    total = sums[i, old - REACH]
    for k in range(REACH):
        x = np.uint64(old - REACH) + np.uint64(k)
        rest[k] = first[i, x] / factor(np.float64(vectors[row, k]))
        total += rest[k]
    for t in range(n_days):
        at = np.uint64(REACH + t)
        change = np.float64(vectors[row, at])
        drop = np.float64(vectors[row, at + np.uint64(n_days)])
        after[t] = through[i, t] / factor(change - drop)
        rest[at] = max(first[i, np.uint64(old + t)] / factor(change) - after[t], 0.0)
        total += rest[at]
    never = ends[i, 0] / factor(np.float64(vectors[row, REACH + 2 * n_days]))
    return never, total + never + ends[i, 1]


@njit(cache=True, fastmath=_SUM)
def _pass_on(alive: Any, d: Any, transmissions: Any, group: Any, weights: Any) -> Any:
    """Let a contact of day d infect; return the weight of those infected.

    alive [reach + days] is, for each infection of the sender, the chance that no contact so far
    infected the receiver.
    """
    lost = 0.0
    for k in range(REACH):
        x = np.uint64(d) + np.uint64(k)
        caught = alive[x] * transmissions[group, k]
        alive[x] -= caught
        lost += weights[x] * caught
    return lost


@njit(cache=True)
def _infected_by_sender(
    days: Any, start: Any, end: Any, passes: Any, rest: Any, alive: Any, out: Any, row: Any
) -> None:
    """Fill `before`, drops and never with what the sender's infection would have caused.

    The receiver heard the sender on days[start:end]; `passes` are the first day of the window, all
    transmissions and the receiver's age group. Sums, divided by the total later.
    """
    begin, transmissions, group = passes
    n_days = rest.size - REACH
    alive[:] = 1.0
    for k in range(REACH + 2 * n_days):
        out[row, k] = 0.0
    for c in range(start, end):
        d = days[c] - begin
        out[row, REACH + n_days + d] += _pass_on(alive, d, transmissions, group, rest)
    lost = 0.0
    for t in range(n_days):
        out[row, REACH + t] = -lost
        lost += out[row, REACH + n_days + t]
    out[row, REACH + 2 * n_days] = -lost


@njit(cache=True)
def _infected_by_receiver(
    days: Any, start: Any, end: Any, passes: Any, alive: Any, worth: Any, out: Any, row: Any
) -> None:
    """Add what the sender's evidence says for each infection of the receiver.

    The sender heard the receiver on days[start:end]; worth [days] is what it adds to the weight of
    everything that the sender was infected on a day: b of a pair that met once.
    """
    begin, transmissions, group = passes
    alive[:] = 1.0
    for c in range(start, end):
        d = days[c] - begin
        for k in range(REACH):
            x = np.uint64(d) + np.uint64(k)
            caught = alive[x] * transmissions[group, k]
            alive[x] -= caught
            out[row, x] += caught * worth[d]


@njit(cache=True)
def send_often(
    pairs: Any,
    e: Any,
    r: Any,
    i: Any,
    other: Any,
    old: Any,
    model: Any,
    heard: Any,
    space: Any,
    vectors: Any,
    out: Any,
    row: Any,
) -> None:
    """Fill a row of out [2, reach + 2·days + 1] with i's message to somebody met more than once.

    `e` is the entry of i and `r` that of the other; `vectors` has the message that came from them.
    Cost: O(reach) per contact and O(reach + days).
    """
    rest, alive, after, worth = space
    starts, days = pairs.starts, pairs.days
    never, total = _cavity(vectors, pairs.slots[e], i, old, heard, rest, after)
    if not total > 0.0:
        out[row, :] = 0.0
        return
    to_other = model.first, model.transmissions, model.groups[other]
    _infected_by_sender(days, starts[r], starts[r + 1], to_other, rest, alive, out, row)
    late = never
    for t in range(after.size - 1, -1, -1):
        worth[t] = after[t] - late
        late += rest[REACH + t]
    to_me = model.first, model.transmissions, model.groups[i]
    _infected_by_receiver(days, starts[e], starts[e + 1], to_me, alive, worth, out, row)
    scale = 1.0 / total
    for k in range(out.shape[1]):
        out[row, k] *= scale


@njit(cache=True, parallel=True)
def carry_messages(
    pairs: Any, origins: Any, before: Any, old_slots: Any, model: Any, moved: Any, out: Any
) -> None:
    """Write yesterday's messages to `out`, silent so far, where a pair met before.

    `moved` says by how many days the window moved; vectors move with it. A pair that met once and
    meets again gets the vector that its two numbers stand for, and the other way round.
    """
    for i in prange(pairs.offsets.size - 1):
        _carry_to(pairs, origins, before, old_slots, model, moved, i, out)


@njit(cache=True)
def _carry_to(
    pairs: Any, origins: Any, before: Any, old_slots: Any, model: Any, moved: Any, i: Any, out: Any
) -> None:
    """Carry all messages to person i."""
    offsets, others, _, starts, days, slots = pairs
    transmissions, groups, n_days = model.transmissions, model.groups, model.n_days
    for e in range(offsets[i], offsets[i + 1]):
        was, slot = origins[e], slots[e]
        if was == NONE:
            continue  # nothing was said, as `out` says already
        was_slot = old_slots[was]
        if slot == NONE and was_slot == NONE:
            out.q[e], out.b[e] = before.q[was], before.b[was]
        elif slot == NONE:
            d = days[starts[e]] - model.first + moved
            passes = transmissions[groups[others[e]]]
            _to_numbers(before.vectors[was_slot], d, passes, n_days, out, e)
        elif was_slot != NONE:
            _move_vector(before.vectors, was_slot, moved, n_days, out.vectors, slot)
        elif starts[e] < starts[e + 1]:
            d = days[starts[e]] - model.first
            passes = transmissions[groups[others[e]]]
            _to_vector(before.q[was], before.b[was], d, passes, n_days, out.vectors[slot])


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
def _move_vector(vectors: Any, slot: Any, moved: Any, n_days: Any, out: Any, new_slot: Any) -> None:
    """Copy a vector for a window that begins `moved` days later."""
    row, new, places = np.uint64(slot), np.uint64(new_slot), REACH + n_days
    never = vectors[row, places + n_days]
    for k in range(places - moved):
        out[new, k] = vectors[row, np.uint64(k + moved)]
    for k in range(places - moved, places):
        out[new, k] = never
    for k in range(places, places + n_days - moved):
        out[new, k] = vectors[row, np.uint64(k + moved)]
    out[new, places + n_days] = never
