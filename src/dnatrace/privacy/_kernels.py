"""The compiled parts of releases: linear forms, budgets, bounds, fast noise.

These are pure array functions. Every person is computed by one thread in a fixed order: the bits do
not depend on the number of threads. Statistics are float64, so that rounding stays far below their
sensitivity.
"""

import math
from typing import Any

import numpy as np
from numba import njit, prange

from dnatrace.inference._kernels import forward, score_of_block
from dnatrace.rng import open_unit, philox
from dnatrace.seir import BLOCK, N_STATES, backward_step

_PAIR_MARK = np.uint64(2)  # last word of the counter; `dnatrace.rng` uses 0 and 1
_RESCALE_EVERY = 8  # days; 1e6 to the power of 8 is far from the limits of float64


@njit(cache=True)
def _normal_pair(key: Any, person: Any, day: Any, pair: Any) -> Any:
    """Draw two independent standard normals at a counter (Box and Muller 1958)."""
    w0, w1, w2, w3 = philox(key, np.uint64(person), np.uint64(day), np.uint64(pair), _PAIR_MARK)
    radius = math.sqrt(-2.0 * math.log(open_unit(w0, w1)))
    angle = 2.0 * math.pi * open_unit(w2, w3)
    return radius * math.cos(angle), radius * math.sin(angle)


