"""Testing people with symptoms: some ask for a test on the day they fall ill."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dnatrace.policy.base import Ids, Severity, Situation
from dnatrace.policy.stays import EXEMPT, Known, StayRules, most_of
from dnatrace.rng import Stream
from dnatrace.settings import Days, Settings, Share, setting


class SymptomsSettings(Settings):
    """People ask for a test on the day their symptoms begin; off unless somebody does."""

    severe: Share = setting(0.0, "probability that a person with severe symptoms is tested")
    mild: Share = setting(0.0, "the same for mild symptoms, including those of another illness")
    background: Share = setting(
        0.002,
        "probability per day of mild symptoms of another illness",
        source="daily_non_cov_symptoms_rate of OpenABM-Covid19, UK flu survey",
    )
    capacity: Share = setting(1.0, "share of the population that can be tested this way per day")
    waits_at_home: bool = setting(False, "whether those who comply await the result at home")
    adherence: Share = setting(1.0, "share that stays at home while waiting, drawn per test")
    exempt_days: Days = setting(
        90, "days after a positive result without another test of this kind", source=EXEMPT
    )

    @property
    def seen(self) -> bool:
        """Whether people who fall ill, with any illness, are noticed."""
        return self.severe > 0.0 or self.mild > 0.0

    @property
    def is_on(self) -> bool:
        """Whether anybody is tested."""
        return self.capacity > 0.0 and self.seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptoms:
    """Test people who fall ill and ask for it, severe cases first when there are too many."""

    settings: SymptomsSettings
    seed: int

    def ill(self, onsets: NDArray[np.uint8], day: int) -> NDArray[np.uint8]:
        """Return the severity of symptoms that begin today, of any illness: uint8 [people]."""
        everyone = np.arange(onsets.size)
        draws = Stream(self.seed, "levers/symptoms/background").uniform(everyone, day)
        other = np.where(draws < self.settings.background, np.uint8(Severity.MILD), np.uint8(0))
        return np.maximum(onsets, other)

    def choose(self, situation: Situation, known: Known, room: int) -> Ids:
        """Return who is tested because of symptoms, within capacity and room. Cost: O(people)."""
        day, ill = situation.day, self.ill(situation.onsets, situation.day)
        chance = np.array([0.0, self.settings.mild, self.settings.severe])[ill]
        everyone = np.arange(ill.size)
        asks = Stream(self.seed, "levers/symptoms/ask").uniform(everyone, day) < chance
        rules = StayRules(exempt_days=self.settings.exempt_days)
        asking = np.flatnonzero(asks & situation.reachable & ~known.exempt(day, rules))
        most = min(most_of(self.settings.capacity, ill.size), room)
        if asking.size <= most:
            return asking
        turn = Stream(self.seed, "levers/symptoms/turn").uniform(asking, day)
        order = np.lexsort((turn, -ill[asking].astype(np.int8)))
        return np.sort(asking[order[:most]])

    def waits(self, tested: Ids, day: int) -> Ids:
        """Return who, of those tested, stays at home until the result."""
        if not self.settings.waits_at_home:
            return tested[:0]
        draws = Stream(self.seed, "levers/symptoms/wait").uniform(tested, day)
        return tested[draws < self.settings.adherence]
