"""Tally: count alarming contacts, add noise, and let a free network read the counts.

The private bottleneck is one number per person and day: how many messages of the window alarm, each
counting between 0 and 1. One message moves it by at most 1, whatever the own tests; nothing else
depends on messages. A decoder then reads the noisy tallies of the last 14 days together with public
facts. docs/guarantees.md has the proof, docs/tally.md how the decoder is trained and what it
achieves.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.inference.exchange import ExchangeKind
from dnatrace.inference.exposures import add_up_day
from dnatrace.methods.base import Method, MethodSettings, PublicFacts, SecretFacts, Setup
from dnatrace.methods.kinds import Floats, PrivateMethod, Query
from dnatrace.methods.settings import NAME, RELEASE
from dnatrace.networks.architecture import WINDOW
from dnatrace.networks.decoder import (
    DEFAULT_DECODER,
    SENSITIVITY,
    TALLIES,
    Alarm,
    Decoder,
    load_decoder,
)
from dnatrace.networks.decoder_inputs import DecoderInputs
from dnatrace.privacy.accounting import Lifetime
from dnatrace.privacy.mechanisms import GaussianMechanism
from dnatrace.privacy.release import Bounded
from dnatrace.records import ContactWindow
from dnatrace.settings import setting

_PURPOSE = "noise/tally"
_MEMORY = 20  # days over which contacts are averaged


class TallyRelease(StrEnum):
    """Which messages are counted: those of rounds, or the largest beliefs after one exchange."""

    GAUSSIAN = "gaussian"
    LARGEST = "largest"


DECODERS = {TallyRelease.GAUSSIAN: DEFAULT_DECODER, TallyRelease.LARGEST: "tally-largest"}


class TallySettings(MethodSettings):
    """Noise on the number of alarming contacts, read by a decoder."""

    counts_contacts: ClassVar[bool] = True
    reads_newest_day: ClassVar[bool] = True
    read_by_content: ClassVar[tuple[str, ...]] = ("decoder",)
    name: Literal["tally"] = setting("tally", NAME)
    release: TallyRelease = setting(TallyRelease.GAUSSIAN, RELEASE)
    decoder: str | None = setting(
        None,
        "decoder of `tally`: the name of a shipped one, or a path; if absent, the one "
        "trained for the release",
        source="docs/tally.md",
    )

    @property
    def adds_noise(self) -> bool:
        """Whether scores have noise."""
        return True

    @property
    def exchange_kind(self) -> ExchangeKind:
        """The messages that the release counts."""
        largest = self.release is TallyRelease.LARGEST
        return ExchangeKind.LARGEST if largest else self.exchange

    def load(self) -> Decoder:
        """Return the decoder, or raise if it was trained for another method."""
        decoder = load_decoder(self.decoder or DECODERS[self.release])
        decoder.require(TALLIES)
        return decoder

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return Tally(setup=setup, decoder=self.load())

    def fingerprint(self) -> str:
        """Return the digest of the decoder; its path does not matter."""
        return self.load().digest

    @property
    def training(self) -> str:
        """Where the decoder comes from."""
        return trained_on(self.load(), "noisy tallies and public facts alone")


def trained_on(decoder: Decoder, reads: str) -> str:
    """Return where a decoder comes from, for the statement."""
    runs = decoder.provenance.get("runs", {})
    return (
        f"decoder '{decoder.name}', weights {decoder.digest}, trained on "
        f"{runs.get('count', 'unknown')} runs of simulated people: training has no privacy "
        f"cost. It reads {reads}, so it needs no bound of its own."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContactRate:
    """How many contacts somebody has per day when not in isolation: public, kept beyond the window.

    Attributes:
        mean: a running average, float64 [people].
        days: the number of days averaged over, int64 [people], at most `_MEMORY`.
    """

    mean: Floats
    days: NDArray[np.int64]

    @classmethod
    def start(cls, n_people: int) -> "ContactRate":
        """Return the average before the first day."""
        return cls(mean=np.zeros(n_people), days=np.zeros(n_people, dtype=np.int64))

    def after(
        self, contacts: NDArray[np.int32], isolated: NDArray[np.bool_] | None
    ) -> "ContactRate":
        """Return the average after another day; days in isolation do not count."""
        days = self.days + (1 if isolated is None else ~isolated)
        step = (contacts - self.mean) / np.clip(days, 1, _MEMORY)
        return ContactRate(mean=np.where(days > self.days, self.mean + step, self.mean), days=days)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally(PrivateMethod):
    """Noise on the number of alarming contacts; a decoder of these numbers and of public facts.

    Guarantee: (ε, δ)-private for the unit of the target, for every history of own tests: a tally
    has sensitivity 1, and scores are computed from noisy tallies and public facts alone. A release
    is one noisy tally. A message is in as many of them as the window has days, each with its own
    noise, and units longer than a release are calibrated for that; a score may read as many, so one
    score alone can cost as much as a contact over its life.
    Edge cases: people who met nobody in the window have tally 0 and no noise. A window longer than
    the decoder's is refused.

    Attributes:
        setup: target, window and noise.
        decoder: reads the tallies.
    """

    setup: Setup
    decoder: Decoder

    def __post_init__(self) -> None:
        if self.setup.window_days > WINDOW:
            raise InputError(f"a window of {self.setup.window_days} days: decoders read {WINDOW}")

    @property
    def mechanism(self) -> GaussianMechanism:
        """The noise of one release."""
        window_days = self.setup.window_days
        lifetime = Lifetime(shares=(1.0,) * window_days, joint=True)
        return GaussianMechanism(
            name="number of alarming contacts in the window (sensitivity 1)",
            multiplier=self.setup.target.multiplier(lifetime),
            lifetime=lifetime,
            noise=self.setup.noise,
            purpose=_PURPOSE,
            reads=min(window_days, self.decoder.reads),
        )

    def prepare(self, public: PublicFacts, remembered: ContactRate | None) -> ContactRate:
        """Return everybody's running average of contacts per day, including today's."""
        before = remembered or ContactRate.start(public.n_people)
        return before.after(public.counts[-1], public.isolated)

    def remember(self, prepared: ContactRate) -> ContactRate:
        """Keep the running average of contacts."""
        return prepared

    def query(
        self, prepared: ContactRate, public: PublicFacts, secret: SecretFacts, memory: None
    ) -> Query:
        """Return the tallies; those of earlier days are read again."""
        statistic = self.statistic(public, secret)
        keep = self.setup.window_days - 1
        return Query(mechanism=self.mechanism, statistic=statistic, keep=keep)

    def statistic(self, public: PublicFacts, secret: SecretFacts) -> Bounded:
        """Return everybody's tally with its sensitivity, 0 for people who met nobody."""
        messages = self.setup.require_messages(public, secret)
        some = public.counts.any(axis=0)
        return Bounded(
            values=tallies(secret.window, messages, self.decoder.alarm),
            sensitivity=np.where(some, SENSITIVITY, 0.0),
        )

    def decode(self, noisy: Floats, prepared: ContactRate, public: PublicFacts) -> Floats:
        """Return the decoder's scores from the noisy tallies of the last days."""
        inputs = DecoderInputs(
            outcomes=public.outcomes,
            mean_contacts=prepared.mean,
            age_groups=public.age_groups,
            test_errors=public.test_errors,
        )
        noise = self.mechanism.multiplier * SENSITIVITY  # standard deviation of a tally's noise
        return self.decoder.scores(noisy[::-1], noise, inputs)


def tallies(window: ContactWindow, messages: NDArray[np.float32], alarm: Alarm) -> Floats:
    """Return Σ alarm(message) over the contacts of the window: float64 [people].

    Cost: one look-up per contact.
    """
    total, of_day = np.zeros(window.n_people), np.empty(window.n_people)
    for said, day in zip(messages, window, strict=True):
        add_up_day(day, alarm(said), of_day)
        total += of_day
    return total
