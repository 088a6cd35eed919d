"""What external simulators have in common: they are watched from outside."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.simulators.base import CourseState, People, SimulatorSetup

USUAL_PEOPLE = 10_000
_MOST_SEED = 2**31 - 1


def arguments_of(setup: SimulatorSetup) -> dict[str, Any]:
    """Return what an external simulator is constructed with."""
    return asdict(setup) | {"n_people": setup.n_people or USUAL_PEOPLE}


def check_draws(
    name: str, seed: int, initially_infected: int, n_people: int, *, least_seed: int
) -> None:
    """Raise unless a simulator takes that seed and there are so many people to infect."""
    if not least_seed <= seed <= _MOST_SEED:
        raise InputError(f"seed: {name} takes seeds of {least_seed} … {_MOST_SEED}, not {seed}")
    if not 0 <= initially_infected <= n_people:
        raise InputError(
            f"initially_infected must be between 0 and {n_people}, not {initially_infected}"
        )


class ExternalPeople(People):
    """People of an external simulator: last states read, infections noticed."""

    def __init__(self, states: NDArray[np.uint8]) -> None:
        infected = states != CourseState.UNINFECTED
        super().__init__(states, np.where(infected, 0, -1).astype(np.int32))

    def _end_day(self, states: NDArray[np.uint8]) -> None:
        """Take over the states at the end of a day."""
        self.day += 1
        self._states = states
        newly = (self._infected_on < 0) & (states != CourseState.UNINFECTED)
        self._infected_on[newly] = self.day
