"""The figure of `verification.inference`: peak against tests per day, by inference."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dnatrace.runs import figures

DRAWN = {
    "public facts": figures.GREY,
    "fn, as in the paper": figures.ORANGE,
    "fn, 2 rounds, by age": "#CC79A7",
    "one-round": figures.GREEN,
    "bp": figures.VERMILION,
    "oracle": figures.BLUE,
}

Rows = Sequence[Mapping[str, Any]]


def drawn(rows: Rows) -> Figure:
    """Return the figure, dashed where people with symptoms are tested, too."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for symptoms in (False, True):
        draw(axes, rows, DRAWN, symptoms=symptoms)
    axes.set_ylabel("peak infection rate, ‰ (mean, 90 % interval)")
    if axes.containers:
        axes.legend(frameon=False, fontsize="small")
    return figure


def draw(axes: Axes, rows: Rows, colours: Mapping[str, str], *, symptoms: bool = False) -> None:
    """Draw one curve per inference, through means of several runs with their intervals."""
    several = [row for row in rows if row["symptoms"] == symptoms and row["runs"] > 1]
    for name, colour in colours.items():
        mine = sorted((r for r in several if r["inference"] == name), key=lambda r: r["tests"])
        if not mine:
            continue
        means = np.array([row["mean"] for row in mine])
        above = np.array([row["half_width"] for row in mine])
        below = np.minimum(above, 0.9 * means)
        axes.errorbar(
            [100 * row["tests"] for row in mine],
            means,
            yerr=(below, above),
            capsize=2,
            marker=".",
            linestyle="--" if symptoms else "-",
            label=f"{name}, symptoms tested" if symptoms else name,
            color=colour,
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("tests per day by score, % of people")
    axes.spines[["top", "right"]].set_visible(False)
