"""Show a study: a table in HTML, a table of runs, a picture."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dnatrace.errors import InputError
from dnatrace.runs.quantities import SUMMARY, Quantity
from dnatrace.sweeps.spread import CONFIDENCE, Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dnatrace.sweeps.study import Study


def runs_of(study: "Study[Any]") -> pa.Table:
    """Return every number of every summary, one row per label and seed."""
    rows = []
    for label, summaries in study.summaries.items():
        for seed, summary in zip(study.seeds, summaries, strict=True):
            plain = {k: v for k, v in summary.items() if not isinstance(v, dict | list)}
            rows.append({"label": str(label)} | plain | {"seed": seed})
    return pa.Table.from_pylist(rows)


def as_html(study: "Study[Any]", metrics: Sequence[str]) -> str:
    """Return some metrics of every label as an HTML table."""
    head = "".join(f"<th>{html.escape(metric)}</th>" for metric in metrics)
    rows = []
    for label in study.summaries:
        cells = "".join(f"<td>{_cell(study, label, metric)}</td>" for metric in metrics)
        rising = study.n_rising(label)
        where = f" in {rising} of {len(study.seeds)} runs" if len(study.seeds) > 1 else ""
        note = f"<br><mark>I still rising on the last day{where}</mark>" if rising else ""
        rows.append(f"<tr><th>{html.escape(str(label))}{note}</th>{cells}</tr>")
    caption = f"{len(study.seeds)} seeds: mean ± half of the {CONFIDENCE:.0%} interval"
    if study.baseline is not None:
        caption += f"; differences from {html.escape(str(study.baseline))} on the same seeds"
    return f"<table><caption>{caption}</caption><tr><th></th>{head}</tr>{''.join(rows)}</table>"


def _cell(study: "Study[Any]", label: Any, metric: str) -> str:
    one = study.spread(label, metric)
    text = (
        f"{one.mean:.4g} ± {one.half_width:.2g}<br>"
        f"<small>median {one.median:.4g}, p95 {one.p95:.4g}</small>"
    )
    if study.baseline is None or not study.is_comparable(label, study.baseline):
        return text
    gain = study.difference(label, study.baseline, metric)
    return f"{text}<br><small>difference {gain.mean:+.4g} ± {gain.half_width:.2g}</small>"


def draw(axes: "Axes", study: "Study[Any]", metric: str) -> None:
    """Draw a metric of every label, in the unit of the page: a dot per seed, mean and interval."""
    from dnatrace.runs.figures import BLUE, GREY  # noqa: PLC0415  (matplotlib is slow to import)

    labels = list(study.summaries)
    if not labels:
        raise InputError("nothing to draw: no configuration has all of its runs")
    for row, label in enumerate(labels):
        spread = spread_in_unit(study, label, metric)
        dots = np.full(spread.values.size, row)
        axes.plot(spread.values, dots, "o", color=GREY, alpha=0.5, markersize=5)
        low, high = spread.interval
        if np.isfinite(spread.half_width):
            axes.plot([low, high], [row, row], color=BLUE, linewidth=2)
        axes.plot(spread.mean, row, "D", color=BLUE, markersize=7)
    axes.set_yticks(range(len(labels)), [str(label) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlabel(_quantity(metric).name)
    axes.set_title(
        f"{len(study.seeds)} seeds: each, the mean and its {CONFIDENCE:.0%} interval", loc="left"
    )
    axes.spines[["top", "right"]].set_visible(False)


def spread_in_unit(study: "Study[Any]", label: Any, metric: str) -> Spread:
    """Return a metric of a label over the seeds in the unit of the page.

    Raises:
        InputError: the summaries have no such number.
    """
    quantity, stored = _quantity(metric), study.spread(label, metric).values
    people = np.array([s["people"] for s in study.summaries[label]], dtype=np.float64)
    least, most = (float(quantity.in_unit(b, people.min())) for b in quantity.bounds)
    return Spread(values=quantity.in_unit(stored, people), bounds=(least, most))


def _quantity(metric: str) -> Quantity:
    """Return what the page calls a metric; one that it does not show goes by its key."""
    return SUMMARY.get(metric, Quantity(key=metric, label=metric))
