"""`bp`: belief propagation over days of infection. Not private: what messages can achieve."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dnatrace.inference.belief_propagation import BeliefPropagation, Propagated, nothing_sent
from dnatrace.methods.base import Method, Needs, PublicFacts, SecretFacts, Setup
from dnatrace.methods.infection_time import Floats, InfectionTimeSettings
from dnatrace.methods.kinds import OpenMethod
from dnatrace.methods.settings import NAME
from dnatrace.settings import Share, setting


class BpSettings(InfectionTimeSettings):
    """Belief propagation without privacy."""

    person_day_bytes: ClassVar[float] = 1000.0
    person_day_microseconds: ClassVar[float] = 17.0
    name: Literal["bp"] = setting("bp", NAME)
    rounds: Annotated[int, Field(ge=1, le=1000, strict=True)] = setting(
        2, "largest number of updates of everybody per day"
    )
    damping: Annotated[float, Field(ge=0.0, lt=1.0)] = setting(
        0.0, "share of the old message in the new one"
    )
    tolerance: Annotated[float, Field(ge=0.0, le=1.0)] = setting(
        1e-3, "rounds end when no pair's probability of infection changes by more"
    )
    warm_start: bool = setting(
        True, "whether messages start from yesterday's; otherwise everybody starts from silence"
    )
    quiet: Share = setting(
        1e-3,
        "people less likely than this to have been infected lately, without a new test, repeat "
        "what they said before, except to people they meet for the first time",
    )

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return Propagation(settings=self, setup=setup)


@dataclass(frozen=True, slots=True, kw_only=True)
class Propagation(OpenMethod):
    """Release the probability of a recent infection as it is."""

    settings: BpSettings
    setup: Setup

    @property
    def needs(self) -> Needs:
        """Contacts and tests are part of the facts of every day."""
        return Needs.NOTHING

    def start(self, n_people: int) -> Propagated:
        """Return what is known before the first day."""
        return nothing_sent(n_people, self.setup.window_days, self.settings.infected_at_first)

    def scores(
        self, public: PublicFacts, secret: SecretFacts, state: Propagated
    ) -> tuple[Floats, Propagated]:
        """Return the scores of the day."""
        self.setup.require_window(public)
        engine = BeliefPropagation(
            parameters=self.settings.course(public),
            test_errors=public.test_errors,
            n_days=self.setup.window_days,
            rounds=self.settings.rounds,
            damping=self.settings.damping,
            tolerance=self.settings.tolerance,
            warm=self.settings.warm_start,
            quiet=self.settings.quiet,
        )
        posterior, state = engine.step(state, secret.window, public.outcomes, public.age_groups)
        return self.settings.score(posterior, public), state
