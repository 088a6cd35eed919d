"""Which data give the published areas under the curve: policy of the recorded runs, and whom."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.networks.architecture import Kind, Variant
from dnatrace.networks.model_file import SUFFIX
from dnatrace.networks.runtime import Model, load_model
from dnatrace.paper.setting import published_model
from dnatrace.paper.theorems import AREAS_OF, AUC_TOLERANCE
from dnatrace.training import auc_table
from dnatrace.training.auc_table import AucTable
from dnatrace.training.dataset import read_info

PREDICTIONS = ("fn", "network", "combined")


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaTrial:
    """The three areas on one dataset, over one group of people.

    Attributes:
        policy: of the recorded runs.
        group: everybody, or people not isolated.
        networks: who was trained on which runs, in words.
        areas: FN, network alone, both; None without such a network.
        published: the same, of the paper.
    """

    policy: str
    group: str
    networks: str
    areas: dict[str, float | None]
    published: dict[str, float]

    @property
    def hits(self) -> int:
        """How many areas are within a point of the published ones."""
        return sum(
            area is not None and abs(area - self.published[name]) <= AUC_TOLERANCE
            for name, area in self.areas.items()
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        named = {f"auc_{name}": area for name, area in self.areas.items()}
        about = {"policy": self.policy, "group": self.group, "networks": self.networks}
        return about | named | {"hits": self.hits}


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

    Networks are those in the directory `models` of a dataset, as `dnatrace train` writes them; the
    shipped network of the published architecture stands in where there are none.
    """
    return [trial for dataset in datasets_in(directory) for trial in _trials_of(dataset)]


def _trials_of(dataset: Path) -> list[AreaTrial]:
    own = dataset / "models" / f"dna-paper{SUFFIX}"
    model = str(own) if own.is_file() else published_model()
    models = tuple(m for m in auc_table.choose_models(model) if _is_published(m))
    table = auc_table.make_table(models, auc_table.read_test_data(dataset))
    where = load_model(model or "").provenance.get("dataset", {}).get("origin", {})
    policy = str(read_info(dataset).origin.get("policy"))
    networks = f"trained on runs of {where.get('policy')}, {where.get('people', 0):,} people"
    return [_trial(table, policy, group, networks) for group in AREAS_OF]


def _is_published(model: Model) -> bool:
    """Return whether a network is of the published architecture, alone or with F."""
    a = model.architecture
    return a.kind is Kind.PAPER and a.variant is not Variant.PUBLIC


def _trial(table: AucTable, policy: str, group: str, networks: str) -> AreaTrial:
    values = table.as_json()
    areas = {name: values[AREAS_OF[group]][name] for name in PREDICTIONS}
    published = {name: values["published"][name] for name in PREDICTIONS}
    return AreaTrial(
        policy=policy, group=group, networks=networks, areas=areas, published=published
    )
