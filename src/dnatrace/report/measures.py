"""From groups of runs to what the charts and tables show.

Every number over seeds is a mean with its 90 % Student-t interval and a median. Charts get plain
dictionaries, because they become JSON.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dnatrace.errors import InputError
from dnatrace.report.grouping import EPSILON, Group, Names, short, spread, written
from dnatrace.report.quantities import (
    BURDENS,
    BY_KEY,
    DAILY,
    GROUPED,
    OUTCOMES,
    SUMMARY,
    Quantity,
)
from dnatrace.sweeps.study import CONFIDENCE, Spread

MOST_POINTS = 30_000  # of all curves together: about 400 kB
TABLE_DAYS = 12  # columns of a table of curves

# What a report calls robustness: how far people and tests keep to the plan.
ROBUSTNESS = (
    "isolation.adherence",
    "isolation.dropout",
    "tests.false_negative_rate",
    "tests.false_positive_rate",
    "tests.order_delay",
    "tests.result_delay",
    "app.adoption",
)
_MORE_IS_BETTER = ("isolation.adherence", "app.adoption")

EPSILON_AXES = (
    ("epsilon", "ε asked for"),
    ("per_release_epsilon", "ε of one release"),
    ("per_contact_epsilon", "ε of one contact over its life"),
    ("per_pair_epsilon", "ε of a pair"),
)


def numbers(found: Spread | None) -> dict[str, Any] | None:
    """Return a spread as plain numbers; the interval of a single seed is None."""
    if found is None:
        return None
    half = found.half_width
    return {
        "mean": rounded(found.mean),
        "half": None if math.isnan(half) else rounded(half),
        "median": rounded(found.median),
        "seeds": int(found.values.size),
    }


def rounded(value: float, digits: int = 4) -> float | None:
    """Return so many significant digits, shortest in JSON; None for a number that is not there."""
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short


def described(quantity: Quantity) -> dict[str, str]:
    """Return how a chart names a quantity."""
    return {"key": quantity.key, "label": quantity.label, "unit": quantity.unit}


def summaries(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return one row a group with all numbers of the summary."""
    return [
        {
            "label": group.label,
            "seeds": len(group.runs),
            "values": {q.key: numbers(group.spread(q)) for q in SUMMARY},
        }
        for group in groups
    ]


def curves(groups: Sequence[Group]) -> dict[str, Any]:
    """Return mean, half interval and median by day for every quantity and group.

    Days are thinned when there would be more than `MOST_POINTS` points; `step` says how much.
    """
    longest = max(len(run.daily["day"]) for group in groups for run in group.runs)
    step = max(1, math.ceil(len(groups) * longest * len(DAILY) / MOST_POINTS))
    return {
        "step": step,
        "quantities": [described(q) for q in DAILY],
        "series": [
            {
                "label": group.label,
                "method": group.method,
                "plain": group.plain,
                "days": [int(d) for d in _days(group)[::step]],
                "values": {q.key: _curve(group, q, step) for q in DAILY},
            }
            for group in groups
        ],
    }


def _days(group: Group) -> NDArray[np.float64]:
    first = group.runs[0].daily["day"]
    for run in group.runs[1:]:
        if not np.array_equal(run.daily["day"], first):
            raise InputError(f"{group.label}: runs of one setting have different days")
    return first


def _curve(group: Group, quantity: Quantity, step: int) -> dict[str, list[float | None]]:
    by_seed = np.stack(
        [
            quantity.scale
            * sum(run.daily[column][::step] for column in quantity.columns)
            / (run.summary["people"] if quantity.per_person else 1)
            for run in group.runs
        ]
    )
    return _columns(by_seed)


def _columns(by_seed: NDArray[np.float64]) -> dict[str, list[float | None]]:
    """Return mean, half interval and median of each column, short enough for many of them."""
    names = ("mean", "half", "median")
    return {
        name: [rounded(v, digits=3) for v in values]
        for name, values in zip(names, over_seeds(by_seed), strict=True)
    }


