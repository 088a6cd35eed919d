"""Several configurations on the same seeds, side by side: run, compared, chosen from."""

import html
import json
import math
import tempfile
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import stats

from dnatrace.errors import InputError
from dnatrace.runs import store as stores
from dnatrace.runs.config import RunConfig, flatten
from dnatrace.runs.progress import Track
from dnatrace.runs.run import run
from dnatrace.sweeps.sweep import Failure, Where, sweep

CONFIDENCE = 0.90  # of the published intervals: Student-t, of the mean
PER_MILLE = 1000.0
TEN_SEEDS = tuple(range(1, 11))
SHOWN = ("peak_infected", "attack_rate", "tests_used", "isolation_person_days")

Label = TypeVar("Label", bound=Hashable)
Choice = TypeVar("Choice", bound=tuple[Any, ...])
# A configuration, or one with an object that takes the place of its method.
Entry = RunConfig | tuple[RunConfig, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """One number over seeds.

    Attributes:
        values: one per seed, in the order of the seeds.
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
class Study(Generic[Label]):
    """Summaries of labelled configurations on common seeds.

    Attributes:
        seeds: the same for every label.
        summaries: one per seed, by label; of labels whose runs all ended well.
        failures: the first run that failed, by label.
    """

    seeds: tuple[int, ...]
    summaries: dict[Label, list[dict[str, Any]]]
    failures: dict[Label, Failure] = field(default_factory=dict)

    def spread(self, label: Label, metric: str, *, scale: float = 1.0) -> Spread:
        """Return a metric of a label over the seeds."""
        values = np.array([s[metric] for s in self.summaries[label]], dtype=np.float64)
        return Spread(values=scale * values)

    def difference(
        self, label: Label, baseline: Label, metric: str, *, scale: float = 1.0
    ) -> Spread:
        """Return by how much a label exceeds a baseline, paired by seed."""
        ours, theirs = (self.spread(x, metric, scale=scale) for x in (label, baseline))
        return Spread(values=ours.values - theirs.values)

    def rows(
        self,
        columns: Sequence[str] = ("label",),
        *,
        metric: str = "peak_infected",
        scale: float = PER_MILLE,
        baselines: Mapping[Label, Label] = MappingProxyType({}),
    ) -> list[dict[str, Any]]:
        """Return one row per label for the tables of `sweeps.results`.

        Args:
            columns: names for the parts of labels that are tuples.
            metric: of the summaries.
            scale: of the numbers.
            baselines: of the labels that have one; their row has the paired difference to it.
        """
        rows = []
        for label in self.summaries:
            parts = label if isinstance(label, tuple) else (label,)
            row = dict(zip(columns, parts, strict=True)) | {"runs": len(self.seeds)}
            found = self.spread(label, metric, scale=scale)
            row |= {"mean": found.mean, "half_width": _or_none(found.half_width)}
            row |= {"median": found.median, "p95": found.p95, "values": found.values.tolist()}
            if label in baselines:
                gain = self.difference(label, baselines[label], metric, scale=scale)
                row |= {"difference": gain.mean, "difference_half_width": _or_none(gain.half_width)}
            elif baselines:
                row |= {"difference": None, "difference_half_width": None}
            rows.append(row)
        return rows

    def table(self, metrics: Sequence[str] = SHOWN) -> pa.Table:
        """Return one row for each label and metric: mean, median, 90 % interval, p95."""
        rows = []
        for label in self.summaries:
            for metric in metrics:
                spread = self.spread(label, metric)
                low, high = spread.interval
                row = {"label": label, "metric": metric, "runs": len(self.seeds)}
                row |= {"mean": spread.mean, "median": spread.median}
                rows.append(row | {"low": low, "high": high, "p95": spread.p95})
        return pa.Table.from_pylist(rows)

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        head = "".join(f"<th>{html.escape(metric)}</th>" for metric in SHOWN)
        rows = []
        for label in self.summaries:
            spreads = [self.spread(label, metric) for metric in SHOWN]
            cells = "".join(
                f"<td>{s.mean:.4g} ± {s.half_width:.2g}<br>"
                f"<small>median {s.median:.4g}, p95 {s.p95:.4g}</small></td>"
                for s in spreads
            )
            rows.append(f"<tr><th>{html.escape(str(label))}</th>{cells}</tr>")
        caption = f"{len(self.seeds)} seeds: mean ± half of the {CONFIDENCE:.0%} interval"
        return f"<table><caption>{caption}</caption><tr><th></th>{head}</tr>{''.join(rows)}</table>"


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


Comparison = Study  # the name of what `compare` returns


def best_settings(study: Study[Choice], metric: str) -> dict[tuple[Any, ...], Any]:
    """Return the last part of labels with the lowest mean, by the others; the first if equal.

    The best of those that are left might not be the best: there is no choice where a run failed.
    What is chosen must be judged on other seeds.
    """
    best: dict[tuple[Any, ...], Any] = {}
    for label in sorted(study.summaries, key=lambda x: study.spread(x, metric).mean):
        best.setdefault(label[:-1], label[-1])
    return {k: v for k, v in best.items() if k not in {label[:-1] for label in study.failures}}


def run_study(
    configs: Mapping[Label, Entry],
    *,
    seeds: Sequence[int],
    store: Path | None = None,
    strict: bool = False,
    **where: Unpack[Where],
) -> Study[Label]:
    """Run every configuration on every seed; failures are part of what is returned.

    Args:
        configs: by label; their own seed is replaced.
        seeds: common random numbers across the labels.
        store: directory of finished runs, from which an interrupted study resumes; None keeps none.
        strict: whether a failed run raises; at once, unless a store keeps what the others give.
        where: as for `sweep`.

    Raises:
        RuntimeError: a run failed, and that is not to be returned.
    """
    objects = {label: entry[1] for label, entry in configs.items() if isinstance(entry, tuple)}
    runs = {
        label: [_config(entry).model_copy(update={"seed": seed}) for seed in seeds]
        for label, entry in configs.items()
    }
    named = zip(*(r for label, r in runs.items() if label not in objects), strict=True)
    digests = {config.digest: config for by_seed in named for config in by_seed}
    study: Study[Label] = Study(seeds=tuple(seeds), summaries={})
    with kept_in(store) as kept:
        fail_fast = strict and store is None
        report = sweep(list(digests.values()), kept, fail_fast=fail_fast, **where)
        failed = {failure.config.digest: failure for failure in report.failed}
        for failure in failed.values() if strict else ():
            c = failure.config
            raise RuntimeError(f"{c.method.name}, seed {c.seed}: {failure.error}")
        for label, by_seed in runs.items():
            wrong = [failed[c.digest] for c in by_seed if c.digest in failed]
            if label in objects:
                summaries = [run(c, method=objects[label]).summary for c in by_seed]
                study.summaries[label] = summaries
            elif wrong:
                study.failures[label] = wrong[0]
            else:
                stored = [stores.read_json(kept / c.digest, "summary.json") for c in by_seed]
                study.summaries[label] = stored
    return study


def stored_study(configs: Sequence[RunConfig], store: Path) -> Study[str]:
    """Return what a store has of a sweep, labelled by what differs.

    Settings of which a run is missing are left out: a mean over other seeds is another mean.
    """
    together: dict[str, list[RunConfig]] = {}
    for config in configs:
        key = json.dumps(config.effective() | {"seed": None}, sort_keys=True)
        together.setdefault(key, []).append(config)
    labelled = _labelled([runs[0] for runs in together.values()])
    study: Study[str] = Study(seeds=tuple(dict.fromkeys(c.seed for c in configs)), summaries={})
    for label, runs in zip(labelled, together.values(), strict=True):
        paths = [store / config.digest for config in runs]
        if all(map(stores.is_complete, paths)):
            study.summaries[label] = [stores.read_json(path, "summary.json") for path in paths]
    return study


@contextmanager
def kept_in(store: Path | None) -> Iterator[Path]:
    """Yield a store; one that vanishes when none is given."""
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="dnatrace-") as directory:
        yield Path(directory)


def compare(
    configs: Mapping[str, Entry] | Sequence[Entry],
    *,
    seeds: Sequence[int] = TEN_SEEDS,
    workers: int | None = None,
    cluster: str | None = None,
    store: Path | str | None = None,
    track: Track | None = None,
) -> Study[str]:
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
    labelled = dict(configs) if isinstance(configs, Mapping) else _labelled(configs)
    if not labelled or not seeds:
        raise InputError("a comparison needs at least one configuration and one seed")
    return run_study(
        labelled,
        seeds=seeds,
        store=Path(store) if store else None,
        strict=True,
        workers=workers,
        cluster=cluster,
        track=track,
    )


def _config(entry: Entry) -> RunConfig:
    return entry[0] if isinstance(entry, tuple) else entry


def _labelled(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return entries by what differs between them."""
    settings = [flatten(_config(entry).as_dict()) | {"seed": None} for entry in entries]
    differing = [
        key
        for key in dict.fromkeys(key for values in settings for key in values)
        if len({json.dumps(values[key]) for values in settings if key in values}) > 1
    ]
    labelled: dict[str, Entry] = {}
    for entry, values in zip(entries, settings, strict=True):
        parts = [type(entry[1]).__name__] if isinstance(entry, tuple) else []
        for key in differing:
            if key == "method.name":
                parts += [] if isinstance(entry, tuple) else [values[key]]
            elif key in values:
                parts.append(f"{key.rpartition('.')[2]}={values[key]}")
        label = ", ".join(parts) or values["method.name"]
        n_same = sum(other.partition(" #")[0] == label for other in labelled)
        labelled[f"{label} #{n_same + 1}" if n_same else label] = entry
    return labelled
