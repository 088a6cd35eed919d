"""The compiled parts of decoders: two hidden layers, blocks of people side by side.

Sums have the same order, and so the same bits, whatever the block and the number of threads.
"""

from typing import Any

import numpy as np
from numba import njit

BLOCK = 64  # people side by side
DECODER_DAYS = 14  # days of own tests that decoders read


@njit(cache=True)
def _layer(
    x: Any, begin: Any, rows: Any, start: Any, weight: Any, used: Any, y: Any, width: Any
) -> None:
    """Fill y [outputs, block] with start [outputs] and the rows of x times weights they use.

    The people of the block are x[:, begin : begin + width]; row rows[m] of x has the weights
    weight[used[m]]. Products are added one after another in that order, so that sums have the same
    bits whatever the block; four at a time, which saves memory traffic.
    """
    end, m = begin + width, 0
    for o in range(y.shape[0]):
        for i in range(width):
            y[o, i] = start[o]
    while m + 4 <= rows.size:
        # Views, so that the inner loop counts from 0 and is vectorised.
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
    """Add what people know to hidden [outputs, block], newest test first; few days have one.

    Rows of the diary, where one is read, come last in the weights: three per day, and whether the
    newest day has an entry of a fourth kind (`decoder.DIARY_ROWS`).
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
    """Add diary entries to hidden [outputs, block], newest day first; most of them are 0."""
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
    """Fill scores [people] for the people `begin` … `end` - 1, in blocks of people side by side.

    Numbers are float32 [rows, people]; row rows[m] is the input with weights weight_0[used[m]], and
    inputs without a row are 0. Outcomes are int8 [days, people], the oldest first, at most 14;
    weights of tests begin at weight_0[first_test]. The diary is uint8 [days, people], the oldest
    first, [0, people] where none is read. `common` holds the bias of the first layer and the inputs
    that are the same for everybody. Weights are [inputs, outputs]; an age group without a row in
    weight_0 counts as unknown. Cost: O(people × (rows + width) × width).
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
