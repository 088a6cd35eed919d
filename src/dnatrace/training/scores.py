"""The scores of samples: F by Factorised Neighbours, G by a network, and the network's inputs."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dnatrace.errors import InputError
from dnatrace.networks.architecture import (
    AGE_GROUPS,
    N_PUBLIC_INPUTS,
    WINDOW,
    Architecture,
    levels_up_to,
)
from dnatrace.networks.runtime import Model, PublicView
from dnatrace.seir import SeirParameters, State, TestErrors, last_day_marginals, pack_model
from dnatrace.training.samples import Samples

_CHUNK = 65_536  # samples whose exposures are held at once


def fn_scores(
    samples: Samples,
    gamma: float,
    parameters: SeirParameters,
    test_errors: TestErrors,
    with_exposed: bool = False,
    zeroed: bool = False,
) -> NDArray[np.float64]:
    """Return F of every sample with messages clipped to [0, γ]: float64 [n].

    Guarantee: it is the score that Factorised Neighbours gives for the quantised messages, P(I) on
    the release day, or P(E) + P(I) with `with_exposed`. With `zeroed`, every message is read as 0.
    Cost: O(cells + 14·n); 150 bytes per sample of a chunk at a time.
    """
    if not 0.0 < gamma <= 1.0:
        raise InputError(f"gamma must be greater than 0 and at most 1, not {gamma}")
    clipped = np.minimum(samples.grid.astype(np.float64), 0.0 if zeroed else gamma)
    hazards = -np.log1p(-parameters.p1 * clipped)
    model = pack_model(parameters, test_errors)
    held = np.minimum(samples.day, WINDOW)
    scores = np.empty(len(samples))
    for n_days in np.unique(held):
        group = np.flatnonzero(held == n_days)
        oldest_first = slice(int(n_days) - 1, None, -1)
        for start in range(0, group.size, _CHUNK):
            index = group[start : start + _CHUNK]
            exposures, beliefs = _exposures(samples.take(index), hazards), np.empty((index.size, 4))
            outcomes = np.ascontiguousarray(samples.outcomes[index].T)
            last_day_marginals(exposures[oldest_first], outcomes[oldest_first], model, beliefs)
            scores[index] = beliefs[:, State.I] + (beliefs[:, State.E] if with_exposed else 0.0)
    return scores


def _exposures(samples: Samples, hazards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the exposures by age, Σ repeats · hazards[level]: float64 [14, n]."""
    age, level = np.divmod(samples.cells.astype(np.int64), hazards.size)
    n = len(samples)
    place = age * n + np.repeat(np.arange(n), np.diff(samples.offsets))
    added = np.bincount(place, weights=samples.repeats * hazards[level], minlength=WINDOW * n)
    return np.asarray(added, dtype=np.float64).reshape(WINDOW, n)


def network_scores(model: Model, samples: Samples, *, zeroed: bool = False) -> NDArray[np.float64]:
    """Return G of every sample; with `zeroed`, every message is read as 0.

    Cost: one table row per cell, then the layers after the mean.
    """
    column = columns_of(samples.grid, model.architecture, zeroed=zeroed)
    if not np.array_equal(samples.grid[: model.grid.size], model.grid):
        raise InputError("the samples use another message grid than the model")
    by_row = csr_array(
        (samples.repeats.astype(np.float64), column[samples.cells], samples.offsets),
        shape=(len(samples), len(model.table)),
    )
    view = PublicView(
        model=model,
        outcomes=np.ascontiguousarray(samples.outcomes.T),
        contacts=np.ascontiguousarray(samples.contacts.T),
        age_groups=samples.age_group,
    )
    return view.finish(by_row @ model.table, samples.n_messages)


def columns_of(
    grid: NDArray[np.float32], architecture: Architecture, *, zeroed: bool = False
) -> NDArray[np.int64]:
    """Return the row of the table for every cell of a sample: int64 [14 × levels of the grid].

    Levels above γ are read as γ; networks without messages, and `zeroed`, read every level as 0.
    """
    kept = levels_up_to(grid, architecture.gamma)
    level = np.minimum(np.arange(grid.size), kept - 1)
    if zeroed or not architecture.uses_messages:
        level = np.zeros_like(level)
    return (np.arange(WINDOW)[:, None] * kept + level).ravel()


def message_shares(samples: Samples, column: NDArray[np.int64], n_columns: int) -> csr_array:
    """Return each sample's share of messages by row of the table: float32 [n, columns].

    Rows sum to 1; those of samples without messages are 0. Cells that share a row of the table are
    adjacent and add up when rows become dense.
    """
    scale = np.float32(1.0) / np.maximum(samples.n_messages, 1).astype(np.float32)
    shares = samples.repeats.astype(np.float32) * np.repeat(scale, np.diff(samples.offsets))
    shape = (len(samples), n_columns)
    return csr_array((shares, column[samples.cells], samples.offsets), shape=shape)


def public_inputs(samples: Samples) -> NDArray[np.float32]:
    """Return the public inputs of `tight` as dense rows: float32 [n, inputs].

    The compiled kernel does not build these rows; training and ONNX do.
    """
    inputs = np.zeros((len(samples), N_PUBLIC_INPUTS), dtype=np.float32)
    inputs[:, :WINDOW] = samples.outcomes > 0
    inputs[:, WINDOW : 2 * WINDOW] = samples.outcomes == 0
    inputs[:, 2 * WINDOW : 3 * WINDOW] = 0.25 * np.log1p(samples.contacts)
    known = np.flatnonzero(samples.age_group < AGE_GROUPS)
    inputs[known, 3 * WINDOW + samples.age_group[known].astype(np.int64)] = 1.0
    inputs[:, -1] = 0.25 * np.log1p(samples.contacts.sum(axis=1))
    return inputs
