"""What is inferred about everybody, with names for its parts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError, shown
from dnatrace.seir import State


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beliefs:
    """What is inferred about every person and day.

    Attributes:
        values: float32 [people, days, 4], the probabilities of S, E, I, R; they sum to 1.
    """

    values: NDArray[np.float32]

    def __post_init__(self) -> None:
        held = self.values
        if not isinstance(held, np.ndarray) or held.ndim != 3 or held.shape[2] != len(State):
            raise InputError(
                f"values must be an array [people, days, {len(State)}], not {shown(held)}"
            )

    @property
    def infected(self) -> NDArray[np.float32]:
        """P(I) by person and day: float32 [people, days]."""
        return self.values[:, :, State.I]

    @property
    def exposed_or_infected(self) -> NDArray[np.float32]:
        """P(E) + P(I) by person and day: float32 [people, days]."""
        return self.values[:, :, State.E] + self.values[:, :, State.I]
