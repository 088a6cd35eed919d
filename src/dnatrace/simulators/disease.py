"""The disease: how it is transmitted by a contact, and the course it takes in a person.

Infection follows the Sellke construction (Sellke 1983): each person has one tolerance, drawn once
from Exp(1), and is infected on the day their accumulated hazard exceeds it. The chance on a day
given no infection before is then 1 - exp(-hazard of the day), and two runs that differ in one
decision differ only in what follows from it. A tolerance is stored divided by the person's hazard
scale, so that it can be compared with their exposure: the emissions received since the first day.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from dnatrace.errors import InputError, require_share
from dnatrace.gamma import Gamma
from dnatrace.records import DayContacts
from dnatrace.rng import Stream
from dnatrace.settings import NotNegative, Settings, Share, setting
from dnatrace.simulators import _course_kernels, _kernels
from dnatrace.simulators.base import (
    AGE_TYPES,
    MEETS_NOBODY,
    N_AGE_GROUPS,
    N_STATES,
    CourseState,
)
from dnatrace.simulators.times import TimesSettings

_AGES = Field(min_length=N_AGE_GROUPS, max_length=N_AGE_GROUPS)
SharesByAge = Annotated[tuple[Share, ...], _AGES]
AtLeastOne = Annotated[float, Field(ge=1.0)]
MeanAndSd = tuple[AtLeastOne, Annotated[float, Field(ge=1e-3)]]
FirstInfected = int | Sequence[int] | NDArray[Any]

# Settings of the simulators in which this disease spreads.
Transmissibility = NotNegative
TRANSMISSIBILITY: Any = setting(
    1.0, "of the disease itself: factor on the published infectious rate"
)

_NO_KINDS = np.empty(0, dtype=np.uint8)
_TAIL = 1e-12  # the tail of a gamma distribution that a table of days leaves out


class DiseaseParameters(Settings):
    """Parameters of transmission and course; fractions by age group, times in days.

    All defaults are those of the baseline parameters of OpenABM-Covid19, April 2020 (Hinch et al.
    2021, PLoS Computational Biology 17(7), and its parameter dictionary, which names the clinical
    source of each); the name there is given after each value. `reference_data/parameters.csv` holds
    them.

    Attributes:
        infectious_rate: mean number of people a severe case would infect among adults of
            susceptibility 1.
        infectious_period: mean and sd of the gamma curve of infectiousness.
        mild_factor: infectiousness of mild cases relative to severe ones.
        asymptomatic_factor: the same for cases without symptoms.
        kind_weights: transmission by kind of contact: household, occupation, random.
        susceptibilities: relative susceptibility.
        asymptomatic_fractions: shares of the infected who are asymptomatic.
        mild_fractions: shares of the infected who are mild; the rest are severe.
        hospitalised_fractions: shares of severe cases who are hospitalised.
        critical_fractions: shares of hospitalised cases who become critical.
        intensive_care_fractions: shares of critical cases who find a place in intensive care; the
            others die.
        fatality_fractions: shares of cases in intensive care who die.
        time_to_symptoms: from infection, mean and sd.
        time_to_hospital: from symptoms, mean; the two nearest whole numbers.
        time_to_critical: from hospital, mean; the two nearest whole numbers.
        time_to_death: from intensive care, mean and sd.
        time_to_recovery: from symptoms, mean and sd.
        asymptomatic_to_recovery: from infection, mean and sd.
        hospital_to_recovery: from hospital or from the end of intensive care, mean and sd.
        critical_to_survival: from intensive care to hospital again, mean and sd.
    """

    infectious_rate: NotNegative = 5.75  # infectious_rate
    infectious_period: MeanAndSd = (6.0, 2.5)  # mean_, sd_infectious_period
    mild_factor: NotNegative = 0.48  # mild_infectious_factor
    asymptomatic_factor: NotNegative = 0.29  # asymptomatic_infectious_factor
    kind_weights: tuple[NotNegative, NotNegative, NotNegative] = (
        2.0,
        1.0,
        1.0,
    )  # relative_transmission_*
    # relative_susceptibility_*
    susceptibilities: Annotated[tuple[NotNegative, ...], _AGES] = (
        0.71,
        0.74,
        0.79,
        0.87,
        0.98,
        1.11,
        1.26,
        1.45,
        1.66,
    )
    asymptomatic_fractions: SharesByAge = (0.18,) * N_AGE_GROUPS  # fraction_asymptomatic_*
    # mild_fraction_*
    mild_fractions: SharesByAge = (0.79, 0.79, 0.73, 0.68, 0.65, 0.59, 0.53, 0.41, 0.27)
    # hospitalised_fraction_*
    hospitalised_fractions: SharesByAge = (
        0.01, 0.0267, 0.0367, 0.0633, 0.08, 0.12, 0.1533, 0.16, 0.1367,
    )  # fmt: skip
    # critical_fraction_*
    critical_fractions: SharesByAge = (0.05, 0.05, 0.05, 0.05, 0.063, 0.122, 0.274, 0.432, 0.709)
    intensive_care_fractions: SharesByAge = (1.0,) * 8 + (0.5,)  # icu_allocation_*
    # fatality_fraction_*
    fatality_fractions: SharesByAge = (0.33, 0.25, 0.5, 0.5, 0.5, 0.69, 0.65, 0.88, 1.0)
    time_to_symptoms: MeanAndSd = (6.0, 2.5)  # mean_, sd_time_to_symptoms
    time_to_hospital: AtLeastOne = 5.14  # mean_time_to_hospital
    time_to_critical: AtLeastOne = 2.5  # mean_time_to_critical
    time_to_death: MeanAndSd = (6.0, 2.0)  # mean_, sd_time_to_death
    time_to_recovery: MeanAndSd = (12.0, 5.0)  # mean_, sd_time_to_recover
    asymptomatic_to_recovery: MeanAndSd = (15.0, 5.0)  # mean_, sd_asymptomatic_to_recovery
    hospital_to_recovery: MeanAndSd = (8.0, 3.0)  # mean_, sd_time_hospitalised_recovery
    critical_to_survival: MeanAndSd = (4.0, 2.0)  # mean_, sd_time_critical_survive

    @model_validator(mode="after")
    def _courses_are_shares(self) -> Self:
        for both in zip(self.asymptomatic_fractions, self.mild_fractions, strict=True):
            require_share("the sum of asymptomatic and mild fractions", sum(both))
        return self

    def _gamma_times(self) -> dict[str, MeanAndSd]:
        fields = type(self).model_fields
        names = (n for n in fields if "_to_" in n or n == "infectious_period")
        times = {name: getattr(self, name) for name in names}
        return {name: time for name, time in times.items() if isinstance(time, tuple)}

    def fractions(self) -> NDArray[np.float64]:
        """Return the fractions in the order of the kernels: float64 [fractions, age groups]."""
        return np.array(
            [
                self.asymptomatic_fractions,
                self.mild_fractions,
                self.hospitalised_fractions,
                self.critical_fractions,
                self.fatality_fractions,
                self.intensive_care_fractions,
            ]
        )

    def times(self) -> NDArray[np.float64]:
        """Return P(time ≤ 1, 2, … days) in the order of the kernels: float64 [times, days]."""
        whole = (self.time_to_hospital, self.time_to_critical)
        longest = max(*map(_last_day, self._gamma_times().values()), *(int(m) + 1 for m in whole))
        days = np.arange(1, longest + 1)
        return np.array(
            [
                _rounded_gamma(self.time_to_symptoms, days),
                _two_nearest(self.time_to_hospital, days),
                _two_nearest(self.time_to_critical, days),
                _rounded_gamma(self.time_to_death, days),
                _rounded_gamma(self.time_to_recovery, days),
                _rounded_gamma(self.asymptomatic_to_recovery, days),
                _rounded_gamma(self.hospital_to_recovery, days),
                _rounded_gamma(self.critical_to_survival, days),
            ]
        )

    def infectious_mass(self) -> NDArray[np.float64]:
        """Return the share of infectiousness on day 0, 1, … since infection: float64 [days].

        Day d has the mass of the gamma curve between d-1 and d; the day of infection has none.
        """
        edges = np.arange(_last_day(self.infectious_period) + 1, dtype=np.float64)
        mass = np.diff(Gamma.of(*self.infectious_period).cdf(edges), prepend=0.0)
        return np.asarray(mass / mass.sum())

    def course_factors(self) -> NDArray[np.float64]:
        """Return the relative infectiousness by state: float64 [states]."""
        factors = np.ones(N_STATES)
        factors[[CourseState.UNINFECTED, CourseState.RECOVERED, CourseState.DEATH]] = 0.0
        factors[[CourseState.PRESYMPTOMATIC_MILD, CourseState.SYMPTOMATIC_MILD]] = self.mild_factor
        factors[CourseState.ASYMPTOMATIC] = self.asymptomatic_factor
        return factors

    def hazard_scales(self, mean_contacts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return R · S_age / Ī_age, the hazard of one unit of exposure: float64 [age groups].

        Args:
            mean_contacts: float64 [age types, kinds], the daily contacts of a child, an adult and
                an elderly person. Ī weights them by `kind_weights`; a type without contacts gets 0.
        """
        weighted = (mean_contacts @ np.array(self.kind_weights))[AGE_TYPES]
        scales = np.zeros(N_AGE_GROUPS)
        np.divide(
            self.infectious_rate * np.array(self.susceptibilities),
            weighted,
            out=scales,
            where=weighted > 0,
        )
        return scales


