"""The floor: what public facts alone achieve, beside what a private method achieves at its ε.

One run says little: peaks of the same method differ severalfold between seeds. So the floor is not
a second run beside the first, which would double the time and still be a matter of luck, but a
measured curve that ships with the package (reference_data/person_curve.csv, made by
`verification.person`): means over seeds, and differences paired by seed. It holds for the setting
in which it was measured; in any other setting a run says that the floor was not measured.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from dnatrace.methods.base import release_of
from dnatrace.methods.public_facts import FLOOR
from dnatrace.privacy.gaussian import epsilon_of_mu, mu_of_budget
from dnatrace.reference_data import read_table
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.quantities import shown, shown_spread

CURVE = "person_curve.csv"
_DELTA = 1e-3  # of the curve
_FREE = {"seed", "privacy", "method"}  # settings that may differ from the measured ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One point of the curve: peaks in ‰, means over seeds with half-widths of 90 % intervals.

    Attributes:
        method: the name of the method.
        release: the variant of the release.
        capacity: the share of people tested per day.
        epsilon: ε per person; infinite for methods without a bound.
        runs: the number of seeds.
        mean: the mean peak.
        half_width: the half-width of its interval.
        difference: the difference from the floor, paired by seed; 0 for the floor itself.
        difference_half_width: the half-width of its interval.
    """

    method: str
    release: str
    capacity: float
    epsilon: float
    runs: int
    mean: float
    half_width: float
    difference: float
    difference_half_width: float

    @property
    def better(self) -> bool:
        """Whether the peak is lower than the floor, and not by chance."""
        return self.difference + self.difference_half_width < 0.0


@lru_cache(maxsize=1)
def curve() -> tuple[Measured, ...]:
    """Return the curve that ships with the package."""

    def number(text: str, missing: float = 0.0) -> float:
        return float(text) if text not in ("", "–") else missing

    return tuple(
        Measured(
            method=row["method"],
            release=row["release"],
            capacity=float(row["capacity"]),
            epsilon=number(row["epsilon"], math.inf),
            runs=int(row["runs"]),
            mean=float(row["mean"]),
            half_width=number(row["half_width"]),
            difference=number(row["difference"]),
            difference_half_width=number(row["difference_half_width"]),
        )
        for row in read_table(CURVE)
    )


def beside(config: RunConfig, per_person_epsilon: float | None) -> str | None:
    """Return what is known about the floor in the setting of a run; None for methods without noise.

    For a private method with a bound per person, the measured ε next to its own are used. A method
    that is no better at a larger ε is no better with more noise, and one that is better at a
    smaller ε is better with less; between the two it is not known.
    """
    if not config.method.adds_noise:
        return None
    points = [p for p in curve() if p.capacity == config.tests.capacity]
    floor = next((p for p in points if p.method == FLOOR), None)
    if floor is None or not _measured_setting(config):
        return f"Floor: not measured in this setting; `--method {FLOOR}` runs without any message."
    text = (
        f"Floor: {shown_spread(floor.mean, floor.half_width)} ‰ is the peak without any message "
        f"({FLOOR}, mean of {floor.runs} runs in a city of {config.people:,} people over "
        f"{config.days} days)"
    )
    own, name = _at_measured_delta(per_person_epsilon, config.privacy.delta), config.method.name
    mine = _points(config, points)
    if own is None or not mine:
        return f"{text}; this method was not measured in comparison."
    # The noise of a target is found by calibration, so that ε is the measured one but for rounding.
    above = next((p for p in mine if p.epsilon >= 0.99 * own), None)
    below = next((p for p in reversed(mine) if p.epsilon <= 1.01 * own), None)
    if above is not None and not above.better:
        return (
            f"{text}. NOT BETTER THAN THE FLOOR as far as it was measured: {name} has "
            f"{_reached(above, config)}, so nothing shows that messages help here."
        )
    if above is not None and above is below:
        return f"{text}; {name} has {_reached(above, config)}."
    beside = [("more", below), ("less", above)]
    told = [
        f"with {noise} noise it has {_reached(p, config)}, {'' if p.better else 'NOT '}better"
        for noise, p in beside
        if p is not None
    ]
    return f"{text}. {name} was not measured with the noise of this run: {'; '.join(told)}."


def _reached(point: Measured, config: RunConfig) -> str:
    """Return the peak at a point of the curve, and how far that is from the floor."""
    delta = "" if config.privacy.delta == _DELTA else f" (at δ = {_DELTA:g})"
    apart = f"{point.difference:+.2g} ± {point.difference_half_width:.2g}"
    return (
        f"{shown_spread(point.mean, point.half_width)} ‰ at ε = {shown(point.epsilon)} per person"
        f"{delta} ({apart} ‰ on the same {point.runs} seeds)"
    )


def _at_measured_delta(epsilon: float | None, delta: float) -> float | None:
    """Return the ε that the same noise has at the δ of the curve."""
    if epsilon is None or epsilon == 0.0 or delta == _DELTA:
        return epsilon
    return epsilon_of_mu(mu_of_budget(epsilon, delta), _DELTA)


def _measured_setting(config: RunConfig) -> bool:
    """Return whether a run differs from the measured ones only in seed, noise and tests."""
    usual = load_config(overrides={"tests.capacity": config.tests.capacity})
    own, theirs = config.as_dict(), usual.as_dict()
    return all(own[key] == theirs[key] for key in own if key not in _FREE)


def _points(config: RunConfig, points: list[Measured]) -> list[Measured]:
    """Return the points of the same method and release, in order of ε."""
    if getattr(config.method, "decoder", None) is not None:
        return []
    release = release_of(config.method)
    mine = [p for p in points if (p.method, p.release) == (config.method.name, release)]
    return sorted(mine, key=lambda p: p.epsilon)
