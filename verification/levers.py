"""Compare our levers with Covasim's own interventions: `python -m verification.levers`.

Test-trace-quarantine as in Covasim's tutorial (Kerr et al. 2021), with rules that both can have:
everybody with symptoms is tested on the day these begin and knows the result the next day; the
diagnosed infect nobody; their housemates and 70 % of the people they meet at school and at work
stay at home for 14 days and meet nobody. Once Covasim runs with its own `test_prob` and
`contact_tracing`, once with our loop and the levers `symptoms` and `manual`, on the same seeds.

The numbers of people ever infected and diagnosed are compared, paired by seed. Exits with 1 when
the 90 % interval of a difference excludes 0, or when tracing makes no difference to testing alone
(then the comparison could not fail). `--quick` shows that it works.

Full size: 1,500 people, 50 days, three runs per seed, which are Covasim's and not kept in a store.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import build_loop
from dnatrace.simulators import covasim
from dnatrace.sweeps.results import markdown_table
from dnatrace.sweeps.spread import Spread
from verification.closed_loop import Call, parser, read_call

TRANSMISSIBILITY = 1.5  # so that the epidemic does not end by itself
BETA = 0.016  # of Covasim
NAMED = 0.7
DAYS_AT_HOME = 14
FIRST_SEED = 8001
NUMBERS = ("ever infected", "diagnosed")


def by_covasim(size: dict[str, int], seed: int, *, traced: bool) -> dict[str, float]:
    """Run Covasim with its own interventions."""
    module, layers = covasim.load(), ("h", "s", "w", "c")
    interventions = [module.test_prob(symp_prob=1.0, test_delay=1)]
    if traced:
        named = {"h": 1.0, "s": NAMED, "w": NAMED, "c": 0.0}
        interventions.append(
            module.contact_tracing(trace_probs=named, trace_time=0.0, quar_period=DAYS_AT_HOME)
        )
    sim = module.Sim(
        pop_size=size["people"],
        pop_infected=size["initially_infected"],
        n_days=size["days"],
        pop_type="hybrid",
        pop_scale=1,
        rescale=False,
        verbose=0,
        rand_seed=seed,
        beta=BETA * TRANSMISSIBILITY,
        iso_factor=dict.fromkeys(layers, 0.0),
        quar_factor=dict.fromkeys(layers, 0.0),
        interventions=interventions,
    )
    sim.run()
    results = sim.results if "n_naive" in sim.results else sim.results.covid
    never = float(np.asarray(results["n_naive"])[size["days"] - 1])
    diagnosed = float(np.asarray(results["cum_diagnoses"])[size["days"] - 1])
    return dict(zip(NUMBERS, (size["people"] - never, diagnosed), strict=True))


def by_levers(size: dict[str, int], seed: int, *, traced: bool) -> dict[str, float]:
    """Run our loop on Covasim; its contacts never change, so looking far back finds them all."""
    policy: dict[str, Any] = {
        "name": "levers",
        "symptoms": {"severe": 1.0, "mild": 1.0, "background": 0.0, "exempt_days": 1000},
    }
    if traced:
        asked = {"capacity": 1.0, "delay": 0, "look_back": 30, "exempt_days": 1000}
        named = {"household": 1.0, "occupation": NAMED, "random": 0.0, "days": DAYS_AT_HOME}
        policy["manual"] = asked | named
    config = RunConfig(
        method="none",
        seed=seed,
        policy=policy,
        simulator={"name": "covasim", "transmissibility": TRANSMISSIBILITY},
        tests={"false_positive_rate": 0.0, "false_negative_rate": 0.0},
        isolation={"days": size["days"], "start_day": 1},
        **size,
    )
    loop = build_loop(config)
    diagnosed = sum(int(log.results.sum()) for log in loop.run(config.days))
    ever = int((loop.simulator.infected_on >= 0).sum())
    return dict(zip(NUMBERS, (float(ever), float(diagnosed)), strict=True))


def spread(
    rows: Sequence[dict[str, float]], others: Sequence[dict[str, float]], key: str
) -> Spread:
    return Spread(values=np.array([a[key] - b[key] for a, b in zip(rows, others, strict=True)]))


def compared(call: Call) -> list[dict[str, Any]]:
    """Run all three on every seed; return one row per number."""
    size = {"people": 1500, "days": 50, "initially_infected": 20}
    if call.quick:
        size = {"people": 300, "days": 20, "initially_infected": 15}
    theirs = [by_covasim(size, seed, traced=True) for seed in call.seeds]
    ours = [by_levers(size, seed, traced=True) for seed in call.seeds]
    untraced = [by_levers(size, seed, traced=False) for seed in call.seeds]
    rows = []
    for key in NUMBERS:
        row: dict[str, Any] = {"number": key, "people": size["people"]}
        for name, runs in (("covasim", theirs), ("levers", ours), ("untraced", untraced)):
            values = [run[key] for run in runs]
            row |= {name: float(np.mean(values)), f"{name}_values": values}
        row |= _interval("difference", spread(ours, theirs, key))
        row |= _interval("averted_by_tracing", spread(untraced, ours, key))
        rows.append(row)
    return rows


def _interval(name: str, found: Spread) -> dict[str, float | None]:
    low, high = found.interval if found.values.size > 1 else (None, None)
    return {name: found.mean, f"{name}_low": low, f"{name}_high": high}


def agrees(row: dict[str, Any]) -> bool:
    """Return whether 0 is in the interval of a difference."""
    return bool(row["difference_low"] <= 0.0 <= row["difference_high"])


def page(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return verdict and table."""
    verdict = "They agree" if all(map(agrees, rows)) else "They DISAGREE"
    gain = rows[0]["averted_by_tracing_low"]
    cells = [
        [
            row["number"],
            *(f"{row[name]:.1f}" for name in ("covasim", "levers", "untraced")),
            f"{row['difference']:+.1f} ({row['difference_low']:+.1f} to "
            f"{row['difference_high']:+.1f})",
        ]
        for row in rows
    ]
    head = ["people", "Covasim's own", "our levers", "our levers without tracing"]
    return [
        f"{verdict}: the 90 % intervals of the differences, ours less theirs, "
        f"{'hold' if all(map(agrees, rows)) else 'do not all hold'} 0. Tracing averts at least "
        f"{gain:.1f} infections, so that a lever without effect would have shown.",
        "",
        *markdown_table([*head, "difference"], cells),
    ]


NOTES = (
    "Means over seeds; differences paired by seed, 90 % Student-t intervals.",
    "Covasim with `test_prob` and `contact_tracing` beside our loop on Covasim with the levers "
    "`symptoms` and `manual`: all with symptoms tested on their first day, result the next day, "
    "the diagnosed and those named (housemates, 70 % at school and at work) meet nobody, the named "
    "for 14 days.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=20, first_seed=FIRST_SEED)
    call = read_call(options, "verification.levers", arguments)
    if len(call.seeds) < 2:
        options.error("an interval needs two seeds")
    rows = compared(call)
    call.report(rows, title="Our levers beside Covasim's own", notes=NOTES, tables=page(rows))
    gain = rows[0]["averted_by_tracing_low"]
    return 0 if call.quick or (all(map(agrees, rows)) and gain > 0.0) else 1


if __name__ == "__main__":
    sys.exit(main())
