"""The compiled parts of networks that run from tables.

Every person is computed by one thread in a fixed order: the bits do not depend on the number of
threads. Values that messages can change are float64, so that rounding stays far below the margin of
the certificate; values that depend on public inputs alone are float32.
"""

import math
from typing import Any

import numpy as np
from numba import njit, prange

BLOCK = 64  # people side by side
POOLED = 8  # the width that has its own kernel
LOGS = (0.25 * np.log1p(np.arange(1024))).astype(np.float32)  # of contact counts


@njit(cache=True, parallel=True)
def nearest_levels(messages: Any, midpoints: Any, levels: Any) -> None:
    """Fill levels uint8 [days, people] with the nearest grid point of messages of that shape.

    Midpoints lie between neighbouring grid points; a message exactly on one takes the upper. Cost:
    one binary search per message, about 10 ns.
    """
    n_days, n_people = messages.shape
    for person in prange(n_people):
        for t in range(n_days):
            message = messages[t, person]
            low, high = 0, midpoints.size
            while low < high:
                middle = (low + high) // 2
                if midpoints[middle] <= message:
                    low = middle + 1
                else:
                    high = middle
            levels[t, person] = low


@njit(cache=True, parallel=True)
def add_day(offsets: Any, senders: Any, levels: Any, rows: Any, totals: Any) -> None:
    """Add the rows [levels, width] of a day's messages to totals [people, width] of receivers."""
    width = rows.shape[1]
    for r in prange(totals.shape[0]):
        for i in range(offsets[r], offsets[r + 1]):
            level = levels[senders[i]]
            for k in range(width):
                totals[r, k] += rows[level, k]


@njit(cache=True, parallel=True)
def add_day_pooled(offsets: Any, senders: Any, levels: Any, rows: Any, totals: Any) -> None:
    """Do the same as `add_day` for `POOLED` columns, with sums kept in registers."""
    for r in prange(totals.shape[0]):
        a, b, c, d = totals[r, 0], totals[r, 1], totals[r, 2], totals[r, 3]
        e, f, g, h = totals[r, 4], totals[r, 5], totals[r, 6], totals[r, 7]
        for i in range(offsets[r], offsets[r + 1]):
            level = levels[senders[i]]
            a += rows[level, 0]
            b += rows[level, 1]
            c += rows[level, 2]
            d += rows[level, 3]
            e += rows[level, 4]
            f += rows[level, 5]
            g += rows[level, 6]
            h += rows[level, 7]
        totals[r, 0], totals[r, 1], totals[r, 2], totals[r, 3] = a, b, c, d
        totals[r, 4], totals[r, 5], totals[r, 6], totals[r, 7] = e, f, g, h


@njit(cache=True, parallel=True)
def add_counts(counts: Any, rows: Any, totals: Any) -> None:
    """Fill totals [people, width]: Σ over ages of counts [ages, people] × rows [ages, width]."""
    width = rows.shape[1]
    for r in prange(totals.shape[0]):
        for k in range(width):
            totals[r, k] = 0.0
        for a in range(counts.shape[0]):
            n = np.float64(counts[a, r])
            for k in range(width):
                totals[r, k] += n * rows[a, k]


@njit(cache=True)
def _gate(x: Any) -> Any:
    return x / (np.float32(1.0) + abs(x))


@njit(cache=True)
def _log(n: Any) -> Any:
    return LOGS[n] if n < LOGS.size else np.float32(0.25 * math.log1p(n))


@njit(cache=True)
def add_scaled(value: Any, row: Any, hidden: Any) -> None:
    """Add value × row to hidden."""
    for k in range(hidden.size):
        hidden[k] += value * row[k]


@njit(cache=True)
def _public_layer(
    outcomes: Any, contacts: Any, age_group: Any, i: Any, weight: Any, bias: Any, hidden: Any
) -> None:
    """Fill hidden with the first layer of public inputs; weight [inputs, width] is transposed.

    Most inputs are 0 (few days have a test), so their columns are skipped.
    """
    window = outcomes.shape[0]
    total = 0
    for k in range(hidden.size):
        hidden[k] = bias[k]
    for a in range(window):
        outcome = outcomes[a, i]
        if outcome >= 0:
            add_scaled(np.float32(1.0), weight[a if outcome > 0 else window + a], hidden)
        n = contacts[a, i]
        if n > 0:
            total += n
            add_scaled(_log(n), weight[2 * window + a], hidden)
    group = age_group[i]
    groups = weight.shape[0] - 3 * window - 1
    if group < groups:
        add_scaled(np.float32(1.0), weight[3 * window + group], hidden)
    add_scaled(_log(total), weight[-1], hidden)


