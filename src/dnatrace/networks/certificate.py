"""What is proved of a network: exact norms in float64, a Lipschitz bound, a digest of its weights.

G changes by at most L·|μ - μ'|/C when one of C messages changes from μ to μ': the mean divides by
C, ReLU and MaxMin are 1-Lipschitz, gates are at most 1 in size, biases and public facts cancel, and
a linear map stretches by at most its largest singular value. L is the product of these values,
computed from the weights that inference uses, with a margin for its rounding. Messages lie in
[0, γ], so γ·L/C bounds |G(D) - G(D')|, whether or not they are rounded to levels first.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.networks.architecture import Architecture, Weights

# Relative. Inference is float64: sums of 2,000 messages through twenty layers err by about 1e-12.
MARGIN = 1e-6
# Projected norms stay below 1 by this much, so that rounding to float32 does not lift them above.
_BELOW_ONE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerNorm:
    """One linear map on the path of messages.

    Attributes:
        name: of its weight.
        shape: of its weight.
        norm: its largest singular value.
    """

    name: str
    shape: tuple[int, ...]
    norm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The bound of a network and what it was computed from.

    Attributes:
        layers: norms on the path of messages, in order; none for a network without messages.
        lipschitz_bound: |ΔG| ≤ lipschitz_bound·|Δμ|/C.
        digest: of the weights, the grid and the architecture.
    """

    layers: tuple[LayerNorm, ...]
    lipschitz_bound: float
    digest: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as a model file holds them."""
        layers = [{"name": x.name, "shape": list(x.shape), "norm": x.norm} for x in self.layers]
        return {
            "lipschitz_bound": self.lipschitz_bound,
            "margin": MARGIN,
            "digest": self.digest,
            "layers": layers,
        }


def spectral_norm(weight: NDArray[Any]) -> float:
    """Return the largest singular value, float64."""
    return float(np.linalg.svd(weight.astype(np.float64), compute_uv=False)[0])


def certify(architecture: Architecture, weights: Weights, grid: NDArray[np.float32]) -> Certificate:
    """Return the certificate of effective weights.

    Guarantee: |G(D) - G(D')| ≤ lipschitz_bound·|μ - μ'|/C for windows that differ in one message.
    Edge cases: 0 for a network that reads every message as 0.
    Cost: one singular value decomposition a layer, milliseconds.
    """
    check_weights(architecture, weights)
    path = architecture.message_path() if architecture.uses_messages else ()
    layers = tuple(
        LayerNorm(name=name, shape=weights[name].shape, norm=spectral_norm(weights[name]))
        for name in path
    )
    bound = math.prod(layer.norm for layer in layers) * (1.0 + MARGIN) if layers else 0.0
    return Certificate(
        layers=layers,
        lipschitz_bound=bound,
        digest=weight_digest(architecture, weights, grid),
    )


def check_weights(architecture: Architecture, weights: Weights) -> None:
    """Raise unless the weights are finite floats of the names and shapes of the architecture."""
    shapes = architecture.shapes()
    if set(weights) != set(shapes):
        odd = sorted(set(weights) ^ set(shapes))[0]
        raise InputError(f"weight '{odd}' is missing or does not belong to the network")
    for name, shape in shapes.items():
        if weights[name].shape != shape:
            raise InputError(
                f"weight '{name}' has shape {list(weights[name].shape)}, not {list(shape)}"
            )
        if weights[name].dtype != np.float32:
            raise InputError(f"weight '{name}' is {weights[name].dtype}, not float32")
        if not np.isfinite(weights[name]).all():
            raise InputError(f"weight '{name}' is not finite")


def weight_digest(architecture: Architecture, weights: Weights, grid: NDArray[np.float32]) -> str:
    """Return 32 hexadecimal digits of BLAKE2b over everything that G depends on."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps(architecture.as_dict(), sort_keys=True).encode())
    for name, array in (("grid", grid), *sorted(weights.items())):
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def project(architecture: Architecture, weights: Weights) -> dict[str, NDArray[np.float32]]:
    """Return float32 weights whose maps on the path of messages have norm at most 1.

    Singular values above 1 are lowered to 1 (less 1e-6), the others stay: the nearest such matrix
    in Frobenius norm. Other weights are unchanged.
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
