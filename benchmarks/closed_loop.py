"""Time the simulator alone and the closed loop: `python -m benchmarks.closed_loop`.

Runs have 100 days and 2 threads. Every size runs in a process of its own, once to compile and once
to measure. No other simulator is run here; the figures it is compared with are published or were
measured on the same kind of machine and are named in docs/performance.md. What is compared within
the run is the growth with people: the ratio to a tenth of them. Seconds are given by phase: `build`
draws the population, `respond` is the policy in the evening, `rest` is what belongs to no phase.
"""

import argparse
import json
import time
from typing import Any

import numba

from benchmarks.measure import in_own_process, peak_gigabytes, print_table
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import build_simulator, run

DAYS = 100
PHASES = ("build", "simulate", "window", "test", "infer", "release", "respond", "measure")


def simulate(n_people: int, days: int) -> float:
    start = time.perf_counter()
    simulator = build_simulator(RunConfig(people=n_people, method="none"))
    for _ in range(days):
        simulator.advance()
    return time.perf_counter() - start


def measure(n_people: int, method: str, days: int = DAYS) -> dict[str, Any]:
    numba.set_num_threads(min(2, numba.get_num_threads()))
    row: dict[str, Any] = {"people": n_people, "method": method, "days": days}
    if method == "simulator":
        simulate(2_000, 5)
        start = time.process_time()
        row["total_s"] = simulate(n_people, days)
        phases = {"simulate": row["total_s"]}
    else:
        run(RunConfig(people=2_000, days=16, method=method))
        start = time.process_time()
        phases = run(RunConfig(people=n_people, days=days, method=method)).seconds
        row["total_s"] = phases["total"]
    row |= {f"{phase}_s": phases.get(phase, 0.0) for phase in PHASES}
    row["rest_s"] = row["total_s"] - sum(phases.get(phase, 0.0) for phase in PHASES)
    row["processor_s"] = time.process_time() - start
    row["person_days_per_s"] = n_people * days / row["total_s"]
    row["peak_gb"] = peak_gigabytes()
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("PEOPLE", "METHOD"))
    parser.add_argument("--most-people", type=int, default=1_000_000)
    parser.add_argument("--methods", nargs="+", default=["simulator", "headcount", "fn"])
    parser.add_argument("--days", type=int, default=DAYS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(int(options.one[0]), options.one[1], options.days)))
        return
    for method in options.methods:
        rows: list[dict[str, Any]] = []
        for n in (10_000, 100_000, 1_000_000):
            if n <= options.most_people:
                row = in_own_process(
                    "benchmarks.closed_loop", "--one", n, method, "--days", options.days
                )
                row["ratio_to_10x_fewer"] = row["total_s"] / rows[-1]["total_s"] if rows else 1.0
                rows.append(row)
        print_table(f"{method}, {options.days} days", rows)


if __name__ == "__main__":
    main()
