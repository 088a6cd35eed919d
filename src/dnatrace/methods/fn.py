"""`fn`: the belief itself. Not private: the upper bound on what a private method can do."""

from dataclasses import dataclass

from dnatrace.methods.base import DayFacts, Needs, Score
from dnatrace.methods.scores import last_day_score
from dnatrace.privacy import mechanisms
from dnatrace.privacy.release import Released


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorisedNeighbours:
    """Release P(I) or P(E) + P(I) of the last day as it is."""

    score: Score = Score.EXPOSED_OR_INFECTED

    @property
    def needs(self) -> Needs:
        """What the loop must compute."""
        return Needs.EXPOSURES

    def start(self, n_people: int) -> None:
        """Return no state."""

    def release(self, facts: DayFacts, state: None) -> tuple[Released, None]:
        """Release the belief of the last round."""
        assert facts.heard is not None  # what `needs` asked for
        scores = last_day_score(facts, facts.heard, self.score)
        return mechanisms.publish_unprotected(scores, day=facts.day), state
