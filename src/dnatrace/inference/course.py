"""The course of an infection by its age in days: how it passes on, how long tests find it.

This is what phones believe, the same for everybody, from published figures: a curve of
infectiousness (the generation time), the time to symptoms and the time to recovery. Instead of four
states with fixed rates, a person has one unknown, the day of infection.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dnatrace.errors import require_at_least, require_whole_given
from dnatrace.gamma import Gamma
from dnatrace.seir import LIKELIHOOD_FLOOR, TestErrors
from dnatrace.settings import Settings, Share, setting

Floats = NDArray[np.float64]
DaysLong = Annotated[float, Field(gt=0.0, le=100.0)]
Relative = Annotated[float, Field(ge=0.0, le=100.0)]

N_AGE_GROUPS = 9  # decades, as everywhere
ByAge = Annotated[tuple[Relative, ...], Field(min_length=N_AGE_GROUPS, max_length=N_AGE_GROUPS)]
REACH = 14  # days after which an infection is no longer passed on: 99.4 % lie before
OLD_DAYS = 28  # days before the window on which infections are distinguished
MOST_TRANSMISSION = 1.0 - 1e-6  # of one contact: certainty would make evidence impossible
EQUAL_AGES = (1.0,) * N_AGE_GROUPS
_OPENABM = "OpenABM-Covid19, baseline parameters of April 2020"


class CourseParameters(Settings):
    """What phones believe about the course of the infection."""

    p0: Share = setting(
        1e-5,
        "what phones believe: infection from outside the known contacts, per day",
        source="docs/results/inference.md",
        called="infection_from_outside",
    )
    transmission: Annotated[float, Field(ge=0.0, le=1000.0)] = setting(
        0.2,
        "what phones believe: hazard of meeting an infected person once on each day of the "
        "infection",
        source=f"{_OPENABM}: infectious_rate, mean over courses, divided by daily contacts",
    )
    generation_mean: DaysLong = setting(
        6.0, "days from infection to passing it on, mean", source=_OPENABM
    )
    generation_sd: DaysLong = setting(
        2.5, "days from infection to passing it on, standard deviation", source=_OPENABM
    )
    onset_mean: DaysLong = setting(6.0, "days from infection to symptoms, mean", source=_OPENABM)
    onset_sd: DaysLong = setting(
        2.5, "days from infection to symptoms, standard deviation", source=_OPENABM
    )
    recovery_mean: DaysLong = setting(
        17.5, "days from infection to recovery, while tests find it, mean", source=_OPENABM
    )
    recovery_sd: DaysLong = setting(
        5.5, "days from infection to recovery, standard deviation", source=_OPENABM
    )
    susceptibility: ByAge = setting(
        EQUAL_AGES,
        "factor on the hazard of a contact by age group of the receiver, nine numbers",
        called="susceptibility_by_age",
    )

    @property
    def infectiousness(self) -> Floats:
        """Hazard of one contact by age of the sender's infection: float64 [REACH + 1].

        Age 0, the day of infection, has none. The part of the curve after REACH days is left out.
        """
        curve = Gamma.of(self.generation_mean, self.generation_sd)
        mass = np.diff(curve.cdf(np.arange(REACH + 1)), prepend=0.0)
        return np.asarray(self.transmission * mass)

    @property
    def hazards_by_age_group(self) -> Floats:
        """`infectiousness` times susceptibility: float64 [age groups, REACH + 1]."""
        return np.outer(self.susceptibility, self.infectiousness)

    @property
    def transmissions(self) -> Floats:
        """Probability that one contact infects: float64 [age groups, REACH + 1]."""
        return np.minimum(-np.expm1(-self.hazards_by_age_group), MOST_TRANSMISSION)

    def still_found(self, most_age: int) -> Floats:
        """P(not recovered at the end of the day of age 0, 1, …): float64 [most_age + 1]."""
        ages = _ends_of_days(most_age)
        return np.asarray(Gamma.of(self.recovery_mean, self.recovery_sd).sf(ages))

    def before_onset(self, most_age: int) -> Floats:
        """P(no symptoms yet at the end of the day of age 0, 1, …): float64 [most_age + 1]."""
        ages = _ends_of_days(most_age)
        return np.asarray(Gamma.of(self.onset_mean, self.onset_sd).sf(ages))


def _ends_of_days(most_age: int) -> Floats:
    """Return the ends of the days of age 0, 1, …, most_age."""
    require_whole_given(most_age=most_age)
    require_at_least("most_age", most_age, 0)
    return np.arange(most_age + 1, dtype=np.float64) + 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tables:
    """What the kernels read about the course and about tests.

    Attributes:
        transmissions: float64 [age groups, REACH + 1].
        found: P(not recovered) by age, float64 [ages].
        likelihoods: the likelihoods of a negative and a positive test, given found or not: float64
            [2, 2], the first index 1 for positive, the second 1 for found.
        p0: infection from outside, per day.
    """

    transmissions: Floats
    found: Floats
    likelihoods: Floats
    p0: float


def tables(parameters: CourseParameters, test_errors: TestErrors, *, most_age: int) -> Tables:
    """Return the tables of a course, for ages up to `most_age`."""
    likelihoods = [[test_errors.likelihood(p, f) for f in (False, True)] for p in (False, True)]
    return Tables(
        transmissions=parameters.transmissions,
        found=parameters.still_found(most_age),
        likelihoods=np.maximum(np.array(likelihoods), LIKELIHOOD_FLOOR),
        p0=min(parameters.p0, MOST_TRANSMISSION),
    )
