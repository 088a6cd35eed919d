"""Per-message tracing (level 1): every sender adds noise to their message, then FN as usual.

Reference: Romijnders et al. 2024, "Protect your score: contact tracing with differential privacy
guarantees".
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, Literal

import numpy as np

from dnatrace.inference.exposures import clipped_hazards
from dnatrace.methods.base import Method, PublicFacts, SecretFacts, Setup
from dnatrace.methods.frozen import FrozenDays, frozen_lifetime
from dnatrace.methods.kinds import Floats, PrivateMethod, Query
from dnatrace.methods.settings import NAME, RELEASE, ClippedSettings, renewed_lifetime, score_of
from dnatrace.privacy.accounting import Lifetime
from dnatrace.privacy.mechanisms import GaussianMechanism
from dnatrace.privacy.release import Bounded
from dnatrace.privacy.sensitivity import first_age
from dnatrace.seir import SeirParameters
from dnatrace.settings import setting

_PURPOSE = "noise/per-message"


class PerMessageRelease(StrEnum):
    """How noise is added to messages."""

    FROZEN = "frozen"
    AS_PUBLISHED = "as_published"


class PerMessageSettings(ClippedSettings):
    """Noise on each message."""

    name: Literal["per-message"] = setting("per-message", NAME)
    release: PerMessageRelease = setting(PerMessageRelease.FROZEN, RELEASE)

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return PerMessage(settings=self, setup=setup)


@dataclass(frozen=True, slots=True, kw_only=True)
class PerMessage(PrivateMethod):
    """Noise on each sender's message, the same value to every receiver, then exact FN.

    Guarantee: the value of a message is protected against all its receivers together: they get the
    same noisy value, clipped to [0, γ] before and after. Own tests come after the noise and cannot
    weaken it. `frozen` adds noise to a message once, when it first matters, and keeps the sums of
    noisy values; `as_published` adds noise to the re-estimated messages of the window every day,
    and the costs of the days add up. Edge cases: with a window of one day nobody has received
    anything and the release is public.
    """

    settings: PerMessageSettings
    setup: Setup

    def query(
        self, prepared: Any, public: PublicFacts, secret: SecretFacts, memory: FrozenDays | None
    ) -> Query:
        """Return the messages that get noise today."""
        score = self.settings.score
        age = first_age(score.counts_exposed)
        messages = self.setup.require_messages(public, secret)
        before = memory or FrozenDays()
        if self.settings.release is PerMessageRelease.FROZEN:
            rows = before.new_rows(public, age)
            lifetime = frozen_lifetime(age, rows.stop - rows.start)
            calibrated, keep = frozen_lifetime(age), before.kept(public)
        else:
            rows, keep = slice(0, max(0, public.n_days - age)), 0
            lifetime = renewed_lifetime(window=self.setup.window_days, score=score, joint=False)
            calibrated = lifetime
        return Query(
            mechanism=self._mechanism(lifetime, calibrated),
            statistic=self._bounded(messages[rows]) if rows.stop > rows.start else None,
            memory=FrozenDays(first_day=public.first_day, n_days=rows.stop),
            keep=keep,
            contacts=tuple(islice(secret.window, rows.start, rows.stop)),
        )

    def _mechanism(self, lifetime: Lifetime, calibrated: Lifetime) -> GaussianMechanism:
        return GaussianMechanism(
            name=f"each message, clipped to [0, {self.settings.gamma:g}]",
            multiplier=self.setup.target.multiplier(calibrated),
            lifetime=lifetime,
            noise=self.setup.noise,
            purpose=_PURPOSE,
            same_for_all=True,
        )

    def _bounded(self, messages: Any) -> Bounded:
        gamma = self.settings.gamma
        clipped = np.clip(messages.astype(np.float64), 0.0, gamma)
        return Bounded(values=clipped, sensitivity=np.full(clipped.shape, gamma))

    def sent(self, noisy: Floats, parameters: SeirParameters) -> Floats:
        """Return the hazards of noisy messages, clipped to [0, γ]; they add up to exposures."""
        gamma = self.settings.gamma
        clipped = np.clip(noisy, 0.0, gamma)
        return np.stack([clipped_hazards(row, p1=parameters.p1, gamma=gamma) for row in clipped])

    def decode(self, noisy: Floats, prepared: Any, public: PublicFacts) -> Floats:
        """Return F from noisy exposures."""
        return score_of(self.settings, public, noisy)
