"""Measure a run: one row per day, a summary, and the burden by age and household size."""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.gamma import Gamma
from dnatrace.seir import State
from dnatrace.simulators.base import (
    N_AGE_GROUPS,
    SEIR_OF_COURSE,
    CourseState,
    Simulator,
    imported_of,
)
from dnatrace.tracing import DayLog

# Generation time of the city's disease, days: the gamma of infectiousness by age of infection.
GENERATION_MEAN, GENERATION_SD = 6.0, 2.5
BYTES_PER_MESSAGE = 4  # 32 bits; see docs/outputs.md
MOST_HOUSEHOLD = 6


def area_under_roc(scores: NDArray[Any], positive: NDArray[np.bool_]) -> float | None:
    """Return P(a positive scores above a negative), ties counting half; None if either is missing.

    Cost: O(n log n).
    """
    mine, others = scores[positive], np.sort(scores[~positive])
    if mine.size == 0 or others.size == 0:
        return None
    below = np.searchsorted(others, mine, side="left")
    not_above = np.searchsorted(others, mine, side="right")
    return float((below + not_above).sum() / (2.0 * mine.size * others.size))


def average_precision(scores: NDArray[Any], positive: NDArray[np.bool_]) -> float | None:
    """Return the mean, over positives, of the precision among all who score at least as high."""
    mine, everybody = np.sort(scores[positive]), np.sort(scores)
    if mine.size == 0:
        return None
    positives_at_least = mine.size - np.searchsorted(mine, mine, side="left")
    people_at_least = everybody.size - np.searchsorted(everybody, mine, side="left")
    return float((positives_at_least / people_at_least).mean())


def reproduction_numbers(
    new_infections: NDArray[Any], first: int, imported: NDArray[Any] | float = 0.0
) -> NDArray[np.float64]:
    """Return the instantaneous reproduction number by day, NaN while nobody could transmit.

    Args:
        new_infections: new infections per day, from day 1 on.
        first: how many were infected on day 0.
        imported: how many of the new infections came from outside, per day. They transmit like all
            others, and nobody here infected them.

    Reference: Cori et al. 2013, equation 1 without smoothing, with the gamma generation time;
    Thompson et al. 2019 for imported cases.
    """
    shape = (GENERATION_MEAN / GENERATION_SD) ** 2
    generation = Gamma(shape, GENERATION_MEAN / shape)
    n = new_infections.size
    weights = np.diff(generation.cdf(np.arange(n + 1)))
    infections = np.concatenate([[first], new_infections])
    pressure = np.array([infections[:t][::-1] @ weights[:t] for t in range(1, n + 1)])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(pressure > 0, (new_infections - imported) / pressure, np.nan)


