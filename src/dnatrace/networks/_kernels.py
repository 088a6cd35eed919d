"""Compiled loops over samples: histograms of messages, and the belief they give.

Every sample is computed by one thread in a fixed order: the bits do not depend on the number of
threads.
"""

from typing import Any

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True)
def nearest_levels(messages: Any, midpoints: Any, levels: Any) -> None:
    """Fill levels with the number of the nearest grid point of every message.

    Args:
        messages: float32 [days, people].
        midpoints: between neighbouring grid points, ascending, float32 [grid - 1].
        levels: uint8 [days, people], the result; a message on a midpoint takes the upper one.

    Cost: one binary search a message, about 10 ns.
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

    Cost: one gather a contact of `people`.
    """
    for s in prange(people.size):
        receiver = people[s]
        for c in range(offsets[receiver], offsets[receiver + 1]):
            histogram[s, first_cell + levels[senders[c]]] += np.uint16(1)


@njit(cache=True, parallel=True)
def count_cells(histogram: Any, sizes: Any) -> None:
    """Fill sizes with the number of cells of each row that are not empty."""
    for s in prange(histogram.shape[0]):
        size = 0
        for cell in range(histogram.shape[1]):
            size += histogram[s, cell] != 0
        sizes[s] = size


@njit(cache=True, parallel=True)
def fill_cells(histogram: Any, offsets: Any, cells: Any, repeats: Any) -> None:
    """Write the cells that are not empty, ascending, from offsets[row] on."""
    for s in prange(histogram.shape[0]):
        place = offsets[s]
        for cell in range(histogram.shape[1]):
            if histogram[s, cell] != 0:
                cells[place] = cell
                repeats[place] = histogram[s, cell]
                place += 1


@njit(cache=True, parallel=True)
def fill_batch(offsets: Any, cells: Any, repeats: Any, index: Any, batch: Any) -> None:
    """Fill batch [index, cells] with the histograms of the samples of `index`.

    Cost: one write a cell of the batch and one a cell that is not empty.
    """
    for b in prange(index.size):
        sample = index[b]
        for cell in range(batch.shape[1]):
            batch[b, cell] = 0.0
        for i in range(offsets[sample], offsets[sample + 1]):
            batch[b, cells[i]] = repeats[i]


@njit(cache=True, parallel=True)
def take_rows(offsets: Any, values: Any, index: Any, new_offsets: Any, taken: Any) -> None:
    """Copy the compressed rows of `index` one after the other."""
    for b in prange(index.size):
        start = offsets[index[b]]
        for i in range(new_offsets[b + 1] - new_offsets[b]):
            taken[new_offsets[b] + i] = values[start + i]


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

    Cost: one pass over the samples a resampling; exact for weights of 1
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
