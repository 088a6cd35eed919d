"""What phones receive from each other on a day: the seam between contacts and inference.

A deployment runs this part encrypted, in an enclave or on servers. It takes the contacts and the
tests of the window and returns what each phone received.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dnatrace.inference import exposures as ex
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.inference.own_tests import TestPatterns, infected_given_tests
from dnatrace.records import ContactWindow
from dnatrace.seir import SeirParameters, TestErrors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Received:
    """What an exchange returns: arrays [days, people] aligned with the window.

    Attributes:
        exposures: float32; a column is a receiver. After rounds, those behind everybody's last
            update, whose last row is 0, because what is received today changes no belief of today;
            with own tests alone, what `messages` add up to, including the last row. None if not
            asked for and not free.
        messages: P(I) of everybody, unclipped, float32: after the last round, or given own tests
            alone. A column is a sender. None if not asked for.
        own_tests: whether the column of a sender in `messages` is a function of that person's tests
            alone, as a guarantee about a person requires.
    """

    exposures: NDArray[np.float32] | None
    messages: NDArray[np.float32] | None
    own_tests: bool = False


class ExchangeKind(StrEnum):
    """What messages are made of."""

    ROUNDS = "rounds"
    OWN_TESTS = "own-tests"
    LARGEST = "largest"


class Exchange(Protocol):
    """Messages over the contacts of a window."""

    def receive(
        self,
        window: ContactWindow,
        outcomes: NDArray[np.int8],
        *,
        with_messages: bool,
        with_exposures: bool = True,
    ) -> Received:
        """Return what everybody received, given own tests, int8 [days, people]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourRounds:
    """Rounds of Factorised Neighbours in an enclave.

    Attributes:
        parameters: the parameters of the statistical model.
        test_errors: what phones believe about tests.
        rounds: updates of everybody per day.
    """

    parameters: SeirParameters
    test_errors: TestErrors
    rounds: int = fn.DEFAULT_ROUNDS

    def receive(
        self,
        window: ContactWindow,
        outcomes: NDArray[np.int8],
        *,
        with_messages: bool,
        with_exposures: bool = True,
    ) -> Received:
        """Run the rounds from zero messages; exposures are always returned."""
        del with_exposures
        model: dict[str, Any] = {"parameters": self.parameters, "test_errors": self.test_errors}
        exposures = fn.message_rounds(window, outcomes, rounds=self.rounds, **model)
        messages = fn.infected(exposures, outcomes, **model) if with_messages else None
        return Received(exposures=exposures, messages=messages, own_tests=self.rounds == 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestBelief:
    """One exchange, then one number per person: the largest P(I) of the window, on all its days.

    What a sender heard in the exchange enters; what they said does not come back (docs/method.md on
    the echo). The same number goes over every contact of the window, also over those of days on
    which the sender was not infectious yet: whoever they met then may have infected them.

    Attributes:
        parameters: of the statistical model.
        test_errors: what phones believe of tests.
    """

    parameters: SeirParameters
    test_errors: TestErrors

    def receive(
        self,
        window: ContactWindow,
        outcomes: NDArray[np.int8],
        *,
        with_messages: bool,
        with_exposures: bool = True,
    ) -> Received:
        """Run two rounds from zero messages; exposures are those behind the second."""
        del with_exposures
        once = NeighbourRounds(parameters=self.parameters, test_errors=self.test_errors, rounds=2)
        received = once.receive(window, outcomes, with_messages=with_messages)
        if received.messages is None:
            return received
        largest = np.empty_like(received.messages)
        largest[:] = received.messages.max(axis=0)
        return Received(exposures=received.exposures, messages=largest)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTests:
    """Messages from the sender's own tests alone: no rounds, no echo, no enclave.

    Guarantee: the column of a person in `messages` is a function of that person's column of
    `outcomes` and of public parameters. Nobody else's tests and no contact enter it, so what a
    phone sends depends on nothing that it heard.

    The chain begins 14 days before the first day, whatever the window, so that somebody may have
    been infected before the window as well as in it. The weight of a positive test still falls a
    little as it moves towards the oldest day, because fewer days lie before it.

    Attributes:
        parameters: the parameters of the statistical model.
        test_errors: what phones believe about tests.
    """

    parameters: SeirParameters
    test_errors: TestErrors
    _patterns: TestPatterns = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        patterns = TestPatterns(parameters=self.parameters, test_errors=self.test_errors)
        object.__setattr__(self, "_patterns", patterns)

    def receive(
        self,
        window: ContactWindow,
        outcomes: NDArray[np.int8],
        *,
        with_messages: bool,
        with_exposures: bool = True,
    ) -> Received:
        """Return P(I) given own tests, and what it adds up to for people who met the senders."""
        messages = self.messages(outcomes)
        exposures = None
        if with_exposures:
            exposures = ex.exposures_of(window, messages, p1=self.parameters.p1)
        said = messages if with_messages else None
        return Received(exposures=exposures, messages=said, own_tests=True)

    def messages(self, outcomes: NDArray[np.int8]) -> NDArray[np.float32]:
        """Return P(I) on the days of own tests, int8 [days, people]: float32 of that shape."""
        return self._patterns.messages(outcomes)

    @property
    def just_found(self) -> float:
        """P(I) on the day of somebody's only test, a positive one, in a window of just that day.

        It is public. In a full window the same message is up to 1.11 times as high with the usual
        parameters, and higher with several positive tests; `Alarm` cuts it off at 1.
        """
        return _just_found(self.parameters, self.test_errors)


@lru_cache(maxsize=16)
def _just_found(parameters: SeirParameters, test_errors: TestErrors) -> float:
    positive = np.ones((1, 1), dtype=np.int8)
    return float(infected_given_tests(positive, parameters, test_errors)[0, 0])
