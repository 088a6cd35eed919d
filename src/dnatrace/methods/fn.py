"""`fn`: the belief itself. Not private: the upper bound on what a private method can do.

By default it reads the exchange of the run, with the paper's prior and rounds, as private methods
do. With settings of its own the method exchanges messages by itself, and no other method changes:
the shipped decoders were trained on the messages of the run's exchange.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dnatrace.inference import factorised_neighbours as fn
from dnatrace.inference.cavity import Met, cavity_rounds
from dnatrace.inference.course import EQUAL_AGES, ByAge
from dnatrace.methods.base import Method, Needs, PublicFacts, Score, SecretFacts, Setup
from dnatrace.methods.infection_time import (
    CONTACTS_POWER,
    OUTSIDE_SHARE,
    ContactsPower,
    found_per_person_day,
    times_contacts,
)
from dnatrace.methods.kinds import Floats, OpenMethod
from dnatrace.methods.settings import NAME, ScoreSettings, last_day_score
from dnatrace.seir import SeirParameters
from dnatrace.settings import Share, setting

LastPositive = NDArray[np.int32]  # the day of everybody's last positive result, NEVER without one
NEVER = -1


class FnSettings(ScoreSettings):
    """Factorised Neighbours without privacy."""

    person_day_bytes: ClassVar[float] = 20.0
    person_day_microseconds: ClassVar[float] = 1.2
    name: Literal["fn"] = setting("fn", NAME)
    own_rounds: Annotated[int, Field(ge=1, le=1000, strict=True)] | None = setting(
        None,
        "fn: updates of everybody per day instead of `seir.rounds`; two are one exchange; 5 if "
        "only other settings of its own are given",
    )
    own_p0: Share | None = setting(
        None,
        "fn: infection from outside per day instead of `seir.infection_from_outside`",
        called="own_infection_from_outside",
    )
    outside_share: Share = OUTSIDE_SHARE
    susceptibility: ByAge = setting(
        EQUAL_AGES,
        "factor on the hazard of a contact by age group of the receiver, nine numbers",
        called="susceptibility_by_age",
    )
    remembers_positives: bool = setting(
        False, "fn: whether people remember a positive test after it has left the window"
    )

    contacts_power: ContactsPower = CONTACTS_POWER
    cavity: bool = setting(
        False,
        "fn: whether a message leaves out what came from its receiver; matters from 3 rounds on",
    )

    @property
    def exchanges_alone(self) -> bool:
        """Whether messages differ from those of the run's exchange."""
        own = (self.own_rounds, self.own_p0) != (None, None) or self.outside_share > 0.0
        own = own or self.susceptibility != EQUAL_AGES
        return own or self.remembers_positives or self.cavity or self.contacts_power > 0.0

    @property
    def reads_messages(self) -> bool:
        """Whether the messages of the run's exchange have an effect."""
        return not self.exchanges_alone

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        if self.cavity:
            return WithoutEcho(settings=self)
        return (OwnExchange if self.exchanges_alone else FactorisedNeighbours)(settings=self)


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
        assert secret.exposures is not None  # `needs` asked for them
        return last_day_score(public, secret.exposures, self.settings.score), state


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnExchange(OpenMethod):
    """The same belief from messages with a prior, rounds and susceptibilities of its own.

    People who remember a positive result that has left the window are taken to be immune: they send
    0 and have score 0. This is a fact about themselves, not a message.
    """

    settings: FnSettings

    @property
    def needs(self) -> Needs:
        """Contacts and tests are part of the facts of every day."""
        return Needs.NOTHING

    def start(self, n_people: int) -> Any:
        """Return a state in which nobody was positive."""
        return np.full(n_people, NEVER, dtype=np.int32)

    def scores(self, public: PublicFacts, secret: SecretFacts, state: Any) -> tuple[Floats, Any]:
        """Return the belief of the last round."""
        positive, silent = self._remembered(public, state)
        exposures = fn.message_rounds(
            secret.window, public.outcomes, **self._exchange(public, silent)
        )
        return self._score(public, exposures, silent), positive

    def _remembered(
        self, public: PublicFacts, before: LastPositive
    ) -> tuple[LastPositive, NDArray[np.bool_] | None]:
        """Return everybody's last positive result, and who is silent because of one."""
        positive = after_results(before, public)
        immune = (positive != NEVER) & (positive < public.first_day)
        return positive, immune if self.settings.remembers_positives else None

    def _exchange(self, public: PublicFacts, silent: NDArray[np.bool_] | None) -> dict[str, Any]:
        return {
            "parameters": self._parameters(public),
            "test_errors": public.test_errors,
            "rounds": self.settings.own_rounds or fn.DEFAULT_ROUNDS,
            "susceptible": self._susceptible(public),
            "silent": silent,
        }

    def _parameters(self, public: PublicFacts) -> SeirParameters:
        share, p0 = self.settings.outside_share, self.settings.own_p0
        if share > 0.0:
            p0 = share * found_per_person_day(public)
        if p0 is None:
            return public.parameters
        return public.parameters.model_copy(update={"p0": p0})

    def _susceptible(self, public: PublicFacts) -> NDArray[np.float32] | None:
        if public.age_groups is None or self.settings.susceptibility == EQUAL_AGES:
            return None
        return np.array(self.settings.susceptibility, dtype=np.float32)[public.age_groups]

    def _score(
        self,
        public: PublicFacts,
        exposures: NDArray[np.float32],
        silent: NDArray[np.bool_] | None,
    ) -> Floats:
        parameters, errors = self._parameters(public), public.test_errors
        beliefs = fn.last_day_beliefs(
            exposures, public.outcomes, parameters=parameters, test_errors=errors
        )
        infected = beliefs[:, 2]
        scores = infected if self.settings.score is Score.INFECTED else infected + beliefs[:, 1]
        scores = times_contacts(scores, public, self.settings.contacts_power)
        return scores if silent is None else np.where(silent, 0.0, scores)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """What tomorrow starts from.

    Attributes:
        positive: the day of everybody's last positive result.
        met: who met whom on which days of the window.
    """

    positive: LastPositive
    met: Met


class WithoutEcho(OwnExchange):
    """The same with messages that leave out what came from their receiver."""

    __slots__ = ()

    def start(self, n_people: int) -> Any:
        """Return a state in which nobody was positive and nobody met."""
        return Known(positive=OwnExchange.start(self, n_people), met=Met.nobody(n_people))

    def scores(self, public: PublicFacts, secret: SecretFacts, state: Any) -> tuple[Floats, Any]:
        """Return the belief of the last round."""
        positive, silent = self._remembered(public, state.positive)
        met = state.met.with_newest(secret.window)
        exposures = cavity_rounds(met, public.outcomes, **self._exchange(public, silent))
        return self._score(public, exposures, silent), Known(positive=positive, met=met)


def after_results(before: LastPositive, public: PublicFacts) -> LastPositive:
    """Return the day of everybody's last positive result, including those of the window."""
    positive = public.outcomes == 1
    newest = public.day - np.argmax(positive[::-1], axis=0)
    return np.where(positive.any(axis=0), newest, before).astype(np.int32)
