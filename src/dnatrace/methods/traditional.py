"""Traditional contact tracing: count the contacts with a positive test.

Reference: Baker et al. 2021, "Epidemic mitigation by statistical inference from contact tracing
data".
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal

import numpy as np

from dnatrace.inference.exposures import add_up_day
from dnatrace.methods.base import Method, MethodSettings, Needs, PublicFacts, SecretFacts, Setup
from dnatrace.methods.kinds import Floats, OpenMethod, PrivateMethod, Query
from dnatrace.methods.settings import NAME, RELEASE
from dnatrace.privacy.accounting import Lifetime
from dnatrace.privacy.mechanisms import GaussianMechanism
from dnatrace.privacy.release import Bounded
from dnatrace.settings import setting

_PURPOSE = "noise/traditional"


class TraditionalRelease(StrEnum):
    """Whether the count gets noise."""

    GAUSSIAN = "gaussian"
    EXACT = "exact"


class TraditionalSettings(MethodSettings):
    """Count contacts with a positive test."""

    reads_transmission: ClassVar[bool] = False
    reads_model: ClassVar[bool] = False
    reads_test_errors: ClassVar[bool] = False
    name: Literal["traditional"] = setting("traditional", NAME)
    release: TraditionalRelease = setting(TraditionalRelease.GAUSSIAN, RELEASE)

    @property
    def adds_noise(self) -> bool:
        """Whether the count gets noise."""
        return self.release is TraditionalRelease.GAUSSIAN

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return Traditional(setup=setup) if self.adds_noise else ExactCount(setup=setup)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traditional(PrivateMethod):
    """The number of contacts in the window whose sender tested positive, with noise.

    Guarantee: replacing what one contact says (a positive test or none) changes the count by at
    most 1; the noise is calibrated for the target.
    Edge cases: a repeated contact counts repeatedly; negative noisy counts become 0
    (post-processing).
    """

    setup: Setup

    @property
    def needs(self) -> Needs:
        """Tests are part of the public facts of every day."""
        return Needs.NOTHING

    def query(self, prepared: Any, public: PublicFacts, secret: SecretFacts, memory: Any) -> Query:
        """Return the counts."""
        self.setup.require_window(public)
        lifetime = Lifetime(shares=(1.0,) * self.setup.window_days, joint=True)
        mechanism = GaussianMechanism(
            name="number of contacts with a positive test (sensitivity 1)",
            multiplier=self.setup.target.multiplier(lifetime),
            lifetime=lifetime,
            noise=self.setup.noise,
            purpose=_PURPOSE,
        )
        met = public.counts.sum(axis=0) > 0
        counts = positive_contacts(public, secret)
        statistic = Bounded(values=counts, sensitivity=met.astype(np.float64))
        return Query(mechanism=mechanism, statistic=statistic)

    def decode(self, noisy: Floats, prepared: Any, public: PublicFacts) -> Floats:
        """Return noisy counts, at least 0."""
        return np.maximum(noisy[0], 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactCount(OpenMethod):
    """The same number without noise: no protection."""

    setup: Setup

    @property
    def needs(self) -> Needs:
        """Tests are part of the public facts of every day."""
        return Needs.NOTHING

    def scores(self, public: PublicFacts, secret: SecretFacts, state: Any) -> tuple[Floats, Any]:
        """Return the counts."""
        self.setup.require_window(public)
        return positive_contacts(public, secret), state


def positive_contacts(public: PublicFacts, secret: SecretFacts) -> Floats:
    """Return how many contacts of the window were with somebody who tested positive in it."""
    positive = (public.outcomes == 1).any(axis=0).astype(np.float64)
    counts, today = np.zeros(positive.size), np.empty(positive.size)
    for day in secret.window:
        add_up_day(day, positive, today)
        counts += today
    return counts
