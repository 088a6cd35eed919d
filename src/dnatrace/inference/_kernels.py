"""The compiled halves of Factorised Neighbours. Pure array functions, people in parallel.

Every person is computed by one thread from inputs that no thread writes, in a fixed order: the bits
do not depend on the number of threads.
"""

import math
from typing import Any

import numpy as np
from numba import njit, prange

from dnatrace.seir import BLOCK, N_STATES, load_block, smooth_block


@njit(cache=True, parallel=True)
def message_hazards(messages: Any, p1: Any, hazards: Any) -> None:
    """Fill hazards with -log(1 - p1·message); both float32 [days, people].

    Cost: one logarithm a person-day, so a message heard by many is taken once.
    """
    n_days, n_people = messages.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        for t in range(n_days):
            for i in range(b * BLOCK, min((b + 1) * BLOCK, n_people)):
                hazards[t, i] = -math.log1p(-p1 * np.float64(messages[t, i]))


@njit(cache=True, parallel=True)
def add_up(offsets: Any, senders: Any, hazards: Any, exposure: Any) -> None:
    """Fill exposure [people] with the sum of the hazards [people] of each receiver's senders.

    Cost: one gather a contact, O(people + contacts). Three float64 sums run side by side, because
    one alone would wait for each addition; their order is that of `senders`, whatever the threads.
    """
    for r in prange(exposure.size):
        a = 0.0
        b = 0.0
        c = 0.0
        i = offsets[r]
        end = offsets[r + 1]
        while i + 2 < end:
            a += hazards[senders[i]]
            b += hazards[senders[i + 1]]
            c += hazards[senders[i + 2]]
            i += 3
        while i < end:
            a += hazards[senders[i]]
            i += 1
        exposure[r] = a + b + c


@njit(cache=True)
def _posterior_block(exposures: Any, outcomes: Any, first: int, model: Any) -> Any:
    """Return the posteriors [days, 4, block] of the people from `first` on."""
    n_days = outcomes.shape[0]
    leave = np.empty((n_days, BLOCK))
    stay = np.empty((n_days, BLOCK))
    ratio = np.empty((n_days, BLOCK))
    posterior = np.empty((n_days, N_STATES, BLOCK))
    load_block(exposures, outcomes, first, model, leave, stay, ratio)
    smooth_block(leave, stay, ratio, model[0], model[1], model[2], posterior)
    return posterior


@njit(cache=True, parallel=True)
def infected_marginals(exposures: Any, outcomes: Any, model: Any, infected: Any) -> None:
    """Fill infected [days, people] with the posterior P(I).

    Args:
        exposures: float32 [days, people]; the last day changes nothing and is not read.
        outcomes: int8 [days, people], 1, 0 or -1 without a test.
        model: float64 [6], see `seir.pack_model`.
        infected: float32, the result.

    Cost: O(days × people); one exponential and about 40 flops a person-day.
    """
    n_days, n_people = outcomes.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        posterior = _posterior_block(exposures, outcomes, first, model)
        for t in range(n_days):
            for i in range(min(BLOCK, n_people - first)):
                infected[t, first + i] = posterior[t, 2, i]


@njit(cache=True, parallel=True)
def hazard_marginals(exposures: Any, outcomes: Any, model: Any, p1: Any, hazards: Any) -> None:
    """Fill hazards [days, people] with -log(1 - p1·P(I)), without rounding P(I) on the way.

    Rounded to float32, a certain P(I) would lose 1 - p1·P(I) when p1 is near 1. Else as
    `infected_marginals`, with one logarithm more a person-day.
    """
    n_days, n_people = outcomes.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        posterior = _posterior_block(exposures, outcomes, first, model)
        for t in range(n_days):
            for i in range(min(BLOCK, n_people - first)):
                caught = p1 * posterior[t, 2, i]
                if caught < 0.5:
                    hazard = -math.log1p(-caught)
                else:
                    others = posterior[t, 0, i] + posterior[t, 1, i] + posterior[t, 3, i]
                    hazard = -math.log((1.0 - p1) + p1 * others)
                hazards[t, first + i] = hazard


@njit(cache=True, parallel=True)
def all_marginals(exposures: Any, outcomes: Any, model: Any, beliefs: Any) -> None:
    """Fill beliefs [people, days, 4] with the posterior of every state; else as above."""
    n_days, n_people = outcomes.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        posterior = _posterior_block(exposures, outcomes, first, model)
        for i in range(min(BLOCK, n_people - first)):
            for t in range(n_days):
                for k in range(N_STATES):
                    beliefs[first + i, t, k] = posterior[t, k, i]
