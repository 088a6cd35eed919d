"""`fn`: the belief itself. Not private: the upper bound on what a private method can do."""

from dataclasses import dataclass
from typing import Any, Literal

from dnatrace.methods.base import Method, Needs, PublicFacts, SecretFacts, Setup
from dnatrace.methods.kinds import Floats, OpenMethod
from dnatrace.methods.settings import NAME, ScoreSettings, last_day_score
from dnatrace.settings import setting


class FnSettings(ScoreSettings):
    """Factorised Neighbours without privacy."""

    name: Literal["fn"] = setting("fn", NAME)

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return FactorisedNeighbours(settings=self)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorisedNeighbours(OpenMethod):
    """Release P(I) or P(E) + P(I) of the last day as it is."""

    settings: FnSettings

    @property
    def needs(self) -> Needs:
        """The exposures behind the last update."""
        return Needs.EXPOSURES

    def scores(self, public: PublicFacts, secret: SecretFacts, state: Any) -> tuple[Floats, Any]:
        """Return the belief of the last round."""
        assert secret.exposures is not None  # what `needs` asked for
        return last_day_score(public, secret.exposures, self.settings.score), state
