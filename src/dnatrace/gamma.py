"""Gamma laws by mean and standard deviation: times of the disease.

The functions are those that `scipy.stats.gamma` calls, bit by bit; importing all of `scipy.stats`
for them would take half a second of every command.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainc, gammaincc, gammainccinv


@dataclass(frozen=True, slots=True)
class Gamma:
    """A gamma law.

    Attributes:
        shape: of it.
        scale: in the unit of its values.
    """

    shape: float
    scale: float

    @classmethod
    def of(cls, mean: float, sd: float) -> "Gamma":
        """Return the law with this mean and standard deviation."""
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
