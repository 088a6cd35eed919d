"""What the paper's figure and table claim, judged on our rows."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from dnatrace import reference_data
from dnatrace.paper.claims import Claim, Rule, judge_number, judge_order, untested
from dnatrace.paper.setting import (
    PUBLISHED_METHODS,
    Point,
    Row,
    Scenario,
    Setting,
    Size,
    scenarios_of,
)

# Points without a row because a run failed, and why.
Failed = Mapping[Point, str]
NONE_FAILED: Failed = MappingProxyType({})


def published_rows(target: str) -> Iterator[tuple[str, Scenario, float, float | None]]:
    """Yield method, scenario, per mille and half-width of the published results."""
    for row in reference_data.read_table("published.csv"):
        if row["result"] == target:
            names = ("epsilon", "adherence", "false_positive_rate", "false_negative_rate")
            scenario = Scenario(**{name: float(row[name]) for name in names})
            half_width = float(row["half_width"]) if row["half_width"] else None
            yield row["method"], scenario, float(row["permille"]), half_width


def published_value(target: str, method: str, scenario: Scenario) -> tuple[float, float | None]:
    """Return what was published about a point; NaN when nothing was."""
    for name, where, value, half_width in published_rows(target):
        if (name, where) == (method, scenario):
            return value, half_width
    return math.nan, None


def figure_claims(rows: Sequence[Row], size: Size, failed: Failed = NONE_FAILED) -> list[Claim]:
    """Return the claims of the figure: its numbers, the orders at ε = 1 and 10, and the slopes.

    A claim about a point that failed is not tested, with the error as its note.
    """
    claims = _numbers("figure", rows, size, failed, lambda s: f"at ε = {s.epsilon:g}")
    at_one, at_ten = Scenario(epsilon=1.0), Scenario(epsilon=10.0)
    orders = [
        ("dna", "dpfn-s", at_one),
        ("dpfn-s", "dpfn", at_one),
        ("dpfn-s", "per-message", at_one),
        ("dpfn-s", "traditional", at_one),
        ("per-message", "dpfn", at_one),
        ("dpfn-s", "dpfn", at_ten),
        ("dpfn-s", "per-message", at_ten),
        ("dna", "dpfn", at_ten),
    ]
    for setting in Setting:
        for lower, higher, scenario in orders:
            claims += _order("figure", rows, failed, setting, lower, higher, scenario)
        claims += _slopes(rows, failed, setting, size)
    return claims


def table_claims(rows: Sequence[Row], size: Size, failed: Failed = NONE_FAILED) -> list[Claim]:
    """Return the claims of the table: its numbers, and `dna` below `dpfn-s` in every scenario.

    A claim about a point that failed is not tested, with the error as its note.
    """
    claims = _numbers("table", rows, size, failed, describe_scenario)
    for setting in Setting:
        for scenario in scenarios_of("table", size):
            claims += _order("table", rows, failed, setting, "dna", "dpfn-s", scenario)
    return claims


def describe_scenario(s: Scenario) -> str:
    """Return a scenario of the table in words."""
    return (
        f"at adherence {100 * s.adherence:g} %, false positives {100 * s.false_positive_rate:g} %, "
        f"false negatives {100 * s.false_negative_rate:g} %"
    )


def _find(rows: Sequence[Row], point: Point) -> Row | None:
    return next((row for row in rows if row.point == point), None)


def _asked_for(rows: Sequence[Row], failed: Failed) -> list[str]:
    """Return the methods that were to be run."""
    return list(dict.fromkeys(point.method for point in (*(row.point for row in rows), *failed)))


def _numbers(
    target: str,
    rows: Sequence[Row],
    size: Size,
    failed: Failed,
    where: Callable[[Scenario], str],
) -> list[Claim]:
    claims = []
    asked_for = _asked_for(rows, failed)
    for method, scenario, value, half_width in published_rows(target):
        text = f"{method} {where(scenario)} has a peak of {value:g} ‰"
        point = Point(setting=Setting.PUBLISHED, method=method, scenario=scenario)
        row = _find(rows, point)
        note = "read off the plot, ± 15 %" if half_width is None else f"± {half_width:g}"
        if size.is_small or row is None:
            if method in asked_for:
                reason = "the small version cannot tell" if size.is_small else "it was not run"
                if point in failed:
                    reason = _why(point, failed)
                claims.append(untested(text, published=value, rule=Rule.NUMBER, note=reason))
            continue
        claims.append(
            judge_number(text, row.peak, published=value, half_width=half_width, note=note)
        )
    return claims


def _order(
    target: str,
    rows: Sequence[Row],
    failed: Failed,
    setting: Setting,
    lower: str,
    higher: str,
    scenario: Scenario,
) -> list[Claim]:
    """Return the claim that one method has a lower peak, when both were to be run."""
    first, second = (
        Point(setting=setting, method=name, scenario=scenario) for name in (lower, higher)
    )
    where = f"ε = {scenario.epsilon:g}" if target == "figure" else describe_scenario(scenario)
    values = [published_value(target, name, scenario)[0] for name in (lower, higher)]
    text = f"{lower} has a lower peak than {higher} ({where}; {_how(setting)})"
    return _compare(text, rows, failed, first, second, published=values[0] - values[1])


def _compare(
    text: str, rows: Sequence[Row], failed: Failed, lower: Point, higher: Point, *, published: float
) -> list[Claim]:
    """Return the claim that one point is lower; none when one of them was not asked for."""
    first, second = _find(rows, lower), _find(rows, higher)
    if first is not None and second is not None:
        note = "difference of the means over common seeds, ‰"
        return [judge_order(text, first.peak, second.peak, published=published, note=note)]
    missing = [p for p, row in ((lower, first), (higher, second)) if row is None]
    if any(p not in failed for p in missing):
        return []
    note = "; ".join(_why(p, failed) for p in missing)
    return [untested(text, published=published, rule=Rule.ORDER, note=note)]


def _why(point: Point, failed: Failed) -> str:
    return f"{point.method} failed: {failed[point]}"


def _slopes(rows: Sequence[Row], failed: Failed, setting: Setting, size: Size) -> list[Claim]:
    """Return the claims that less privacy gives a lower peak, for every method."""
    most, least = min(size.epsilons), max(size.epsilons)
    claims = []
    for method in _asked_for(rows, failed):
        if method not in PUBLISHED_METHODS:
            continue
        low, high = (
            Point(setting=setting, method=method, scenario=Scenario(epsilon=e))
            for e in (least, most)
        )
        values = [published_value("figure", method, Scenario(epsilon=e))[0] for e in (least, most)]
        text = f"{method} has a lower peak at ε = {least:g} than at {most:g} ({_how(setting)})"
        claims += _compare(text, rows, failed, low, high, published=values[0] - values[1])
    return claims


def _how(setting: Setting) -> str:
    return "published setting" if setting is Setting.PUBLISHED else "sound release, best γ"
