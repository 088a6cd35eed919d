r"""The simulators side by side: `python verification/simulators.py --seeds 10 --out FILE.md`.

Without `--methods` the uncontrolled epidemic: contacts a person and day, peaks, day of the peak,
attack rate. With `--methods` every method on every simulator and seed:

    python verification/simulators.py --seeds 10 --out FILE.md \
        --methods none,random,public-only,fn,dpfn,dpfn-s,dna

A method is NAME, NAME/RELEASE or NAME/RELEASE:key=value:key=value with keys of the configuration,
for instance dpfn-s/linear:method.gamma=0.1. OpenABM-Covid19 and Covasim take part when they can be
imported; several builds of the former by `--openabm LABEL=FOLDER`, where FOLDER holds its modules.

Every finished run is kept in FILE.json with the commit and the build of the simulator that made it,
so that an interrupted call goes on where it stopped, and a later call only does what is missing.
The tables hold what their own call asked for and nothing else that FILE.json may have. Intervals
are 90 % Student-t intervals of the mean over common seeds.
"""

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numba
import numpy as np

from dnatrace import __version__
from dnatrace.files import replacing
from dnatrace.runs.config import RunConfig, load_config, preset_names
from dnatrace.runs.provenance import provenance
from dnatrace.runs.run import run
from dnatrace.simulators import covasim, openabm
from dnatrace.sweeps.study import CONFIDENCE, Spread

FIRST_SEED = 3001
UNFINISHED = "; **not all runs are there**"
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
    """One run; `digest` is that of its configuration with the build of its simulator."""

    world: World
    method: str
    config: RunConfig
    digest: str

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


@contextmanager
def imported_from(folder: str | None) -> Iterator[None]:
    """Let modules of a folder come before all others in the block."""
    before = list(sys.path)
    sys.path[:0] = [] if folder is None else [folder]
    try:
        yield
    finally:
        sys.path[:] = before


def job_of(method: str, world: World, seed: int, options: argparse.Namespace) -> Job:
    config = configuration(method, world, seed, options)
    with imported_from(world.folder):
        return Job(world=world, method=method, config=config, digest=config.digest)


def measure(job: Job) -> dict[str, Any]:
    """Run one job; with a folder, the simulator of that folder."""
    numba.set_num_threads(1)
    with imported_from(job.world.folder):
        result = run(job.config)
    contacts = np.array(result.daily.column("contacts").to_pylist()[:10]) / job.config.people
    return {
        **{metric: result.summary[metric] for metric in METRICS},
        "contacts_per_person_day": float(contacts.mean()),
        "sound": result.summary["privacy"]["sound"],
        "seconds": result.seconds["total"],
        "source": result.provenance["simulator"],
        "commit": result.provenance["commit"],
        "config_digest": job.digest,
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


def of_this_call(runs: dict[str, Any], jobs: list[Job]) -> dict[str, Any]:
    """Return the finished runs of the given jobs: their seeds, methods, settings and builds."""
    return {job.key: runs[job.key] for job in jobs if is_done(runs, job)}


def is_done(runs: dict[str, Any], job: Job) -> bool:
    return bool(runs.get(job.key, {}).get("config_digest") == job.digest)


def spread(runs: dict[str, Any], world: str, method: str, metric: str) -> Spread | None:
    """Return a metric over the seeds; `runs` holds those of this call and no others."""
    prefix = f"{world}|{method}|"
    values = [r[metric] for key, r in runs.items() if key.startswith(prefix)]
    return Spread(values=np.array(values, dtype=np.float64)) if values else None


def number(
    found: Spread | None, scale: float, digits: int, *, seeds: int, median: bool = False
) -> str:
    """Return the text of a cell; with how many seeds it has, if that is not all of them."""
    if found is None:
        return ""
    text = f"{scale * found.mean:.{digits}f}"
    if found.values.size > 1:
        text += f" ± {scale * found.half_width:.{digits}f}"
    if median:
        text += f" ({scale * found.median:.{digits}f})"
    return text + (f", n = {found.values.size}" if found.values.size != seeds else "")


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]


