"""Run a grid of settings times seeds into one store, resumable at any moment.

A sweep file is a run's TOML file with `seeds` and `grid` added:

    preset = "standard"
    people = 10_000
    seeds = { first = 1, count = 10 }      # or a list

    [grid]                                 # every combination of these
    method.name = ["fn", "dpfn-s"]
    privacy.epsilon = [0.1, 1.0]

Several `[[grid]]` blocks are swept one after another, each with its own keys; a block may name its
`preset`, and the file or a block its `scenario`. A run that two blocks ask for is done once.
"""

import itertools
import json
import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any, TypedDict

from dnatrace.errors import InputError, shown
from dnatrace.files import check_directory
from dnatrace.methods.base import release_of
from dnatrace.runs import notices
from dnatrace.runs import store as stores
from dnatrace.runs.config import DEFAULT_PRESET, RunConfig, load_config
from dnatrace.runs.nesting import flatten, read_toml
from dnatrace.runs.progress import Track, tracked
from dnatrace.runs.provenance import provenance
from dnatrace.runs.scenarios import read_scenario
from dnatrace.sweeps.attempts import Done, Finished
from dnatrace.sweeps.cluster import run_on_cluster
from dnatrace.sweeps.processes import run_locally, usable_cores

MOST_SEEDS = 100_000  # of a study; more would not end
END_OF_SEEDS = 2**63  # the seed of a run is smaller

_LOG = logging.getLogger(__name__)


class Where(TypedDict, total=False):
    """Where runs are done: arguments of `sweep`, for functions that pass them on."""

    workers: int | None  # processes; one per core when None; threads share the remaining cores
    cluster: str | None  # the address of a Dask scheduler to use instead
    track: Track | None  # wraps the finished runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A run that raised, with its reason in one line."""

    config: RunConfig
    error: str

    def as_json(self) -> dict[str, Any]:
        """Return what identifies the run, and its error."""
        c = self.config
        return {
            "config_digest": c.digest,
            "method": c.method.name,
            "release": release_of(c.method),
            "epsilon": c.privacy.epsilon,
            "seed": c.seed,
            "error": self.error,
        }


@dataclass(slots=True, kw_only=True)
class SweepReport:
    """What a sweep did.

    Attributes:
        store: where the runs are.
        complete: how many runs were completed now.
        skipped: how many runs the store had already.
        failed: the runs that raised; the next call tries them again.
        other_code: how many of the skipped runs were made by another version or commit.
    """

    store: Path
    complete: int = 0
    skipped: int = 0
    failed: list[Failure] = field(default_factory=list)
    other_code: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return plain values, as `dnatrace sweep --json` prints them."""
        return {
            "complete": self.complete,
            "failed": [failure.as_json() for failure in self.failed],
            "skipped": self.skipped,
            "store": str(self.store),
            "made_by_other_code": self.other_code,
        }


def read_sweep(path: Path) -> list[RunConfig]:
    """Return the configurations of a sweep file, seed by seed, each once.

    Raises:
        InputError: the file, a key, a value or a method's name is wrong; nothing is run.
    """
    return read_worlds(path)[0]


def read_worlds(path: Path) -> tuple[list[RunConfig], dict[str, str]]:
    """Return the configurations of a sweep file, and the names of their scenarios by digest.

    Raises:
        InputError: as `read_sweep`.
    """
    try:
        return _expanded(read_toml(path))
    except InputError as error:
        raise (
            error if str(error).startswith(str(path)) else InputError(f"{path}: {error}")
        ) from None


def expand(values: Mapping[str, Any]) -> list[RunConfig]:
    """Return the configurations that the values of a sweep file ask for."""
    return _expanded(values)[0]


def _expanded(values: Mapping[str, Any]) -> tuple[list[RunConfig], dict[str, str]]:
    base = dict(values)
    preset = base.pop("preset", DEFAULT_PRESET)
    if "seed" in base:
        raise InputError("seed: give seeds, a list, instead")
    seeds = _read_seeds(base.pop("seeds", None))
    blocks = base.pop("grid", {})
    settings = [
        combination
        for block in (blocks if isinstance(blocks, list) else [blocks])
        for combination in _combinations(block)
    ]
    chosen: dict[str, RunConfig] = {}
    worlds: dict[str, str] = {}
    with _told_once():
        for seed, combination in itertools.product(seeds, settings):
            overrides = flatten(base) | combination | {"seed": seed}
            named, world = overrides.pop("preset", preset), overrides.pop("scenario", None)
            config = load_config(preset=named, scenario=world, overrides=overrides)
            if chosen.setdefault(config.digest, config) is config and world is not None:
                worlds[config.digest] = read_scenario(world).name
    if (n := len(chosen) // len(seeds)) < len(settings):
        _LOG.info(
            "%d combinations are %d different settings: what else differs has no effect in them",
            *(len(settings), n),
        )
    return list(chosen.values()), worlds


@contextmanager
def _told_once() -> Iterator[None]:
    """Log what configurations have in common once, not once per configuration."""
    told = set[str]()

    def is_new(record: logging.LogRecord) -> bool:
        line, n = record.getMessage(), len(told)
        told.add(line)
        return len(told) > n

    logger = logging.getLogger(notices.__name__)
    logger.addFilter(is_new)
    try:
        yield
    finally:
        logger.removeFilter(is_new)


def _read_seeds(seeds: Any) -> list[int]:
    if isinstance(seeds, dict) and set(seeds) == {"first", "count"}:
        first, count = seeds["first"], seeds["count"]
        check_seeds([first])
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_SEEDS:
            raise InputError(f"seeds: count must be from 1 to {MOST_SEEDS}, not {shown(count)}")
        check_seeds([first + count - 1])
        return list(range(first, first + count))
    if isinstance(seeds, list) and seeds:
        check_seeds(seeds)
        return list(seeds)
    found = "" if seeds is None else f", not {shown(seeds)}"
    raise InputError(f"seeds: give a list such as [1, 2, 3] or {{ first = 1, count = 3 }}{found}")


def check_seeds(seeds: Sequence[Any]) -> None:
    """Raise unless these are distinct whole numbers that a run takes."""
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, Integral):
            raise InputError(
                f"seeds: give a list of whole numbers such as [1, 2, 3], not {shown(seed)}"
            )
        if int(seed) < 0:
            raise InputError(f"seeds: must be at least 0, not {seed}")
        if int(seed) >= END_OF_SEEDS:
            raise InputError(f"seeds: must be below 2^63, not {seed}")
    if len(set(seeds)) < len(seeds):
        raise InputError("seeds: one of them is given twice, which would count it twice")


def _combinations(block: Any) -> Iterator[dict[str, Any]]:
    """Yield every combination of a block's values by dotted key; anything but a list is fixed."""
    if not isinstance(block, Mapping):
        raise InputError(f"grid: give a table of keys and lists of values, not {shown(block)}")
    keys = flatten(block)
    for key in keys:
        if key.partition(".")[0] in ("seed", "seeds"):
            raise InputError(
                f"grid: {key} is not part of the grid: seeds stand at the top of the file"
            )
    choices = [value if isinstance(value, list) else [value] for value in keys.values()]
    for name, choice in zip(keys, choices, strict=True):
        if not choice:
            raise InputError(f"grid: {name}: the list of values is empty")
    for values in itertools.product(*choices):
        yield dict(zip(keys, values, strict=True))


