"""`threshold`: every phone compares its own score with a published number; nobody reads all scores.

Each day the eligible phones add themselves to a histogram of scores, each to one bin, and the
histogram gets noise. From it a threshold is published: the bin in which the available tests would
be used up, and the share of that bin that may still ask. A phone whose score is above the bin asks
for a test; one within it tosses a coin of its own. If more ask than can be tested, lots decide: the
capacity is never exceeded. Tomorrow's bins follow from today's noisy histogram.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dnatrace.policy.base import Ids, Policy, PolicySettings, Situation
from dnatrace.policy.highest_scores import HighestScores
from dnatrace.policy.isolation import IsolationRules
from dnatrace.privacy.accounting import Lifetime, SelectionEvent, Target
from dnatrace.privacy.mechanisms import GaussianMechanism
from dnatrace.privacy.noise import FastNoise, Noise, SecureNoise
from dnatrace.privacy.release import Bounded, Released, require_released
from dnatrace.rng import Stream
from dnatrace.settings import setting

Floats = NDArray[np.float64]

SENSITIVITY = 2.0**0.5  # one person leaves one bin and enters another: Euclidean length of (1, -1)
_ONCE = Lifetime(shares=(1.0,), joint=True)
_SIZES = np.geomspace(1e-4, 1e4, 9)
_COARSE = np.concatenate([-_SIZES[::-1], [0.0], _SIZES])  # permanent bins, one per decade
_FINE = 40  # additional bins, where yesterday's scores were
_LOOKED_AT = 3.0  # fine bins cover this multiple of the people who can be tested


class ThresholdSettings(PolicySettings):
    """Test people above a published threshold, isolate positives."""

    name: Literal["threshold"] = setting("threshold", "who is tested and who isolates")
    epsilon: Annotated[float, Field(gt=0.0)] = setting(
        1.0, "privacy budget ε of one person's score in the histogram of a day"
    )
    delta: Annotated[float, Field(gt=0.0, lt=1.0)] = setting(
        1e-3, "additive slack of this bound, δ"
    )
    noise: Literal["fast", "secure"] = setting("fast", "`fast` (simulation) or `secure`")

    def build(self, isolation: IsolationRules, seed: int) -> Policy:
        """Return the policy of these settings."""
        noise: Noise = SecureNoise() if self.noise == "secure" else FastNoise(seed=seed)
        target = Target(epsilon=self.epsilon, delta=self.delta)
        usual = HighestScores(rules=isolation, seed=seed)
        return Threshold(usual=usual, target=target, noise=noise, seed=seed)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choice:
    """What the policy remembers.

    Attributes:
        until: everybody's last day of isolation.
        edges: the edges of the bins, increasing, public; the outermost bins are unbounded.
        published: what was published today; None before the first day.
        event: what publishing it cost.
    """

    until: NDArray[np.int32]
    edges: Floats
    published: "Published | None" = None
    event: SelectionEvent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What every phone is told.

    Attributes:
        low: phones with scores below this do not ask for a test.
        high: phones with scores from here on do.
        share: the share of the phones in between that ask, each tossing its own coin.
    """

    low: float
    high: float
    share: float

    def asks(self, scores: Floats, coins: Floats) -> NDArray[np.bool_]:
        """Return whose phone asks for a test, from its own score and coin: bool [people]."""
        between = (scores >= self.low) & (scores < self.high)
        return (scores >= self.high) | (between & (coins < self.share))


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Test those whose phones ask, at most as many as can be tested; positives isolate.

    Guarantee: what is published on a day is (ε, δ)-private with respect to the score of one person,
    whatever it is and whether or not they are eligible: it is computed from a histogram to which
    they add one in one bin, so that it moves by at most √2 in Euclidean norm, with noise for that.
    The costs of days add up.

    Attributes:
        usual: the rules of isolation, those of `highest-scores`.
        target: the guarantee for which the noise of a day is calibrated.
        noise: the source of noise.
        seed: the seed of coins and lots.
    """

    usual: HighestScores
    target: Target
    noise: Noise
    seed: int

    def start(self, n_people: int) -> Choice:
        """Return a state in which nobody isolates and nothing was published."""
        return Choice(until=self.usual.start(n_people), edges=_COARSE)

    def isolate(self, day: int, state: Choice) -> tuple[NDArray[np.bool_], Choice]:
        """Return who is still in isolation and has not given up."""
        isolated, until = self.usual.isolate(day, state.until)
        return isolated, replace(state, until=until)

    def choose(self, released: Released, situation: Situation, state: Choice) -> tuple[Ids, Choice]:
        """Return who asks and is tested, and publish the threshold of the day."""
        require_released(released)
        scores, day, most = released.scores, situation.day, situation.most_tests
        counted = situation.eligible & ~np.isnan(scores)
        noisy, event = self._histogram(scores[counted], state.edges, day)
        published = threshold(noisy, state.edges, most)
        everyone = np.arange(scores.size)
        coins = Stream(self.seed, "tests/coins").uniform(everyone, day)
        asking = np.flatnonzero(counted & published.asks(scores, coins))
        if asking.size > most:
            lots = Stream(self.seed, "tests/lots").uniform(asking, day)
            asking = np.sort(asking[np.argsort(lots, kind="stable")[:most]])
        edges = finer(noisy, state.edges, _LOOKED_AT * most)
        return asking, replace(state, edges=edges, published=published, event=event)

    def respond(self, positives: Ids, day: int, state: Choice) -> Choice:
        """Return the last days of isolation after those who follow the rule were admitted."""
        return replace(state, until=self.usual.respond(positives, day, state.until))

    def selection(self, state: Choice) -> SelectionEvent | None:
        """Return what publishing the threshold of the day cost."""
        return state.event

    def _histogram(self, scores: Floats, edges: Floats, day: int) -> tuple[Any, SelectionEvent]:
        """Return the noisy number of people per bin, and what that costs."""
        mechanism = GaussianMechanism(
            name="number of people by score",
            multiplier=1.0 / self.target.mu,
            lifetime=_ONCE,
            noise=self.noise,
            purpose="noise/threshold",
        )
        counts = np.bincount(np.searchsorted(edges, scores, side="right"), minlength=edges.size + 1)
        bounded = Bounded(
            values=counts.astype(np.float64), sensitivity=np.full(counts.size, SENSITIVITY)
        )
        noisy = mechanism.protect(bounded, day=day).values
        return noisy, SelectionEvent(day=day, mu=self.target.mu, noise=self.noise.name)


def threshold(noisy: Floats, edges: Floats, most: int) -> Published:
    """Return the bin in which `most` tests are used up, from noisy counts [edges + 1].

    Everybody asks when there are enough tests, nobody when there are none.
    """
    if most <= 0:
        return Published(low=np.inf, high=np.inf, share=0.0)
    above = np.concatenate([np.cumsum(noisy[::-1])[::-1], [0.0]])  # people in this bin and higher
    full = np.flatnonzero(above >= most)
    if full.size == 0:
        return Published(low=-np.inf, high=-np.inf, share=1.0)
    k = int(full[-1])
    inside = max(noisy[k], 1.0)
    share = float(np.clip((most - above[k + 1]) / inside, 0.0, 1.0))
    bounds = np.concatenate([[-np.inf], edges, [np.inf]])
    return Published(low=float(bounds[k]), high=float(bounds[k + 1]), share=share)


def finer(noisy: Floats, edges: Floats, people: float) -> Floats:
    """Return the edges of tomorrow's bins: the permanent ones, and fine ones near the top.

    The fine bins divide the highest `people` of today's noisy histogram into equal parts.
    """
    counts = np.maximum(noisy[1:-1], 0.0)  # the bounded bins
    above = np.concatenate([np.cumsum(counts[::-1])[::-1], [0.0]]) + max(noisy[-1], 0.0)
    wanted = np.linspace(0.0, people, _FINE + 2)[1:-1]
    found = np.interp(wanted, above[::-1], edges[::-1])
    return np.unique(np.concatenate([_COARSE, found]))
