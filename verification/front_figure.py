"""The picture of the README, from results that are kept: `python -m verification.front_figure`.

Left, what inference reaches without privacy, against tests per day; then, with a promise to every
person, the peak against ε, where tests are plenty and where they are scarce. Reads
docs/results/inference.json and person.json, runs nothing, and writes docs/results/front.svg.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from dnatrace.runs import figures
from dnatrace.sweeps.results import write_all
from verification import inference_figure, person_figure

RESULTS = Path(__file__).parents[1] / "docs" / "results"
CAPACITIES = (0.08, 0.04)  # of the panels against ε, share of people tested per day
SHOWN = ("public facts", "fn, as in the paper", "fn, 2 rounds, by age", "bp", "oracle")
_KEPT = ("inference", "person")  # names of the results, in the order of `drawn`
_SMALL: dict[str, Any] = {"frameon": False, "fontsize": "x-small"}

Rows = Sequence[dict[str, Any]]


def drawn(inference: Rows, person: Rows) -> Figure:
    """Return the figure: one panel by inference, one per number of tests against ε."""
    figure = Figure(figsize=(11.5, 4.0), layout="constrained")
    without, *private = figure.subplots(1, 1 + len(CAPACITIES), sharey=True)
    colours = {name: inference_figure.DRAWN[name] for name in SHOWN}
    inference_figure.draw(without, inference, colours)
    without.set_title("without privacy, by inference", loc="left", fontsize="medium")
    without.set_ylabel("peak of infected people, ‰ (mean, 90 % interval)")
    for axes, capacity in zip(private, CAPACITIES, strict=True):
        person_figure.draw(axes, [row for row in person if row["capacity"] == capacity])
        title = f"private, tests for {100 * capacity:g} % of people per day"
        axes.set_title(title, loc="left", fontsize="medium")
    without.legend(**_SMALL)
    private[0].legend(**_SMALL)
    without.set_ylim(bottom=person_figure.LOWEST)  # once all is drawn: panels share the axis
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "front.svg")
    options = parser.parse_args(arguments)
    kept = [json.loads((RESULTS / f"{name}.json").read_text("utf-8")) for name in _KEPT]
    figure = drawn(*(one["rows"] for one in kept))
    write_all(figures.rendered(figure, options.out.stem, ("svg",)), options.out.parent)
    print(f"wrote {options.out.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
