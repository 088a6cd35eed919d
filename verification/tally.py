r"""How far does `tally` get, and why? `python verification/tally.py --out FILE.md [--store DIR]`.

The closed loop in the city, 10,000 people, 100 days, on twenty seeds that nothing was trained or
chosen on. Settings: ε per release and per contact over its life, adherence by person and by
positive test, worse tests, half of the tests; `fn` without privacy beside each. Ablations at ε = 1
and 0.1 per release: public facts alone, one tally instead of fourteen, messages that never alarm,
`dna` and `dpfn-s` (linear with analytic weights) with the γ that suits ε. Reported: peak of
infected people in ‰ with its 90 % Student-t interval, median and 95th percentile, and differences
to `tally` paired by seed. Where tests are scarce messages matter most: the ablations of the decoder
stand there, too.

Two decoders are trained for ablations alone and do not ship:

    dnatrace train --network tally --tallies 0 --out public
    dnatrace train --network tally --tallies 1 --out today
    python verification/tally.py --out FILE.md --public public/tally.safetensors \
        --today today/tally.safetensors

Finished runs are kept in the store, so that an interrupted call goes on. About twenty minutes on
two cores.
"""

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dnatrace.files import replacing
from dnatrace.networks.decoder import Alarm, load_decoder, write_decoder
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.provenance import provenance
from dnatrace.sweeps.study import CONFIDENCE, Comparison, Spread, compare

FIRST_SEED, N_SEEDS = 6001, 20
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
BUDGETS = {
    "ε = 1 per release": {"epsilon": 1.0},
    "ε = 0.2 per release": {"epsilon": 0.2},
    "ε = 0.1 per release": {"epsilon": 0.1},
    "ε = 1 per contact": {"epsilon": 1.0, "unit": "contact"},
    "ε = 0.1 per contact": {"epsilon": 0.1, "unit": "contact"},
}
ONE = "ε = 1 per release"


def configuration(method: str, **settings: Any) -> RunConfig:
    return load_config(overrides={"method": method, **settings})


def main_table() -> dict[str, RunConfig]:
    configs = {
        f"tally|{budget}|as in the paper": configuration("tally", **settings)
        for budget, settings in BUDGETS.items()
    }
    for scenario, settings in SCENARIOS.items():
        configs[f"tally|{ONE}|{scenario}"] = configuration("tally", **settings)
        if "by positive test" not in scenario:
            configs[f"fn|no privacy|{scenario}"] = configuration("fn", **settings)
    configs["public-only|no messages|as in the paper"] = configuration("public-only")
    return configs


def ablations(decoders: dict[str, Path]) -> dict[str, RunConfig]:
    configs = {}
    for epsilon, gamma in GAMMAS.items():
        budget = f"ε = {epsilon:g} per release"
        for what, path in decoders.items():
            configs[f"tally, {what}|{budget}|as in the paper"] = configuration(
                "tally", epsilon=epsilon, **{"method.decoder": str(path)}
            )
        for method in ("dna", "dpfn-s"):
            configs[f"{method}, linear, γ = {gamma:g}|{budget}|as in the paper"] = configuration(
                method, epsilon=epsilon, gamma=gamma
            )
    scarce = "4 % tests a day"
    configs[f"tally|ε = 0.1 per release|{scarce}"] = configuration(
        "tally", epsilon=0.1, **SCENARIOS[scarce]
    )
    for what, path in decoders.items():
        configs[f"tally, {what}|{ONE}|{scarce}"] = configuration(
            "tally", **SCENARIOS[scarce], **{"method.decoder": str(path)}
        )
    return configs


def peak(comparison: Comparison, label: str) -> Spread:
    return Spread(values=1000 * comparison.spread(label, "peak_infected").values)


def measure(seeds: tuple[int, ...], options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        silent = Path(scratch) / "silent.safetensors"
        write_decoder(silent, replace(load_decoder(), alarm=NO_ALARM))
        decoders = {"messages never alarm": silent}
        if options.public:
            decoders["public facts alone"] = options.public
        if options.today:
            decoders["today's tally alone"] = options.today
        configs = main_table() | ablations(decoders)
        compared = compare(configs, seeds=seeds, store=options.store)
    rows = {}
    for label in configs:
        spread = peak(compared, label)
        _, budget, scenario = label.split("|")
        beside = f"tally|{budget}|{scenario}"
        beside = beside if beside in configs else f"tally|{ONE}|{scenario}"
        gain = Spread(values=spread.values - peak(compared, beside).values)
        rows[label] = {
            "mean": spread.mean,
            "half_width": spread.half_width,
            "median": spread.median,
            "p95": spread.p95,
            "beside": beside,
            "difference": gain.mean,
            "difference_half_width": gain.half_width,
            "peaks": np.round(spread.values, 2).tolist(),
        }
    return {
        "seeds": list(seeds),
        "rows": rows,
        "decoder": load_decoder().digest,
        "provenance": provenance(configs[f"tally|{ONE}|as in the paper"]),
    }


def render(results: dict[str, Any]) -> str:
    seeds = results["seeds"]
    lines = [
        "# Tally: results and ablations",
        "",
        "Produced by `python verification/tally.py`; the text at its head says how. "
        f"Commit {results['provenance']['commit']}, decoder {results['decoder']}.",
        f"{len(seeds)} seeds ({seeds[0]} to {seeds[-1]}). Peak of infected people in ‰; ± is half "
        f"of the {CONFIDENCE:.0%} interval of the mean. The last column is the difference to "
        "`tally` at the same ε (at ε = 1 for methods without one), paired by seed.",
        "",
        "| method | ε | setting | mean | ± | median | 95th percentile | minus `tally` |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for label, r in results["rows"].items():
        method, budget, scenario = label.split("|")
        gain = f"{r['difference']:+.1f} ± {r['difference_half_width']:.1f}"
        lines.append(
            f"| {method} | {budget} | {scenario} | {r['mean']:.1f} | {r['half_width']:.1f} "
            f"| {r['median']:.1f} | {r['p95']:.1f} | {'' if label == r['beside'] else gain} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="Markdown; JSON goes beside it")
    parser.add_argument("--store", type=Path, help="directory of finished runs")
    parser.add_argument("--public", type=Path, help="decoder trained with --tallies 0")
    parser.add_argument("--today", type=Path, help="decoder trained with --tallies 1")
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    options = parser.parse_args()
    results = measure(tuple(range(FIRST_SEED, FIRST_SEED + options.seeds)), options)
    for path, text in (
        (options.out, render(results)),
        (options.out.with_suffix(".json"), json.dumps(results, indent=1) + "\n"),
    ):
        with replacing(path) as temporary:
            temporary.write_text(text, "utf-8")
    print(render(results))


if __name__ == "__main__":
    main()
