"""What every simulator offers the tracing loop, and the states a person can be in."""

from abc import abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.plugins import Plugin
from dnatrace.records import DayContacts

NAME = "who meets whom, and who gets infected (docs/simulators.md)"  # meaning of `simulator.name`
N_AGE_GROUPS = 9  # decades: 0-9, 10-19, …, 70-79, 80 and over

# Age groups 0-1 are children, 2-6 adults, 7-8 elderly: three types that differ in contacts.
AGE_TYPES = np.array([0, 0, 1, 1, 1, 1, 1, 2, 2], dtype=np.uint8)
N_AGE_TYPES = 3


class CourseState(IntEnum):
    """The eleven states of the disease, numbered as in OpenABM-Covid19."""

    UNINFECTED = 0
    PRESYMPTOMATIC = 1
    PRESYMPTOMATIC_MILD = 2
    ASYMPTOMATIC = 3
    SYMPTOMATIC = 4
    SYMPTOMATIC_MILD = 5
    HOSPITALISED = 6
    CRITICAL = 7
    HOSPITALISED_RECOVERING = 8
    RECOVERED = 9
    DEATH = 10


class ContactKind(IntEnum):
    """The setting of a contact, as in `DayContacts.kinds`."""

    HOUSEHOLD = 0
    OCCUPATION = 1
    RANDOM = 2


N_STATES = len(CourseState)
N_KINDS = len(ContactKind)

# S, E, I, R as 0 … 3 by course state. The grouping is that of the published results:
# 1-3 are exposed, 4-7 infected, 8-10 removed.
SEIR_OF_COURSE = np.array([0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3], dtype=np.uint8)

# People in hospital and the dead meet nobody.
MEETS_NOBODY = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1], dtype=np.bool_)


class Simulator(Protocol):
    """A population with contacts and a disease, advanced one day at a time.

    The order of a day: contacts are drawn for everybody; pairs with an isolated, hospitalised or
    dead person are dropped and nobody is paired again; the disease passes over the contacts that
    are left; then people progress in their course. Day 0 is the state after construction.
    """

    @property
    def n_people(self) -> int:
        """The number of people; ids are 0 … n_people-1."""

    @property
    def day(self) -> int:
        """The number of days advanced so far."""

    @property
    def age_groups(self) -> NDArray[np.uint8]:
        """The decade of age of each person, 0 … 8: uint8 [people]."""

    @property
    def households(self) -> NDArray[np.int32]:
        """The household id of each person: int32 [people]."""

    @property
    def states(self) -> NDArray[np.uint8]:
        """The `CourseState` of each person at the end of `day`: uint8 [people], a copy."""

    @property
    def infected_on(self) -> NDArray[np.int32]:
        """The day of infection of each person, -1 for never: int32 [people], a copy."""

    def isolate(self, isolated: NDArray[np.bool_]) -> None:
        """Put exactly these people in isolation, from the next `advance` on: bool [people]."""

    def advance(self) -> DayContacts:
        """Advance one day and return the contacts over which the disease could pass that day.

        They are directed: a meeting of which both people hear is listed in both directions.
        """


@runtime_checkable
class TakesImports(Protocol):
    """A simulator in which people may be infected from outside."""

    @property
    def imported(self) -> int:
        """How many of the people infected first on `day` were infected from outside."""


def imported_of(simulator: Simulator) -> int:
    """Return how many infections of the last day came from outside."""
    return simulator.imported if isinstance(simulator, TakesImports) else 0


@runtime_checkable
class Resumable(Protocol):
    """A simulator whose changes since day 0 can be transferred to another one built alike."""

    def snapshot(self) -> Any:
        """Return what changed since day 0: numbers and arrays, not copied."""

    def restore(self, snapshot: Any) -> None:
        """Go to the day of a snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorSetup:
    """What a simulator is built from, in addition to its own settings.

    Attributes:
        n_people: how many people there are; None when not given.
        seed: the seed of every draw.
        initially_infected: how many people are infected on day 0.
        isolation_keeps_household: whether isolated people still meet their housemates.
        n_days: the largest number of days it will be advanced.
    """

    n_people: int | None
    seed: int
    initially_infected: int
    isolation_keeps_household: bool
    n_days: int


class SimulatorSettings(Plugin):
    """The settings of a simulator, and the questions the rest of the package may ask about it."""

    noun: ClassVar[str] = "simulator"
    # Whether it decides the number of people unless the configuration sets one.
    knows_people: ClassVar[bool] = False
    # Whether people live together, and which kinds of contacts there are.
    has_households: ClassVar[bool] = True
    kinds: ClassVar[tuple[ContactKind, ...]] = tuple(ContactKind)

    @classmethod
    def figures(cls) -> list[dict[str, str]]:
        """Return the published figures it uses, for reports: name, value and source of each."""
        return []

    def without_effect(self, n_days: int) -> list[str]:
        """Return which of its settings have no effect in a run of `n_days` days, and why."""
        del n_days
        return []

    def idle(self) -> list[str]:
        """Return which of its keys do nothing although they are set; they do not name a run."""
        return []

    def notices(self, n_days: int) -> list[str]:
        """Return what in its files may be a slip in a run of `n_days` days, one line each."""
        del n_days
        return []

    def counts(self) -> dict[str, float]:
        """Return its settings that count people, by key: none may exceed the population."""
        return {}

    def own_people(self) -> int | None:
        """Return how many people there are where it decides that and can say so beforehand."""
        return None

    @abstractmethod
    def build(self, setup: SimulatorSetup) -> Simulator:
        """Return the simulator of these settings on day 0."""


class People:
    """What every simulator keeps about its people; given arrays are shared, not copied."""

    def __init__(self, states: NDArray[np.uint8], infected_on: NDArray[np.int32]) -> None:
        self.n_people: int = states.size
        self.day: int = 0
        self._states, self._infected_on = states, infected_on
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
        mask = np.array(isolated)
        if mask.dtype != np.bool_ or mask.shape != (self.n_people,):
            raise InputError(
                f"isolated must be a boolean array [{self.n_people}], "
                f"not {mask.dtype} {list(mask.shape)}"
            )
        self._isolated = mask


def means_by_age_type(
    values: NDArray[np.float64], age_groups: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Average float64 [people, columns] over each age type: float64 [age types, columns].

    An age type without people gets 0.
    """
    means = np.zeros((N_AGE_TYPES, values.shape[1]))
    types = AGE_TYPES[age_groups]
    for age_type in range(N_AGE_TYPES):
        members = types == age_type
        if members.any():
            means[age_type] = values[members].mean(axis=0)
    return means
