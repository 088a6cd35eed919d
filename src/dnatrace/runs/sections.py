"""The sections of a configuration that belong to no plug-in: privacy, and what phones believe."""

from typing import Annotated, Literal

from pydantic import Field

from dnatrace.inference.exchange import ExchangeKind
from dnatrace.inference.factorised_neighbours import DEFAULT_ROUNDS, MOST_ROUNDS
from dnatrace.privacy.lifetimes import Calibration, Target, Unit
from dnatrace.privacy.noise import FastNoise, Noise, SecureNoise
from dnatrace.seir import SeirParameters
from dnatrace.settings import Settings, setting

PAPER = "DNA paper"  # the source of a default
P1 = "transmission_per_contact"  # the name of p1 in files
# Those of p0, g and h: who is infected from outside, and how an infection goes on.
COURSE = ("infection_from_outside", "exposed_to_infected", "infected_to_removed")


class PrivacySettings(Settings):
    """The guarantee for which the noise is calibrated."""

    epsilon: Annotated[float, Field(gt=0.0)] = setting(1.0, "privacy budget ε", source=PAPER)
    delta: Annotated[float, Field(gt=0.0, lt=1.0)] = setting(
        1e-3, "additive slack of the bound, δ", source=PAPER
    )
    unit: Unit = setting(
        Unit.RELEASE, "what ε is calibrated for: `person`, `release`, `contact` or `pair`"
    )
    noise: Literal["fast", "secure"] = setting("fast", "`fast` (simulation) or `secure`")
    calibration: Calibration = setting(
        Calibration.EXACT,
        "how noise follows from ε and δ: `exact`, `renyi` (more than needed) or `classical` (too "
        "little far above ε = 1)",
        source="Balle and Wang 2018; the others as in the authors' programs",
    )

    @property
    def target(self) -> Target:
        """The guarantee for which the noise is calibrated."""
        return Target(
            epsilon=self.epsilon, delta=self.delta, unit=self.unit, calibration=self.calibration
        )

    def source(self, seed: int) -> Noise:
        """Return the source of noise."""
        return SecureNoise() if self.noise == "secure" else FastNoise(seed=seed)


class ModelSettings(SeirParameters):
    """The statistical model that phones use, and how long it looks back."""

    window: Annotated[int, Field(ge=1, le=1000, strict=True)] = setting(
        14, "days of contacts that are kept", source=PAPER
    )
    rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS, strict=True)] = setting(
        DEFAULT_ROUNDS, "updates of everybody per day", source=PAPER
    )
    contacts_before_tests: bool = setting(
        False,
        "whether contacts of a day are dated one day before its tests and change beliefs on the "
        "day itself; otherwise on the next day. Methods that count contacts refuse it",
        source="true in the authors' programs",
    )

    exchange: ExchangeKind | None = setting(
        None,
        "what messages are made of: `rounds` of everybody's updates, their sender's `own-tests` "
        "or their sender's `largest` belief after one exchange; if absent, the method decides",
    )

    @property
    def parameters(self) -> SeirParameters:
        """The parameters of the model alone."""
        return SeirParameters(p0=self.p0, p1=self.p1, g=self.g, h=self.h)
