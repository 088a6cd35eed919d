"""`oracle`: the true state. What perfect knowledge within the test capacity would reach."""

from dataclasses import dataclass

from dnatrace.methods.base import DayFacts, Needs
from dnatrace.privacy import mechanisms
from dnatrace.privacy.release import Released
from dnatrace.seir import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """Score 1 for everybody who is in E or I, else 0."""

    @property
    def needs(self) -> Needs:
        """What the loop must compute."""
        return Needs.TRUTH

    def start(self, n_people: int) -> None:
        """Return no state."""

    def release(self, facts: DayFacts, state: None) -> tuple[Released, None]:
        """Release the truth."""
        assert facts.states is not None  # what `needs` asked for
        ill = (facts.states == State.E) | (facts.states == State.I)
        return mechanisms.publish_unprotected(ill, day=facts.day), state
