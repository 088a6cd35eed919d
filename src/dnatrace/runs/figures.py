"""Figures of stored runs, drawn from their tables alone."""

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from matplotlib import rc_context
from matplotlib.figure import Figure

from dnatrace.runs.quantities import DAILY, EXPOSED, PER_THOUSAND, SUMMARY, shown

# Okabe and Ito 2008: distinguishable with any kind of colour vision.
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#666666"


_DAILY = {quantity.key: quantity for quantity in (*DAILY, EXPOSED)}


def epidemic(daily: pa.Table, summary: dict[str, Any]) -> Figure:
    """Return the figure of a run."""
    figure = Figure(figsize=(8, 6), layout="constrained")
    draw_epidemic(figure, daily, summary)
    return figure


def draw_epidemic(figure: Figure, daily: pa.Table, summary: dict[str, Any]) -> Any:
    """Draw the epidemic above and the response to it below, in the units of the page.

    Return the axes of both.
    """
    days, people = daily["day"].to_numpy(), summary["people"]

    def values(key: str) -> Any:
        return _DAILY[key].in_unit(daily[key].to_numpy(), people)

    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    peak_day = summary["day_of_peak"]
    peak = SUMMARY["peak_infected"].in_unit(summary["peak_infected"], people)
    for key, note, colour in (
        ("infected", f", peak {shown(peak)} on day {peak_day}" if peak else "", VERMILION),
        ("exposed", "", ORANGE),
        ("hospitalised", "", BLUE),
    ):
        above.plot(days, values(key), label=_DAILY[key].label + note, color=colour)
    if peak:
        above.plot(peak_day, peak, "o", color=VERMILION)
    title = f"{summary['method']} on {summary['simulator']}: {people:,} people"
    above.set_title(f"{title}, seed {summary['seed']}", loc="left")
    key = "isolated_exposed_or_infected"
    below.plot(days, values("isolated"), label=_DAILY["isolated"].label, color=GREY)
    below.fill_between(days, 0, values(key), label=_DAILY[key].label, color=GREEN)
    label = _DAILY["positives"].label
    below.step(days, values("positives"), label=label, color=BLUE, where="mid")
    below.set_xlabel("day")
    for axes in (above, below):
        axes.set_ylabel(PER_THOUSAND)
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(days[0] - 0.5, days[-1] + 0.5)
    return above, below


_SAVING: dict[str, dict[str, Any]] = {
    "png": {"dpi": 150, "metadata": {"Software": None}},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}


def rendered(
    figure: Figure, name: str, formats: Sequence[str] = ("png", "svg")
) -> dict[str, bytes]:
    """Return a figure as files (name.png and so on), the same bytes for the same figure."""
    files = {}
    with rc_context({"svg.hashsalt": "dnatrace", "svg.fonttype": "none"}):
        for suffix in formats:
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, **_SAVING[suffix])
            files[f"{name}.{suffix}"] = buffer.getvalue()
    return files
