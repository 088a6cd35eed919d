"""Compiled array functions of Factorised Neighbours without echo.

What a sender tells a receiver is P(I) on the day of the contact given that the sender was not
infected by that receiver. Given all tests, the chain of a person is a Markov chain again, whose
transitions follow from the posterior of every day: S only turns to E, E to I and I to R. An
infection on a day is divided among those who were met by what they add to the day's hazard, and
what one of them caused is followed through the chain.

Messages are hazards, -log(1 - p1·P(I)), and stand where their receiver reads them: everybody reads
what they heard and writes what they tell in one pass.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from dnatrace.inference._kernels import posterior_block
from dnatrace.inference._pair_kernels import NONE
from dnatrace.seir import BLOCK

_TINY = 1e-30  # probabilities that nothing is divided by
_MOST_CAUSED = 1.0 - 1e-6  # by one receiver: conditions on the opposite stay possible
_MOST_HAZARD = 69.0  # of a contact that infects for certain
LINE = 16  # numbers of a cache line: rows of days are padded to it
LANES = 16  # people who are told side by side
_ILL, _REST, _MOST = LANES, 2 * LANES, 3 * LANES  # after E, in what `_leave_out` works in
_SMALL = 0.01  # probabilities below which a hazard is the first terms of its series
_FUSED = {"contract"}  # a·b + c in one step, the same on any thread


class Lines(NamedTuple):
    """Between whom messages pass: places of messages by who hears them.

    A pair that met once, each hearing the other, has one number each way; another pair has one per
    day of the window.

    Attributes:
        once: first of the single messages of each person, int64 [people + 1].
        on: days of the window of single messages, uint8.
        answer: where what is told to the same person stands, int32.
        often: first of the daily messages of each person, int64 [people + 1].
        back: where what is told to the same person stands, int32.
        meets: how often the person hears the other on each day, uint16 [daily messages, padded
            days].
    """

    once: Any
    on: Any
    answer: Any
    often: Any
    back: Any
    meets: Any


@njit(cache=True)
def _count(offsets: Any, slots: Any) -> Any:
    """Return the first daily message of each person; slots are numbered in order."""
    often = np.zeros(offsets.size, dtype=np.int64)
    for i in range(offsets.size - 1):
        n = often[i]
        for e in range(offsets[i], offsets[i + 1]):
            n += slots[e] != NONE
        often[i + 1] = n
    return often


@njit(cache=True, parallel=True)
def _places(offsets: Any, slots: Any, often: Any, places: Any) -> None:
    """Fill places [entries] with the place of each entry's message among those of its kind."""
    for i in prange(offsets.size - 1):
        single = offsets[i] - often[i]
        for e in range(offsets[i], offsets[i + 1]):
            if slots[e] == NONE:
                places[e] = single
                single += 1
            else:
                places[e] = slots[e]


@njit(cache=True, parallel=True)
def _connect(pairs: Any, first: Any, places: Any, lines: Any) -> None:
    """Fill days, places of answers and numbers of contacts of `lines`."""
    offsets, _, reverse, starts, days, slots = pairs
    _, on, answer, _, back, meets = lines
    for i in prange(offsets.size - 1):
        for e in range(offsets[i], offsets[i + 1]):
            r, place = reverse[e], places[e]
            if slots[e] == NONE:
                on[place] = days[starts[e]] - first
                answer[place] = places[r]
                continue
            back[place] = places[r]
            for c in range(starts[e], starts[e + 1]):
                meets[place, days[c] - first] += 1


