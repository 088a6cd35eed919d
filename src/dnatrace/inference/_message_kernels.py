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
from numba import njit

from dnatrace.inference.course import REACH

_SMALLEST_FACTOR = 1e-12  # a factor on evidence; keeps divisions finite
_AT_ONCE = 16  # contacts whose sums are taken together
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
        spread: the same between zeros, float64 [age groups, reach + 2·days]: place days + k.
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
    spread: Any
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
    d: Any,
    i: Any,
    group: Any,
    came_q: Any,
    came_b: Any,
    transmissions: Any,
    first: Any,
    through: Any,
    ends: Any,
    infected: Any,
    sums: Any,
) -> tuple[Any, Any]:
    """Return (q, b) of i for somebody met once, on day d, leaving out what came from them.

    `group` is the age group of the other, what follows is everybody's `Heard`: one by one, because
    arrays of a tuple would count references. Cost: O(reach).
    """
    x = infected.shape[1] - through.shape[1] + d
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
    """Return what `send_often` works in: two rows [reach + days], two [days], some rows."""
    return (
        np.empty(REACH + n_days),
        np.empty(REACH + n_days),
        np.empty(n_days),
        np.empty(n_days),
        np.empty((_AT_ONCE, REACH + n_days)),
    )


@njit(cache=True)
def _cavity(
    vectors: Any,
    slot: Any,
    i: Any,
    first: Any,
    through: Any,
    ends: Any,
    sums: Any,
    rest: Any,
    after: Any,
) -> Any:
    """Leave one neighbour's message out of the weights of i; return never and the sum of weights.

    Filled are rest [reach + days], the weight of an infection from reach days before the window on,
    and after [days], what survives each day.
    """
    n_days, row = after.size, np.uint64(slot)
    old = first.shape[1] - n_days
    for k in range(REACH):
        x = np.uint64(old - REACH) + np.uint64(k)
        rest[k] = first[i, x] / factor(np.float64(vectors[row, k]))
    for t in range(n_days):
        at = np.uint64(REACH + t)
        change = np.float64(vectors[row, at])
        drop = np.float64(vectors[row, at + np.uint64(n_days)])
        after[t] = through[i, t] / factor(change - drop)
        rest[at] = max(first[i, np.uint64(old + t)] / factor(change) - after[t], 0.0)
    total = sums[i, old - REACH]
    for k in range(rest.size):
        total += rest[k]
    never = ends[i, 0] / factor(np.float64(vectors[row, REACH + 2 * n_days]))
    return never, total + never + ends[i, 1]


@njit(cache=True)
def _catch(alive: Any, spread: Any, group: Any, d: Any, caught: Any, row: Any) -> None:
    """Let a contact of day d infect: fill a row of caught [rows, reach + days].

    alive [reach + days] is, for each infection of the sender, the chance that no contact so far
    infected the receiver. All places are passed through, those out of reach with nothing: so they
    stand where the contact before left them, and no load waits for two stores.
    """
    n = alive.size
    base = np.uint64(n - REACH - d)
    for x in range(n):
        at = np.uint64(x)
        now = alive[at] * spread[group, base + at]
        alive[at] -= now
        caught[row, at] = now


@njit(cache=True, fastmath=_SUM)
def _lost(caught: Any, row: Any, d: Any, weights: Any) -> Any:
    """Return the weight of those whom a contact of day d infected."""
    lost = 0.0
    for k in range(REACH):
        x = np.uint64(d) + np.uint64(k)
        lost += weights[x] * caught[row, x]
    return lost


@njit(cache=True)
def _infected_by_sender(
    days: Any,
    start: Any,
    end: Any,
    begin: Any,
    spread: Any,
    group: Any,
    rest: Any,
    alive: Any,
    caught: Any,
    out: Any,
    row: Any,
) -> None:
    """Fill `before`, drops and never with what the sender's infection would have caused.

    The receiver, of an age group, heard the sender on days[start:end]; `begin` is the first day of
    the window. Sums, divided by the total later.
    """
    n_days = rest.size - REACH
    alive[:] = 1.0
    for k in range(REACH + 2 * n_days):
        out[row, k] = 0.0
    for batch in range(start, end, _AT_ONCE):
        last = min(batch + _AT_ONCE, end)
        for c in range(batch, last):
            _catch(alive, spread, group, days[c] - begin, caught, c - batch)
        for c in range(batch, last):
            d = days[c] - begin
            out[row, REACH + n_days + d] += _lost(caught, c - batch, d, rest)
    lost = 0.0
    for t in range(n_days):
        out[row, REACH + t] = -lost
        lost += out[row, REACH + n_days + t]
    out[row, REACH + 2 * n_days] = -lost


@njit(cache=True)
def _infected_by_receiver(
    days: Any,
    start: Any,
    end: Any,
    begin: Any,
    spread: Any,
    group: Any,
    alive: Any,
    worth: Any,
    out: Any,
    row: Any,
) -> None:
    """Add what the sender's evidence says for each infection of the receiver.

    The sender heard the receiver on days[start:end]; worth [days] is what it adds to the weight of
    everything that the sender was infected on a day: b of a pair that met once.
    """
    n = alive.size
    alive[:] = 1.0
    for c in range(start, end):
        d = days[c] - begin
        base, says = np.uint64(n - REACH - d), worth[d]
        for x in range(n):
            at = np.uint64(x)
            now = alive[at] * spread[group, base + at]
            alive[at] -= now
            out[row, at] += now * says


@njit(cache=True)
def send_often(
    pairs: Any,
    e: Any,
    r: Any,
    i: Any,
    other: Any,
    model: Any,
    heard: Any,
    space: Any,
    vectors: Any,
    out: Any,
    row: Any,
) -> None:
    """Fill a row of out [2, reach + 2·days + 1] with i's message to somebody met more than once.

    `e` is the entry of i and `r` that of the other; `vectors` has the message that came from them.
    Cost: O(reach + days) per contact.
    """
    rest, alive, after, worth, caught = space
    first, through, ends, _, sums = heard
    starts, days, begin, spread = pairs.starts, pairs.days, model.first, model.spread
    never, total = _cavity(vectors, pairs.slots[e], i, first, through, ends, sums, rest, after)
    if not total > 0.0:
        out[row, :] = 0.0
        return
    to = model.groups[other]
    _infected_by_sender(
        days, starts[r], starts[r + 1], begin, spread, to, rest, alive, caught, out, row
    )
    late = never
    for t in range(after.size - 1, -1, -1):
        worth[t] = after[t] - late
        late += rest[REACH + t]
    to = model.groups[i]
    _infected_by_receiver(days, starts[e], starts[e + 1], begin, spread, to, alive, worth, out, row)
    scale = 1.0 / total
    for k in range(out.shape[1]):
        out[row, k] *= scale
