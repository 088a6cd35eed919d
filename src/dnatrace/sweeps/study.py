"""Run several configurations on the same seeds, compare them, choose between them."""

import math
import tempfile
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar, Unpack

import numpy as np
import pyarrow as pa

from dnatrace.errors import InputError
from dnatrace.runs import store as stores
from dnatrace.runs.config import RunConfig
from dnatrace.runs.progress import Track
from dnatrace.runs.quantities import SUMMARY
from dnatrace.runs.run import RunResult, as_frame, named_outside, run
from dnatrace.sweeps import costs, view
from dnatrace.sweeps.entries import (
    Entry,
    check,
    check_label,
    check_metric,
    check_where,
    checked_seeds,
    config_of,
    labelled,
    name_of,
    tell_of_pairs,
)
from dnatrace.sweeps.extent import Extent, told_apart
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.stored import Found, read_found
from dnatrace.sweeps.sweep import Failure, Where, sweep

PER_MILLE = 1000.0
TEN_SEEDS = tuple(range(1, 11))
SHOWN = ("peak_infected", "attack_rate", "tests_used", "isolation_person_days")

Label = TypeVar("Label", bound=Hashable)
Choice = TypeVar("Choice", bound=tuple[Any, ...])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study(Generic[Label]):
    """Summaries of labelled configurations on common seeds.

    Attributes:
        seeds: the seeds, the same for every label.
        summaries: one summary per seed, by label; only for labels whose runs all succeeded.
        failures: the first failed run, by label.
        baseline: the label with which tables compare the others, seed by seed; None for no
            comparison.
        groups: rows by age and household size, one list per seed, by label.
    """

    seeds: tuple[int, ...]
    summaries: dict[Label, list[dict[str, Any]]]
    failures: dict[Label, Failure] = field(default_factory=dict)
    baseline: Label | None = None
    groups: dict[Label, list[list[dict[str, Any]]]] = field(default_factory=dict)

    def __repr__(self) -> str:
        n, labels = len(self.seeds), ", ".join(map(repr, self.summaries))
        return (
            f"<Study: {labels or 'nothing'} on {n} seed{'s' if n != 1 else ''}; table() compares>"
        )

    def against(self, baseline: Label) -> "Study[Label]":
        """Return the same study with tables that show paired differences from a label."""
        check_label(baseline, self.summaries, "baseline")
        return replace(self, baseline=baseline)

    def spread(self, label: Label, metric: str, *, scale: float = 1.0) -> Spread:
        """Return a metric of a label over the seeds."""
        check_label(label, self.summaries)
        check_metric(metric, self.summaries[label])
        values = np.array([s[metric] for s in self.summaries[label]], dtype=np.float64)
        least, most = SUMMARY[metric].bounds if metric in SUMMARY else (-math.inf, math.inf)
        return Spread(values=scale * values, bounds=(scale * least, scale * most))

    def n_rising(self, label: Label) -> int | None:
        """Return how many runs of a label ended before their peak; None if unknown."""
        check_label(label, self.summaries)
        said = [s["peak_reached"] for s in self.summaries[label] if "peak_reached" in s]
        return said.count(False) if said else None

    def extents(self) -> dict[Label, Extent]:
        """Return how many people each label has and how long it lasts, where summaries say so."""
        firsts = {label: runs[0] for label, runs in self.summaries.items()}
        return {k: Extent(people=s.get("people"), days=s.get("days")) for k, s in firsts.items()}

    def is_comparable(self, label: Label, baseline: Label) -> bool:
        """Whether a difference between two labels is one of policies: they last equally long."""
        for one in (label, baseline):
            check_label(one, self.summaries)
        extents = self.extents()
        return label != baseline and extents[label].as_long_as(extents[baseline])

    def difference(
        self, label: Label, baseline: Label, metric: str, *, scale: float = 1.0
    ) -> Spread:
        """Return by how much a label exceeds a baseline, paired by seed.

        Counts of a baseline with more or fewer people are those of as many people as the label has.
        """
        ours, theirs = (self.spread(x, metric, scale=scale) for x in (label, baseline))
        return Spread(values=ours.values - self.as_many(label, baseline, metric) * theirs.values)

    def as_many(self, label: Label, baseline: Label, metric: str) -> float:
        """Return the factor from a baseline's number to that of as many people as a label has."""
        is_count = metric in SUMMARY and SUMMARY[metric].per_person
        extents = self.extents()
        ours, theirs = extents[label].people, extents[baseline].people
        return ours / theirs if is_count and ours and theirs else 1.0

    def averted(
        self,
        label: Label,
        *,
        by_group: bool = False,
        prices: Mapping[str, float] | None = None,
        **baselines: Label,
    ) -> pa.Table:
        """Return what a label averts and costs compared with baselines, paired by seed.

        `comparison.averted("fn", nothing="none", status_quo="symptoms")` compares with both.

        Args:
            label: one of the labels.
            by_group: whether to split by age and household size: who gains, who bears the cost.
            prices: the price of one test, notice or person-day, by key of `costs.COSTS`; adds
                money.
            baselines: labels by the names to show; their costs count for as many people as the
                label has.
        """
        check_label(label, self.summaries)
        if not baselines:
            raise InputError("averted needs a label to compare with, such as nothing='none'")
        for one in baselines.values():
            check_label(one, self.summaries, "baseline")
            if one != label and not self.is_comparable(label, one):
                extents = {key: self.extents()[key] for key in (label, one)}
                raise InputError(f"averted: {told_apart(extents, one, called=f'{one}')[0]}")
        if by_group:
            return pa.Table.from_pylist(costs.averted_by_group(self, label, baselines))
        return pa.Table.from_pylist(costs.averted(self, label, baselines, prices=prices))

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
            metric: a number of the summaries.
            scale: a factor on the numbers.
            baselines: the baseline of each label that has one; rows have the paired difference.
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

    def table(self, metrics: Sequence[str] = SHOWN, *, baseline: Label | None = None) -> pa.Table:
        """Return one row per label and metric: mean, median, 90 % interval, p95.

        `runs_still_rising` is how many runs ended before their peak.

        Args:
            metrics: numbers of the summaries.
            baseline: a label, or that of `against` when None. When there is one, `difference` is
                the mean by which a label exceeds it on the same seed, and `difference_low` and
                `difference_high` are its 90 % interval; they are null in the baseline's own rows
                and for labels that last longer or shorter. Counts, such as tests, of a baseline
                with more or fewer people are scaled to as many people as the label has.
        """
        other = self.baseline if baseline is None else baseline
        if other is not None:
            check_label(other, self.summaries, "baseline")
        if isinstance(metrics, str):
            raise InputError(f"metrics: give a list such as ['{metrics}'], not a text")
        rows = []
        for label in self.summaries:
            for metric in metrics:
                spread = self.spread(label, metric)
                low, high = spread.interval
                row = {"label": label, "metric": metric, "runs": len(self.seeds)}
                row |= {"runs_still_rising": self.n_rising(label)}
                row |= {"mean": spread.mean, "median": spread.median}
                row |= {"low": low, "high": high, "p95": spread.p95}
                rows.append(row | self._compared(label, other, metric))
        return pa.Table.from_pylist(rows)

    def _compared(self, label: Label, baseline: Label | None, metric: str) -> dict[str, Any]:
        """Return the columns of a paired difference; none without a baseline."""
        names = ("difference", "difference_low", "difference_high")
        if baseline is None:
            return {}
        if not self.is_comparable(label, baseline):
            return dict.fromkeys(names)
        found = self.difference(label, baseline, metric)
        return dict(zip(names, (found.mean, *found.interval), strict=True))

    def to_pandas(self) -> Any:
        """Return one row per label and seed as a pandas data frame; needs pandas."""
        return as_frame(view.runs_of(self), "pandas")

    def to_polars(self) -> Any:
        """Return one row per label and seed as a polars data frame; needs polars."""
        return as_frame(view.runs_of(self), "polars")

    def plot(self, metric: str = "peak_infected") -> Any:
        """Draw a number of the summaries: a dot per seed, means and intervals; return the axes."""
        import matplotlib.pyplot as plt  # noqa: PLC0415  (slow to import)

        size = (7.0, 1.5 + 0.4 * len(self.summaries))
        axes = plt.figure(figsize=size, layout="constrained").subplots()
        view.draw(axes, self, metric)
        return axes

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        return view.as_html(self, SHOWN)


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


