"""The networks in JAX: the table against single messages, norms, a search for violations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dnatrace.networks.architecture import N_PUBLIC_INPUTS, WINDOW, Architecture
from dnatrace.networks.certificate import certify, spectral_norm
from dnatrace.networks.runtime import PublicView, load_model
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.training import deepset
from dnatrace.training.projection import project
from dnatrace.training.samples import cubic_grid
from dnatrace.training.scores import network_scores, public_inputs

from . import reference_networks as reference
from .reference_deepset import one_by_one
from .reference_networks import GRID, model_of, random_model, samples_of, small

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
    received = [
        (s, cell // GRID.size, levels[cell % GRID.size])
        for s in range(len(messages))
        for i in range(samples.offsets[s], samples.offsets[s + 1])
        for cell in [int(samples.cells[i])] * int(samples.repeats[i])
    ]
    owner, ages, values = (jnp.asarray(np.array(x)) for x in zip(*received, strict=True))
    public = jnp.asarray(public_inputs(samples))
    weights = jax_weights(model.weights)
    plain = one_by_one(architecture, weights, values, ages, owner, public)
    assert np.asarray(plain) == pytest.approx(network_scores(model, samples), abs=1e-5, rel=1e-5)
    # Another order of messages is the same network.
    order = rng.permutation(len(received))
    sums = jax.ops.segment_sum(
        deepset.embed(architecture, weights, values[order], ages[order]),
        owner[order],
        len(messages),
    )
    counts = jnp.maximum(jnp.bincount(owner, length=len(messages)), 1)[:, None]
    shuffled = deepset.finish(architecture, weights, sums / counts, public)
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
        )(jnp.ones((2, 14 * 20)), jnp.ones((2, N_PUBLIC_INPUTS)))
        assert "random" not in str(made)


# The search for neighbours that are further apart than certified.


def steepest(architecture, weights, n, *, steps=60, seed=0, restarts=16):
    """Gradient ascent on n messages and on both values of the first; returns ages and values.

    All restarts at once; the pair and the other messages move together. Public facts are those of
    `windows_of` with these ages.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, WINDOW, (restarts, n))
    ages = jnp.asarray(drawn)
    free = jnp.asarray(rng.normal(size=(restarts, n + 1)) * 2, dtype=jnp.float32)
    public = jnp.asarray(public_inputs(windows_of(drawn, np.zeros(drawn.shape))))

    def g(values, age, own):
        mean = deepset.embed(architecture, weights, values, age).mean(axis=0)
        return deepset.finish(architecture, weights, mean[None], own[None])[0]

    def gap(raw, age, own):
        values = architecture.gamma * jax.nn.sigmoid(raw)
        here, there = values[:n], jnp.concatenate([values[n:], values[1:n]])
        return (n * (g(here, age, own) - g(there, age, own))) ** 2

    slope = jax.jit(jax.vmap(jax.grad(gap)))
    velocity = jnp.zeros_like(free)
    for _ in range(steps):
        direction = slope(free, ages, public)
        size = jnp.linalg.norm(direction, axis=1, keepdims=True) + 1e-20
        velocity = 0.8 * velocity + direction / size
        free = free + 0.5 * velocity
    values = np.asarray(architecture.gamma * jax.nn.sigmoid(free))
    return np.asarray(ages), values


def widest(model, ages, values):
    """The largest |ΔG|·C/γ of the pairs found, by the float64 network that is certified."""
    n = ages.shape[1]
    here = windows_of(ages, values[:, :n])
    there = windows_of(ages, np.concatenate([values[:, n:], values[:, 1:n]], axis=1))
    assert np.array_equal(public_inputs(here), public_inputs(there))
    moved = network_scores(model, here) - network_scores(model, there)
    return float(np.abs(moved).max()) * n / model.gamma


def windows_of(ages, values):
    """Samples with these messages; own tests and age groups are random, but always the same."""
    return samples_of([list(zip(a, v, strict=True)) for a, v in zip(ages, values, strict=True)])


def steep_network():
    """A tight network whose parameters were driven to the steepest slope that they allow."""
    architecture = small("tight")
    network, power = deepset.create(architecture, seed=7)

    def slope(network):
        weights, _ = network.effective(power)
        ages = jnp.arange(14)

        def g(value, age):
            mean = deepset.embed(architecture, weights, value[None], age[None])
            return deepset.finish(architecture, weights, mean, jnp.zeros((1, N_PUBLIC_INPUTS)))[0]

        low, high = (jax.vmap(g, (None, 0))(jnp.asarray(v), ages) for v in (0.0, 0.2))
        return -((high - low) ** 2).mean()

    step = jax.jit(jax.grad(slope))
    for _ in range(200):
        gradient = step(network)
        network = jax.tree.map(
            lambda p, d: p - 0.3 * d / (jnp.linalg.norm(d) + 1e-8), network, gradient
        )
    weights = project(architecture, deepset.as_arrays(network.effective(power)[0]))
    return model_of(architecture, weights)


@pytest.fixture(scope="module")
def steep():
    return steep_network()


@pytest.mark.parametrize("n", [1, 2000])
def test_the_search_comes_close_to_the_bound_and_never_above(steep, n):
    restarts = 16 if n == 1 else 4
    ages, values = steepest(
        steep.architecture,
        jax_weights(steep.weights),
        n,
        restarts=restarts,
        steps=40,
    )
    found = widest(steep, ages, values)
    assert 0.5 * steep.lipschitz <= found <= steep.lipschitz


def test_without_messages_there_is_nothing_to_change(steep):
    here = samples_of([[]] * 5)
    assert np.array_equal(network_scores(steep, here), network_scores(steep, here, zeroed=True))


