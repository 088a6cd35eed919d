"""The only place where a statistic becomes a released score.

`GaussianMechanism.protect` adds noise to a statistic of stated sensitivity: one or several values
per person (channels of head counts), the value that a sender sends, or a receiver's exposure on a
day. Anything computed from the result and from public facts is post-processing and costs nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.privacy.accounting import (
    Event,
    GaussianEvent,
    Lifetime,
    PublicEvent,
    UnprotectedEvent,
)
from dnatrace.privacy.noise import Noise, round_scores
from dnatrace.privacy.release import _SEAL, Bounded, Protected, Released, TrustBoundaryError

Floats = NDArray[np.float64]


def publish_public(scores: NDArray[Any], *, day: int) -> Released:
    """Release scores that do not depend on any message.

    Guarantee: ε = 0 with respect to messages, because they were not used.
    """
    return Released(scores=scores.astype(np.float64), event=PublicEvent(day=day), seal=_SEAL)


def publish_unprotected(scores: NDArray[Any], *, day: int) -> Released:
    """Release scores as they are: no privacy, on purpose and on record."""
    return Released(scores=scores.astype(np.float64), event=UnprotectedEvent(day=day), seal=_SEAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianMechanism:
    """Gaussian noise proportional to the sensitivity.

    Guarantee: (Δ/σ = 1/multiplier)-Gaussian privacy for one release, replace-one on messages; over
    several releases a contact spends what `lifetime` says.
    Reference: Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2022.
    Edge cases: entries of sensitivity 0 depend on no message and get no noise. When no entry needs
    noise, the event is public.

    Attributes:
        name: what gets noise, in words.
        multiplier: σ/Δ.
        lifetime: how one contact spends over the releases it reaches.
        noise: the back end.
        purpose: the name of the noise's random stream.
        budget: μ of a contact over its life when a filter enforces it.
        same_for_all: whether all receivers of a message get the same noise.
        reads: from how many releases with the same message a score is computed.
    """

    name: str
    multiplier: float
    lifetime: Lifetime
    noise: Noise
    purpose: str
    budget: float | None = None
    same_for_all: bool = False
    reads: int = 1

    def __post_init__(self) -> None:
        if not self.multiplier > 0.0:
            raise TrustBoundaryError(f"a noise multiplier of {self.multiplier} protects nobody")

    def event(self, day: int, *, noised: bool, spent: float | None = None) -> Event:
        """Return the event of a release."""
        if not noised:
            return PublicEvent(day=day)
        return GaussianEvent(
            day=day,
            mechanism=self.name,
            mu=1.0 / self.multiplier,
            lifetime=self.lifetime,
            budget=self.budget,
            spent=spent,
            same_for_all=self.same_for_all,
            reads=self.reads,
            noise=self.noise.name,
        )

    def protect(
        self, statistic: Bounded, *, day: int, draw: int = 0, spent: float | None = None
    ) -> Protected:
        """Return the statistic with noise on every entry; row r of it uses draw + r."""
        values = self.noise.perturb(
            statistic.values,
            statistic.sensitivity,
            multiplier=self.multiplier,
            purpose=self.purpose,
            day=day,
            draw=draw,
        )
        event = self.event(day, noised=bool(statistic.sensitivity.any()), spent=spent)
        return Protected(values=values, event=event, seal=_SEAL)


def publish_processed(
    history: Sequence[Protected],
    scores_from: Callable[[Floats], Floats],
    *,
    day: int,
    n_people: int,
    noise: Noise,
    unproven: Event | None = None,
) -> Released:
    """Release scores computed from protected statistics.

    Guarantee: this is post-processing; the cost is that of the noise added today. Without noise
    today there is no cost today. With `unproven`, there is no guarantee beyond what that event
    states: for reproducing published methods whose noise is calibrated for a sensitivity that does
    not hold.

    Args:
        history: the protected statistics of today and of earlier days.
        scores_from: computes scores from their values stacked, [rows, people], and nothing secret.
        day: the day of the release.
        n_people: how many scores there are.
        noise: the back end to whose grid the scores are rounded.
        unproven: the event that replaces those of the noise.
    """
    events = [p.event for p in history if p.event.day == day and isinstance(p.event, GaussianEvent)]
    values = np.stack([p.values for p in history]) if history else np.empty((0, n_people))
    scores = round_scores(np.asarray(scores_from(values), dtype=np.float64), noise.score_grid)
    if any(other != events[0] for other in events):
        raise TrustBoundaryError("a release has one event: noise of two kinds on one day")
    event = unproven or (events[0] if events else PublicEvent(day=day))
    return Released(scores=scores, event=event, seal=_SEAL)
