"""Which data give the published areas under the curve: which policy, and which people."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.networks.architecture import Variant
from dnatrace.networks.model_file import SUFFIX
from dnatrace.networks.runtime import DEFAULT_MODEL, Model
from dnatrace.paper.places import BY_NAME
from dnatrace.paper.reading import Reading
from dnatrace.paper.setting import published_model
from dnatrace.paper.theorems import AREAS_OF, AUC_TOLERANCE
from dnatrace.training import auc_table
from dnatrace.training.auc_table import AucTable
from dnatrace.training.dataset import read_info
from dnatrace.training.evaluation import target_name

PREDICTIONS = ("fn", "network", "combined")


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaTrial:
    """The three areas on one dataset, over one group of people.

    Attributes:
        policy: the policy of the recorded runs.
        group: everybody, or people not isolated.
        networks: which networks, what they predict and on which runs they were trained, in words.
        areas: the areas of FN, the network alone, and both; None without such a network.
        published: the same areas in the paper.
    """

    policy: str
    group: str
    networks: str
    areas: dict[str, float | None]
    published: dict[str, float]

    @property
    def hits(self) -> int:
        """How many areas are within one point of the published ones."""
        return sum(
            area is not None and abs(area - self.published[name]) <= AUC_TOLERANCE
            for name, area in self.areas.items()
        )

    @property
    def distance(self) -> float:
        """The mean distance from the published areas; infinite without any area."""
        found = {name: area for name, area in self.areas.items() if area is not None}
        far = [abs(area - self.published[name]) for name, area in found.items()]
        return sum(far) / len(far) if far else math.inf

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        named = {f"auc_{name}": area for name, area in self.areas.items()}
        about = {"policy": self.policy, "group": self.group, "networks": self.networks}
        return about | named | {"hits": self.hits}


def with_areas(reading: Reading, trials: Sequence[AreaTrial]) -> Reading:
    """Return a reading with the data and people whose areas are closest; itself without trials.

    The most areas within one point win; among equals, the smallest mean distance.
    """
    if not trials:
        return reading
    best = max(trials, key=lambda trial: (trial.hits, -trial.distance))
    reading = reading.at("areas", best.group)
    known = {option.name for option in BY_NAME["training"].options}
    return reading.at("training", best.policy) if best.policy in known else reading


def datasets_in(directory: Path) -> list[Path]:
    """Return the datasets in a directory, or the directory itself if it is one."""
    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory of datasets")
    inside = [path for path in sorted(directory.iterdir()) if _is_dataset(path)]
    found = [directory] if _is_dataset(directory) else inside
    if not found:
        raise InputError(f"{directory}: neither a dataset nor a directory of some")
    return found


def _is_dataset(path: Path) -> bool:
    try:
        read_info(path)
    except InputError:
        return False
    return True


def area_trials(directory: Path) -> list[AreaTrial]:
    """Return the areas on every dataset of a directory, over everybody and people not isolated.

    There are two networks: the published one, which reads messages and predicts I, and one that
    also reads own tests, counts and age and predicts E or I, as the published program does. They
    are taken from the directory `models` of a dataset, as `dnatrace train` writes them, or else
    from those that ship with the package.
    """
    return [trial for dataset in datasets_in(directory) for trial in _trials_of(dataset)]


def _trials_of(dataset: Path) -> Iterator[AreaTrial]:
    data = auc_table.read_test_data(dataset)
    policy = str(read_info(dataset).origin.get("policy"))
    for shipped in dict.fromkeys((published_model(), DEFAULT_MODEL)):
        own = dataset / "models" / f"{shipped}{SUFFIX}"
        chosen = auc_table.choose_models(str(own) if own.is_file() else shipped)
        models = tuple(m for m in chosen if _is_alike(m, chosen[0]))
        table = auc_table.make_table(models, data)
        where = chosen[0].provenance.get("dataset", {}).get("origin", {})
        trained = f"trained on runs of {where.get('policy')}, {where.get('people', 0):,} people"
        networks = f"{shipped}, target {target_name(chosen[0].with_exposed)}, {trained}"
        yield from (_trial(table, policy, group, networks) for group in AREAS_OF)


def _is_alike(model: Model, first: Model) -> bool:
    """Return whether a network has the same architecture and reads messages."""
    return (
        model.architecture.kind is first.architecture.kind
        and model.architecture.variant is not Variant.PUBLIC
    )


def _trial(table: AucTable, policy: str, group: str, networks: str) -> AreaTrial:
    values = table.as_json()
    areas = {name: values[AREAS_OF[group]][name] for name in PREDICTIONS}
    published = {name: values["published"][name] for name in PREDICTIONS}
    return AreaTrial(
        policy=policy, group=group, networks=networks, areas=areas, published=published
    )
