"""What the paper's figure and table claim, judged on our study."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dnatrace import reference_data
from dnatrace.paper.reading import Reading, best_reading
from dnatrace.paper.setting import (
    PUBLISHED_METHODS,
    Point,
    Scenario,
    Setting,
    Size,
    scenarios_of,
)
from dnatrace.paper.verdicts import Claim, Rule, judge_number, judge_order
from dnatrace.sweeps.study import PER_MILLE, Study

PEAK = "peak_infected"
ORDERS = (  # in the figure: the lower, the higher, at this ε
    ("dna", "dpfn-s", 1.0),
    ("dpfn-s", "dpfn", 1.0),
    ("dpfn-s", "per-message", 1.0),
    ("dpfn-s", "traditional", 1.0),
    ("per-message", "dpfn", 1.0),
    ("dpfn-s", "dpfn", 10.0),
    ("dpfn-s", "per-message", 10.0),
    ("dna", "dpfn", 10.0),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Peaks:
    """The peaks of a study under one setting.

    Attributes:
        study: the study under all settings.
        setting: the setting of the points.
        metric: which peak.
    """

    study: Study[Point]
    setting: Setting
    metric: str

    @property
    def methods(self) -> list[str]:
        """The methods to be run."""
        points = (*self.study.summaries, *self.study.failures)
        return list(dict.fromkeys(point.method for point in points))

    def point(self, method: str, scenario: Scenario) -> Point:
        """Return the point of a method in a scenario."""
        return Point(setting=self.setting, method=method, scenario=scenario)


def metric_of(setting: Setting, reading: Reading | None = None) -> str:
    """Return which peak a setting compares; that of `reading`, if given, instead of the best."""
    return (reading or best_reading()).metric if setting is Setting.READING else PEAK


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


def has_claims(target: str, method: str) -> bool:
    """Return whether the figure or the table says anything about a method."""
    return any(name == method for name, *_ in published_rows(target))


def judge(
    target: str, study: Study[Point], size: Size, reading: Reading | None = None
) -> list[Claim]:
    """Return the claims of the figure or the table, under our reading and the best, or another.

    For both, these are the published numbers; for the figure also the orders at ε = 1 and 10, and
    that less privacy gives a lower peak; for the table, `dna` below `dpfn-s` in every scenario. A
    claim about a point that failed is not tested, with the error as its note; claims about methods
    that were not asked for are left out.
    """
    peaks = {s: Peaks(study=study, setting=s, metric=metric_of(s, reading)) for s in Setting}
    numbers = {s: _numbers(target, found, size) for s, found in peaks.items()}
    ordered = {s: _orders(target, found, size) for s, found in peaks.items()}
    return [
        *_both(numbers[Setting.PUBLISHED], numbers[Setting.READING]),
        *_both(ordered[Setting.PUBLISHED], ordered[Setting.READING]),
        *ordered[Setting.BEST],
    ]


def _both(ours: list[Claim], best: list[Claim]) -> list[Claim]:
    """Return claims under our reading together with their outcome under the best reading."""
    found = {claim.claim: claim for claim in best}
    return [replace(claim, best_reading=found.get(claim.claim)) for claim in ours]


def _orders(target: str, peaks: Peaks, size: Size) -> list[Claim]:
    """Return the claims about orders under a setting."""
    claims = list[Claim]()
    if target == "table":
        for s in scenarios_of(target, size):
            claims += _order(target, peaks, ("dna", s), ("dpfn-s", s))
        return claims
    for lower, higher, epsilon in ORDERS:
        s = Scenario(epsilon=epsilon)
        claims += _order(target, peaks, (lower, s), (higher, s))
    least, most = (Scenario(epsilon=e) for e in (max(size.epsilons), min(size.epsilons)))
    for method in peaks.methods:
        if method in PUBLISHED_METHODS:
            claims += _order(target, peaks, (method, least), (method, most))
    return claims


def _numbers(target: str, peaks: Peaks, size: Size) -> list[Claim]:
    """Return the claims about numbers under a setting."""
    study = peaks.study
    claims = []
    for method, scenario, value, half_width in published_rows(target):
        where = f"at {words_of(target, scenario)}"
        text = f"{method} {where} has a peak of {value:g} ‰"
        point = peaks.point(method, scenario)
        if point in study.summaries and not size.is_small:
            note = "read off the plot, ± 15 %" if half_width is None else f"± {half_width:g}"
            peak = study.spread(point, peaks.metric, scale=PER_MILLE)
            claims.append(
                judge_number(
                    text,
                    peak.mean,
                    peak.interval,
                    published=value,
                    half_width=half_width,
                    note=note,
                )
            )
        elif method in peaks.methods:
            reason = "the small version cannot tell" if size.is_small else "it was not run"
            note = _why(point, study) if point in study.failures else reason
            claims.append(Claim(claim=text, published=value, rule=Rule.NUMBER, note=note))
    return claims


def _order(
    target: str,
    peaks: Peaks,
    lower: tuple[str, Scenario],
    higher: tuple[str, Scenario],
) -> list[Claim]:
    """Return the claim that one point has a lower peak, if both were to be run."""
    study = peaks.study
    pair = [peaks.point(*one) for one in (lower, higher)]
    how = "sound release, best γ" if peaks.setting is Setting.BEST else "published setting"
    if lower[0] == higher[0]:
        epsilons = f"ε = {lower[1].epsilon:g} than at {higher[1].epsilon:g}"
        text = f"{lower[0]} has a lower peak at {epsilons} ({how})"
    else:
        where = (
            words_of(target, lower[1]) if target == "figure" else f"at {words_of(target, lower[1])}"
        )
        text = f"{lower[0]} has a lower peak than {higher[0]} ({where}; {how})"
    values = [published_value(target, m, s)[0] for m, s in (lower, higher)]
    published = values[0] - values[1]
    missing = [point for point in pair if point not in study.summaries]
    if any(point not in study.failures for point in missing):
        return []
    if missing:
        note = "; ".join(_why(point, study) for point in missing)
        return [Claim(claim=text, published=published, rule=Rule.ORDER, note=note)]
    difference = study.difference(pair[0], pair[1], peaks.metric, scale=PER_MILLE)
    note = "difference of the means over common seeds, ‰"
    return [judge_order(text, difference.mean, difference.interval, published=published, note=note)]


def words_of(target: str, s: Scenario) -> str:
    """Return what varies in a scenario of the figure or the table."""
    if target == "figure":
        return f"ε = {s.epsilon:g}"
    return (
        f"adherence {100 * s.adherence:g} %, false positives {100 * s.false_positive_rate:g} %, "
        f"false negatives {100 * s.false_negative_rate:g} %"
    )


def _why(point: Point, study: Study[Point]) -> str:
    return f"{point.method} failed: {study.failures[point].error}"
