"""Projection: the nearest network whose maps on the path of messages have norm at most 1."""

import numpy as np
from numpy.typing import NDArray

from dnatrace.networks.architecture import Architecture, Weights
from dnatrace.networks.certificate import spectral_norm

# Projected norms stay this much below 1, so that rounding to float32 does not lift them above it.
_BELOW_ONE = 1e-6


def project(architecture: Architecture, weights: Weights) -> dict[str, NDArray[np.float32]]:
    """Return float32 weights whose maps on the path of messages have norm at most 1.

    Singular values above 1 are lowered to 1 (minus 1e-6), the others stay: this is the nearest such
    matrix in Frobenius norm. Other weights are unchanged.
    """
    projected = {name: np.asarray(w, dtype=np.float32) for name, w in weights.items()}
    for name in architecture.message_path():
        projected[name] = _below_one(np.asarray(weights[name], dtype=np.float64))
    return projected


def _below_one(weight: NDArray[np.float64]) -> NDArray[np.float32]:
    left, values, right = np.linalg.svd(weight, full_matrices=False)
    ceiling = 1.0 - _BELOW_ONE
    while True:
        lowered = (left * np.minimum(values, ceiling) @ right).astype(np.float32)
        if spectral_norm(lowered) <= 1.0:
            return lowered
        ceiling -= _BELOW_ONE  # rounding to float32 lifted it; rare
