r"""The simulators side by side: `python verification/simulators.py --seeds 10 --out FILE.md`.

Without `--methods` the uncontrolled epidemic: contacts a person and day, peaks, day of the peak,
attack rate. With `--methods` every method on every simulator and seed:

    python verification/simulators.py --seeds 10 --out FILE.md \
        --methods none,random,public-only,fn,dpfn,dpfn-s,dna

A method is NAME, NAME/RELEASE or NAME/RELEASE:key=value:key=value with keys of the configuration,
for instance dpfn-s/linear:method.gamma=0.1. OpenABM-Covid19 and Covasim take part when they can be
imported; several builds of the former by `--openabm LABEL=FOLDER`, where FOLDER holds its modules.

Every finished run is kept in FILE.json, so that an interrupted call goes on where it stopped, and
later calls may add methods, simulators and seeds. Intervals are 90 % Student-t intervals of the
mean over common seeds.
"""

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numba
import numpy as np

from dnatrace import __version__
from dnatrace.experiments.comparison import CONFIDENCE, Spread
from dnatrace.experiments.config import RunConfig, load_config, preset_names
from dnatrace.experiments.runs import run
from dnatrace.files import replacing
from dnatrace.simulators import covasim, openabm

FIRST_SEED = 3001
METRICS = (
    "peak_infected",
    "peak_infected_with_asymptomatic",
    "peak_exposed_or_infected",
    "day_of_peak",
    "attack_rate",
    "deaths",
    "tests_used",
    "isolation_person_days",
    "auroc",
)
# Peak of infected people in ‰ on the fork with preset paper-code, ε = 1, ten seeds and another
# program: independent of this package. By method, release and γ.
INDEPENDENT = {
    ("none", None, None): "325",
    ("fn", None, None): "1.5 ± 0.3",
    ("public-only", None, None): "50.8 ± 10",
    ("random", None, None): "184.5 ± 4.8",
    ("traditional", "gaussian", None): "222.9 ± 4.6",
    ("dpfn", "as_published", 0.7): "84.8 ± 15.8",
    ("per-message", "as_published", 0.7): "55.8 ± 6.9",
    ("dpfn-s", "as_published", 0.7): "19.9 ± 7.7",
    ("dpfn-s", "as_published", 0.2): "3.0 ± 1.8",
    ("dpfn-s", "linear", 0.7): "19.7 ± 6.6",
    ("dpfn-s", "linear", 0.2): "2.6 ± 0.6",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A column of the table: a simulator, and the folder it is imported from."""

    label: str
    name: str
    folder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run."""

    world: World
    method: str
    config: RunConfig

    @property
    def key(self) -> str:
        """The name of the run in the record."""
        return f"{self.world.label}|{self.method}|{self.config.seed}"


def configuration(method: str, world: World, seed: int, options: argparse.Namespace) -> RunConfig:
    head, *settings = method.split(":")
    name, _, release = head.partition("/")
    overrides = {
        "method": name,
        "release": release or None,
        "simulator": world.name,
        "people": options.people,
        "days": options.days,
        "seed": seed,
        "initially_infected": options.initially_infected,
        "epsilon": options.epsilon,
    }
    # What the method itself asks for comes last.
    for setting in settings:
        key, _, value = setting.partition("=")
        overrides[key] = json.loads(value)
    return load_config(preset=options.preset, overrides=overrides)


def measure(job: Job) -> dict[str, Any]:
    """Run one job; with a folder, the simulator of that folder."""
    numba.set_num_threads(1)
    if job.world.folder is not None:
        sys.path.insert(0, job.world.folder)
    try:
        result = run(job.config)
    finally:
        if job.world.folder is not None:
            sys.path.remove(job.world.folder)
    contacts = np.array(result.daily.column("contacts").to_pylist()[:10]) / job.config.people
    return {
        **{metric: result.summary[metric] for metric in METRICS},
        "contacts_per_person_day": float(contacts.mean()),
        "sound": result.summary["privacy"]["sound"],
        "seconds": result.seconds["total"],
        "source": result.provenance["simulator"],
        "config_digest": job.config.digest,
    }


def worlds(options: argparse.Namespace) -> list[World]:
    """Return the columns that were asked for and can be run, in that order."""
    builds = [build.partition("=") for build in options.openabm]
    found = []
    for name in options.simulators.split(","):
        if name == "openabm" and builds:
            found += [World(label=label, name=name, folder=folder) for label, _, folder in builds]
        elif name == "openabm" and not openabm.is_installed():
            print("OpenABM-Covid19 is not installed: left out", file=sys.stderr)
        elif name == "covasim" and covasim.installed_version() is None:
            print("Covasim is not installed: left out", file=sys.stderr)
        else:
            found.append(World(label=name, name=name))
    return found


def spread(runs: dict[str, Any], world: str, method: str, metric: str) -> Spread | None:
    prefix = f"{world}|{method}|"
    values = [r[metric] for key, r in runs.items() if key.startswith(prefix)]
    return Spread(values=np.array(values, dtype=np.float64)) if values else None


def number(found: Spread | None, scale: float, digits: int, *, median: bool = False) -> str:
    if found is None:
        return ""
    text = f"{scale * found.mean:.{digits}f} ± {scale * found.half_width:.{digits}f}"
    return text + (f" ({scale * found.median:.{digits}f})" if median else "")


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]


