"""Several configurations on the same seeds, side by side."""

import html
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import stats

from dnatrace.errors import InputError
from dnatrace.methods.catalogue import release_of
from dnatrace.runs import store as stores
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import run
from dnatrace.sweeps.sweep import execute, flat, sweep

CONFIDENCE = 0.90  # of the published intervals: Student-t, of the mean
TEN_SEEDS = tuple(range(1, 11))
SHOWN = ("peak_infected", "attack_rate", "tests_used", "isolation_person_days")

Track = Callable[[Iterable[Any], int], Iterable[Any]]
# A configuration, or one with an object that takes the place of its method.
Entry = RunConfig | tuple[RunConfig, Any]


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
    def p95(self) -> float:
        """The 95th percentile over seeds, by linear interpolation: how bad a bad run is."""
        return float(np.percentile(self.values, 95))

    @property
    def half_width(self) -> float:
        """Half of the 90 % Student-t interval of the mean; NaN for one seed."""
        n = self.values.size
        if n < 2:
            return math.nan
        quantile = stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)
        return float(quantile * self.values.std(ddof=1) / math.sqrt(n))

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % Student-t interval of the mean."""
        return self.mean - self.half_width, self.mean + self.half_width


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

    def table(self, metrics: Sequence[str] = SHOWN) -> pa.Table:
        """Return one row for each label and metric: mean, median, 90 % interval, p95."""
        rows = []
        for label in self.summaries:
            for metric in metrics:
                spread = self.spread(label, metric)
                low, high = spread.interval
                rows.append(
                    {
                        "label": label,
                        "metric": metric,
                        "runs": len(self.seeds),
                        "mean": spread.mean,
                        "median": spread.median,
                        "low": low,
                        "high": high,
                        "p95": spread.p95,
                    }
                )
        return pa.Table.from_pylist(rows)

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        head = "".join(f"<th>{html.escape(metric)}</th>" for metric in SHOWN)
        rows = []
        for label in self.summaries:
            cells = []
            for metric in SHOWN:
                s = self.spread(label, metric)
                cells.append(
                    f"<td>{s.mean:.4g} ± {s.half_width:.2g}<br>"
                    f"<small>median {s.median:.4g}, p95 {s.p95:.4g}</small></td>"
                )
            rows.append(f"<tr><th>{html.escape(label)}</th>{''.join(cells)}</tr>")
        caption = f"{len(self.seeds)} seeds: mean ± half of the {CONFIDENCE:.0%} interval"
        return f"<table><caption>{caption}</caption><tr><th></th>{head}</tr>{''.join(rows)}</table>"


def compare(
    configs: Mapping[str, Entry] | Sequence[Entry],
    *,
    seeds: Sequence[int] = TEN_SEEDS,
    workers: int | None = None,
    cluster: str | None = None,
    store: Path | str | None = None,
    track: Track | None = None,
) -> Comparison:
    """Run every configuration on every seed, on all cores.

    Args:
        configs: by label, or a list that is labelled by what differs. Their own seed is replaced. A
            pair (configuration, object) runs the object, a ranker or a method, in this process.
        seeds: common random numbers across the labels.
        workers: processes; as many as cores when None.
        cluster: address of a Dask scheduler to use instead.
        store: directory of finished runs; those are not done again, and new ones are kept there.
            Objects have no name, so their runs are not kept.
        track: wraps the finished runs, for instance with a progress bar.

    Raises:
        RuntimeError: a run failed; what was finished is in the store.
    """
    entries = {k: _pair(v) for k, v in _labelled(configs).items()}
    if not entries or not seeds:
        raise InputError("a comparison needs at least one configuration and one seed")
    jobs = [
        (label, config.model_copy(update={"seed": seed}), method)
        for seed in seeds
        for label, (config, method) in entries.items()
    ]
    named = {config.digest: config for _, config, method in jobs if method is None}
    for config in named.values():
        release_of(config.method.name, config.method.release)
    done = _summaries(list(named.values()), workers, cluster, Path(store) if store else None, track)
    summaries: dict[str, list[dict[str, Any]]] = {label: [] for label in entries}
    for label, config, method in jobs:
        summary = done[config.digest] if method is None else run(config, method=method).summary
        summaries[label].append(summary)
    return Comparison(seeds=tuple(seeds), summaries=summaries)


def _pair(entry: Entry) -> tuple[RunConfig, Any]:
    return entry if isinstance(entry, tuple) else (entry, None)


def _labelled(configs: Mapping[str, Entry] | Sequence[Entry]) -> dict[str, Entry]:
    """Return configurations by label; those of a list are labelled by what differs."""
    if isinstance(configs, Mapping):
        return dict(configs)
    pairs = [_pair(entry) for entry in configs]
    settings = [flat(config.as_dict()) | {"seed": None} for config, _ in pairs]
    differing = [
        key
        for key in (settings[0] if settings else ())
        if len({json.dumps(s[key]) for s in settings}) > 1
    ]
    labelled: dict[str, Entry] = {}
    for entry, (_, method), values in zip(configs, pairs, settings, strict=True):
        parts = [
            str(values[key]) if key == "method.name" else f"{key.rpartition('.')[2]}={values[key]}"
            for key in differing
            if method is None or key != "method.name"
        ]
        if method is not None:
            parts.insert(0, type(method).__name__)
        label = ", ".join(parts) or str(values["method.name"])
        n_same = sum(known.partition(" #")[0] == label for known in labelled)
        labelled[f"{label} #{n_same + 1}" if n_same else label] = entry
    return labelled


def _summaries(
    configs: list[RunConfig],
    workers: int | None,
    cluster: str | None,
    store: Path | None,
    track: Track | None,
) -> dict[str, dict[str, Any]]:
    """Return the summaries of runs by digest, from a store where there is one."""
    if not configs:
        return {}
    if store is not None:
        report = sweep(configs, store, workers=workers, cluster=cluster, track=track)
        for failure in report.failed:
            raise RuntimeError(_failed(failure.config, failure.error))
        return {c.digest: stores.read_json(store / c.digest, "summary.json") for c in configs}
    summaries = {}
    finished = execute(configs, workers=workers, cluster=cluster)
    with closing(finished):
        for one in track(finished, len(configs)) if track else finished:
            if one.files is None:
                raise RuntimeError(_failed(one.config, one.error))
            summaries[one.config.digest] = json.loads(one.files["summary.json"])
    return summaries


def _failed(config: RunConfig, error: str | None) -> str:
    return f"{config.method.name}, seed {config.seed}: {error}"
