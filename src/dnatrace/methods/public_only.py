"""`public-only`: own tests and contact counts alone, which a private method must beat."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dnatrace.methods.base import Method, PublicFacts, Setup
from dnatrace.methods.kinds import Floats, PublicMethod
from dnatrace.methods.settings import (
    NAME,
    ReferenceSettings,
    last_day_score,
    reference_exposures,
)
from dnatrace.settings import setting


class PublicOnlySettings(ReferenceSettings):
    """Factorised Neighbours without messages."""

    hears_contacts: ClassVar[bool] = False
    name: Literal["public-only"] = setting("public-only", NAME)

    @property
    def reads_messages(self) -> bool:
        """Whether the messages of the run's exchange have an effect."""
        return False

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return PublicOnly(settings=self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicOnly(PublicMethod):
    """Release the belief as if every message were `mu_ref`; no message is looked at."""

    settings: PublicOnlySettings

    def scores(self, public: PublicFacts, state: Any) -> tuple[Floats, Any]:
        """Return the belief from public facts."""
        exposures = reference_exposures(self.settings, public)
        return last_day_score(public, exposures, self.settings.score), state
