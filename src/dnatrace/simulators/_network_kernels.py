"""Compiled array functions that draw a population: networks and balanced rounding."""
# mypy: disallow-untyped-decorators=False

from typing import Any

import numpy as np
from numba import njit

from dnatrace.rng import ONE, ZERO, philox

_DECIDED = 1e-9  # a number closer than this to 0 or 1 has been rounded
_REWIRING_ATTEMPTS = 100  # then the edge stays: only networks of a few people are so dense
_TWO_TO_MINUS_32 = 2.0**-32
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True)
def _insert(table: Any, pair: Any) -> Any:
    """Add a pair > 0 to an open-addressing set; return False when it is already there."""
    mask = table.size - 1
    # Fibonacci hashing: the high half of the product with 2^64 divided by the golden ratio.
    slot = np.int64((np.uint64(pair) * _GOLDEN) >> np.uint64(32)) & mask
    while table[slot] != 0:
        if table[slot] == pair:
            return False
        slot = (slot + 1) & mask
    table[slot] = pair
    return True


@njit(cache=True)
def _new_partner(
    key: Any, edge: Any, end: Any, kept: Any, old: Any, n: Any, reach: Any, table: Any
) -> Any:
    for attempt in range(_REWIRING_ATTEMPTS):
        word, _, _, _ = philox(key, np.uint64(edge), np.uint64(end), np.uint64(attempt), ONE)
        new = np.int64((word * np.uint64(n)) >> np.uint64(32))
        distance = abs(new - kept)
        if min(distance, n - distance) <= reach:  # oneself, or a pair of the ring
            continue
        if _insert(table, min(new, kept) * n + max(new, kept) + 1):
            return new
    return old


@njit(cache=True)
def rewire_ring(key: Any, first: Any, second: Any, n: Any, reach: Any, probability: Any) -> Any:
    """Rewire the edges of a ring in place (Watts and Strogatz 1998), once from each end.

    An end is redrawn with the given probability among all nodes that are not a neighbour on the
    ring (within `reach`) and not yet a rewired partner, so that no pair appears twice.

    Cost: one pass over the edges, one Philox call each; memory for the rewired pairs only.
    """
    size = 16
    while size < 8 * probability * first.size + 16:
        size *= 2
    table = np.zeros(size, dtype=np.int64)
    for e in range(first.size):
        word_0, word_1, _, _ = philox(key, np.uint64(e), ZERO, ZERO, ZERO)
        if word_0 * _TWO_TO_MINUS_32 < probability:
            second[e] = _new_partner(key, e, np.int64(1), first[e], second[e], n, reach, table)
        if word_1 * _TWO_TO_MINUS_32 < probability:
            first[e] = _new_partner(key, e, np.int64(2), second[e], first[e], n, reach, table)


@njit(cache=True)
def null_vector(rows: Any) -> Any:
    """Return a vector v with v @ rows = 0 for rows [m + 1, m], by elimination with pivots.

    Cost: m³ operations.
    """
    n, m = rows.shape
    work = rows.T.copy()
    columns = np.arange(n)  # the elimination brings pivots to the front
    rank = 0
    while rank < m:
        best, best_i, best_j = 1e-9, -1, -1
        for i in range(rank, m):
            for j in range(rank, n):
                if abs(work[i, columns[j]]) > best:
                    best, best_i, best_j = abs(work[i, columns[j]]), i, j
        if best_i < 0:
            break
        columns[rank], columns[best_j] = columns[best_j], columns[rank]
        for j in range(n):
            work[rank, j], work[best_i, j] = work[best_i, j], work[rank, j]
        pivot = columns[rank]
        for i in range(m):
            if i != rank:
                factor = work[i, pivot] / work[rank, pivot]
                for j in range(n):
                    work[i, j] -= factor * work[rank, j]
        rank += 1
    vector = np.zeros(n)
    free = columns[rank]
    vector[free] = 1.0
    for i in range(rank):
        vector[columns[i]] = -work[i, free] / work[i, columns[i]]
    return vector


@njit(cache=True)
def _room(values: Any, direction: Any, sign: Any) -> Any:
    """Return how far values can move along a direction before one of them leaves [0, 1]."""
    room = np.inf
    for i in range(values.size):
        step = sign * direction[i]
        if step > 1e-12:
            room = min(room, (1.0 - values[i]) / step)
        elif step < -1e-12:
            room = min(room, values[i] / -step)
    return room


@njit(cache=True)
def decide_balanced(rest: Any, margins: Any, order: Any, draws: Any) -> None:
    """Round numbers in [0, 1] in place to 0 or 1, keeping expectations and margins.

    Moves a few numbers at a time along a direction that preserves the margins, float64 [numbers,
    margins], until one of them is 0 or 1; the last margin is given up when too few numbers are
    left. Each number takes at most one of the `draws`.

    Cost: margins³ operations per number.
    """
    n_margins = margins.shape[1]
    undecided = order.copy()
    n_open = order.size
    n_steps = 0
    while n_open > 0:
        n_margins = min(n_margins, n_open - 1)
        rows, values = np.empty((n_margins + 1, n_margins)), np.empty(n_margins + 1)
        for i in range(n_margins + 1):
            values[i] = rest[undecided[i]]
            for k in range(n_margins):
                rows[i, k] = margins[undecided[i], k]
        direction = null_vector(rows)
        forward, backward = _room(values, direction, 1.0), _room(values, direction, -1.0)
        onward = draws[n_steps] * (forward + backward) < backward
        n_steps += 1
        step = forward if onward else -backward
        for i in range(n_margins + 1):  # one by one: assigning a slice compiles for a second
            rest[undecided[i]] = values[i] + direction[i] * step
        n_kept = 0
        for i in range(n_open):
            number = undecided[i]
            if i > n_margins or _DECIDED < rest[number] < 1.0 - _DECIDED:
                undecided[n_kept] = number
                n_kept += 1
        n_open = n_kept
