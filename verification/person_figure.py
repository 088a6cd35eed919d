"""The figure of `verification.person`: peak against ε of a person, with the floor and `fn`."""

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dnatrace.methods.public_facts import FLOOR
from dnatrace.runs import figures

LOWEST = 0.3  # ‰; the interval of a mean may reach below 0
_COLOURS = {"daily": figures.BLUE, "news": figures.VERMILION}
_LINES = {(FLOOR, ""): "--", ("fn", ""): ":", ("fn", "as in the paper"): "-."}
_NAMES = {
    (FLOOR, ""): "no messages: public facts alone",
    ("fn", ""): "fn, best inference: all messages, no privacy",
    ("fn", "as in the paper"): "fn as in the paper, no privacy",
}

Rows = Sequence[dict[str, Any]]


def drawn(rows: Rows, *, quick: bool) -> bytes:
    """Return the figure as SVG."""
    figure = panels_of(rows)
    if quick:
        figure.suptitle("QUICK: these numbers mean nothing")
    out = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "dnatrace"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def panels_of(rows: Rows) -> Figure:
    """Return one panel per number of tests, with means and 90 % intervals."""
    capacities = sorted({row["capacity"] for row in rows}, reverse=True)
    size = (1.0 + 3.6 * len(capacities), 4.2)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(capacities), sharey=True, squeeze=False)[0]
    for axes, capacity in zip(panels, capacities, strict=True):
        draw(axes, [row for row in rows if row["capacity"] == capacity])
        axes.set_title(f"tests for {100 * capacity:g} % of people per day", loc="left")
    # After everything is drawn: a limit ends the scaling of all panels, which share the axis.
    panels[0].set_ylim(bottom=LOWEST)
    panels[0].set_ylabel("peak of infected people, ‰ (mean, 90 % interval)")
    panels[0].legend(frameon=False, fontsize="small")
    return figure


def draw(axes: Axes, rows: Rows) -> None:
    """Draw peaks at one number of tests against ε, and lines for what has no ε."""
    for i, (release, colour) in enumerate(_COLOURS.items()):
        mine = [row for row in rows if row["release"] == release]
        mine.sort(key=lambda row: row["epsilon"])
        places = [row["epsilon"] * 1.03 ** (2 * i - 1) for row in mine]
        means = [row["mean"] for row in mine]
        halves = [row["half_width"] or 0.0 for row in mine]
        label = f"headcount, {release}"
        axes.errorbar(places, means, yerr=halves, color=colour, marker=".", label=label)
    for method, line in _LINES.items():
        for row in rows:
            if (row["method"], row["release"]) == method:
                style: dict[str, Any] = {"color": "black", "linewidth": 0.9, "linestyle": line}
                axes.axhline(row["mean"], label=_NAMES[method], **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("ε of one test of a person, for ever")
    axes.spines[["top", "right"]].set_visible(False)
