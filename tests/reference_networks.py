"""Small networks and samples for tests, and the slow twin: one message after the other, plainly."""

import dataclasses

import numpy as np

from dnatrace.networks.architecture import (
    N_PUBLIC_INPUTS,
    WINDOW,
    Architecture,
    Kind,
    levels_up_to,
)
from dnatrace.networks.inputs import quantise
from dnatrace.networks.runtime import Model
from dnatrace.training.projection import project
from dnatrace.training.samples import Samples, cubic_grid
from dnatrace.training.scores import columns_of, message_shares

GRID = cubic_grid(32)


def small(kind, variant="combined", gamma=0.2, **settings):
    sizes = {"width": 6, "depth": 3} if kind == "paper" else {"width": 8, "pooled": 4, "context": 6}
    return Architecture(kind=kind, variant=variant, gamma=gamma, **(sizes | settings))


def random_weights(architecture, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    weights = {
        name: (scale * rng.normal(size=shape)).astype(np.float32)
        for name, shape in architecture.shapes().items()
    }
    if architecture.kind is Kind.PAPER:  # small networks of ReLU die easily; keep units alive
        weights |= {k: np.abs(w) / 10 for k, w in weights.items() if k.endswith("bias")}
        weights |= {k: np.abs(w) for k, w in weights.items() if k.startswith("g1.0")}
    return project(architecture, weights)


def random_model(architecture, seed=0, scale=1.0):
    return model_of(architecture, random_weights(architecture, seed, scale))


def model_of(architecture, weights):
    grid = GRID[: levels_up_to(GRID, architecture.gamma)]
    return Model(name="random", architecture=architecture, weights=weights, grid=grid)


def shares_of(model, samples):
    """Shares of messages by age and level of all samples, as the table and ONNX take them."""
    column = columns_of(samples.grid, model.architecture)
    return message_shares(samples, column, len(model.table)).toarray()


def samples_of(messages, *, seed=0):
    """Samples from lists of (age, value), one list per sample; public inputs are random."""
    rng = np.random.default_rng(seed)
    n = len(messages)
    offsets, cells, repeats = [0], [], []
    contacts = np.zeros((n, WINDOW), dtype=np.int32)
    for s, of_sample in enumerate(messages):
        dense = np.zeros(WINDOW * GRID.size, dtype=int)
        for age, value in of_sample:
            level = int(quantise(np.array([[value]], dtype=np.float32), GRID)[0, 0])
            dense[age * GRID.size + level] += 1
            contacts[s, age] += 1
        full = np.flatnonzero(dense)
        cells.extend(full)
        repeats.extend(dense[full])
        offsets.append(len(cells))
    return Samples(
        grid=GRID,
        offsets=np.array(offsets, dtype=np.int64),
        cells=np.array(cells, dtype=np.uint16),
        repeats=np.array(repeats, dtype=np.uint16),
        outcomes=rng.integers(-1, 2, (n, WINDOW)).astype(np.int8),
        contacts=contacts,
        age_group=rng.integers(0, 10, n).astype(np.uint8),  # 9 is unknown
        isolated=np.zeros(n, dtype=np.bool_),
        seed=np.zeros(n, dtype=np.int64),
        person=np.arange(n, dtype=np.int32),
        day=np.full(n, 40, dtype=np.int16),
        state=rng.choice([0, 1, 4], n, p=[0.5, 0.1, 0.4]).astype(np.uint8),
        fn=np.zeros(n, dtype=np.float32),
    )


def random_messages(rng, n, most=40):
    return [
        [(rng.integers(0, WINDOW), rng.random() ** 4) for _ in range(rng.integers(0, most))]
        for _ in range(n)
    ]


def learnable(n, seed=0):
    """Samples whose state shows in messages and tests."""
    rng = np.random.default_rng(seed)
    state = rng.choice([0, 1, 4], n, p=[0.5, 0.1, 0.4]).astype(np.uint8)
    messages = [
        [(int(rng.integers(0, WINDOW)), (0.3 if s else 0.1) * rng.random()) for _ in range(12)]
        for s in state
    ]
    samples = samples_of(messages, seed=seed)
    outcomes = np.full((n, WINDOW), -1, dtype=np.int8)
    outcomes[:, 2] = np.where(rng.random(n) < 0.3, (state > 0) & (rng.random(n) < 0.8), -1)
    return dataclasses.replace(samples, state=state, outcomes=outcomes)


# The slow twin.


def plain_g(architecture, weights, messages, outcomes, contacts, age_group):
    """G of one person from (age, value) pairs, in plain Python and float64."""
    w = {k: v.astype(np.float64) for k, v in weights.items()}
    width = architecture.width
    clipped = [(age, min(value, architecture.gamma)) for age, value in messages]
    embedded = [_embed(architecture, w, age, value) for age, value in clipped]
    mean = sum(embedded) / len(embedded) if embedded else np.zeros(width)
    if architecture.kind is Kind.PAPER:
        return _mlp(w, "g2", architecture.depth, mean)[0]
    public = public_inputs(outcomes, contacts, age_group)
    h = np.maximum(w["context.0.weight"] @ public + w["context.0.bias"], 0)
    h = np.maximum(w["context.1.weight"] @ h + w["context.1.bias"], 0)
    heads = w["head.weight"] @ h + w["head.bias"]
    k = architecture.pooled
    z = _gate(heads[:k]) * (w["pool.0.weight"] @ mean) + heads[k : 2 * k]
    y = w["pool.1.weight"] @ _maxmin(z) + heads[2 * k : 3 * k]
    out = (w["pool.2.weight"] @ _maxmin(y))[0]
    moved = architecture.gamma * _gate(heads[3 * k]) * out
    return moved + architecture.public_scale * heads[3 * k + 1]


def _embed(architecture, w, age, value):
    if architecture.kind is Kind.PAPER:
        return _mlp(w, "g1", architecture.depth, np.array([value, age / 13]))
    h = w["message.0.weight"][:, 0] * value / architecture.gamma + w["message.0.bias"][age]
    return _maxmin(w["message.1.weight"] @ _maxmin(h) + w["message.1.bias"][age])


def public_inputs(outcomes, contacts, age_group):
    inputs = np.zeros(N_PUBLIC_INPUTS)
    for age in range(WINDOW):
        if outcomes[age] >= 0:
            inputs[age if outcomes[age] else WINDOW + age] = 1.0
        inputs[2 * WINDOW + age] = np.log(1 + contacts[age]) / 4
    if age_group < 9:
        inputs[3 * WINDOW + age_group] = 1.0
    inputs[-1] = np.log(1 + sum(contacts)) / 4
    return inputs


def _mlp(w, name, depth, h):
    for i in range(depth):
        h = w[f"{name}.{i}.weight"] @ h + w[f"{name}.{i}.bias"]
        h = h if i == depth - 1 else np.maximum(h, 0)
    return h


def _maxmin(values):
    out = []
    for a, b in zip(values[::2], values[1::2], strict=True):
        out += [max(a, b), min(a, b)]
    return np.array(out)


def _gate(x):
    return x / (1 + abs(x))
