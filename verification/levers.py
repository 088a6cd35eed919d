"""Our levers beside Covasim's own interventions, on Covasim: `python -m verification.levers`.

Test-trace-quarantine as in Covasim's tutorial (Kerr et al. 2021), with rules that both can have:
everybody with symptoms is tested on the day these begin and knows the result the next day; the
diagnosed infect nobody; their housemates and 70 % of the people they meet at school and at work
stay at home for 14 days and meet nobody. Once Covasim runs with its own `test_prob` and
`contact_tracing`, once with our loop and the levers `symptoms` and `manual`, on the same seeds.

Compared are people ever infected and diagnosed, paired by seed. Exits 1 when the 90 % interval of a
difference leaves out 0, or when tracing makes no difference to testing alone (then the comparison
could not fail). About five minutes on one core; `--quick` shows that it works.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import build_loop
from dnatrace.simulators import covasim
from dnatrace.sweeps.spread import Spread

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
    """Run our loop on Covasim; its contacts stay the same, so looking back far finds them all."""
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


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--quick", action="store_true", help="show in seconds that it works")
    chosen = options.parse_args(arguments)
    size = {"people": 1500, "days": 50, "initially_infected": 20}
    if chosen.quick:
        size = {"people": 300, "days": 20, "initially_infected": 15}
    seeds = range(FIRST_SEED, FIRST_SEED + (2 if chosen.quick else chosen.seeds))
    theirs = [by_covasim(size, seed, traced=True) for seed in seeds]
    ours = [by_levers(size, seed, traced=True) for seed in seeds]
    untraced = [by_levers(size, seed, traced=False) for seed in seeds]
    agree = True
    for key in NUMBERS:
        means = [np.mean([row[key] for row in rows]) for rows in (theirs, ours, untraced)]
        found = spread(ours, theirs, key)
        low, high = found.interval
        agree &= bool(low <= 0.0 <= high)
        print(
            f"{key}: Covasim {means[0]:.1f}, levers {means[1]:.1f}, difference {found.mean:+.1f} "
            f"({low:+.1f} to {high:+.1f}); levers without tracing {means[2]:.1f}"
        )
    gain = spread(untraced, ours, NUMBERS[0]).interval[0]
    verdict = "agree" if agree else "DISAGREE"
    print(f"{len(seeds)} seeds: {verdict}; tracing averts at least {gain:.1f} infections")
    return 0 if chosen.quick or (agree and gain > 0.0) else 1


if __name__ == "__main__":
    sys.exit(main())
