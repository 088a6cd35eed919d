"""The laboratory: capacity, delays and errors of tests."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dnatrace.policy.base import Ids
from dnatrace.records import TestLog
from dnatrace.rng import Stream
from dnatrace.seir import ErrorRates, State, TestErrors
from dnatrace.settings import Days, Share, setting
from dnatrace.simulators.base import SEIR_OF_COURSE, CourseState

# What phones believe about errors of tests, next to what is true.
BELIEVED = tuple(f"believed_{name}" for name in ErrorRates.model_fields)


class Detects(StrEnum):
    """In which states a swab detects an infection."""

    EXPOSED_OR_INFECTED = "exposed-or-infected"
    INFECTED = "infected"

    def finds(self, states: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return who is truly positive, given states S, E, I, R: bool, one per person."""
        infected = states == State.I
        return infected if self is Detects.INFECTED else infected | (states == State.E)


class SwabErrors(ErrorRates):
    """What tests do: whose infection they detect, and how often they err.

    The phones' model need not know this: what it assumes is `seir.TestErrors`.
    """

    detects: Detects = setting(
        Detects.EXPOSED_OR_INFECTED,
        "states in which a test is truly positive: `exposed-or-infected` or `infected`",
        source="authors' programs; the paper's model of a test says `infected`",
    )


class TestRules(SwabErrors):
    """How tests are given, what they do, and what phones believe about them."""

    __test__: ClassVar[bool] = False  # the name does not make it a test case

    believed_false_positive_rate: Share | None = setting(
        None, "what phones assume for P(positive) of a person not in I; if absent, the true rate"
    )
    believed_false_negative_rate: Share | None = setting(
        None, "what phones assume for P(negative) of a person in I; if absent, the true rate"
    )
    capacity: Share = setting(
        0.08, "share of the population tested per day", source="DNA paper, 8 % of people per day"
    )
    order_delay: Days = setting(0, "days from being chosen to being tested")
    result_delay: Days = setting(0, "days from the test to its result")

    @property
    def believed(self) -> TestErrors:
        """What the phones' model believes about tests."""
        rates = {}
        for name, key in zip(ErrorRates.model_fields, BELIEVED, strict=True):
            believed = getattr(self, key)
            rates[name] = getattr(self, name) if believed is None else believed
        return TestErrors(**rates)

    def most_tests(self, n_people: int) -> int:
        """Return how many people can be tested per day: the share, rounded down."""
        return int(self.capacity * n_people + 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Tests taken on a day: who was tested, and results, which may not be known yet."""

    day: int
    people: Ids
    results: NDArray[np.bool_]

    @property
    def positives(self) -> Ids:
        """Who has a positive result."""
        return self.people[self.results]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Queue:
    """What the laboratory still has to do.

    Attributes:
        orders: people chosen and not yet tested, by day, the oldest first.
        samples: tests whose results are not known yet, the oldest first.
        waiting: who is in either of the two, bool [people].
    """

    orders: tuple[Ids, ...]
    samples: tuple[Sample, ...]
    waiting: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Laboratory:
    """Takes orders, tests people when they are due, and reports results when they are due."""

    rules: TestRules
    seed: int

    def start(self, n_people: int) -> Queue:
        """Return an empty queue."""
        return Queue(orders=(), samples=(), waiting=np.zeros(n_people, dtype=np.bool_))

    def take(
        self,
        queue: Queue,
        chosen: Ids,
        *,
        states: NDArray[np.uint8],
        isolated: NDArray[np.bool_],
        day: int,
    ) -> tuple[Sample, Queue]:
        """Order tests for `chosen`, and test those who are due unless they have died or isolate.

        `states` are course states, uint8 [people]; results are drawn by their group S, E, I or R.
        `isolated` are the people who cannot be tested where they are.
        """
        waiting, orders = queue.waiting.copy(), (*queue.orders, chosen)
        waiting[chosen] = True
        people = np.empty(0, dtype=np.int64)
        if len(orders) > self.rules.order_delay:
            due, *rest = orders
            orders = tuple(rest)
            possible = ~isolated[due] & (states[due] != CourseState.DEATH)
            waiting[due[~possible]] = False
            people = due[possible]
        sample = Sample(day=day, people=people, results=self._results(people, states, day))
        return sample, Queue(orders=orders, samples=(*queue.samples, sample), waiting=waiting)

    def _results(self, people: Ids, states: NDArray[np.uint8], day: int) -> NDArray[np.bool_]:
        truly_positive = self.rules.detects.finds(SEIR_OF_COURSE[states[people]])
        stream = Stream(self.seed, "tests/results")
        return draw_results(people, truly_positive, day=day, errors=self.rules, stream=stream)

    def tell(self, queue: Queue, log: TestLog, day: int) -> tuple[Sample, Queue]:
        """Enter the results that are due into the log and return them."""
        if day - queue.samples[0].day < self.rules.result_delay:
            nobody = np.empty(0, dtype=np.int64)
            return Sample(day=day, people=nobody, results=nobody.astype(np.bool_)), queue
        sample, *rest = queue.samples
        waiting = queue.waiting.copy()
        waiting[sample.people] = False
        log.record(sample.day, sample.people, sample.results)
        told = Queue(orders=queue.orders, samples=tuple(rest), waiting=waiting)
        return sample, told


def draw_results(
    people: Ids, truly_positive: NDArray[np.bool_], *, day: int, errors: ErrorRates, stream: Stream
) -> NDArray[np.bool_]:
    """Return test results, given who is truly positive: bool [people tested]."""
    rate = np.where(truly_positive, 1.0 - errors.false_negative_rate, errors.false_positive_rate)
    return stream.uniform(people, day) < rate
