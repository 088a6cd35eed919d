"""Run the paper's figure and table again: what came of the runs, and which γ is best."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dnatrace.experiments import store as stores
from dnatrace.experiments.claims import Claim
from dnatrace.experiments.comparison import Spread
from dnatrace.experiments.config import RunConfig, load_config
from dnatrace.experiments.paper_claims import figure_claims, table_claims
from dnatrace.experiments.paper_setting import (
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
from dnatrace.experiments.sweep import sweep
from dnatrace.methods.catalogue import release_of

Track = Callable[[Iterable[Any], int], Iterable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What was reproduced.

    Attributes:
        target: `figure` or `table`.
        rows: one a point.
        claims: with their verdicts.
        notes: what a reader must know.
        size: how much was run.
    """

    target: str
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    size: Size


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
    rows, failures = measure(
        {point: configuration(point, size) for point in points},
        seeds=size.seeds,
        store=store,
        workers=workers,
        cluster=cluster,
        track=track,
    )
    claims = figure_claims(rows, size) if target == "figure" else table_claims(rows, size)
    return Reproduction(
        target=target,
        rows=tuple(rows),
        claims=tuple(claims),
        notes=(size.describe(), *notes, *failures),
        size=size,
    )


def measure(
    configs: dict[Point, RunConfig],
    *,
    seeds: Sequence[int],
    store: Path,
    workers: int | None = None,
    cluster: str | None = None,
    track: Track | None = None,
) -> tuple[list[Row], list[str]]:
    """Return a row for every point whose runs all ended well, and a note for every other."""
    runs = {
        point: [config.model_copy(update={"seed": seed}) for seed in seeds]
        for point, config in configs.items()
    }
    all_runs = {c.digest: c for by_seed in zip(*runs.values(), strict=True) for c in by_seed}
    report = sweep(list(all_runs.values()), store, workers=workers, cluster=cluster, track=track)
    failed = {failure.config.digest: failure.error for failure in report.failed}
    rows, notes = [], []
    for point, by_seed in runs.items():
        digests = [c.digest for c in by_seed]
        wrong = next((failed[d] for d in digests if d in failed), None)
        if wrong is not None:
            notes.append(f"{point.method} ({point.setting}) has no row: {wrong}")
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
    return rows, list(dict.fromkeys(notes))


def choose_gammas(
    *,
    store: Path,
    size: Size = FULL,
    method: str | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    track: Track | None = None,
) -> list[dict[str, Any]]:
    """Return the best γ of every method and ε by the mean peak on validation seeds, with all means.

    These are the rows of `facts/best_gamma.csv`; the seeds are not used for anything else.
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
    sweep(list(everything.values()), store, workers=workers, cluster=cluster, track=track)
    chosen = []
    for name, epsilon in dict.fromkeys((key[0], key[1]) for key in configs):
        means = {g: _mean_peak(runs[name, epsilon, g], store) for g in GAMMAS}
        finite = {g: m for g, m in means.items() if not math.isnan(m)}
        if finite:
            best = min(finite, key=lambda g: finite[g])
            release = release_of(name, None)
            row = {"method": name, "release": release, "epsilon": epsilon, "gamma": best}
            chosen.append(row | {"origin": "dnatrace reproduce gamma", "means": finite})
    return chosen


def _mean_peak(configs: Sequence[RunConfig], store: Path) -> float:
    """Return the mean peak of stored runs in per mille; NaN when one is missing."""
    if not all(stores.is_complete(store / c.digest) for c in configs):
        return math.nan
    summaries = [stores.read_json(store / c.digest, "summary.json") for c in configs]
    return PER_MILLE * float(np.mean([s["peak_infected"] for s in summaries]))
