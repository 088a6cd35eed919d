"""What external simulators have in common: they are watched from outside."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.simulators.base import CourseState, SimulatorSetup, checked_mask

USUAL_PEOPLE = 10_000


def arguments_of(setup: SimulatorSetup) -> dict[str, Any]:
    """Return what an external simulator is constructed with."""
    return asdict(setup) | {"n_people": setup.n_people or USUAL_PEOPLE}


class ExternalPeople:
    """People of an external simulator: last states read, infections noticed."""

    def __init__(self, states: NDArray[np.uint8]) -> None:
        self.n_people: int = states.size
        self.day: int = 0
        self._states = states
        self._infected_on = np.where(states != CourseState.UNINFECTED, 0, -1).astype(np.int32)
        self._isolated = np.zeros(states.size, dtype=np.bool_)

    @property
    def states(self) -> NDArray[np.uint8]:
        """The `CourseState` of each person: uint8 [people], a copy."""
        return self._states.copy()

    @property
    def infected_on(self) -> NDArray[np.int32]:
        """The day of the first infection of each person, -1 for never: int32 [people], a copy."""
        return self._infected_on.copy()

    def isolate(self, isolated: NDArray[np.bool_]) -> None:
        """Put exactly these people in isolation, from the next `advance` on: bool [people]."""
        self._isolated = checked_mask(isolated, self.n_people)

    def _end_day(self, states: NDArray[np.uint8]) -> None:
        """Take over the states at the end of a day."""
        self.day += 1
        self._states = states
        newly = (self._infected_on < 0) & (states != CourseState.UNINFECTED)
        self._infected_on[newly] = self.day
