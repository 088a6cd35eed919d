"""What every tracing method is given and must return, and what its settings say about it."""

from abc import abstractmethod
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.inference.exchange import ExchangeKind
from dnatrace.plugins import Plugin
from dnatrace.privacy.accounting import Target
from dnatrace.privacy.noise import FastNoise, Noise
from dnatrace.privacy.release import Released
from dnatrace.records import ContactWindow
from dnatrace.seir import SeirParameters, TestErrors


class Score(StrEnum):
    """Which belief of the last day ranks people."""

    INFECTED = "infected"
    EXPOSED_OR_INFECTED = "exposed-or-infected"

    @property
    def counts_exposed(self) -> bool:
        """Whether the score is P(E) + P(I) rather than P(I)."""
        return self is Score.EXPOSED_OR_INFECTED


class Needs(StrEnum):
    """What the loop computes for a method beyond public facts and the window of contacts."""

    NOTHING = "nothing"
    EXPOSURES = "exposures"
    MESSAGES = "messages"
    TRUTH = "truth"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicFacts:
    """What people know about themselves at the end of a day: free to use, before or after noise.

    Arrays by day are [days, people], row 0 is `first_day` and the last row is `day`.

    Attributes:
        day: the day that ends, the last of the window.
        first_day: the oldest day of the window.
        counts: the number of contacts with other people who have the app, int32 [days, people]; one
            message each, so meeting somebody twice counts twice. 0 for people without the app.
        outcomes: own tests, int8 [days, people]: 1, 0, or -1 without a test.
        parameters: the parameters of the statistical model.
        test_errors: what phones assume about tests (`TestRules.believed`), not what tests really
            do.
        age_groups: decade of age, uint8 [people]; None when unknown.
        isolated: who was in isolation on the day, bool [people]; None when unknown.
        diary: flags of `records.Diary`, uint8 [days, people], for the days so far; None where the
            policy has no levers. It includes what people were told about cases: no ε covers that
            (`PolicySettings.tells_of_cases`).
    """

    day: int
    first_day: int
    counts: NDArray[np.int32]
    outcomes: NDArray[np.int8]
    parameters: SeirParameters
    test_errors: TestErrors
    age_groups: NDArray[np.uint8] | None = None
    isolated: NDArray[np.bool_] | None = None
    diary: NDArray[np.uint8] | None = None

    @property
    def n_days(self) -> int:
        """The number of days held, at most `Setup.window_days`."""
        return len(self.counts)

    @property
    def n_people(self) -> int:
        """The number of people."""
        return self.counts.shape[1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SecretFacts:
    """What only the enclave knows at the end of a day; arrays by day as in `PublicFacts`.

    Attributes:
        window: who met whom.
        exposures: as in `inference.exchange.Received`, float32 [days, people]; present for
            `Needs.EXPOSURES`, and for `Needs.MESSAGES` after rounds.
        messages: P(I) as the exchange leaves it (after the last round, or of own tests alone),
            unclipped, float32 [days, people]; present for `Needs.MESSAGES`, or when the loop
            computes them for training.
        own_tests: whether each message is a function of its sender's own tests alone, according to
            the exchange.
        states: true S, E, I, R as 0 … 3, uint8 [people]; None unless the method needs the truth.
    """

    window: ContactWindow
    exposures: NDArray[np.float32] | None = None
    messages: NDArray[np.float32] | None = None
    own_tests: bool = False
    states: NDArray[np.uint8] | None = None

    def lend(self) -> Self:
        """Return a copy that can be closed; the arrays are shared."""
        return replace(self)

    def close(self) -> None:
        """Forget everything: code that still holds this object has nothing to look at."""
        for name in fields(self):
            object.__delattr__(self, name.name)


class Method(Protocol):
    """A tracing method: `start`, then `release` once per day.

    The state is what the next day needs (most methods need nothing and use None); a method object
    itself never changes. `methods.kinds` has the three kinds of methods that this package knows.
    """

    @property
    def needs(self) -> Needs:
        """What the loop must compute for this method."""

    def start(self, n_people: int) -> Any:
        """Return the state before the first day."""

    def release(self, public: PublicFacts, secret: SecretFacts, state: Any) -> tuple[Released, Any]:
        """Return the scores of everybody at the end of the day, and the next state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a method is built from, in addition to its own settings.

    Attributes:
        target: the guarantee for which noise is calibrated.
        window_days: the largest number of days for which a contact stays in the window.
        noise: the source of noise.
        own_tests: whether messages are functions of their sender's own tests alone. Otherwise
            nothing can be proved about a person.
    """

    target: Target
    window_days: int = 14
    own_tests: bool = False
    noise: Noise = field(default_factory=lambda: FastNoise(seed=0))

    def require_messages(self, public: PublicFacts, secret: SecretFacts) -> NDArray[np.float32]:
        """Return the messages of the window, or raise when the loop did not compute them."""
        self.require_window(public)
        if secret.messages is None:
            raise InputError("this method needs messages, and the day has none")
        return secret.messages

    def require_window(self, public: PublicFacts) -> None:
        """Raise if contacts stay longer than was assumed when their cost was computed."""
        if public.n_days > self.window_days:
            raise InputError(
                f"a window of {public.n_days} days for a method set up for {self.window_days}"
            )


class MethodSettings(Plugin):
    """The settings of a method, and the questions that the rest of the package may ask about it.

    A method with variants has a field `release`, an enum whose first member is the default.
    """

    noun: ClassVar[str] = "method"
    # Whether a message counts from the day of the contact on, or noise depends on the number of
    # contacts: an audit then plays more encounters.
    counts_contacts: ClassVar[bool] = False
    # What its messages are made of; `exchange_kind` where that depends on the settings.
    exchange: ClassVar[ExchangeKind] = ExchangeKind.ROUNDS
    gives_tests: ClassVar[bool] = True
    # Whether anything that contacts tell has an effect, by messages of the run or exchanges of its
    # own.
    hears_contacts: ClassVar[bool] = True
    # Whether what phones believe about transmission, p1, has an effect with that exchange.
    reads_transmission: ClassVar[bool] = True
    # Whether the phones' model of the disease, p0, g and h, has an effect; no message does without.
    reads_model: ClassVar[bool] = True
    # Whether what phones believe about errors of tests has an effect.
    reads_test_errors: ClassVar[bool] = True
    # Whether it remembers the contacts of each newest day, and so misses days that are filled
    # later.
    reads_newest_day: ClassVar[bool] = False

    # Estimates for `runs.needs`, measured: what it holds per person and day of the window beside
    # contacts, and how long a run takes per person-day on two cores. Here the most of the methods
    # that say nothing else.
    person_day_bytes: ClassVar[float] = 60.0
    person_day_microseconds: ClassVar[float] = 1.7

    @abstractmethod
    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""

    def in_world(self, *, levers: bool) -> Self:
        """Return the settings for a policy with levers or without; the same for most methods."""
        del levers
        return self

    @property
    def reads_messages(self) -> bool:
        """Whether the messages of the run's exchange have an effect."""
        return self.reads_model

    @property
    def reads_exchange(self) -> bool:
        """Whether messages are made as `seir.exchange` says; else always as `exchange_kind`."""
        return True

    @property
    def exchange_kind(self) -> ExchangeKind:
        """What messages are made of with these settings, if the configuration does not say."""
        return self.exchange

    @property
    def adds_noise(self) -> bool:
        """Whether scores have noise, so that privacy settings have an effect."""
        return False

    @property
    def training(self) -> str | None:
        """Where a trained part comes from, for the statement; None when nothing was trained."""
        return None

    @classmethod
    def releases(cls) -> tuple[str, ...]:
        """Return the variants of the release, the default first; none when there is only one."""
        variants = cls.model_fields.get("release")
        return tuple(variants.annotation) if variants else ()  # type: ignore[arg-type]


def release_of(settings: MethodSettings) -> str | None:
    """Return the variant of a method's release; None when there is only one."""
    release = getattr(settings, "release", None)
    return None if release is None else str(release)
