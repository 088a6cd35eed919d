"""Headcount: count people who may be infectious, each once, and let a free network read the counts.

What a phone sends depends on its owner's tests alone (exchange `own-tests`), and a receiver counts
distinct people, however often they met: so one test result of a person moves the count by at most 1
in every release, and not at all for people who never met them. That is a guarantee about a person,
end to end. Noise is added, and a decoder reads the noisy numbers of the last 14 days and public
facts. docs/guarantees.md has the proof, docs/headcount.md what the method achieves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.inference.exchange import ExchangeKind, OwnTests
from dnatrace.inference.heads import Closeness, Ids, head_counts
from dnatrace.methods.base import Method, MethodSettings, PublicFacts, SecretFacts, Setup
from dnatrace.methods.kinds import Floats, PrivateMethod, Query
from dnatrace.methods.settings import NAME, RELEASE
from dnatrace.methods.tally import ContactRate, trained_on
from dnatrace.networks.architecture import WINDOW
from dnatrace.networks.decoder import SENSITIVITY, Alarm, Decoder, Heads, load_decoder
from dnatrace.networks.decoder_inputs import DecoderInputs, head_evidence
from dnatrace.privacy.accounting import Lifetime
from dnatrace.privacy.mechanisms import GaussianMechanism
from dnatrace.privacy.release import Bounded
from dnatrace.settings import setting

_PURPOSE = "noise/headcount"
_LEAST = 1e-12  # smallest divisor: `just_found` is 0 if nobody can be infectious


class HeadcountRelease(StrEnum):
    """Which count gets noise."""

    DAILY = "daily"
    NEWS = "news"


DECODERS = {HeadcountRelease.DAILY: "headcount", HeadcountRelease.NEWS: "headcount-news"}
OF_WORLD = "-world"  # suffix of decoders that were trained where levers are on


class HeadcountSettings(MethodSettings):
    """Noise on the number of people met who may be infectious, read by a decoder."""

    reads_transmission: ClassVar[bool] = False
    counts_contacts: ClassVar[bool] = True
    exchange: ClassVar[ExchangeKind] = ExchangeKind.OWN_TESTS
    read_by_content: ClassVar[tuple[str, ...]] = ("decoder",)
    reads_newest_day: ClassVar[bool] = True
    person_day_bytes: ClassVar[float] = 28.0
    person_day_microseconds: ClassVar[float] = 0.5
    name: Literal["headcount"] = setting("headcount", NAME)
    release: HeadcountRelease = setting(HeadcountRelease.DAILY, RELEASE)
    decoder: str | None = setting(
        None,
        "decoder of `headcount`: a name or a path; if absent, the shipped one for the release, "
        "with levers or without",
        source="docs/headcount.md",
    )

    @property
    def reads_exchange(self) -> bool:
        """Whether messages are those of the run's exchange: news are results, not messages."""
        return self.release is not HeadcountRelease.NEWS

    @property
    def adds_noise(self) -> bool:
        """Whether scores have noise."""
        return True

    def in_world(self, *, levers: bool) -> Self:
        """Return the settings with the shipped decoder for levers, if on, unless one is given."""
        return with_decoder(self, DECODERS[self.release]) if levers else self

    def load(self) -> Decoder:
        """Return the decoder."""
        return load_decoder(self.decoder or DECODERS[self.release])

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return Headcount(setup=setup, decoder=self.load(), variant=self.release)

    def fingerprint(self) -> str:
        """Return the digest of the decoder; its path does not matter."""
        return self.load().digest

    @property
    def training(self) -> str:
        """Where the decoder comes from."""
        return trained_on(self.load(), "noisy numbers and public facts alone")


SettingsOfDecoder = TypeVar("SettingsOfDecoder", bound=MethodSettings)


def with_decoder(settings: SettingsOfDecoder, name: str) -> SettingsOfDecoder:
    """Return settings with the decoder for a world with levers, unless they name one."""
    if getattr(settings, "decoder", None) is not None:
        return settings
    return settings.model_copy(update={"decoder": name + OF_WORLD})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """Which results were known yesterday, so that new results can be found.

    Attributes:
        first_day: the first day of the window.
        outcomes: the results, int8 [days, people].
    """

    first_day: int
    outcomes: NDArray[np.int8]

    def covers(self, public: PublicFacts) -> NDArray[np.bool_]:
        """Return which results of today's window were known before: bool [days, people]."""
        known = np.zeros(public.outcomes.shape, dtype=np.bool_)
        before = self.outcomes[max(0, public.first_day - self.first_day) :]
        known[: len(before)] = before >= 0
        return known


