"""Several configurations on the same seeds, side by side."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dnatrace.errors import InputError
from dnatrace.experiments.config import RunConfig
from dnatrace.experiments.runs import run

CONFIDENCE = 0.90  # of the published intervals: Student-t, of the mean

Track = Callable[[Iterable[Any], int], Iterable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """One number over seeds.

    Attributes:
        values: one a seed, in the order of the seeds.
    """

    values: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(self.values.mean())

    @property
    def median(self) -> float:
        """The median over seeds."""
        return float(np.median(self.values))

    @property
    def half_width(self) -> float:
        """Half of the 90 % Student-t interval of the mean; NaN for one seed."""
        n = self.values.size
        if n < 2:
            return math.nan
        quantile = stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)
        return float(quantile * self.values.std(ddof=1) / math.sqrt(n))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """Summaries of labelled configurations on common seeds.

    Attributes:
        seeds: the same for every label.
        summaries: one a seed, by label.
    """

    seeds: tuple[int, ...]
    summaries: dict[str, list[dict[str, Any]]]

    def spread(self, label: str, metric: str) -> Spread:
        """Return a metric of a label over the seeds."""
        return Spread(values=np.array([s[metric] for s in self.summaries[label]], dtype=np.float64))


def compare(
    configs: Mapping[str, RunConfig],
    *,
    seeds: Sequence[int],
    workers: int | None = None,
    track: Track | None = None,
) -> Comparison:
    """Run every configuration on every seed, in processes of one thread each.

    Args:
        configs: by label; their own seed is replaced.
        seeds: common random numbers across the labels.
        workers: processes; as many as cores when None.
        track: wraps the finished runs, for instance with a progress bar.
    """
    if not configs or not seeds:
        raise InputError("a comparison needs at least one configuration and one seed")
    jobs = [
        (label, config.model_copy(update={"seed": seed}))
        for seed in seeds
        for label, config in configs.items()
    ]
    summaries: dict[str, list[dict[str, Any]]] = {label: [] for label in configs}
    with ProcessPoolExecutor(
        max_workers=workers or os.cpu_count(),
        mp_context=get_context("spawn"),
        initializer=_one_thread,
    ) as pool:
        finished: Iterable[dict[str, Any]] = pool.map(_summary, [config for _, config in jobs])
        if track is not None:
            finished = track(finished, len(jobs))
        for (label, _), summary in zip(jobs, finished, strict=True):
            summaries[label].append(summary)
    return Comparison(seeds=tuple(seeds), summaries=summaries)


def _one_thread() -> None:
    import numba  # noqa: PLC0415

    numba.set_num_threads(1)


def _summary(config: RunConfig) -> dict[str, Any]:
    return run(config).summary
