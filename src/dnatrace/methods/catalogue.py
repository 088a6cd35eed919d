"""The methods by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dnatrace.errors import InputError
from dnatrace.methods.base import Method, Score
from dnatrace.methods.chance import Chance
from dnatrace.methods.fn import FactorisedNeighbours
from dnatrace.methods.oracle import Oracle
from dnatrace.methods.public_only import PublicOnly


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodOptions:
    """What a run's configuration says about its method; each method takes what it knows."""

    release: str | None
    score: Score
    gamma: float
    mu_ref: float
    rho: float
    epsilon: float
    delta: float
    unit: str
    noise: str
    seed: int


def _fn(options: MethodOptions) -> Method:
    return FactorisedNeighbours(score=options.score)


def _public_only(options: MethodOptions) -> Method:
    return PublicOnly(score=options.score, mu_ref=options.mu_ref)


# `none` gives no tests at all, so what it would score does not matter.
BUILDERS: Mapping[str, Callable[[MethodOptions], Method]] = {
    "none": lambda _: Chance(),
    "random": lambda _: Chance(),
    "oracle": lambda _: Oracle(),
    "public-only": _public_only,
    "fn": _fn,
}


def build_method(name: str, options: MethodOptions) -> Method:
    """Return the method of that name with these options."""
    if name not in BUILDERS:
        raise InputError(f"method '{name}' does not exist; there are {', '.join(BUILDERS)}")
    return BUILDERS[name](options)
