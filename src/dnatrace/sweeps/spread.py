"""One number over seeds: its mean, median and intervals."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

CONFIDENCE = 0.90  # of the published Student-t intervals of the mean
ROUNDING = 1e-12  # a spread of this fraction of the values is due to rounding


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """One number over seeds.

    Attributes:
        values: one per seed, in the order of the seeds.
        bounds: the range of possible values; a difference has none.
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
        """The half-width of the 90 % Student-t interval of the mean; NaN for one seed.

        It is 0 where values differ only in their last digits, as quotients of equal counts do.
        """
        n = self.values.size
        if n < 2:
            return math.nan
        quantile = stdtrit(n - 1, (1 + CONFIDENCE) / 2)
        half = float(quantile * self.values.std(ddof=1) / math.sqrt(n))
        return half if not half <= ROUNDING * float(np.abs(self.values).max()) else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % Student-t interval of the mean, cut to the range of possible values.

        Guarantee: what is cut off cannot be the mean, so the confidence is unchanged.
        """
        low, high = self.mean - self.half_width, self.mean + self.half_width
        return float(np.maximum(low, self.bounds[0])), float(np.minimum(high, self.bounds[1]))
