"""Measure everything that docs/performance.md says about speed: `make benchmark`.

Measures section by section, prints tables, and writes all figures to benchmarks/figures.json, each
section with the load of the machine before and after it and the commit; then the blocks of
docs/performance.md that are made from them (`benchmarks.pages`). Ratios are compared with the
committed ones (benchmarks/ratios.json): more than 25 % slower is red. `--accept` writes new ones.
`--only NAME …` measures some sections and keeps the others as they were, `--most-people 100000`
leaves the largest city out; `--quick` takes a minute, writes no page and compares nothing.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import first_run, guard, inference, pages, peers, start
from benchmarks.measure import in_own_process, print_table
from dnatrace.runs.provenance import commit

SIZES = (10_000, 100_000, 1_000_000)
_QUICK_SIZES = (500, 1_000)
DAYS, DAYS_OF_A_MILLION_FN = 100, 30
METHODS = ("simulator", "headcount", "fn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much is measured: numbers of people, or quickly, to see that it works."""

    quick: bool
    sizes: Sequence[int]


def _rows(title: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    print_table(title, rows)
    return rows


def first_runs(scale: Scale) -> list[dict[str, Any]]:
    """Return `dnatrace run` with an empty cache and with a full one."""
    size = ["--people", "300", "--days", "3"] if scale.quick else []
    runs = first_run.first_and_second(["run", "--quiet", *size])
    named = zip(("first", "second"), runs, strict=True)
    found = [first_run.summary(name, run) for name, run in named]
    return _rows("dnatrace run, empty cache and full", found)


def loops(scale: Scale) -> list[dict[str, Any]]:
    """Return closed loops by phase, each in a process of its own."""
    found = []
    for n in scale.sizes:
        for method in METHODS:
            long = n == SIZES[-1] and method == "fn"
            days = 5 if scale.quick else DAYS_OF_A_MILLION_FN if long else DAYS
            loop = ("benchmarks.closed_loop", "--one", n, method, "--days", days)
            found.append(in_own_process(*loop))
    return _rows("closed loops", found)


def memory(scale: Scale) -> dict[str, Any]:
    """Return bytes per person by method: the slope between two sizes."""
    few, many, days = (500, 2_000, 15) if scale.quick else (100_000, 400_000, 20)
    found: dict[str, Any] = {"few": few, "many": many, "days": days}
    for method in ("headcount", "fn"):
        low, high = (
            in_own_process("benchmarks.closed_loop", "--one", n, method, "--days", days)["peak_gb"]
            for n in (few, many)
        )
        found[method] = 1e9 * (high - low) / (many - few)
    return _rows("bytes per person", [found])[0]


def inferences(scale: Scale) -> dict[str, Any]:
    """Return inference by number of people and by length of the window."""
    return {
        "people": _rows("inference, 14 days", inference.by_people(scale.sizes)),
        "length": _rows("by length", inference.by_length(scale.sizes[0])),
    }


def plain_loops(scale: Scale) -> list[dict[str, Any]]:
    """Return closed loops of the methods that promise no privacy, beside `fn`."""
    found = [
        in_own_process("benchmarks.inference", "--loop", scale.sizes[0], method)
        for method in inference.LOOPS
    ]
    return _rows("without privacy", found)


def races(scale: Scale) -> list[dict[str, Any]]:
    """Return races with others."""
    return _rows("races", peers.races(scale.sizes[:2], quick=scale.quick))


def releases(scale: Scale) -> dict[str, Any]:
    """Return what releases of all methods take."""
    found = in_own_process("benchmarks.release", "--json", "--people", scale.sizes[0])
    _rows("releases", found["releases"])
    _rows("statistics", found["statistics"])
    return found


def sweep(scale: Scale) -> dict[str, Any]:
    """Return a sweep by one worker and by two."""
    size = ("--people", 300, "--days", 5, "--runs", 2) if scale.quick else ("--runs", 16)
    found = in_own_process("benchmarks.sweep", "--json", *size)
    _rows("sweep", found["rows"])
    return found


def starts(scale: Scale) -> list[dict[str, Any]]:
    """Return what it takes to start."""
    return _rows("start", start.seconds_to_start(2 if scale.quick else start.REPETITIONS))


SECTIONS: dict[str, Callable[[Scale], Any]] = {
    "start": starts,
    "first_run": first_runs,
    "loops": loops,
    "memory": memory,
    "inference": inferences,
    "plain_loops": plain_loops,
    "peers": races,
    "release": releases,
    "sweep": sweep,
}


def measured(name: str, scale: Scale) -> dict[str, Any]:
    """Measure a section; return its figures, the load before and after, and the commit."""
    before = os.getloadavg()[0]
    figures = SECTIONS[name](scale)
    return {"figures": figures, "load": [before, os.getloadavg()[0]], "commit": commit()}


def ratios_of(sections: dict[str, Any]) -> dict[str, float]:
    """Return what is compared: times within one run over each other; smaller is better."""
    figures = {name: section["figures"] for name, section in sections.items()}
    ratios = {}
    rows = {(r["people"], r["method"]): r for r in figures.get("loops", ())}
    for (people, method), row in rows.items():
        alone = rows[people, "simulator"]
        if method != "simulator" and row["days"] == alone["days"]:
            ratio = row["processor_s"] / alone["processor_s"]
            ratios[f"{method} over simulator, {people} people"] = ratio
    for row in figures.get("inference", {"people": ()})["people"]:
        if row["rows_over_infer"] is not None:
            name = f"window from rows over inference, {row['people']:.0f} people"
            ratios[name] = row["rows_over_infer"]
    for row in figures.get("peers", ()):
        ratios[f"{row['race']}, {row['people']} people"] = row["ratio"]
    for row in figures.get("plain_loops", ()):
        if row["method"] != "fn":
            ratios[f"{row['method']} over fn, {row['people']} people"] = row["times_fn"]
    for row in figures.get("release", {"releases": ()})["releases"][1:]:
        ratios[f"release of {row['method']} over inference"] = row["over_inference"]
    if "first_run" in figures:
        first, second = (row["processor_s"] for row in figures["first_run"])
        ratios["first run over second, processor time"] = first / second
    return ratios


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--accept", action="store_true", help="write benchmarks/ratios.json")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--most-people", type=int, default=SIZES[-1])
    parser.add_argument("--out", type=Path, default=None, help="instead of figures and page")
    options = parser.parse_args(arguments)
    sizes = _QUICK_SIZES if options.quick else [n for n in SIZES if n <= options.most_people]
    scale = Scale(quick=options.quick, sizes=sizes)
    sections = {} if options.quick else pages.read()
    for name in options.only:
        sections[name] = measured(name, scale)
        if options.out or not options.quick:
            pages.write(sections, options.out or pages.FIGURES)
    loads = [sections[name]["load"] for name in options.only]
    print(f"\nload {loads[0][0]:.1f} before, {loads[-1][1]:.1f} after")
    if options.quick:
        return 0
    if options.out is None:
        pages.refresh(sections)
    now = ratios_of(sections)
    print("\nratios: committed, now (smaller is better)")
    for row in guard.compare(guard.read(), now):
        print(row.line(colour=sys.stdout.isatty()))
    if options.accept:
        guard.write(now)
    return 0


if __name__ == "__main__":
    sys.exit(main())
