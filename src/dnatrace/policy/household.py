"""Household quarantine: housemates of a case stay at home, too."""

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
    """Housemates of a case stay at home; off when for no days."""

    days: Days = setting(0, "length of the stay, from the day after the notice; 0 for none")
    trigger: Trigger = setting(
        Trigger.POSITIVE,
        "a `positive` result of a housemate, or `symptoms`, also of another illness (`symptoms`), "
        "which send home the ill person as well",
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
        """Return that nothing is remembered."""

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