@dataclass(frozen=True, slots=True, kw_only=True)
class Headcount(PrivateMethod):
    """Noise on the number of people met who may be infectious; a decoder of these numbers.

    Guarantee: for messages from own tests alone, one test result of a person moves the numbers of
    one receiver by at most 1 in Euclidean norm, in the releases of `Lifetime.person`: in all 14
    during the life of the result (`daily`), or in the one on the day it becomes known (`news`).
    With noise of 1/μ in each, that is (ε, δ)-private for the person over everything the receiver
    ever sees, given everybody else's tests and who met whom. For messages that passed through
    others the ledger has no bound for a person.
    Edge cases: people who met nobody in the window have 0 and no noise. A window longer than the
    decoder's is refused, and so is a decoder of the other variant.

    Attributes:
        setup: target, window and noise.
        decoder: reads the numbers.
        variant: which numbers are counted.
    """

    setup: Setup
    decoder: Decoder
    variant: HeadcountRelease = HeadcountRelease.DAILY

    def __post_init__(self) -> None:
        if self.setup.window_days > WINDOW:
            raise InputError(f"a window of {self.setup.window_days} days: decoders read {WINDOW}")
        self.decoder.require(f"head counts, {self.variant}")

    @property
    def heads(self) -> Heads:
        """The head counts that the decoder reads."""
        assert self.decoder.heads is not None  # checked above
        return self.decoder.heads

    @property
    def bounds(self) -> tuple[float, ...]:
        """The bounds of the channels that are counted at the noise of the target."""
        return self.heads.bounds_at(self.mechanism.multiplier)

    @property
    def lifetime(self) -> Lifetime:
        """How a contact, and a test result of a person, spend their budgets."""
        days = self.setup.window_days
        ages = {HeadcountRelease.DAILY: days, HeadcountRelease.NEWS: 1}[self.variant]
        # News comes from tests, whatever messages are made of.
        proved = self.setup.own_tests or self.variant is HeadcountRelease.NEWS
        person = (1.0,) * ages if proved else None
        return Lifetime(shares=(1.0,) * days, joint=True, person=person, once=True)

    @property
    def mechanism(self) -> GaussianMechanism:
        """The noise of one release."""
        what = {
            HeadcountRelease.DAILY: "number of people met who may be infectious",
            HeadcountRelease.NEWS: "number of people met whose positive test became known today",
        }
        return GaussianMechanism(
            name=f"{what[self.variant]} (each counted once, sensitivity 1)",
            multiplier=self.setup.target.multiplier(self.lifetime),
            lifetime=self.lifetime,
            noise=self.setup.noise,
            purpose=_PURPOSE,
            reads=min(self.setup.window_days, self.decoder.reads),
        )

    def prepare(self, public: PublicFacts, remembered: ContactRate | None) -> ContactRate:
        """Return everybody's running average of contacts per day, including today's."""
        before = remembered or ContactRate.start(public.n_people)
        return before.after(public.counts[-1], public.isolated)

    def remember(self, prepared: ContactRate) -> ContactRate:
        """Keep the running average of contacts."""
        return prepared

    def query(
        self, prepared: ContactRate, public: PublicFacts, secret: SecretFacts, memory: Known | None
    ) -> Query:
        """Return the numbers; those of earlier days are read again."""
        return Query(
            mechanism=self.mechanism,
            statistic=self.statistic(public, secret, memory),
            memory=Known(first_day=public.first_day, outcomes=public.outcomes),
            keep=(self.setup.window_days - 1) * len(self.bounds),
        )

    def statistic(
        self, public: PublicFacts, secret: SecretFacts, memory: Known | None = None
    ) -> Bounded:
        """Return the numbers of everybody [channels, people], 0 for those who met nobody.

        A person is in one channel of a receiver at most, so the sensitivity of a single number is
        that of all of them together. Where channels are merged at the noise of the target, there is
        one row.
        """
        messages = self.setup.require_messages(public, secret)
        if self.variant is HeadcountRelease.DAILY:
            people, alarms = standing_alarms(messages, public, self.decoder.alarm)
        else:
            people, alarms = news_alarms(public, memory)
        closeness = Closeness(fading=self.heads.fading, bounds=self.bounds)
        counts = head_counts(secret.window, alarms, closeness, of=people)
        reached = np.where(public.counts.any(axis=0), SENSITIVITY, 0.0)
        return Bounded(values=counts, sensitivity=np.broadcast_to(reached, counts.shape))

    def settle(
        self, noisy: Floats, past: Sequence[Floats], public: PublicFacts
    ) -> NDArray[np.float32]:
        """Return the evidence for an infection in each of today's noisy numbers, one by one."""
        del past, public
        return head_evidence(noisy, self.mechanism.multiplier)

    def decode(self, noisy: Floats, prepared: ContactRate, public: PublicFacts) -> Floats:
        """Return the decoder's scores from the evidence of the last days."""
        noise, inputs = SENSITIVITY * self.mechanism.multiplier, decoder_inputs(public, prepared)
        counted = len(self.bounds)
        return self.decoder.scores(noisy, noise, inputs, counted=counted, newest_last=True)


def standing_alarms(
    messages: NDArray[np.float32], public: PublicFacts, alarm: Alarm
) -> tuple[Ids, Floats]:
    """Return who may alarm (ids), and their alarms by day in [0, 1]: float64 [days, those people].

    A message is divided by that of somebody just found positive, a public number: however often
    tests err, a fresh positive result is a full alarm. People who never exceed the background do
    not alarm.
    """
    exchange = OwnTests(parameters=public.parameters, test_errors=public.test_errors)
    found = max(exchange.just_found, _LEAST)
    largest = (messages.max(axis=0) / found).astype(np.float64)
    people = np.flatnonzero(largest > alarm.low)
    return people, alarm(messages[:, people] / found)


def news_alarms(public: PublicFacts, memory: Known | None) -> tuple[Ids, Floats]:
    """Return whose positive result became known today (ids), and an alarm of 1 on all their days.

    The alarm is the same on every day of the window, so that a contact on any of them counts:
    [days, people].

    Guarantee: a test result is in the alarms of one day, whatever other tests there are.
    """
    fresh = public.outcomes == 1
    if memory is not None:
        fresh &= ~memory.covers(public)
    people = np.flatnonzero(fresh.any(axis=0))
    return people, np.ones((public.n_days, people.size))


def decoder_inputs(public: PublicFacts, rate: ContactRate) -> DecoderInputs:
    """Return what a decoder reads in addition to noisy numbers."""
    return DecoderInputs(
        outcomes=public.outcomes,
        mean_contacts=rate.mean,
        age_groups=public.age_groups,
        test_errors=public.test_errors,
        diary=public.diary,
    )
