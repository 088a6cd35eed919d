"""What a study found, as a picture: one dot per seed, the mean with its interval beside them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dnatrace.errors import InputError, closest
from dnatrace.runs.figures import BLUE, GREY
from dnatrace.runs.quantities import SUMMARY, Quantity
from dnatrace.sweeps.spread import CONFIDENCE, Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dnatrace.sweeps.study import Study


def draw_study(axes: "Axes", study: "Study[Any]", metric: str) -> None:
    """Draw a metric of every label over the seeds, in the unit of the page."""
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
    summaries = study.summaries[label]
    numbers = [k for k, v in summaries[0].items() if isinstance(v, int | float) and v is not None]
    if metric not in summaries[0]:
        raise InputError(f"there is no '{metric}' in a summary{closest(metric, numbers)}")
    quantity = _quantity(metric)
    stored = np.array([s[metric] for s in summaries], dtype=np.float64)
    people = np.array([s["people"] for s in summaries], dtype=np.float64)
    least, most = (float(quantity.in_unit(b, people.min())) for b in quantity.bounds)
    return Spread(values=quantity.in_unit(stored, people), bounds=(least, most))


def _quantity(metric: str) -> Quantity:
    """Return how the page calls a metric; one it does not show goes by its key."""
    return SUMMARY.get(metric, Quantity(key=metric, label=metric))
