"""Private methods by what they promise: `python -m verification.units --out FILE.md`.

The closed loop in the city, 10,000 people, 100 days, preset `standard`, tests for 8, 4 and 2 % of
people per day, on seeds that nothing was trained or chosen on. Side by side: a promise about a
message (ε = 1 per release: `tally`, `dna`, `dpfn-s`, `headcount`) and one about a person (one test
of somebody, for ever: `headcount` alone has it). Methods that read messages after rounds run with
the five rounds of the paper and with one exchange (two rounds), which has no echo; `tally` also
with the largest beliefs after that exchange and the decoder trained on them (release `largest`).

They are compared with bounds without privacy: the best inference with every message (`fn` of the
preset), own tests counted with no noise and largest beliefs counted with no noise, each read by the
shipped decoder; and with the floor, which uses no message. The report gives the peak of infected
people in ‰ with its 90 % Student-t interval, and how far each is from the first two bounds, paired
by seed. A store keeps finished runs; `--finished` reports the runs that it has; `--method tally`
keeps to the rows of one method.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dnatrace.methods.public_facts import FLOOR
from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.results import markdown_table
from dnatrace.sweeps.study import PER_MILLE, Study
from verification.closed_loop import PEAK, Call, finished_or_run, parser, read_call
from verification.inference import INFERENCES

FIRST_SEED = 17001
CAPACITIES = (0.08, 0.04, 0.02)
ONE_EXCHANGE = {"seir.rounds": 2}
FIVE, ONE, OWN, NO_ROUNDS = "five rounds", "one exchange", "own tests", "–"
MOST = "largest of one exchange"
BEST, COUNTED = "best inference", "own tests counted, no noise"
LARGEST = "largest beliefs counted, no noise"
BOUNDS: dict[str, dict[str, Any]] = {
    BEST: {"method": "fn"},
    COUNTED: INFERENCES[COUNTED],
    LARGEST: {"method": "tally", "release": "largest", "epsilon": 1e5, "unit": "release"},
    "public facts": {"method": FLOOR},
    "oracle": {"method": "oracle"},
}
# Name, release, messages; methods that read those of rounds also run with one exchange.
MESSAGE_LEVEL = (
    ("tally", None, FIVE),
    ("tally", "largest", MOST),
    ("dna", None, FIVE),
    ("dpfn-s", None, FIVE),
    ("headcount", "daily", OWN),
    ("headcount", "news", OWN),
)
PERSON_LEVEL = (("headcount", "daily"), ("headcount", "news"))
PERSON_EPSILONS = (1.0, 5.02, 18.0)
COLUMNS = ("method", "exchange", "unit", "epsilon", "tests")
SHOWN = ("method", "messages", "promise", "ε of one test of a person")

Label = tuple[str, str, str, float | None, float]


def settings() -> dict[tuple[str, str, str, float | None], dict[str, Any]]:
    """Return the settings of every row, whatever the number of tests."""
    found: dict[tuple[str, str, str, float | None], dict[str, Any]] = {
        (name, NO_ROUNDS, NO_ROUNDS, None): given for name, given in BOUNDS.items()
    }
    for method, release, messages in MESSAGE_LEVEL:
        given: dict[str, Any] = {"method": method, "epsilon": 1.0, "unit": "release"}
        given |= {} if release is None else {"release": release}
        name = method if release is None else f"{method}, {release}"
        found[name, messages, "release", 1.0] = given
        if messages == FIVE:
            found[name, ONE, "release", 1.0] = given | ONE_EXCHANGE
    for method, release in PERSON_LEVEL:
        for epsilon in PERSON_EPSILONS:
            given = {"method": method, "release": release, "unit": "person", "epsilon": epsilon}
            found[f"{method}, {release}", OWN, "person", epsilon] = given
    return found


def configurations(call: Call) -> dict[Label, RunConfig]:
    """Return every row at every number of tests."""
    return {
        (*label, capacity): call.configuration(**(given | {"tests.capacity": capacity}))
        for capacity in call.some(CAPACITIES)
        for label, given in settings().items()
        if call.options.method in (None, given["method"])
    }


def row_of(label: Label, found: Mapping[Label, Study[Label]]) -> dict[str, Any]:
    """Return the peak of a row, and its distance from the bounds on the seeds that both have."""
    study, capacity = found[label], label[-1]
    alone = replace(study, summaries={label: study.summaries[label]})
    [row] = alone.rows(COLUMNS)
    row["person_epsilon"] = study.summaries[label][0]["privacy"]["per_person_epsilon"]
    for name, bound in (("to_best", BEST), ("to_counted", COUNTED)):
        other = (bound, NO_ROUNDS, NO_ROUNDS, None, capacity)
        row[name] = row[f"{name}_half_width"] = None
        if other == label or other not in found:
            continue
        both = min(len(study.seeds), len(found[other].seeds))
        pair = {x: found[x].summaries[x][:both] for x in (label, other)}
        paired = replace(study, seeds=study.seeds[:both], summaries=pair)
        distance = paired.difference(label, other, PEAK, scale=PER_MILLE)
        row[name], row[f"{name}_half_width"] = distance.mean, distance.half_width
    return row


def tables(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the page: one table per number of tests."""
    lines = []
    for capacity in dict.fromkeys(row["tests"] for row in rows):
        lines += [f"## {capacity:.0%} of people tested per day", ""]
        head = [*SHOWN, "n", "peak", f"to {BEST}", f"to {COUNTED}"]
        chosen = [row for row in rows if row["tests"] == capacity]
        lines += [*markdown_table(head, [cells(row) for row in chosen]), ""]
    return lines[:-1]


def cells(row: Mapping[str, Any]) -> list[str]:
    """Return a row of the page."""
    promise = "–" if row["epsilon"] is None else f"ε = {row['epsilon']:g}, {row['unit']}"
    person = row["person_epsilon"]
    bound = "no bound" if person is None else f"{person:.3g}"
    if row["epsilon"] is None:
        bound = "–"
    names = [row["method"], row["exchange"], promise, bound, str(row["runs"])]
    return [*names, _with_width(row, "mean", "half_width")] + [
        _with_width(row, name, f"{name}_half_width") for name in ("to_best", "to_counted")
    ]


def _with_width(row: Mapping[str, Any], name: str, width: str) -> str:
    if row[name] is None:
        return "–"
    return f"{row[name]:.1f}" + ("" if row[width] is None else f" ± {row[width]:.1f}")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=8, first_seed=FIRST_SEED, may_be_unfinished=True)
    options.add_argument("--method", help="keep to the rows of this method")
    call = read_call(options, "verification.units", arguments)
    found = finished_or_run(options, call, configurations(call))
    rows = [row_of(label, found) for label in found]
    call.report(
        rows,
        title="Private methods by what they promise",
        notes=[
            "Peak of infected people in ‰, mean ± half width; n: runs, the first of the seeds.",
            "ε = 1 per release, or ε of one test of a person, for ever, against one receiver; "
            "δ = 0.001. No bound: somebody who is met often moves the release many times over.",
            f"{BEST}: `fn` of the preset, every message, no privacy. {COUNTED}: `headcount` with "
            "almost no noise (ε = 1e5 for a person) and the decoder that ships. "
            f"{LARGEST}: `tally`, release `largest`, at ε = 1e5.",
            "To a bound: the difference of peaks, paired by seed.",
            "Decoders of `tally` and `dna` were trained on messages of five rounds, that of "
            "`tally, largest` on its own, at 8 to 2 % tests.",
        ],
        tables=tables(rows),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
