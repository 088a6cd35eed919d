"""The networks as they are trained: JAX and Equinox, a message table instead of single messages.

A network holds free parameters; `effective` turns them into the weights that are used, of which
`dnatrace.networks.architecture` gives the names. `paper` divides every weight by the larger of 1
and its spectral norm as power iteration estimates it (Miyato et al. 2018). `tight` makes the maps
on the path of messages orthogonal by Cayley's transform, so that no signal is lost (Anil et al.
2019, "Sorting out Lipschitz function approximation", for MaxMin).
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from dnatrace.networks.architecture import WINDOW, Architecture, Kind
from dnatrace.networks.table import table_inputs
from dnatrace.rng import Stream

Effective = Mapping[str, Array]


class Network(eqx.Module):
    """Free parameters by the name of the weight they make."""

    parameters: dict[str, Array]
    architecture: Architecture = eqx.field(static=True)

    def effective(
        self, power: dict[str, Array], *, iterations: int = 2
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the weights that are used, and the next state of power iteration."""
        if self.architecture.kind is Kind.PAPER:
            return _normalised(self.parameters, power, iterations)
        return _orthogonal(self.architecture, self.parameters), power


def create(architecture: Architecture, seed: int) -> tuple[Network, dict[str, Array]]:
    """Return a network with random parameters, and the first state of power iteration.

    Guarantee: it is a function of the architecture and the seed; weights of `paper` start
    orthogonal, scaled to norm 1, because smaller ones lose the signal within sixteen layers.
    """
    rng = Stream(seed, "training/weights").generator()
    parameters, power = {}, {}
    for name, shape in architecture.shapes().items():
        parameters[name] = jnp.asarray(_initial(architecture, name, shape, rng), jnp.float32)
        if architecture.kind is Kind.PAPER and name.endswith("weight"):
            start = rng.normal(size=shape[0])
            power[name] = jnp.asarray(start / np.linalg.norm(start), jnp.float32)
    return Network(parameters=parameters, architecture=architecture), power


def _initial(
    a: Architecture, name: str, shape: tuple[int, ...], rng: np.random.Generator
) -> NDArray[np.float64]:
    if a.kind is Kind.PAPER:
        normal = rng.normal(size=shape)
        if not name.endswith("weight"):
            return 0.01 * normal
        left, _, right = np.linalg.svd(normal, full_matrices=False)
        return left @ right
    if name in a.message_path():
        # free parameters of an orthogonal map: a vector, or square
        return rng.normal(size=shape if 1 in shape else (max(shape), max(shape)))
    if name.startswith("message"):
        return rng.uniform(-1.0, 1.0, shape)
    if name.startswith("context") and name.endswith("weight"):
        return rng.normal(size=shape) * np.sqrt(2.0 / shape[1])
    start = np.zeros(shape)
    if name == "head.weight":  # no offset at first: the order is that of F
        start[:-1] = 0.01 / np.sqrt(shape[1]) * rng.normal(size=(shape[0] - 1, shape[1]))
    if name == "head.bias":  # gates start open, at 3/4
        start[: a.pooled] = start[3 * a.pooled] = 3.0
    return start


def _normalised(
    parameters: Effective, power: Effective, iterations: int
) -> tuple[dict[str, Array], dict[str, Array]]:
    used, state = {}, {}
    for name, value in parameters.items():
        if name not in power:
            used[name] = value
            continue
        fixed = jax.lax.stop_gradient(value)
        left = power[name]
        right = fixed.T @ left
        for _ in range(iterations):
            right = fixed.T @ left
            right = right / (jnp.linalg.norm(right) + 1e-12)
            left = fixed @ right
            left = left / (jnp.linalg.norm(left) + 1e-12)
        norm = left @ value @ right
        used[name] = value / jnp.maximum(1.0, norm)
        state[name] = left
    return used, state


def _orthogonal(a: Architecture, parameters: Effective) -> dict[str, Array]:
    path, shapes = a.message_path(), a.shapes()
    used = dict(parameters)
    for name in path:
        free = parameters[name]
        if 1 in shapes[name]:
            used[name] = free / jnp.linalg.norm(free)
        else:
            rows, columns = shapes[name]
            used[name] = _cayley(free)[:rows, :columns]
    return used


def _cayley(free: Array) -> Array:
    """Return (I - A)(I + A)⁻¹ with A = free - freeᵀ over 2·width: an orthogonal matrix."""
    skew = (free - free.T) / (2.0 * jnp.sqrt(free.shape[0]))
    one = jnp.eye(free.shape[0])
    return jnp.linalg.solve(one + skew, one - skew)


def maxmin(values: Array) -> Array:
    """Sort neighbouring pairs of the last axis, the larger one first: 1-Lipschitz."""
    pairs = values.reshape(*values.shape[:-1], -1, 2)
    both = jnp.stack([pairs.max(axis=-1), pairs.min(axis=-1)], axis=-1)
    return both.reshape(values.shape)


def embed(a: Architecture, w: Effective, messages: Array, ages: Array) -> Array:
    """Return the embedding of single messages before the mean: [messages, width]."""
    if a.kind is Kind.PAPER:
        h = jnp.stack([messages, ages / (WINDOW - 1)], axis=-1)
        return _mlp(w, "g1", a.depth, h)
    h = (messages / a.gamma)[:, None] * w["message.0.weight"][:, 0] + w["message.0.bias"][ages]
    h = maxmin(h) @ w["message.1.weight"].T + w["message.1.bias"][ages]
    return maxmin(h)


def finish(a: Architecture, w: Effective, mean: Array, public: Array) -> Array:
    """Return G from the mean of embedded messages [n, width] and public inputs [n, inputs]."""
    if a.kind is Kind.PAPER:
        return _mlp(w, "g2", a.depth, mean)[:, 0]
    h = jax.nn.relu(public @ w["context.0.weight"].T + w["context.0.bias"])
    h = jax.nn.relu(h @ w["context.1.weight"].T + w["context.1.bias"])
    heads = h @ w["head.weight"].T + w["head.bias"]
    k = a.pooled
    z = jax.nn.soft_sign(heads[:, :k]) * (mean @ w["pool.0.weight"].T) + heads[:, k : 2 * k]
    y = maxmin(z) @ w["pool.1.weight"].T + heads[:, 2 * k : 3 * k]
    out = (maxmin(y) @ w["pool.2.weight"].T)[:, 0]
    return a.gamma * jax.nn.soft_sign(heads[:, 3 * k]) * out + a.public_scale * heads[:, 3 * k + 1]


def from_shares(
    a: Architecture, w: Effective, grid: NDArray[np.float32], shares: Array, public: Array
) -> Array:
    """Return G from shares of messages by (age, level) [n, 14 × levels], using the table.

    Rows of samples without messages are 0, which stands for the mean of nothing.
    """
    messages, ages = table_inputs(grid)
    table = embed(a, w, jnp.asarray(messages, jnp.float32), jnp.asarray(ages))
    return finish(a, w, shares @ table, public)


def _mlp(w: Effective, name: str, depth: int, h: Array) -> Array:
    for i in range(depth):
        h = h @ w[f"{name}.{i}.weight"].T + w[f"{name}.{i}.bias"]
        h = h if i == depth - 1 else jax.nn.relu(h)
    return h


def as_arrays(weights: Effective) -> dict[str, NDArray[Any]]:
    """Return weights as numpy arrays."""
    return {name: np.asarray(value) for name, value in weights.items()}
