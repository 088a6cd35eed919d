"""Train the decoders of `headcount` and of `public-facts` side by side on the same runs.

Every run is watched by all of them, and each of them takes its turn in choosing whom to test, so
that the floor is trained exactly like the methods that must beat it. Capacities are mixed, because
messages matter most where tests are scarce; days on which the epidemic is lost are left out,
because they would be most of the cases. Otherwise it is like `decoder_rounds`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.inference.heads import Closeness, head_counts
from dnatrace.methods.base import Method
from dnatrace.methods.headcount import (
    DECODERS,
    Headcount,
    HeadcountRelease,
    Known,
    news_alarms,
    standing_alarms,
)
from dnatrace.methods.public_facts import FLOOR, PublicFactsAlone
from dnatrace.networks.architecture import WINDOW
from dnatrace.networks.decoder import Alarm, Decoder, Heads
from dnatrace.privacy.accounting import Unit
from dnatrace.runs.config import RunConfig
from dnatrace.tracing import DayLog
from dnatrace.training.decoder import Cases, Settings
from dnatrace.training.decoder_rounds import FIRST_POLICY, Plan, Student

ALARM = Alarm(low=0.3, high=0.9)  # for messages relative to that of a fresh positive test
SCENARIOS: tuple[dict[str, Any], ...] = (
    {"tests.capacity": 0.08},
    {"tests.capacity": 0.04},
    {"tests.capacity": 0.06, "initially_infected": 20},
    {"tests.capacity": 0.04, "initially_infected": 20},
    {"tests.capacity": 0.08, "initially_infected": 50},
    {"tests.capacity": 0.05},
    {"isolation.adherence": 0.5, "isolation.adherence_unit": "event"},
    {"tests.capacity": 0.04},
    {
        "tests.capacity": 0.06,
        "tests.false_positive_rate": 0.1,
        "tests.false_negative_rate": 0.01,
    },
    {"tests.capacity": 0.04, "isolation.adherence": 0.8},
    {"tests.capacity": 0.02, "initially_infected": 20},
    {"tests.capacity": 0.08},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person(Student):
    """A decoder that reads head counts, or public facts alone when there are none."""

    alarm: Alarm = ALARM

    @property
    def channels(self) -> int:
        """How many numbers per release it watches."""
        return len(self.heads.bounds) if self.heads else 0

    def method(self, config: RunConfig, decoder: Decoder) -> Method:
        """Return the method that uses the decoder."""
        if self.heads is None:
            return PublicFactsAlone(decoder=decoder)
        target = replace(config.privacy.target, unit=Unit.PERSON)
        setup = replace(config.method_setup(), target=target)
        variant = HeadcountRelease(self.heads.release)
        return Headcount(setup=setup, decoder=decoder, variant=variant)

    def numbers(self, log: DayLog, before: Known | None) -> NDArray[np.float64]:
        """Return its numbers for a day, without noise: [channels, people]."""
        assert self.heads is not None
        assert log.secret.messages is not None
        if self.heads.release == HeadcountRelease.DAILY:
            people, alarms = standing_alarms(log.secret.messages, log.public, ALARM)
        else:
            people, alarms = news_alarms(log.public, before)
        closeness = Closeness(fading=self.heads.fading, bounds=self.heads.bounds)
        return head_counts(log.secret.window, alarms, closeness, of=people)

    def cases(self, all_numbers: Cases, first: int) -> Cases:
        """Return the cases with only its own numbers, which begin with number `first`."""
        rows = len(all_numbers.worth)
        by_day = all_numbers.tallies.reshape(rows, WINDOW, -1)
        own = by_day[:, :, first : first + self.channels]
        if self.heads is None:
            own = np.zeros((rows, WINDOW, 1), dtype=np.float32)
        return replace(all_numbers, tallies=np.ascontiguousarray(own.reshape(rows, -1)))

    def settings(self, asked: Settings) -> Settings:
        """Return how it is trained."""
        asked = replace(asked, diary=self.diary)
        if self.heads is None:
            return replace(asked, tallies=0)
        return replace(asked, tallies=WINDOW, merged_above=self.heads.merged_above)


STUDENTS = (
    Person(
        name=DECODERS[HeadcountRelease.DAILY],
        heads=Heads(release="daily", fading=1.0, bounds=(0.0, 2.0, 6.0), merged_above=0.6),
    ),
    Person(
        name=DECODERS[HeadcountRelease.NEWS],
        heads=Heads(release="news", fading=0.8, bounds=(0.3, 1.05), merged_above=0.45),
    ),
    Person(name=FLOOR),
)


class Watcher:
    """Counts for all students, day by day."""

    def __init__(self) -> None:
        self._before: Known | None = None

    def __call__(self, log: DayLog) -> NDArray[np.float32]:
        """Return the numbers of all students, one after another: float32 [numbers, people]."""
        counted = [s.numbers(log, self._before) for s in STUDENTS if s.heads is not None]
        self._before = Known(first_day=log.public.first_day, outcomes=log.public.outcomes)
        return np.concatenate(counted).astype(np.float32)


PERSON = Plan(
    network="headcount",
    students=STUDENTS,
    watch=Watcher,
    settings=Settings(least_noise=0.05, most_noise=60.0, heads=True),
    first_seed=11_001,
    epsilons=(5.0, 30.0, 1.0, 100.0, 15.0, 0.2, 300.0),  # of a person
    scenarios=SCENARIOS,
    always=FIRST_POLICY | {"seir.exchange": "own-tests"},
    most_infected=0.02,
)