def of_transmissibility(factor: float) -> DiseaseParameters:
    """Return the published figures with the infectious rate times a factor."""
    return DiseaseParameters(infectious_rate=factor * DiseaseParameters().infectious_rate)


class Disease:
    """The disease in one population: who is in which state, and how the next day changes that.

    Draws are addressed by person (tolerance, who is infected first) and by (person, state) for
    the course, so that adding a person affects nobody else and a person's course is the same
    whenever they are infected.
    """

    def __init__(
        self,
        *,
        age_groups: NDArray[np.uint8],
        mean_contacts: NDArray[np.float64],
        seed: int,
        initially_infected: FirstInfected,
        parameters: DiseaseParameters,
        times: TimesSettings | None = None,
    ) -> None:
        n_people = age_groups.size
        people = np.arange(n_people)
        self._age_groups = age_groups
        self._course_key = Stream(seed, "disease/course").key
        self._fractions = parameters.fractions()
        self._times = parameters.times()
        self._mass = parameters.infectious_mass()
        self._course_factors = parameters.course_factors()
        self._kind_weights = np.array(parameters.kind_weights)
        scales = parameters.hazard_scales(mean_contacts)[age_groups]
        draws = -np.log(Stream(seed, "disease/tolerance").uniform(people))
        self._tolerance = np.full(n_people, np.inf)
        np.divide(draws, scales, out=self._tolerance, where=scales > 0)
        self._exposure = np.zeros(n_people)
        self.states: NDArray[np.uint8] = np.zeros(n_people, dtype=np.uint8)
        self.infected_on: NDArray[np.int32] = np.full(n_people, -1, dtype=np.int32)
        self.imported: int = 0  # infected from outside on the last day
        self._next_states = np.zeros(n_people, dtype=np.uint8)
        self._change_days = np.full(n_people, _course_kernels.NEVER, dtype=np.int32)
        self.times = times.build(age_groups, seed) if times is not None else None
        if self.times is not None:
            self._tolerance = self.times.tolerances(self._tolerance)
        self._tolerance[_first_infected(initially_infected, n_people, seed)] = -1.0
        self._tolerance_reached(day=0)

    def presence(
        self, isolated: NDArray[np.bool_], *, isolation_keeps_household: bool
    ) -> NDArray[np.uint8]:
        """Return where each person can be met today, in the codes of the kernels."""
        away = _kernels.AT_HOME_ONLY if isolation_keeps_household else _kernels.NOWHERE
        presence = np.where(isolated, np.uint8(away), np.uint8(_kernels.EVERYWHERE))
        presence[MEETS_NOBODY[self.states]] = _kernels.NOWHERE
        return presence

    def spread(self, contacts: DayContacts, day: int) -> None:
        """Pass the disease over the contacts of `day`, then change the states due that day."""
        emitted = _course_kernels.emissions(
            day, self.states, self.infected_on, self._course_factors, self._mass
        )
        if self.times is not None:
            emitted = self.times.emissions(emitted, day)
            susceptible = self.states == CourseState.UNINFECTED
            arrivals = self.times.arrivals(susceptible, day)
            self._tolerance[arrivals] = -1.0
            self.imported = arrivals.size
        self._expose(contacts, emitted, self._exposure)
        if self.times is None or not self.times.has_variant.any():
            self._tolerance_reached(day)
            return
        met, met_variant = np.zeros((2, emitted.size))
        self._expose(contacts, emitted, met)
        self._expose(contacts, emitted * self.times.has_variant, met_variant)
        self._tolerance_reached(day)
        infected = np.flatnonzero((self.infected_on == day) & (met > 0.0))
        self.times.inherit(infected, met_variant[infected] / met[infected], day)

    def changing(self) -> dict[str, NDArray[Any]]:
        """Return what changes from day to day, by name; the arrays themselves, not copies."""
        arrays: dict[str, NDArray[Any]] = {
            "states": self.states,
            "infected_on": self.infected_on,
            "exposure": self._exposure,
            "tolerance": self._tolerance,
            "next_states": self._next_states,
            "change_days": self._change_days,
        }
        return arrays if self.times is None else arrays | {"variant": self.times.has_variant}

    def _expose(
        self, contacts: DayContacts, emitted: NDArray[np.float64], exposure: NDArray[np.float64]
    ) -> None:
        """Add what the uninfected receive from their contacts to an exposure, in place."""
        _course_kernels.expose(
            contacts.offsets,
            contacts.senders,
            _NO_KINDS if contacts.kinds is None else contacts.kinds,
            emitted,
            self._kind_weights,
            self.states,
            exposure,
        )

    def _tolerance_reached(self, day: int) -> None:
        _course_kernels.move_on(
            self._course_key,
            day,
            self._exposure,
            self._tolerance,
            self._age_groups,
            self._fractions,
            self._times,
            self.states,
            self._next_states,
            self._change_days,
            self.infected_on,
        )


