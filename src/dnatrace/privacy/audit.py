"""Attack our own releases: a lower bound on ε that holds whatever the proof says.

There are two neighbouring worlds and many releases of each. For every event that distinguishes the
worlds, an (ε, δ)-private release satisfies P₁(event) ≤ exp(ε)·P₀(event) + δ; so exact confidence
limits on the two probabilities give a lower bound on ε. A bound above the claim refutes the claim;
a bound below it proves nothing.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from dnatrace.errors import InputError, require_between
from dnatrace.privacy.gaussian import require_delta

Floats = NDArray[np.float64]

# (world 0 or 1, number of draws) → releases, float64 [draws] or [draws, releases]; fresh each call.
Sample = Callable[[int, int], Floats]

MOST_DRAWS = 100_000_000  # they are kept in memory: a gigabyte per world and release
_THRESHOLDS = 400
_RIDGE = 1e-10  # relative; a direction without noise keeps ten digits of weight


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """The result of an audit.

    Attributes:
        claimed_epsilon: the ε that the releases are claimed to satisfy.
        delta: the δ of the claim.
        lower_bound: ε is at least this, with the stated confidence.
        confidence: the probability that the bound is valid.
        draws: how many releases of each world the bound is based on.
        share_first: how often the event was seen in the world it points to.
        share_second: how often it was seen in the other world.
        contact_age: days from the contact to the first release, where that is known.
        releases_reached: how many of the releases the contact can change, where that is known.
    """

    claimed_epsilon: float
    delta: float
    lower_bound: float
    confidence: float
    draws: int
    share_first: float
    share_second: float
    contact_age: int | None = None
    releases_reached: int | None = None

    @property
    def passed(self) -> bool:
        """Whether the claim survived, which does not prove it."""
        return self.lower_bound <= self.claimed_epsilon

    @property
    def verdict(self) -> str:
        """What follows for the claim, in words."""
        return verdict(self.lower_bound, self.claimed_epsilon, self.draws)


def verdict(lower_bound: float, claimed_epsilon: float, draws: int) -> str:
    """Return what a bound means for a claim: refuted or not, never proved."""
    if lower_bound > claimed_epsilon:
        return "THE CLAIM IS FALSE."
    if lower_bound <= 0.0:
        return f"So few draws show nothing: {draws:,} cannot distinguish the two worlds."
    return "Nothing above the claim was found. That proves nothing more: an audit can only refute."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """A half-space of releases and the world it points to."""

    direction: Floats
    threshold: float
    above: bool
    world: int

    def share(self, releases: Floats) -> int:
        """Return in how many releases the event happened."""
        above = int(np.count_nonzero(releases @ self.direction > self.threshold))
        return above if self.above else len(releases) - above


def audit(
    sample: Sample,
    *,
    claimed_epsilon: float,
    delta: float,
    draws: int = 1_000_000,
    confidence: float = 0.99,
) -> AuditResult:
    """Return a lower bound on ε of the releases that `sample` draws, beside the claim.

    Guarantee: with probability `confidence` the bound does not exceed the true ε at δ, because the
    event is chosen on separate draws (a quarter of `draws`) before the counted draws are made.
    Reference: Clopper and Pearson 1934; Jagielski, Ullman and Oprea 2020, "Auditing differentially
    private machine learning".
    Edge cases: 0 when nothing distinguishes the worlds. With n draws no bound exceeds about log(n /
    5.3) at 99 %.
    """
    require_delta(delta)
    require_between("draws", draws, 1000, MOST_DRAWS)
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie strictly between 0 and 1, not {confidence}")
    trial = [_two_dimensional(sample(world, draws // 4)) for world in (0, 1)]
    event = _best_event(trial, draws, delta, confidence)
    shares = [event.share(_two_dimensional(sample(world, draws))) for world in (0, 1)]
    first, second = shares[event.world], shares[1 - event.world]
    bound = float(epsilon_lower_bound(first, second, draws, delta, confidence))
    return AuditResult(
        claimed_epsilon=claimed_epsilon,
        delta=delta,
        lower_bound=bound,
        confidence=confidence,
        draws=draws,
        share_first=first / draws,
        share_second=second / draws,
    )


def epsilon_lower_bound(
    first: NDArray[np.int64] | int,
    second: NDArray[np.int64] | int,
    draws: int,
    delta: float,
    confidence: float,
) -> Floats:
    """Return the bound on ε when an event was seen `first` and `second` times in `draws` each.

    Guarantee: Clopper-Pearson limits on each share, with half of the error probability each.
    """
    tail = (1.0 - confidence) / 2.0
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    low = np.where(first > 0, betaincinv(np.maximum(first, 1), draws - first + 1, tail), 0.0)
    high = betaincinv(second + 1, np.maximum(draws - second, 1), 1.0 - tail)
    high = np.where(second >= draws, 1.0, high)
    return np.asarray(np.log(np.maximum(low - delta, high) / high))


def _two_dimensional(releases: Floats) -> Floats:
    return releases[:, None] if releases.ndim == 1 else releases


def _directions(trial: list[Floats]) -> Iterator[Floats]:
    """Yield what to threshold: each release, and the best linear combination of several."""
    n_releases = trial[0].shape[1]
    yield from np.eye(n_releases)
    if n_releases > 1:
        difference = trial[1].mean(axis=0) - trial[0].mean(axis=0)
        spread = (np.cov(trial[0].T) + np.cov(trial[1].T)) / 2.0
        ridge = _RIDGE * max(float(np.trace(spread)), 1e-300)
        yield np.linalg.solve(spread + ridge * np.eye(n_releases), difference)
        yield from (np.eye(n_releases)[1:] - np.eye(n_releases)[:-1])


def _best_event(trial: list[Floats], draws: int, delta: float, confidence: float) -> _Event:
    """Return the half-space that promises the largest bound for the number of draws to come."""
    n = len(trial[0])
    grid = np.unique(np.linspace(0, n - 1, _THRESHOLDS).astype(np.int64))
    best, best_bound = None, -math.inf
    for direction in _directions(trial):
        ordered = [np.sort(releases @ direction) for releases in trial]
        thresholds = np.unique(np.concatenate([values[grid] for values in ordered]))
        above = [n - np.searchsorted(values, thresholds, side="right") for values in ordered]
        for world in (0, 1):
            for is_above in (True, False):
                seen = above if is_above else [n - count for count in above]
                scaled = [np.round(count * (draws / n)) for count in seen]
                bounds = epsilon_lower_bound(
                    scaled[world], scaled[1 - world], draws, delta, confidence
                )
                i = int(np.argmax(bounds))
                if bounds[i] > best_bound:
                    best_bound = float(bounds[i])
                    best = _Event(
                        direction=direction,
                        threshold=float(thresholds[i]),
                        above=is_above,
                        world=world,
                    )
    assert best is not None  # there is at least one direction and one threshold
    return best
