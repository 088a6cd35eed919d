"""The compiled parts of Factorised Neighbours, and scores from exposures.

These are pure array functions, with people in parallel. Every person is computed by one thread from
inputs that no thread writes, in a fixed order: the bits do not depend on the number of threads.
"""

import math
from typing import Any

import numpy as np
from numba import njit, prange

from dnatrace.seir import BLOCK, N_STATES, forward_block, load_block, smooth_block


@njit(cache=True, parallel=True)
def message_hazards(messages: Any, p1: Any, hazards: Any) -> None:
    """Fill hazards with -log(1 - p1·message); both float32 [days, people].

    Cost: one logarithm per person-day, so a message with many receivers is converted once.
    """
    n_days, n_people = messages.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        for t in range(n_days):
            for i in range(b * BLOCK, min((b + 1) * BLOCK, n_people)):
                hazards[t, i] = -math.log1p(-p1 * np.float64(messages[t, i]))


@njit(cache=True)
def posterior_block(exposures: Any, outcomes: Any, first: int, model: Any) -> Any:
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
        exposures: float32 [days, people]; the last day has no effect and is not read.
        outcomes: int8 [days, people], 1, 0, or -1 without a test.
        model: float64 [6], see `seir.pack_model`.
        infected: float32, the result.

    Cost: O(days × people); one exponential and about 40 flops per person-day.
    """
    n_days, n_people = outcomes.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        posterior = posterior_block(exposures, outcomes, first, model)
        for t in range(n_days):
            for i in range(min(BLOCK, n_people - first)):
                infected[t, first + i] = posterior[t, 2, i]


@njit(cache=True, parallel=True)
def hazard_marginals(exposures: Any, outcomes: Any, model: Any, p1: Any, hazards: Any) -> None:
    """Fill hazards [days, people] with -log(1 - p1·P(I)), without rounding P(I) on the way.

    Rounded to float32, a P(I) near 1 would lose 1 - p1·P(I) when p1 is near 1. Otherwise as
    `infected_marginals`, with one more logarithm per person-day.
    """
    n_days, n_people = outcomes.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        posterior = posterior_block(exposures, outcomes, first, model)
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
    """Fill beliefs [people, days, 4] with the posterior of every state; otherwise as above."""
    n_days, n_people = outcomes.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        posterior = posterior_block(exposures, outcomes, first, model)
        for i in range(min(BLOCK, n_people - first)):
            for t in range(n_days):
                for k in range(N_STATES):
                    beliefs[first + i, t, k] = posterior[t, k, i]


@njit(cache=True, parallel=True)
def clipped_hazards(messages: Any, ceiling: Any, p1: Any, hazards: Any) -> None:
    """Fill hazards with -log(1 - p1·message), the message clipped to [0, ceiling] before the log.

    `messages` is float [people], `hazards` float64 [people].
    """
    for i in prange(messages.size):
        message = min(max(np.float64(messages[i]), 0.0), ceiling)
        hazards[i] = -math.log1p(-p1 * message)


@njit(cache=True, parallel=True)
def add_up(offsets: Any, senders: Any, values: Any, totals: Any) -> None:
    """Fill totals [people] with the sum of the values [people] of each receiver's senders.

    Cost: one gather per contact, O(people + contacts). Two float64 sums run side by side, because a
    single one would wait for each addition; their order is that of `senders`, whatever the threads.
    """
    for r in prange(totals.size):
        a = 0.0
        b = 0.0
        i = offsets[r]
        end = offsets[r + 1]
        while i + 1 < end:
            a += values[senders[i]]
            b += values[senders[i + 1]]
            i += 2
        if i < end:
            a += values[senders[i]]
        totals[r] = a + b


@njit(cache=True)
def forward(exposures: Any, outcomes: Any, first: int, model: Any) -> Any:
    """Return (leave, stay, ratio) [days, block] and alpha [days, 4, block] of a block."""
    n_days = outcomes.shape[0]
    leave = np.empty((n_days, BLOCK))
    stay = np.empty((n_days, BLOCK))
    ratio = np.empty((n_days, BLOCK))
    alpha = np.empty((n_days, N_STATES, BLOCK))
    load_block(exposures, outcomes, first, model, leave, stay, ratio)
    forward_block(leave, stay, ratio, model[0], model[1], model[2], alpha)
    return leave, stay, ratio, alpha


@njit(cache=True)
def score_of_block(alpha: Any, exposed: Any, i: Any) -> Any:
    """Return P(I) + exposed·P(E) of person i of a block, on the last day."""
    last = alpha[alpha.shape[0] - 1]
    total = last[0, i] + last[1, i] + last[2, i] + last[3, i]
    return (last[2, i] + exposed * last[1, i]) / total


@njit(cache=True, parallel=True)
def last_day_scores(exposures: Any, outcomes: Any, model: Any, exposed: Any, scores: Any) -> None:
    """Fill scores [people] with P(I) + exposed·P(E) on the last day, given exposures and tests.

    `exposures` is float64 [days, people]; its last day has no effect. Beliefs of the last day need
    no backward pass.
    """
    n_people = outcomes.shape[1]
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        _, _, _, alpha = forward(exposures, outcomes, first, model)
        for i in range(min(BLOCK, n_people - first)):
            scores[first + i] = score_of_block(alpha, exposed, i)
