"""What is proved about a network: exact norms in float64, a Lipschitz bound, a weight digest.

G changes by at most L·|μ - μ'|/C when one of C messages changes from μ to μ': the mean divides by
C, ReLU and MaxMin are 1-Lipschitz, gates are at most 1 in absolute value, biases and public facts
cancel, and a linear map stretches by at most its largest singular value. L is the product of these
values, computed from the weights that inference uses, with a margin for its rounding. Messages lie
in [0, γ], so γ·L/C bounds |G(D) - G(D')|, whether or not they are rounded to levels first.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.networks.architecture import Architecture, Weights, check_weights

# Relative. Inference is float64: sums of 2,000 messages through twenty layers have errors of about
# 1e-12.
MARGIN = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerNorm:
    """One linear map on the path of messages.

    Attributes:
        name: the name of its weight.
        shape: the shape of its weight.
        norm: its largest singular value.
    """

    name: str
    shape: tuple[int, ...]
    norm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The bound of a network and what it was computed from.

    Attributes:
        layers: the norms on the path of messages, in order; none for a network without messages.
        lipschitz_bound: |ΔG| ≤ lipschitz_bound·|Δμ|/C.
        digest: the digest of the weights, the grid and the architecture.
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

    def confirms(self, stored: Any) -> bool:
        """Return whether a file states this certificate, all of it and nothing else.

        Other libraries may round the last digits of a singular value differently.
        """
        mine = self.as_dict()
        try:
            pairs = list(zip(stored["layers"], mine["layers"], strict=True))
            close = _close(stored["lipschitz_bound"], self.lipschitz_bound) and all(
                _close(theirs["norm"], ours["norm"]) for theirs, ours in pairs
            )
            layers = [theirs | {"norm": ours["norm"]} for theirs, ours in pairs]
            stated = stored | {"layers": layers, "lipschitz_bound": self.lipschitz_bound}
        except (TypeError, KeyError, ValueError, OverflowError):
            return False
        return close and bool(stated == mine)


def _close(stated: Any, value: float) -> bool:
    return abs(float(stated) - value) <= 1e-12 * value


def spectral_norm(weight: NDArray[Any]) -> float:
    """Return the largest singular value, float64."""
    return float(np.linalg.svd(weight.astype(np.float64), compute_uv=False)[0])


def certify(architecture: Architecture, weights: Weights, grid: NDArray[np.float32]) -> Certificate:
    """Return the certificate of effective weights.

    Guarantee: |G(D) - G(D')| ≤ lipschitz_bound·|μ - μ'|/C for windows that differ in one message.
    Edge cases: 0 for a network that reads every message as 0.
    Cost: one singular value decomposition per layer, milliseconds.
    """
    check_weights(architecture.shapes(), weights)
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


def weight_digest(architecture: Architecture, weights: Weights, grid: NDArray[np.float32]) -> str:
    """Return 32 hexadecimal digits of BLAKE2b over everything that G depends on."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps(architecture.as_dict(), sort_keys=True).encode())
    for name, array in (("grid", grid), *sorted(weights.items())):
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
