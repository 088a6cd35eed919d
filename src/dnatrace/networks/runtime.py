"""Inference from tables, with numpy and numba alone.

Messages take one of a few levels and one of 14 ages, so everything before the mean is a table with
a row for each (age, level), computed once when a model is loaded; the first linear map after the
mean is folded into it. A person's window then costs one row a message.
There is no dropout and no other randomness: the same window always gives the same G.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.networks import _runtime_kernels as kernels
from dnatrace.networks.architecture import (
    AGE_GROUPS,
    N_FACTS,
    WINDOW,
    Architecture,
    Kind,
    levels_up_to,
)
from dnatrace.networks.certificate import Certificate, certify
from dnatrace.networks.model_file import ModelFile, read_model, shipped_names, shipped_or_given
from dnatrace.networks.samples import Samples, quantise
from dnatrace.records import NOT_TESTED, ContactWindow

DEFAULT_MODEL = "dna"
_SHIPPED = "dnatrace.models"
_UNKNOWN_GROUP = 255

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """A certified network, ready to run.

    Guarantee: |G(D) - G(D')| ≤ gamma·lipschitz/C for windows of C messages that differ in one,
    and nothing but messages, own tests, contact counts and age group has any effect.
    Edge cases: without messages G depends on public facts alone.

    Attributes:
        name: as it was asked for.
        architecture: how the weights are used.
        weights: effective weights, float32.
        grid: message levels from 0 to γ, float32.
        certificate: computed from these weights.
        provenance: where the model comes from.
        trained: the maps on the path of messages before projection.
    """

    name: str
    architecture: Architecture
    weights: dict[str, NDArray[np.float32]]
    grid: NDArray[np.float32]
    certificate: Certificate
    provenance: dict[str, Any]
    trained: dict[str, NDArray[np.float32]]
    table: Floats = field(init=False, repr=False)
    _layers: tuple[NDArray[Any], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        table, layers = _fold(self.architecture, self.weights, self.grid)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "_layers", layers)

    @property
    def gamma(self) -> float:
        """Messages are clipped to [0, gamma]."""
        return self.architecture.gamma

    @property
    def lipschitz(self) -> float:
        """The certified L: one of C messages moves G by at most L·|Δμ|/C."""
        return self.certificate.lipschitz_bound

    @property
    def uses_messages(self) -> bool:
        """Whether messages have any effect."""
        return self.architecture.uses_messages

    @property
    def with_exposed(self) -> bool:
        """Whether it was trained with P(E) + P(I) for E or I, rather than with I alone."""
        return self.architecture.with_exposed

    def before_projection(self) -> "Model":
        """Return the network as it was when training ended, with its own certificate."""
        weights = self.weights | self.trained
        return replace(
            self,
            name=f"{self.name} before projection",
            weights=weights,
            certificate=certify(self.architecture, weights, self.grid),
        )

    def evaluate(self, samples: Samples, *, zeroed: bool = False) -> Floats:
        """Return G of every sample; with `zeroed` every message is read as 0.

        Cost: one table row a cell, then the layers after the mean, samples in parallel.
        """
        column = columns_of(samples.grid, self.architecture, zeroed=zeroed)
        if not np.array_equal(samples.grid[: self.grid.size], self.grid):
            raise InputError("samples on another grid of messages than the model's")
        totals = np.empty((len(samples), self.table.shape[1]))
        counts = np.empty(len(samples), dtype=np.int64)
        kernels.pool_cells(
            samples.offsets,
            samples.cells,
            samples.repeats,
            column,
            self.table,
            totals,
            counts,
        )
        view = PublicView(
            model=self,
            outcomes=np.ascontiguousarray(samples.outcomes.T),
            contacts=np.ascontiguousarray(samples.contacts.T),
            age_groups=samples.age_group,
        )
        return view.finish(totals, counts)

    def look(
        self,
        outcomes: NDArray[np.int8],
        counts: NDArray[np.int32],
        age_groups: NDArray[np.uint8] | None,
    ) -> "PublicView":
        """Return the model given public facts, arrays [days, people], oldest day first."""
        n_days, n_people = counts.shape
        if n_days > WINDOW:
            raise InputError(f"a window of {n_days} days; the network was trained for {WINDOW}")
        own = np.full((WINDOW, n_people), NOT_TESTED, dtype=np.int8)
        own[:n_days] = outcomes[::-1]
        met = np.zeros((WINDOW, n_people), dtype=np.int32)
        met[:n_days] = counts[::-1]
        groups = age_groups
        if groups is None:
            groups = np.full(n_people, _UNKNOWN_GROUP, dtype=np.uint8)
        return PublicView(model=self, outcomes=own, contacts=met, age_groups=groups)

    def scores(
        self,
        window: ContactWindow,
        messages: NDArray[np.float32],
        outcomes: NDArray[np.int8],
        counts: NDArray[np.int32],
        age_groups: NDArray[np.uint8] | None,
    ) -> Floats:
        """Return G of everybody at the end of the window's last day: float64 [people]."""
        return self.look(outcomes, counts, age_groups).scores(window, messages)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicView:
    """A model given the public facts of everybody.

    Attributes:
        model: the network.
        outcomes: own tests by age, int8 [14, people].
        contacts: messages by age, int32 [14, people].
        age_groups: uint8 [people]; values of 9 and more are unknown.
    """

    model: Model
    outcomes: NDArray[np.int8]
    contacts: NDArray[np.int32]
    age_groups: NDArray[np.uint8]
    _heads: NDArray[np.float32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_heads", self._read_facts())

    def scores(self, window: Iterable[Any], messages: NDArray[np.float32]) -> Floats:
        """Return G given messages [days, people], oldest day first.

        Cost: one gather and one table row a contact, O(contacts × pooled width).
        """
        table = self.model.table
        n_people = self.age_groups.size
        n_levels = self.model.grid.size
        width = table.shape[1]
        if self.model.uses_messages:
            levels = quantise(messages, self.model.grid)
        else:
            levels = np.zeros(messages.shape, dtype=np.uint8)
        totals = np.zeros((n_people, width))
        add_day = kernels.add_day_pooled if width == kernels.POOLED else kernels.add_day
        for t, day in enumerate(window):
            age = len(messages) - 1 - t
            rows = table[age * n_levels : (age + 1) * n_levels]
            offsets, senders = day.offsets.view(np.uint32), day.senders.view(np.uint32)
            add_day(offsets, senders, levels[t], rows, totals)
        return self.finish(totals, self.n_messages)

    def reference(self, mu_ref: float) -> Floats:
        """Return G if every message were `mu_ref`: a function of public facts alone."""
        grid = self.model.grid
        said = np.array([[mu_ref if self.model.uses_messages else 0.0]], dtype=np.float32)
        level = int(quantise(said, grid)[0, 0])
        rows = np.ascontiguousarray(self.model.table[level :: grid.size])
        totals = np.empty((self.age_groups.size, rows.shape[1]))
        kernels.add_counts(self.contacts, rows, totals)
        return self.finish(totals, self.n_messages)

    @property
    def n_messages(self) -> NDArray[np.int64]:
        """C, the messages of each window: int64 [people]."""
        total: NDArray[np.int64] = self.contacts.sum(axis=0, dtype=np.int64)
        return total

    def finish(self, totals: Floats, counts: NDArray[np.int64]) -> Floats:
        """Return G from sums of table rows [people, width] and numbers of messages [people]."""
        a = self.model.architecture
        scores = np.empty(self.age_groups.size)
        if a.kind is Kind.PAPER:
            arguments: list[Any] = [totals, counts, *self.model._layers, scores]
            kernels.finish_paper(*arguments)
            return scores
        weight_1, weight_2 = self.model._layers[-2:]
        kernels.finish_tight(
            totals, counts, self._heads, weight_1, weight_2, a.gamma, a.public_scale, scores
        )
        return scores

    def _read_facts(self) -> NDArray[np.float32]:
        layers = self.model._layers
        if self.model.architecture.kind is Kind.PAPER:
            return np.empty((0, 0), dtype=np.float32)
        heads = np.empty((self.age_groups.size, layers[5].size), dtype=np.float32)
        facts = (self.outcomes, self.contacts, self.age_groups)
        arguments: list[Any] = [*facts, *layers[:6], heads]
        kernels.read_facts(*arguments)
        return heads


def columns_of(
    grid: NDArray[np.float32], architecture: Architecture, *, zeroed: bool = False
) -> NDArray[np.int64]:
    """Return the row of the table for every cell of a sample: int64 [14 × levels of the grid].

    Levels above γ are read as γ; networks without messages, and `zeroed`, read every level as 0.
    """
    kept = levels_up_to(grid, architecture.gamma)
    level = np.minimum(np.arange(grid.size), kept - 1)
    if zeroed or not architecture.uses_messages:
        level = np.zeros_like(level)
    return (np.arange(WINDOW)[:, None] * kept + level).ravel()


def public_facts(
    outcomes: NDArray[np.int8], contacts: NDArray[np.int32], age_group: NDArray[np.uint8]
) -> NDArray[np.float32]:
    """Return the public inputs of `tight` as dense rows: float32 [n, facts].

    Arguments are [n, 14] by age and [n]. The compiled kernel does not build these rows; training
    and export do.
    """
    n = age_group.size
    facts = np.zeros((n, N_FACTS), dtype=np.float32)
    facts[:, :WINDOW] = outcomes > 0
    facts[:, WINDOW : 2 * WINDOW] = outcomes == 0
    facts[:, 2 * WINDOW : 3 * WINDOW] = 0.25 * np.log1p(contacts)
    known = np.flatnonzero(age_group < AGE_GROUPS)
    facts[known, 3 * WINDOW + age_group[known].astype(np.int64)] = 1.0
    facts[:, -1] = 0.25 * np.log1p(contacts.sum(axis=1))
    return facts


def table_inputs(grid: NDArray[np.float32]) -> tuple[Floats, NDArray[np.int64]]:
    """Return message and age of every row of the table: float64 and int64 [14 × levels]."""
    ages = np.repeat(np.arange(WINDOW), grid.size)
    return np.tile(grid.astype(np.float64), WINDOW), ages


def _fold(
    a: Architecture, weights: dict[str, NDArray[np.float32]], grid: NDArray[np.float32]
) -> tuple[Floats, tuple[NDArray[Any], ...]]:
    """Return the table and what comes after it, as the kernels take them."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    messages, ages = table_inputs(grid)
    if a.kind is Kind.PAPER:
        return _fold_paper(a, w, messages, ages)
    h = (messages / a.gamma)[:, None] * w["message.0.weight"][:, 0] + w["message.0.bias"][ages]
    h = _maxmin(h) @ w["message.1.weight"].T + w["message.1.bias"][ages]
    table = _maxmin(h) @ w["pool.0.weight"].T
    facts: tuple[NDArray[Any], ...] = ()
    for name in ("context.0", "context.1", "head"):
        weight = np.ascontiguousarray(weights[f"{name}.weight"].T)
        facts += (weight, weights[f"{name}.bias"])
    return np.ascontiguousarray(table), (*facts, w["pool.1.weight"], w["pool.2.weight"][0])


def _fold_paper(
    a: Architecture, w: dict[str, Floats], messages: Floats, ages: NDArray[np.int64]
) -> tuple[Floats, tuple[NDArray[Any], ...]]:
    h = np.stack([messages, ages / (WINDOW - 1)], axis=1)
    for i in range(a.depth):
        h = h @ w[f"g1.{i}.weight"].T + w[f"g1.{i}.bias"]
        h = h if i == a.depth - 1 else np.maximum(h, 0.0)
    table = h @ w["g2.0.weight"].T
    hidden = range(1, a.depth - 1)
    middle = np.array([w[f"g2.{i}.weight"] for i in hidden]).reshape(-1, a.width, a.width)
    biases = np.array([w[f"g2.{i}.bias"] for i in hidden]).reshape(-1, a.width)
    last = f"g2.{a.depth - 1}"
    return np.ascontiguousarray(table), (
        w["g2.0.bias"],
        middle,
        biases,
        w[f"{last}.weight"][0],
        w[f"{last}.bias"][0],
    )


def _maxmin(values: Floats) -> Floats:
    pairs = values.reshape(len(values), -1, 2)
    return np.stack([pairs.max(axis=2), pairs.min(axis=2)], axis=2).reshape(values.shape)


def model_names() -> list[str]:
    """Return the names of the models that ship with the package."""
    return shipped_names(_SHIPPED)


def model_path(model: str | Path) -> Path:
    """Return the file of a shipped model, or of a path."""
    return shipped_or_given(model, _SHIPPED, "model")


def load_model(model: str | Path = DEFAULT_MODEL) -> Model:
    """Return a model that ships with the package, or one from a file.

    Guarantee: digest, norms and bound are computed anew; a file that says otherwise is refused.
    """
    path = model_path(model)
    stat = path.stat()
    return _load(str(model), path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=8)
def _load(name: str, path: Path, changed: int, size: int) -> Model:
    del changed, size  # part of the key: a file that changed is read again
    held = read_model(path)
    if not held.matches:
        raise InputError(f"{path}: the certificate does not match the weights; refused")
    return _model(name, held)


def _model(name: str, held: ModelFile) -> Model:
    return Model(
        name=name,
        architecture=held.architecture,
        weights=held.weights,
        grid=held.grid,
        certificate=held.certificate,
        provenance=held.provenance,
        trained=held.trained,
    )
