"""Which inference finds the infected? `python -m verification.inference --out FILE.md`.

The closed loop, 10,000 people, 100 days, tests for 8, 4, 3 and 2 % of people per day, on seeds that
nothing was chosen on. Factorised Neighbours as in the paper, with two rounds (one exchange), with a
smaller prior, with susceptibility by age, with remembered positives; own-test messages heard once
(`one-round`) and several times; belief propagation (`bp`) from yesterday's messages and from
silence; own tests counted and read by the decoder of `headcount` almost without noise; public facts
alone; the oracle; exploration by sampling. The report gives the peak of infected people in ‰ with
its 90 % Student-t interval and median, and the area under the ROC curve of the day.

The whole table has every row at 4 % tests, and those of the figure at the other numbers of tests:
twenty seeds, ten for rows that only compare one setting, eight where people with symptoms are
tested. `--only` takes some rows, at all numbers of tests and on all seeds.

`--symptoms` also tests people with symptoms, `--simulator covasim`, `--people` and `--days` choose
another world, `--figure` draws the peak against tests per day next to the page, `--look` compares
scores with the truth on the first seeds at 4 % tests: beliefs in tenths, and areas under the curve
among people who were never isolated and people who were. A store keeps what is finished;
`--finished` reports the runs that it has and makes none: each row has the first of the seeds, up to
the first that is missing.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dnatrace.inference.course import EQUAL_AGES
from dnatrace.runs import figures
from dnatrace.runs.config import RunConfig
from dnatrace.runs.metrics import area_under_roc
from dnatrace.runs.run import build_loop
from dnatrace.seir import State
from dnatrace.simulators.base import SEIR_OF_COURSE
from dnatrace.sweeps.results import as_json, markdown_table, write_all
from dnatrace.sweeps.study import Study
from verification.closed_loop import Call, finished_or_run, parser, read_call
from verification.inference_figure import DRAWN, drawn

FIRST_SEED = 16001
CAPACITIES = (0.08, 0.04, 0.03, 0.02)  # share of people tested per day
# Susceptibility of a contact by age: relative susceptibility divided by the mean number of contacts
# (children, adults, elderly), both of OpenABM-Covid19, mean 1.
BY_AGE = [0.6, 0.63, 0.76, 0.84, 0.95, 1.07, 1.22, 2.47, 2.83]
COUNTED: dict[str, Any] = {"method": "headcount", "unit": "person"}
EQUAL = list(EQUAL_AGES)


def of_fn(rounds: int, ages: list[float], **more: Any) -> dict[str, Any]:
    """Return settings of `fn` with its own rounds and susceptibilities."""
    own = {"own_rounds": rounds, "susceptibility_by_age": ages} | more
    return {"method": "fn"} | {f"method.{name}": value for name, value in own.items()}


INFERENCES: dict[str, dict[str, Any]] = {
    "fn, as in the paper": of_fn(5, EQUAL),
    "fn, 2 rounds": of_fn(2, EQUAL),
    "fn, p0 = 1e-5": of_fn(5, EQUAL, own_infection_from_outside=1e-5),
    "fn, 2 rounds, by age": of_fn(2, BY_AGE),
    "fn, 2 rounds, by age, p0 = 1e-4": of_fn(2, BY_AGE, own_infection_from_outside=1e-4),
    "fn, 2 rounds, by age, p0 learned": of_fn(2, BY_AGE, outside_share=0.1),
    "fn, 2 rounds, by age, remembers": of_fn(2, BY_AGE, remembers_positives=True),
    "fn, 2 rounds, by age, P(I) alone": of_fn(2, BY_AGE, score="infected"),
    "fn, 2 rounds, by age, times contacts": of_fn(2, BY_AGE, contacts_power=1.0),
    "fn, 3 rounds, by age": of_fn(3, BY_AGE),
    "fn, 3 rounds, by age, cavity": of_fn(3, BY_AGE, cavity=True),
    "fn, 5 rounds, by age": of_fn(5, BY_AGE),
    "fn, 5 rounds, by age, cavity": of_fn(5, BY_AGE, cavity=True),
    "one-round": {"method": "one-round"},
    "one-round, by age": {"method": "one-round", "method.susceptibility_by_age": BY_AGE},
    "one-round, p0 learned": {"method": "one-round", "method.outside_share": 0.1},
    "one-round, infected within 14 days": {"method": "one-round", "method.infected_within": 14},
    "one-round, tests drawn by score": {"method": "one-round", "policy.name": "sampled-scores"},
    "bp": {"method": "bp"},
    "bp, by age": {"method": "bp", "method.susceptibility_by_age": BY_AGE},
    "bp, nobody repeats": {"method": "bp", "method.quiet": 0.0},
    "bp, 4 rounds": {"method": "bp", "method.rounds": 4},
    "bp, tests drawn by score": {"method": "bp", "policy.name": "sampled-scores"},
    "bp, 4 cold rounds": {
        "method": "bp",
        "method.rounds": 4,
        "method.warm_start": False,
        "method.quiet": 0.0,
    },
    "no cavity, 4 cold rounds": {"method": "one-round", "method.exchanges": 4},
    "own tests counted, least noise": COUNTED | {"epsilon": 255.0},
    "own tests counted, no noise": COUNTED | {"epsilon": 1e5},
    "public facts": {"method": "public-facts"},
    "public-only": {"method": "public-only"},
    "oracle": {"method": "oracle"},
}
MEASURED_OUTSIDE = (
    "sib, belief propagation in C++, with the contacts and tests of this city, measured outside "
    "this package: 0.8 ‰ at 4 % tests (one seed, 2,100 s of processor time)."
)
# Baker et al. 2021: all severe and half of the mild cases are tested; other illness as in the
# scenario `scarce`.
ASKING = {
    "policy.name": "levers",
    "policy.symptoms.severe": 1.0,
    "policy.symptoms.mild": 0.5,
}
# The rows of the whole table; each of the second list asks what one setting does to one of these.
MAIN = (
    "fn, as in the paper",
    "fn, 2 rounds",
    "fn, p0 = 1e-5",
    "fn, 2 rounds, by age",
    "one-round",
    "bp",
    "bp, 4 cold rounds",
    "no cavity, 4 cold rounds",
    "own tests counted, no noise",
    "public facts",
    "oracle",
)
ONE_SETTING = (
    "fn, 2 rounds, by age, p0 = 1e-4",
    "fn, 2 rounds, by age, p0 learned",
    "fn, 2 rounds, by age, remembers",
    "fn, 2 rounds, by age, P(I) alone",
    "fn, 2 rounds, by age, times contacts",
    "fn, 3 rounds, by age",
    "fn, 3 rounds, by age, cavity",
    "fn, 5 rounds, by age",
    "fn, 5 rounds, by age, cavity",
    "one-round, by age",
    "one-round, p0 learned",
    "one-round, infected within 14 days",
    "one-round, tests drawn by score",
    "bp, 4 rounds",
    "own tests counted, least noise",
)
N_ONE_SETTING, N_SYMPTOMS = 10, 8  # seeds of these rows, and of all where symptoms are tested
ALL_ROWS_AT = 0.04  # share tested per day at which every row is run
LOOKED_AT = ("fn, as in the paper", "fn, 2 rounds, by age", "one-round", "bp")
N_TENTHS = 10
N_LOOKS = 2  # runs whose scores are compared with the truth
AREAS = {
    "never_isolated": "never isolated",
    "once_isolated": "isolated before",
    "everybody": "everybody, isolated or not",
    "exposed_or_infected": "everybody, of E or I",
}
LEGEND = (
    "By age: susceptibility by age group. `bp`, `one-round`: infected within 7 days. No cavity: "
    "marginals over days of infection. Own tests counted: `headcount` with the decoder that ships, "
    "at the least noise it was trained for (ε = 255 for a person) and at almost none (1e5)."
)
AREA = (
    "AUROC: of the day's scores for E or I among people who are not isolated, mean over days and "
    "seeds. `bp` and `one-round` rank recent infections: who leaves isolation still infected "
    "counts against them. Areas over everybody are below."
)
PEAKS = "Peak of infected people in ‰, mean ± half width."
FEWER = "n: runs of a row that has fewer, the first of these seeds; –: not run."
WORLD = ("simulator", "people", "days")  # options that change the setting of all rows
Label = tuple[str, float, bool]  # inference, share tested per day, whether symptoms are tested


def capacities_of(call: Call) -> list[float]:
    """Return the shares of people tested per day that were asked for."""
    return [float(share) for share in call.options.tests.split(",")]


def configuration(call: Call, name: str, capacity: float, symptoms: bool = False) -> RunConfig:
    """Return an inference at a number of tests."""
    settings = INFERENCES[name] | {"tests.capacity": capacity} | (ASKING if symptoms else {})
    world = {option: getattr(call.options, option) for option in WORLD}
    settings |= {option: value for option, value in world.items() if value is not None}
    return call.configuration(**settings)


def configurations(call: Call) -> dict[Label, RunConfig]:
    """Return the inferences that were asked for, or those of the whole table."""
    symptoms = [False, True] if call.options.symptoms else [False]
    return {
        (name, capacity, asked): configuration(call, name, capacity, asked)
        for asked in symptoms
        for capacity in capacities_of(call)
        for name in names_of(call)
        if not (asked and "policy.name" in INFERENCES[name])
        and (call.options.only or _in_the_table(name, capacity, asked))
    }


def names_of(call: Call) -> list[str]:
    """Return the inferences that were asked for, or those of the whole table, in its order."""
    if call.options.only:
        return list(call.options.only.split(";"))
    return [name for name in INFERENCES if name in (*MAIN, *ONE_SETTING)]


def _in_the_table(name: str, capacity: float, symptoms: bool) -> bool:
    return name in DRAWN or (capacity == ALL_ROWS_AT and not symptoms)


def seeds_of(call: Call, label: Label) -> tuple[int, ...]:
    """Return the seeds of a row: in the whole table the first ones for some of them."""
    name, _, symptoms = label
    if call.options.only:
        return call.seeds
    if symptoms:
        return call.seeds[:N_SYMPTOMS]
    return call.seeds[:N_ONE_SETTING] if name in ONE_SETTING else call.seeds


def look(config: RunConfig) -> dict[str, Any]:
    """Run one loop and return its scores by tenth, and areas by whether people were isolated.

    A person is positive if what the score claims is true: infected within the days that the method
    ranks by, or in E or I; the last area is for E or I for every method.
    """
    loop = build_loop(config)
    ever = np.zeros(loop.simulator.n_people, dtype=np.bool_)
    tenths = np.zeros((3, N_TENTHS))  # people, sum of scores, number of positives
    areas: dict[str, list[float]] = {name: [] for name in AREAS}
    for log in loop.run(config.days):
        ever |= log.isolated
        scores = log.released.scores
        claimed = _claimed(config, loop, log)
        free = ~log.isolated
        place = np.minimum((scores[free] * N_TENTHS).astype(int), N_TENTHS - 1)
        for row, values in enumerate((None, scores[free], claimed[free].astype(float))):
            tenths[row] += np.bincount(place, weights=values, minlength=N_TENTHS)
        everybody = np.ones_like(free)
        groups = (free & ~ever, free & ever, everybody, everybody)
        truths = (claimed, claimed, claimed, _exposed_or_infected(log))
        for found, group, truth in zip(areas.values(), groups, truths, strict=True):
            area = area_under_roc(scores[group], truth[group])
            found.extend([] if area is None else [area])
    return {"tenths": tenths.tolist(), "areas": {k: _mean(v) for k, v in areas.items()}}


def looked(call: Call, config: RunConfig) -> dict[str, Any]:
    """Return what `look` returns; the store of the call keeps it."""
    if call.options.store is None:
        return look(config)
    kept = call.options.store / f"look-{config.digest}.json"
    if not kept.exists():
        write_all({kept.name: as_json(look(config))}, kept.parent)
    found: dict[str, Any] = json.loads(kept.read_text())
    return found


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _claimed(config: RunConfig, loop: Any, log: Any) -> Any:
    """Return for whom the claim of the score is true: bool [people]."""
    within = getattr(config.method, "infected_within", None)
    if within is None:
        return _exposed_or_infected(log)
    infected_on = loop.simulator.infected_on
    return (infected_on >= 0) & (infected_on > log.day - within)


def _exposed_or_infected(log: Any) -> Any:
    states = SEIR_OF_COURSE[log.states]
    return (states == State.E) | (states == State.I)


def calibration(call: Call, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows of tenths and areas at 4 % tests, over the first seeds."""
    rows = []
    for name in names:
        config = configuration(call, name, 0.04)
        runs = [config.model_copy(update={"seed": seed}) for seed in call.seeds[:N_LOOKS]]
        looks = [looked(call, run) for run in runs]
        rows += [{"inference": name} | row for row in _by_tenth(looks)]
        rows.append({"inference": name} | _areas(looks))
    return rows


