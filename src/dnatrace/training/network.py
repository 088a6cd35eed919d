"""Train networks: F + p1·G against the true state, with F fixed.

Every step evaluates the part before the mean once on the table of (age, level) and multiplies it by
the batch's shares of messages. One seed gives one result, bit for bit on one machine: batches come
from a keyed stream, and XLA runs its matrix products on one thread each, in a fixed order. Training
that was killed resumes from its last epoch and ends with the same bits.
"""

import logging
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

# Read when JAX starts. Sums split among threads could differ between runs.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array

from dnatrace.errors import InputError, require_between
from dnatrace.networks.architecture import WINDOW, Architecture, Kind, Variant, levels_up_to
from dnatrace.rng import Stream
from dnatrace.runs.metrics import area_under_roc
from dnatrace.runs.progress import Track
from dnatrace.seir import SeirParameters, State, TestErrors
from dnatrace.training import deepset
from dnatrace.training.checkpoint import Progress, read_checkpoint, run_key, write_checkpoint
from dnatrace.training.samples import Samples
from dnatrace.training.scores import columns_of, fn_scores, message_shares, public_inputs

Floats = NDArray[np.float32]

_LOG = logging.getLogger(__name__)
_FIRST_OFFSET = 3.0  # of log odds: one of twenty kept
_MOST_STEPS = 1_000_000  # epochs, samples of a batch, iterations: more is a slip
_SMALL = 1e-3  # for scores of this size or less, log odds no longer run away


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to train; the defaults are the paper's where it states them.

    Attributes:
        epochs: passes over the samples.
        batch: samples per step; not stated in the paper.
        rate: the learning rate at the start.
        last_rate: the learning rate at the end of the cosine.
        weight_decay: the factor of the weights in their gradient.
        power_iterations: power iterations per step, for the spectral norms of `paper`.
        seed: the seed of the first weights and of the order of samples.
    """

    epochs: int = 40
    batch: int = 1024
    rate: float = 0.002
    last_rate: float = 0.0002
    weight_decay: float = 1e-9
    power_iterations: int = 2
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "power_iterations"):
            require_between(name, getattr(self, name), 1, _MOST_STEPS)
        if not 0.0 < self.last_rate <= self.rate < np.inf:
            raise InputError("learning rates must be positive and must not rise")
        if not 0 <= self.seed < 2**31:
            raise InputError(f"seed must be between 0 and 2^31-1, not {self.seed}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """Samples as one network reads them.

    Attributes:
        levels: the levels of messages from 0 to γ.
        shares: the shares of messages by row of the table, sparse float32 [n, 14 × levels].
        public: public inputs, float32 [n, inputs]; no columns for `paper`.
        belief: F, float32 [n]; zeros when the network is used alone.
        target: 1 or 0, float32 [n].
        weight: the weight of each sample in the loss, float32 [n].
    """

    levels: tuple[float, ...]
    shares: csr_array
    public: Floats
    belief: Floats
    target: Floats
    weight: Floats

    def __len__(self) -> int:
        return self.target.size


def prepare(
    samples: Samples,
    architecture: Architecture,
    *,
    parameters: SeirParameters,
    test_errors: TestErrors,
    others_kept: float = 1.0,
) -> Task:
    """Return samples as a network of that architecture reads them.

    `others_kept` is the share of samples not in state I that were kept. With E among the targets,
    samples in E have weight 1/others_kept, so that the ratio of E to I is as before sampling.
    """
    a = architecture
    belief = np.zeros(len(samples), dtype=np.float32)
    if a.variant is Variant.COMBINED:
        belief = fn_scores(samples, a.gamma, parameters, test_errors, a.with_exposed).astype(
            np.float32
        )
    target = samples.exposed_or_infected if a.with_exposed else samples.infected
    weight = np.ones(len(samples), dtype=np.float32)
    if a.with_exposed:
        weight[samples.seir == State.E] = 1.0 / others_kept
    tight = a.kind is Kind.TIGHT
    levels = samples.grid[: levels_up_to(samples.grid, a.gamma)]
    return Task(
        levels=tuple(levels.tolist()),
        shares=message_shares(samples, columns_of(samples.grid, a), WINDOW * levels.size),
        public=public_inputs(samples) if tight else np.zeros((len(samples), 0), np.float32),
        belief=belief,
        target=target.astype(np.float32),
        weight=weight,
    )


class _State(NamedTuple):
    """Everything that a step changes."""

    parameters: Any  # of the network, and the offset between sampled and true frequencies
    power: dict[str, Array]
    optimiser: Any


def train(
    architecture: Architecture,
    task: Task,
    validation: Task,
    *,
    p1: float,
    settings: Settings,
    checkpoint: Path | None = None,
    track: Track | None = None,
) -> Progress:
    """Train a network; `best` are its effective weights, not projected.

    Guarantee: the same arguments give the same bits on one machine, even when training was killed
    and resumes from `checkpoint`. A checkpoint of another run is refused.
    Cost: an epoch is one product of batch shares and table per step; docs/network.md has figures.

    `validation` are samples of another run, for the AUC after each epoch; p1 is the factor of G;
    `checkpoint` is replaced after each epoch.
    """
    if not len(task) or not 0.0 < task.target.mean() < 1.0:
        raise InputError("training needs samples of both kinds, infected and not")
    steps = -(-len(task) // settings.batch)
    progress = Progress(state=_first_state(architecture, settings, steps))
    key = _key(architecture, settings, p1, task, validation)
    if checkpoint is not None and checkpoint.exists():
        progress = read_checkpoint(checkpoint, key, progress)
    step = _make_step(architecture, task.levels, settings, steps, p1)
    done = len(progress.curve)
    epochs = range(done, settings.epochs)
    if done:
        told = (done, settings.epochs, len(epochs))
        _LOG.info("training resumes: %d of %d epochs are done, %d are left", *told)
    for epoch in track(epochs, len(epochs)) if track and epochs else epochs:
        progress.state, loss = _epoch(progress.state, task, step, settings, epoch)
        network, _ = progress.state.parameters
        used, _ = network.effective(progress.state.power, iterations=settings.power_iterations)
        weights = deepset.as_arrays(used)
        scores = predict(architecture, weights, validation, p1=p1)
        auc = _validation_auc(scores, validation)
        rate = float(_schedule(settings, steps)((epoch + 1) * steps))
        progress.curve.append(
            {"epoch": epoch + 1, "rate": rate, "loss": loss, "validation_auc": auc}
        )
        if auc > progress.best_auc:
            progress.best, progress.best_epoch = weights, epoch + 1
        if checkpoint is not None:
            write_checkpoint(checkpoint, key, progress)
    return progress


def predict(architecture: Architecture, weights: Any, task: Task, *, p1: float) -> Floats:
    """Return F + p1·G, or G of a network alone, by JAX: float32 [n]."""
    forward = _make_forward(architecture, task.levels)
    scores = []
    for batch, n in _batches(task, np.arange(len(task)), 4096):
        g = np.asarray(forward(weights, batch.shares, batch.public))
        scores.append(_prediction(architecture, g, batch.belief, p1)[:n])
    return np.concatenate(scores) if scores else np.zeros(0, dtype=np.float32)


def _validation_auc(scores: Floats, validation: Task) -> float:
    """Return the AUC after an epoch; 0.5 with only one kind, so that some epoch is the best."""
    if np.isnan(scores).any():
        raise InputError("a score is not a number")
    area = area_under_roc(scores, validation.target > 0.5)
    return 0.5 if area is None else area


class _Batch(NamedTuple):
    shares: Array
    public: Array
    belief: Floats
    target: Array
    weight: Array


def _batches(task: Task, order: NDArray[np.int64], size: int) -> Iterator[tuple[_Batch, int]]:
    """Yield batches of one size; the last is padded with samples of weight 0.

    Each comes with the number of samples that are not padding.
    """
    for start in range(0, order.size, size):
        index = order[start : start + size]
        filled = np.resize(index, size)
        weight = np.where(np.arange(size) < index.size, task.weight[filled], np.float32(0.0))
        batch = _Batch(
            shares=jnp.asarray(task.shares[filled].toarray()),
            public=jnp.asarray(task.public[filled]),
            belief=task.belief[filled],
            target=jnp.asarray(task.target[filled]),
            weight=jnp.asarray(weight),
        )
        yield batch, index.size


def _epoch(
    state: _State, task: Task, step: Any, settings: Settings, epoch: int
) -> tuple[_State, float]:
    rng = Stream(settings.seed, "training/order").generator(day=epoch)
    order = rng.permutation(len(task))
    losses = []
    for batch, _ in _batches(task, order, settings.batch):
        state, loss = step(state, *batch)
        losses.append(loss)
    return state, float(np.mean([float(x) for x in losses]))


def _prediction(architecture: Architecture, g: Any, belief: Any, p1: float) -> Any:
    return belief + p1 * g if architecture.variant is Variant.COMBINED else g


def _loss(architecture: Architecture, score: Array, offset: Array, target: Array) -> Array:
    """Return the squared error of each sample.

    For `paper` it is that of the score itself, as published. For `tight` with F, samples are
    balanced and the score is a probability under true frequencies, so it is compared after a shift
    of its log odds, which is learned and does not change the order of scores. The public part of G
    then stays on the scale of F instead of swamping it.
    """
    if architecture.kind is Kind.PAPER or architecture.variant is not Variant.COMBINED:
        return (score - target) ** 2
    # log(score + small) for positive scores, and its tangent at 0 below.
    low = jnp.minimum(score, 0.0) / _SMALL + jnp.log(jnp.maximum(score, 0.0) + _SMALL)
    log_odds = low - jnp.log(jnp.maximum(1.0 - score, _SMALL))
    return (jax.nn.sigmoid(log_odds + offset) - target) ** 2


@lru_cache(maxsize=4)  # compiled once per network, not per epoch
def _make_forward(architecture: Architecture, levels: tuple[float, ...]) -> Any:
    kept = np.array(levels, dtype=np.float32)
    return jax.jit(
        lambda weights, shares, public: deepset.from_shares(
            architecture, weights, kept, shares, public
        )
    )


@lru_cache(maxsize=4)
def _make_step(
    architecture: Architecture, levels: tuple[float, ...], settings: Settings, steps: int, p1: float
) -> Any:
    kept = np.array(levels, dtype=np.float32)
    optimiser = _optimiser(settings, steps)

    def loss_of(parameters: Any, power: Any, batch: Any) -> Any:
        shares, public, belief, target, weight = batch
        network, offset = parameters
        weights, power = network.effective(power, iterations=settings.power_iterations)
        g = deepset.from_shares(architecture, weights, kept, shares, public)
        score = _prediction(architecture, g, belief, p1)
        errors = _loss(architecture, score, offset, target) * weight
        return errors.sum() / weight.sum(), power

    @partial(jax.jit, donate_argnums=0)
    def step(state: _State, *batch: Any) -> tuple[_State, Array]:
        gradient = jax.value_and_grad(loss_of, has_aux=True)
        (loss, power), slope = gradient(state.parameters, state.power, batch)
        update, memory = optimiser.update(slope, state.optimiser, state.parameters)
        return _State(eqx.apply_updates(state.parameters, update), power, memory), loss

    return step


def _schedule(settings: Settings, steps: int) -> Any:
    return optax.cosine_decay_schedule(
        settings.rate, settings.epochs * steps, alpha=settings.last_rate / settings.rate
    )


def _optimiser(settings: Settings, steps: int) -> Any:
    return optax.chain(
        optax.add_decayed_weights(settings.weight_decay), optax.adam(_schedule(settings, steps))
    )


def _first_state(architecture: Architecture, settings: Settings, steps: int) -> _State:
    network, power = deepset.create(architecture, settings.seed)
    parameters = (network, jnp.asarray(_FIRST_OFFSET))
    return _State(parameters, power, _optimiser(settings, steps).init(parameters))


def _key(
    architecture: Architecture, settings: Settings, p1: float, task: Task, validation: Task
) -> str:
    """Return a digest of everything that determines how training continues."""
    arrays: list[NDArray[Any]] = []
    for part in (task, validation):
        held = part.shares
        arrays += [held.data, held.indices, held.indptr, np.array(part.levels)]
        arrays += [part.public, part.belief, part.target, part.weight]
    return run_key([architecture.as_dict(), asdict(settings), p1, jax.__version__], arrays)
