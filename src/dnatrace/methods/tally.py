"""Tally: count alarming contacts, add noise, and let a free network read the counts.

The private bottleneck is one number a person and day: how many messages of the window alarm, each
counted from 0 to 1. One message moves it by at most 1, whatever the own tests; nothing else depends
on messages. A decoder then reads the noisy tallies of the last 14 days together with public facts.
docs/guarantees.md has the proof, docs/tally.md how the decoder is trained and what it reaches.
"""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.methods.base import DayFacts, Needs
from dnatrace.methods.settings import require_messages
from dnatrace.networks.architecture import WINDOW
from dnatrace.networks.decoder import SENSITIVITY, Alarm, Decoder, DecoderInputs
from dnatrace.privacy.accounting import Lifetime, Target
from dnatrace.privacy.mechanisms import GaussianMechanism, publish_processed
from dnatrace.privacy.noise import FastNoise, Noise
from dnatrace.privacy.release import Bounded, Protected, Released
from dnatrace.privacy.sensitivity import add_up_day

_PURPOSE = "noise/tally"
_MEMORY = 20  # days over which contacts are averaged

Floats = NDArray[np.float64]


class TallyRelease(StrEnum):
    """Which statistic is noised; there is one."""

    GAUSSIAN = "gaussian"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Acquaintance:
    """How many people somebody meets a day when not in isolation: public, and kept for long.

    Attributes:
        mean: a running average, float64 [people].
        days: over how many days, int64 [people]; at most `_MEMORY` count.
    """

    mean: Floats
    days: NDArray[np.int64]

    @classmethod
    def start(cls, n_people: int) -> "Acquaintance":
        """Return the average before the first day."""
        return cls(mean=np.zeros(n_people), days=np.zeros(n_people, dtype=np.int64))

    def after(
        self, contacts: NDArray[np.int32], isolated: NDArray[np.bool_] | None
    ) -> "Acquaintance":
        """Return the average after another day; days in isolation do not count."""
        days = self.days + (1 if isolated is None else ~isolated)
        step = (contacts - self.mean) / np.clip(days, 1, _MEMORY)
        return Acquaintance(mean=np.where(days > self.days, self.mean + step, self.mean), days=days)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heard:
    """What the next day needs.

    Attributes:
        tallies: protected tallies, newest first, at most 14.
        acquaintance: contacts of everybody, public.
    """

    tallies: tuple[Protected, ...]
    acquaintance: Acquaintance


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Noise on the number of alarming contacts; a decoder of these numbers and of public facts.

    Guarantee: (ε, δ)-private for the unit of the target, for every history of own tests: a tally
    has sensitivity 1, and scores are computed from noisy tallies and public facts alone. A release
    is one noisy tally. A message is in as many of them as the window has days, each with noise of
    its own, which is what units longer than a release are calibrated by; and a score may read that
    many, so that one score alone can cost what a contact costs over its life.
    Edge cases: people who met nobody in the window have tally 0 and no noise. A window longer than
    the decoder's is refused.

    Attributes:
        target: what the noise is calibrated for.
        decoder: reads the tallies.
        window_days: the most days a contact stays in the window.
        noise: the back end.
    """

    target: Target
    decoder: Decoder
    window_days: int = WINDOW
    noise: Noise = field(default_factory=lambda: FastNoise(seed=0))

    def __post_init__(self) -> None:
        if self.window_days > WINDOW:
            raise InputError(f"a window of {self.window_days} days: decoders read {WINDOW}")

    @property
    def needs(self) -> Needs:
        """Messages of the last round."""
        return Needs.MESSAGES

    @property
    def mechanism(self) -> GaussianMechanism:
        """The noise of one release."""
        lifetime = Lifetime(shares=(1.0,) * self.window_days, joint=True)
        return GaussianMechanism(
            name="number of alarming contacts in the window (sensitivity 1)",
            multiplier=self.target.multiplier(lifetime),
            lifetime=lifetime,
            noise=self.noise,
            purpose=_PURPOSE,
            reads=min(self.window_days, self.decoder.reads),
        )

    def start(self, n_people: int) -> Heard:
        """Return the state before the first day."""
        return Heard(tallies=(), acquaintance=Acquaintance.start(n_people))

    def release(self, facts: DayFacts, state: Heard) -> tuple[Released, Heard]:
        """Return what the decoder makes of the noisy tallies of the last days."""
        mechanism = self.mechanism
        today = mechanism.protect(self.statistic(facts), day=facts.day)
        heard = Heard(
            tallies=(today, *state.tallies)[: self.window_days],
            acquaintance=state.acquaintance.after(facts.window[-1].counts, facts.isolated),
        )
        public = DecoderInputs(
            outcomes=facts.outcomes,
            mean_contacts=heard.acquaintance.mean,
            age_groups=facts.age_groups,
            test_errors=facts.test_errors,
        )
        released = publish_processed(
            heard.tallies,
            lambda noisy: self.decoder.scores(noisy, mechanism.multiplier, public),
            day=facts.day,
            noise=self.noise,
        )
        return released, heard

    def statistic(self, facts: DayFacts) -> Bounded:
        """Return the tally of everybody with its sensitivity, 0 for those who met nobody."""
        messages = require_messages(facts, self.window_days)
        some = facts.window.counts.any(axis=0)
        return Bounded(
            values=tallies(facts, messages, self.decoder.alarm),
            sensitivity=np.where(some, SENSITIVITY, 0.0),
        )


def tallies(facts: DayFacts, messages: NDArray[np.float32], alarm: Alarm) -> Floats:
    """Return Σ alarm(message) over the contacts of the window: float64 [people].

    Cost: one look-up a contact.
    """
    total, of_day = np.zeros(facts.window.n_people), np.empty(facts.window.n_people)
    for said, day in zip(messages, facts.window, strict=True):
        add_up_day(day, alarm(said), of_day)
        total += of_day
    return total
