"""Time a sweep with one worker and with two, one thread each: `python -m benchmarks.sweep`.

It has 40 closed-loop runs of 10,000 people and 100 days, including starting the workers and writing
the store. The runs and their files are the same; what is compared is the time. `--runs 8` takes a
minute.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import print_table
from dnatrace.runs import store
from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.attempts import attempt
from dnatrace.sweeps.processes import run_locally


def measure(configs: list[RunConfig], workers: int) -> float:
    """Return the seconds that a number of workers take, from nothing to a complete store."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory:
        for run in run_locally(configs, workers=workers, threads=1, done=lambda _: False):
            assert run.files is not None, run.error
            store.write_files(run.files, Path(directory), run.config.digest)
        assert len(store.stored_runs(Path(directory))) == len(configs)
    return time.perf_counter() - start


def rows_of(configs: list[RunConfig], workers: Sequence[int]) -> list[dict[str, Any]]:
    """Measure the same runs by so many workers, each against the first."""
    method = configs[0].method.name
    attempt(RunConfig(people=500, days=16, method=method))  # compiles, for all
    rows: list[dict[str, Any]] = []
    for n_workers in workers:
        total = measure(configs, n_workers)
        rows.append(
            {
                "workers": n_workers,
                "runs": len(configs),
                "total_s": total,
                "s_per_run": total / len(configs),
                "times_faster": rows[0]["total_s"] / total if rows else 1.0,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--days", type=int, default=100)
    parser.add_argument("--method", default="dpfn-s")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--json", action="store_true", help="the rows as a JSON object")
    options = parser.parse_args()
    size = {"people": options.people, "days": options.days, "method": options.method}
    configs = [RunConfig(**size, seed=seed) for seed in range(1, options.runs + 1)]
    rows = rows_of(configs, options.workers)
    if options.json:
        print(json.dumps(size | {"rows": rows}))
        return
    print_table(f"{options.people:,} people, {options.days} days, {options.method}", rows)


if __name__ == "__main__":
    main()
