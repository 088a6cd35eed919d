"""Per-message tracing (level 1): every sender adds noise to the message, then FN as usual.

Reference: Romijnders et al. 2024, "Protect your score: contact tracing with differential privacy
guarantees".
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dnatrace.methods.base import DayFacts, Needs, Score
from dnatrace.methods.frozen import FrozenDays, frozen_lifetime
from dnatrace.methods.settings import choose, counts_exposed, renewed_lifetime, require_messages
from dnatrace.privacy import sensitivity
from dnatrace.privacy.accounting import Lifetime, Target
from dnatrace.privacy.mechanisms import GaussianMechanism, noisy_messages, publish_processed
from dnatrace.privacy.noise import FastNoise, Noise
from dnatrace.privacy.release import Released

_PURPOSE = "noise/per-message"


class PerMessageRelease(StrEnum):
    """How messages are noised."""

    FROZEN = "frozen"
    AS_PUBLISHED = "as_published"


@dataclass(frozen=True, slots=True, kw_only=True)
class PerMessage:
    """Noise on each sender's message, the same value to every receiver, then exact FN.

    Guarantee: the value of a message is protected against all its receivers together; own tests
    come after the noise and cannot weaken it. `frozen` noises a message once; `as_published` noises
    the re-estimated message every day, and the costs of the days add up.
    Edge cases: with a window of one day nobody has heard anything and the release is public.

    Attributes:
        target: what the noise is calibrated for.
        release_kind: frozen or as_published.
        score: which belief is released.
        gamma: messages are clipped to [0, gamma].
        window_days: the most days a contact stays in the window.
        noise: the back end.
    """

    target: Target
    release_kind: PerMessageRelease = PerMessageRelease.FROZEN
    score: Score = Score.EXPOSED_OR_INFECTED
    gamma: float = 0.2
    window_days: int = 14
    noise: Noise = field(default_factory=lambda: FastNoise(seed=0))

    def __post_init__(self) -> None:
        kind = choose("release of per-message", self.release_kind, PerMessageRelease)
        object.__setattr__(self, "release_kind", kind)
        object.__setattr__(self, "score", choose("score", self.score, Score))
        sensitivity.require_gamma(self.gamma)

    @property
    def needs(self) -> Needs:
        """Messages of the last round."""
        return Needs.MESSAGES

    @property
    def sound(self) -> bool:
        """Both releases are proved; they differ in what a contact costs over its life."""
        return True

    def start(self, n_people: int) -> Any:
        """Return the state before the first day."""
        return _VARIANTS[self.release_kind].start()

    def release(self, facts: DayFacts, state: Any) -> tuple[Released, Any]:
        """Return the belief of everybody, computed from noisy messages."""
        return _VARIANTS[self.release_kind].release(self, facts, state)

    def mechanism(self, lifetime: Lifetime, calibrated: Lifetime) -> GaussianMechanism:
        """Return the noise on messages."""
        return GaussianMechanism(
            name=f"each message, clipped to [0, {self.gamma:g}]",
            multiplier=self.target.multiplier(calibrated),
            lifetime=lifetime,
            noise=self.noise,
            purpose=_PURPOSE,
            same_for_all=True,
        )

    def scores(self, facts: DayFacts, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return F from noisy messages of the first days of the window; the rest has no effect."""
        shape = (len(facts.window), facts.window.n_people)
        messages = np.zeros(shape)
        messages[: len(noisy)] = noisy if len(noisy) else 0.0
        exposures = sensitivity.clipped_exposures(
            facts.window, messages, p1=facts.parameters.p1, gamma=self.gamma
        )
        return sensitivity.last_day_scores(
            exposures,
            facts.outcomes,
            parameters=facts.parameters,
            test_errors=facts.test_errors,
            with_exposed=counts_exposed(self.score),
        )


class _Variant(Protocol):
    def start(self) -> Any: ...
    def release(self, method: PerMessage, facts: DayFacts, state: Any) -> tuple[Released, Any]: ...


class _Frozen:
    """Noise a message once, when it first matters, and keep the noisy value."""

    def start(self) -> FrozenDays:
        return FrozenDays()

    def release(
        self, method: PerMessage, facts: DayFacts, state: FrozenDays
    ) -> tuple[Released, FrozenDays]:
        age = sensitivity.first_age(counts_exposed(method.score))
        messages = require_messages(facts, method.window_days)

        def protect(start: int, end: int) -> Any:
            mechanism = method.mechanism(frozen_lifetime(age, end - start), frozen_lifetime(age))
            new = messages[start:end]
            return noisy_messages(
                new, gamma=method.gamma, mechanism=mechanism, day=facts.day
            ).rows()

        days = state.advance(facts, age, protect)
        released = publish_processed(
            days.rows, lambda noisy: method.scores(facts, noisy), day=facts.day, noise=method.noise
        )
        return released, days


class _Renewed:
    """Noise all messages of the window afresh every day."""

    def start(self) -> None:
        return None

    def release(self, method: PerMessage, facts: DayFacts, state: None) -> tuple[Released, None]:
        exposed = counts_exposed(method.score)
        lifetime = renewed_lifetime(window=method.window_days, with_exposed=exposed, joint=False)
        heard = max(0, len(facts.window) - sensitivity.first_age(exposed))
        noisy = noisy_messages(
            require_messages(facts, method.window_days)[:heard],
            gamma=method.gamma,
            mechanism=method.mechanism(lifetime, lifetime),
            day=facts.day,
        )
        released = publish_processed(
            noisy.rows(),
            lambda rows: method.scores(facts, rows),
            day=facts.day,
            noise=method.noise,
        )
        return released, None


_VARIANTS: dict[PerMessageRelease, _Variant] = {
    PerMessageRelease.FROZEN: _Frozen(),
    PerMessageRelease.AS_PUBLISHED: _Renewed(),
}
