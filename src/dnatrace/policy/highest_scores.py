"""The paper's policy: the highest released scores are tested, positives isolate."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dnatrace.policy import isolation
from dnatrace.policy.base import Ids, Policy, PolicySettings, Situation
from dnatrace.policy.isolation import IsolationRules
from dnatrace.privacy.release import Released, require_released
from dnatrace.rng import Stream
from dnatrace.settings import setting

Until = NDArray[np.int32]  # everybody's last day of isolation


class HighestScoresSettings(PolicySettings):
    """Test the highest scores, isolate positives."""

    name: Literal["highest-scores"] = setting(
        "highest-scores", "who is tested and who isolates, and why"
    )

    def build(self, isolation: IsolationRules, seed: int) -> Policy:
        """Return the policy of these settings."""
        return HighestScores(rules=isolation, seed=seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class HighestScores:
    """Test the highest scores of the day before, ties broken by chance; positives isolate.

    Attributes:
        rules: the rules of isolation.
        seed: the seed of every draw.
    """

    rules: IsolationRules
    seed: int

    def start(self, n_people: int) -> Until:
        """Return a state in which nobody isolates."""
        return np.full(n_people, isolation.NEVER, dtype=np.int32)

    def isolate(self, day: int, state: Until) -> tuple[NDArray[np.bool_], Until]:
        """Return who is still in isolation and has not given up."""
        stream = Stream(self.seed, "dropout")
        until = isolation.drop_out(state, day=day, rules=self.rules, stream=stream)
        return until >= day, until

    def choose(self, released: Released, situation: Situation, state: Until) -> tuple[Ids, Until]:
        """Return who has the highest scores among the eligible, as many as can be tested: ids."""
        everyone = np.arange(situation.eligible.size)
        chosen = choose_tests(
            released,
            eligible=situation.eligible,
            most=situation.most_tests,
            ties=Stream(self.seed, "tests/ties").uniform(everyone, situation.day),
        )
        return chosen, state

    def respond(self, positives: Ids, day: int, state: Until) -> Until:
        """Return the last days of isolation after those who follow the rule were admitted."""
        stream = Stream(self.seed, "isolation/adherence")
        return isolation.admit(state, positives, day=day, rules=self.rules, stream=stream)


def choose_tests(
    released: Released, *, eligible: NDArray[np.bool_], most: int, ties: NDArray[np.float64]
) -> Ids:
    """Return who is tested: the highest scores among the eligible, ties to the smallest `ties`.

    People without a score (NaN) are never chosen.
    Cost: O(people).
    """
    require_released(released)
    scores = released.scores
    candidates = np.flatnonzero(eligible & ~np.isnan(scores))
    if most <= 0 or candidates.size == 0:
        return np.empty(0, dtype=np.int64)
    if candidates.size <= most:
        return candidates
    values = scores[candidates]
    last_in = np.partition(values, values.size - most)[values.size - most]
    above = candidates[values > last_in]
    level = candidates[values == last_in]
    winners = np.argpartition(ties[level], most - above.size - 1)[: most - above.size]
    return np.sort(np.concatenate([above, level[winners]]))
