"""The paper's figure, and its table as points: the published setting beside the best γ."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dnatrace.paper.claims import metric_of, published_rows
from dnatrace.paper.reproduce import Reproduction
from dnatrace.paper.setting import BOUNDS, Point, Scenario, Setting, scenarios_of
from dnatrace.runs import figures
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.study import PER_MILLE

_COLOURS = {
    "traditional": figures.GREY,
    "per-message": figures.ORANGE,
    "dpfn": figures.GREEN,
    "dpfn-s": figures.BLUE,
    "dna": figures.VERMILION,
    **dict.fromkeys(BOUNDS, "black"),
}
_OTHER = "#CC79A7"  # the sixth of Okabe and Ito
_TITLES = {
    Setting.PUBLISHED: "as published, γ = 0.7",
    Setting.READING: "best reading of the paper",
    Setting.BEST: "sound releases at their best γ",
}
_LINES = {"fn": ":", "public-only": "--", "random": "-."}
_MARKERS = {"fn": "v", "public-only": "s", "random": "^"}
_PUBLISHED = "as published"
_BELOW = "An interval without a lower cap goes on below the axis."


def draw(done: Reproduction) -> Figure:
    """Draw the peak against ε or in every scenario: one panel per setting, means and intervals."""
    figure = Figure(figsize=(15, 5.5), layout="constrained")
    panels = figure.subplots(1, len(_TITLES), sharey=True)
    floor = _floor(done)
    for axes, (setting, title) in zip(panels, _TITLES.items(), strict=True):
        axes.set_yscale("log")
        points: dict[str, list[Point]] = {}
        for point in done.study.summaries:
            if point.setting is setting:
                points.setdefault(point.method, []).append(point)
        if done.target == "figure":
            _draw_against_epsilon(axes, done, points, floor)
            if setting is not Setting.BEST:
                _draw_published(axes, done)
        else:
            _draw_by_scenario(axes, done, points, floor)
        axes.set_title(title, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylim(bottom=floor)
    panels[0].set_ylabel("peak infection rate, ‰ (mean, 90 % interval)")
    lows = [_peak(done, point).interval[0] for point in done.study.summaries]
    _add_legend(figure, panels, _BELOW if any(low <= floor for low in lows) else None)
    if done.size.is_small:
        figure.suptitle(done.size.describe())
    return figure


def _floor(done: Reproduction) -> float:
    """Return where the axis ends: below every point, and below intervals to a tenth of the least.

    What reaches 0 has no place on a log axis, and what comes near it would leave none for the rest.
    """
    peaks = [_peak(done, point) for point in done.study.summaries]
    points = [*(peak.mean for peak in peaks), *(value for *_, value in _published(done))]
    least = min((value for value in points if value > 0), default=1.0)
    lows = (peak.interval[0] for peak in peaks)
    return 0.8 * max(0.1 * least, min((low for low in lows if 0 < low < least), default=least))


def _add_legend(figure: Figure, panels: Sequence[Axes], title: str | None) -> None:
    """Explain every mark once, methods first, below the panels, where it hides no data."""
    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:  # none when every run failed
        labels = sorted(handles, key=lambda label: label.startswith((*BOUNDS, _PUBLISHED)))
        figure.legend(
            [handles[label] for label in labels],
            labels,
            loc="outside lower center",
            ncols=len(handles),
            title=title,
            title_fontsize="small",
            fontsize="small",
            frameon=False,
        )


def _draw_against_epsilon(
    axes: Axes, done: Reproduction, points: dict[str, list[Point]], floor: float
) -> None:
    """Draw a line per method, shifted a little so that intervals do not hide each other."""
    for i, method in enumerate(method for method in points if method not in BOUNDS):
        mine = sorted(points[method], key=lambda point: point.scenario.epsilon)
        places = [1.04 ** (i - 2) * point.scenario.epsilon for point in mine]
        _draw_method(axes, done, mine, places, floor, marker=".")
    for method in (method for method in points if method in BOUNDS):
        for point in points[method]:
            mean = _peak(done, point).mean
            line: dict[str, Any] = {"color": "black", "linewidth": 0.8, "linestyle": _LINES[method]}
            axes.axhline(mean, label=f"{method}, mean", **line)
    axes.set_xscale("log")
    axes.set_xticks(done.size.epsilons, [f"{e:g}" for e in done.size.epsilons])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("ε per release")


def _peak(done: Reproduction, point: Point) -> Spread:
    return done.study.spread(point, metric_of(point.setting), scale=PER_MILLE)


def _published(done: Reproduction) -> list[tuple[str, Scenario, float]]:
    """Return the paper's points, of methods that ran; the table and small versions have none."""
    if done.size.is_small or done.target != "figure":
        return []
    ran = {point.method for point in done.study.summaries}
    return [(method, s, value) for method, s, value, _ in published_rows("figure") if method in ran]


def _draw_published(axes: Axes, done: Reproduction) -> None:
    rows = _published(done)
    for method, scenario, value in rows:
        colour = _COLOURS.get(method, _OTHER)
        axes.plot(scenario.epsilon, value, "o", mfc="none", color=colour)
    if rows:
        axes.plot([], [], "o", mfc="none", color="black", label=_PUBLISHED)


def _draw_by_scenario(
    axes: Axes, done: Reproduction, points: dict[str, list[Point]], floor: float
) -> None:
    """Draw points of the methods side by side in every scenario, around its tick."""
    scenarios = scenarios_of(done.target, done.size)
    for i, (method, mine) in enumerate(points.items()):
        shift = 0.12 * (i - (len(points) - 1) / 2)
        places = [scenarios.index(point.scenario) + shift for point in mine]
        style = {"marker": _MARKERS.get(method, "o"), "markersize": 4, "linestyle": "none"}
        _draw_method(axes, done, mine, places, floor, **style)
    axes.set_xticks(range(len(scenarios)), [_words_of(s) for s in scenarios], fontsize="small")
    axes.set_xlim(-0.5, len(scenarios) - 0.5)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("adherence, and below it FPR / FNR as the paper states them")


def _words_of(scenario: Scenario) -> str:
    """Return what varies in the table, in two short lines."""
    positives, negatives = scenario.false_positive_rate, scenario.false_negative_rate
    return f"{100 * scenario.adherence:g} %\n{100 * positives:g} / {100 * negatives:g} %"


def _draw_method(
    axes: Axes,
    done: Reproduction,
    points: Sequence[Point],
    places: Sequence[float],
    floor: float,
    **style: Any,
) -> None:
    """Draw means with their intervals; what reaches 0 runs out of the log axis at the bottom."""
    peaks = [_peak(done, point) for point in points]
    ends = np.array([(*peak.interval, peak.mean) for peak in peaks])
    low, high, mean = np.maximum(ends, 0.1 * floor).T
    axes.errorbar(
        places,
        mean,
        yerr=(mean - low, high - mean),
        capsize=2,
        label=points[0].method,
        color=_COLOURS.get(points[0].method, _OTHER),
        **style,
    )