def uncontrolled(runs: dict[str, Any], labels: list[str]) -> list[str]:
    columns = [
        ("contacts a person and day", "contacts_per_person_day", 1.0, 2),
        ("peak of I, ‰", "peak_infected", 1000.0, 1),
        ("with asymptomatic, ‰", "peak_infected_with_asymptomatic", 1000.0, 1),
        ("peak of E + I, ‰", "peak_exposed_or_infected", 1000.0, 1),
        ("day of peak", "day_of_peak", 1.0, 1),
        ("attack rate, %", "attack_rate", 100.0, 1),
        ("deaths, ‰", "deaths", 1000.0, 2),
    ]
    rows = [
        [label, *(number(spread(runs, label, "none", m), s, d) for _, m, s, d in columns)]
        for label in labels
        if spread(runs, label, "none", "attack_rate") is not None
    ]
    return ["## Without intervention", "", *table(["simulator", *(c[0] for c in columns)], rows)]


def controlled(
    runs: dict[str, Any], labels: list[str], methods: list[str], options: argparse.Namespace
) -> list[str]:
    lines = []
    for title, metric in (
        ("Peak of I (states 4–7)", "peak_infected"),
        ("Peak of E + I (states 1–7)", "peak_exposed_or_infected"),
        ("Attack rate", "attack_rate"),
    ):
        first = metric == "peak_infected" and options.preset == "paper-code"
        rows = []
        for method in methods:
            cells = [
                number(spread(runs, label, method, metric), 1000.0, 1, median=True)
                for label in labels
            ]
            rows.append([f"`{method}`", *cells, *([independent(method, options)] * first)])
        head = ["method", *labels, *(["measured independently on the fork"] * first)]
        lines += [f"## {title}, ‰: mean ± half interval (median)", "", *table(head, rows)]
    return lines


def independent(method: str, options: argparse.Namespace) -> str:
    world = World(label="openabm", name="openabm")
    section = configuration(method, world, FIRST_SEED, options).method
    for gamma in (section.gamma, None):
        for release in (section.release, None):
            if (section.name, release, gamma) in INDEPENDENT:
                return INDEPENDENT[section.name, release, gamma]
    return ""


def render(
    runs: dict[str, Any], labels: list[str], methods: list[str], options: argparse.Namespace
) -> str:
    sources = {
        label: next((r["source"] for k, r in runs.items() if k.startswith(f"{label}|")), "")
        for label in labels
    }
    seeds = sorted({int(key.rsplit("|", 1)[1]) for key in runs})
    lines = [
        "# Simulators side by side",
        "",
        "Produced by `python verification/simulators.py`; the text at its head says how. "
        f"{options.people:,} people, {options.days} days, preset `{options.preset}`, "
        f"ε = {options.epsilon:g} per release, seeds {seeds[0]} to {seeds[-1]} ({len(seeds)}), "
        f"{CONFIDENCE:.0%} intervals of the mean. "
        + "; ".join(f"{label}: {source}" for label, source in sources.items())
        + ".",
        "",
        *uncontrolled(runs, labels),
    ]
    if methods != ["none"]:
        lines += controlled(runs, labels, methods, options)
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="the tables, a Markdown file")
    parser.add_argument("--methods", default="none", help="names, separated by commas")
    parser.add_argument("--simulators", default="city,openabm,covasim")
    parser.add_argument("--openabm", action="append", default=[], metavar="LABEL=FOLDER")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--preset", default="standard", choices=preset_names())
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--days", type=int, default=100)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--initially-infected", type=int, default=None)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    return parser.parse_args()


def main() -> None:
    options = parse()
    methods, columns = options.methods.split(","), worlds(options)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    jobs = [
        Job(world=w, method=m, config=configuration(m, w, seed, options))
        for seed in seeds
        for w in columns
        for m in methods
    ]
    settings = {
        "version": __version__,
        **{k: getattr(options, k) for k in ("preset", "people", "days", "epsilon")},
        "initially_infected": options.initially_infected,
    }
    kept = options.out.with_suffix(".json") if options.out else None
    if kept is not None and not kept.parent.is_dir():
        sys.exit(f"{kept.parent}: no such directory")
    record: dict[str, Any] = {"settings": settings, "runs": {}}
    if kept is not None and kept.exists():
        record = json.loads(kept.read_text())
        if record["settings"] != settings:
            sys.exit(f"{kept}: was made with other settings; move it away first")
    runs = record["runs"]
    open_jobs = [
        job for job in jobs if runs.get(job.key, {}).get("config_digest") != job.config.digest
    ]
    shown = list(dict.fromkeys([*(w.label for w in columns), *(k.split("|")[0] for k in runs)]))
    listed = list(dict.fromkeys([*methods, *(k.split("|")[1] for k in runs)]))

    def keep() -> None:
        if kept is None or options.out is None:
            return
        with replacing(kept) as temporary:
            temporary.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
        with replacing(options.out) as temporary:
            temporary.write_text(render(runs, shown, listed, options))

    failed: list[str] = []
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(measure, job): job for job in open_jobs}
        for done, future in enumerate(as_completed(waiting), start=1):
            job, error = waiting[future], future.exception()
            if error is None:
                runs[job.key] = future.result()
                keep()
                said = f"{runs[job.key]['peak_infected']:.4f}"
            else:
                failed.append(job.key)
                said = f"failed: {error}"
            print(f"{done}/{len(open_jobs)} {job.key} {said}", file=sys.stderr, flush=True)
    if runs:
        keep()
        print(render(runs, shown, listed, options))
    if failed:
        sys.exit(f"{len(failed)} runs failed, the first is {failed[0]}")


if __name__ == "__main__":
    main()
