"""What every policy is given and must return."""

from abc import abstractmethod
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dnatrace.plugins import Plugin
from dnatrace.policy.isolation import IsolationRules
from dnatrace.privacy.accounting import SelectionEvent
from dnatrace.privacy.release import Released
from dnatrace.records import DayContacts
from dnatrace.simulators.base import SimulatorSettings

Ids = NDArray[np.int64]


class Severity(IntEnum):
    """How ill a person feels on the day their symptoms begin."""

    NONE = 0
    MILD = 1
    SEVERE = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Situation:
    """What a policy knows about a day in addition to the scores released the day before.

    Attributes:
        day: from 1.
        eligible: who can be tested: alive, with the app, not in isolation, not waiting for a test
            or a result; bool [people].
        most_tests: how many people can be tested on the day.
        reachable: who can be tested if the tests come to them: alive, not waiting for a test or a
            result, at home or not, with the app or without; bool [people].
        onsets: whose symptoms began today, a `Severity`, uint8 [people].
    """

    day: int
    eligible: NDArray[np.bool_]
    most_tests: int
    reachable: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    onsets: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, dtype=np.uint8))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evening:
    """What a policy with follow-up learns at the end of a day.

    Attributes:
        day: from 1.
        released: the scores of the day.
        positives: who learned of a positive result today, ids.
        negatives: who learned of a negative result today, ids.
        onsets: whose symptoms began today, a `Severity`, uint8 [people].
        households: everybody's household, int32 [people].
        has_app: who has the app, bool [people].
        alive: who is alive, bool [people].
        contacts: everybody's contacts of the day; None unless the settings of the policy say that
            it `reads_contacts`.
    """

    day: int
    released: Released
    positives: Ids
    negatives: Ids
    onsets: NDArray[np.uint8]
    households: NDArray[np.int32]
    has_app: NDArray[np.bool_]
    alive: NDArray[np.bool_]
    contacts: DayContacts | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measures:
    """What a policy did on a day apart from testing and isolating positives.

    Attributes:
        quarantined: who stayed at home for a reason other than their own positive result, bool
            [people].
        notices: how many people were asked to be tested or to stay at home.
    """

    quarantined: NDArray[np.bool_]
    notices: int


class Policy(Protocol):
    """Decisions about tests and isolation: `start`, then the other three once per day.

    The state is what the policy remembers; a policy object itself never changes.
    """

    def start(self, n_people: int) -> Any:
        """Return the state before the first day."""

    def isolate(self, day: int, state: Any) -> tuple[NDArray[np.bool_], Any]:
        """Return who stays at home on that day, bool [people], and the next state."""

    def choose(self, released: Released, situation: Situation, state: Any) -> tuple[Ids, Any]:
        """Return whom to test, each once and at most `most_tests`, and the next state.

        A policy that follows up, or has an attribute `beyond_capacity` that is true, may go beyond.
        """

    def respond(self, positives: Ids, day: int, state: Any) -> Any:
        """Return the state after these people learned of a positive result on that day."""


@runtime_checkable
class Publishes(Protocol):
    """A policy that publishes something computed from scores, which costs privacy."""

    def selection(self, state: Any) -> SelectionEvent | None:
        """Return what the last choice spent."""


@runtime_checkable
class FollowsUp(Protocol):
    """A policy that looks at more than scores and positive results; both are called last."""

    def follow_up(self, evening: Evening, state: Any) -> Any:
        """Return the state after the day; `respond` was called before."""

    def measures(self, state: Any) -> Measures:
        """Return what was done on the day that ends."""


@runtime_checkable
class KeepsDiary(Protocol):
    """A policy under which people notice illness, are told of cases or stay at home."""

    def diary(self, state: Any) -> NDArray[np.uint8]:
        """Return flags of `records.Diary` up to today, uint8 [days, people], after `choose`."""


class PolicySettings(Plugin):
    """The settings of a policy; rules of isolation and seeds are common to all of them."""

    noun: ClassVar[str] = "policy"
    # Whether people who stay at home can be tested there.
    tests_at_home: ClassVar[bool] = False
    # Keys of levers that act on scores, which are off by default.
    by_score: ClassVar[tuple[str, ...]] = ()

    @property
    def reads_contacts(self) -> bool:
        """Whether it learns who met whom without noise, which no ε covers."""
        return False

    @property
    def tells_of_cases(self) -> bool:
        """Whether it tells people, without noise, of a case they met or live with."""
        return self.reads_contacts

    @property
    def told_of(self) -> str:
        """What it tells them, where it does."""
        return "somebody they met or live with tested positive"

    def tells_of_cases_in(self, simulator: SimulatorSettings) -> bool:
        """Whether it does so with this simulator, where people may live alone."""
        del simulator
        return self.tells_of_cases

    @property
    def keeps_diary(self) -> bool:
        """Whether phones know more about their owners than tests and contacts: `records.Diary`."""
        return False

    @property
    def sends_home_by_score(self) -> bool:
        """Whether scores decide who stays at home without a test."""
        return False

    @property
    def acts_alone(self) -> bool:
        """Whether it does anything without scores."""
        return False

    def notices(self, simulator: SimulatorSettings) -> list[str]:
        """Return which settings have no effect with each other or in a simulator, and why."""
        del simulator
        return []

    def idle(self) -> list[str]:
        """Return dotted keys whose values have no effect with the others."""
        return []

    def budgets(self) -> list[tuple[str, float, str]]:
        """Return key and share of every budget in use, and what follows if it is nobody."""
        return []

    def without_scores(self) -> Self:
        """Return the settings for meaningless scores: the keys in `by_score` at their defaults."""
        usual = {key: type(self).model_fields[key].default for key in self.by_score}
        return self.model_copy(update=usual)

    @abstractmethod
    def build(self, isolation: IsolationRules, seed: int) -> Policy:
        """Return the policy of these settings."""