def over_seeds(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return mean, half interval and median of each column of [seeds, days], as `Spread` does.

    NaN is left out; what is not defined (nothing there, or an interval of one) is NaN.
    """
    n = np.isfinite(values).sum(axis=0)
    filled = np.where(np.isfinite(values), values, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = filled.sum(axis=0) / n
        squares = np.where(np.isfinite(values), values - mean, 0.0) ** 2
        deviation = np.sqrt(squares.sum(axis=0) / np.where(n > 1, n - 1, np.nan))
        quantile = stats.t.ppf((1 + CONFIDENCE) / 2, np.maximum(n - 1, 1))
        half = quantile * deviation / np.sqrt(n)
    median = np.full(mean.size, np.nan)
    some = n > 0
    median[some] = np.nanmedian(values[:, some], axis=0)
    return mean, half, median


def curve_tables(drawn: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one table a quantity: a row a group, at most `TABLE_DAYS` days across."""
    days = max((series["days"] for series in drawn["series"]), key=len)
    places = sorted({round(p) for p in np.linspace(0, len(days) - 1, TABLE_DAYS)})
    return [
        {
            "quantity": quantity,
            "days": [days[place] for place in places],
            "rows": [
                {
                    "label": series["label"],
                    "cells": [cell(series["values"][quantity["key"]], p) for p in places],
                }
                for series in drawn["series"]
            ],
        }
        for quantity in drawn["quantities"]
    ]


def cell(curve: dict[str, list[float | None]], place: int) -> dict[str, Any] | None:
    """Return the numbers at one place of a curve; None when there are none."""
    if place >= len(curve["mean"]) or curve["mean"][place] is None:
        return None
    return {key: values[place] for key, values in curve.items()}


def privacy_against_outcome(groups: Sequence[Group], names: Names) -> dict[str, Any]:
    """Return outcomes by ε: a line for each setting that has one, a level for each that has none.

    `points` hold the four readings of ε; one that is unbounded is None and is not drawn.
    """
    series: dict[str, dict[str, Any]] = {}
    for group in groups:
        private = group.privacy.get("noise") is not None
        label = names.label(group.runs[0], skip=(EPSILON,)) if private else group.label
        new = {"label": label, "method": group.method, "private": private, "points": []}
        entry = series.setdefault(label, {"plain": False, **new})
        entry["plain"] |= group.plain
        entry["points"].append(
            {
                "label": group.label,
                "sound": group.privacy.get("sound") is True,
                "epsilons": {
                    key: group.privacy.get(key) if private else None for key, _ in EPSILON_AXES
                },
                "outcomes": {key: numbers(group.spread(BY_KEY[key])) for key in OUTCOMES},
            }
        )
    return {
        "axes": [{"key": key, "label": label} for key, label in EPSILON_AXES],
        "quantities": [described(BY_KEY[key]) for key in OUTCOMES],
        "series": list(series.values()),
    }


def trade_offs(groups: Sequence[Group]) -> dict[str, Any]:
    """Return burden and outcome of every group, for points in a plane."""
    return {
        "burdens": [described(BY_KEY[key]) for key in BURDENS],
        "outcomes": [described(BY_KEY[key]) for key in OUTCOMES],
        "points": [
            {
                "label": group.label,
                "method": group.method,
                "values": {k: numbers(group.spread(BY_KEY[k])) for k in (*BURDENS, *OUTCOMES)},
            }
            for group in groups
        ],
    }


def burdens(groups: Sequence[Group]) -> dict[str, Any]:
    """Return who bore it: quantities by age group and household size for every group.

    A class of people that is empty in a run does not count in its mean.
    """
    rows = groups[0].runs[0].groups
    kinds = list(dict.fromkeys(str(row["grouped_by"]) for row in rows))
    return {
        "kinds": [
            {"key": kind, "classes": [str(r["group"]) for r in rows if r["grouped_by"] == kind]}
            for kind in kinds
        ],
        "quantities": [described(q) for q in GROUPED],
        "series": [
            {
                "label": group.label,
                "method": group.method,
                "plain": group.plain,
                "values": {
                    kind: {q.key: _by_class(group, kind, q, rows) for q in GROUPED}
                    for kind in kinds
                },
            }
            for group in groups
        ],
    }


def _by_class(
    group: Group, kind: str, quantity: Quantity, rows: list[dict[str, Any]]
) -> dict[str, list[float | None]]:
    classes = [row["group"] for row in rows if row["grouped_by"] == kind]
    values = np.full((len(group.runs), len(classes)), np.nan)
    for seed, run in enumerate(group.runs):
        for row in run.groups:
            value = row[quantity.key]
            if row["grouped_by"] == kind and row["group"] in classes and value is not None:
                values[seed, classes.index(row["group"])] = quantity.scale * value
    return _columns(values)


def robustness(groups: Sequence[Group], names: Names) -> dict[str, Any] | None:
    """Return how outcomes change when people or tests keep less to the plan.

    Groups that agree in all other settings are a family; its least disturbed member is the one the
    others are compared with, seed by seed. None when no family has two members.
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
    numbers_ = value if isinstance(value, list) else [value]
    total = sum(v for v in numbers_ if isinstance(v, int | float)) / max(len(numbers_), 1)
    return -total if key in _MORE_IS_BETTER else total


def _robustness_row(group: Group, plain: Group, keys: list[str], names: Names) -> dict[str, Any]:
    peak = BY_KEY["peak_infected"]
    return {
        "label": names.label(group.runs[0], skip=ROBUSTNESS),
        "settings": [written(group.settings.get(key)) for key in keys],
        "peak": numbers(group.spread(peak)),
        "change": None if group is plain else numbers(paired_change(group, plain, peak)),
        "attack_rate": numbers(group.spread(BY_KEY["attack_rate"])),
    }


def paired_change(group: Group, plain: Group, quantity: Quantity) -> Spread | None:
    """Return the difference of two groups over the seeds that both have; None without any."""
    before = {run.seed: v for run, v in zip(plain.runs, plain.values(quantity), strict=True)}
    after = {run.seed: v for run, v in zip(group.runs, group.values(quantity), strict=True)}
    common = [seed for seed in after if seed in before]
    return spread(np.array([after[s] - before[s] for s in common], dtype=np.float64))
