"""Slow, obvious twins of what turns runs into samples and scores into areas."""

import math

import numpy as np

from dnatrace.networks.architecture import WINDOW, Architecture, levels_up_to
from dnatrace.networks.runtime import Model, write_model
from dnatrace.training.samples import cubic_grid
from tests import reference


def nearest_level(message, grid):
    """The level with the least distance; of two at one distance either will do."""
    return min(range(len(grid)), key=lambda k: abs(float(grid[k]) - float(message)))


def histogram(person, contacts, messages, grid):
    """Repeats by (age, level) of one person; contacts [(sender, receiver, day)], oldest day 0."""
    n_days = len(messages)
    counts = {}
    for sender, receiver, day in contacts:
        if receiver == person:
            cell = (n_days - 1 - day, nearest_level(messages[day][sender], grid))
            counts[cell] = counts.get(cell, 0) + 1
    return counts


def samples_histogram(samples, i):
    """The same of a stored sample."""
    rows = range(samples.offsets[i], samples.offsets[i + 1])
    n = samples.grid.size
    return {
        (int(samples.cells[r]) // n, int(samples.cells[r]) % n): int(samples.repeats[r])
        for r in rows
    }


def fn_score(samples, i, gamma, parameters, test_errors, with_exposed=False):
    """F of one sample, message by message, by summing over all sequences of states."""
    n_days = min(int(samples.day[i]), WINDOW)
    log_stays = [math.log(1 - parameters.p0)] * n_days
    for (age, level), repeats in samples_histogram(samples, i).items():
        for _ in range(repeats):
            message = min(float(samples.grid[level]), gamma)
            log_stays[n_days - 1 - age] += math.log(1 - parameters.p1 * message)
    outcomes = [int(samples.outcomes[i, n_days - 1 - t]) for t in range(n_days)]
    sequences = reference.monotone_sequences(n_days)
    last = reference.posterior(log_stays, outcomes, parameters, test_errors, sequences)[-1]
    return last[2] + (last[1] if with_exposed else 0.0)


def resampled_area(scores, positive, person, drawn):
    """AUC with every sample repeated as often as its person is drawn."""
    repeats = [int(drawn[p]) for p in person]
    return reference.area_under_roc(np.repeat(scores, repeats), np.repeat(positive, repeats))


def write_random_model(path, *, kind, variant, gamma=0.2, seed=0, provenance=None):
    """A network that has learned nothing; before projection the path of messages was longer."""
    architecture = Architecture(kind=kind, variant=variant, gamma=gamma, width=8, depth=2)
    rng = np.random.default_rng(seed)
    weights = {
        name: (rng.normal(size=shape) / math.sqrt(shape[-1])).astype(np.float32)
        for name, shape in architecture.shapes().items()
    }
    trained = {}
    for name in architecture.message_path():
        trained[name] = weights[name]
        norm = np.linalg.svd(weights[name], compute_uv=False)[0]
        weights[name] = (weights[name] / max(1.0, norm * 1.0001)).astype(np.float32)
    grid = cubic_grid()
    model = Model(
        name=path.stem,
        architecture=architecture,
        weights=weights,
        trained=trained,
        grid=grid[: levels_up_to(grid, gamma)],
        provenance=provenance or {},
    )
    write_model(path, model)
    return path