def lines_of(pairs: Any, first: int, n_days: int) -> Lines:
    """Return the lines of pairs in a window that begins with day `first`.

    Cost: O(people + contacts).
    """
    often = _count(pairs.offsets, pairs.slots)
    n_often, n_once = int(often[-1]), int(pairs.offsets[-1] - often[-1])
    lines = Lines(
        once=pairs.offsets - often,
        on=np.empty(n_once, dtype=np.uint8),
        answer=np.empty(n_once, dtype=np.int32),
        often=often,
        back=np.empty(n_often, dtype=np.int32),
        meets=np.zeros((n_often, -(-n_days // LINE) * LINE), dtype=np.uint16),
    )
    places = np.empty(pairs.others.size, dtype=np.int32)
    _places(pairs.offsets, pairs.slots, often, places)
    _connect(pairs, first, places, lines)
    return lines


def silence(lines: Lines) -> tuple[Any, Any]:
    """Return messages that say nothing, daily ones in cache lines of their own."""
    n, width = lines.meets.shape
    room = np.zeros(n * width + LINE, dtype=np.float32)
    start = (-room.ctypes.data // room.itemsize) % LINE
    daily = room[start : start + n * width].reshape(n, width)
    return np.zeros(lines.answer.size, dtype=np.float32), daily


@njit(cache=True)
def _share(part: Any, whole: Any) -> Any:
    """Return part / whole within [0, 1]; 1 of next to nothing."""
    return min(max(part / whole, 0.0), 1.0) if whole > _TINY else 1.0


@njit(cache=True, fastmath=_FUSED)
def _series(caught: Any) -> Any:
    """Return -log(1 - caught) of a small probability, to 2e-9 of it."""
    x = caught
    return x * (1.0 + x * (1 / 2 + x * (1 / 3 + x * (1 / 4))))


@njit(cache=True)
def _hazard(caught: Any) -> Any:
    """Return -log(1 - caught)."""
    if caught < _SMALL:
        return _series(caught)
    return min(-math.log1p(-caught), _MOST_HAZARD) if caught < 1.0 else _MOST_HAZARD


@njit(cache=True)
def _listen(lines: Any, heard: Any, people: Any, susceptible: Any, exposures: Any) -> None:
    """Fill the exposures of some people with what they heard.

    Daily messages come as the hazard of one contact on every day, and become that of all contacts
    of the day.
    """
    once, on, _, often, _, meets = lines
    single, daily = heard
    n_days, width = exposures.shape[0], daily.shape[1]
    total = np.empty(width)
    for i in range(people[0], people[1]):
        total[:] = 0.0
        for o in range(once[i], once[i + 1]):
            total[on[o]] += np.float64(single[o])
        for k in range(often[i], often[i + 1]):
            row = np.uint64(k)
            for t in range(width):
                daily[row, np.uint64(t)] *= np.float32(meets[row, np.uint64(t)])
            for t in range(width):
                total[t] += np.float64(daily[row, np.uint64(t)])
        for t in range(n_days):
            exposures[t, i] = total[t] * np.float64(susceptible[i])


@njit(cache=True)
def _fill_chain(posterior: Any, i: Any, hazards: Any, scale: Any, chain: Any) -> None:
    """Fill chain [4, days] of a person of a block.

    Per day: P(I); P(infected on the day) per hazard of a contact, before the factor `scale`;
    P(E → I) and P(I → R) to the next day given all tests. The last day has P(I) alone. `hazards`
    [days] are those of the days, the background included.
    """
    last = hazards.size - 1
    for t in range(last):
        infected = max(posterior[t, 0, i] - posterior[t + 1, 0, i], 0.0)
        turned = posterior[t, 1, i] + infected - posterior[t + 1, 1, i]
        removed = posterior[t + 1, 3, i] - posterior[t, 3, i]
        chain[0, t] = posterior[t, 2, i]
        chain[1, t] = infected * scale / hazards[t] if hazards[t] > 0.0 else 0.0
        chain[2, t] = _share(turned, posterior[t, 1, i])
        chain[3, t] = _share(removed, posterior[t, 2, i])
    chain[:, last] = 0.0
    chain[0, last] = posterior[last, 2, i]


@njit(cache=True)
def _tell_once(lines: Any, heard: Any, i: Any, p1: Any, chain: Any, told: Any) -> None:
    """Write what i tells those met once. Cost: O(1) each."""
    once, on, answer, _, _, _ = lines
    single, out = heard[0], told[0]
    for o in range(once[i], once[i + 1]):
        t = np.uint64(on[o])
        caused = min(chain[1, t] * np.float64(single[o]), _MOST_CAUSED)
        out[answer[o]] = _hazard(p1 * min(chain[0, t] / (1.0 - caused), 1.0))


@njit(cache=True)
def _load(daily: Any, chain: Any, begin: Any, end: Any, caught: Any) -> None:
    """Fill caught [days, lanes] with P(infected on the day by each of some people)."""
    for k in range(begin, end):
        row, lane = np.uint64(k), np.uint64(k - begin)
        for t in range(caught.shape[0]):
            caught[np.uint64(t), lane] = chain[1, t] * np.float64(daily[row, np.uint64(t)])


@njit(cache=True, fastmath=_FUSED)
def _leave_out(chain: Any, p1: Any, caught: Any, lanes: Any) -> Any:
    """Turn what people caused into what they are told, P(the contact infects), in place.

    Returns the largest. `lanes` [4·lanes] is room: E and I because of each, a factor for their not
    having infected, and the largest. One array, so that the compiler sees that nothing overlaps.
    """
    lanes[:] = 0.0
    for t in range(caught.shape[0]):
        for k in range(LANES):
            lanes[_REST + k] += caught[t, k]
    for k in range(LANES):
        lanes[_REST + k] = 1.0 / (1.0 - min(lanes[_REST + k], _MOST_CAUSED))
    for t in range(caught.shape[0]):
        says, turns = chain[0, t], chain[2, t]
        waits, stays = 1.0 - turns, 1.0 - chain[3, t]
        for k in range(LANES):
            turning, ill = lanes[k], lanes[_ILL + k]
            told = p1 * min(max((says - ill) * lanes[_REST + k], 0.0), 1.0)
            lanes[_ILL + k] = stays * ill + turns * turning
            lanes[k] = waits * turning + caught[t, k]
            lanes[_MOST + k] = max(lanes[_MOST + k], told)
            caught[t, k] = told
    return lanes[_MOST:].max()


@njit(cache=True)
def _tell_often(lines: Any, heard: Any, i: Any, p1: Any, chain: Any, space: Any, told: Any) -> None:
    """Write what i tells people met more than once. Cost: O(days) each."""
    _, _, _, often, back, _ = lines
    daily, out = heard[1], told[1]
    caught, lanes, says, rows = space
    for begin in range(often[i], often[i + 1], LANES):
        end = min(begin + LANES, often[i + 1])
        _load(daily, chain, begin, end, caught)
        most = _leave_out(chain, p1, caught, lanes)
        for t in range(caught.shape[0]):
            if most < _SMALL:
                for k in range(LANES):
                    says[t, k] = _series(caught[t, k])
            else:
                for k in range(LANES):
                    says[t, k] = _hazard(caught[t, k])
        for t in range(says.shape[0]):
            for k in range(LANES):
                rows[k, t] = says[t, k]
        for k in range(begin, end):
            to, lane = np.uint64(back[k]), np.uint64(k - begin)
            for t in range(rows.shape[1]):
                out[to, np.uint64(t)] = rows[lane, np.uint64(t)]


@njit(cache=True)
def _say_nothing(lines: Any, i: Any, told: Any) -> None:
    once, _, answer, often, back, _ = lines
    for o in range(once[i], once[i + 1]):
        told[0][answer[o]] = 0.0
    for k in range(often[i], often[i + 1]):
        told[1][back[k], :] = 0.0


@njit(cache=True, parallel=True)
def exchange(
    lines: Any,
    heard: Any,
    outcomes: Any,
    model: Any,
    p1: Any,
    susceptible: Any,
    silent: Any,
    exposures: Any,
    told: Any,
) -> None:
    """Let everybody hear, update their belief and tell it, leaving out what came from who hears.

    Args:
        lines: as of `lines_of`.
        heard: what was told before: float32 [single messages], [daily messages, padded days];
            spent.
        outcomes: int8 [days, people].
        model: float64 [6], see `seir.pack_model`.
        p1: transmission per contact.
        susceptible: factors on exposures, float32 [people].
        silent: who tells 0, bool [people].
        exposures: float32 [days, people], filled with what was heard.
        told: as `heard`, the result.

    Cost: O(pairs that met once + other pairs × days + people × days), people in parallel; the bits
    do not depend on threads.
    """
    n_people = outcomes.shape[1]
    for block in prange((n_people + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        people = first, min(first + BLOCK, n_people)
        _listen(lines, heard, people, susceptible, exposures)
        posterior = posterior_block(exposures, outcomes, first, model)
        _tell(lines, heard, people, posterior, model[3], p1, susceptible, silent, exposures, told)


@njit(cache=True)
def _tell(
    lines: Any,
    heard: Any,
    people: Any,
    posterior: Any,
    background: Any,
    p1: Any,
    susceptible: Any,
    silent: Any,
    exposures: Any,
    told: Any,
) -> None:
    """Write what the people of a block tell, given their posteriors [days, 4, block]."""
    n_days = exposures.shape[0]
    hazards, chain = np.empty(n_days), np.empty((4, n_days))
    says = np.empty((n_days, LANES), dtype=np.float32)
    rows = np.zeros((LANES, told[1].shape[1]), dtype=np.float32)
    space = np.zeros((n_days, LANES)), np.empty(4 * LANES), says, rows
    for i in range(people[0], people[1]):
        if silent[i]:
            _say_nothing(lines, i, told)
            continue
        for t in range(n_days):
            hazards[t] = np.float64(exposures[t, i]) + background
        scale = np.float64(susceptible[i])
        _fill_chain(posterior, i - people[0], hazards, scale, chain)
        _tell_once(lines, heard, i, p1, chain, told)
        _tell_often(lines, heard, i, p1, chain, space, told)


@njit(cache=True, parallel=True)
def listen(lines: Any, heard: Any, susceptible: Any, exposures: Any) -> None:
    """Fill exposures, float32 [days, people], with what everybody heard."""
    n_people = exposures.shape[1]
    for block in prange((n_people + BLOCK - 1) // BLOCK):
        people = block * BLOCK, min((block + 1) * BLOCK, n_people)
        _listen(lines, heard, people, susceptible, exposures)
