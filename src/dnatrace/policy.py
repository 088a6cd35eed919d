"""Who is tested and who isolates, from released scores and results alone."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import require_at_least, require_share
from dnatrace.privacy.release import Released, TrustBoundaryError
from dnatrace.rng import Stream
from dnatrace.seir import TestErrors

Ids = NDArray[np.int64]
NEVER = -1


class AdherenceUnit(StrEnum):
    """Whether following the isolation rule is decided once a person or at each positive test."""

    PERSON = "person"
    EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRules:
    """How tests are given.

    Attributes:
        capacity: the share of the population that can be tested a day.
        errors: how often a test errs; a person is truly positive in E or I.
        order_delay: days from being chosen to being tested.
        result_delay: days from being tested to knowing the result.
    """

    __test__ = False  # the name does not make it a test case

    capacity: float = 0.08
    errors: TestErrors = field(default_factory=TestErrors)
    order_delay: int = 0
    result_delay: int = 0

    def __post_init__(self) -> None:
        require_share("tests.capacity", self.capacity)
        require_at_least("tests.order_delay", self.order_delay, 0)
        require_at_least("tests.result_delay", self.result_delay, 0)

    def most_tests(self, n_people: int) -> int:
        """Return how many people can be tested a day: the share, rounded down."""
        return int(self.capacity * n_people + 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationRules:
    """How people with a positive result isolate.

    Attributes:
        days: how long, from the day after the result.
        start_day: results before this day of the run have no consequence.
        adherence: the share that follows the rule.
        adherence_unit: drawn once a person, or anew at each positive result.
        dropout: the probability, each day, of leaving isolation for good.
    """

    days: int = 10
    start_day: int = 3
    adherence: float = 1.0
    adherence_unit: AdherenceUnit = AdherenceUnit.PERSON
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_at_least("isolation.days", self.days, 0)
        require_at_least("isolation.start_day", self.start_day, 0)
        require_share("isolation.adherence", self.adherence)
        require_share("isolation.dropout", self.dropout)


def choose_tests(
    released: Released, *, eligible: NDArray[np.bool_], most: int, ties: NDArray[np.float64]
) -> Ids:
    """Return who is tested: the highest scores among the eligible, ties to the smallest `ties`.

    People without a score (NaN) are never chosen.
    Cost: O(people).
    """
    if not isinstance(released, Released):
        raise TrustBoundaryError(f"scores must be Released, not {type(released).__name__}")
    scores = released.scores
    candidates = np.flatnonzero(eligible & ~np.isnan(scores))
    if most <= 0 or candidates.size == 0:
        return np.empty(0, dtype=np.int64)
    if candidates.size <= most:
        return candidates
    values = scores[candidates]
    last_in = np.partition(values, values.size - most)[values.size - most]
    above = candidates[values > last_in]
    level = candidates[values == last_in]
    winners = np.argpartition(ties[level], most - above.size - 1)[: most - above.size]
    return np.sort(np.concatenate([above, level[winners]]))


def draw_results(
    people: Ids, positive: NDArray[np.bool_], *, day: int, errors: TestErrors, stream: Stream
) -> NDArray[np.bool_]:
    """Return the results of tests of people who are truly positive or not: bool [people tested]."""
    rate = np.where(positive, 1.0 - errors.false_negative_rate, errors.false_positive_rate)
    return stream.uniform(people, day) < rate


def admit(
    until: NDArray[np.int32], positives: Ids, *, day: int, rules: IsolationRules, stream: Stream
) -> NDArray[np.int32]:
    """Return the last day of isolation of everybody after the results of `day`: int32 [people]."""
    if day < rules.start_day or rules.days == 0:
        return until
    admitted = until.copy()
    admitted[positives[follows(positives, day=day, rules=rules, stream=stream)]] = day + rules.days
    return admitted


def follows(people: Ids, *, day: int, rules: IsolationRules, stream: Stream) -> NDArray[np.bool_]:
    """Return who isolates after a positive result of that day: bool, one for each of `people`."""
    drawn_on = 0 if rules.adherence_unit is AdherenceUnit.PERSON else day
    return stream.uniform(people, drawn_on) < rules.adherence


def drop_out(
    until: NDArray[np.int32], *, day: int, rules: IsolationRules, stream: Stream
) -> NDArray[np.int32]:
    """Return the last day of isolation after those who give up before `day` have left."""
    if rules.dropout == 0.0:
        return until
    isolated = np.flatnonzero(until >= day)
    leaves = isolated[stream.uniform(isolated, day) < rules.dropout]
    left = until.copy()
    left[leaves] = day - 1
    return left


def adopters(
    adoption: NDArray[Any], age_groups: NDArray[np.uint8], stream: Stream
) -> NDArray[np.bool_]:
    """Return who has the app, given the share by age group: bool [people]."""
    return stream.uniform(np.arange(age_groups.size)) < adoption[age_groups]
