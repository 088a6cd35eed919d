"""Settings shared by the methods over days of infection, and the score they release."""

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dnatrace.inference.course import CourseParameters
from dnatrace.inference.infection_times import infected_within
from dnatrace.methods.base import MethodSettings, PublicFacts
from dnatrace.settings import Share, setting

Floats = NDArray[np.float64]
LEAST_OUTSIDE = 1e-6  # smallest learned p0: an infection may always come from elsewhere
OUTSIDE_SHARE = setting(
    0.0,
    "share of the infections found by tests of the window that is attributed to the "
    "outside: infection from outside is then learned; 0 takes it as set",
)

ContactsPower = Annotated[float, Field(ge=0.0, le=10.0)]
CONTACTS_POWER = setting(
    0.0,
    "scores are multiplied by own contacts per day to this power: who meets more passes on more; a "
    "score is a probability if this is 0",
)


class InfectionTimeSettings(MethodSettings, CourseParameters):
    """A method that infers on which day each person was infected."""

    reads_transmission: ClassVar[bool] = False
    reads_model: ClassVar[bool] = False
    infected_within: Annotated[int, Field(ge=1, le=42, strict=True)] = setting(
        7,
        "the score is the probability of an infection within this many days, still infectious",
        source="Baker et al. 2021 rank by the last 7 days",
    )
    outside_share: Share = OUTSIDE_SHARE
    contacts_power: ContactsPower = CONTACTS_POWER
    infected_at_first: Share | None = setting(
        None,
        "what phones believe: share of people infected on the day before the first; if absent, as "
        "on other days",
    )

    def course(self, public: PublicFacts) -> CourseParameters:
        """Return the course as phones believe it today."""
        values = {name: getattr(self, name) for name in CourseParameters.model_fields}
        if self.outside_share > 0.0:
            values["p0"] = self.outside_share * found_per_person_day(public)
        return CourseParameters(**values)

    def score(self, posterior: Floats, public: PublicFacts) -> Floats:
        """Return what ranks people."""
        risk = infected_within(posterior, self.infected_within)
        return times_contacts(risk, public, self.contacts_power)


def times_contacts(risk: Floats, public: PublicFacts, power: float) -> Floats:
    """Return risks times own contacts per day (over days with any) to a power; mean factor 1."""
    if power == 0.0:
        return risk
    days = np.maximum((public.counts > 0).sum(axis=0), 1)
    factors = (public.counts.sum(axis=0) / days) ** power
    return np.asarray(risk * factors / max(float(factors.mean()), np.finfo(float).tiny))


def found_per_person_day(public: PublicFacts) -> float:
    """Return how many infections tests found per person and day of the window.

    It is computed from the numbers of tests and of positives alone; expected errors are subtracted.
    """
    tests = int((public.outcomes >= 0).sum())
    positives = int((public.outcomes == 1).sum())
    errors = public.test_errors
    told_apart = 1.0 - errors.false_positive_rate - errors.false_negative_rate
    excess = positives - errors.false_positive_rate * tests
    if told_apart <= 0.0 or public.outcomes.size == 0:
        return LEAST_OUTSIDE
    return min(max(excess / told_apart / public.outcomes.size, LEAST_OUTSIDE), 1.0)
