r"""How far does `tally` get, and why? `python -m verification.tally --out FILE.md [--store DIR]`.

The closed loop in the city, 10,000 people, 100 days, on twenty seeds that nothing was trained or
chosen on. Settings: ε per release and per contact over its life, adherence by person and by
positive test, worse tests, half the tests; each next to `fn` without privacy. Ablations at ε = 1
and 0.1 per release: public facts alone, one tally instead of fourteen, messages that never alarm,
`dna` and `dpfn-s` (linear with analytic weights) with the γ that suits ε. The report gives the peak
of infected people in ‰ with its 90 % Student-t interval, median and 95th percentile, and
differences from `tally` paired by seed. Messages matter most where tests are scarce: the ablations
of the decoder are run there, too.

Two decoders are trained for ablations alone and do not ship:

    dnatrace train --network tally --tallies 0 --out public
    dnatrace train --network tally --tallies 1 --out today
    python -m verification.tally --out FILE.md --public public/tally.safetensors \
        --today today/tally.safetensors

A store keeps finished runs, so that an interrupted call resumes. It takes about twenty minutes on
two cores.
"""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dnatrace.networks.decoder import Alarm, load_decoder, write_decoder
from dnatrace.runs.config import RunConfig
from verification.closed_loop import Call, parser, read_call

FIRST_SEED = 6001
GAMMAS = {1.0: 0.2, 0.1: 0.05}  # of dna and dpfn-s
NO_ALARM = Alarm(low=1.0 - 2**-20, high=1.0)
SCENARIOS: dict[str, dict[str, Any]] = {
    "as in the paper": {},
    "adherence 80 %, by positive test": {
        "isolation.adherence": 0.8,
        "isolation.adherence_unit": "event",
    },
    "adherence 50 %, by positive test": {
        "isolation.adherence": 0.5,
        "isolation.adherence_unit": "event",
    },
    "adherence 80 %, by person": {"isolation.adherence": 0.8},
    "adherence 50 %, by person": {"isolation.adherence": 0.5},
    "tests FPR 10 %, FNR 1 %": {
        "tests.false_positive_rate": 0.1,
        "tests.false_negative_rate": 0.01,
    },
    "tests FPR 25 %, FNR 3 %": {
        "tests.false_positive_rate": 0.25,
        "tests.false_negative_rate": 0.03,
    },
    "4 % tests a day": {"tests.capacity": 0.04},
}
BUDGETS: dict[str, dict[str, Any]] = {
    "ε = 1 per release": {"epsilon": 1.0},
    "ε = 0.2 per release": {"epsilon": 0.2},
    "ε = 0.1 per release": {"epsilon": 0.1},
    "ε = 1 per contact": {"epsilon": 1.0, "unit": "contact"},
    "ε = 0.1 per contact": {"epsilon": 0.1, "unit": "contact"},
}
ONE = "ε = 1 per release"
PAPER, SCARCE = "as in the paper", "4 % tests a day"

Label = tuple[str, str, str]


def main_table(call: Call) -> dict[Label, RunConfig]:
    configs: dict[Label, RunConfig] = {
        ("tally", budget, PAPER): call.configuration(method="tally", **settings)
        for budget, settings in BUDGETS.items()
    }
    for scenario, settings in SCENARIOS.items():
        configs["tally", ONE, scenario] = call.configuration(method="tally", **settings)
        if "by positive test" not in scenario:
            label = "fn", "no privacy", scenario
            configs[label] = call.configuration(method="fn", **settings)
    configs["public-only", "no messages", PAPER] = call.configuration(method="public-only")
    return configs


def ablations(call: Call, decoders: dict[str, Path]) -> dict[Label, RunConfig]:
    configs: dict[Label, RunConfig] = {}
    for epsilon, gamma in GAMMAS.items():
        budget = f"ε = {epsilon:g} per release"
        for what, path in decoders.items():
            settings: dict[str, Any] = {"epsilon": epsilon, "method.decoder": str(path)}
            label = f"tally, {what}", budget, PAPER
            configs[label] = call.configuration(method="tally", **settings)
        for method in ("dna", "dpfn-s"):
            label = f"{method}, linear, γ = {gamma:g}", budget, PAPER
            configs[label] = call.configuration(method=method, epsilon=epsilon, gamma=gamma)
    few = SCENARIOS[SCARCE]
    label = "tally", "ε = 0.1 per release", SCARCE
    configs[label] = call.configuration(method="tally", epsilon=0.1, **few)
    for what, path in decoders.items():
        settings = few | {"method.decoder": str(path)}
        configs[f"tally, {what}", ONE, SCARCE] = call.configuration(method="tally", **settings)
    return configs


def baselines(labels: Sequence[Label]) -> dict[Label, Label]:
    """Return `tally` at the same ε and in the same setting; at ε = 1 for methods without one."""
    found = {}
    for label in labels:
        same = ("tally", *label[1:])
        beside = same if same in labels else ("tally", ONE, label[2])
        if beside != label:
            found[label] = beside
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=20, first_seed=FIRST_SEED)
    options.add_argument("--public", type=Path, help="decoder trained with --tallies 0")
    options.add_argument("--today", type=Path, help="decoder trained with --tallies 1")
    call = read_call(options, "verification.tally", arguments)
    with tempfile.TemporaryDirectory() as scratch:
        silent = Path(scratch) / "silent.safetensors"
        write_decoder(silent, replace(load_decoder(), alarm=NO_ALARM))
        decoders = {
            "messages never alarm": silent,
            "public facts alone": call.options.public,
            "today's tally alone": call.options.today,
        }
        given = {what: path for what, path in decoders.items() if path is not None}
        configs = main_table(call) | ablations(call, given)
        study = call.study(configs)
    call.report(
        study.rows(("method", "epsilon", "setting"), baselines=baselines(list(configs))),
        title="Tally: results and ablations",
        notes=[
            "Peak of infected people in ‰.",
            "Difference: to `tally` at the same ε (at ε = 1 for methods without one), paired by "
            "seed.",
            f"Decoder {load_decoder().digest}.",
        ],
        decoder=load_decoder().digest,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
