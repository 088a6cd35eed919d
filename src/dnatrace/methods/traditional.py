"""Traditional contact tracing: count the contacts with a positive test.

Reference: Baker et al. 2021, "Epidemic mitigation by statistical inference from contact tracing
data".
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.methods.base import DayFacts, Needs
from dnatrace.methods.settings import require_window
from dnatrace.privacy.accounting import Lifetime, Target
from dnatrace.privacy.mechanisms import GaussianMechanism, publish_unprotected
from dnatrace.privacy.noise import FastNoise, Noise
from dnatrace.privacy.release import Bounded, Released
from dnatrace.privacy.sensitivity import add_up_day

_PURPOSE = "noise/traditional"


class TraditionalRelease(StrEnum):
    """Whether the count gets noise."""

    GAUSSIAN = "gaussian"
    EXACT = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traditional:
    """The number of contacts in the window whose sender tested positive, with noise.

    Guarantee: replacing what one contact says (a positive test or none) changes the count by 1; the
    noise is calibrated for the target. Without a target the count is released as it is.
    Edge cases: a repeated contact counts twice; negative noisy counts become 0 (post-processing).

    Attributes:
        target: what the noise is calibrated for; None releases without protection.
        window_days: the most days a contact stays in the window.
        noise: the back end.
    """

    target: Target | None = None
    window_days: int = 14
    noise: Noise = field(default_factory=lambda: FastNoise(seed=0))

    @property
    def needs(self) -> Needs:
        """Tests are part of the facts of every day."""
        return Needs.NOTHING

    @property
    def sound(self) -> bool:
        """Whether the release has a proved, finite cost."""
        return self.target is not None

    def start(self, n_people: int) -> None:
        """Return no state: every day is counted anew."""

    def release(self, facts: DayFacts, state: Any) -> tuple[Released, None]:
        """Return noisy counts, at least 0."""
        require_window(facts, self.window_days)
        counts = _positive_contacts(facts)
        if self.target is None:
            return publish_unprotected(counts, day=facts.day), None
        lifetime = Lifetime(shares=(1.0,) * self.window_days, joint=True)
        mechanism = GaussianMechanism(
            name="number of contacts with a positive test (sensitivity 1)",
            multiplier=self.target.multiplier(lifetime),
            lifetime=lifetime,
            noise=self.noise,
            purpose=_PURPOSE,
        )
        met = facts.window.counts.sum(axis=0) > 0
        statistic = Bounded(values=counts, sensitivity=met.astype(np.float64))
        return mechanism.release(statistic, day=facts.day, decode=_at_least_zero), None


def _positive_contacts(facts: DayFacts) -> NDArray[np.float64]:
    positive = (facts.outcomes == 1).any(axis=0).astype(np.float64)
    counts, today = np.zeros(positive.size), np.empty(positive.size)
    for day in facts.window:
        add_up_day(day, positive, today)
        counts += today
    return counts


def _at_least_zero(noisy: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(noisy, 0.0)
