"""Group runs that differ only in their seed, and name groups by what else differs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.methods.catalogue import METHODS
from dnatrace.report.reading import METHOD, StoredRun
from dnatrace.runs.parameters import default_of, described_settings
from dnatrace.runs.quantities import Quantity

EPSILON, RELEASE = "privacy.epsilon", "method.release"

_SHORT = {
    EPSILON: "ε",
    "privacy.delta": "δ",
    "privacy.unit": "per",
    "method.gamma": "γ",
    "tests.false_positive_rate": "false positives",
    "tests.false_negative_rate": "false negatives",
}

# By dotted key; settings without an effect are left out.
Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """The runs of one setting.

    Attributes:
        label: its name, unique in a report.
        plain: whether every setting in which runs differ has its default, apart from the method.
        settings: the settings by dotted key, without the seed.
        runs: one per seed, in order of the seeds.
    """

    label: str
    plain: bool
    settings: Settings
    runs: tuple[StoredRun, ...]

    @property
    def method(self) -> str:
        """The name of the tracing method."""
        return str(self.settings.get(METHOD))

    @property
    def privacy(self) -> dict[str, Any]:
        """What the first seed's summary says about privacy."""
        privacy: dict[str, Any] = self.runs[0].summary["privacy"]
        return privacy

    @property
    def n_rising(self) -> int:
        """How many runs ended before their peak; unknown for older ones, which do not count."""
        return sum(run.summary.get("peak_reached") is False for run in self.runs)

    def values(self, quantity: Quantity) -> NDArray[np.float64]:
        """Return a number of the summary in its unit, one per seed, NaN where it is absent."""
        stored = np.array([run.summary[quantity.key] for run in self.runs], dtype=np.float64)
        people = np.array([run.summary["people"] for run in self.runs])
        in_unit: NDArray[np.float64] = quantity.in_unit(stored, people)
        return in_unit


def group_runs(runs: Iterable[StoredRun]) -> list[Group]:
    """Put runs that differ only in their seed together, each method's plain setting first.

    Of runs that differ in nothing that has an effect, the first counts.
    """
    together: dict[str, dict[int, StoredRun]] = {}
    for run in runs:
        together.setdefault(repr(sorted(run.settings.items())), {}).setdefault(run.seed, run)
    members = [tuple(by_seed[seed] for seed in sorted(by_seed)) for by_seed in together.values()]
    names = Names([group[0].settings for group in members])
    members.sort(key=lambda group: names.order(group[0].settings))
    settings = [group[0].settings for group in members]
    return [
        Group(label=label, plain=names.plain(one), settings=one, runs=group)
        for label, one, group in zip(names.unique(settings), settings, members, strict=True)
    ]


class Names:
    """Names for settings: the method, and every setting that differs from its default."""

    def __init__(self, settings: Sequence[Settings]) -> None:
        keys = dict.fromkeys([*described_settings(), *(key for one in settings for key in one)])
        self._varying = [
            key
            for key in keys
            if key != METHOD and len({repr(one[key]) for one in settings if key in one}) > 1
        ]
        self._at_default = {
            key
            for key in self._varying
            if any(key in one and self._is_default(one, key) for one in settings)
        }

    @property
    def unsaid(self) -> dict[str, Any]:
        """Settings that differ between runs, with the value they have where a label omits them."""
        defaults = {key: known.default for key, known in described_settings().items()}
        return {
            key: defaults[key]
            for key in self._varying
            if key in self._at_default - {EPSILON, RELEASE} and defaults.get(key) is not None
        }

    def label(self, one: Settings, *, skip: Collection[str] = (), in_full: bool = False) -> str:
        """Return the name of a setting without the keys in `skip`, defaults only `in_full`."""
        parts = [str(one.get(METHOD))]
        for key in self._varying:
            said = key in one and (key == EPSILON or not self._is_default(one, key))
            if key not in skip and (said or in_full):
                parts.append(f"{short(key)} {written(one.get(key))}")
        return ", ".join(parts)

    def _is_default(self, one: Settings, key: str) -> bool:
        return one.get(key) == default_of(key, str(one.get(METHOD)))

    def plain(self, one: Settings) -> bool:
        """Return whether settings that differ between runs have their defaults in this one."""
        return all(self._is_default(one, key) for key in self._varying if key in one)

    def unique(self, settings: Sequence[Settings]) -> list[str]:
        """Return a label for each, in full where the short ones would be equal."""
        labels = [self.label(one) for one in settings]
        return [
            label if labels.count(label) == 1 else self.label(one, in_full=True)
            for label, one in zip(labels, settings, strict=True)
        ]

    def order(self, one: Settings) -> tuple[Any, ...]:
        """Return a sort key: method, then defaults before other values, then the value."""
        method, known = str(one.get(METHOD)), METHODS.names
        place = known.index(method) if method in known else len(known)
        rest = (
            (key != EPSILON and key in one and not self._is_default(one, key), _sortable(value))
            for key in self._varying
            for value in [one.get(key, default_of(key, method))]
        )
        return (place, method, *rest)


def short(key: str) -> str:
    """Return a setting's name for readers: its last part when that is clear on its own."""
    last = key.rpartition(".")[2]
    unclear = last in ("days", "name", "noise")
    return _SHORT.get(key, key if unclear else last.replace("_", " "))


def written(value: Any) -> str:
    """Return a setting's value for readers."""
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
