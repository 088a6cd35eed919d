"""`public-facts`: what a decoder can tell without any message, the floor of every private method.

Own tests, how many people somebody meets, and age tell much about whom to test. A private method
that is not better than this at its ε gives privacy away for nothing.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dnatrace.methods.base import Method, MethodSettings, PublicFacts, Setup
from dnatrace.methods.headcount import decoder_inputs
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
    decoder: str = setting(
        FLOOR,
        "decoder of `public-facts`: the name of one that ships, or a path",
        source="docs/headcount.md",
    )

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return PublicFactsAlone(decoder=load_decoder(self.decoder))

    def fingerprint(self) -> str:
        """Return the digest of the decoder; its path does not matter."""
        return load_decoder(self.decoder).digest

    @property
    def training(self) -> str:
        """Where the decoder comes from."""
        return trained_on(load_decoder(self.decoder), "public facts alone")


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
