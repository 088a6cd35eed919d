"""Group runs that differ only in their seed, and name groups by what else differs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.report.reading import StoredRun
from dnatrace.runs.listing import told_apart_by_content
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
        repeated: runs of the same settings and seed as one of those; they do not count.
    """

    label: str
    plain: bool
    settings: Settings
    runs: tuple[StoredRun, ...]
    repeated: tuple[StoredRun, ...]

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
    def so_far(self) -> dict[str, str]:
        """A mark for each cost that still grew when the runs ended, by its key."""
        unfinished = {f"per_{unit}_epsilon" for unit in self.privacy.get("unfinished") or ()}
        return {key: " so far" for key in unfinished if self.privacy.get(key) is not None}

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

    A contact list, a network or a decoder counts by its content, not by the name of its file. Of
    runs that differ in nothing that has an effect, the first counts.
    """
    together: dict[str, tuple[Settings, list[StoredRun]]] = {}
    listed = list(runs)
    told = told_apart_by_content([r.settings for r in listed], [r.contents for r in listed])
    for run, settings in zip(listed, told, strict=True):
        together.setdefault(_identity(settings), (settings, []))[1].append(run)
    names = Names([settings for settings, _ in together.values()])
    members = sorted(together.values(), key=lambda group: names.order(group[0]))
    labels = names.unique([settings for settings, _ in members])
    return [
        _group(label, names.plain(settings), settings, found)
        for label, (settings, found) in zip(labels, members, strict=True)
    ]


def _group(label: str, plain: bool, settings: Settings, found: Sequence[StoredRun]) -> Group:
    by_seed: dict[int, StoredRun] = {}
    for run in found:
        by_seed.setdefault(run.seed, run)
    return Group(
        label=label,
        plain=plain,
        settings=settings,
        runs=tuple(by_seed[seed] for seed in sorted(by_seed)),
        repeated=tuple(run for run in found if by_seed[run.seed] is not run),
    )


def _identity(settings: Settings) -> str:
    return repr(sorted(settings.items()))


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
