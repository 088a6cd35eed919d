"""What every tracing method is given and must return."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dnatrace.privacy.release import Released
from dnatrace.records import ContactWindow
from dnatrace.seir import SeirParameters, TestErrors


class Score(StrEnum):
    """Which belief of the last day ranks people."""

    INFECTED = "infected"
    EXPOSED_OR_INFECTED = "exposed-or-infected"


class Needs(StrEnum):
    """What a method looks at beyond public facts; the loop computes no more than that."""

    NOTHING = "nothing"
    EXPOSURES = "exposures"
    MESSAGES = "messages"
    TRUTH = "truth"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DayFacts:
    """What the enclave knows at the end of a day.

    All arrays by day are aligned with the window: row 0 is `window.first_day`.

    Attributes:
        day: the day that ends, the last of the window.
        window: contacts of the last days.
        outcomes: own tests, int8 [days, people]: 1, 0 or -1 without a test.
        messages: P(I) after the last round, unclipped, float32 [days, people]; for
            `Needs.MESSAGES` only.
        heard: the exposures that gave the last round, float32 [days, people]; for
            `Needs.EXPOSURES` and `Needs.MESSAGES`.
        states: true S, E, I, R as 0 … 3, uint8 [people]; None unless the method needs the truth.
        parameters: of the statistical model.
        test_errors: how often tests err.
        age_groups: decade of age, uint8 [people]; public to the person.
        isolated: who was in isolation on the day, bool [people]; public to the person.
    """

    day: int
    window: ContactWindow
    outcomes: NDArray[np.int8]
    parameters: SeirParameters
    test_errors: TestErrors
    messages: NDArray[np.float32] | None = None
    heard: NDArray[np.float32] | None = None
    states: NDArray[np.uint8] | None = None
    age_groups: NDArray[np.uint8] | None = None
    isolated: NDArray[np.bool_] | None = None


class Method(Protocol):
    """A tracing method: `start`, then `release` once a day.

    The state is what the next day needs (most methods need nothing and use None); a method object
    itself never changes.
    """

    @property
    def needs(self) -> Needs:
        """What the loop must compute for this method."""
        ...

    def start(self, n_people: int) -> Any:
        """Return the state before the first day."""
        ...

    def release(self, facts: DayFacts, state: Any) -> tuple[Released, Any]:
        """Return the scores of everybody at the end of the day, and the next state."""
        ...
