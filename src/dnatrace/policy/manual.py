"""Manual tracing: staff ask as many cases as they can whom they met, and tell those people."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dnatrace.policy.base import Evening, Ids
from dnatrace.policy.meetings import closest_meeting
from dnatrace.policy.stays import Known, StayRules, mask_of, most_of
from dnatrace.rng import Stream
from dnatrace.settings import Days, Share, setting

_COVASIM = "test-trace-quarantine of Covasim (Kerr et al. 2021)"
LookBack = Annotated[int, Field(ge=1, le=100, strict=True)]
# Results by day, the oldest first.
Backlog = tuple[tuple[int, Ids], ...]


class ManualSettings(StayRules):
    """Staff trace contacts of cases; off when there is no staff."""

    capacity: Share = setting(0.0, "cases that staff can ask per day, as a share of the population")
    delay: Days = setting(1, "days from a positive result to the call", source="chosen: one day")
    household: Share = setting(
        1.0,
        "probability that a housemate is named",
        source="chosen: people know who they live with",
    )
    occupation: Share = setting(
        0.7, "the same for meetings at work and at school", source=f"0.70 in {_COVASIM}"
    )
    random: Share = setting(
        0.0, "the same for random meetings", source=f"community 0 in {_COVASIM}"
    )
    look_back: LookBack = setting(
        7, "days of contacts that staff ask about", source="quarantine_days of OpenABM-Covid19"
    )

    @property
    def is_on(self) -> bool:
        """Whether anybody is asked."""
        return self.capacity > 0.0 and self.days > 0

    @property
    def recall(self) -> NDArray[np.float64]:
        """The probability that somebody is named, by kind of meeting: float64 [kinds]."""
        return np.array([self.household, self.occupation, self.random])


@dataclass(frozen=True, slots=True, kw_only=True)
class Manual:
    """Ask cases in the order of their results, and tell the people they name.

    Who is named is decided once per person and day, by the closest kind of meeting with any of the
    cases that are asked that day. Cases that could not be asked within `look_back` days are
    dropped.
    """

    name: ClassVar[str] = "manual"
    rules: ManualSettings
    seed: int

    def start(self) -> Backlog:
        """Return an empty backlog."""
        return ()

    def tell(self, evening: Evening, known: Known, memory: Backlog) -> tuple[Ids, Backlog]:
        """Return who is named by the cases asked today. Cost: O(contacts looked at)."""
        n_people, rules = evening.alive.size, self.rules
        asked, backlog = self._ask(((*memory, (evening.day, evening.positives))), evening)
        cases = mask_of(asked, n_people)
        chance = closest_meeting(known.days[-rules.look_back :], cases, rules.recall)
        everyone = np.arange(n_people)
        draws = Stream(self.seed, "levers/manual/recall").uniform(everyone, evening.day)
        named = (draws < chance) & ~cases & evening.alive & ~known.exempt(evening.day, rules)
        return np.flatnonzero(named), backlog

    def _ask(self, backlog: Backlog, evening: Evening) -> tuple[Ids, Backlog]:
        """Return who is asked today and who is left."""
        rules, day = self.rules, evening.day
        room = most_of(rules.capacity, evening.alive.size)
        asked, left = [np.empty(0, dtype=np.int64)], []
        for result_day, people in backlog:
            if day - result_day > rules.look_back + rules.delay:
                continue
            turn = Stream(self.seed, "levers/manual/turn").uniform(people, result_day)
            waiting = people[np.argsort(turn, kind="stable")]
            now = room if day - result_day >= rules.delay else 0
            asked.append(waiting[:now])
            room -= asked[-1].size
            if waiting.size > now:
                left.append((result_day, np.sort(waiting[now:])))
        return np.concatenate(asked), tuple(left)