class Meter:
    """Collects what happens in a run, one day at a time, and returns the tables.

    Cost: O(people) per day, and two sorts of the scores.
    """

    def __init__(self, *, simulator: Simulator, most_tests: int) -> None:
        self._simulator, self._most_tests = simulator, most_tests
        n = simulator.n_people
        self._rows: list[dict[str, Any]] = []
        self._seconds: dict[str, float] = {}
        self.seconds_before: float = 0.0  # of a run that resumes, up to its checkpoint
        self._tests, self._isolated_days, self._isolated_days_uninfected = np.zeros(
            (3, n), np.int32
        )
        self._quarantined_days, self._quarantined_days_uninfected = np.zeros((2, n), np.int32)
        self._found_on, self._isolated_on = np.full((2, n), -1, dtype=np.int32)
        self._n_first = self._n_infected_before = int((simulator.infected_on >= 0).sum())

    def observe(self, log: DayLog) -> dict[str, Any]:
        """Take in one day and return its row."""
        start = time.perf_counter()
        seir = SEIR_OF_COURSE[log.states]
        exposed, infected = seir == State.E, seir == State.I
        exposed_or_infected = exposed | infected
        quarantined = log.measures.quarantined & log.isolated
        self._note_people(log, exposed_or_infected)
        counts = np.bincount(log.states, minlength=len(CourseState))
        ever = self._simulator.n_people - int(counts[CourseState.UNINFECTED])
        row = {"day": log.day}
        row |= {state.name.lower(): int(counts[state]) for state in CourseState}
        row |= {
            "exposed": int(exposed.sum()),
            "infected": int(infected.sum()),
            "infected_with_asymptomatic": int(counts[3:8].sum()),  # states 3–7
            # New infections count everybody who left S, so E, too, whereas `infected` is I alone.
            "new_infections": ever - self._n_infected_before,
            "imported_infections": imported_of(self._simulator),
            "ever_infected": ever,
            "contacts": int(log.contacts.senders.size),
            "messages_in_window": int(log.public.counts.sum()),
            "tests": int(log.tested.size),
            "positives": int(log.results.sum()),
            # Among people in E or I, whatever `tests.detects` says.
            "true_positives": int((log.results & exposed_or_infected[log.tested]).sum()),
            "isolated": int(log.isolated.sum()),
            "isolated_exposed_or_infected": int((log.isolated & exposed_or_infected).sum()),
            "quarantined": int(quarantined.sum()),
            "quarantined_exposed_or_infected": int((quarantined & exposed_or_infected).sum()),
            "notices": log.measures.notices,
        }
        self._n_infected_before = ever
        self._rows.append(row | self._score_quality(log, exposed_or_infected))
        own = {"measure": time.perf_counter() - start}
        for phase, seconds in (log.seconds | own).items():
            self._seconds[phase] = self._seconds.get(phase, 0.0) + seconds
        return self._rows[-1]

    def _note_people(self, log: DayLog, exposed_or_infected: NDArray[np.bool_]) -> None:
        self._tests[log.tested] += 1
        self._isolated_days += log.isolated
        self._isolated_days_uninfected += log.isolated & ~exposed_or_infected
        quarantined = log.measures.quarantined & log.isolated
        self._quarantined_days += quarantined
        self._quarantined_days_uninfected += quarantined & ~exposed_or_infected
        found = log.tested[log.results & exposed_or_infected[log.tested]]
        self._found_on[found] = np.where(self._found_on[found] < 0, log.day, self._found_on[found])
        first = log.isolated & exposed_or_infected & (self._isolated_on < 0)
        self._isolated_on[first] = log.day

    def _score_quality(
        self, log: DayLog, exposed_or_infected: NDArray[np.bool_]
    ) -> dict[str, float | None]:
        """Return how well today's scores find E or I among people alive, scored and not isolated.

        People who wait for a test or its result are included, although a policy leaves them out.
        """
        scores = log.released.scores
        ranked = ~log.isolated & ~np.isnan(scores) & (log.states != CourseState.DEATH)
        values, positive = scores[ranked], exposed_or_infected[ranked]
        top = min(self._most_tests, values.size)
        hits = None
        if top and positive.any():
            threshold = np.partition(values, values.size - top)[values.size - top]
            above, level = values > threshold, values == threshold
            share = (top - above.sum()) / level.sum()  # of the people tied at the threshold
            hits = float(positive[above].sum() + share * positive[level].sum())
        a_probability = values.size > 0 and values.min() >= 0.0 and values.max() <= 1.0
        return {
            "auroc": area_under_roc(values, positive),
            "average_precision": average_precision(values, positive),
            "precision_at_capacity": hits / top if hits is not None else None,
            "recall_at_capacity": hits / int(positive.sum()) if hits is not None else None,
            "mean_score_over_prevalence": float(values.mean() / positive.mean())
            if a_probability and positive.any()
            else None,
        }

    def state(self, seconds: float = 0.0) -> dict[str, Any]:
        """Return what has been collected so far, in `seconds` of this process."""
        collected = {name: value for name, value in vars(self).items() if name != "_simulator"}
        return collected | {"seconds_before": self.seconds_before + seconds}

    def resume(self, state: dict[str, Any]) -> None:
        """Continue from what was collected before."""
        vars(self).update(state)

    def daily(self) -> dict[str, list[Any]]:
        """Return the series by column, one value per day."""
        columns = {key: [row[key] for row in self._rows] for key in self._rows[0]}
        new, imported = (
            np.array(columns[f"{kind}_infections"], np.float64) for kind in ("new", "imported")
        )
        rt = reproduction_numbers(new, self._n_first, imported)
        columns["reproduction_number"] = [float(v) if np.isfinite(v) else None for v in rt]
        return columns

    def seconds(self) -> dict[str, float]:
        """Return the time spent by phase."""
        return dict(self._seconds)

    def summary(self) -> dict[str, Any]:
        """Return one number per measure; shares are fractions of the population.

        `…_uninfected` means neither in E nor in I, so it includes recovered people.
        """
        n = self._simulator.n_people
        series = {k: np.array(v, dtype=np.float64) for k, v in self.daily().items()}
        infected, isolated = series["infected"], series["isolated"].sum()
        exposed_or_infected = series["exposed"] + infected
        rightly_isolated = series["isolated_exposed_or_infected"].sum()
        tests, found = series["tests"].sum(), series["true_positives"].sum()
        infected_on = self._simulator.infected_on
        return {
            "peak_infected": float(infected.max() / n),
            "peak_infected_with_asymptomatic": float(
                series["infected_with_asymptomatic"].max() / n
            ),
            "peak_exposed_or_infected": float(exposed_or_infected.max() / n),
            "day_of_peak": int(series["day"][infected.argmax()]) if infected.any() else None,
            "peak_reached": infected.size < 2 or int(infected.argmax()) < infected.size - 1,
            "attack_rate": float(series["ever_infected"][-1] / n),
            "deaths": float(series["death"][-1] / n),
            "peak_hospitalised": float(series["hospitalised"].max() / n),
            "peak_critical": float(series["critical"].max() / n),
            "tests_used": int(tests),
            "positivity": _ratio(series["positives"].sum(), tests),
            "tests_per_infection_found": _ratio(tests, found),
            "isolation_person_days": int(isolated),
            "isolation_person_days_uninfected": int(isolated - rightly_isolated),
            "quarantine_person_days": int(series["quarantined"].sum()),
            "quarantine_person_days_uninfected": int(
                (series["quarantined"] - series["quarantined_exposed_or_infected"]).sum()
            ),
            "notices": int(series["notices"].sum()),
            "isolation_precision": _ratio(rightly_isolated, isolated),
            "isolation_recall": _ratio(rightly_isolated, exposed_or_infected.sum()),
            "days_infection_to_positive_test": _mean_delay(infected_on, self._found_on),
            "days_infection_to_isolation": _mean_delay(infected_on, self._isolated_on),
            "auroc": _mean(series["auroc"]),
            "average_precision": _mean(series["average_precision"]),
            "precision_at_capacity": _mean(series["precision_at_capacity"]),
            # Every message of the window is sent once per day; the mean is over people without the
            # app, too.
            "message_bytes_per_person_day": float(
                series["messages_in_window"].mean() / n * BYTES_PER_MESSAGE
            ),
        }

    def groups(self) -> dict[str, list[Any]]:
        """Return attack rate and burden by age group and by household size.

        By column, as `daily`; a column has one value per group.
        """
        simulator = self._simulator
        households = np.bincount(simulator.households)[simulator.households]
        rows = []
        for age in range(N_AGE_GROUPS):
            label = f"{10 * age}-{10 * age + 9}" if age < N_AGE_GROUPS - 1 else f"{10 * age}+"
            rows.append(self._group("age", label, simulator.age_groups == age))
        for size in range(1, MOST_HOUSEHOLD + 1):
            last = size == MOST_HOUSEHOLD
            members = households >= size if last else households == size
            rows.append(self._group("household size", f"{size}+" if last else str(size), members))
        return {key: [row[key] for row in rows] for key in rows[0]}

    def _group(self, kind: str, label: str, members: NDArray[np.bool_]) -> dict[str, Any]:
        def mean(values: NDArray[Any]) -> float | None:
            return float(values[members].mean()) if members.any() else None

        return {
            "grouped_by": kind,
            "group": label,
            "people": int(members.sum()),
            "attack_rate": mean(self._simulator.infected_on >= 0),
            "deaths": mean(self._simulator.states == CourseState.DEATH),
            "tests_per_person": mean(self._tests),
            "isolation_days_per_person": mean(self._isolated_days),
            "isolation_days_uninfected_per_person": mean(self._isolated_days_uninfected),
            "quarantine_days_per_person": mean(self._quarantined_days),
            "quarantine_days_uninfected_per_person": mean(self._quarantined_days_uninfected),
        }


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(np.nanmean(values)) if np.isfinite(values).any() else None


def _mean_delay(start: NDArray[np.int32], end: NDArray[np.int32]) -> float | None:
    both = (start >= 0) & (end >= 0)
    return float((end - start)[both].mean()) if both.any() else None
