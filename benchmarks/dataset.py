"""Measure training data: `python -m benchmarks.dataset`.

For every policy and size, in a process of its own: how many person-days in state I a run has in 100
days, how long the two passes take, how much memory they need, how large the dataset is, and how
much rounding messages to levels changes F. `--kernels` times histograms, batches and F on one
dataset; `--grids` compares ways to space 128 levels by the error they cause in F.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import in_own_process, peak_gigabytes, print_table, seconds
from dnatrace.training import generate as training_data
from dnatrace.training.dataset import read_info, read_samples
from dnatrace.training.samples import N_LEVELS
from dnatrace.training.scores import fn_scores

DAYS = 100
SEEDS = {"train": (7001,), "validation": (7002,), "test": (7003,)}


def measure(n_people: int, policy: str, days: int, settings: list[str]) -> dict[str, Any]:
    """Generate the three splits once to compile and once to measure."""
    with tempfile.TemporaryDirectory() as folder:
        small = training_data.plan_dataset(people=1_000, days=16, method=policy, seeds=SEEDS)
        training_data.generate(small, Path(folder) / "small")
        plan = training_data.plan_dataset(
            people=n_people, days=days, method=policy, seeds=SEEDS, settings=settings
        )
        start = time.perf_counter()
        info = training_data.generate(plan, Path(folder) / "data")
        total = time.perf_counter() - start
        size = sum(f.stat().st_size for f in (Path(folder) / "data").iterdir())
    train = info.splits["train"]
    return {
        "people": n_people,
        "policy": policy,
        "first_infected": float(plan.config.n_initially_infected),
        "positives_train": train.positives,
        "samples": sum(split.samples for split in info.splits.values()),
        "total_s": total,
        "peak_gb": peak_gigabytes(),
        "disk_mb": size / 1e6,
        "f_error_rms": train.f_error_rms,
        "f_error_most": train.f_error_most,
    }


def time_kernels(directory: Path) -> None:
    """Print what batches and F cost on the training split of a dataset."""
    info, samples = read_info(directory), read_samples(directory, "train")
    index = np.random.default_rng(0).permutation(len(samples))[:8192]
    model = (info.parameters, info.test_errors)
    batch = seconds(lambda: samples.batch(index), repeats=5)
    belief = seconds(lambda: fn_scores(samples, 0.2, *model), repeats=3)
    read = seconds(lambda: read_samples(directory, "train"), repeats=1)
    row = {
        "samples": len(samples),
        "cells_a_sample": samples.cells.size / len(samples),
        "batch_us_a_sample": 1e6 * batch / index.size,
        "f_us_a_sample": 1e6 * belief / len(samples),
        "read_s": read,
    }
    print_table("kernels", [row])


def compare_grids() -> None:
    """Print the error of F by grid, over every fifth day of a run of 10,000 people."""
    plan = training_data.plan_dataset(people=10_000, days=60, seeds=SEEDS)
    spaced = np.linspace(0.0, 1.0, N_LEVELS)
    grids = {f"power {power}": spaced**power for power in (2, 3, 4)}
    for least in (1e-5, 1e-4, 1e-3):
        grids[f"geometric from {least:g}"] = np.concatenate(
            [[0.0], np.geomspace(least, 1.0, N_LEVELS - 1)]
        )
    errors: dict[str, list[Any]] = {name: [] for name in grids}
    for day in training_data.days_of(plan.of_seed(7002), with_messages=True):
        if day.log.day % 5 == 0:
            for name, grid in grids.items():
                samples = training_data.samples_of(day, 0.02, grid.astype(np.float32))
                known = day.log.public
                scores = fn_scores(samples, 1.0, known.parameters, known.test_errors)
                errors[name].append(scores - samples.fn)
    rows = []
    for name, parts in errors.items():
        error = np.concatenate(parts)
        rms = float(np.sqrt((error**2).mean()))
        rows.append({"grid": name, "rms": rms, "most": float(np.abs(error).max())})
    print_table(f"error of F, {error.size:,} samples", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("PEOPLE", "POLICY"))
    parser.add_argument("--people", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--policies", nargs="+", default=["dpfn-s", "fn", "none"])
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--set", nargs="*", default=[], dest="settings", metavar="KEY=VALUE")
    parser.add_argument("--grids", action="store_true")
    parser.add_argument("--kernels", type=Path, metavar="DATASET")
    options = parser.parse_args()
    if options.kernels:
        time_kernels(options.kernels)
    elif options.grids:
        compare_grids()
    elif options.one:
        people, policy = int(options.one[0]), options.one[1]
        print(json.dumps(measure(people, policy, options.days, options.settings)))
    else:
        extra = ("--days", options.days, "--set", *options.settings)
        rows = [
            in_own_process("benchmarks.dataset", "--one", n, policy, *extra)
            for n in options.people
            for policy in options.policies
        ]
        print_table(f"three runs of {options.days} days", rows)


if __name__ == "__main__":
    main()
