"""`one-round`: own-test messages heard once, and the receiver's model of the day of infection.

Not private: it shows how little hearsay is enough. A message depends on the sender's own tests and
on what the sender knew before the window, never on what was heard within it.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dnatrace.inference.infection_times import Carried, OneRound
from dnatrace.methods.base import Method, Needs, PublicFacts, SecretFacts, Setup
from dnatrace.methods.infection_time import Floats, InfectionTimeSettings
from dnatrace.methods.kinds import OpenMethod
from dnatrace.methods.settings import NAME
from dnatrace.settings import setting


class OneRoundSettings(InfectionTimeSettings):
    """Own-test messages, heard once, without privacy."""

    person_day_bytes: ClassVar[float] = 130.0
    person_day_microseconds: ClassVar[float] = 1.5
    name: Literal["one-round"] = setting("one-round", NAME)
    exchanges: Annotated[int, Field(ge=1, le=1000, strict=True)] = setting(
        1, "exchanges of messages per day; more than one, for comparison, lets echoes come back"
    )

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return HeardOnce(settings=self, setup=setup)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardOnce(OpenMethod):
    """Release the probability of a recent infection as it is."""

    settings: OneRoundSettings
    setup: Setup

    @property
    def needs(self) -> Needs:
        """Contacts and tests are part of the facts of every day."""
        return Needs.NOTHING

    def start(self, n_people: int) -> Carried:
        """Return what is known before the first day."""
        return Carried.nothing(n_people, self.setup.window_days, self.settings.infected_at_first)

    def scores(
        self, public: PublicFacts, secret: SecretFacts, state: Carried
    ) -> tuple[Floats, Carried]:
        """Return the scores of the day."""
        self.setup.require_window(public)
        engine = OneRound(
            parameters=self.settings.course(public),
            test_errors=public.test_errors,
            n_days=self.setup.window_days,
            exchanges=self.settings.exchanges,
        )
        posterior, state = engine.step(state, secret.window, public.outcomes, public.age_groups)
        return self.settings.score(posterior, public), state
