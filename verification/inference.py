"""Which inference finds the infected? `python -m verification.inference --out FILE.md`.

The closed loop in the city, 10,000 people, 100 days, tests for 8, 4, 3 and 2 % of people per day,
on seeds that nothing was chosen on, without privacy. Factorised Neighbours as in the paper, with
two rounds (one exchange), with a smaller prior, with susceptibility by age, with remembered
positives; own-test messages heard once (`one-round`); belief propagation (`bp`); public facts
alone; the oracle; exploration by sampling. Reported: peak of infected people in ‰ with its 90 %
Student-t interval, median and 95th percentile, and the area under the ROC curve of the day.

Then, on the first seeds and 4 % tests, what scores say against what is true: beliefs in tenths,
and areas under the curve among those who were never and those who were once isolated.

`--figure` draws the peak against tests per day beside the page. A store keeps finished runs.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dnatrace.inference.course import EQUAL_AGES
from dnatrace.runs import figures
from dnatrace.runs.config import RunConfig
from dnatrace.runs.metrics import area_under_roc
from dnatrace.runs.run import build_loop
from dnatrace.seir import State
from dnatrace.simulators.base import SEIR_OF_COURSE
from dnatrace.sweeps.results import markdown_table, write_all
from dnatrace.sweeps.study import PER_MILLE, Study
from verification.closed_loop import PEAK, Call, parser, read_call

FIRST_SEED = 15001
CAPACITIES = (0.08, 0.04, 0.03, 0.02)  # share of people tested per day
# Susceptibility of a contact by age: relative susceptibility divided by the mean number of contacts
# (children, adults, elderly), both of OpenABM-Covid19, mean 1.
BY_AGE = [0.6, 0.63, 0.76, 0.84, 0.95, 1.07, 1.22, 2.47, 2.83]
INFERENCES: dict[str, dict[str, Any]] = {
    "fn, as in the paper": {
        "method": "fn",
        "method.own_rounds": 5,
        "method.susceptibility_by_age": list(EQUAL_AGES),
    },
    "fn, 2 rounds": {
        "method": "fn",
        "method.own_rounds": 2,
        "method.susceptibility_by_age": list(EQUAL_AGES),
    },
    "fn, p0 = 1e-5": {
        "method": "fn",
        "method.own_rounds": 5,
        "method.susceptibility_by_age": list(EQUAL_AGES),
        "method.own_infection_from_outside": 1e-5,
    },
    "fn, 2 rounds, by age": {
        "method": "fn",
        "method.own_rounds": 2,
        "method.susceptibility_by_age": BY_AGE,
    },
    "fn, 2 rounds, by age, remembers": {
        "method": "fn",
        "method.own_rounds": 2,
        "method.susceptibility_by_age": BY_AGE,
        "method.remembers_positives": True,
    },
    "one-round": {"method": "one-round"},
    "one-round, by age": {"method": "one-round", "method.susceptibility_by_age": BY_AGE},
    "one-round, p0 learned": {"method": "one-round", "method.outside_share": 0.1},
    "one-round, infected within 14 days": {"method": "one-round", "method.infected_within": 14},
    "one-round, tests drawn by score": {"method": "one-round", "policy.name": "sampled-scores"},
    "bp": {"method": "bp"},
    "public-only": {"method": "public-only"},
    "oracle": {"method": "oracle"},
}
DRAWN = {
    "public-only": figures.GREY,
    "fn, as in the paper": figures.ORANGE,
    "fn, 2 rounds, by age": "#CC79A7",
    "one-round": figures.GREEN,
    "bp": figures.VERMILION,
    "oracle": figures.BLUE,
}
LOOKED_AT = ("fn, as in the paper", "fn, 2 rounds, by age", "one-round", "bp")
N_TENTHS = 10
N_LOOKS = 2  # runs whose scores are compared with the truth
LEGEND = "By age: susceptibility by age group. `bp`, `one-round`: infected within 7 days."
Label = tuple[str, float]


def capacities_of(call: Call) -> list[float]:
    """Return the shares of people tested per day that were asked for."""
    return [float(share) for share in call.options.tests.split(",")]


def configuration(call: Call, name: str, capacity: float) -> RunConfig:
    """Return an inference at a number of tests."""
    settings = INFERENCES[name] | {"tests.capacity": capacity}
    return call.configuration(**settings)


def configurations(call: Call, names: Sequence[str]) -> dict[Label, RunConfig]:
    """Return every inference at every number of tests."""
    return {
        (name, capacity): configuration(call, name, capacity)
        for capacity in capacities_of(call)
        for name in names
    }


def look(config: RunConfig) -> dict[str, Any]:
    """Run one loop and return its scores by tenth, and areas by whether people were isolated.

    True is what the score claims: infected within the days that the method ranks by, or in E or I.
    """
    loop = build_loop(config)
    ever = np.zeros(loop.simulator.n_people, dtype=np.bool_)
    tenths = np.zeros((3, N_TENTHS))  # people, sum of scores, number who are it
    areas: dict[bool, list[float]] = {False: [], True: []}
    for log in loop.run(config.days):
        ever |= log.isolated
        scores = log.released.scores
        claimed = _claimed(config, loop, log)
        free = ~log.isolated
        place = np.minimum((scores[free] * N_TENTHS).astype(int), N_TENTHS - 1)
        for row, values in enumerate((None, scores[free], claimed[free].astype(float))):
            tenths[row] += np.bincount(place, weights=values, minlength=N_TENTHS)
        for isolated_before in (False, True):
            group = free & (ever == isolated_before)
            area = area_under_roc(scores[group], claimed[group])
            if area is not None:
                areas[isolated_before].append(area)
    return {"tenths": tenths, "areas": {k: _mean(v) for k, v in areas.items()}}


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _claimed(config: RunConfig, loop: Any, log: Any) -> Any:
    """Return of whom the score says that they are it: bool [people]."""
    within = getattr(config.method, "infected_within", None)
    if within is None:
        states = SEIR_OF_COURSE[log.states]
        return (states == State.E) | (states == State.I)
    infected_on = loop.simulator.infected_on
    return (infected_on >= 0) & (infected_on > log.day - within)


def calibration(call: Call, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows of tenths and areas at 4 % tests, over the first seeds."""
    rows = []
    for name in names:
        config = configuration(call, name, 0.04)
        looks = [look(config.model_copy(update={"seed": seed})) for seed in call.seeds[:N_LOOKS]]
        rows += [{"inference": name} | row for row in _by_tenth(looks)]
        rows.append({"inference": name} | _areas(looks))
    return rows


