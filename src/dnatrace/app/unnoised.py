"""A method without its noise, to look at what noise hides; none of it is ever released."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dnatrace.methods.base import Method
from dnatrace.runs.config import RunConfig
from dnatrace.tracing import Loop


@dataclass(frozen=True, slots=True, kw_only=True)
class NoNoise:
    """Returns values unchanged, where noise would be added."""

    name: str = "none, to look at what noise hides"
    score_grid: float | None = None

    def perturb(
        self,
        values: NDArray[np.float64],
        sensitivity: NDArray[np.float64],
        *,
        multiplier: float,
        purpose: str,
        day: int,
        draw: int = 0,
    ) -> NDArray[np.float64]:
        """Return a copy of the values."""
        del sensitivity, multiplier, purpose, day, draw
        return values.copy()


def method_without_noise(config: RunConfig) -> Method:
    """Return the method of a configuration, calibrated as usual, with no noise added."""
    return config.tracer.build(config.method_setup(NoNoise()))


def without_noise(loop: Loop, config: RunConfig) -> Loop:
    """Return a loop whose method adds no noise."""
    return replace(loop, method=method_without_noise(config))


def simulated(config: RunConfig) -> RunConfig:
    """Return a configuration with fast noise: looking protects nobody."""
    privacy = config.privacy.model_copy(update={"noise": "fast"})
    return config.model_copy(update={"privacy": privacy})
