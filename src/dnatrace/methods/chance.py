"""`random`: tests by chance. The lower bound for every plot."""

from dataclasses import dataclass

import numpy as np

from dnatrace.methods.base import DayFacts, Needs
from dnatrace.privacy import mechanisms
from dnatrace.privacy.release import Released


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """Give everybody the same score, so that the policy's tie-break decides."""

    @property
    def needs(self) -> Needs:
        """What the loop must compute."""
        return Needs.NOTHING

    def start(self, n_people: int) -> None:
        """Return no state."""

    def release(self, facts: DayFacts, state: None) -> tuple[Released, None]:
        """Release zeros."""
        return mechanisms.publish_public(np.zeros(facts.window.n_people), day=facts.day), state
