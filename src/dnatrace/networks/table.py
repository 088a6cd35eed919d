"""The table: everything before the mean, one row per (age, level), computed once per model.

Messages take one of a few levels and one of 14 ages. The first linear map after the mean is folded
into the table, so that a person's window costs one row per message.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.networks.architecture import WINDOW, Architecture, Kind

Floats = NDArray[np.float64]
Layers = tuple[NDArray[Any], ...]


def table_inputs(grid: NDArray[np.float32]) -> tuple[Floats, NDArray[np.int64]]:
    """Return message and age of every row of the table: float64 and int64 [14 × levels]."""
    ages = np.repeat(np.arange(WINDOW), grid.size)
    return np.tile(grid.astype(np.float64), WINDOW), ages


def fold(
    architecture: Architecture,
    weights: Mapping[str, NDArray[np.float32]],
    grid: NDArray[np.float32],
) -> tuple[Floats, Layers]:
    """Return the table and the layers after it, as the kernels take them."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    messages, ages = table_inputs(grid)
    if architecture.kind is Kind.PAPER:
        return _fold_paper(architecture, w, messages, ages)
    h = (messages / architecture.gamma)[:, None] * w["message.0.weight"][:, 0]
    h = _times(_maxmin(h + w["message.0.bias"][ages]), w["message.1.weight"])
    table = _times(_maxmin(h + w["message.1.bias"][ages]), w["pool.0.weight"])
    public: Layers = ()
    for name in ("context.0", "context.1", "head"):
        weight = np.ascontiguousarray(weights[f"{name}.weight"].T)
        public += (weight, weights[f"{name}.bias"])
    return table, (*public, w["pool.1.weight"], w["pool.2.weight"][0])


def _fold_paper(
    a: Architecture, w: dict[str, Floats], messages: Floats, ages: NDArray[np.int64]
) -> tuple[Floats, Layers]:
    h = np.stack([messages, ages / (WINDOW - 1)], axis=1)
    for i in range(a.depth):
        h = _times(h, w[f"g1.{i}.weight"]) + w[f"g1.{i}.bias"]
        h = h if i == a.depth - 1 else np.maximum(h, 0.0)
    table = _times(h, w["g2.0.weight"])
    hidden = range(1, a.depth - 1)
    middle = np.array([w[f"g2.{i}.weight"] for i in hidden]).reshape(-1, a.width, a.width)
    biases = np.array([w[f"g2.{i}.bias"] for i in hidden]).reshape(-1, a.width)
    last = f"g2.{a.depth - 1}"
    return table, (
        w["g2.0.bias"],
        middle,
        biases,
        w[f"{last}.weight"][0],
        w[f"{last}.bias"][0],
    )


def _times(rows: Floats, weight: Floats) -> Floats:
    """Return rows [n, inputs] times a map [outputs, inputs], summed input by input.

    A matrix library sums in its own order, which depends on the processor: the table of one model
    would then differ in its last bits on another machine.
    """
    total = np.zeros((len(rows), len(weight)))
    for k in range(weight.shape[1]):
        total += rows[:, k, None] * weight[:, k]
    return total


def _maxmin(values: Floats) -> Floats:
    pairs = values.reshape(len(values), -1, 2)
    return np.stack([pairs.max(axis=2), pairs.min(axis=2)], axis=2).reshape(values.shape)
