"""Quarantine by score: people most likely to be infected stay at home without a test."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dnatrace.policy.base import Evening, Ids
from dnatrace.policy.highest_scores import choose_tests
from dnatrace.policy.stays import Known, StayRules, most_of
from dnatrace.rng import Stream
from dnatrace.settings import Share, setting


class QuarantineSettings(StayRules):
    """People with the highest scores stay at home; off when `capacity` is 0."""

    capacity: Share = setting(0.0, "largest share of the population told per day; 0 for none")
    most_at_once: Share = setting(1.0, "largest share of the population in such a stay at once")
    threshold: float | None = setting(None, "if given, people with scores below it are not told")

    @property
    def is_on(self) -> bool:
        """Whether anybody stays at home."""
        return self.capacity > 0.0 and self.most_at_once > 0.0 and self.days > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Tell people with the day's highest scores, ties broken at random, within both budgets."""

    name: ClassVar[str] = "quarantine"
    rules: QuarantineSettings
    seed: int

    def start(self) -> None:
        """Return no memory."""

    def tell(self, evening: Evening, known: Known, memory: None) -> tuple[Ids, None]:
        """Return the highest scores among those who are not at home tomorrow anyway.

        People without a score are not told. Cost: O(people).
        """
        tomorrow, n_people = evening.day + 1, evening.alive.size
        eligible = evening.alive & ~known.stays(tomorrow) & ~known.exempt(evening.day, self.rules)
        if self.rules.threshold is not None:
            with np.errstate(invalid="ignore"):
                eligible &= evening.released.scores >= self.rules.threshold
        room = most_of(self.rules.most_at_once, n_people)
        room -= int((known.until[self.name] >= tomorrow).sum())
        everyone = np.arange(n_people)
        told = choose_tests(
            evening.released,
            eligible=eligible,
            most=min(most_of(self.rules.capacity, n_people), room, known.room),
            ties=Stream(self.seed, "levers/quarantine/ties").uniform(everyone, evening.day),
        )
        return told, None
