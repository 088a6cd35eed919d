"""Group runs that differ only in their seed, and name groups by what else differs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.report.reading import StoredRun
from dnatrace.runs.quantities import Quantity
from dnatrace.sweeps.extent import Extent
from dnatrace.sweeps.naming import METHOD, Names, Settings


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
    def extent(self) -> Extent:
        """How many people its runs have and how many days they last."""
        first = self.runs[0]
        return Extent(people=first.summary["people"], days=first.daily["day"].size)

    @property
    def n_rising(self) -> int:
        """How many runs ended before their peak; unknown for older ones, which do not count."""
        return sum(run.summary.get("peak_reached") is False for run in self.runs)

    def values(self, quantity: Quantity) -> NDArray[np.float64]:
        """Return a number of the summary in its unit, one per seed, NaN where it is absent."""
        stored = np.array([run.summary[quantity.key] for run in self.runs], dtype=np.float64)
        people = np.array([run.summary["people"] for run in self.runs], dtype=np.float64)
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


def labelled(groups: Sequence[Group], label: str) -> Group:
    """Return the group of a label, however it is typed, or of a label that a person gave a run.

    Raises:
        InputError: there is none, or several.
    """
    by_label = {group.label: group for group in groups}
    names = Names([group.settings for group in groups])
    found = [group for group in groups if label in {run.label for run in group.runs}]
    if label in by_label or not found:
        meant = names.meant(label, {group.label: group.settings for group in groups})
        found = [by_label[one] for one in meant]
    if len(found) == 1:
        return found[0]
    known = "; ".join(group.label for group in found or groups)
    if found:
        raise InputError(f"baseline '{label}' is the label of runs of several settings: {known}")
    raise InputError(f"baseline '{label}' is not among the settings: {known}")
