"""Compiled array functions that carry yesterday's messages into the window of today."""

from typing import Any

import numpy as np
from numba import njit, prange

from dnatrace.inference._pair_kernels import CHUNK, NONE
from dnatrace.inference.course import REACH


@njit(cache=True, parallel=True)
def carry_messages(
    pairs: Any, origins: Any, before: Any, old_slots: Any, model: Any, moved: Any, out: Any
) -> None:
    """Write yesterday's messages to `out`, silent so far, where a pair met before.

    `moved` says by how many days the window moved; vectors move with it. A pair that met once and
    meets again gets the vector that its two numbers stand for, and the other way round.
    """
    n_people = pairs.offsets.size - 1
    for chunk in prange((n_people + CHUNK - 1) // CHUNK):
        begin, end = chunk * CHUNK, min((chunk + 1) * CHUNK, n_people)
        _carry_to(pairs, origins, before, old_slots, model, moved, begin, end, out)


@njit(cache=True)
def _carry_to(
    pairs: Any,
    origins: Any,
    before: Any,
    old_slots: Any,
    model: Any,
    moved: Any,
    begin: Any,
    end: Any,
    out: Any,
) -> None:
    """Carry all messages to people from `begin` on."""
    offsets, others, _, starts, days, slots = pairs
    q, b, vectors = out
    was_q, was_b, was_vectors = before
    transmissions, groups, n_days = model.transmissions, model.groups, model.n_days
    for e in range(offsets[begin], offsets[end]):
        was, slot = origins[e], slots[e]
        if was == NONE:
            continue  # nothing was said, as `out` says already
        was_slot = old_slots[was]
        if slot == NONE and was_slot == NONE:
            q[e], b[e] = was_q[was], was_b[was]
        elif slot == NONE:
            d = days[starts[e]] - model.first + moved
            passes = transmissions[groups[others[e]]]
            _to_numbers(was_vectors[was_slot], d, passes, n_days, q, b, e)
        elif was_slot != NONE:
            _move_vector(was_vectors, was_slot, moved, n_days, vectors, slot)
        elif starts[e] < starts[e + 1]:
            d = days[starts[e]] - model.first
            passes = transmissions[groups[others[e]]]
            _to_vector(was_q[was], was_b[was], d, passes, n_days, vectors[slot])


@njit(cache=True)
def _to_numbers(vector: Any, d: Any, passes: Any, n_days: Any, q: Any, b: Any, e: Any) -> None:
    """Read (q, b) off a vector; d counts in the days of the vector."""
    reach = passes.size
    q[e] = min(max(vector[reach + n_days + d], 0.0), 1.0)
    k = np.argmax(passes)
    if passes[k] > 0.0:
        b[e] = vector[d + k] / passes[k]


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
