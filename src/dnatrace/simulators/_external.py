"""What external simulators have in common: they are observed from outside, and they list pairs."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.records import DayContacts
from dnatrace.simulators._kernels import AT_HOME_ONLY, NOWHERE
from dnatrace.simulators.base import ContactKind, CourseState, People, SimulatorSetup

USUAL_PEOPLE = 10_000
_HOUSEHOLD = int(ContactKind.HOUSEHOLD)
_MOST_SEED = 2**31 - 1


def arguments_of(setup: SimulatorSetup) -> dict[str, Any]:
    """Return the arguments that an external simulator is constructed with."""
    return asdict(setup) | {"n_people": setup.n_people or USUAL_PEOPLE}


def check_draws(
    name: str, seed: int, initially_infected: int, n_people: int, *, least_seed: int
) -> None:
    """Raise unless a simulator accepts this seed and there are enough people to infect."""
    if not least_seed <= seed <= _MOST_SEED:
        raise InputError(f"seed: {name} takes seeds {least_seed} … {_MOST_SEED}, not {seed}")
    if not 0 <= initially_infected <= n_people:
        raise InputError(
            f"initially_infected must be between 0 and {n_people}, not {initially_infected}"
        )


class ExternalPeople(People):
    """The people of an external simulator: the last states read, and infections noticed."""

    def __init__(self, states: NDArray[np.uint8]) -> None:
        infected = states != CourseState.UNINFECTED
        super().__init__(states, np.where(infected, 0, -1).astype(np.int32))

    def _end_day(self, states: NDArray[np.uint8]) -> None:
        """Take over the states at the end of a day."""
        self.day += 1
        self._states = states
        newly = (self._infected_on < 0) & (states != CourseState.UNINFECTED)
        self._infected_on[newly] = self.day


def both_directions(
    first: NDArray[Any],
    second: NDArray[Any],
    kinds: NDArray[np.uint8],
    presence: NDArray[np.uint8],
) -> DayContacts:
    """Return every pair as two directed contacts, leaving out those that cannot take place.

    Those are pairs of a person with themselves, and pairs with a person whose `presence`, uint8
    [people] (`EVERYWHERE`, `AT_HOME_ONLY`, `NOWHERE`), does not allow the kind of the pair. Ids
    must be in range. A receiver's contacts are in the order of the pairs.

    Cost: two passes over the pairs; about 2 ms for 200,000 of them.
    """
    offsets, senders, sorted_kinds = _group(first, second, kinds, presence)
    return DayContacts(offsets=offsets, senders=senders, kinds=sorted_kinds)


@njit(cache=True)
def _takes_place(one: Any, other: Any, kind: Any, presence: Any) -> Any:
    if one == other:
        return False
    least = max(presence[one], presence[other])
    return least < AT_HOME_ONLY or (least < NOWHERE and kind == _HOUSEHOLD)


@njit(cache=True)
def _group(first: Any, second: Any, kinds: Any, presence: Any) -> Any:
    n_people = presence.size
    offsets = np.zeros(n_people + 1, dtype=np.int32)
    kept = np.empty(first.size, dtype=np.bool_)
    for i in range(first.size):
        one, other = np.uint32(first[i]), np.uint32(second[i])
        kept[i] = _takes_place(one, other, kinds[i], presence)
        if kept[i]:
            offsets[one + np.uint32(1)] += 1
            offsets[other + np.uint32(1)] += 1
    for person in range(n_people):
        offsets[person + 1] += offsets[person]
    place = offsets[:-1].copy()
    senders = np.empty(offsets[n_people], dtype=np.int32)
    sorted_kinds = np.empty(offsets[n_people], dtype=np.uint8)
    for i in range(first.size):
        if not kept[i]:
            continue
        one, other = np.uint32(first[i]), np.uint32(second[i])
        at = np.uint32(place[one])
        senders[at], sorted_kinds[at] = other, kinds[i]
        place[one] += 1
        at = np.uint32(place[other])
        senders[at], sorted_kinds[at] = one, kinds[i]
        place[other] += 1
    return offsets, senders, sorted_kinds
