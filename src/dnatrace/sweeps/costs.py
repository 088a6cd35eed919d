"""What a policy averts and costs, paired by seed: against doing nothing, against a status quo.

Infections, deaths and places in hospital are counts of people, of as many people in both settings
where cities differ in size. A cost per infection averted is a
ratio of means over seeds with the interval of Fieller 1954; it has no interval where the number
averted cannot be distinguished from 0. Money is counted only with prices that the caller gives.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from dnatrace.errors import InputError, require_number
from dnatrace.methods.chance import NoneSettings
from dnatrace.policy.highest_scores import HighestScoresSettings
from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.spread import CONFIDENCE, Spread

if TYPE_CHECKING:
    from dnatrace.sweeps.study import Study

# Shares of the population in summaries; averting them means having fewer.
AVERTED = {"attack_rate": "infections", "deaths": "deaths", "peak_hospitalised": "hospital peak"}
COSTS = (
    *("tests_used", "notices", "isolation_person_days", "isolation_person_days_uninfected"),
    *("quarantine_person_days", "quarantine_person_days_uninfected"),
)
_PRICE = ("per_infection_averted", "per_low", "per_high")
# From the table of groups: shares that are averted, and burdens per person.
GROUP_AVERTED = ("attack_rate", "deaths")
GROUP_COSTS = (
    *("tests_per_person", "isolation_days_per_person", "isolation_days_uninfected_per_person"),
    *("quarantine_days_per_person", "quarantine_days_uninfected_per_person"),
)


def nothing_of(config: RunConfig) -> RunConfig:
    """Return the same world without any interventions."""
    nothing = {"method": NoneSettings(), "policy": HighestScoresSettings()}
    return config.model_copy(update=nothing)


def status_quo_of(config: RunConfig) -> RunConfig:
    """Return the same world with the levers that need no tracing method."""
    return config.model_copy(update={"method": NoneSettings()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A ratio of two means over the same seeds.

    Attributes:
        value: the mean of the one divided by the mean of the other.
        low: the lower end of Fieller's 90 % interval; None when there is none.
        high: its upper end.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


def ratio_of_means(above: NDArray[np.float64], below: NDArray[np.float64]) -> Ratio:
    """Return mean(above) / mean(below), paired by seed, with the interval of Fieller 1954."""
    n, a, b = above.size, float(above.mean()), float(below.mean())
    if b == 0.0 or not math.isfinite(a / b):
        return Ratio(value=None)
    if n < 2:
        return Ratio(value=a / b)
    (v_aa, v_ab), (_, v_bb) = np.cov(above, below) / n
    t = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    # The ratios r with (a - r·b)² ≤ t² Var(a - r·b): between the roots of q·r² - 2·p·r + c.
    q, p, c = b**2 - t**2 * v_bb, a * b - t**2 * v_ab, a**2 - t**2 * v_aa
    inside = p**2 - q * c
    if q <= 0.0 or inside < 0.0:
        return Ratio(value=a / b)
    half = math.sqrt(inside) / q
    return Ratio(value=a / b, low=float(p / q - half), high=float(p / q + half))


def averted(
    study: "Study[Any]",
    label: Any,
    baselines: Mapping[str, Any],
    *,
    prices: Mapping[str, float] | None = None,
) -> list[dict[str, Any]]:
    """Return what a label averts and costs compared with baselines, one row per number.

    Args:
        study: the study with the label and the baselines.
        label: one of its labels.
        baselines: labels by the names to show, for instance "nothing" and "status quo".
        prices: the price of one test, notice or person-day, by key of `COSTS`; adds a row for
            money. Days in quarantine are among the days at home (`isolation_person_days`): with a
            price for both they are paid twice.

    Returns:
        Rows of `against`, `quantity`, `mean`, `low` and `high`; for costs also
        `per_infection_averted` with `per_low` and `per_high`. Values that older runs lack are None.
    """
    rows: list[dict[str, Any]] = []
    for name, baseline in baselines.items():
        people = study.spread(label, "people").values
        fewer = {key: people * -_more(study, label, baseline, key) for key in AVERTED}
        more = {key: _more(study, label, baseline, key) for key in COSTS}
        if prices is not None:
            more["money"] = _money(more, prices)
        rows += [
            {"against": name, "quantity": f"{AVERTED[key]} averted"}
            | _interval(values)
            | dict.fromkeys(_PRICE)
            for key, values in fewer.items()
        ]
        rows += [
            {"against": name, "quantity": key}
            | _interval(values)
            | _per_infection(values, fewer["attack_rate"])
            for key, values in more.items()
        ]
    return rows


def averted_by_group(
    study: "Study[Any]", label: Any, baselines: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return who gains and who bears the cost: rows as in `averted` per age and household size.

    Infections and deaths averted are shares of a group's people, costs are per person of the group.
    """
    rows = []
    for name, baseline in baselines.items():
        ours, theirs = (_groups(study, one) for one in (label, baseline))
        for place, group in enumerate(ours[0]):
            told = {"against": name, "grouped_by": group["grouped_by"], "group": group["group"]}
            for key in (*GROUP_AVERTED, *GROUP_COSTS):
                sign = -1.0 if key in GROUP_AVERTED else 1.0
                pairs = zip(ours, theirs, strict=True)
                values = [_number(a[place], key) - _number(b[place], key) for a, b in pairs]
                quantity = f"{AVERTED[key]} averted" if key in GROUP_AVERTED else key
                rows.append(told | {"quantity": quantity} | _interval(sign * np.array(values)))
    return rows


def _groups(study: "Study[Any]", label: Any) -> list[list[dict[str, Any]]]:
    if label not in study.groups:
        raise InputError(f"'{label}': its runs keep no table of groups")
    return study.groups[label]


def _more(study: "Study[Any]", label: Any, baseline: Any, key: str) -> NDArray[np.float64]:
    """Return by how much a label exceeds a baseline on each seed; NaN if a run lacks it.

    Counts of a baseline with more or fewer people are those of as many people as the label has.
    """
    ours, theirs = (
        np.array([_number(summary, key) for summary in study.summaries[one]])
        for one in (label, baseline)
    )
    return ours - study.as_many(label, baseline, key) * theirs


def _number(values: Mapping[str, Any], key: str) -> float:
    value = values.get(key)
    return math.nan if value is None else float(value)


def _money(
    more: Mapping[str, NDArray[np.float64]], prices: Mapping[str, float]
) -> NDArray[np.float64]:
    for key, price in prices.items():
        if key not in COSTS:
            raise InputError(f"prices: '{key}' is not a cost; there are {', '.join(COSTS)}")
        require_number(**{f"prices: '{key}'": price})
        if not math.isfinite(price):
            raise InputError(f"prices: '{key}' needs a number, not {price}")
    return np.sum([price * more[key] for key, price in prices.items()], axis=0)


def _interval(values: NDArray[np.float64]) -> dict[str, float | None]:
    spread = Spread(values=values)
    low, high = spread.interval
    return {"mean": _or_none(spread.mean), "low": _or_none(low), "high": _or_none(high)}


def _per_infection(
    cost: NDArray[np.float64], infections: NDArray[np.float64]
) -> dict[str, float | None]:
    ratio = ratio_of_means(cost, infections)
    if ratio.value is None or infections.mean() <= 0.0:  # nothing averted, so no price
        return dict.fromkeys(_PRICE)
    return dict(zip(_PRICE, (ratio.value, ratio.low, ratio.high), strict=True))


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
