"""Measure everything that docs/performance.md says about speed: `make benchmark`.

Measures the first run, closed loops, inference and peers, prints their tables, and writes all
figures to benchmarks/figures.json with the load of the machine before and after. Ratios are
compared with the committed ones (benchmarks/ratios.json): more than 25 % slower is red. `--accept`
writes new ones, `--most-people 1000000` adds the largest city, `--quick` takes a minute and
compares nothing.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import first_run, guard, peers
from benchmarks.measure import in_own_process, print_table

FIGURES = Path(__file__).with_name("figures.json")
SIZES = (10_000, 100_000, 1_000_000)


def loops(sizes: Sequence[int], days: int) -> list[dict[str, Any]]:
    """Return closed loops, each in a process of its own."""
    return [
        in_own_process("benchmarks.closed_loop", "--one", n, method, "--days", days)
        for n in sizes
        for method in ("simulator", "headcount", "fn")
    ]


def memory(few: int, many: int, days: int) -> dict[str, float]:
    """Return bytes per person by method: the slope between two sizes."""
    found = {}
    for method in ("headcount", "fn"):
        low, high = (
            in_own_process("benchmarks.closed_loop", "--one", n, method, "--days", days)
            for n in (few, many)
        )
        found[method] = 1e9 * (high["peak_gb"] - low["peak_gb"]) / (many - few)
    return found


def ratios_of(figures: dict[str, Any]) -> dict[str, float]:
    """Return what is compared: ratios of times within one run; smaller is better."""
    ratios = {}
    seconds = {(r["people"], r["method"]): r["processor_s"] for r in figures["loops"]}
    for (people, method), spent in seconds.items():
        if method != "simulator":
            ratios[f"{method} over simulator, {people} people"] = (
                spent / seconds[people, "simulator"]
            )
    for row in figures["inference"]:
        ratios[f"window from rows over inference, {row['people']:.0f} people"] = (
            row["from_rows_s"] / row["infer_2_thread_s"]
        )
    ratios |= {f"{row['race']}, {row['people']} people": row["ratio"] for row in figures["peers"]}
    first, second = figures["first_run"]
    ratios["first run over second, processor time"] = first["processor_s"] / second["processor_s"]
    return ratios


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Run everything and return the figures."""
    quick = options.quick
    sizes = (500, 1_000) if quick else [n for n in SIZES if n <= options.most_people]
    few, many, days = (500, 2_000, 15) if quick else (100_000, 400_000, 20)
    figures: dict[str, Any] = {"load_before": os.getloadavg(), "cores": os.cpu_count()}
    size = ["--people", "300", "--days", "3"] if quick else []
    runs = first_run.first_and_second(["run", "--quiet", *size])
    named = zip(("first", "second"), runs, strict=True)
    figures["first_run"] = [first_run.summary(name, found) for name, found in named]
    print_table("dnatrace run, empty cache and full", figures["first_run"])
    figures["loops"] = loops(sizes, 5 if quick else 100)
    print_table("closed loops", figures["loops"])
    figures["inference"] = [
        in_own_process("benchmarks.inference", "--one", n, 14) for n in sizes if n <= 100_000
    ]
    print_table("inference, 14 days, 5 rounds", figures["inference"])
    figures["peers"] = peers.races(sizes[:2], quick=quick)
    print_table("peers", figures["peers"])
    figures["bytes_per_person"] = memory(few, many, days)
    print_table("bytes per person", [figures["bytes_per_person"]])
    return figures | {"load_after": os.getloadavg()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--accept", action="store_true", help="write benchmarks/ratios.json")
    parser.add_argument("--most-people", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=FIGURES)
    options = parser.parse_args(arguments)
    figures = measured(options)
    figures["ratios"] = ratios_of(figures)
    options.out.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    print(f"\nload {figures['load_before']} before, {figures['load_after']} after")
    if options.quick:
        return 0
    print("\nratios: committed, now (smaller is better)")
    for row in guard.compare(guard.read(), figures["ratios"]):
        print(row.line(colour=sys.stdout.isatty()))
    if options.accept:
        guard.write(figures["ratios"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
