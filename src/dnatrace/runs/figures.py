"""Figures of stored runs, as functions of tables alone."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib import rc_context
from matplotlib.figure import Figure

# Okabe and Ito 2008: told apart by people with any colour vision.
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#666666"


def epidemic(daily: pa.Table, summary: dict[str, Any]) -> Figure:
    """Draw the epidemic above, and what was done against it below."""
    days = daily["day"].to_numpy()
    n = summary["people"]
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    peak_day, peak = summary["day_of_peak"], 100 * summary["peak_infected"]
    for column, label, colour in (
        ("infected", f"infected (I), peak {peak:.2g} % on day {peak_day}", VERMILION),
        ("exposed", "exposed (E)", ORANGE),
        ("hospitalised", "in hospital", BLUE),
    ):
        above.plot(days, 100 * daily[column].to_numpy() / n, label=label, color=colour)
    above.plot(peak_day, peak, "o", color=VERMILION)
    above.set_ylabel("share of people, %")
    above.set_ylim(bottom=0)
    above.legend(frameon=False)
    above.set_title(
        f"{summary['method']} on {summary['simulator']}: {n:,} people, seed {summary['seed']}",
        loc="left",
    )
    below.plot(days, daily["isolated"].to_numpy(), label="in isolation", color=GREY)
    ill = daily["isolated_ill"].to_numpy()
    below.fill_between(days, np.zeros_like(ill), ill, label="of them in E or I", color=GREEN)
    below.step(days, daily["positives"].to_numpy(), label="positive tests", color=BLUE, where="mid")
    below.set_ylabel("people")
    below.set_xlabel("day")
    below.set_ylim(bottom=0)
    below.legend(frameon=False)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(days[0] - 0.5, days[-1] + 0.5)
    return figure


_SAVING: dict[str, dict[str, Any]] = {
    "png": {"dpi": 150, "metadata": {"Software": None}},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}


def rendered(
    figure: Figure, name: str, formats: Sequence[str] = ("png", "svg")
) -> dict[str, bytes]:
    """Return a figure as files name.png and so on, the same bytes for the same figure."""
    files = {}
    with rc_context({"svg.hashsalt": "dnatrace", "svg.fonttype": "none"}):
        for suffix in formats:
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, **_SAVING[suffix])
            files[f"{name}.{suffix}"] = buffer.getvalue()
    return files