Comparison = Study  # the name of what `compare` returns


def best_settings(study: Study[Choice], metric: str) -> dict[tuple[Any, ...], Any]:
    """Return the last part of labels with the lowest mean, by the other parts; the first if tied.

    Where a run failed there is no choice: the best of the remaining labels might not be the best.
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
    """Run every configuration on every seed; failures are part of the result.

    An interrupted study resumes from a store of finished runs; None keeps none. When it is strict,
    a failed run raises: at once, unless a store keeps the results of the others. Otherwise it is
    like `compare`.

    Raises:
        RuntimeError: a run failed, and the study is strict.
    """
    objects = {label: entry for label, entry in configs.items() if isinstance(entry, tuple)}
    runs = {
        label: [config_of(entry).model_copy(update={"seed": seed}) for seed in seeds]
        for label, entry in configs.items()
    }
    named = zip(*(r for label, r in runs.items() if label not in objects), strict=True)
    digests = {config.digest: config for by_seed in named for config in by_seed}
    study: Study[Label] = Study(seeds=tuple(seeds), summaries={})
    with kept_in(store) as kept:
        fail_fast = strict and store is None
        report = sweep(list(digests.values()), kept, fail_fast=fail_fast, **where)
        failed = {failure.config.digest: failure for failure in report.failed}
        for label, by_seed in runs.items() if strict else ():
            for config in (c for c in by_seed if label not in objects and c.digest in failed):
                raise RuntimeError(f"{label}, seed {config.seed}: {failed[config.digest].error}")
        for label, by_seed in runs.items():
            wrong = [failed[c.digest] for c in by_seed if c.digest in failed]
            if wrong:
                study.failures[label] = wrong[0]
                continue
            if label in objects:
                found = [_of_object(c, objects[label], kept, label) for c in by_seed]
            else:
                found = [read_found(kept / c.digest) for c in by_seed]
            study.summaries[label] = [summary for summary, _ in found]
            study.groups[label] = [groups for _, groups in found]
    return study


@contextmanager
def kept_in(store: Path | None) -> Iterator[Path]:
    """Yield a store; a temporary one when none is given."""
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="dnatrace-") as directory:
        yield Path(directory)


def compare(
    configs: Mapping[str, Entry] | Sequence[Entry],
    *,
    seeds: Sequence[int] = TEN_SEEDS,
    baseline: str | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    store: Path | str | None = None,
    track: Track | None = None,
) -> Study[str]:
    """Run every configuration on every seed, on all cores.

    Args:
        configs: configurations by label, or a list that is labelled by what differs. Their own seed
            is replaced. A pair (configuration, object) runs the object, a ranker or a method, in
            this process; (configuration, object, name) names it, so that its runs are kept.
        seeds: the seeds; common random numbers across the labels.
        baseline: the label with which tables compare the others, seed by seed.
        workers: how many processes to use; as many as cores when None.
        cluster: the address of a Dask scheduler to use instead.
        store: a directory of finished runs; these are not repeated, and new ones are kept there.
            Runs of objects without a name are not kept.
        track: wraps the finished runs, for instance with a progress bar.

    Runs are done in processes: a script must call this under `if __name__ == "__main__":`.

    Raises:
        RuntimeError: a run failed; finished runs are in the store.
    """
    check(configs)
    seeds = checked_seeds(seeds)
    check_where(workers=workers, cluster=cluster, store=store, track=track)
    by_label = dict(configs) if isinstance(configs, Mapping) else labelled(configs)
    if not by_label or not seeds:
        raise InputError("a comparison needs at least one configuration and one seed")
    if baseline is not None:
        check_label(baseline, by_label, "baseline")
    tell_of_pairs(by_label, baseline)
    study = run_study(
        by_label,
        seeds=seeds,
        store=Path(store) if store else None,
        strict=True,
        workers=workers,
        cluster=cluster,
        track=track,
    )
    return study if baseline is None else study.against(baseline)


def _of_object(config: RunConfig, entry: tuple[Any, ...], store: Path, label: Any) -> Found:
    """Return summary and groups of an object's run; it is kept if the object has a name.

    Raises:
        RuntimeError: the object failed.
    """
    name = name_of(entry)
    if name is None:
        result = _run_of(config, entry[1], None, label)
        return result.summary, result.groups.to_pylist()
    digest = named_outside(config, name).digest
    if not stores.is_complete(store / digest):
        result = _run_of(config, entry[1], name, label)
        stores.write_files(stores.render(result), store, digest)
    return read_found(store / digest)


def _run_of(config: RunConfig, method: Any, name: str | None, label: Any) -> RunResult:
    try:
        return run(config, method=method, name=name)
    except InputError as error:
        raise InputError(f"{label}, seed {config.seed}: {error}") from error
    except Exception as error:  # somebody else's code
        raise RuntimeError(f"{label}, seed {config.seed}: {error}") from error
