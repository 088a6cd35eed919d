"""The compiled loop over resamplings of people: areas of scores.

Every resampling is computed by one thread in a fixed order: the bits do not depend on the number of
threads.
"""

from typing import Any

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True)
def resampled_auc(
    positive: Any, ranks: Any, weights: Any, person: Any, drawn: Any, areas: Any
) -> None:
    """Fill areas with the area under the ROC curve of every resampling of people.

    Args:
        positive: whether samples, in ascending order of their scores, are positive, bool [n].
        ranks: the same number for equal scores, ascending, int64 [n].
        weights: the weights of the samples, float64 [n].
        person: the column of each sample's person in `drawn`, int64 [n].
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
