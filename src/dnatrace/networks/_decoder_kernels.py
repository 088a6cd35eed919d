"""The compiled decoder: one pass over people, nothing shared between them."""

from typing import Any

import numpy as np
from numba import njit, prange

from dnatrace.networks._runtime_kernels import BLOCK, add_scaled, relu_layer


@njit(cache=True)
def _first(
    tallies: Any, outcomes: Any, log_contacts: Any, group: Any, common: Any, weight: Any, y: Any
) -> None:
    """Fill y with the first layer of one person; most inputs are 0 (few days have a test)."""
    numbers, window = tallies.size, outcomes.size
    for k in range(y.size):
        y[k] = common[k]
    for a in range(numbers):
        add_scaled(tallies[a], weight[a], y)
    for a in range(window):
        if outcomes[a] >= 0:
            row = numbers + a if outcomes[a] == 0 else numbers + window + a
            add_scaled(np.float32(1.0), weight[row], y)
    contacts = numbers + 2 * window
    add_scaled(log_contacts, weight[contacts], y)
    if group < weight.shape[0] - contacts - 1:
        add_scaled(np.float32(1.0), weight[contacts + 1 + group], y)


@njit(cache=True, parallel=True)
def decode(
    tallies: Any,
    outcomes: Any,
    log_contacts: Any,
    age_groups: Any,
    common: Any,
    weight_0: Any,
    weight_1: Any,
    bias_1: Any,
    weight_2: Any,
    bias_2: Any,
    scores: Any,
) -> None:
    """Fill scores [people]; the newest day is first in what they are made of.

    Tallies are float32 [people, 14 × channels], outcomes int8 [people, 14];

    common holds the bias of the first layer and the inputs that are the same for everybody.
    Weights are [inputs, outputs]; an age group that weight_0 has no row for counts as unknown.
    Cost: O(people × (inputs that are not 0 + width) × width), people in parallel.
    """
    n_people = scores.size
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        first = np.empty(weight_1.shape[0], dtype=np.float32)
        second = np.empty(weight_1.shape[1], dtype=np.float32)
        last = np.empty(1, dtype=np.float32)
        for i in range(b * BLOCK, min((b + 1) * BLOCK, n_people)):
            _first(tallies[i], outcomes[i], log_contacts[i], age_groups[i], common, weight_0, first)
            relu_layer(first, weight_1, bias_1, second)
            relu_layer(second, weight_2, bias_2, last)
            scores[i] = last[0]
