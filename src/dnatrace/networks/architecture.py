"""The two networks as data: names and shapes of weights, and the path that messages take.

A network is a dictionary of arrays (its *effective* weights, after any normalisation) and an
`Architecture` that says how they are used. Training, certificate, inference and export read the
same two things, so that they all mean the same network.

`paper`: x_i = [μ_i, t_i] → g1 → mean over messages → g2 → scalar, ReLU between linear layers. No
other input. t is the age of the message divided by its largest value.

`tight`: only the path of μ is bounded. With a the age of a message and c the public inputs:

    h_i = MaxMin(W1·MaxMin(W0·μ_i/γ + b0[a]) + b1[a])          width `width`
    z   = gate(c) ⊙ (P0·mean_i h_i) + shift0(c)                 width `pooled`
    y   = P1·MaxMin(z) + shift1(c)
    G   = γ·gate'(c)·(P2·MaxMin(y)) + offset(c)

Gates are x/(1 + |x|), at most 1 in absolute value. W and P have spectral norm at most 1; everything
else is free, as it depends on public inputs alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError, require_at_least, shown

WINDOW = 14  # days
MOST_LAYERS = 100  # in one network; ours have eight
AGE_GROUPS = 9  # decades of age
# Public inputs: positive and negative test by age, contacts by age, age group, all contacts.
N_PUBLIC_INPUTS = 3 * WINDOW + AGE_GROUPS + 1

Weights = Mapping[str, NDArray[Any]]


class Kind(StrEnum):
    """Which network."""

    PAPER = "paper"
    TIGHT = "tight"


class Variant(StrEnum):
    """What a network is trained with."""

    COMBINED = "combined"  # F + p1·G
    ALONE = "alone"  # G without F
    PUBLIC = "public"  # F-free, every message read as 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """What is needed, in addition to weights, to run a network.

    Attributes:
        kind: which of the two networks.
        variant: what it was trained with; `public` networks read every message as 0.
        gamma: messages are clipped to [0, gamma] before they enter.
        with_exposed: whether it augments and predicts E or I rather than I alone.
        width: the width of hidden layers that see messages.
        depth: the number of layers of g1 and of g2 (`paper`).
        pooled: the width after the mean (`tight`).
        context: the width of the layers that see public inputs (`tight`).
        public_scale: the factor of the offset (`tight`).
    """

    kind: Kind
    variant: Variant
    gamma: float
    with_exposed: bool = False
    width: int = 64
    depth: int = 8
    pooled: int = 8
    context: int = 32
    public_scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _member("network", self.kind, Kind))
        object.__setattr__(self, "variant", _member("variant", self.variant, Variant))
        if not 0.0 < self.gamma <= 1.0:  # also catches NaN
            raise InputError(f"gamma must be greater than 0 and at most 1, not {self.gamma}")
        if not 0.0 < self.public_scale < np.inf:
            raise InputError(f"public_scale must be positive, not {self.public_scale}")
        for name in ("width", "depth", "pooled", "context"):
            require_at_least(name, getattr(self, name), 2)
        if self.depth > MOST_LAYERS:
            raise InputError(f"depth must be at most {MOST_LAYERS}, not {self.depth}")
        if self.kind is Kind.TIGHT and (self.width % 2 or self.pooled % 2):
            raise InputError("width and pooled must be even: MaxMin takes pairs")

    @property
    def uses_messages(self) -> bool:
        """Whether the value of a message can change G at all."""
        return self.variant is not Variant.PUBLIC

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as a model file holds them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> "Architecture":
        """Return an architecture from plain values, or raise for any that are missing or wrong."""
        names = {f.name for f in fields(cls)}
        if not isinstance(values, dict) or set(values) != names:
            raise InputError("an architecture with missing or unknown fields")
        whole = all(type(values[k]) is int for k in ("width", "depth", "pooled", "context"))
        reals = all(type(values[k]) in (int, float) for k in ("gamma", "public_scale"))
        if not (whole and reals and type(values["with_exposed"]) is bool):
            raise InputError("an architecture with fields of a wrong type")
        return cls(**values)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every weight by name, in the order of use."""
        return dict(_paper_shapes(self) if self.kind is Kind.PAPER else _tight_shapes(self))

    def message_path(self) -> tuple[str, ...]:
        """Return the names of the linear maps that a message passes through, in order."""
        if self.kind is Kind.PAPER:
            return tuple(f"{g}.{i}.weight" for g in ("g1", "g2") for i in range(self.depth))
        return (
            "message.0.weight",
            "message.1.weight",
            "pool.0.weight",
            "pool.1.weight",
            "pool.2.weight",
        )


def _member(name: str, value: Any, choices: Any) -> Any:
    try:
        return choices(value)
    except ValueError:
        raise InputError(f"unknown {name} {shown(value)}: {', '.join(choices)}") from None


def _paper_shapes(a: Architecture) -> Iterator[tuple[str, tuple[int, ...]]]:
    for g, first, last in (("g1", 2, a.width), ("g2", a.width, 1)):
        for i in range(a.depth):
            rows = last if i == a.depth - 1 else a.width
            yield f"{g}.{i}.weight", (rows, first if i == 0 else a.width)
            yield f"{g}.{i}.bias", (rows,)


def _tight_shapes(a: Architecture) -> Iterator[tuple[str, tuple[int, ...]]]:
    for i, columns in enumerate((1, a.width)):
        yield f"message.{i}.weight", (a.width, columns)
        yield f"message.{i}.bias", (WINDOW, a.width)
    yield "pool.0.weight", (a.pooled, a.width)
    yield "pool.1.weight", (a.pooled, a.pooled)
    yield "pool.2.weight", (1, a.pooled)
    for i, columns in enumerate((N_PUBLIC_INPUTS, a.context)):
        yield f"context.{i}.weight", (a.context, columns)
        yield f"context.{i}.bias", (a.context,)
    rows = 3 * a.pooled + 2  # gate, shift0, shift1 (`pooled` each), last gate, offset
    yield "head.weight", (rows, a.context)
    yield "head.bias", (rows,)


def check_weights(shapes: Mapping[str, tuple[int, ...]], weights: Weights) -> None:
    """Raise unless the weights are finite floats of these names and shapes."""
    if set(weights) != set(shapes):
        odd = sorted(set(weights) ^ set(shapes))[0]
        raise InputError(f"weight '{odd}' is missing or does not belong to the network")
    for name, shape in shapes.items():
        weight = weights[name]
        if weight.shape != shape:
            raise InputError(f"weight '{name}' has shape {list(weight.shape)}, not {list(shape)}")
        if weight.dtype != np.float32:
            raise InputError(f"weight '{name}' is {weight.dtype}, not float32")
        if not np.isfinite(weight).all():
            raise InputError(f"weight '{name}' is not finite")


def levels_up_to(grid: NDArray[np.float32], gamma: float) -> int:
    """Return how many levels of a grid lie in [0, γ]; γ itself must be the last of them.

    Guarantee: clipping at γ is then the same as reading every higher level as the last.
    """
    level = int(np.searchsorted(grid, np.float32(gamma)))
    if level >= grid.size or grid[level] != np.float32(gamma):
        raise InputError(f"gamma {gamma:g} is not a level of the message grid")
    return level + 1