def uncontrolled(runs: dict[str, Any], labels: list[str], seeds: int) -> list[str]:
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
        [
            label,
            *(number(spread(runs, label, "none", m), s, d, seeds=seeds) for _, m, s, d in columns),
        ]
        for label in labels
        if spread(runs, label, "none", "attack_rate") is not None
    ]
    if not rows:
        return []
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
                number(
                    spread(runs, label, method, metric),
                    1000.0,
                    1,
                    seeds=options.seeds,
                    median=True,
                )
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
    last = options.first_seed + options.seeds - 1
    lines = [
        "# Simulators side by side",
        "",
        "Made by",
        "",
        f"    {command(sys.argv)}",
        "",
        f"{options.people:,} people, {options.days} days, preset `{options.preset}`, "
        f"ε = {options.epsilon:g} per release, seeds {options.first_seed} to {last} "
        f"({options.seeds}), {CONFIDENCE:.0%} intervals of the mean"
        + ("" if len(runs) == options.seeds * len(labels) * len(methods) else UNFINISHED)
        + ".",
        "",
        f"dnatrace {__version__}, {said_of(runs, 'commit', 'commit')}. Builds:",
        "",
        *(f"- {label}: {said_of(of_world(runs, label), 'source', 'build')}." for label in labels),
        "",
        *uncontrolled(runs, labels, options.seeds),
    ]
    if methods != ["none"]:
        lines += controlled(runs, labels, methods, options)
    return "\n".join(lines)


def of_world(runs: dict[str, Any], label: str) -> dict[str, Any]:
    return {key: values for key, values in runs.items() if key.startswith(f"{label}|")}


def said_of(runs: dict[str, Any], key: str, noun: str) -> str:
    """Return what the runs say of their origin, all of it when they differ."""
    found = sorted({str(values.get(key) or f"unknown {noun}") for values in runs.values()})
    return (f"{noun} " if key == "commit" else "") + (" and ".join(found) or "no run yet")


def command(argv: list[str]) -> str:
    """Return the command of this call, without the folders of this machine."""
    words = [re.sub(r"""(^|[="'])/[^,"']*/""", r"\1.../", word) for word in argv[1:]]
    for i, word in enumerate(argv[1:]):
        if word.startswith("--openabm="):
            words[i] = "=".join(word.split("=")[:2]) + "=..."
        elif argv[i] == "--openabm":
            words[i] = word.partition("=")[0] + "=..."
    return shlex.join(["python", "verification/simulators.py", *words]).replace("...", "…")


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


def remember(record: dict[str, Any], config: RunConfig) -> None:
    """Add this call to those that made the record: its command and what it ran with."""
    of_one_run = ("config_digest", "seed")
    call = {k: v for k, v in provenance(config).items() if k not in of_one_run}
    call["command"] = command(sys.argv)
    calls = record.setdefault("calls", [])
    if call not in calls:
        calls.append(call)


def main() -> None:
    options = parse()
    methods, columns = options.methods.split(","), worlds(options)
    if not columns or options.seeds < 1:
        sys.exit("there is nothing to run")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    jobs = [job_of(m, w, seed, options) for seed in seeds for w in columns for m in methods]
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
    open_jobs = [job for job in jobs if not is_done(runs, job)]
    labels = [world.label for world in columns]
    remember(record, jobs[0].config)

    def tables() -> str:
        return render(of_this_call(runs, jobs), labels, methods, options)

    def keep() -> None:
        if kept is None or options.out is None:
            return
        with replacing(kept) as temporary:
            temporary.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
        with replacing(options.out) as temporary:
            temporary.write_text(tables())

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
    if of_this_call(runs, jobs):
        keep()
        print(tables())
    if failed:
        sys.exit(f"{len(failed)} runs failed, the first is {failed[0]}")


if __name__ == "__main__":
    main()
