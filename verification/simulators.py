r"""The simulators side by side: `python -m verification.simulators --seeds 10 --out FILE.md`.

Without `--methods` this is the uncontrolled epidemic: contacts per person and day, peaks, day of
the peak, attack rate. With `--methods` it is every method on every simulator and seed:

    python -m verification.simulators --seeds 10 --out FILE.md \
        --methods none,random,public-only,fn,dpfn,dpfn-s,dna

A method is NAME, NAME/RELEASE or NAME/RELEASE:key=value:key=value with keys of the configuration,
for instance dpfn-s/linear:method.gamma=0.1. OpenABM-Covid19 and Covasim take part when they can be
imported; `--openabm LABEL=FOLDER` adds builds of the former, where FOLDER holds its modules.

`--store` keeps finished runs by what they ran and the build of their simulator, so that an
interrupted call resumes, and a later call only does what is missing. A run that fails is reported,
its cells stay empty, and the exit code is 1. Intervals are 90 % Student-t intervals of the mean
over common seeds.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv

from dnatrace.methods.base import release_of
from dnatrace.runs import store as stores
from dnatrace.runs.config import RunConfig
from dnatrace.runs.presets import preset_names
from dnatrace.simulators import covasim, openabm
from dnatrace.sweeps.results import markdown_table
from dnatrace.sweeps.study import PER_MILLE, Study, kept_in
from verification.closed_loop import PEAK, Call, parser, read_call

FIRST_SEED = 3001
CONTACTS = "contacts_per_person_day"  # of the first ten days
UNCONTROLLED = (  # heading, metric, scale, digits
    ("contacts per person and day", CONTACTS, 1.0, 2),
    ("peak of I, ‰", PEAK, PER_MILLE, 1),
    ("with asymptomatic, ‰", "peak_infected_with_asymptomatic", PER_MILLE, 1),
    ("peak of E + I, ‰", "peak_exposed_or_infected", PER_MILLE, 1),
    ("day of peak", "day_of_peak", 1.0, 1),
    ("attack rate, %", "attack_rate", 100.0, 1),
    ("deaths, ‰", "deaths", PER_MILLE, 2),
)
CONTROLLED = (
    ("Peak of I (states 4–7)", PEAK),
    ("Peak of E + I (states 1–7)", "peak_exposed_or_infected"),
    ("Attack rate", "attack_rate"),
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

Label = tuple[str, str]  # simulator, method


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A column of the table: a simulator, and the folder it is imported from."""

    label: str
    name: str
    folder: str | None = None


def configuration(call: Call, method: str, simulator: str) -> RunConfig:
    head, *settings = method.split(":")
    name, _, release = head.partition("/")
    options = call.options
    overrides = {
        "method": name,
        "release": release or None,
        "simulator": simulator,
        "people": options.people,
        "days": options.days,
        "initially_infected": options.initially_infected,
        "epsilon": options.epsilon,
    }
    # The method's own settings come last.
    for setting in settings:
        key, _, value = setting.partition("=")
        overrides[key] = json.loads(value)
    return call.configuration(preset=options.preset, **overrides)


@contextmanager
def imported_from(folder: str | None) -> Iterator[None]:
    """Let modules of a folder take precedence over all others in the block."""
    before = list(sys.path)
    sys.path[:0] = [] if folder is None else [folder]
    try:
        yield
    finally:
        sys.path[:] = before


def worlds(call: Call) -> list[World]:
    """Return the columns that were asked for and can be run, in that order."""
    builds = [build.partition("=") for build in call.options.openabm]
    names = call.options.simulators or ("city" if call.quick else "city,openabm,covasim")
    found = []
    for name in names.split(","):
        if name == "openabm" and builds:
            found += [World(label=label, name=name, folder=folder) for label, _, folder in builds]
        elif name == "openabm" and not openabm.is_installed():
            print("OpenABM-Covid19 is not installed: left out", file=sys.stderr)
        elif name == "covasim" and covasim.installed_version() is None:
            print("Covasim is not installed: left out", file=sys.stderr)
        else:
            found.append(World(label=name, name=name))
    return found


