"""Where noise comes from: a fast back end for simulation, a secure one for protecting people.

The fast back end draws floating-point normals from counter-based streams. It makes simulations
repeatable and protects nobody: its key is the seed of the run, and the low bits of floating-point
noise give values away (Mironov 2012, "On significance of the least significant bits for
differential privacy"). The secure back end samples the discrete Gaussian of OpenDP on a grid, with
the operating system's randomness; nothing about it can be repeated.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.privacy import _kernels
from dnatrace.privacy.accounting import SIMULATION_ONLY
from dnatrace.rng import Stream

GRID = 2.0**-30  # values and noise of the secure back end are multiples of this
SCORE_GRID = 2.0**-10  # published scores are rounded to multiples of this
_MOST = 2.0**32  # the secure back end clips values to ±this, so that integers of 64 bits suffice
_MOST_STEPS = 2.0**57  # largest standard deviation, in grid steps: 30 of them fit, too
_FEWEST_STEPS = 64.0  # smallest standard deviation, in grid steps
_SCALE_STEPS = 32  # distinct noise scales per factor of two; at most 2.2 % too much noise


class Noise(Protocol):
    """A source of Gaussian noise."""

    @property
    def name(self) -> str:
        """What the statement calls it."""
        ...

    @property
    def score_grid(self) -> float | None:
        """The grid published scores are rounded to; None for no rounding."""
        ...

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
        """Return values + N(0, (multiplier·sensitivity)²), independent for every entry.

        Args:
            values: float64 [people] or [rows, people].
            sensitivity: the sensitivity of each value; where it is 0, the value is returned as it
                is.
            multiplier: the standard deviation for a sensitivity of 1.
            purpose: the name of the random stream.
            day: the day of the release; each (purpose, person, day, draw) is used once.
            draw: the number of the first row; row r uses draw + r.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FastNoise:
    """Repeatable normals keyed by (seed, purpose, person, release day, row): for simulation."""

    seed: int

    @property
    def name(self) -> str:
        """What the statement calls it."""
        return f"fast (repeatable floating-point noise, {SIMULATION_ONLY})"

    @property
    def score_grid(self) -> float | None:
        """No rounding."""
        return None

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
        """Add normals of the stream `purpose`; see `Noise`.

        Cost: about 30 ns per draw, people in parallel.
        """
        key = Stream(self.seed, purpose).key
        rows = np.atleast_2d(values).astype(np.float64)
        scale = multiplier * np.atleast_2d(sensitivity)
        _kernels.add_normals(key, day, draw, scale, rows)
        return rows.reshape(values.shape)


@dataclass(frozen=True, slots=True)
class SecureNoise:
    """Discrete Gaussian noise on a grid of 2^-30, from the operating system's randomness.

    Guarantee: rounding to the grid moves two neighbours apart by at most one step, so the noise is
    scaled to the sensitivity plus one step; sums are exact integers. On a grid so much finer than
    the noise, the discrete Gaussian has the privacy of the continuous one (Canonne, Kamath and
    Steinke 2020, "The discrete Gaussian for differential privacy"). Edge cases: noise below 64 grid
    steps, where that would no longer hold, is raised to 64. Values beyond ±2³² are clipped, which
    does not move neighbours further apart; noise with a standard deviation above 2²⁷ is refused.
    """

    def __post_init__(self) -> None:
        _open_dp()

    @property
    def name(self) -> str:
        """What the statement calls it."""
        return "secure (OpenDP discrete Gaussian on a grid of 2^-30, system randomness)"

    @property
    def score_grid(self) -> float | None:
        """Published scores are rounded, which is post-processing."""
        return SCORE_GRID

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
        """Add discrete Gaussian noise; `purpose`, `day` and `draw` are not needed. See `Noise`.

        Cost: about 25 µs per draw and 0.3 ms per distinct scale; scales are rounded up to
        `_SCALE_STEPS` per factor of two, so that draws of one scale are made together.
        """
        del purpose, day, draw
        flat = values.ravel().astype(np.float64)
        noisy = flat.copy()
        noised = np.flatnonzero(sensitivity.ravel() > 0.0)
        scale = multiplier * (sensitivity.ravel()[noised] + GRID) / GRID
        scale = np.maximum(scale, _FEWEST_STEPS)
        if (scale > _MOST_STEPS).any():
            raise InputError(f"secure noise: a standard deviation above {_MOST_STEPS * GRID:,.0f}")
        steps = np.ceil(np.log2(scale) * _SCALE_STEPS - 1e-9).astype(np.int64)
        for step in np.unique(steps):
            members = noised[steps == step]
            whole = np.rint(np.clip(flat[members], -_MOST, _MOST) / GRID).astype(np.int64)
            noisy[members] = _discrete_gaussian(whole, 2.0 ** (step / _SCALE_STEPS)) * GRID
        return noisy.reshape(values.shape)


def _discrete_gaussian(values: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """Return integer values plus discrete Gaussian noise."""
    dp = _open_dp()
    measure = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=scale
    )
    return np.array(measure(values.tolist()), dtype=np.float64)


def _open_dp() -> Any:
    try:
        import opendp.prelude as dp  # noqa: PLC0415  (an optional part, loaded where it is used)
    except ImportError as error:
        raise InputError(
            "secure noise needs OpenDP: pip install 'dnatrace[secure]', or use fast noise"
        ) from error
    dp.enable_features("contrib")
    return dp


def round_scores(scores: NDArray[np.float64], grid: float | None) -> NDArray[np.float64]:
    """Round scores to a grid; unchanged when it is None. Post-processing."""
    if grid is None or not math.isfinite(grid):
        return scores
    return np.rint(scores / grid) * grid
