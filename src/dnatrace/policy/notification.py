"""The rule of exposure-notification apps: people who met a reporting user stay at home."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dnatrace.policy.base import Evening, Ids
from dnatrace.policy.manual import LookBack
from dnatrace.policy.meetings import count_meetings
from dnatrace.policy.stays import Known, StayRules, mask_of
from dnatrace.rng import Stream
from dnatrace.settings import Share, setting


class NotificationSettings(StayRules):
    """App users report positive results, and people they met are told; off if nobody reports."""

    consent: Share = setting(0.0, "share of app users with a positive result who report it")
    detection: Share = setting(
        0.8,
        "probability that a meeting of two app users counts",
        source="traceable_interaction_fraction of OpenABM-Covid19",
    )
    look_back: LookBack = setting(
        7, "days of contacts that count", source="quarantine_days of OpenABM-Covid19"
    )

    @property
    def is_on(self) -> bool:
        """Whether anybody is told."""
        return self.consent > 0.0 and self.detection > 0.0 and self.days > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """Tell app users who met a reporting one; every meeting counts with its own chance."""

    name: ClassVar[str] = "notification"
    rules: NotificationSettings
    seed: int

    def start(self) -> None:
        """Return no memory."""

    def tell(self, evening: Evening, known: Known, memory: None) -> tuple[Ids, None]:
        """Return who is told. Cost: O(contacts looked at)."""
        n_people, rules = evening.alive.size, self.rules
        users = evening.positives[evening.has_app[evening.positives]]
        draws = Stream(self.seed, "levers/notification/consent").uniform(users)
        cases = mask_of(users[draws < rules.consent], n_people)
        meetings = count_meetings(known.days[-rules.look_back :], cases)
        chance = 1.0 - (1.0 - rules.detection) ** meetings
        everyone = np.arange(n_people)
        draws = Stream(self.seed, "levers/notification/detection").uniform(everyone, evening.day)
        told = (draws < chance) & evening.has_app & ~cases & evening.alive
        return np.flatnonzero(told & ~known.exempt(evening.day, rules)), None