def _first_infected(which: FirstInfected, n_people: int, seed: int) -> NDArray[np.int64]:
    if isinstance(which, int | np.integer):
        if not 0 <= which <= n_people:
            raise InputError(f"initially_infected must be between 0 and {n_people}, not {which}")
        draws = Stream(seed, "disease/first-infected").uniform(np.arange(n_people))
        return np.argsort(draws, kind="stable")[:which]
    people = np.asarray(which, dtype=np.int64)
    if people.ndim != 1 or (people.size and not 0 <= people.min() <= people.max() < n_people):
        raise InputError(f"initially_infected must be ids in 0 … {n_people - 1}")
    return people


def _last_day(time: MeanAndSd) -> int:
    return int(np.ceil(Gamma.of(*time).isf(_TAIL)))


def _rounded_gamma(time: MeanAndSd, days: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return P(time ≤ days) of a gamma time rounded to whole days, at least one."""
    cumulative = np.asarray(Gamma.of(*time).cdf(days + 0.5))
    cumulative[-1] = 1.0
    return cumulative


def _two_nearest(mean: float, days: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return P(time ≤ days) of a time that takes the two whole numbers nearest to its mean."""
    lower = np.floor(mean)
    return np.where(days < lower, 0.0, np.where(days > lower, 1.0, 1.0 - (mean - lower)))