# The same for models that ship: the search also chooses public facts, ages and counts, and only
# windows that can happen count: as many contacts of an age as there are messages of it.


def random_windows(model, n, size, rng):
    """Pairs of windows with n messages; all others of an age say the same."""
    contacts = rng.multinomial(n - 1, np.full(WINDOW, 1 / WINDOW), size=size)
    age = rng.integers(0, WINDOW, size)
    contacts[np.arange(size), age] += 1
    top = model.grid.size
    return {
        "age": age,  # of the message that differs
        "here": rng.integers(0, top, size),
        "there": rng.integers(0, top, size),
        "levels": rng.integers(0, top, (size, WINDOW)),
        "contacts": contacts,
        "outcomes": rng.integers(-1, 2, (size, WINDOW)),
        "group": rng.integers(0, 10, size),
    }


def changed(model, windows, rng):
    """A change of every pair: messages, own tests, age group, and when people were met."""
    new = {name: values.copy() for name, values in windows.items()}
    size, top = new["age"].size, model.grid.size
    rows = np.arange(size)
    ranges = {"here": (0, top), "there": (0, top), "levels": (0, top), "outcomes": (-1, 2)}
    for name, (low, high) in (ranges | {"group": (0, 10)}).items():
        some = rng.random(new[name].shape) < (0.3 if new[name].ndim == 1 else 0.1)
        new[name][some] = rng.integers(low, high, some.sum())
    source, target = rng.integers(0, WINDOW, (2, size))
    spare = new["contacts"][rows, source] - (source == new["age"])
    moved = np.ceil(rng.random(size) * spare).astype(int) * (rng.random(size) < 0.5)
    new["contacts"][rows, source] -= moved
    new["contacts"][rows, target] += moved
    age = np.where(rng.random(size) < 0.2, rng.integers(0, WINDOW, size), new["age"])
    new["contacts"][rows, new["age"]] -= 1
    new["contacts"][rows, age] += 1
    return new | {"age": age}


def gaps(model, windows):
    """|ΔG|·C/γ of every pair, by the float64 network that is certified."""
    rows, age = np.arange(windows["age"].size), windows["age"]
    table = model.table.reshape(WINDOW, model.grid.size, -1)
    others = windows["contacts"].copy()
    others[rows, age] -= 1
    rest = (others[:, :, None] * table[np.arange(WINDOW), windows["levels"]]).sum(axis=1)
    view = PublicView(
        model=model,
        outcomes=np.ascontiguousarray(windows["outcomes"].T.astype(np.int8)),
        contacts=np.ascontiguousarray(windows["contacts"].T.astype(np.int32)),
        age_groups=windows["group"].astype(np.uint8),
    )
    here, there = (
        view.finish(rest + table[age, windows[name]], view.n_messages) for name in ("here", "there")
    )
    return np.abs(here - there) * view.n_messages / model.gamma


def climb(model, n, *, size=64, steps=600, seed=0):
    """The largest |ΔG|·C/γ at the start and at the end: changes that widen a pair are kept."""
    rng = np.random.default_rng(seed)
    windows = random_windows(model, n, size, rng)
    widest_gaps = gaps(model, windows)
    first = widest_gaps.max()
    for _ in range(steps):
        new = changed(model, windows, rng)
        found = gaps(model, new)
        wider = found > widest_gaps
        for name, values in windows.items():
            values[wider] = new[name][wider]
        widest_gaps = np.maximum(widest_gaps, found)
    assert (windows["contacts"] >= 0).all()
    assert (windows["contacts"].sum(axis=1) == n).all()
    assert np.array_equal(gaps(model, windows), widest_gaps)
    return first, widest_gaps.max()


@pytest.mark.parametrize("n", [1, 8, 2000])
@pytest.mark.parametrize(("name", "reached"), [("dna", 0.5), ("dna-paper", 0.3)])
def test_no_violation_in_models_that_ship(name, reached, n):
    """`dna` comes to more than half of its bound; `dna-paper` to less than a third, see docs."""
    model = load_model(name)
    first, found = climb(model, n)
    assert first < found  # the search finds more than chance does
    assert reached * model.lipschitz <= found <= model.lipschitz


@pytest.mark.parametrize("name", ["dna", "dna-paper"])
def test_no_pair_of_levels_violates(name):
    """Every pair of values of a single message, for every age, under its own public facts."""
    model = load_model(name)
    grid, n = model.grid, model.grid.size
    assert np.array_equal(grid, cubic_grid()[:n])
    distance = np.abs(grid[:, None] - grid)[~np.eye(n, dtype=bool)]
    for age in range(WINDOW):
        contacts = np.zeros((WINDOW, n), dtype=np.int32)
        contacts[WINDOW - 1 - age] = 1
        view = model.look(np.full((WINDOW, n), -1, dtype=np.int8), contacts, None)
        g = view.finish(model.table[age * n : (age + 1) * n], view.n_messages)
        slope = np.abs(g[:, None] - g)[~np.eye(n, dtype=bool)] / distance
        assert slope.max() <= model.lipschitz * (1 + 1e-6)


@pytest.mark.parametrize("name", ["dna", "dna-paper"])
def test_models_that_ship_say_the_same_to_nobody(name):
    """Zero contacts: whatever others say, G is that of public facts."""
    model = load_model(name)
    window = ContactWindow(n_people=3, n_days=WINDOW)
    for _ in range(WINDOW):
        window.push(DayContacts.empty(3))
    view = model.look(np.full((WINDOW, 3), -1, dtype=np.int8), window.counts, None)
    said = [np.full((WINDOW, 3), m, dtype=np.float32) for m in (0.0, 0.2)]
    here, there = (view.scores(window, messages) for messages in said)
    assert np.array_equal(here, there)
    assert np.isfinite(here).all()


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
