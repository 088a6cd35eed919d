"""Uncontrolled epidemics of the city, and the figures that are compared with the reference."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dnatrace.simulators.base import N_KINDS, N_STATES, CourseState
from dnatrace.simulators.city import City, CityParameters

N_PEOPLE = 10_000
N_DAYS = 120
CONTACT_DAYS = 100  # the reference pools the contacts of days 1 to 100
LAST_INFECTION = 45  # outcomes and times: people infected by this day
NEVER = np.int32(2**30)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """What one uncontrolled epidemic leaves behind.

    Attributes:
        age_groups: uint8 [people].
        household_sizes: int64 [7], households by size.
        shares: float64 [days + 1, states].
        entered: int32 [people, states], the first day in each state, -1 for never.
        contacts: int64 [people, kinds, 3], over the contact days: sum, sum of squares, days
            without any.
        window: float, mean contacts per person in 14 days.
        mean_contacts: float64 [age types, kinds].
    """

    age_groups: NDArray[np.uint8]
    household_sizes: NDArray[np.int64]
    shares: NDArray[np.float64]
    entered: NDArray[np.int32]
    contacts: NDArray[np.int64]
    window: float
    mean_contacts: NDArray[np.float64]


def measure(seed: int, parameters: CityParameters | None = None) -> Run:
    """Run one epidemic without interventions and keep what is compared."""
    n_people = N_PEOPLE
    city = City(n_people=n_people, seed=seed, initially_infected=5, parameters=parameters)
    entered = np.full((n_people, N_STATES), -1, dtype=np.int32)
    people = np.arange(n_people)
    states = city.states
    entered[people, states] = 0
    shares = [np.bincount(states, minlength=N_STATES) / n_people]
    contacts = np.zeros((n_people, N_KINDS, 3), dtype=np.int64)
    in_windows = 0
    for day in range(1, N_DAYS + 1):
        met = city.advance()
        states = city.states
        entered[people, states] = np.where(
            entered[people, states] < 0, day, entered[people, states]
        )
        shares.append(np.bincount(states, minlength=N_STATES) / n_people)
        in_windows += met.senders.size if day <= 28 else 0
        if day <= CONTACT_DAYS and met.kinds is not None:
            cells = met.receivers().astype(np.int64) * N_KINDS + met.kinds
            counts = np.bincount(cells, minlength=n_people * N_KINDS).reshape(n_people, N_KINDS)
            contacts += np.stack([counts, counts**2, counts == 0], axis=2)
    return Run(
        age_groups=city.age_groups,
        household_sizes=np.bincount(np.bincount(city.households), minlength=7),
        shares=np.array(shares),
        entered=entered,
        contacts=contacts,
        window=in_windows / 2 / n_people,
        mean_contacts=city.population.mean_contacts,
    )


def days_of_infection(entered: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the day on which people were infected; `NEVER` for those who were not."""
    infected = entered[:, CourseState.PRESYMPTOMATIC : CourseState.ASYMPTOMATIC + 1]
    return np.where(infected >= 0, infected, NEVER).min(axis=1)


def times_between_states(entered: NDArray[np.int32]) -> dict[str, NDArray[np.int32]]:
    """Return the days between states of people infected early, by the names of the reference."""
    first = days_of_infection(entered)
    early = first <= LAST_INFECTION
    on = {state: entered[early, state] for state in CourseState}
    start, recovered = first[early], on[CourseState.RECOVERED]
    severe, mild = on[CourseState.SYMPTOMATIC], on[CourseState.SYMPTOMATIC_MILD]
    hospital, critical = on[CourseState.HOSPITALISED], on[CourseState.CRITICAL]
    again, death = on[CourseState.HOSPITALISED_RECOVERING], on[CourseState.DEATH]
    silent = on[CourseState.ASYMPTOMATIC]
    never = np.int32(-1)
    home = np.where(hospital < 0, recovered, never)
    ward = np.where(critical < 0, recovered, never)
    spans = {
        "infection_to_symptomatic": (start, severe),
        "infection_to_symptomatic_mild": (start, mild),
        "infection_to_hospitalised": (start, hospital),
        "infection_to_critical": (start, critical),
        "infection_to_hospitalised_recovering": (start, again),
        "infection_to_death": (start, death),
        "infection_to_recovered_asymptomatic": (silent, recovered),
        "infection_to_recovered_mild": (np.where(mild >= 0, start, never), recovered),
        "infection_to_recovered_severe_not_hospitalised": (
            np.where(severe >= 0, start, never),
            home,
        ),
        "infection_to_recovered_hospitalised": (np.where(hospital >= 0, start, never), recovered),
        "infection_to_recovered_all": (start, recovered),
        "symptomatic_to_hospitalised": (severe, hospital),
        "hospitalised_to_critical": (hospital, critical),
        "critical_to_death": (critical, death),
        "critical_to_hospitalised_recovering": (critical, again),
        "hospitalised_recovering_to_recovered": (again, recovered),
        "symptomatic_mild_to_recovered": (mild, recovered),
        "symptomatic_to_recovered_not_hospitalised": (severe, home),
        "hospitalised_to_recovered_not_critical": (hospital, ward),
    }
    return {name: (b - a)[(a >= 0) & (b >= 0)] for name, (a, b) in spans.items()}
