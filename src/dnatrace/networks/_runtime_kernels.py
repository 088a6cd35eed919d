"""The compiled parts of inference: networks from tables, and decoders.

Every person is computed by one thread in a fixed order: the bits do not depend on the number of
threads. What messages can change is float64, so that rounding stays far below the margin of the
certificate; what public inputs alone decide is float32.
"""

import math
from typing import Any

import numpy as np
from numba import njit, prange

BLOCK = 64  # people side by side
DECODER_DAYS = 14  # of own tests that decoders read
POOLED = 8  # width with a kernel of its own
LOGS = (0.25 * np.log1p(np.arange(1024))).astype(np.float32)  # of contact counts


@njit(cache=True, parallel=True)
def nearest_levels(messages: Any, midpoints: Any, levels: Any) -> None:
    """Fill levels uint8 [days, people] with the nearest grid point of messages of that shape.

    Midpoints lie between neighbouring grid points; a message on one takes the upper.
    Cost: one binary search per message, about 10 ns.
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
    """As `add_day` for `POOLED` columns, sums kept in registers."""
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

    Most inputs are 0 (few days have a test), so their columns are left out.
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

    totals [people, width] hold what enters the first ReLU of g2 but for `shift` and the mean;
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


@njit(cache=True)
def _layer(
    x: Any, begin: Any, rows: Any, start: Any, weight: Any, used: Any, y: Any, width: Any
) -> None:
    """Fill y [outputs, block] with start [outputs] and the rows of x times weights they use.

    The people of the block are x[:, begin : begin + width]; row rows[m] of x has the weights
    weight[used[m]]. Products are added one after the other in that order, so that sums have the
    same bits whatever the block; four at a time, which spares memory.
    """
    end, m = begin + width, 0
    for o in range(y.shape[0]):
        for i in range(width):
            y[o, i] = start[o]
    while m + 4 <= rows.size:
        # Views, so that the inner loop counts from 0 and is compiled for vectors.
        a, b = x[rows[m], begin:end], x[rows[m + 1], begin:end]
        c, d = x[rows[m + 2], begin:end], x[rows[m + 3], begin:end]
        for o in range(y.shape[0]):
            p, q = weight[used[m], o], weight[used[m + 1], o]
            r, s = weight[used[m + 2], o], weight[used[m + 3], o]
            out = y[o]
            for i in range(width):
                out[i] = (((out[i] + p * a[i]) + q * b[i]) + r * c[i]) + s * d[i]
        m += 4
    while m < rows.size:
        a = x[rows[m], begin:end]
        for o in range(y.shape[0]):
            p, out = weight[used[m], o], y[o]
            for i in range(width):
                out[i] += p * a[i]
        m += 1


@njit(cache=True)
def _add_known(
    outcomes: Any,
    log_contacts: Any,
    groups: Any,
    diary: Any,
    begin: Any,
    weight: Any,
    first_test: Any,
    hidden: Any,
    width: Any,
) -> None:
    """Add to hidden [outputs, block] what people know, newest test first; few days have one.

    Rows of the diary, where one is read, are the last of the weights: three per day, and whether
    the newest day has an entry of a fourth kind (`decoder.DIARY_ROWS`).
    """
    n_days = outcomes.shape[0]
    contacts = first_test + 2 * DECODER_DAYS
    of_diary = weight.shape[0] - (3 * DECODER_DAYS + 1 if diary.shape[0] else 0)
    for age in range(n_days):
        for i in range(width):
            outcome = outcomes[n_days - 1 - age, begin + i]
            if outcome >= 0:
                row = first_test + age if outcome == 0 else first_test + DECODER_DAYS + age
                for o in range(hidden.shape[0]):
                    hidden[o, i] += weight[row, o]
    for o in range(hidden.shape[0]):
        for i in range(width):
            hidden[o, i] += log_contacts[begin + i] * weight[contacts, o]
    for i in range(width):
        group = groups[begin + i]
        if group < of_diary - contacts - 1:
            for o in range(hidden.shape[0]):
                hidden[o, i] += weight[contacts + 1 + group, o]
    if of_diary < weight.shape[0]:
        _add_diary(diary, begin, weight, of_diary, hidden, width)


@njit(cache=True)
def _add_diary(
    diary: Any, begin: Any, weight: Any, first_row: Any, hidden: Any, width: Any
) -> None:
    """Add what people wrote down to hidden [outputs, block], newest day first; most of it is 0."""
    n_days = diary.shape[0]
    for i in range(width):
        for age in range(n_days):
            flags = diary[n_days - 1 - age, begin + i]
            for k in range(3):
                if flags & (1 << k):
                    for o in range(hidden.shape[0]):
                        hidden[o, i] += weight[first_row + k * DECODER_DAYS + age, o]
        if n_days and diary[n_days - 1, begin + i] & 8:
            for o in range(hidden.shape[0]):
                hidden[o, i] += weight[first_row + 3 * DECODER_DAYS, o]


@njit(cache=True)
def _rectify(values: Any) -> None:
    for o in range(values.shape[0]):
        for i in range(values.shape[1]):
            values[o, i] = values[o, i] if values[o, i] > 0.0 else np.float32(0.0)


@njit(cache=True, nogil=True)
def decode(
    begin: Any,
    end: Any,
    numbers: Any,
    rows: Any,
    used: Any,
    outcomes: Any,
    log_contacts: Any,
    groups: Any,
    diary: Any,
    common: Any,
    weight_0: Any,
    weight_1: Any,
    bias_1: Any,
    weight_2: Any,
    bias_2: Any,
    first_test: Any,
    scores: Any,
) -> None:
    """Fill scores [people] of the people from `begin` to before `end`, blocks of them side by side.

    Numbers are float32 [rows, people]; row rows[m] is the input that has weights weight_0[used[m]],
    and inputs without a row are 0. Outcomes are int8 [days, people], the oldest first, at most 14;
    weights of tests begin at weight_0[first_test]. The diary is uint8 [days, people], the oldest
    first, [0, people] where none is read. `common` holds the bias of the first layer and
    the inputs that are the same for everybody. Weights are [inputs, outputs]; an age group that
    weight_0 has no row for counts as unknown.
    Cost: O(people × (rows + width) × width).
    """
    every = np.arange(weight_1.shape[0])
    first = np.zeros((weight_1.shape[0], BLOCK), dtype=np.float32)
    second = np.zeros((weight_1.shape[1], BLOCK), dtype=np.float32)
    last = np.zeros((1, BLOCK), dtype=np.float32)
    for b in range(begin, end, BLOCK):
        width = min(BLOCK, end - b)
        _layer(numbers, b, rows, common, weight_0, used, first, width)
        _add_known(outcomes, log_contacts, groups, diary, b, weight_0, first_test, first, width)
        _rectify(first)
        _layer(first, np.int64(0), every, bias_1, weight_1, every, second, width)
        _rectify(second)
        _layer(second, np.int64(0), every, bias_2, weight_2, every, last, width)
        for i in range(width):
            scores[b + i] = last[0, i]
