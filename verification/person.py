r"""How far do guarantees about a person get? `python -m verification.person --out FILE.md`.

The closed loop in the city, 10,000 people, 100 days, on seeds that nothing was trained or chosen
on. `headcount` in both variants against ε of one test of a person, for ever, against one receiver,
from 0.1 to 300, with tests for 8, 4 and 2 % of people per day. It is compared with the floor,
`public-facts`, which uses no message, and, without privacy, with `fn`, the best inference with
every message, and `fn` as in the paper. The report gives the peak of infected people in ‰ with its
90 % Student-t interval, median and 95th percentile, and the difference from the floor paired by
seed. A figure goes next to the table.

Rows with an aim, and what they are compared with, have all seeds, the rest of the curve the first
`--curve-seeds` of them. `--curve FILE.csv` also writes what runs say about the floor: the table
that ships as src/dnatrace/reference_data/person_curve.csv. A store keeps finished runs, so that an
interrupted call resumes. A run takes four seconds on one core.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dnatrace.methods.headcount import DECODERS, HeadcountRelease
from dnatrace.methods.public_facts import FLOOR
from dnatrace.networks.decoder import load_decoder
from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.results import as_csv, write_all
from verification.closed_loop import Call, parser, read_call
from verification.inference import INFERENCES
from verification.person_figure import drawn

FIRST_SEED = 8001  # 7001 to 7020 were used with earlier decoders
EPSILONS = (0.1, 1.0, 5.02, 18.0, 70.0, 300.0)  # of a person
# Rows with an aim: tests per day, and ε; the larger ones are 1, 3, 10 and 30 per daily release.
AIMS = {0.08: (0.2, 1.0, 5.02), 0.04: (5.02, 18.0, 70.0, 255.0), 0.02: ()}
AS_IN_THE_PAPER = INFERENCES["fn, as in the paper"]
NO_EPSILON = "–"
PAPER = "as in the paper"
COLUMNS = ("method", "release", "capacity", "epsilon")
KEPT = (*COLUMNS, "runs", "mean", "half_width", "median", "p95", "difference")

Label = tuple[str, str, float, Any]


def configurations(call: Call) -> dict[Label, RunConfig]:
    """Return everything that is run, by label."""
    configs: dict[Label, RunConfig] = {}
    for capacity, aims in call.some(list(AIMS.items())):
        few: dict[str, Any] = {"tests.capacity": capacity}
        configs[FLOOR, "", capacity, NO_EPSILON] = call.configuration(method=FLOOR, **few)
        configs["fn", "", capacity, NO_EPSILON] = call.configuration(method="fn", **few)
        paper = call.configuration(**AS_IN_THE_PAPER, **few)
        configs["fn", PAPER, capacity, NO_EPSILON] = paper
        for release in HeadcountRelease:
            for epsilon in call.some(sorted({*EPSILONS, *aims})):
                asked: dict[str, Any] = {
                    "epsilon": epsilon,
                    "unit": "person",
                    "release": release.value,
                }
                label = "headcount", release.value, capacity, epsilon
                configs[label] = call.configuration(method="headcount", **few, **asked)
    return configs


def has_all_seeds(label: Label) -> bool:
    """Return whether a row has an aim, or others are compared with it."""
    _, release, capacity, epsilon = label
    aims = AIMS[capacity]
    return epsilon in aims or (epsilon == NO_EPSILON and release != PAPER and bool(aims))


def found(call: Call, configs: dict[Label, RunConfig]) -> list[dict[str, Any]]:
    """Return the rows of all labels; those without an aim have only the first seeds."""
    first = call.seeds[: call.options.curve_seeds]
    with_aim = {label: config for label, config in configs.items() if has_all_seeds(label)}
    rows: dict[Label, dict[str, Any]] = {}
    with TemporaryDirectory() as scratch:
        store = call.options.store or Path(scratch)
        for some, seeds in ((with_aim, call.seeds), (configs, first)):
            study = call.study(some, seeds, store=store)
            table = study.rows(COLUMNS, baselines=baselines(list(some)))
            rows = dict(zip(study.summaries, table, strict=True)) | rows
    return [rows[label] for label in configs]


def baselines(labels: Sequence[Label]) -> dict[Label, Label]:
    """Return the floor at the same number of tests."""
    floor = {label: (FLOOR, "", label[2], NO_EPSILON) for label in labels}
    return {label: beside for label, beside in floor.items() if label != beside}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=20, first_seed=FIRST_SEED)
    options.add_argument("--curve", type=Path, help="a CSV file for the package")
    options.add_argument("--curve-seeds", type=int, default=8, help="seeds of rows without an aim")
    call = read_call(options, "verification.person", arguments)
    rows = found(call, configurations(call))
    decoders = {name: load_decoder(name).digest for name in (*DECODERS.values(), FLOOR)}
    call.report(
        rows,
        title="A guarantee about a person: peak against ε",
        notes=[
            "Peak of infected people in ‰; ε is of one test of a person, for ever, against one "
            "receiver, at δ = 0.001.",
            "Difference: to public facts alone, without any message, paired by seed.",
            f"Rows without an aim: the first {call.options.curve_seeds} seeds (`runs`).",
            "`fn`: two rounds and susceptibility by age, the best inference without privacy.",
        ],
        decoders=decoders,
    )
    if call.options.out is not None:
        stem = call.options.out.stem
        write_all({f"{stem}.svg": drawn(rows, quick=call.quick)}, call.options.out.parent)
    if call.options.curve is not None:
        kept = [{name: row[name] for name in (*KEPT, "difference_half_width")} for row in rows]
        write_all({call.options.curve.name: as_csv(kept)}, call.options.curve.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
