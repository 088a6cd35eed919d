"""The networks in JAX: the table against single messages, norms, a search for violations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dnatrace.neural import deepset
from dnatrace.neural.architecture import N_FACTS, Architecture
from dnatrace.neural.certificate import certify, project, spectral_norm
from dnatrace.neural.runtime import Model, load_model, public_facts
from dnatrace.neural.samples import message_levels

from . import reference_networks as reference
from .reference_networks import GRID, random_model, samples_of, small

KINDS = ["paper", "tight"]


def jax_weights(weights):
    return {name: jnp.asarray(value) for name, value in weights.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_equals_message_by_message(kind):
    rng = np.random.default_rng(1)
    architecture = small(kind, public_scale=2.0)
    model = random_model(architecture)
    messages = [[], *reference.random_messages(rng, 8)]
    samples = samples_of(messages)
    levels = np.minimum(GRID, np.float32(architecture.gamma))
    heard = [
        (s, cell // GRID.size, levels[cell % GRID.size])
        for s in range(len(messages))
        for i in range(samples.offsets[s], samples.offsets[s + 1])
        for cell in [int(samples.cells[i])] * int(samples.repeats[i])
    ]
    owner, ages, values = (jnp.asarray(np.array(x)) for x in zip(*heard, strict=True))
    facts = jnp.asarray(public_facts(samples.outcomes, samples.contacts, samples.age_group))
    weights = jax_weights(model.weights)
    plain = deepset.one_by_one(architecture, weights, values, ages, owner, facts)
    assert np.asarray(plain) == pytest.approx(model.evaluate(samples), abs=1e-5, rel=1e-5)
    # Another order of messages is the same network.
    order = rng.permutation(len(heard))
    sums = jax.ops.segment_sum(
        deepset.embed(architecture, weights, values[order], ages[order]),
        owner[order],
        len(messages),
    )
    counts = jnp.maximum(jnp.bincount(owner, length=len(messages)), 1)[:, None]
    shuffled = deepset.finish(architecture, weights, sums / counts, facts)
    assert np.asarray(shuffled) == pytest.approx(np.asarray(plain), abs=1e-5)


def test_tight_maps_are_orthogonal():
    """Norm 1 in every direction of the smaller side: no signal is lost and none is gained."""
    network, power = deepset.create(small("tight"), seed=3)
    weights, _ = network.effective(power)
    assert power == {}
    for name in small("tight").message_path():
        values = np.linalg.svd(np.asarray(weights[name], dtype=float), compute_uv=False)
        assert values == pytest.approx(1.0, abs=1e-5)


def test_power_iteration_normalises_by_the_larger_of_one_and_the_norm():
    architecture = small("paper")
    network, power = deepset.create(architecture, seed=4)
    loud = {k: 4.0 * v if k in power else v for k, v in network.parameters.items()}
    quiet = {k: 0.5 * v if k in power else v for k, v in network.parameters.items()}
    after, state = deepset.Network(loud, architecture).effective(power, iterations=50)
    same, _ = deepset.Network(quiet, architecture).effective(power, iterations=50)
    for name in power:
        assert spectral_norm(np.asarray(after[name])) == pytest.approx(1.0, abs=1e-4)
        assert np.array_equal(same[name], quiet[name])
    assert any(not np.array_equal(state[name], power[name]) for name in power)


def test_few_power_iterations_underestimate_and_projection_repairs():
    """Why certificates do not trust power iteration."""
    architecture = small("paper", width=32)
    rng = np.random.default_rng(5)
    _, power = deepset.create(architecture, seed=5)
    raw = {k: rng.normal(size=s).astype(np.float32) for k, s in architecture.shapes().items()}
    used, _ = deepset.Network(jax_weights(raw), architecture).effective(power, iterations=2)
    used = deepset.as_arrays(used)
    worst = max(spectral_norm(used[name]) for name in architecture.message_path())
    assert worst > 1.02
    certified = certify(architecture, project(architecture, used), GRID)
    assert certified.lipschitz_bound <= 1 + 1e-6


def test_no_network_has_anything_random_at_inference():
    for kind in KINDS:
        architecture = small(kind)
        network, power = deepset.create(architecture, seed=1)
        weights, _ = network.effective(power)
        made = jax.make_jaxpr(
            lambda s, f, a=architecture, w=weights: deepset.from_shares(a, w, GRID[:20], s, f)
        )(jnp.ones((2, 14 * 20)), jnp.ones((2, N_FACTS)))
        assert "random" not in str(made)


# The search for neighbours that are further apart than certified.


def steepest(architecture, weights, facts, n, *, steps=60, seed=0, restarts=16):
    """Gradient ascent on n messages and on both values of the first; returns ages and values.

    All restarts at once; the pair and the other messages move together.
    """
    rng = np.random.default_rng(seed)
    ages = jnp.asarray(rng.integers(0, 14, (restarts, n)))
    free = jnp.asarray(rng.normal(size=(restarts, n + 1)) * 2, dtype=jnp.float32)
    facts = jnp.asarray(facts)[:restarts]

    def g(values, age, fact):
        mean = deepset.embed(architecture, weights, values, age).mean(axis=0)
        return deepset.finish(architecture, weights, mean[None], fact[None])[0]

    def gap(raw, age, fact):
        values = architecture.gamma * jax.nn.sigmoid(raw)
        here, there = values[:n], jnp.concatenate([values[n:], values[1:n]])
        return (n * (g(here, age, fact) - g(there, age, fact))) ** 2

    slope = jax.jit(jax.vmap(jax.grad(gap)))
    velocity = jnp.zeros_like(free)
    for _ in range(steps):
        direction = slope(free, ages, facts)
        size = jnp.linalg.norm(direction, axis=1, keepdims=True) + 1e-20
        velocity = 0.8 * velocity + direction / size
        free = free + 0.5 * velocity
    values = np.asarray(architecture.gamma * jax.nn.sigmoid(free))
    return np.asarray(ages), values


def widest(model, ages, values):
    """The largest |ΔG|·C/γ of the pairs found, by the float64 network that is certified."""
    n = ages.shape[1]
    here = [list(zip(a, v[:n], strict=True)) for a, v in zip(ages, values, strict=True)]
    there = [[(x[0][0], v[n]), *x[1:]] for x, v in zip(here, values, strict=True)]
    moved = model.evaluate(samples_of(here)) - model.evaluate(samples_of(there))
    return float(np.abs(moved).max()) * n / model.gamma


def facts_for(restarts):
    samples = samples_of([[(0, 0.1)]] * restarts)
    return public_facts(samples.outcomes, samples.contacts, samples.age_group)


def steep_network():
    """A tight network whose parameters were driven to the steepest slope that they allow."""
    architecture = small("tight")
    network, power = deepset.create(architecture, seed=7)

    def slope(network):
        weights, _ = network.effective(power)
        ages = jnp.arange(14)

        def g(value, age):
            mean = deepset.embed(architecture, weights, value[None], age[None])
            return deepset.finish(architecture, weights, mean, jnp.zeros((1, N_FACTS)))[0]

        low, high = (jax.vmap(g, (None, 0))(jnp.asarray(v), ages) for v in (0.0, 0.2))
        return -((high - low) ** 2).mean()

    step = jax.jit(jax.grad(slope))
    for _ in range(200):
        gradient = step(network)
        network = jax.tree.map(
            lambda p, d: p - 0.3 * d / (jnp.linalg.norm(d) + 1e-8), network, gradient
        )
    weights = project(architecture, deepset.as_arrays(network.effective(power)[0]))
    model = random_model(architecture)
    return Model(
        name="steep",
        architecture=architecture,
        weights=weights,
        grid=model.grid,
        certificate=certify(architecture, weights, model.grid),
        provenance={},
        trained={},
    )


@pytest.fixture(scope="module")
def steep():
    return steep_network()


@pytest.mark.parametrize("n", [1, 2000])
def test_the_search_comes_close_to_the_bound_and_never_above(steep, n):
    restarts = 16 if n == 1 else 4
    ages, values = steepest(
        steep.architecture,
        jax_weights(steep.weights),
        facts_for(restarts),
        n,
        restarts=restarts,
        steps=40,
    )
    found = widest(steep, ages, values)
    assert 0.5 * steep.lipschitz <= found <= steep.lipschitz


def test_without_messages_there_is_nothing_to_change(steep):
    here = samples_of([[]] * 5)
    assert np.array_equal(steep.evaluate(here), steep.evaluate(here, zeroed=True))


@pytest.mark.parametrize("name", ["dna", "dna-paper"])
def test_no_violation_in_models_that_ship(name):
    """Directed search on the shipped weights, and every pair of levels of a single message."""
    model = load_model(name)
    a = model.architecture
    ages, values = steepest(a, jax_weights(model.weights), facts_for(8), 8, restarts=8)
    grid = message_levels()
    assert np.array_equal(model.grid, grid[: model.grid.size])
    view_facts = (np.full((14, 1), -1, dtype=np.int8), np.zeros((14, 1), dtype=np.int32))
    view = model.look(view_facts[0], view_facts[1], None)
    n = ages.shape[1]
    for age_row, row in zip(ages, values, strict=True):
        pair = []
        for first in (row[0], row[n]):
            said = np.array([first, *row[1:n]], dtype=np.float32)
            near = np.abs(model.grid[:, None] - said).argmin(axis=0)
            total = model.table[age_row * model.grid.size + near].sum(axis=0)
            pair.append(view.finish(total[None], np.array([n]))[0])
        assert abs(pair[0] - pair[1]) <= a.gamma * model.lipschitz / n
    for age in range(14):
        rows = model.table[age * model.grid.size : (age + 1) * model.grid.size]
        g = np.array([view.finish(row[None], np.array([1]))[0] for row in rows])
        slope = np.abs(g[:, None] - g) / np.maximum(np.abs(model.grid[:, None] - model.grid), 1e-12)
        assert slope[~np.eye(len(g), dtype=bool)].max() <= model.lipschitz * (1 + 1e-6)


def test_architectures_are_checked():
    from dnatrace.errors import InputError

    for wrong in (
        {"kind": "other"},
        {"gamma": 0.0},
        {"gamma": float("nan")},
        {"width": 7},
        {"public_scale": -1.0},
        {"variant": "both"},
    ):
        with pytest.raises(InputError):
            Architecture(**({"kind": "tight", "variant": "combined", "gamma": 0.2} | wrong))
