"""Worlds that audits of a person play: one person is tested, others look at their own scores.

A world says who meets whom, who is tested when, and with which result. Everything else is the real
loop: exchange, method, noise and, in a closed loop, the policy. Days count from 1, as in the loop.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dnatrace.policy.base import Ids, Policy, Situation
from dnatrace.policy.laboratory import Laboratory
from dnatrace.privacy.release import Released
from dnatrace.records import DayContacts
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import build_simulator
from dnatrace.simulators.base import CourseState, People

_COMMON = 20  # people whom both the tested person and the receiver meet
_HOUSEHOLD, _CLASS = 6, 30  # people
_CITY, _VICTIMS = 1000, 5  # people, and how many of them are tested, one per world
_ADULT = 4  # age group of everybody outside the city

Pairs = Iterable[tuple[int, int]]


class WorldName(StrEnum):
    """How the tested person and the receiver are related."""

    MET_ONCE = "met-once"
    COUPLE = "couple"
    HOUSEHOLD = "household"
    CLASS = "class"
    COMMON_CONTACTS = "common-contacts"
    RELAY = "relay"
    CITY = "city"


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """A test whose result is fixed beforehand."""

    __test__ = False  # the name does not make it a test case

    day: int
    person: int
    positive: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """Who meets whom, and who is tested.

    Attributes:
        name: a value of `WorldName`.
        days: the contacts of each day, from day 1 on.
        tests: the tests that are the same in both neighbouring worlds.
        first: the tests of the first world alone.
        second: the tests of the second world alone; in the simplest case the same test with the
            other result.
        receiver: who looks at their scores; None for everybody, of whom the one who learns most
            counts.
        age_groups: decade of age, uint8 [people]; None if everybody is in their forties.
        households: everybody's household, int32 [people]; None when unknown.
    """

    name: str
    days: tuple[DayContacts, ...]
    first: tuple[Test, ...]
    second: tuple[Test, ...]
    tests: tuple[Test, ...] = ()
    receiver: int | None = None
    age_groups: NDArray[np.uint8] | None = None
    households: NDArray[np.int32] | None = None

    @property
    def n_people(self) -> int:
        """How many people there are."""
        return self.days[0].n_people

    @property
    def tested(self) -> int:
        """The person whose test differs."""
        return (*self.second, *self.first)[0].person

    def meets(self) -> NDArray[np.bool_]:
        """Return who ever meets the tested person: bool [people]."""
        met = np.zeros(self.n_people, dtype=np.bool_)
        for day in self.days:
            met[day.receivers()[day.senders == self.tested]] = True
        return met

    def repeated(self, copies: int, *, mixed: bool = False) -> "World":
        """Return copies of the world side by side, which share nothing.

        When `mixed`, every other copy has the tests of the other world, in both.
        """
        n = self.n_people

        def moved(even: tuple[Test, ...], odd: tuple[Test, ...]) -> tuple[Test, ...]:
            which = (odd if k % 2 else even for k in range(copies))
            return tuple(
                replace(t, person=t.person + k * n) for k, tests in enumerate(which) for t in tests
            )

        return replace(
            self,
            days=tuple(_repeated(day, copies) for day in self.days),
            first=moved(self.first, self.second if mixed else self.first),
            second=moved(self.first if mixed else self.second, self.second),
            tests=moved(self.tests, self.tests),
            age_groups=None if self.age_groups is None else np.tile(self.age_groups, copies),
            households=None,
        )


def _repeated(day: DayContacts, copies: int) -> DayContacts:
    offsets = np.concatenate([[0], np.cumsum(np.tile(day.counts, copies))])
    shifts = day.n_people * np.arange(copies)[:, None]
    senders = (day.senders[None, :] + shifts).ravel()
    return DayContacts(offsets=offsets.astype(np.int32), senders=senders.astype(np.int32))


def worlds(name: WorldName, config: RunConfig) -> tuple[World, ...]:
    """Return the worlds of a name: one, or for the city one per tested person.

    The window is full when the test is taken, and the last day is the last one on which the test
    counts. The first world has a negative result where the second has a positive one.
    """
    if name is WorldName.CITY:
        return _city(config)
    tested_on = config.seir.window
    n_people, pairs = _meetings(name)
    daily = day_of(pairs, n_people)
    once = name is WorldName.MET_ONCE
    days = tuple(
        DayContacts.empty(n_people) if once and day != tested_on else daily
        for day in range(1, _last_day(config) + 1)
    )
    first, second = _results(0, tested_on)
    return (World(name=name, days=days, first=first, second=second, receiver=1),)


def _meetings(name: WorldName) -> tuple[int, Pairs]:
    """Return the number of people and who meets on a day: 0 is tested, 1 looks at their scores."""
    if name is WorldName.RELAY:
        return 3, [(0, 2), (2, 1)]
    if name is WorldName.COMMON_CONTACTS:
        return _COMMON + 2, [(person, k) for k in range(2, _COMMON + 2) for person in (0, 1)]
    n_people = {WorldName.HOUSEHOLD: _HOUSEHOLD, WorldName.CLASS: _CLASS}.get(name, 2)
    return n_people, combinations(range(n_people), 2)


def day_of(pairs: Pairs, n_people: int) -> DayContacts:
    """Return a day on which these pairs meet; each hears the other."""
    met = list(pairs)
    both = met + [(b, a) for a, b in met]
    senders, receivers = np.array(both, dtype=np.int64).reshape(-1, 2).T
    return DayContacts.from_pairs(senders, receivers, n_people=n_people)


def _last_day(config: RunConfig) -> int:
    return 2 * config.seir.window - 1


def _results(person: int, day: int) -> tuple[tuple[Test, ...], tuple[Test, ...]]:
    """Return a negative and a positive result of one test."""
    return (
        (Test(day=day, person=person, positive=False),),
        (Test(day=day, person=person, positive=True),),
    )


def _city(config: RunConfig) -> tuple[World, ...]:
    """Return worlds with the contacts of a small city without measures, one per tested person."""
    small = config.model_copy(update={"people": _CITY, "initially_infected": 0})
    simulator = build_simulator(small)
    met = [simulator.advance() for _ in range(_last_day(config))]
    days = tuple(DayContacts(offsets=day.offsets, senders=day.senders) for day in met)
    victims = np.linspace(0, _CITY - 1, _VICTIMS).astype(int).tolist()
    found = []
    for victim in victims:
        first, second = _results(victim, config.seir.window)
        world = World(
            name=WorldName.CITY,
            days=days,
            first=first,
            second=second,
            age_groups=simulator.age_groups,
            households=simulator.households,
        )
        found.append(world)
    return tuple(found)


class ScriptedContacts(People):
    """A simulator whose contacts are those of a world; nobody is infected, no state changes."""

    def __init__(self, world: World) -> None:
        n_people, ages = world.n_people, world.age_groups
        healthy = np.full(n_people, CourseState.UNINFECTED, dtype=np.uint8)
        super().__init__(healthy, np.full(n_people, -1, dtype=np.int32))
        self.age_groups: NDArray[np.uint8] = (
            np.full(n_people, _ADULT, dtype=np.uint8) if ages is None else ages
        )
        self.households: NDArray[np.int32] = np.arange(n_people, dtype=np.int32)
        self._days = world.days

    def advance(self) -> DayContacts:
        """Return the contacts of the next day, without people in isolation."""
        self.day += 1
        today = self._days[self.day - 1]
        return today.among(~self._isolated) if self._isolated.any() else today


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedLaboratory(Laboratory):
    """A laboratory in which some results are fixed beforehand; the others are drawn.

    Attributes:
        script: results by (day, person).
    """

    script: Mapping[tuple[int, int], bool] = field(default_factory=dict)

    def _results(self, people: Ids, states: NDArray[np.uint8], day: int) -> NDArray[np.bool_]:
        # Not super(): a dataclass with slots is a different class from the one written here.
        results = Laboratory._results(self, people, states, day)
        known = [
            self.script.get((day, int(p)), bool(r)) for p, r in zip(people, results, strict=True)
        ]
        return np.array(known, dtype=np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedPolicy:
    """Tests the people whom the script names, and those whom another policy chooses, if any.

    Attributes:
        usual: the policy that decides about everybody else.
        named: the people to be tested, by day.
        alone: whether nobody else is tested.
    """

    beyond_capacity: ClassVar[bool] = True  # who is named is tested, whatever the laboratory takes
    usual: Policy
    named: Mapping[int, Ids]
    alone: bool

    def start(self, n_people: int) -> Any:
        """Return the state of the usual policy."""
        return self.usual.start(n_people)

    def isolate(self, day: int, state: Any) -> tuple[NDArray[np.bool_], Any]:
        """Return whom the usual policy isolates."""
        return self.usual.isolate(day, state)

    def choose(self, released: Released, situation: Situation, state: Any) -> tuple[Ids, Any]:
        """Return who is named, and whom the usual policy chooses."""
        named = self.named.get(situation.day, np.empty(0, dtype=np.int64))
        if self.alone:
            return named, state
        free = situation.eligible.copy()
        for people in self.named.values():  # people with scripted tests have no others
            free[people] = False
        chosen, state = self.usual.choose(released, replace(situation, eligible=free), state)
        return np.union1d(named, chosen), state

    def respond(self, positives: Ids, day: int, state: Any) -> Any:
        """Return the state of the usual policy after results."""
        return self.usual.respond(positives, day, state)


def by_day(tests: Iterable[Test]) -> dict[int, Ids]:
    """Return who is tested, by day."""
    named: dict[int, set[int]] = {}
    for test in tests:
        named.setdefault(test.day, set()).add(test.person)
    return {day: np.array(sorted(people), dtype=np.int64) for day, people in named.items()}
