"""From groups of runs to what the charts and tables show.

Every number over seeds is a mean with its 90 % Student-t interval and a median. Charts get plain
dictionaries, because they become JSON.
"""

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from dnatrace.errors import InputError
from dnatrace.report.grouping import Group
from dnatrace.runs.guarantees import scores_noised
from dnatrace.runs.quantities import (
    BURDENS,
    DAILY,
    EPSILONS,
    GROUPED,
    OUTCOMES,
    RESULTS,
    SUMMARY,
    Quantity,
    rounded,
)
from dnatrace.sweeps.naming import EPSILON, Names, short, written
from dnatrace.sweeps.spread import CONFIDENCE, ROUNDING

MOST_POINTS = 30_000  # of all curves together: about 400 kB
TABLE_DAYS = 12  # columns of a table of curves

# What a report calls robustness: how well people and tests keep to the plan.
ROBUSTNESS = (
    "isolation.adherence",
    "isolation.dropout",
    "tests.false_negative_rate",
    "tests.false_positive_rate",
    "tests.order_delay",
    "tests.result_delay",
    "app.adoption",
)
# Columns of the table on the terminal; the page has all of them.
DIFFERENCES = (SUMMARY["peak_infected"], SUMMARY["attack_rate"], SUMMARY["isolation_person_days"])
_MORE_IS_BETTER = ("isolation.adherence", "app.adoption")

# Mean, half-width and median, one of each per place: a day, or a class of people.
Columns = dict[str, list[float | None]]
Numbers = dict[str, float | None]


