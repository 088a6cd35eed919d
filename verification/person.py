r"""How far do guarantees about a person get? `python -m verification.person --out FILE.md`.

The closed loop in the city, 10,000 people, 100 days, on seeds that nothing was trained or chosen
on. `headcount` in both variants against ε of one test of a person, for ever, against one receiver,
with tests for 8, 4 and 2 % of people per day; beside it the floor, `public-facts`, which uses no
message, and `fn`, which has every message and no privacy. Reported: peak of infected people in ‰
with its 90 % Student-t interval, median and 95th percentile, and the difference to the floor paired
by seed. A figure goes beside the table.

`--curve FILE.csv` also writes what runs are told of the floor: the table as it ships in
src/dnatrace/reference_data/person_curve.csv. A store keeps finished runs, so that an interrupted
call resumes. Four seconds per run on one core.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dnatrace.methods.headcount import DECODERS, HeadcountRelease
from dnatrace.methods.public_facts import FLOOR
from dnatrace.networks.decoder import load_decoder
from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.results import as_csv, write_all
from verification.closed_loop import Call, parser, read_call
from verification.person_figure import drawn

FIRST_SEED = 7001
CAPACITIES = (0.08, 0.04, 0.02)
EPSILONS = (0.1, 0.2, 1.0, 5.02, 18.0, 70.0, 255.0)  # of a person; the last four are 1, 3, 10 and
# 30 per daily release
NO_EPSILON = "–"
COLUMNS = ("method", "release", "capacity", "epsilon")
KEPT = (*COLUMNS, "runs", "mean", "half_width", "median", "p95", "difference")

Label = tuple[str, str, float, Any]


def configurations(call: Call) -> dict[Label, RunConfig]:
    """Return everything that is run, by label."""
    configs: dict[Label, RunConfig] = {}
    for capacity in call.some(call.options.capacities):
        few = {"tests.capacity": capacity}
        configs[FLOOR, "", capacity, NO_EPSILON] = call.configuration(method=FLOOR, **few)
        configs["fn", "", capacity, NO_EPSILON] = call.configuration(method="fn", **few)
        for release in HeadcountRelease:
            for epsilon in call.some(call.options.epsilons):
                asked = {"epsilon": epsilon, "unit": "person", "release": release.value}
                label = "headcount", release.value, capacity, epsilon
                configs[label] = call.configuration(method="headcount", **few, **asked)
    return configs


def baselines(labels: Sequence[Label]) -> dict[Label, Label]:
    """Return the floor at the same number of tests."""
    floor = {label: (FLOOR, "", label[2], NO_EPSILON) for label in labels}
    return {label: beside for label, beside in floor.items() if label != beside}


def numbers(text: str) -> tuple[float, ...]:
    """Return numbers that are separated by commas."""
    return tuple(float(part) for part in text.split(","))


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=20, first_seed=FIRST_SEED)
    options.add_argument("--curve", type=Path, help="a CSV file for the package")
    options.add_argument("--capacities", type=numbers, default=CAPACITIES)
    options.add_argument("--epsilons", type=numbers, default=EPSILONS)
    call = read_call(options, "verification.person", arguments)
    configs = configurations(call)
    study = call.study(configs)
    rows = study.rows(COLUMNS, baselines=baselines(list(configs)))
    decoders = {name: load_decoder(name).digest for name in (*DECODERS.values(), FLOOR)}
    call.report(
        rows,
        title="A guarantee about a person: peak against ε",
        notes=[
            "Peak of infected people in ‰; ε is of one test of a person, for ever, against one "
            "receiver, at δ = 0.001.",
            "Difference: to public facts alone, without any message, paired by seed.",
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
