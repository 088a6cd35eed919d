"""Compiled array functions of Factorised Neighbours without echo.

What a sender tells a receiver is P(I) on the day of the contact given that the sender was not
infected by that receiver. Given all tests, the chain of a person is a Markov chain again, whose
transitions follow from the posterior of every day: S only turns to E, E to I and I to R. An
infection on a day is divided among those who were met by what they add to the day's hazard, and
what one of them caused is followed through the chain.
"""

import math
from typing import Any

import numpy as np
from numba import njit, prange

from dnatrace.inference._kernels import posterior_block
from dnatrace.seir import BLOCK

SAYS, BY_HAZARD, TURNS, RECOVERS = range(4)  # of a day of `chains`
N_NUMBERS = 4
_TINY = 1e-30  # probabilities that nothing is divided by
_MOST_CAUSED = 1.0 - 1e-6  # by one receiver: conditions on the opposite stay possible
_SMALL = 0.01  # probabilities below which a hazard is the first terms of its series


@njit(cache=True)
def _share(part: Any, whole: Any) -> Any:
    """Return part / whole within [0, 1]; 1 of next to nothing."""
    return min(max(part / whole, 0.0), 1.0) if whole > _TINY else 1.0


@njit(cache=True, parallel=True)
def chains(exposures: Any, outcomes: Any, model: Any, susceptible: Any, out: Any) -> None:
    """Fill out float32 [people, days, 4] with everybody's posterior chain.

    Per day: P(I); P(infected on the day) per hazard of a contact, before `susceptible` [people];
    P(E → I) and P(I → R) to the next day given all tests. The last day has P(I) alone. Else as
    `infected_marginals`, whose cost it has.
    """
    n_days, n_people = outcomes.shape
    for block in prange((n_people + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        posterior = posterior_block(exposures, outcomes, first, model)
        for i in range(min(BLOCK, n_people - first)):
            for t in range(n_days):
                numbers = out[first + i, t]
                numbers[SAYS] = posterior[t, 2, i]
                if t == n_days - 1:
                    numbers[BY_HAZARD:] = 0.0
                    continue
                infected = max(posterior[t, 0, i] - posterior[t + 1, 0, i], 0.0)
                turned = posterior[t, 1, i] + infected - posterior[t + 1, 1, i]
                removed = posterior[t + 1, 3, i] - posterior[t, 3, i]
                hazard = np.float64(exposures[t, first + i]) + model[3]
                scale = np.float64(susceptible[first + i])
                numbers[BY_HAZARD] = infected * scale / hazard if hazard > 0.0 else 0.0
                numbers[TURNS] = _share(turned, posterior[t, 1, i])
                numbers[RECOVERS] = _share(removed, posterior[t, 2, i])


@njit(cache=True)
def _hazard(caught: Any) -> Any:
    """Return -log(1 - caught)."""
    if caught < _SMALL:
        return caught * (1.0 + caught * (1 / 2 + caught * (1 / 3 + caught / 4)))
    return -math.log1p(-min(caught, _MOST_CAUSED))


@njit(cache=True)
def _caused(chain: Any, s: Any, days: Any, start: Any, end: Any, first: Any, said: Any) -> Any:
    """Return P(sender s was infected by contacts start:end), at most `_MOST_CAUSED`."""
    caused = 0.0
    for c in range(start, end):
        caused += np.float64(chain[s, days[c] - first, BY_HAZARD]) * _hazard(np.float64(said[c]))
    return min(caused, _MOST_CAUSED)


@njit(cache=True)
def _tell(
    chain: Any, s: Any, p1: Any, first: Any, days: Any, mine: Any, theirs: Any, said: Any, out: Any
) -> None:
    """Fill out[mine] with what a receiver hears of s, who heard the receiver in said[theirs].

    `mine` and `theirs` are first and end in `days`. Cost: O(1) per contact, and per day from the
    first one to the last.
    """
    c, end = mine
    back, last = theirs
    rest = 1.0 / (1.0 - _caused(chain, s, days, back, last, first, said))
    turning = ill = 0.0  # E and I of the sender because of the receiver
    t = days[c] - first
    if back < last:
        t = min(t, days[back] - first)
    while c < end:
        while c < end and days[c] - first == t:
            told = (np.float64(chain[s, t, SAYS]) - ill) * rest
            out[c] = p1 * min(max(told, 0.0), 1.0)
            c += 1
        turned = np.float64(chain[s, t, TURNS]) * turning
        ill += turned - np.float64(chain[s, t, RECOVERS]) * ill
        turning -= turned
        while back < last and days[back] - first == t:
            turning += np.float64(chain[s, t, BY_HAZARD]) * _hazard(np.float64(said[back]))
            back += 1
        t += 1


@njit(cache=True, parallel=True)
def tell(
    pairs: Any, first: Any, p1: Any, chain: Any, silent: Any, said: Any, out: Any, exposures: Any
) -> None:
    """Fill out [contacts] with P(each contact infects), leaving out what came from who hears it.

    Args:
        pairs: who met whom, `Pairs`; contacts in the order of its days.
        first: number of the first day of the window.
        p1: transmission per contact.
        chain: as `chains` fills it.
        silent: who tells 0, bool [people].
        said: what was told before, float32 [contacts]; nothing (0) leaves nothing out.
        out: the result, float32 [contacts].
        exposures: float32 [days, people], filled with -Σ log(1 - told).

    Cost: O(contacts + pairs × days), people in parallel; the bits do not depend on threads.
    """
    offsets, others, reverse, starts, days, _ = pairs
    n_days, n_people = exposures.shape
    for chunk in prange((n_people + BLOCK - 1) // BLOCK):
        stays = np.empty(n_days)
        for i in range(chunk * BLOCK, min((chunk + 1) * BLOCK, n_people)):
            stays[:] = 1.0
            for e in range(offsets[i], offsets[i + 1]):
                s, r = np.uint64(others[e]), reverse[e]
                mine, theirs = (starts[e], starts[e + 1]), (starts[r], starts[r + 1])
                if mine[0] == mine[1]:
                    continue
                if silent[s]:
                    out[mine[0] : mine[1]] = 0.0
                    continue
                _tell(chain, s, p1, first, days, mine, theirs, said, out)
                for c in range(mine[0], mine[1]):
                    stays[days[c] - first] *= 1.0 - np.float64(out[c])
            for t in range(n_days):
                exposures[t, i] = -math.log(max(stays[t], _TINY))
