"""Runs that differ only in their seed belong together; what else differs is their name."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.methods.catalogue import CATALOGUE
from dnatrace.report.quantities import Quantity
from dnatrace.report.reading import StoredRun, flatten
from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.study import Spread

METHOD, EPSILON = "method.name", "privacy.epsilon"

# Settings that change nothing when a method adds no noise.
_OF_NOISE = ("privacy.", "method.gamma", "method.rho")
_OF_NETWORKS = {"method.model": "dna", "method.decoder": "tally"}  # changes these alone
_SHORT = {
    EPSILON: "ε",
    "privacy.delta": "δ",
    "privacy.unit": "per",
    "method.gamma": "γ",
    "tests.false_positive_rate": "false positives",
    "tests.false_negative_rate": "false negatives",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """The runs of one setting.

    Attributes:
        label: unique in a report.
        settings: by dotted key, without the seed.
        runs: one a seed, in order of the seeds.
        plain: whether every setting in which runs differ has its default, the method aside.
    """

    label: str
    plain: bool
    settings: dict[str, Any]
    runs: tuple[StoredRun, ...]

    @property
    def method(self) -> str:
        """The name of the tracing method."""
        return str(self.settings.get(METHOD))

    @property
    def privacy(self) -> dict[str, Any]:
        """What the first seed's summary says of privacy."""
        privacy: dict[str, Any] = self.runs[0].summary["privacy"]
        return privacy

    def values(self, quantity: Quantity) -> NDArray[np.float64]:
        """Return a number of the summary in its unit, one a seed, NaN where it is absent."""
        return np.array([_in_unit(run, quantity) for run in self.runs], dtype=np.float64)

    def spread(self, quantity: Quantity) -> Spread | None:
        """Return a number of the summary over the seeds that have it; None when none has."""
        return spread(self.values(quantity))


def spread(values: NDArray[np.float64]) -> Spread | None:
    """Return the spread of the values that are there; None when there is none."""
    present = values[np.isfinite(values)]
    return Spread(values=present) if present.size else None


def _in_unit(run: StoredRun, quantity: Quantity) -> float:
    value = run.summary[quantity.key]
    if value is None:
        return np.nan
    people = run.summary["people"] if quantity.per_person else 1
    return float(quantity.scale * value / people)


def group_runs(runs: Iterable[StoredRun]) -> list[Group]:
    """Put runs that differ only in their seed together, each method's plain setting first."""
    together: dict[str, list[StoredRun]] = {}
    for run in runs:
        together.setdefault(repr(sorted(run.settings.items())), []).append(run)
    members = [tuple(sorted(group, key=lambda run: run.seed)) for group in together.values()]
    names = Names([group[0] for group in members])
    members.sort(key=lambda group: names.order(group[0]))
    labels = names.unique([group[0] for group in members])
    return [
        Group(label=label, settings=group[0].settings, runs=group, plain=names.plain(group[0]))
        for label, group in zip(labels, members, strict=True)
    ]


class Names:
    """Names for settings: the method, and every setting that differs and is not its default."""

    def __init__(self, runs: Sequence[StoredRun]) -> None:
        keys = dict.fromkeys(key for run in runs for key in run.settings)
        self._defaults = flatten(RunConfig().as_dict())
        self._varying = [
            key
            for key in keys
            if len({repr(r.settings.get(key)) for r in runs if _acts(r, key)}) > 1
        ]
        self._all_varying = [
            key for key in keys if len({repr(r.settings.get(key)) for r in runs}) > 1
        ]

    @property
    def unsaid(self) -> dict[str, Any]:
        """Settings that differ between runs and have this value where a label does not say so."""
        return {
            key: self._defaults[key]
            for key in self._varying
            if key not in (METHOD, EPSILON) and self._defaults.get(key) is not None
        }

    def label(self, run: StoredRun, *, skip: Collection[str] = ()) -> str:
        """Return the name of a run's setting, without the keys in `skip`."""
        parts = [str(run.settings.get(METHOD))]
        for key in self._varying:
            value = run.settings.get(key)
            default = key != EPSILON and key in self._defaults and value == self._defaults[key]
            if key != METHOD and key not in skip and _acts(run, key) and not default:
                parts.append(f"{short(key)} {written(value)}")
        return ", ".join(parts)

    def plain(self, run: StoredRun) -> bool:
        """Return whether settings that differ between runs have their defaults in this one."""
        return all(
            run.settings.get(key) == self._defaults.get(key)
            for key in self._varying
            if key != METHOD and _acts(run, key)
        )

    def unique(self, runs: Sequence[StoredRun]) -> list[str]:
        """Return a label for each run, in full where the short ones would be the same."""
        labels = [self.label(run) for run in runs]
        return [
            label if labels.count(label) == 1 else self._in_full(run)
            for label, run in zip(labels, runs, strict=True)
        ]

    def _in_full(self, run: StoredRun) -> str:
        others = [key for key in self._all_varying if key != METHOD]
        values = (f"{short(key)} {written(run.settings.get(key))}" for key in others)
        return ", ".join([str(run.settings.get(METHOD)), *values])

    def order(self, run: StoredRun) -> tuple[Any, ...]:
        """Return a key to sort by: method, then default before other values, then the value."""
        method = str(run.settings.get(METHOD))
        known = list(CATALOGUE)
        place = known.index(method) if method in known else len(known)
        rest = tuple(
            (key != EPSILON and value != self._defaults.get(key), _sortable(value))
            for key in self._all_varying
            for value in [run.settings.get(key)]
            if key != METHOD
        )
        return (place, method, *rest)


def _acts(run: StoredRun, key: str) -> bool:
    """Whether a setting can have changed a run."""
    if key in _OF_NETWORKS and run.settings.get(METHOD) != _OF_NETWORKS[key]:
        return False
    return run.summary["privacy"].get("noise") is not None or not key.startswith(_OF_NOISE)


def short(key: str) -> str:
    """Return a setting's name for people: its last part when that is clear alone."""
    last = key.rpartition(".")[2]
    unclear = last in ("days", "name", "noise")
    return _SHORT.get(key, key if unclear else last.replace("_", " "))


def written(value: Any) -> str:
    """Return a setting's value for people."""
    if value is None:
        return "absent"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(written(v) for v in value)
    return str(value)


def _sortable(value: Any) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return (not number, float(value) if number else 0.0, "" if number else str(value))
