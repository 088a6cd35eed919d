"""Inference from tables, with numpy and numba alone, and the files of networks.

There is no dropout and no other randomness: the same window always gives the same G.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.networks import _runtime_kernels as kernels
from dnatrace.networks import model_file
from dnatrace.networks.architecture import Architecture, Kind
from dnatrace.networks.certificate import Certificate, certify
from dnatrace.networks.inputs import groups_or_unknown, newest_first, quantise
from dnatrace.networks.table import Floats, Layers, fold
from dnatrace.records import NOT_TESTED

DEFAULT_MODEL = "dna"
_TRAINED = "trained/"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """A certified network, ready to run.

    Guarantee: |G(D) - G(D')| ≤ gamma·lipschitz/C for windows of C messages that differ in one
    message, and nothing but messages, own tests, contact counts and age group has any effect. Edge
    cases: without messages G depends on public facts alone.

    Attributes:
        name: the name under which it was loaded.
        architecture: how the weights are used.
        weights: the effective weights after projection, float32.
        grid: the message levels from 0 to γ, float32.
        provenance: where the model comes from.
        trained: the maps on the path of messages before projection, float32.
        stored: the certificate as stated in the file; None for a model that is in no file.
        certificate: the certificate computed from these weights.
    """

    name: str
    architecture: Architecture
    weights: Mapping[str, NDArray[np.float32]]
    grid: NDArray[np.float32]
    provenance: dict[str, Any] = field(default_factory=dict)
    trained: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    stored: dict[str, Any] | None = None
    certificate: Certificate = field(init=False)
    table: Floats = field(init=False, repr=False)
    _layers: Layers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("weights", "trained"):  # what was certified stays what is used
            object.__setattr__(self, name, model_file.FrozenArrays(getattr(self, name)))
        object.__setattr__(self, "grid", model_file.read_only(self.grid))
        parts = (self.architecture, self.weights, self.grid)
        object.__setattr__(self, "certificate", certify(*parts))
        table, layers = fold(*parts)
        object.__setattr__(self, "table", model_file.read_only(table))
        object.__setattr__(self, "_layers", tuple(map(model_file.read_only, layers)))

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
        name = f"{self.name} before projection"
        return replace(self, name=name, weights={**self.weights, **self.trained})

    @property
    def digest_matches(self) -> bool:
        """Whether the weights are those that the file claims."""
        return self.stored is not None and self.stored.get("digest") == self.certificate.digest

    @property
    def matches(self) -> bool:
        """Whether digest, bound and norms of the file are those of its weights."""
        return self.certificate.confirms(self.stored)

    def look(
        self,
        outcomes: NDArray[np.int8],
        counts: NDArray[np.int32],
        age_groups: NDArray[np.uint8] | None,
    ) -> "PublicView":
        """Return the model given public facts, arrays [days, people], oldest day first."""
        return PublicView(
            model=self,
            outcomes=newest_first(outcomes, NOT_TESTED),
            contacts=newest_first(counts, 0),
            age_groups=groups_or_unknown(age_groups, counts.shape[1]),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicView:
    """A model given the public facts of everybody.

    Attributes:
        model: the network.
        outcomes: own tests by age, int8 [14, people].
        contacts: messages by age, int32 [14, people].
        age_groups: uint8 [people]; values of 9 and above mean unknown.
    """

    model: Model
    outcomes: NDArray[np.int8]
    contacts: NDArray[np.int32]
    age_groups: NDArray[np.uint8]
    _heads: NDArray[np.float32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_heads", self._read_public_inputs())

    def scores(self, window: Iterable[Any], messages: NDArray[np.float32]) -> Floats:
        """Return G given messages [days, people], oldest day first.

        Cost: one gather and one table row per contact, O(contacts × pooled width).
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
        message = np.array([[mu_ref if self.model.uses_messages else 0.0]], dtype=np.float32)
        level = int(quantise(message, grid)[0, 0])
        rows = np.ascontiguousarray(self.model.table[level :: grid.size])
        totals = np.empty((self.age_groups.size, rows.shape[1]))
        kernels.add_counts(self.contacts, rows, totals)
        return self.finish(totals, self.n_messages)

    @property
    def n_messages(self) -> NDArray[np.int64]:
        """C, the number of messages in each window: int64 [people]."""
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

    def _read_public_inputs(self) -> NDArray[np.float32]:
        layers = self.model._layers
        if self.model.architecture.kind is Kind.PAPER:
            return np.empty((0, 0), dtype=np.float32)
        heads = np.empty((self.age_groups.size, layers[5].size), dtype=np.float32)
        inputs = (self.outcomes, self.contacts, self.age_groups)
        arguments: list[Any] = [*inputs, *layers[:6], heads]
        kernels.read_public_inputs(*arguments)
        return heads


# --- files ---------------------------------------------------------------------------------------


def write_model(path: Path, model: Model) -> None:
    """Write a model with its certificate, whole or not at all."""
    metadata = {
        "architecture": model.architecture.as_dict(),
        "certificate": model.certificate.as_dict(),
        "provenance": model.provenance,
    }
    trained = {_TRAINED + name: weight for name, weight in model.trained.items()}
    model_file.write(path, metadata, {"grid": model.grid, **model.weights, **trained})


def read_model(path: Path, name: str | None = None) -> Model:
    """Read a model file without checking its certificate; `load_model` does that.

    Raises InputError for anything that is not a complete, well-formed model file.
    """
    metadata, arrays = model_file.unpack(path)
    if "decoder" in metadata:
        raise InputError(f"{path}: is a decoder, not a network of dna")
    try:
        architecture = Architecture.from_dict(metadata["architecture"])
        stored, provenance = metadata["certificate"], metadata["provenance"]
        if not isinstance(stored, dict) or not isinstance(provenance, dict):
            raise InputError("a certificate or provenance that is not a table")
        grid = _check_grid(arrays.pop("grid"), architecture)
        trained = {k.removeprefix(_TRAINED): arrays.pop(k) for k in list(arrays) if _TRAINED in k}
        _check_trained(architecture, trained, arrays)
        return Model(
            name=name or str(path),
            architecture=architecture,
            weights=arrays,
            grid=grid,
            provenance=provenance,
            trained=trained,
            stored=stored,
        )
    except KeyError as error:
        raise InputError(f"{path}: not a model: {error} is missing") from None
    except InputError as error:
        raise InputError(f"{path}: not a model: {error}") from None


def _check_grid(grid: NDArray[Any], architecture: Architecture) -> NDArray[np.float32]:
    if grid.dtype != np.float32 or grid.ndim != 1 or not 2 <= grid.size <= 256:
        raise InputError("a grid that is not a list of 2 to 256 levels")
    rising = bool((np.diff(grid) > 0).all()) and grid[0] == 0.0
    if not rising or grid[-1] != np.float32(architecture.gamma):
        raise InputError("a grid that does not rise from 0 to gamma")
    return grid


def _check_trained(architecture: Architecture, trained: Any, weights: Any) -> None:
    if not set(trained) <= set(architecture.message_path()):
        raise InputError("weights before projection that are not on the path of messages")
    if any(w.shape != weights[k].shape or not np.isfinite(w).all() for k, w in trained.items()):
        raise InputError("weights before projection of a wrong shape")


def _checked(name: str, path: Path) -> Model:
    model = read_model(path, name)
    if not model.matches:
        raise InputError(f"{path}: the certificate does not match the weights; refused")
    return model


_MODELS = model_file.Shipped("dnatrace.models", "model", _checked)
model_names, model_path = _MODELS.names, _MODELS.path


def load_model(model: str | Path = DEFAULT_MODEL) -> Model:
    """Return a model that ships with the package, or one from a file.

    Guarantee: digest, norms and bound are recomputed; a file that states others is refused.
    """
    return _MODELS.load(model)
