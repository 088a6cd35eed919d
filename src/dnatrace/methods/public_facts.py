"""`public-facts`: what a decoder can tell without any message, the floor of every private method.

Own tests, how many people somebody meets, and age tell much about whom to test. A private method
that is not better than this at its ε gives privacy away for nothing.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from dnatrace.methods.base import Method, MethodSettings, PublicFacts, Setup
from dnatrace.methods.headcount import decoder_inputs, with_decoder
from dnatrace.methods.kinds import Floats, PublicMethod
from dnatrace.methods.settings import NAME
from dnatrace.methods.tally import ContactRate, trained_on
from dnatrace.networks.decoder import Decoder, load_decoder
from dnatrace.settings import setting

FLOOR = "public-facts"


class PublicFactsSettings(MethodSettings):
    """The decoder of `headcount` without messages, trained on the same runs."""

    reads_transmission: ClassVar[bool] = False
    read_by_content: ClassVar[tuple[str, ...]] = ("decoder",)
    reads_newest_day: ClassVar[bool] = True
    name: Literal["public-facts"] = setting("public-facts", NAME)
    decoder: str | None = setting(
        None,
        "decoder of `public-facts`: a name or a path; if absent the one that ships, with levers or "
        "without",
        source="docs/headcount.md",
    )

    def in_world(self, *, levers: bool) -> Self:
        """Return the settings with the decoder that ships where levers are on, if none is given."""
        return with_decoder(self, FLOOR) if levers else self

    def load(self) -> Decoder:
        """Return the decoder."""
        return load_decoder(self.decoder or FLOOR)

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
    """What a decoder makes of public facts; no message is looked at.

    Attributes:
        decoder: whatever it was trained for, it is given no number of any contact.
    """

    decoder: Decoder

    def scores(self, public: PublicFacts, state: ContactRate | None) -> tuple[Floats, ContactRate]:
        """Return scores, and how many people everybody meets."""
        before = state or ContactRate.start(public.n_people)
        rate = before.after(public.counts[-1], public.isolated)
        nothing = np.empty((0, public.n_people))
        return self.decoder.scores(nothing, 1.0, decoder_inputs(public, rate)), rate
