"""Run the paper's figure and table again: what came of the runs, and which γ is best."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dnatrace.methods.catalogue import release_of
from dnatrace.paper.claims import Claim
from dnatrace.paper.paper_claims import figure_claims, table_claims
from dnatrace.paper.setting import (
    FULL,
    GAMMAS,
    PER_MILLE,
    VALIDATION_SEEDS,
    WITHOUT_CLIP,
    Point,
    Row,
    Size,
    configuration,
    methods_of,
    points_of,
)
from dnatrace.runs import store as stores
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.sweeps.study import Spread
from dnatrace.sweeps.sweep import sweep

Track = Callable[[Iterable[Any], int], Iterable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What was reproduced.

    Attributes:
        target: `figure` or `table`.
        rows: one a point.
        claims: with their verdicts.
        notes: what a reader must know, failures included.
        size: how much was run.
        failures: points without a row, and why; empty when all runs ended well.
    """

    target: str
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    size: Size
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GammaChoices:
    """The best γ of methods.

    Attributes:
        rows: one a method and ε, as in `reference_data/best_gamma.csv`, with the means of all γ.
        notes: what a reader must know, failures included.
        failures: methods and ε for which there is no choice because runs failed, and why.
    """

    rows: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    failures: tuple[str, ...]


def reproduce(
    target: str,
    *,
    store: Path,
    size: Size = FULL,
    method: str | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    track: Track | None = None,
) -> Reproduction:
    """Run the figure or the table and judge its claims; runs that the store has are not done again.

    A run that fails takes its point with it: claims about that are not tested, and say why.

    Args:
        target: `figure` or `table`.
        store: of the runs.
        size: how much to run.
        method: only this one, beside the bounds.
        workers: processes; one a core when None.
        cluster: address of a Dask scheduler to use instead.
        track: wraps the finished runs.
    """
    methods, notes = methods_of(target, method)
    points = points_of(target, methods, size)
    rows, failed = measure(
        {point: configuration(point, size) for point in points},
        seeds=size.seeds,
        store=store,
        workers=workers,
        cluster=cluster,
        track=track,
    )
    judge = figure_claims if target == "figure" else table_claims
    claims = judge(rows, size, failed)
    failures = describe_failures(failed)
    return Reproduction(
        target=target,
        rows=tuple(rows),
        claims=tuple(claims),
        notes=(size.describe(), *notes, *failures),
        size=size,
        failures=failures,
    )


def measure(
    configs: dict[Point, RunConfig],
    *,
    seeds: Sequence[int],
    store: Path,
    workers: int | None = None,
    cluster: str | None = None,
    track: Track | None = None,
) -> tuple[list[Row], dict[Point, str]]:
    """Return a row for every point whose runs all ended well, and why not for every other."""
    runs = {
        point: [config.model_copy(update={"seed": seed}) for seed in seeds]
        for point, config in configs.items()
    }
    all_runs = {c.digest: c for by_seed in zip(*runs.values(), strict=True) for c in by_seed}
    report = sweep(list(all_runs.values()), store, workers=workers, cluster=cluster, track=track)
    failed = {failure.config.digest: failure.error for failure in report.failed}
    rows, without = [], {}
    for point, by_seed in runs.items():
        digests = [c.digest for c in by_seed]
        wrong = next((failed[d] for d in digests if d in failed), None)
        if wrong is not None:
            without[point] = wrong
            continue
        summaries = [stores.read_json(store / digest, "summary.json") for digest in digests]
        peaks = PER_MILLE * np.array([s["peak_infected"] for s in summaries])
        rows.append(
            Row(
                point=point,
                config=configs[point],
                peak=Spread(values=peaks),
                sound=bool(summaries[0]["privacy"]["sound"]),
            )
        )
    return rows, without


def describe_failures(failed: Mapping[Point, str]) -> tuple[str, ...]:
    """Return one line for every method, setting and error of points without a row."""
    where: dict[tuple[str, str, str], int] = {}
    for point, error in failed.items():
        key = point.method, str(point.setting), error
        where[key] = where.get(key, 0) + 1
    return tuple(
        f"FAILED: {method} ({setting}) has no row in {n} scenario{'s' * (n > 1)}: {error}"
        for (method, setting, error), n in where.items()
    )


def choose_gammas(
    *,
    store: Path,
    size: Size = FULL,
    method: str | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    track: Track | None = None,
) -> GammaChoices:
    """Return the best γ of every method and ε by the mean peak on validation seeds, with all means.

    The rows have the form of `reference_data/best_gamma.csv`; the seeds are not used for anything
    else. With a failed run there is no choice: the best of the others might not be the best.
    """
    methods, _ = methods_of("figure", method)
    configs: dict[tuple[str, float, float], RunConfig] = {
        (name, epsilon, gamma): load_config(
            overrides=size.overrides | {"method": name, "epsilon": epsilon, "gamma": gamma}
        )
        for name in methods
        if name not in WITHOUT_CLIP
        for epsilon in size.epsilons
        for gamma in GAMMAS
    }
    runs = {
        key: [config.model_copy(update={"seed": seed}) for seed in VALIDATION_SEEDS]
        for key, config in configs.items()
    }
    everything = {c.digest: c for by_seed in runs.values() for c in by_seed}
    report = sweep(list(everything.values()), store, workers=workers, cluster=cluster, track=track)
    failed = {failure.config.digest: failure.error for failure in report.failed}
    origin = "dnatrace reproduce gamma" + (" --quick" if size.is_small else "")
    chosen, failures = [], []
    for name, epsilon in dict.fromkeys((key[0], key[1]) for key in configs):
        mine = [c.digest for g in GAMMAS for c in runs[name, epsilon, g]]
        wrong = next((failed[d] for d in mine if d in failed), None)
        if wrong is not None:
            failures.append(f"FAILED: {name} has no γ at ε = {epsilon:g}: {wrong}")
            continue
        means = {g: _mean_peak(runs[name, epsilon, g], store) for g in GAMMAS}
        best = min(means, key=lambda g: means[g])
        row = {"method": name, "release": release_of(name, None), "epsilon": epsilon, "gamma": best}
        chosen.append(row | {"origin": origin, "means": means})
    return GammaChoices(
        rows=tuple(chosen),
        notes=(replace(size, seeds=VALIDATION_SEEDS).describe(), *failures),
        failures=tuple(failures),
    )


def _mean_peak(configs: Sequence[RunConfig], store: Path) -> float:
    """Return the mean peak of stored runs in per mille."""
    summaries = [stores.read_json(store / c.digest, "summary.json") for c in configs]
    return PER_MILLE * float(np.mean([s["peak_infected"] for s in summaries]))
