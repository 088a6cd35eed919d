"""Training data from closed-loop runs, streamed: no run is written to disk or held in memory.

Every run is made twice. The first pass counts the infected person-days of a split and draws the
keyed uniform of every other person-day, which gives the threshold that keeps as many of them; the
second pass collects the samples. Runs are deterministic, so both passes see the same epidemic.
"""

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.inference.exposures import exposures_of
from dnatrace.networks.architecture import WINDOW
from dnatrace.rng import Stream
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.progress import Track
from dnatrace.runs.provenance import provenance
from dnatrace.runs.run import build_loop
from dnatrace.seir import State
from dnatrace.simulators.base import SEIR_OF_COURSE, CourseState
from dnatrace.tracing import DayLog
from dnatrace.training.dataset import SPLITS, DatasetInfo, DatasetWriter
from dnatrace.training.samples import Samples, collect, concatenate, cubic_grid

_LOG = logging.getLogger(__name__)

DEFAULT_PEOPLE, DEFAULT_DAYS = 100_000, 100  # the paper's
DEFAULT_POLICY = "dpfn-s"
DEFAULT_SEEDS = {"train": (7001,), "validation": (7002,), "test": (7003,)}
# Under a policy that works, few are ever infected; more first infections give more to learn from
# and leave tests, isolation and noise as they are in use (docs/training-data.md has the numbers).
INITIAL_SHARE = 0.005
_PURPOSE = "dataset/negatives"
_MOST_SEEDS = 10_000
_MOST_DAYS = 32_767  # days are stored in 16 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to generate.

    Attributes:
        config: the configuration of every run; its seed is replaced.
        seeds: the seeds by split; no seed is in two splits.
    """

    config: RunConfig
    seeds: Mapping[str, tuple[int, ...]]

    def __post_init__(self) -> None:
        _check_seeds(self.seeds)
        if self.config.seir.window != WINDOW:
            raise InputError(f"seir.window: training data needs {WINDOW} days")
        if self.config.privacy.noise != "fast":
            raise InputError("privacy.noise: training data needs noise that can be repeated: fast")
        if self.config.days > _MOST_DAYS:
            raise InputError(f"days: training data has at most {_MOST_DAYS:,}")

    def of_seed(self, seed: int) -> RunConfig:
        """Return the configuration of one run."""
        return self.config.model_copy(update={"seed": seed})


def plan_dataset(
    *,
    people: int | None = None,
    days: int | None = None,
    method: str | None = None,
    seeds: Mapping[str, tuple[int, ...]] | None = None,
    settings: Iterable[str] = (),
) -> Plan:
    """Return what to generate: the preset `standard` with these settings laid over it.

    By default 100,000 people, 100 days, `dpfn-s`; 0.5 % of the people are infected at first.
    """
    usual = (f"people={DEFAULT_PEOPLE}", f"days={DEFAULT_DAYS}", f"method={DEFAULT_POLICY}")
    config = load_config(
        settings=(*usual, *settings), overrides={"people": people, "days": days, "method": method}
    )
    if config.initially_infected is None:
        first = max(1, round(config.people * INITIAL_SHARE))
        config = config.model_copy(update={"initially_infected": first})
    return Plan(config=config, seeds=dict(seeds or DEFAULT_SEEDS))


def generate(plan: Plan, directory: Path, *, track: Track | None = None) -> DatasetInfo:
    """Run every seed of every split and write the samples; nothing else is kept.

    There is one sample per person and day, of living people with the app: all in state I, and as
    many others, drawn uniformly from all days of the split (fewer when there are not enough). The
    directory must be new or empty; `track` wraps the days of both passes.
    Cost: two closed-loop runs per seed, and 8 bytes per person-day of a split at once.
    """
    writer = DatasetWriter(
        directory=directory,
        grid=cubic_grid(),
        parameters=plan.config.seir.parameters,
        test_errors=plan.config.tests.believed,
    )
    counts = {split: _Counts() for split in SPLITS}
    steps = itertools.chain.from_iterable(
        _split_steps(plan, split, counts[split], writer.grid, partial(writer.add, split))
        for split in SPLITS
    )
    total = 2 * plan.config.days * sum(len(seeds) for seeds in plan.seeds.values())
    for _ in track(steps, total) if track else steps:
        pass
    _tell_of_empty(counts)
    return writer.finish(_origin(plan, counts))


def _tell_of_empty(counts: "Mapping[str, _Counts]") -> None:
    """Warn of splits from which nothing can be learned."""
    empty = [split for split, counted in counts.items() if not counted.positives]
    if empty:
        _LOG.warning(
            "no sample of somebody in state I in %s: more people or days", ", ".join(empty)
        )


def collect_split(plan: Plan, split: str, *, track: Track | None = None) -> tuple[Samples, float]:
    """Return the samples of one split in memory, and the share of the others they hold.

    These are the samples that `generate` writes; for small plans.
    """
    parts: list[Samples] = []
    counts = _Counts()
    steps = _split_steps(plan, split, counts, cubic_grid(), parts.append)
    for _ in track(steps, 2 * plan.config.days * len(plan.seeds[split])) if track else steps:
        pass
    samples = concatenate(parts)
    others = counts.person_days - counts.positives
    kept = (len(samples) - counts.positives) / others if others else 1.0
    return samples, kept


def _split_steps(
    plan: Plan,
    split: str,
    counts: "_Counts",
    grid: NDArray[np.float32],
    add: Callable[[Samples], None],
) -> Iterator[None]:
    for seed in plan.seeds[split]:
        for day in days_of(plan.of_seed(seed), with_messages=False):
            counts.count(day)
            yield
    threshold = counts.threshold()
    for seed in plan.seeds[split]:
        for day in days_of(plan.of_seed(seed), with_messages=True):
            add(samples_of(day, threshold, grid))
            yield


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunDay:
    """A day of a run, and who counts on it: living people with the app.

    Attributes:
        seed: the seed of the run.
        log: what happened.
        infected: who counts and is in state I, bool [people].
        others: who counts and is not in state I, ids.
    """

    seed: int
    log: DayLog
    infected: NDArray[np.bool_]
    others: NDArray[np.int64]

    def uniforms(self) -> NDArray[np.float64]:
        """Return the keyed uniform of each of the others."""
        return Stream(self.seed, _PURPOSE).uniform(self.others, self.log.day)


def days_of(config: RunConfig, *, with_messages: bool) -> Iterator[RunDay]:
    """Run the closed loop of a configuration and yield its days."""
    loop = build_loop(config, with_messages=with_messages)
    has_app = loop.has_app
    for log in loop.run(config.days):
        counts = has_app & (log.states != CourseState.DEATH)
        infected = counts & (SEIR_OF_COURSE[log.states] == State.I)
        others = np.flatnonzero(counts & ~infected)
        yield RunDay(seed=config.seed, log=log, infected=infected, others=others)


class _Counts:
    """Counts of a split, and the uniforms of everybody not infected."""

    def __init__(self) -> None:
        self.person_days = 0
        self.positives = 0
        self._uniforms: list[NDArray[np.float64]] = []

    def count(self, day: RunDay) -> None:
        positives = int(day.infected.sum())
        self.positives += positives
        self.person_days += positives + day.others.size
        self._uniforms.append(day.uniforms())

    def threshold(self) -> float:
        """Return the uniform up to which as many others are kept as there are positives."""
        uniforms = np.concatenate(self._uniforms)
        self._uniforms = []
        if self.positives == 0:
            return 0.0
        if self.positives >= uniforms.size:
            return 1.0
        uniforms.partition(self.positives - 1)
        return float(uniforms[self.positives - 1])


def samples_of(day: RunDay, threshold: float, grid: NDArray[np.float32]) -> Samples:
    """Return the samples of a day: all in state I, and others with a uniform up to a threshold."""
    kept = day.infected.copy()
    kept[day.others[day.uniforms() <= threshold]] = True
    log, public, secret = day.log, day.log.public, day.log.secret
    assert secret.messages is not None  # asked for
    assert public.age_groups is not None
    exposures = exposures_of(secret.window, secret.messages, p1=public.parameters.p1)
    beliefs = fn.last_day_beliefs(
        exposures, public.outcomes, parameters=public.parameters, test_errors=public.test_errors
    )
    return collect(
        np.flatnonzero(kept),
        grid=grid,
        contacts=tuple(secret.window),
        messages=secret.messages,
        outcomes=public.outcomes,
        age_groups=public.age_groups,
        isolated=log.isolated,
        states=log.states,
        fn=beliefs[:, State.I],  # messages neither clipped nor rounded
        day=log.day,
        seed=day.seed,
    )


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of a text like "7001,7005-7008"."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise InputError(f"seeds '{text}': expected numbers and ranges like 1,5-8")
        if dash and not 0 <= int(last) - int(first) < _MOST_SEEDS:
            raise InputError(f"seeds '{text}': the range {part.strip()} is empty or too long")
        seeds += range(int(first), int(last) + 1) if dash else [int(first)]
    return tuple(seeds)


def _check_seeds(seeds: Mapping[str, tuple[int, ...]]) -> None:
    if set(seeds) != set(SPLITS):
        raise InputError(f"seeds are needed for {', '.join(SPLITS)}")
    seen: dict[int, str] = {}
    for split in SPLITS:
        if not seeds[split]:
            raise InputError(f"the {split} split has no seeds")
        for seed in seeds[split]:
            if seed in seen:
                raise InputError(
                    f"seed {seed} is in '{seen[seed]}' and again in '{split}': no run may be in two"
                )
            if seed >= 2**63:
                raise InputError(f"seed must be between 0 and 2^63-1, not {seed}")
            seen[seed] = split


def _origin(plan: Plan, counts: dict[str, _Counts]) -> dict[str, Any]:
    settings = plan.config.as_dict()
    del settings["seed"]
    made_by = provenance(plan.config)
    del made_by["seed"], made_by["config_digest"]
    return {
        "policy": plan.config.method.name,
        "people": plan.config.people,
        "days": plan.config.days,
        "runs": {
            split: {
                "person_days": count.person_days,
                "infected_person_days": count.positives,
                "seeds": list(plan.seeds[split]),
            }
            for split, count in counts.items()
        },
        "settings": settings,
        "provenance": made_by,
    }
