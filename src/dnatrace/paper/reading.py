"""A reading of the paper: one option for every place where it leaves room."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dnatrace.methods.catalogue import METHODS
from dnatrace.paper.places import BY_NAME, PLACES, Option
from dnatrace.privacy.gaussian import classical_multiplier, epsilon_of_mu
from dnatrace.privacy.lifetimes import Calibration, Target
from dnatrace.runs.config import RunConfig, load_config

if TYPE_CHECKING:  # these modules build configurations from readings
    from dnatrace.paper.setting import Scenario, Size

# The outcome of the search, docs/results/readings.md; preset `paper-best-reading` is its base row,
# except that the noise of `dna` is set through ε there.
BEST: Mapping[str, str] = MappingProxyType(
    {
        "score": "E+I",
        "calibration": "classical",
        "noise of dna": "0.01 beside 0.03",
        "adherence": "event",
        "rates": "swapped",
        "areas": "not isolated",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Options by place; our reading where none is given."""

    chosen: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ours = {place.name: place.options[0].name for place in PLACES}
        for place, option in self.chosen.items():
            BY_NAME[place].option(option)
        object.__setattr__(self, "chosen", MappingProxyType(ours | dict(self.chosen)))

    def options(self) -> list[Option]:
        """Return the option of every place."""
        return [BY_NAME[place].option(option) for place, option in self.chosen.items()]

    def at(self, place: str, option: str) -> "Reading":
        """Return the reading with another option at one place."""
        return self.with_changes([(place, option)])

    def with_changes(self, changes: Iterable[tuple[str, str]]) -> "Reading":
        """Return the reading with other options at some places."""
        return Reading(chosen=dict(self.chosen) | dict(changes))

    @property
    def metric(self) -> str:
        """Which peak is compared."""
        return next(o.metric for o in self.options() if o.metric)

    @property
    def group(self) -> str:
        """Over whom areas under the curve are taken."""
        return next(o.group for o in self.options() if o.group)

    def differences(self) -> dict[str, str]:
        """Return the options that are not our reading."""
        ours = Reading().chosen
        return {place: option for place, option in self.chosen.items() if ours[place] != option}

    def cost(self, method: str, *, epsilon: float = 1.0) -> float:
        """Return the ε that a release truly costs where one is stated, ignoring own tests.

        It follows from its noise by the exact calibration; a share of the noise applies to `dna`
        alone.
        """
        share, target = self._noise(method, epsilon)
        return epsilon_of_mu(target.mu / share, target.delta)

    def _noise(self, method: str, epsilon: float) -> tuple[float, Target]:
        """Return the share of the stated noise that a method has, and the target of that noise."""
        options = self.options()
        share = math.prod(o.noise_share for o in options) if method == "dna" else 1.0
        named = [o.overrides.get("privacy.calibration", Calibration.EXACT) for o in options]
        calibration = next((c for c in named if c != Calibration.EXACT), Calibration.EXACT)
        return share, Target(epsilon=epsilon, calibration=Calibration(calibration))

    def configuration(self, method: str, scenario: "Scenario", size: "Size") -> RunConfig:
        """Return the run of a published number under this reading; its seed is replaced later."""
        options = self.options()
        overrides: dict[str, Any] = dict(size.overrides) | {"method": method}
        if "as_published" in METHODS[method].releases():
            overrides["release"] = "as_published"
        overrides |= {"epsilon": scenario.epsilon, "isolation.adherence": scenario.adherence}
        overrides |= _rates(scenario, {o.swaps for o in options} - {""})
        for option in options:
            overrides |= dict(option.overrides) | dict(option.only.get(method, {}))
        share, target = self._noise(method, scenario.epsilon)
        if share != 1.0:
            overrides["epsilon"] = _epsilon_of(share / target.mu, target)
        known = METHODS[method].names_in_files()
        return load_config(
            preset="paper",
            overrides={
                key: value
                for key, value in overrides.items()
                if not key.startswith("method.") or key.removeprefix("method.") in known
            },
        )


def best_reading() -> Reading:
    """Return the outcome of the search."""
    return Reading(chosen=BEST)


def _epsilon_of(multiplier: float, target: Target) -> float:
    """Return the ε for which a calibration gives noise of `multiplier` sensitivities."""
    if target.calibration is Calibration.CLASSICAL:
        return classical_multiplier(1.0, target.delta) / multiplier
    if target.calibration is Calibration.RENYI:
        slope = math.sqrt(2.0 * math.log(1.0 / target.delta))
        return (0.5 / multiplier + slope) / multiplier
    return epsilon_of_mu(1.0 / multiplier, target.delta)


def _rates(s: "Scenario", swaps: set[str]) -> dict[str, Any]:
    """Return the error rates of a scenario, exchanged or not."""
    written = s.false_positive_rate, s.false_negative_rate
    positive, negative = written[::-1] if "tests" in swaps else written
    rates = {"tests.false_positive_rate": positive, "tests.false_negative_rate": negative}
    if "beliefs" in swaps:
        rates |= {
            "tests.believed_false_positive_rate": negative,
            "tests.believed_false_negative_rate": positive,
        }
    return rates
