"""From a dataset to model files: recipes, training, projection, certificate, curve."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dnatrace._version import __version__
from dnatrace.errors import InputError, require_at_least
from dnatrace.networks.architecture import Architecture, Kind, Variant, levels_up_to
from dnatrace.networks.model_file import SUFFIX
from dnatrace.networks.runtime import Model, read_model, write_model
from dnatrace.rng import Stream
from dnatrace.runs import figures
from dnatrace.runs.progress import LabelledTrack, labelled
from dnatrace.runs.provenance import libraries
from dnatrace.sweeps.results import as_csv, write_all
from dnatrace.training import network as training
from dnatrace.training.checkpoint import Progress
from dnatrace.training.dataset import DatasetInfo, read_info, read_samples
from dnatrace.training.projection import project
from dnatrace.training.samples import Samples

_LIBRARIES = ("numpy", "jax", "jaxlib", "equinox", "optax")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a shipped model is made.

    Attributes:
        kind: which of the networks.
        gamma: messages are clipped to [0, gamma].
        with_exposed: whether it predicts E or I and augments P(E) + P(I), rather than I and P(I).
        width: the width of the layers that see messages.
        batch: samples per step.
    """

    kind: Kind
    gamma: float
    with_exposed: bool
    width: int
    batch: int

    def architecture(
        self, variant: Variant, *, p1: float, gamma: float | None = None
    ) -> Architecture:
        """Return the network of a variant, with another γ when one is given."""
        return Architecture(
            kind=self.kind,
            variant=variant,
            gamma=self.gamma if gamma is None else gamma,
            with_exposed=self.with_exposed,
            width=self.width,
            # The offset of a network to which F is added is multiplied by p1 afterwards.
            public_scale=1.0 / p1 if variant is Variant.COMBINED else 1.0,
        )


