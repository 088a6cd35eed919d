"""Household quarantine: housemates of a case also stay at home."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from dnatrace.policy.base import Evening, Ids
from dnatrace.policy.stays import Known, StayRules, mask_of
from dnatrace.settings import Days, setting


class Trigger(StrEnum):
    """What sends a household home."""

    POSITIVE = "positive"
    SYMPTOMS = "symptoms"


class HouseholdSettings(StayRules):
    """Housemates of a case stay at home; off when `days` is 0."""

    days: Days = setting(0, "length of the stay, from the day after the notice; 0 for none")
    trigger: Trigger = setting(
        Trigger.POSITIVE,
        "a housemate's `positive` result, or `symptoms`, even of another illness (`symptoms`), "
        "which send the ill person home as well",
    )

    @property
    def is_on(self) -> bool:
        """Whether anybody stays at home."""
        return self.days > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Household:
    """Tell housemates of cases."""

    name: ClassVar[str] = "household"
    rules: HouseholdSettings

    def start(self) -> None:
        """Return no memory."""

    def tell(self, evening: Evening, known: Known, memory: None) -> tuple[Ids, None]:
        """Return the housemates of the cases of the day. Cost: O(people)."""
        n_people = evening.households.size
        if self.rules.trigger is Trigger.SYMPTOMS:
            cases, themselves = evening.onsets > 0, np.zeros(n_people, dtype=np.bool_)
        else:
            cases = themselves = mask_of(evening.positives, n_people)
        hit = np.zeros(evening.households.max() + 1, dtype=np.bool_)
        hit[evening.households[cases]] = True
        told = hit[evening.households] & ~themselves & evening.alive
        return np.flatnonzero(told & ~known.exempt(evening.day, self.rules)), None
