"""Exploration: a share of the tests is drawn in proportion to the scores instead of from the top.

This is Thompson sampling for probabilities: the chance of being drawn is the probability of being
infected. Testing where the uncertainty p·(1 - p) is largest needs no policy of its own: below 1/2,
where nearly all scores are, it ranks people as the score itself does.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dnatrace.policy.base import Ids, Policy, PolicySettings, Situation
from dnatrace.policy.highest_scores import HighestScores, Until
from dnatrace.policy.isolation import IsolationRules
from dnatrace.privacy.release import Released, require_released
from dnatrace.rng import Stream
from dnatrace.settings import Share, setting

_LEAST_WEIGHT = 1e-12  # for a score of 0: drawn when nobody else is left


class SampledScoresSettings(PolicySettings):
    """Test some people in proportion to their scores, the others from the top."""

    name: Literal["sampled-scores"] = setting(
        "sampled-scores", "who is tested and who isolates, and why"
    )
    sampled_share: Share = setting(1.0, "share of the tests drawn in proportion to scores")

    def build(self, isolation: IsolationRules, seed: int) -> Policy:
        """Return the policy of these settings."""
        return SampledScores(
            highest=HighestScores(rules=isolation, seed=seed), share=self.sampled_share
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledScores:
    """Highest scores first, then draws in proportion to scores; positives isolate as usual.

    Attributes:
        highest: the paper's policy.
        share: the share of tests that are drawn.
    """

    highest: HighestScores
    share: float

    def start(self, n_people: int) -> Until:
        """Return a state in which nobody isolates."""
        return self.highest.start(n_people)

    def isolate(self, day: int, state: Until) -> tuple[NDArray[np.bool_], Until]:
        """Return who stays at home."""
        return self.highest.isolate(day, state)

    def choose(self, released: Released, situation: Situation, state: Until) -> tuple[Ids, Until]:
        """Return the people with the top scores, and a sample of the others."""
        require_released(released)
        n_sampled = round(self.share * situation.most_tests)
        ranked = replace(situation, most_tests=situation.most_tests - n_sampled)
        top, state = self.highest.choose(released, ranked, state)
        others = situation.eligible & ~np.isnan(released.scores)
        others[top] = False
        candidates = np.flatnonzero(others)
        waits = self._waits(candidates, released.scores[candidates], situation.day)
        drawn = candidates[np.argsort(waits, kind="stable")[:n_sampled]]
        return np.sort(np.concatenate([top, drawn])), state

    def _waits(self, people: Ids, scores: NDArray[np.float64], day: int) -> NDArray[np.float64]:
        """Return exponential waiting times with scores as rates: the shortest are the sample."""
        draws = Stream(self.highest.seed, "tests/sample").uniform(people, day)
        rates = np.maximum(scores, _LEAST_WEIGHT)
        return np.asarray(-np.log(np.maximum(draws, 1e-300)) / rates)

    def respond(self, positives: Ids, day: int, state: Until) -> Until:
        """Return the state after positive results."""
        return self.highest.respond(positives, day, state)
