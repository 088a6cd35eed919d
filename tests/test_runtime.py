"""Inference from tables: the same as the plain network, in every form it is offered."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnatrace.errors import InputError
from dnatrace.networks.architecture import WINDOW, Kind
from dnatrace.networks.inputs import quantise
from dnatrace.networks.runtime import load_model, model_names
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.training.samples import cubic_grid
from dnatrace.training.scores import columns_of, network_scores, public_inputs
from docs.tools import pages

from . import reference_networks as reference
from .reference_networks import (
    GRID,
    random_model,
    random_weights,
    samples_of,
    shares_of,
    small,
)

KINDS = [kind.value for kind in Kind]


def on_grid(values):
    levels = quantise(np.array([values], dtype=np.float32), GRID)[0]
    return GRID[levels].astype(np.float64)


def expected(model, messages, samples):
    return [
        reference.plain_g(
            model.architecture,
            model.weights,
            [(age, float(on_grid([value])[0])) for age, value in messages[i]],
            samples.outcomes[i],
            samples.contacts[i],
            samples.age_group[i],
        )
        for i in range(len(messages))
    ]


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1), gamma=st.sampled_from([0.05, 0.2, 0.7]))
@settings(max_examples=15)
def test_samples_agree_with_the_slow_twin(kind, seed, gamma):
    rng = np.random.default_rng(seed)
    messages = reference.random_messages(rng, 12)
    samples = samples_of(messages, seed=seed)
    model = random_model(small(kind, gamma=gamma, public_scale=3.0), seed, scale=0.3)
    found = network_scores(model, samples)
    assert found == pytest.approx(expected(model, messages, samples), abs=1e-5, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 2000])
def test_none_one_and_many_messages(kind, n):
    rng = np.random.default_rng(n)
    messages = [[(rng.integers(0, WINDOW), rng.random()) for _ in range(n)] for _ in range(3)]
    samples = samples_of(messages)
    model = random_model(small(kind))
    g = network_scores(model, samples)
    assert g == pytest.approx(expected(model, messages, samples), abs=1e-5)
    if n == 0:  # no messages: public inputs alone
        assert np.array_equal(g, network_scores(model, samples, zeroed=True))
        assert kind == "tight" or np.ptp(g) == 0


def window_of(rng, n_people=30, n_days=14, contacts=200):
    window = ContactWindow(n_people=n_people, n_days=n_days)
    received = [[] for _ in range(n_people)]
    messages = (rng.random((n_days, n_people)) ** 3).astype(np.float32)
    for day in range(n_days):
        senders, receivers = rng.integers(0, n_people, (2, contacts))
        apart = senders != receivers
        window.push(DayContacts.from_pairs(senders[apart], receivers[apart], n_people=n_people))
        for sender, receiver in zip(senders[apart], receivers[apart], strict=True):
            received[receiver].append((n_days - 1 - day, messages[day, sender]))
    return window, messages, received


@pytest.mark.parametrize("kind", [*KINDS, "pooled"])
@pytest.mark.parametrize("n_days", [1, 5, 14])
def test_the_loop_agrees_with_samples(kind, n_days):
    """The same people as windows of contacts and as samples; also with the kernel for width 8."""
    rng = np.random.default_rng(n_days)
    window, messages, received = window_of(rng, n_days=n_days)
    model = random_model(small("tight", pooled=8) if kind == "pooled" else small(kind))
    samples = samples_of(received)
    outcomes = np.ascontiguousarray(samples.outcomes[:, :n_days][:, ::-1].T)
    samples.outcomes[:, n_days:] = -1
    g = model.look(outcomes, window.counts, samples.age_group).scores(window, messages)
    assert g == pytest.approx(network_scores(model, samples), abs=1e-12)
    assert g == pytest.approx(expected(model, received, samples), abs=1e-5, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_is_every_message_at_one_value(kind):
    window, messages, _ = window_of(np.random.default_rng(1))
    outcomes = np.full(messages.shape, -1, dtype=np.int8)
    view = random_model(small(kind)).look(outcomes, window.counts, None)
    same = np.full_like(messages, 0.05)
    assert view.reference(0.05) == pytest.approx(view.scores(window, same), abs=1e-12)
    assert not np.allclose(view.reference(0.05), view.scores(window, messages))


def test_order_and_threads_do_not_matter(threads):
    rng = np.random.default_rng(3)
    window, messages, received = window_of(rng)
    for kind in KINDS:
        model = random_model(small(kind))
        outcomes = np.full(messages.shape, -1, dtype=np.int8)
        results = []
        for n in (1, 2):
            threads(min(n, threads_available()))
            view = model.look(outcomes, window.counts, None)
            results.append(view.scores(window, messages))
        assert np.array_equal(*results)
        shuffled = [[x[i] for i in rng.permutation(len(x))] for x in received]
        here, there = (network_scores(model, samples_of(x)) for x in (received, shuffled))
        assert np.array_equal(here, there)


def threads_available():
    import numba

    return numba.config.NUMBA_NUM_THREADS


def test_repeated_calls_give_the_same_bits():
    """Nothing random is on at inference."""
    samples = samples_of(reference.random_messages(np.random.default_rng(4), 50))
    for kind in KINDS:
        model = random_model(small(kind))
        assert np.array_equal(network_scores(model, samples), network_scores(model, samples))


def test_networks_without_messages_do_not_read_them():
    quiet, loud = (samples_of([[(3, v)] * 5], seed=1) for v in (0.0, 0.9))
    for kind in KINDS:
        blind = random_model(small(kind, "public"))
        assert np.array_equal(network_scores(blind, quiet), network_scores(blind, loud))
        assert blind.lipschitz == 0.0
        reading = random_model(small(kind))
        assert not np.array_equal(network_scores(reading, quiet), network_scores(reading, loud))
        assert np.array_equal(
            network_scores(reading, quiet), network_scores(reading, loud, zeroed=True)
        )


def test_levels_above_gamma_are_read_as_gamma():
    architecture = small("tight", gamma=0.2)
    column = columns_of(GRID, architecture).reshape(WINDOW, GRID.size)
    top = int(np.searchsorted(GRID, np.float32(0.2)))
    assert (column[:, top:] == column[:, [top]]).all()
    assert (np.diff(column[:, : top + 1], axis=1) == 1).all()
    with pytest.raises(InputError, match="not a level"):
        columns_of(GRID, small("tight", gamma=0.123))


def test_public_inputs_are_those_of_the_kernel():
    samples = samples_of(reference.random_messages(np.random.default_rng(5), 9))
    inputs = public_inputs(samples)
    for i in range(9):
        slow = reference.public_inputs(
            samples.outcomes[i], samples.contacts[i], samples.age_group[i]
        )
        assert inputs[i] == pytest.approx(slow, abs=1e-6)


def test_windows_must_fit():
    model = random_model(small("tight"))
    with pytest.raises(InputError, match="15 days"):
        model.look(np.zeros((15, 2), np.int8), np.zeros((15, 2), np.int32), None)


@pytest.mark.parametrize("name", model_names())
def test_models_that_ship_agree_in_all_forms(name):
    """numba, JAX and ONNX to 1e-5, and the plain network."""
    ort = pytest.importorskip("onnxruntime")
    import jax.numpy as jnp

    from dnatrace.networks import export
    from dnatrace.training import deepset

    model = load_model(name)
    full = cubic_grid()
    samples = samples_of(reference.random_messages(np.random.default_rng(6), 40, most=300))
    # The same messages on the grid of the model, which is finer than that of the tests.
    samples = on_full_grid(samples, full)
    g = network_scores(model, samples)
    shares = shares_of(model, samples)
    facts = public_inputs(samples)
    by_jax = deepset.from_shares(
        model.architecture,
        {k: jnp.asarray(v) for k, v in model.weights.items()},
        model.grid,
        jnp.asarray(shares),
        jnp.asarray(facts),
    )
    assert g == pytest.approx(np.asarray(by_jax), abs=1e-5, rel=1e-5)
    session = ort.InferenceSession(
        export.as_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    inputs = {"shares": shares, "facts": facts}
    wanted = {x.name: inputs[x.name] for x in session.get_inputs()}
    assert g == pytest.approx(session.run(["G"], wanted)[0], abs=1e-5, rel=1e-5)


def on_full_grid(samples, grid):
    import dataclasses

    ages, levels = np.divmod(samples.cells.astype(np.int64), GRID.size)
    there = quantise(GRID[levels][None], grid)[0]
    cells = (ages * grid.size + there).astype(np.uint16)
    return dataclasses.replace(samples, grid=grid, cells=cells)


@pytest.mark.parametrize("kind", KINDS)
def test_small_networks_agree_in_all_forms(kind):
    ort = pytest.importorskip("onnxruntime")
    from dnatrace.networks import export

    model = random_model(small(kind, public_scale=2.0), scale=0.5)
    samples = samples_of(reference.random_messages(np.random.default_rng(7), 20))
    facts = public_inputs(samples)
    session = ort.InferenceSession(
        export.as_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    kinds = {node.op_type for node in export.as_onnx(model).graph.node}
    assert not kinds & {"Dropout", "RandomNormal", "RandomUniform", "Multinomial", "Bernoulli"}
    inputs = {"shares": shares_of(model, samples), "facts": facts}
    wanted = {x.name: inputs[x.name] for x in session.get_inputs()}
    assert network_scores(model, samples) == pytest.approx(session.run(["G"], wanted)[0], abs=1e-5)


@pytest.mark.slow
def test_the_page_says_what_the_inputs_of_onnx_hold(tmp_path):
    pytest.importorskip("onnxruntime")
    page = Path(__file__).parents[1] / "docs" / "network.md"
    assert pages.refreshed(page, tmp_path, write_figures=False) == page.read_text("utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_an_exported_file_says_what_it_reads(kind):
    pytest.importorskip("onnx")
    from dnatrace.networks import export

    model = random_model(small(kind))
    graph = export.as_onnx(model).graph
    told = {value.name: value.doc_string for value in (*graph.input, *graph.output)}
    assert set(told) == {"shares", "G"} | ({"facts"} if kind == "tight" else set())
    assert f"column age * {model.grid.size} + level" in told["shares"]
    assert "F + p1 * G" in told["G"]
    assert kind == "paper" or "own test negative" in told["facts"]


def test_random_weights_differ():
    """The comparisons above would pass on networks that are constant; these are not."""
    a, b = (random_weights(small("tight"), seed) for seed in (1, 2))
    assert any(not np.array_equal(a[k], b[k]) for k in a)
    samples = samples_of(reference.random_messages(np.random.default_rng(8), 30))
    for kind in KINDS:
        assert network_scores(random_model(small(kind)), samples).std() > 1e-3