def sweep(
    configs: Sequence[RunConfig],
    store: Path,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    track: Track | None = None,
    fail_fast: bool = False,
) -> SweepReport:
    """Do the runs that a store does not have yet.

    A run that raises is reported, and the others continue. The call can be ended at any moment and
    in any way; the next one resumes with what is missing. Several calls may work on one store,
    which is created if it does not exist. With `fail_fast` the first failure ends the sweep; the
    other arguments are those of `Where`.

    Raises:
        InputError: the store cannot be written, or the cluster cannot be reached.
    """
    stores.clear_leftovers(store)
    report = SweepReport(store=store)
    missing = []
    for config in configs:
        if stores.is_complete(store / config.digest):
            report.skipped += 1
            report.other_code += _made_by_other_code(store / config.digest, config)
        else:
            missing.append(config)
    if report.other_code:
        _LOG.warning("%d stored runs were made by another version or commit", report.other_code)
    if not missing:
        return report
    check_directory(store)
    told: set[str] = set()
    for config in missing:
        notices.tell_new(config)
        if config.n_people is not None:
            notices.tell_too_small(config, config.n_people, told)
    finished = execute(
        missing,
        workers=workers,
        cluster=cluster,
        done=lambda config: stores.is_complete(store / config.digest),
    )
    with closing(finished):  # ends the workers, also when this is interrupted
        for run in tracked(track, finished, len(missing)):
            _keep(run, store, report)
            if run.files is not None:  # now the people of a contact list are known, too
                people = json.loads(run.files["summary.json"])["people"]
                notices.tell_too_small(run.config, people, told)
            if fail_fast and report.failed:
                break
    return report


def missing_runs(configs: Sequence[RunConfig], store: Path) -> list[RunConfig]:
    """Return the configurations whose runs a store does not have."""
    return [config for config in configs if not stores.is_complete(store / config.digest)]


def _made_by_other_code(run: Path, config: RunConfig) -> bool:
    now = provenance(config)
    try:
        made = stores.read_json(run, "provenance.json")
    except InputError:
        return True  # unknown
    return any(made.get(key) != now[key] for key in ("dnatrace", "commit"))


def execute(
    configs: Sequence[RunConfig],
    *,
    workers: int | None = None,
    cluster: str | None = None,
    done: Done = lambda _: False,
) -> Generator[Finished, None, None]:
    """Yield the outcome of every configuration, from processes on this machine or a cluster."""
    if cluster is not None:
        return run_on_cluster(configs, address=cluster, done=done)
    cores = usable_cores()
    n_workers = min(workers or cores, len(configs))
    threads = max(1, cores // n_workers)
    return run_locally(configs, workers=n_workers, threads=threads, done=done)


def _keep(run: Finished, store: Path, report: SweepReport) -> None:
    if run.error is not None:
        _LOG.warning("%s (seed %d) failed: %s", run.config.digest, run.config.seed, run.error)
        report.failed.append(Failure(config=run.config, error=run.error))
    elif run.files is not None and stores.write_files(run.files, store, run.config.digest):
        report.complete += 1
    else:
        report.skipped += 1  # another sweep was first
