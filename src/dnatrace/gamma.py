"""Gamma distributions by mean and standard deviation, for the durations of the disease.

These are the functions that `scipy.stats.gamma` calls, so results agree bit for bit; importing all
of `scipy.stats` for them would add half a second to every command.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainc, gammaincc, gammainccinv


@dataclass(frozen=True, slots=True)
class Gamma:
    """A gamma distribution.

    Attributes:
        shape: the shape parameter.
        scale: the scale parameter, in the unit of the values.
    """

    shape: float
    scale: float

    @classmethod
    def of(cls, mean: float, sd: float) -> "Gamma":
        """Return the distribution with this mean and standard deviation."""
        return cls((mean / sd) ** 2, sd**2 / mean)

    def cdf(self, values: ArrayLike) -> NDArray[Any]:
        """Return P(a draw ≤ value)."""
        return np.asarray(gammainc(self.shape, np.asarray(values) / self.scale))

    def sf(self, values: ArrayLike) -> NDArray[Any]:
        """Return P(a draw > value)."""
        return np.asarray(gammaincc(self.shape, np.asarray(values) / self.scale))

    def isf(self, share: float) -> float:
        """Return the value that a draw exceeds with this probability."""
        return float(gammainccinv(self.shape, share) * self.scale)