def over_seeds(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return mean, half-width and median of each column of [seeds, places], as `Spread` does.

    NaN is left out; undefined results (no values, or the interval of a single one) are NaN.
    """
    n = np.isfinite(values).sum(axis=0)
    least = ROUNDING * np.nanmax(np.abs(values), axis=0, initial=0.0)
    with warnings.catch_warnings(action="ignore"):  # about columns without values
        mean, median = np.nanmean(values, axis=0), np.nanmedian(values, axis=0)
        deviation = np.nanstd(values, axis=0, ddof=1)
        half = stdtrit(np.maximum(n - 1, 1), (1 + CONFIDENCE) / 2) * deviation / np.sqrt(n)
    half = np.where(half <= least, 0.0, half)
    return np.where(np.abs(mean) <= least, 0.0, mean), half, median


def _columns(by_seed: NDArray[np.float64]) -> Columns:
    """Return `over_seeds`, rounded, None where it is NaN."""
    found = zip(("mean", "half", "median"), over_seeds(by_seed), strict=True)
    return {name: [rounded(value) for value in values] for name, values in found}


def cell(columns: Columns, place: int) -> Numbers | None:
    """Return the numbers at one place; None when there are none."""
    if place >= len(columns["mean"]) or columns["mean"][place] is None:
        return None
    return {name: values[place] for name, values in columns.items()}


def _numbers(values: NDArray[np.float64]) -> Numbers | None:
    """Return the numbers for one value per seed; the half-width for a single seed is None."""
    return cell(_columns(values[:, np.newaxis]), 0)


def described(quantities: Iterable[Quantity]) -> list[dict[str, str]]:
    """Return what charts and tables call quantities."""
    return [{"key": q.key, "label": q.label, "unit": q.unit, "name": q.name} for q in quantities]


def _series(group: Group) -> dict[str, Any]:
    return {"label": group.label, "method": group.method, "plain": group.plain}


def results(groups: Sequence[Group]) -> dict[str, Any]:
    """Return one row per group with all numbers of the summary.

    `each` has them by seed, so that the page can pair any two groups; `quantiles` are those of
    Student's t for intervals of 2, 3, … seeds. Both are empty when there is only one group.
    """
    several = groups if len(groups) > 1 else ()
    most = max((len(group.runs) for group in several), default=1)
    return {
        "quantiles": [float(stdtrit(n, (1 + CONFIDENCE) / 2)) for n in range(1, most)],
        "quantities": described(RESULTS),
        "burdens": described(BURDENS),
        "outcomes": described(OUTCOMES),
        "rows": [
            _series(group)
            | {"seeds": len(group.runs), "rising": group.n_rising}
            | {"people": group.extent.people, "days": group.extent.days}
            | {"values": {q.key: _numbers(group.values(q)) for q in RESULTS}}
            | {"each": _each(group) if several else {}}
            for group in groups
        ],
    }


def _each(group: Group) -> dict[str, list[float | None]]:
    """Return the seeds and the numbers of each with all digits, for differences."""
    numbers: dict[str, list[float | None]] = {"seed": [run.seed for run in group.runs]}
    for quantity in RESULTS:
        values = group.values(quantity)
        numbers[quantity.key] = [float(v) if np.isfinite(v) else None for v in values]
    return numbers


def differences(groups: Sequence[Group], baseline: Group) -> list[dict[str, Any]]:
    """Return by how much the other groups exceed one, paired by seed: one row per group.

    Those of other length have no numbers: their differences are not those of policies.
    """
    alike = {group.label: group.extent.as_long_as(baseline.extent) for group in groups}
    return [
        {"label": group.label}
        | {
            q.key: _numbers(_paired_change(group, baseline, q)) if alike[group.label] else None
            for q in DIFFERENCES
        }
        for group in groups
        if group is not baseline
    ]


def curves(groups: Sequence[Group]) -> dict[str, Any]:
    """Return mean, half-width and median by day for every quantity and group.

    Days are thinned when there would be more than `MOST_POINTS` points; `step` says how much.
    """
    longest = max(len(run.daily["day"]) for group in groups for run in group.runs)
    step = max(1, math.ceil(len(groups) * longest * len(DAILY) / MOST_POINTS))
    return {
        "step": step,
        "quantities": described(DAILY),
        "series": [
            _series(group)
            | {"days": [int(day) for day in _days(group)[::step]]}
            | {"values": {q.key: _curve(group, q, step) for q in DAILY}}
            for group in groups
        ],
    }


def _days(group: Group) -> NDArray[np.float64]:
    first = group.runs[0].daily["day"]
    for run in group.runs[1:]:
        if not np.array_equal(run.daily["day"], first):
            raise InputError(f"{group.label}: runs of one setting have different days")
    return first


def _curve(group: Group, quantity: Quantity, step: int) -> Columns:
    by_seed = [
        quantity.in_unit(
            sum(run.daily[column][::step] for column in quantity.columns), run.summary["people"]
        )
        for run in group.runs
    ]
    return _columns(np.stack(by_seed))


def table_days(drawn: dict[str, Any]) -> dict[int, int]:
    """Return at most `TABLE_DAYS` days for a table of curves, by place in the longest curve."""
    days = max((series["days"] for series in drawn["series"]), key=len)
    places = sorted({round(place) for place in np.linspace(0, len(days) - 1, TABLE_DAYS)})
    return {place: days[place] for place in places}


def privacy_against_outcome(
    groups: Sequence[Group], names: Names, rows: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return outcomes by ε: one line per setting that has an ε, one level per setting without.

    `points` hold the readings of ε; an unbounded one is None and is not drawn, and an axis on which
    nothing would be drawn is not offered. `rows` are those of `results`.
    """
    series: dict[str, dict[str, Any]] = {}
    for group, row in zip(groups, rows, strict=True):
        if "noise" not in group.privacy:
            continue  # an older version did not record whether there was any
        private = scores_noised(group.privacy)
        label = names.label(group.settings, skip=(EPSILON,)) if private else group.label
        new = _series(group) | {"label": label, "private": private, "points": []}
        entry = series.setdefault(label, new)
        entry["plain"] |= group.plain
        entry["points"].append(
            {
                "label": group.label,
                "sound": group.privacy.get("sound") is True,
                "epsilons": {
                    q.key: group.privacy[q.key] if private or q.key != "epsilon" else None
                    for q in EPSILONS
                },
                "so_far": group.so_far,
                "values": {q.key: row["values"][q.key] for q in OUTCOMES},
            }
        )
    points = [point for entry in series.values() for point in entry["points"]]
    known = [q for q in EPSILONS if any(point["epsilons"][q.key] for point in points)]
    return {"axes": described(known or EPSILONS), "series": list(series.values())}


def burdens(groups: Sequence[Group]) -> dict[str, Any]:
    """Return who bore the burden: quantities by age group and household size for every group.

    A kind is the column `grouped_by` of the table of groups, a class its column `group`: `Group`
    means something else here, runs that differ in their seed. Values are by "kind/quantity", one
    per class. A class of people that is empty in a run does not count in the mean. `burdens` in
    `results` is something else: what the chart of days at home against the peak offers.
    """
    classes: dict[str, list[str]] = {}
    for row in groups[0].runs[0].groups:
        classes.setdefault(str(row["grouped_by"]), []).append(str(row["group"]))
    return {
        "kinds": [{"key": k, "label": k, "classes": names} for k, names in classes.items()],
        "quantities": described(GROUPED),
        "series": [
            _series(group)
            | {
                "values": {
                    f"{kind}/{q.key}": _by_class(group, kind, q, names)
                    for kind, names in classes.items()
                    for q in GROUPED
                }
            }
            for group in groups
        ],
    }


def _by_class(group: Group, kind: str, quantity: Quantity, classes: list[str]) -> Columns:
    values = np.full((len(group.runs), len(classes)), np.nan)
    for seed, run in enumerate(group.runs):
        for row in run.groups:
            value, name = row[quantity.key], str(row["group"])
            if str(row["grouped_by"]) == kind and name in classes and value is not None:
                values[seed, classes.index(name)] = quantity.scale * value
    return _columns(values)


def robustness(groups: Sequence[Group], names: Names) -> dict[str, Any] | None:
    """Return how outcomes change when people or tests deviate from the plan.

    Groups that agree in all other settings are a family; the others are compared with its least
    disturbed member, seed by seed. None when no family has two members.
    """
    families: dict[str, list[Group]] = {}
    for group in groups:
        rest = sorted((k, v) for k, v in group.settings.items() if k not in ROBUSTNESS)
        families.setdefault(repr(rest), []).append(group)
    families = {key: family for key, family in families.items() if len(family) > 1}
    if not families:
        return None
    members = [group for family in families.values() for group in family]
    keys = [k for k in ROBUSTNESS if len({repr(g.settings.get(k)) for g in members}) > 1]
    rows = []
    for family in families.values():
        ordered = sorted(family, key=lambda group: [_disturbance(group, key) for key in keys])
        rows += [_robustness_row(group, ordered[0], keys, names) for group in ordered]
    return {"keys": [short(key) for key in keys], "rows": rows}


def _disturbance(group: Group, key: str) -> float:
    value = group.settings.get(key)
    shares = value if isinstance(value, list) else [value]
    mean = sum(v for v in shares if isinstance(v, int | float)) / max(len(shares), 1)
    return -mean if key in _MORE_IS_BETTER else mean


def _robustness_row(group: Group, plain: Group, keys: list[str], names: Names) -> dict[str, Any]:
    peak = SUMMARY["peak_infected"]
    return {
        "label": names.label(group.settings, skip=ROBUSTNESS),
        "settings": [written(group.settings.get(key, "–")) for key in keys],
        "peak": _numbers(group.values(peak)),
        "change": None if group is plain else _numbers(_paired_change(group, plain, peak)),
        "attack_rate": _numbers(group.values(SUMMARY["attack_rate"])),
    }


def _paired_change(group: Group, plain: Group, quantity: Quantity) -> NDArray[np.float64]:
    """Return the difference between two groups for each seed that both have."""
    after, before = (
        dict(zip((run.seed for run in one.runs), one.values(quantity), strict=True))
        for one in (group, plain)
    )
    gains = [_gain(after[seed], before[seed]) for seed in after if seed in before]
    return np.array(gains, dtype=np.float64)


def _gain(after: float, before: float) -> float:
    """Return a difference; 0 where nothing but rounding differs."""
    gain = after - before
    return 0.0 if abs(gain) <= ROUNDING * max(abs(after), abs(before)) else gain