RECIPES = {
    "dna": Recipe(kind=Kind.TIGHT, gamma=0.2, with_exposed=True, width=16, batch=1024),
    "dna-paper": Recipe(kind=Kind.PAPER, gamma=0.7, with_exposed=False, width=64, batch=2048),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to train.

    Attributes:
        dataset: the directory of the samples.
        out: the directory for model files and curves.
        network: one of `RECIPES`.
        variants: which of combined, alone and public.
        gamma: replaces that of the recipe.
        epochs: passes over the samples.
        seed: the seed of first weights and order.
        samples: how many of the training samples to use, drawn at random; all when None.
    """

    dataset: Path
    out: Path
    network: str = "dna"
    variants: tuple[Variant, ...] = tuple(Variant)
    gamma: float | None = None
    epochs: int = 40
    seed: int = 1
    samples: int | None = None

    def __post_init__(self) -> None:
        if self.network not in RECIPES:
            names = ", ".join(RECIPES)
            raise InputError(f"network '{self.network}' does not exist; there are {names}")
        if self.samples is not None:
            require_at_least("samples", self.samples, 2)

    @property
    def recipe(self) -> Recipe:
        """The recipe of the network."""
        return RECIPES[self.network]

    def name(self, variant: Variant) -> str:
        """Return the name of a model: `dna`, `dna-alone`, `dna-public`."""
        return self.network if variant is Variant.COMBINED else f"{self.network}-{variant}"

    def model(self, variant: Variant) -> Path:
        """Return the file of a model."""
        return self.out / f"{self.name(variant)}{SUFFIX}"

    def checkpoint(self, variant: Variant) -> Path:
        """Return the checkpoint file of a model's training."""
        return self.out / f"{self.name(variant)}.checkpoint.npz"

    def command(self, variant: Variant) -> str:
        """Return the command that makes one model; the dataset is given by its digest instead."""
        parts = ["dnatrace train DATASET", f"--network {self.network}", f"--variant {variant}"]
        parts += [f"--epochs {self.epochs}"]
        parts += [f"--gamma {self.gamma:g}"] if self.gamma is not None else []
        parts += [f"--samples {self.samples}"] if self.samples is not None else []
        return " ".join([*parts, f"--seed {self.seed}"])


def train_models(
    order: Order, *, force: bool = False, track: LabelledTrack | None = None
) -> list[dict[str, Any]]:
    """Train the variants of a network, write models and curves (CSV, SVG), return a row each.

    Training that was killed resumes from its last epoch when it is started again. Existing models
    are replaced only with `force`; `track` wraps epochs.
    """
    if not force:
        _keep_models(order)
    data = _Data(
        info=read_info(order.dataset),
        train=_chosen(_of_both_kinds(order.dataset, "train"), order),
        validation=_of_both_kinds(order.dataset, "validation"),
    )
    order.out.mkdir(parents=True, exist_ok=True)
    return [_train_one(order, variant, data, track) for variant in order.variants]


def _keep_models(order: Order) -> None:
    """Raise if a model would be replaced, unless this order made it before it was killed."""
    paths = {variant: order.model(variant) for variant in order.variants}
    for variant, model in paths.items():  # a curve without its model is that of another one
        curves = [order.out / f"{order.name(variant)}.{ending}" for ending in ("csv", "svg")]
        for path in curves if not model.exists() else ():
            if path.exists() and not order.checkpoint(variant).exists():
                raise InputError(f"{path}: exists already; --force replaces it")
    left = [v for v, path in paths.items() if order.checkpoint(v).exists() or not path.exists()]
    for variant, path in paths.items():
        if not path.exists():
            continue
        made = read_model(path).provenance if left else {}
        data = made.get("dataset", {}).get("digest")
        # The same order gives the same bytes, so nothing is lost.
        if made.get("command") != order.command(variant) or data != read_info(order.dataset).digest:
            raise InputError(f"{path}: exists already; --force replaces it")


def _of_both_kinds(dataset: Path, split: str) -> Samples:
    """Return the samples of a split; raise unless some are in state I and some are not."""
    samples = read_samples(dataset, split)
    if samples.infected.all() or not samples.infected.any():  # both hold where there is none
        n, infected = len(samples), int(samples.infected.sum())
        why = f"{n} samples, {infected} of them in state I; training needs both kinds"
        raise InputError(f"{dataset}: split '{split}' has {why}: more people, days or seeds")
    return samples


def _chosen(samples: Samples, order: Order) -> Samples:
    if order.samples is None or order.samples >= len(samples):
        return samples
    rng = Stream(order.seed, "training/samples").generator()
    return samples.take(np.sort(rng.permutation(len(samples))[: order.samples]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Data:
    """What a network learns from, and what it is validated on."""

    info: DatasetInfo
    train: Samples
    validation: Samples

    def task(self, split: str, architecture: Architecture) -> training.Task:
        return training.prepare(
            getattr(self, split),
            architecture,
            parameters=self.info.parameters,
            test_errors=self.info.test_errors,
            others_kept=self.info.others_kept(split),
        )


def _train_one(
    order: Order, variant: Variant, data: _Data, track: LabelledTrack | None
) -> dict[str, Any]:
    name, p1 = order.name(variant), data.info.parameters.p1
    architecture = order.recipe.architecture(variant, p1=p1, gamma=order.gamma)
    settings = training.Settings(epochs=order.epochs, batch=order.recipe.batch, seed=order.seed)
    checkpoint = order.checkpoint(variant)
    trained = training.train(
        architecture,
        data.task("train", architecture),
        data.task("validation", architecture),
        p1=p1,
        settings=settings,
        checkpoint=checkpoint,
        track=labelled(track, f"{name}, epochs"),
    )
    path, grid = order.model(variant), data.info.grid
    model = Model(
        name=name,
        architecture=architecture,
        weights=project(architecture, trained.best),
        trained={k: trained.best[k] for k in architecture.message_path()},
        grid=grid[: levels_up_to(grid, architecture.gamma)],
        provenance=_provenance(order, variant, data, settings, trained),
    )
    write_model(path, model)
    curve = {f"{name}.csv": as_csv(trained.curve)} | _draw_curve(name, trained.curve)
    write_all(curve, order.out)
    checkpoint.unlink(missing_ok=True)
    return {
        "model": str(path),
        "variant": variant.value,
        "samples": len(data.train),
        "epoch": trained.best_epoch,
        "validation_auc": trained.best_auc,
        "lipschitz_bound": model.lipschitz,
        "digest": model.certificate.digest,
        "kilobytes": round(path.stat().st_size / 1e3, 1),
    }


def _provenance(
    order: Order, variant: Variant, data: _Data, settings: training.Settings, trained: Progress
) -> dict[str, Any]:
    info = data.info
    return {
        "dnatrace": __version__,
        "libraries": libraries(*_LIBRARIES),
        "dataset": {"digest": info.digest, "origin": info.origin, "samples": len(data.train)},
        "parameters": info.parameters.model_dump(),
        "test_errors": info.test_errors.model_dump(),
        "settings": asdict(settings),
        "epoch": trained.best_epoch,
        "validation_auc": trained.best_auc,
        "command": order.command(variant),
        "note": "trained on simulated people: training has no privacy cost",
    }


def _draw_curve(name: str, curve: list[dict[str, float]]) -> dict[str, bytes]:
    epochs = [row["epoch"] for row in curve]
    figure = Figure(figsize=(7, 5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    above.plot(epochs, [row["loss"] for row in curve], color=figures.BLUE)
    above.set_ylabel("training loss")
    above.set_title(f"{name}: one point per epoch", loc="left")
    below.plot(epochs, [100 * row["validation_auc"] for row in curve], color=figures.VERMILION)
    below.set_ylabel("validation AUC, %")
    below.set_xlabel("epoch")
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    return figures.rendered(figure, name, ["svg"])
