"""The order of methods that promise no privacy: `python verification/ordering.py`.

Runs `none`, `random`, `public-only`, `fn` and `oracle` on the same seeds of the city (10,000
people, 100 days, 8 % tests a day) and prints the peak of infected people with 90 % Student-t
intervals of the mean. Exits 1 when the expected order does not show beyond those intervals.

The figures beside ours were measured on OpenABM-Covid19 (the fork of the papers) with isolation of
11 days that keeps household contacts; `--preset paper-code` sets the same rules.
"""

import argparse
import sys
from itertools import pairwise

from dnatrace.runs.config import load_config
from dnatrace.runs.progress import track
from dnatrace.sweeps.study import Comparison, compare

ORDER = ("none", "random", "public-only", "fn", "oracle")
ON_OPENABM = {"none": "325", "random": "184.5 ± 4.8", "public-only": "50.8 ± 10", "fn": "1.5 ± 0.3"}
FIRST_SEED = 1001  # apart from the seeds on which anything was chosen


def show(comparison: Comparison) -> None:
    print(f"{len(comparison.seeds)} seeds, peak of infected people in ‰ (mean ± 90 % interval)")
    print(f"{'method':<12} {'mean':>7} {'±':>6} {'median':>7} {'min':>7} {'max':>7}   on OpenABM")
    for name in ORDER:
        peak = comparison.spread(name, "peak_infected")
        low, high = peak.values.min(), peak.values.max()
        numbers = [1000 * v for v in (peak.mean, peak.half_width, peak.median, low, high)]
        print(
            f"{name:<12} {numbers[0]:7.1f} {numbers[1]:6.1f} "
            + " ".join(f"{v:7.1f}" for v in numbers[2:])
            + f"   {ON_OPENABM.get(name, '')}"
        )


def ordered(comparison: Comparison) -> bool:
    peaks = [comparison.spread(name, "peak_infected") for name in ORDER]
    return all(a.mean - a.half_width > b.mean + b.half_width for a, b in pairwise(peaks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--preset", default="standard")
    options = parser.parse_args()
    configs = {
        name: load_config(
            preset=options.preset, overrides={"method": name, "people": options.people}
        )
        for name in ORDER
    }
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    comparison = compare(configs, seeds=seeds, track=lambda runs, n: track(runs, n, "runs"))
    show(comparison)
    if not ordered(comparison):
        print("the order does not show beyond the intervals")
        sys.exit(1)


if __name__ == "__main__":
    main()
