"""Compiled loops over samples: histograms of messages, the scores they give, areas of scores.

Every sample is computed by one thread in a fixed order: the bits do not depend on the number of
threads.
"""

from typing import Any

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True)
def count_day(
    offsets: Any, senders: Any, levels: Any, people: Any, first_cell: int, histogram: Any
) -> None:
    """Add the messages of one day to the rows of `people` in histogram [people, cells].

    Args:
        offsets: of the day's contacts by receiver, [all + 1].
        senders: [contacts].
        levels: of the messages of the day by sender, uint8 [all].
        people: whose rows they are, ids.
        first_cell: the cell of level 0 on that day.
        histogram: uint16; the caller has made sure that no cell overflows.

    Cost: one gather per contact of `people`.
    """
    for s in prange(people.size):
        receiver = people[s]
        for c in range(offsets[receiver], offsets[receiver + 1]):
            histogram[s, first_cell + levels[senders[c]]] += np.uint16(1)


@njit(cache=True, parallel=True)
def add_up_cells(
    offsets: Any, cells: Any, repeats: Any, index: Any, hazards: Any, exposures: Any
) -> None:
    """Fill exposures [ages, index] with Σ repeats · hazards[level] of the samples of `index`.

    Cells are age · levels + level; `hazards` is float64 [levels]. Cost: O(cells).
    """
    n_levels = hazards.size
    for b in prange(index.size):
        sample = index[b]
        for age in range(exposures.shape[0]):
            exposures[age, b] = 0.0
        for i in range(offsets[sample], offsets[sample + 1]):
            cell = np.int64(cells[i])
            exposures[cell // n_levels, b] += repeats[i] * hazards[cell % n_levels]


@njit(cache=True, parallel=True)
def pool_cells(
    offsets: Any, cells: Any, repeats: Any, column: Any, table: Any, totals: Any, counts: Any
) -> None:
    """Fill totals [samples, width] with Σ repeats·table[column[cell]] and counts with Σ repeats."""
    width = table.shape[1]
    for s in prange(totals.shape[0]):
        n = 0
        for k in range(width):
            totals[s, k] = 0.0
        for i in range(offsets[s], offsets[s + 1]):
            row = column[cells[i]]
            times = np.float64(repeats[i])
            n += repeats[i]
            for k in range(width):
                totals[s, k] += times * table[row, k]
        counts[s] = n


@njit(cache=True, parallel=True)
def fill_shares(
    offsets: Any, cells: Any, repeats: Any, column: Any, index: Any, shares: Any
) -> None:
    """Fill shares [batch, columns] with each sample's share of messages by column; rows sum to 1.

    Rows of samples without messages, and rows whose index is negative, are 0.
    """
    for b in prange(shares.shape[0]):
        for k in range(shares.shape[1]):
            shares[b, k] = 0.0
        s = index[b]
        if s < 0:
            continue
        n = 0
        for i in range(offsets[s], offsets[s + 1]):
            n += repeats[i]
        scale = np.float32(1.0) / np.float32(max(n, 1))
        for i in range(offsets[s], offsets[s + 1]):
            shares[b, column[cells[i]]] += np.float32(repeats[i]) * scale


@njit(cache=True, parallel=True)
def resampled_auc(
    positive: Any, ranks: Any, weights: Any, person: Any, drawn: Any, areas: Any
) -> None:
    """Fill areas with the area under the ROC curve of every resampling of people.

    Args:
        positive: of the samples in ascending order of their scores, bool [n].
        ranks: the same number for equal scores, ascending, int64 [n].
        weights: of the samples, float64 [n].
        person: column of each sample in `drawn`, int64 [n].
        drawn: how often each person is drawn, uint8 [resamplings, people].
        areas: float64 [resamplings], the result; NaN without positives or without negatives.

    Cost: one pass over the samples per resampling; exact for weights of 1
    while products stay below 2^53.
    """
    n = positive.size
    for b in prange(areas.size):
        below, here_negative, here_positive = 0.0, 0.0, 0.0
        won, positives = 0.0, 0.0
        for i in range(n):
            if i > 0 and ranks[i] != ranks[i - 1]:
                won += here_positive * (below + 0.5 * here_negative)
                below += here_negative
                positives += here_positive
                here_negative, here_positive = 0.0, 0.0
            weight = weights[i] * drawn[b, person[i]]
            if positive[i]:
                here_positive += weight
            else:
                here_negative += weight
        won += here_positive * (below + 0.5 * here_negative)
        total = (positives + here_positive) * (below + here_negative)
        areas[b] = won / total if total > 0.0 else np.nan