@njit(cache=True)
def relu_layer(x: Any, weight: Any, bias: Any, y: Any) -> None:
    """Fill y with ReLU(x)·weight + bias, weight [inputs, outputs]; only positive inputs cost."""
    for k in range(y.size):
        y[k] = bias[k]
    for j in range(x.size):
        if x[j] > 0.0:
            add_scaled(x[j], weight[j], y)


@njit(cache=True, parallel=True)
def read_public_inputs(
    outcomes: Any,
    contacts: Any,
    age_group: Any,
    weight_0: Any,
    bias_0: Any,
    weight_1: Any,
    bias_1: Any,
    weight_2: Any,
    bias_2: Any,
    heads: Any,
) -> None:
    """Fill heads [people, rows] from public inputs; weights are transposed, [inputs, outputs].

    outcomes and contacts are [ages, people]; an age group outside the known ones counts as unknown.
    """
    n_people = heads.shape[0]
    rows, width = heads.shape[1], weight_1.shape[0]
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first = np.empty(width, dtype=np.float32)
        second = np.empty(width, dtype=np.float32)
        last = np.empty(rows, dtype=np.float32)
        for i in range(b * BLOCK, min((b + 1) * BLOCK, n_people)):
            _public_layer(outcomes, contacts, age_group, i, weight_0, bias_0, first)
            relu_layer(first, weight_1, bias_1, second)
            relu_layer(second, weight_2, bias_2, last)
            for k in range(rows):
                heads[i, k] = last[k]


@njit(cache=True)
def _maxmin(values: Any) -> None:
    for k in range(0, values.size, 2):
        if values[k] < values[k + 1]:
            values[k], values[k + 1] = values[k + 1], values[k]


@njit(cache=True, parallel=True)
def finish_tight(
    totals: Any,
    counts: Any,
    heads: Any,
    weight_1: Any,
    weight_2: Any,
    gamma: Any,
    scale: Any,
    scores: Any,
) -> None:
    """Fill scores [people] from sums of table rows [people, pooled] and heads of public inputs."""
    pooled = totals.shape[1]
    for b in prange((scores.size + BLOCK - 1) // BLOCK):
        z = np.empty(pooled)
        y = np.empty(pooled)
        for i in range(b * BLOCK, min((b + 1) * BLOCK, scores.size)):
            share = 1.0 / counts[i] if counts[i] > 0 else 0.0
            for k in range(pooled):
                z[k] = _gate(heads[i, k]) * (totals[i, k] * share) + heads[i, pooled + k]
            _maxmin(z)
            for k in range(pooled):
                y[k] = heads[i, 2 * pooled + k]
                for j in range(pooled):
                    y[k] += weight_1[k, j] * z[j]
            _maxmin(y)
            out = 0.0
            for k in range(pooled):
                out += weight_2[k] * y[k]
            gate = _gate(heads[i, 3 * pooled])
            scores[i] = gamma * (gate * out) + scale * heads[i, 3 * pooled + 1]


@njit(cache=True)
def _dense(weight: Any, bias: Any, x: Any, y: Any) -> None:
    """Fill y [outputs, block] = weight·x + bias; four inputs at a time, in a fixed order."""
    n_in, width = x.shape
    for o in range(y.shape[0]):
        for i in range(width):
            y[o, i] = bias[o]
        j = 0
        while j + 4 <= n_in:
            a, b, c, d = weight[o, j], weight[o, j + 1], weight[o, j + 2], weight[o, j + 3]
            for i in range(width):
                y[o, i] += (a * x[j, i] + b * x[j + 1, i]) + (c * x[j + 2, i] + d * x[j + 3, i])
            j += 4
        while j < n_in:
            for i in range(width):
                y[o, i] += weight[o, j] * x[j, i]
            j += 1


@njit(cache=True, parallel=True)
def finish_paper(
    totals: Any,
    counts: Any,
    shift: Any,
    weights: Any,
    biases: Any,
    last_weight: Any,
    last_bias: Any,
    scores: Any,
) -> None:
    """Fill scores [people] from sums of table rows, through the hidden layers of g2.

    totals [people, width] hold the input of the first ReLU of g2, before `shift` and the mean;
    weights are [hidden layers, width, width].
    """
    width = totals.shape[1]
    for b in prange((scores.size + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        n = min(BLOCK, scores.size - first)
        x = np.zeros((width, BLOCK))
        y = np.empty((width, BLOCK))
        for i in range(n):
            share = 1.0 / counts[first + i] if counts[first + i] > 0 else 0.0
            for k in range(width):
                x[k, i] = max(totals[first + i, k] * share + shift[k], 0.0)
        for layer in range(weights.shape[0]):
            _dense(weights[layer], biases[layer], x, y)
            for k in range(width):
                for i in range(BLOCK):
                    x[k, i] = max(y[k, i], 0.0)
        for i in range(n):
            total = 0.0
            for k in range(width):
                total += last_weight[k] * x[k, i]
            scores[first + i] = total + last_bias