def _by_tenth(looks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    people, said, true = np.sum([one["tenths"] for one in looks], axis=0)
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
    """Return areas under the curve of people by whether they were isolated, mean over runs."""
    found = {k: [o["areas"][k] for o in looks if o["areas"][k] is not None] for k in AREAS}
    return {"what": "area under the curve"} | {k: _mean(values) for k, values in found.items()}


def peaks(rows: Sequence[Mapping[str, Any]], symptoms: bool) -> list[str]:
    """Return the table of peaks and areas by inference and tests."""
    chosen = [row for row in rows if row["symptoms"] == symptoms]
    capacities = sorted({row["tests"] for row in chosen}, reverse=True)
    most = max(row["runs"] for row in rows)
    cells = {(row["inference"], row["tests"]): _peak(row, most) for row in chosen}
    head = ["inference", *(f"{c:.0%} tests" for c in capacities)]
    names = [name for name in INFERENCES if any(row["inference"] == name for row in chosen)]
    return markdown_table(head, [[n, *(cells.get((n, c), "–") for c in capacities)] for n in names])


def _peak(row: Mapping[str, Any], most: int) -> str:
    width = "" if row["half_width"] is None else f" ± {row['half_width']:.1f}"
    runs = f", n = {row['runs']}" if row["runs"] < most else ""
    return f"{row['mean']:.1f}{width} (median {row['median']:.1f}, AUROC {row['auroc']:.2f}{runs})"


def tables(rows: Sequence[Mapping[str, Any]], looked_at: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the page: peaks by inference and tests, then scores against truth."""
    lines = peaks(rows, symptoms=False)
    if any(row["symptoms"] for row in rows):
        lines += ["", "## People with symptoms are tested besides", ""]
        lines += ["All severe and half of the mild cases, on the day they fall ill.", ""]
        lines += peaks(rows, symptoms=True)
    return lines + (against_truth(looked_at) if looked_at else [])


def against_truth(looked_at: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the tables of scores against truth."""
    lines = ["", "## Scores against truth, 4 % tests", ""]
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
    return lines + markdown_table(
        ["inference", *AREAS.values()],
        [[r["inference"], *("–" if r[k] is None else f"{r[k]:.3f}" for k in AREAS)] for r in areas],
    )


def row_of(study: Study[Label], label: Label) -> dict[str, Any]:
    """Return the peak of a label with the area under the curve of the day, mean over seeds."""
    alone = replace(study, summaries={label: study.summaries[label]})
    [row] = alone.rows(("inference", "tests", "symptoms"))
    return row | {"auroc": float(study.spread(label, "auroc").mean)}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=20, first_seed=FIRST_SEED, may_be_unfinished=True)
    options.add_argument("--figure", action="store_true", help="an SVG next to the page")
    options.add_argument("--only", help="inferences, separated by semicolons, everywhere")
    options.add_argument("--symptoms", action="store_true", help="also test people with symptoms")
    options.add_argument("--simulator", help="a world other than the city: covasim, openabm")
    options.add_argument("--people", type=int, help="its number of people (default 10,000)")
    options.add_argument("--days", type=int, help="length of a run (default 100)")
    options.add_argument("--look", action="store_true", help="compare scores with the truth")
    usual = ",".join(map(str, CAPACITIES))
    options.add_argument("--tests", default=usual, help=f"shares tested per day ({usual})")
    call = read_call(options, "verification.inference", arguments)
    configs = configurations(call)
    found = finished_or_run(options, call, configs, {x: seeds_of(call, x) for x in configs})
    rows = [row_of(study, label) for label, study in found.items()]
    if call.options.figure and call.options.out is not None:
        out = call.options.out
        write_all(figures.rendered(drawn(rows), out.stem, ("svg",)), out.parent)
    looks = [name for name in LOOKED_AT if name in names_of(call) and call.options.look]
    looked_at = calibration(call, looks)
    call.report(
        rows,
        title="Inference without privacy",
        notes=[
            PEAKS,
            FEWER,
            LEGEND,
            AREA,
            *([] if call.options.simulator else [MEASURED_OUTSIDE]),
        ],
        tables=tables(rows, looked_at),
        calibration=looked_at,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
