"""`public-facts`: what a decoder infers without any message, the floor of every private method.

Own tests, the number of contacts, and age say much about whom to test. A private method that is not
better than this at its ε gives privacy away for nothing.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from dnatrace.methods.base import Method, MethodSettings, PublicFacts, Setup
from dnatrace.methods.headcount import decoder_inputs, with_decoder
from dnatrace.methods.kinds import Floats, PublicMethod
from dnatrace.methods.settings import NAME
from dnatrace.methods.tally import ContactRate, trained_on
from dnatrace.networks.decoder import ALONE, Decoder, load_decoder
from dnatrace.settings import setting

FLOOR = "public-facts"


class PublicFactsSettings(MethodSettings):
    """The decoder of `headcount` without messages, trained on the same runs."""

    hears_contacts: ClassVar[bool] = False
    reads_transmission: ClassVar[bool] = False
    reads_model: ClassVar[bool] = False
    read_by_content: ClassVar[tuple[str, ...]] = ("decoder",)
    reads_newest_day: ClassVar[bool] = True
    name: Literal["public-facts"] = setting("public-facts", NAME)
    decoder: str | None = setting(
        None,
        "decoder of `public-facts`: a name or a path; if absent, the shipped one, with levers or "
        "without",
        source="docs/headcount.md",
    )

    def in_world(self, *, levers: bool) -> Self:
        """Return the settings with the shipped decoder for levers, if on, unless one is given."""
        return with_decoder(self, FLOOR) if levers else self

    def load(self) -> Decoder:
        """Return the decoder, or raise if it was trained for another method."""
        decoder = load_decoder(self.decoder or FLOOR)
        decoder.require(ALONE)
        return decoder

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return PublicFactsAlone(decoder=self.load())

    def fingerprint(self) -> str:
        """Return the digest of the decoder; its path does not matter."""
        return self.load().digest

    @property
    def training(self) -> str:
        """Where the decoder comes from."""
        return trained_on(self.load(), "public facts alone")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFactsAlone(PublicMethod):
    """Score people by a decoder that reads public facts; no message is looked at.

    Attributes:
        decoder: the decoder; whatever it was trained for, it gets no numbers from contacts.
    """

    decoder: Decoder

    def scores(self, public: PublicFacts, state: ContactRate | None) -> tuple[Floats, ContactRate]:
        """Return the scores, and everybody's running average of contacts."""
        before = state or ContactRate.start(public.n_people)
        rate = before.after(public.counts[-1], public.isolated)
        nothing = np.empty((0, public.n_people))
        return self.decoder.scores(nothing, 1.0, decoder_inputs(public, rate)), rate