@njit(cache=True, parallel=True)
def add_normals(key: Any, day: Any, first_draw: Any, scale: Any, values: Any) -> None:
    """Add scale·normal(person, day, first_draw + row) to values [rows, people].

    Draws 2k and 2k + 1 are the two normals of one counter, so rows are filled two by two.
    """
    n_rows, n_people = values.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first, end = b * BLOCK, min((b + 1) * BLOCK, n_people)
        r = 0
        while r < n_rows:
            draw = first_draw + r
            even = draw % 2 == 0
            both = even and r + 1 < n_rows
            for i in range(first, end):
                if scale[r, i] > 0.0 or (both and scale[r + 1, i] > 0.0):
                    cosine, sine = _normal_pair(key, np.int64(i), day, draw // 2)
                    values[r, i] += scale[r, i] * (cosine if even else sine)
                    if both:
                        values[r + 1, i] += scale[r + 1, i] * sine
            r += 2 if both else 1


@njit(cache=True)
def _derivatives(leave: Any, stay: Any, ratio: Any, alpha: Any, model: Any, exposed: Any) -> Any:
    """Return (weights, lifts) [days, block] of a block.

    With Z the likelihood of the tests and N that of the tests and the target, both affine in
    exp(-x_t), lifts are ∂log Z/∂x_t and weights are ∂(N/Z)/∂x_t.
    """
    n_days, width = ratio.shape
    g, h = model[1], model[2]
    weights = np.zeros((n_days, width))
    lifts = np.zeros((n_days, width))
    target = np.zeros((N_STATES, width))
    target[1] = exposed
    target[2] = 1.0
    total = np.ones((N_STATES, width))
    score = np.empty(width)
    for i in range(width):
        score[i] = score_of_block(alpha, exposed, i)
    for t in range(n_days - 2, -1, -1):
        for i in range(width):  # differences E - S on day t + 1
            weights[t, i] = target[1, i] - target[0, i]
            lifts[t, i] = total[1, i] - total[0, i]
        backward_step(leave[t], stay[t], ratio[t + 1], g, h, target)
        backward_step(leave[t], stay[t], ratio[t + 1], g, h, total)
        S, E, I, R = alpha[t, 0], alpha[t, 1], alpha[t, 2], alpha[t, 3]
        for i in range(width):
            z = S[i] * total[0, i] + E[i] * total[1, i] + I[i] * total[2, i] + R[i] * total[3, i]
            reach = S[i] * stay[t, i] / z
            lifts[t, i] *= reach
            weights[t, i] = weights[t, i] * reach - score[i] * lifts[t, i]
        if t % _RESCALE_EVERY == 0:
            for i in range(width):
                scale = 1.0 / (total[0, i] + total[1, i] + total[2, i] + total[3, i])
                for k in range(N_STATES):
                    target[k, i] *= scale
                    total[k, i] *= scale
    return weights, lifts


@njit(cache=True, parallel=True)
def linear_forms(
    exposures: Any, outcomes: Any, model: Any, exposed: Any, weights: Any, lifts: Any, scores: Any
) -> None:
    """Fill weights and lifts [days, people] and scores [people] at the given exposures.

    Weights are ∂F/∂x_t; lifts are ∂log P(tests)/∂x_t, omitted when `lifts` has no rows. Cost: one
    forward pass and two backward passes.
    """
    n_days, n_people = outcomes.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        leave, stay, ratio, alpha = forward(exposures, outcomes, first, model)
        block_weights, block_lifts = _derivatives(leave, stay, ratio, alpha, model, exposed)
        width = min(BLOCK, n_people - first)
        for t in range(n_days):
            for i in range(width):
                weights[t, first + i] = block_weights[t, i]
        for t in range(lifts.shape[0]):
            for i in range(width):
                lifts[t, first + i] = block_lifts[t, i]
        for i in range(width):
            scores[first + i] = score_of_block(alpha, exposed, i)


@njit(cache=True, parallel=True)
def spend(
    weights: Any,
    counts: Any,
    moved: Any,
    squares: Any,
    mu: Any,
    budget: Any,
    least: Any,
    totals: Any,
    largest: Any,
) -> None:
    """Fill totals = Σ w_t·moved_t and largest = max w_t [people], within each day's budget.

    A day with r = √(budget² - squares)/mu left has a weight of at most r·largest; what it spends is
    added to squares [days, people]. Where the largest is below `least`, all weights are 0. See
    `budget_filter.linear_statistic`.
    """
    n_days, n_people = weights.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        width = min(BLOCK, n_people - first)
        left = np.empty((n_days, BLOCK))
        top = np.zeros(BLOCK)
        total = np.zeros(BLOCK)
        for t in range(n_days):
            for i in range(width):
                rest = budget * budget - squares[t, first + i]
                rest = math.sqrt(rest if rest > 0.0 else 0.0) / mu
                left[t, i] = rest if counts[t, first + i] > 0 else 0.0
                size = abs(weights[t, first + i]) * (rest if rest < 1.0 else 1.0)
                size = size if counts[t, first + i] > 0 else 0.0
                top[i] = size if size > top[i] else top[i]
        price = np.empty(BLOCK)
        for i in range(BLOCK):
            top[i] = top[i] if top[i] >= least else 0.0
            price[i] = mu / top[i] if top[i] > 0.0 else 0.0
        for t in range(n_days):
            for i in range(width):
                weight = weights[t, first + i]
                most = left[t, i] * top[i]
                weight = weight if weight < most else most
                weight = weight if weight > -most else -most
                total[i] += weight * moved[t, first + i]
                squares[t, first + i] += weight * price[i] * (weight * price[i])
        for i in range(width):
            largest[first + i] = top[i]
            totals[first + i] = total[i]


@njit(cache=True, parallel=True)
def evidence_ratios(outcomes: Any, counts: Any, model: Any, powers: Any, ratios: Any) -> None:
    """Fill ratios [people] with the largest P(tests from a day on | E) / P(same | S).

    The denominator is the smallest over all messages that the contact counts allow; `powers` are
    the powers of 1 - c, up to the largest count.
    """
    p0, g, h, _, ratio_negative, ratio_positive = model
    n_days, n_people = outcomes.shape
    for i in prange(n_people):
        S, E, I, R = 1.0, 1.0, 1.0, 1.0
        worst = 0.0
        for t in range(n_days - 1, 0, -1):
            # From day t + 1 to day t: first the step, then the test of the day.
            if t < n_days - 1:
                high = 1.0 - p0
                low = high * powers[counts[t, i]]
                S = min(high * S + (1.0 - high) * E, low * S + (1.0 - low) * E)
                E, I = (1.0 - g) * E + g * I, (1.0 - h) * I + h * R
            if outcomes[t, i] >= 0:
                I *= ratio_positive if outcomes[t, i] > 0 else ratio_negative
            worst = max(worst, E / S)
            scale = 1.0 / (S + E + I + R)
            S, E, I, R = S * scale, E * scale, I * scale, R * scale
        ratios[i] = worst
