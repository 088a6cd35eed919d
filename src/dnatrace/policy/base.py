"""What every policy is given and must return."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dnatrace.plugins import Plugin
from dnatrace.policy.isolation import IsolationRules
from dnatrace.privacy.accounting import SelectionEvent
from dnatrace.privacy.release import Released

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Situation:
    """What a policy knows of a day besides the scores that were released the day before.

    Attributes:
        day: from 1.
        eligible: who can be tested: alive, with the app, not in isolation, not waiting for a test
            or a result; bool [people].
        most_tests: how many people can be tested on the day.
    """

    day: int
    eligible: NDArray[np.bool_]
    most_tests: int


class Policy(Protocol):
    """Decisions about tests and isolation: `start`, then the three others once per day.

    The state is what the policy remembers; a policy object itself never changes.
    """

    def start(self, n_people: int) -> Any:
        """Return the state before the first day."""

    def isolate(self, day: int, state: Any) -> tuple[NDArray[np.bool_], Any]:
        """Return who stays at home on that day, bool [people], and the next state."""

    def choose(self, released: Released, situation: Situation, state: Any) -> tuple[Ids, Any]:
        """Return whom to test, and the next state."""

    def respond(self, positives: Ids, day: int, state: Any) -> Any:
        """Return the state after these people learned of a positive result on that day."""


@runtime_checkable
class Publishes(Protocol):
    """A policy that publishes something made of scores, which costs privacy."""

    def selection(self, state: Any) -> SelectionEvent | None:
        """Return what was spent by the last choice."""


class PolicySettings(Plugin):
    """The settings of a policy; rules of isolation and seeds are common to all of them."""

    noun: ClassVar[str] = "policy"

    @abstractmethod
    def build(self, isolation: IsolationRules, seed: int) -> Policy:
        """Return the policy of these settings."""