def _by_tenth(looks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    people, said, true = sum(one["tenths"] for one in looks)
    return [
        {
            "what": f"scores from {tenth / 10:.1f} to {(tenth + 1) / 10:.1f}",
            "person_days": int(people[tenth]),
            "mean_score": float(said[tenth] / people[tenth]),
            "share_true": float(true[tenth] / people[tenth]),
        }
        for tenth in range(N_TENTHS)
        if people[tenth]
    ]


def _areas(looks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return areas under the curve of people never isolated and isolated once, mean over runs."""
    found = {k: [o["areas"][k] for o in looks if o["areas"][k] is not None] for k in (False, True)}
    return {
        "what": "area under the curve",
        "never_isolated": _mean(found[False]),
        "once_isolated": _mean(found[True]),
    }


def tables(rows: Sequence[Mapping[str, Any]], looked_at: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the page: peaks by inference and tests, then scores against truth."""
    capacities = list(dict.fromkeys(row["tests"] for row in rows))
    cells: dict[str, list[str]] = {}
    for row in rows:
        width = "" if row["half_width"] is None else f" ± {row['half_width']:.1f}"
        shown = f"{row['mean']:.1f}{width} (median {row['median']:.1f})"
        cells.setdefault(row["inference"], []).append(shown)
    head = ["inference", *(f"{c:.0%} tests" for c in capacities)]
    lines = markdown_table(head, [[name, *texts] for name, texts in cells.items()])
    lines += ["", "## Scores against truth, 4 % tests", ""]
    lines += ["A score claims an infection within the days it ranks by, or E or I (`fn`).", ""]
    tenths = [row for row in looked_at if "share_true" in row]
    lines += markdown_table(
        ["inference", "what", "person-days", "mean score", "share true"],
        [
            [r["inference"], r["what"], f"{r['person_days']:,}"]
            + [f"{r[k]:.4f}" for k in ("mean_score", "share_true")]
            for r in tenths
        ],
    )
    areas = [row for row in looked_at if "never_isolated" in row]
    lines += ["", "Area under the ROC curve, by whether people were ever isolated:", ""]
    names = ("never_isolated", "once_isolated")
    return lines + markdown_table(
        ["inference", "never isolated", "isolated before"],
        [[r["inference"], *("–" if r[k] is None else f"{r[k]:.3f}" for k in names)] for r in areas],
    )


def draw(study: Study[Label], capacities: Sequence[float]) -> Figure:
    """Draw the peak against tests per day."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, colour in DRAWN.items():
        if (name, capacities[0]) not in study.summaries:
            continue
        peaks = [study.spread((name, c), PEAK, scale=PER_MILLE) for c in capacities]
        means = np.array([peak.mean for peak in peaks])
        above = np.array([peak.half_width for peak in peaks])
        below = np.minimum(above, 0.9 * means)
        places = [100 * c for c in capacities]
        axes.errorbar(
            places, means, yerr=(below, above), capsize=2, marker=".", label=name, color=colour
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("tests per day, % of people")
    axes.set_ylabel("peak infection rate, ‰ (mean, 90 % interval)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small")
    return figure


def with_areas(rows: Sequence[dict[str, Any]], study: Study[Label]) -> list[dict[str, Any]]:
    """Return rows with the area under the curve of the day, mean over seeds."""
    areas = [study.spread(label, "auroc").mean for label in study.summaries]
    return [row | {"auroc": float(area)} for row, area in zip(rows, areas, strict=True)]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=20, first_seed=FIRST_SEED)
    options.add_argument("--figure", action="store_true", help="an SVG beside the page")
    options.add_argument("--only", help="inferences, separated by semicolons")
    usual = ",".join(map(str, CAPACITIES))
    options.add_argument("--tests", default=usual, help=f"shares tested per day ({usual})")
    call = read_call(options, "verification.inference", arguments)
    names = call.options.only.split(";") if call.options.only else list(INFERENCES)
    study = call.study(configurations(call, names))
    if call.options.figure and call.options.out is not None:
        figure = draw(study, capacities_of(call))
        out = call.options.out
        write_all(figures.rendered(figure, out.stem, ("svg",)), out.parent)
    rows = with_areas(study.rows(("inference", "tests")), study)
    looked_at = calibration(call, [name for name in LOOKED_AT if name in names])
    call.report(
        rows,
        title="Inference without privacy",
        notes=["Peak of infected people in ‰, mean ± half width.", LEGEND],
        tables=tables(rows, looked_at),
        calibration=looked_at,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
