"""What changes the disease over time: season, imported cases, vaccines, a variant, distancing.

Everything is off by default, and what is off draws nothing: the disease is then that of the
published figures, bit for bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from dnatrace.rng import Stream
from dnatrace.settings import Days, Settings, Share, setting
from dnatrace.simulators.base import N_AGE_GROUPS

_YEAR = 365.0
FromDay = Annotated[int, Field(ge=1, le=100_000, strict=True)]
Factor = Annotated[float, Field(ge=0.0)]
Number = Annotated[int, Field(ge=0, strict=True)]


class Distancing(Settings):
    """Which share of meetings takes place from a day on, until the next entry of the schedule."""

    from_day: FromDay = setting(1, "the first day it applies to")
    work: Share = setting(1.0, "share of meetings at work and in the networks of the elderly")
    school: Share = setting(1.0, "share of meetings at school")
    random: Share = setting(1.0, "share of random meetings")


class Season(Settings):
    """Transmission times 1 + amplitude · cos(2π (day - peak_day) / 365)."""

    amplitude: Share = setting(0.0, "how much transmission rises and falls over a year")
    peak_day: Days = setting(0, "the day on which it is highest")

    def factor(self, day: int) -> float:
        """Return the factor on transmission on a day."""
        if self.amplitude == 0.0:
            return 1.0
        angle = 2.0 * np.pi * (day - self.peak_day) / _YEAR
        return float(1.0 + self.amplitude * np.cos(angle))


class Vaccination(Settings):
    """Who is vaccinated before day 0, and the effect; the course of illness does not change."""

    share: Share | list[Share] = setting(0.0, "share vaccinated, or nine shares by age group")
    against_infection: Share = setting(0.0, "fraction by which the hazard of infection is lower")
    against_transmission: Share = setting(0.0, "fraction by which the infected are less infectious")

    @field_validator("share")
    @classmethod
    def _nine(cls, share: float | list[float]) -> float | list[float]:
        if isinstance(share, list) and len(share) != N_AGE_GROUPS:
            raise ValueError(f"give one share or {N_AGE_GROUPS}, one per age group")
        return share

    def vaccinated(self, age_groups: NDArray[np.uint8], seed: int) -> NDArray[np.bool_]:
        """Return who is vaccinated: bool [people]."""
        shares = np.broadcast_to(np.array(self.share), N_AGE_GROUPS)
        draws = Stream(seed, "disease/vaccinated").uniform(np.arange(age_groups.size))
        return draws < shares[age_groups]


class Variant(Settings):
    """A variant that is brought in on a day; people get the variant of their infector."""

    first: Number = setting(0, "people infected with it on its first day; 0 for none")
    from_day: FromDay = setting(1, "its first day")
    transmissibility: Factor = setting(1.0, "its transmission, relative to the earlier variant")


def switched_off(season: Season, vaccination: Vaccination, variant: Variant) -> dict[str, str]:
    """Return which of these do nothing although they are set, and why: "key: reason" by section."""
    off = {}
    if season.amplitude == 0.0 and season != Season():
        off["season"] = "season.peak_day: amplitude is 0"
    given = np.any(np.array(vaccination.share) > 0.0)
    protects = vaccination.against_infection > 0.0 or vaccination.against_transmission > 0.0
    if given and not protects:
        off["vaccination"] = "vaccination.share: against_infection and against_transmission are 0"
    elif protects and not given:
        off["vaccination"] = "vaccination: share is 0"
    if variant.first == 0 and variant != Variant():
        off["variant"] = "variant: first is 0"
    return off


def too_late(variant: Variant, distancing: Sequence[Distancing], n_days: int) -> list[str]:
    """Return which changes begin after a run of `n_days` days."""
    after = f"is after the last day, {n_days}"
    has_variant = variant.first and variant.from_day > n_days
    told = [f"variant.first: from_day {variant.from_day} {after}"] if has_variant else []
    late = [entry.from_day for entry in distancing if entry.from_day > n_days]
    return told + [f"distancing: from_day {day} {after}" for day in late]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesSettings:
    """Everything that changes the disease over time; see each part."""

    season: Season = field(default_factory=Season)
    imports_per_day: float = 0.0
    vaccination: Vaccination = field(default_factory=Vaccination)
    variant: Variant = field(default_factory=Variant)

    def build(self, age_groups: NDArray[np.uint8], seed: int) -> "Times | None":
        """Return the changes over time for one population; None when nothing changes."""
        return None if self == TimesSettings() else Times(self, age_groups, seed)


class Times:
    """Season, imports, vaccines and variant in one population.

    Draws are addressed by person, or by person and day. Cost per day: O(people), and two more
    passes over the contacts from the day of the variant on.
    """

    def __init__(self, settings: TimesSettings, age_groups: NDArray[np.uint8], seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._everyone = np.arange(age_groups.size)
        vaccine = settings.vaccination
        vaccinated = vaccine.vaccinated(age_groups, seed)
        self._emits = np.where(vaccinated, 1.0 - vaccine.against_transmission, 1.0)
        self._hazards = np.where(vaccinated, 1.0 - vaccine.against_infection, 1.0)
        self.has_variant: NDArray[np.bool_] = np.zeros(age_groups.size, dtype=np.bool_)

    def tolerances(self, tolerance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much exposure people tolerate, given vaccines; infinite at a hazard of 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(tolerance / self._hazards)

    def emissions(self, emitted: NDArray[np.float64], day: int) -> NDArray[np.float64]:
        """Return what people emit on a day, given these changes: float64 [people]."""
        factor = self._settings.season.factor(day) * self._emits
        factor[self.has_variant] *= self._settings.variant.transmissibility
        return emitted * factor

    def arrivals(self, susceptible: NDArray[np.bool_], day: int) -> NDArray[np.int64]:
        """Return who is infected from outside on a day, with the variant on its first day."""
        arriving = np.zeros(susceptible.size, dtype=np.bool_)
        if self._settings.imports_per_day > 0.0:
            draws = Stream(self._seed, "disease/imports").uniform(self._everyone, day)
            arriving = draws < self._settings.imports_per_day / susceptible.size
        if day == self._settings.variant.from_day:
            draws = Stream(self._seed, "disease/variant-first").uniform(self._everyone)
            order = np.argsort(np.where(susceptible & ~arriving, draws, 2.0), kind="stable")
            first = order[: self._settings.variant.first]
            first = first[(susceptible & ~arriving)[first]]
            self.has_variant[first] = True
            arriving[first] = True
        return np.flatnonzero(arriving & susceptible)

    def inherit(self, infected: NDArray[Any], shares: NDArray[np.float64], day: int) -> None:
        """Give the variant to people infected on a day, by its share of their exposure: [infected].

        People who got it from outside keep it.
        """
        draws = Stream(self._seed, "disease/variant").uniform(infected, day)
        self.has_variant[infected[draws < shares]] = True


def in_force(schedule: tuple[Distancing, ...], day: int) -> Distancing | None:
    """Return the entry of a schedule for a day; None when all meetings take place."""
    begun = [entry for entry in schedule if entry.from_day <= day]
    if not begun or (begun[-1].work, begun[-1].school, begun[-1].random) == (1.0, 1.0, 1.0):
        return None
    return begun[-1]


def ordered(schedule: tuple[Distancing, ...]) -> tuple[Distancing, ...]:
    """Return a schedule, or raise unless every entry begins after the previous one."""
    days = [entry.from_day for entry in schedule]
    if any(later <= earlier for earlier, later in pairwise(days)):
        raise ValueError("every entry must begin after the previous one")
    return schedule
