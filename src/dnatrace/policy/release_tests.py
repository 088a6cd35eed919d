"""Release tests: people in quarantine are tested, and a negative result ends their stay."""

from dataclasses import dataclass

import numpy as np

from dnatrace.policy.base import Ids, Situation
from dnatrace.policy.stays import Known, most_of
from dnatrace.rng import Stream
from dnatrace.settings import Days, Settings, Share, setting


class ReleaseTestsSettings(Settings):
    """Tests of people in quarantine; off when `capacity` is 0."""

    capacity: Share = setting(0.0, "share of the population that can be tested this way per day")
    after: Days = setting(
        5,
        "the day of the stay from which a person can be tested, once",
        source="Test to Release for travellers, England, from 15 December 2020: from day 5",
    )

    @property
    def is_on(self) -> bool:
        """Whether anybody is tested."""
        return self.capacity > 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseTests:
    """Test people whose stay a negative result would end, the longest stays first."""

    settings: ReleaseTestsSettings
    seed: int

    def choose(self, situation: Situation, known: Known, room: int) -> Ids:
        """Return who is tested to be released, within capacity and room. Cost: O(people)."""
        day = situation.day
        due = known.releasable & (day - known.since + 1 >= self.settings.after)
        due &= known.tested_on < known.since
        waiting = np.flatnonzero(due & situation.reachable)
        most = min(most_of(self.settings.capacity, due.size), room)
        if waiting.size <= most:
            return waiting
        turn = Stream(self.seed, "levers/release-tests/turn").uniform(waiting, day)
        return np.sort(waiting[np.lexsort((turn, known.since[waiting]))[:most]])