def measure(call: Call, columns: Sequence[World], store: Path) -> tuple[Study[Label], list[str]]:
    """Run every method on every simulator; return the study and its builds and commits."""
    everything: Study[Label] = Study(seeds=call.seeds, summaries={})
    origins = []
    for world in columns:
        configs = {
            (world.label, method): configuration(call, method, world.name)
            for method in call.options.methods.split(",")
        }
        with imported_from(world.folder):  # worker processes import from where this one does
            study = call.study(configs, store=store)
        found = []
        for label, summaries in study.summaries.items():
            for summary in summaries:
                run = store / summary["config_digest"]
                daily = pacsv.read_csv(run / "daily.csv").column("contacts").to_pylist()[:10]
                summary[CONTACTS] = sum(daily) / len(daily) / configs[label].people
                found.append(stores.read_json(run, "provenance.json"))
        for key in ("simulator", "commit"):
            said = sorted({str(origin.get(key) or "unknown") for origin in found})
            origins.append(f"{world.label}, {key}: {' and '.join(said) or 'no run'}.")
        everything.summaries.update(study.summaries)
        everything.failures.update(study.failures)
    return everything, origins


def number(
    study: Study[Label],
    label: Label,
    metric: str,
    scale: float,
    digits: int,
    *,
    median: bool = False,
) -> str:
    """Return the text of a cell; nothing where a run failed."""
    if label not in study.summaries:
        return ""
    found = study.spread(label, metric, scale=scale)
    text = f"{found.mean:.{digits}f}"
    if found.values.size > 1:
        text += f" ± {found.half_width:.{digits}f}"
    return f"{text} ({found.median:.{digits}f})" if median else text


def uncontrolled(study: Study[Label], labels: Sequence[str]) -> list[str]:
    rows = [
        [label, *(number(study, (label, "none"), m, s, d) for _, m, s, d in UNCONTROLLED)]
        for label in labels
        if (label, "none") in study.summaries
    ]
    head = ["simulator", *(column[0] for column in UNCONTROLLED)]
    return ["## Without intervention", "", *markdown_table(head, rows), ""] if rows else []


def controlled(call: Call, study: Study[Label], labels: Sequence[str]) -> list[str]:
    lines = []
    for title, metric in CONTROLLED:
        on_the_fork = metric == PEAK and call.options.preset == "paper-code"
        rows = []
        for method in call.options.methods.split(","):
            cells = [
                number(study, (label, method), metric, PER_MILLE, 1, median=True)
                for label in labels
            ]
            rows.append([f"`{method}`", *cells, *([independent(call, method)] * on_the_fork)])
        head = ["method", *labels, *(["measured independently on the fork"] * on_the_fork)]
        table = markdown_table(head, rows)
        lines += [f"## {title}, ‰: mean ± half interval (median)", "", *table, ""]
    return lines


def independent(call: Call, method: str) -> str:
    section = configuration(call, method, "openabm").method
    for gamma in (getattr(section, "gamma", None), None):
        for release in (release_of(section), None):
            if (section.name, release, gamma) in INDEPENDENT:
                return INDEPENDENT[section.name, release, gamma]
    return ""


def long_rows(study: Study[Label]) -> list[dict[str, Any]]:
    """Return one row per simulator, method and metric, in the units of the summaries."""
    metrics = [column[1] for column in UNCONTROLLED]
    return [
        {"metric": metric, **row}
        for metric in metrics
        for row in study.rows(("simulator", "method"), metric=metric, scale=1.0)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=10, first_seed=FIRST_SEED)
    options.add_argument("--methods", default="none", help="names, separated by commas")
    options.add_argument("--simulators", help="city,openabm,covasim by default")
    options.add_argument("--openabm", action="append", default=[], metavar="LABEL=FOLDER")
    options.add_argument("--preset", default="standard", choices=preset_names())
    options.add_argument("--people", type=int, default=10_000)
    options.add_argument("--days", type=int, default=100)
    options.add_argument("--epsilon", type=float, default=1.0)
    options.add_argument("--initially-infected", type=int, default=None)
    call = read_call(options, "verification.simulators", arguments)
    columns = worlds(call)
    if not columns:
        options.error("there is nothing to run")
    with kept_in(call.options.store) as store:
        study, origins = measure(call, columns, store)
    labels = [world.label for world in columns]
    tables = uncontrolled(study, labels)
    if call.options.methods != "none":
        tables += controlled(call, study, labels)
    size = f"{call.options.people:,} people, {call.options.days} days"
    settings = f"preset `{call.options.preset}`, ε = {call.options.epsilon:g} per release"
    failures = [
        f"FAILED: {method} on {world}, seed {failure.config.seed}: {failure.error}"
        for (world, method), failure in study.failures.items()
    ]
    call.report(
        long_rows(study),
        title="Simulators side by side",
        notes=[*([] if call.quick else [f"{size}, {settings}."]), *origins, *failures],
        tables=tables or ["No run ended well."],
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
