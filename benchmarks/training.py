"""Measure what training costs: `python -m benchmarks.training`.

It reports seconds per epoch of 500,000 samples of about 180 messages, using the table of (age,
level), and the ratio to the plain network that sees every message (ragged, summed by segment, no
padding) on the same samples. Both take whole training steps: forward, backward, Adam. Messages and
tests are drawn at random, with 20,000 samples representing all. XLA and numba run on one thread,
and the processor time of this process is counted: on an otherwise idle machine the clock shows the
same.
"""

import argparse
import time
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np

from benchmarks.measure import print_table
from dnatrace.networks.architecture import WINDOW, Variant
from dnatrace.networks.inputs import quantise
from dnatrace.seir import SeirParameters, TestErrors
from dnatrace.training import deepset
from dnatrace.training import network as training
from dnatrace.training.recipes import RECIPES
from dnatrace.training.samples import Samples, cubic_grid
from dnatrace.training.scores import public_inputs
from tests.reference_deepset import one_by_one

BASE = 20_000
PLAIN_BATCH = 256
P1 = 0.03


def draw_samples(n: int) -> Samples:
    """Return samples with 12.6 contacts per day and messages like those of a small epidemic."""
    rng = np.random.default_rng(1)
    grid = cubic_grid()
    contacts = rng.poisson(12.6, (n, WINDOW)).astype(np.int32)
    owner = np.repeat(np.arange(n), contacts.sum(axis=1))
    ages = np.repeat(np.tile(np.arange(WINDOW), n), contacts.ravel())
    said = np.minimum(
        rng.exponential(0.01, owner.size) * (1 + 40 * (rng.random(owner.size) < 0.02)), 1
    )
    level = quantise(said.astype(np.float32)[None], grid)[0].astype(np.int64)
    keys, repeats = np.unique((owner * WINDOW + ages) * grid.size + level, return_counts=True)
    sizes = np.bincount(keys // (WINDOW * grid.size), minlength=n)
    tested = rng.random((n, WINDOW)) < 0.08
    return Samples(
        grid=grid,
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        cells=(keys % (WINDOW * grid.size)).astype(np.uint16),
        repeats=repeats.astype(np.uint16),
        outcomes=np.where(tested, rng.integers(0, 2, (n, WINDOW)), -1).astype(np.int8),
        contacts=contacts,
        age_group=rng.integers(0, 9, n).astype(np.uint8),
        isolated=np.zeros(n, dtype=np.bool_),
        seed=np.zeros(n, dtype=np.int64),
        person=np.arange(n, dtype=np.int32),
        day=np.full(n, 50, dtype=np.int16),
        state=rng.choice([0, 4], n).astype(np.uint8),
        fn=np.zeros(n, dtype=np.float32),
    )


def table_seconds(name: str, samples: Samples, n_samples: int, steps: int) -> float:
    """Return seconds per epoch using the table, with new batches as in training."""
    recipe = RECIPES[name]
    architecture, batch = recipe.architecture(Variant.COMBINED, p1=P1), recipe.batch
    task = training.prepare(
        samples, architecture, parameters=SeirParameters(), test_errors=TestErrors()
    )
    settings = training.Settings(batch=batch)
    all_steps = -(-n_samples // batch)
    levels = task.levels
    step = training._make_step(architecture, levels, settings, all_steps, P1)
    state = training._first_state(architecture, settings, all_steps)
    order = np.random.default_rng(2).permutation((steps + 1) * batch) % len(samples)
    timings = []
    batches = training._batches(task, order, batch)
    while True:
        start = time.process_time()
        made = next(batches, None)
        if made is None:
            break
        state, loss = step(state, *made[0])
        loss.block_until_ready()
        timings.append(time.process_time() - start)
    return min(timings[1:]) * all_steps


def plain_seconds(name: str, samples: Samples, n_samples: int, steps: int) -> float:
    """Return seconds per epoch message by message."""
    architecture = RECIPES[name].architecture(Variant.COMBINED, p1=P1)
    network, power = deepset.create(architecture, 1)
    optimiser = training._optimiser(training.Settings(), 100)
    some = samples.take(np.arange(PLAIN_BATCH))
    cell = np.repeat(some.cells.astype(np.int64), some.repeats)
    within = np.repeat(np.arange(PLAIN_BATCH), np.diff(some.offsets))
    batch = (
        jnp.asarray(np.minimum(some.grid, np.float32(architecture.gamma))[cell % some.grid.size]),
        jnp.asarray(cell // some.grid.size),
        jnp.asarray(np.repeat(within, some.repeats)),
        jnp.asarray(public_inputs(some)),
        jnp.asarray(some.infected, jnp.float32),
    )

    def loss_of(network: Any, power: Any, batch: Any) -> Any:
        messages, ages, owner, public, target = batch
        weights, power = network.effective(power)
        g = one_by_one(architecture, weights, messages, ages, owner, public)
        return ((P1 * g - target) ** 2).mean(), power

    @jax.jit
    def step(network: Any, power: Any, memory: Any, batch: Any) -> Any:
        (loss, power), slope = jax.value_and_grad(loss_of, has_aux=True)(network, power, batch)
        update, memory = optimiser.update(slope, memory, network)
        return jax.tree.map(jnp.add, network, update), power, memory, loss

    memory = optimiser.init(network)
    timings = []
    for _ in range(steps + 1):
        start = time.process_time()
        network, power, memory, loss = step(network, power, memory, batch)
        loss.block_until_ready()
        timings.append(time.process_time() - start)
    return min(timings[1:]) * n_samples / PLAIN_BATCH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=500_000)
    parser.add_argument("--steps", type=int, default=30, help="steps that are timed")
    options = parser.parse_args()
    numba.set_num_threads(1)
    samples = draw_samples(BASE)
    rows = []
    for name, recipe in RECIPES.items():
        fast = table_seconds(name, samples, options.samples, options.steps)
        slow = plain_seconds(name, samples, options.samples, max(2, options.steps // 10))
        rows.append(
            {
                "network": name,
                "levels": float((samples.grid <= np.float32(recipe.gamma)).sum()),
                "messages": float(samples.n_messages.mean()),
                "batch": float(recipe.batch),
                "epoch_s": fast,
                "40_epochs_min": 40 * fast / 60,
                "plain_epoch_s": slow,
                "ratio": slow / fast,
            }
        )
    print_table(f"{options.samples:,} samples, one thread, shortest step", rows)


if __name__ == "__main__":
    main()
