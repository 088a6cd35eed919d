"""One number over seeds: its mean, median and intervals."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

CONFIDENCE = 0.90  # of the published intervals: Student-t, of the mean
ROUNDING = 1e-12  # a spread of this share of its values is that of rounding


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """One number over seeds.

    Attributes:
        values: one per seed, in the order of the seeds.
        bounds: which values there can be at all; a difference has none.
    """

    values: NDArray[np.float64]
    bounds: tuple[float, float] = (-math.inf, math.inf)

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(self.values.mean())

    @property
    def median(self) -> float:
        """The median over seeds."""
        return float(np.median(self.values))

    @property
    def p95(self) -> float:
        """The 95th percentile over seeds, by linear interpolation: how bad a bad run is."""
        return float(np.percentile(self.values, 95))

    @property
    def half_width(self) -> float:
        """Half of the 90 % Student-t interval of the mean; NaN for one seed.

        0 where values differ in their last digits alone, as quotients of equal counts do.
        """
        n = self.values.size
        if n < 2:
            return math.nan
        quantile = stdtrit(n - 1, (1 + CONFIDENCE) / 2)
        half = float(quantile * self.values.std(ddof=1) / math.sqrt(n))
        return half if not half <= ROUNDING * float(np.abs(self.values).max()) else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % Student-t interval of the mean, as far as there can be such values.

        Guarantee: what is left out cannot be the mean, so the confidence is the same.
        """
        low, high = self.mean - self.half_width, self.mean + self.half_width
        return float(np.maximum(low, self.bounds[0])), float(np.minimum(high, self.bounds[1]))
