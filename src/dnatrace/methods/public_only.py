"""`public-only`: own tests and numbers of contacts alone, which a private method must beat."""

from dataclasses import dataclass

from dnatrace.errors import require_share
from dnatrace.methods.base import DayFacts, Needs, Score
from dnatrace.methods.scores import last_day_score
from dnatrace.privacy import mechanisms, sensitivity
from dnatrace.privacy.release import Released


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicOnly:
    """Release the belief that every message were `mu_ref`; no message is looked at."""

    score: Score = Score.EXPOSED_OR_INFECTED
    mu_ref: float = 0.005

    def __post_init__(self) -> None:
        require_share("method.mu_ref", self.mu_ref)

    @property
    def needs(self) -> Needs:
        """What the loop must compute."""
        return Needs.NOTHING

    def start(self, n_people: int) -> None:
        """Return no state."""

    def release(self, facts: DayFacts, state: None) -> tuple[Released, None]:
        """Release the belief from public facts."""
        exposures = sensitivity.reference_exposures(
            facts.window.counts, p1=facts.parameters.p1, mu_ref=self.mu_ref
        )
        scores = last_day_score(facts, exposures, self.score)
        return mechanisms.publish_public(scores, day=facts.day), state
