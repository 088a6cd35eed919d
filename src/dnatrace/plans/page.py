"""A plan as a page in the style of the report: one file, no script, no request to anywhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dnatrace._version import __version__
from dnatrace.plans import changes, comparison, files, words
from dnatrace.plans.comparison import PER
from dnatrace.plans.intervals import interval
from dnatrace.plans.labels import names_beside
from dnatrace.plans.planning import Plan
from dnatrace.report.page import asset, environment, security_policy
from dnatrace.runs.scenarios import read_scenario

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _MARGIN = 720, 380, 70, 50, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The positions of numbers along one side of a chart.

    Attributes:
        low: the smallest number.
        high: the largest number.
        start: the position of `low`.
        end: the position of `high`.
    """

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Return the position of a number."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Return positions and texts of round numbers."""
        step = _round_step((self.high - self.low) / 5)
        first, last = np.ceil(self.low / step), np.floor(self.high / step)
        numbers = step * np.arange(first, last + 1) + 0.0  # 0 has no sign
        return [(self.place(number), f"{number:,.6g}") for number in numbers]


def _round_step(rough: float) -> float:
    """Return 1, 2 or 5 times a power of ten, close to a positive number."""
    power = 10.0 ** np.floor(np.log10(rough))
    return float(power * min((1, 2, 5, 10), key=lambda n: abs(n * power - rough)))


def _axis(lows: Sequence[float], highs: Sequence[float], start: float, end: float) -> Axis:
    low, high = min(0.0, *lows), max(*highs, 0.0)
    room = 0.05 * (high - low) or 1.0
    return Axis(low=low, high=high + room, start=start, end=end)


def chart(plan: Plan) -> dict[str, Any]:
    """Return the front as positions: days at home to the right, infections averted upwards."""
    rows = plan.rows()
    usual = {"label": comparison.STATUS_QUO, "recommended": False}
    rows.append(usual | comparison.goals_of(plan.study, comparison.STATUS_QUO))
    up, right = "infections_averted_vs_nothing", "days_at_home_per_person"
    x = _axis(*_ends(rows, right), _LEFT, _WIDTH - _MARGIN)
    y = _axis(*_ends(rows, up), _HEIGHT - _BOTTOM, _MARGIN)
    points = [
        {
            "label": row["label"].removeprefix("alternative "),
            "recommended": row["recommended"],
            "x": x.place(row[right]),
            "y": y.place(row[up]),
            "x_ends": [x.place(value) for value in _interval(row, right)],
            "y_ends": [y.place(value) for value in _interval(row, up)],
            "text": f"{row['label']}: {interval(row, up)} infections averted, "
            f"{interval(row, right)} days at home per person",
        }
        for row in rows
    ]
    places = names_beside(
        [(point["x"], point["y"], point["label"]) for point in points], _LEFT, _WIDTH
    )
    for point, place in zip(points, places, strict=True):
        point["name"] = place
    size = {"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "bottom": _HEIGHT - _BOTTOM}
    return size | {"points": points, "x_ticks": x.ticks(), "y_ticks": y.ticks(), "per": f"{PER:,}"}


def _interval(row: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return the ends of an interval; twice the mean where there is none."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return (row[name], row[name]) if low is None else (low, high)


def _ends(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[list[float], list[float]]:
    lows, highs = zip(*(_interval(row, name) for row in rows), strict=True)
    return list(lows), list(highs)


def render(plan: Plan, command: str, *, small: bool) -> bytes:
    """Return the page of a plan."""
    styles = asset("report.css") + _asset_of_plans()
    page = environment("dnatrace.plans").get_template("plan.html")
    text = page.render(
        title=files.title_of(plan),
        styles=styles,
        policy=security_policy(styles),
        version=__version__,
        command=command,
        notes=files.notes(plan, small=small),
        said=words.recommendation(plan),
        warning=files.WARNING if small else "",
        headings=files.HEADINGS,
        about_worlds=files.WORLDS,
        worlds=words.world_lines(plan),
        about_margins=files.WORTH,
        margins=[line for parts in (True, False) for line in words.margin_lines(plan, parts=parts)],
        chart=chart(plan),
        head=files.FRONT_HEAD,
        front=files.front_cells(plan),
        alternatives=files.front_lines(plan),
        others=files.other_cells(plan),
        group_head=files.GROUP_HEAD,
        groups=files.group_cells(plan),
        sources=_sources(plan),
    )
    return text.encode("utf-8")


def _sources(plan: Plan) -> list[dict[str, Any]]:
    """Return the settings of the scenario with their sources, those that were changed marked."""
    rows = {row["key"]: row for row in read_scenario(plan.world.scenario).as_rows()}
    for change in changes.changes_of(plan.world):
        row = rows.get(change.key, {"key": change.key, "source": ""})
        rows[change.key] = row | {"value": f"changed: {change.text.removeprefix(change.key)[1:]}"}
    return list(rows.values())


def _asset_of_plans() -> str:
    loader = environment("dnatrace.plans").loader
    assert loader is not None  # the environment has one
    return loader.get_source(environment("dnatrace.plans"), "plan.css")[0]
