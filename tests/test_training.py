"""Training: it learns, one seed gives one result, and a killed run ends as if it had not been."""

import csv
import dataclasses
import io
import json
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from dnatrace.cli import app
from dnatrace.errors import InputError
from dnatrace.networks.architecture import Variant
from dnatrace.networks.runtime import load_model
from dnatrace.runs.metrics import area_under_roc
from dnatrace.seir import SeirParameters, TestErrors
from dnatrace.training import decoder_rounds
from dnatrace.training import network as training
from dnatrace.training import recipes as model_training
from dnatrace.training.dataset import DatasetWriter
from dnatrace.training.network import Settings, prepare, train
from dnatrace.training.recipes import Order
from dnatrace.training.scores import fn_scores

from .reference_networks import GRID, learnable, small

MODEL = {"parameters": SeirParameters(), "test_errors": TestErrors()}
QUICK = Settings(epochs=8, batch=128, seed=1, rate=0.02, last_rate=0.002)
P1 = MODEL["parameters"].p1


def tasks(architecture, n=1500):
    return (
        prepare(learnable(n, seed=1), architecture, **MODEL),
        prepare(learnable(n, seed=2), architecture, **MODEL),
    )


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


class KilledError(Exception):
    pass


def killed_after(n):
    def track(epochs, total):
        for done, epoch in enumerate(epochs):
            if done == n:
                raise KilledError
            yield epoch

    return track


@pytest.mark.parametrize("kind", ["paper", "tight"])
def test_one_seed_gives_one_result_also_after_a_kill(kind, tmp_path, caplog):
    architecture = small(kind, public_scale=1 / P1)
    task, validation = tasks(architecture)
    first = train(architecture, task, validation, p1=P1, settings=QUICK)
    checkpoint = tmp_path / "c.npz"
    arguments = {"p1": P1, "settings": QUICK, "checkpoint": checkpoint}
    with pytest.raises(KilledError):
        train(architecture, task, validation, track=killed_after(2), **arguments)
    assert checkpoint.exists()
    with caplog.at_level("INFO", logger="dnatrace"):
        resumed = train(architecture, task, validation, **arguments)
    assert "training resumes: 2 of 8 epochs are done, 6 are left" in caplog.text
    assert same(first.best, resumed.best)
    assert first.curve == resumed.curve
    assert first.best_epoch == resumed.best_epoch
    check_learning(first, validation)
    other = dataclasses.replace(QUICK, seed=2)
    with pytest.raises(InputError, match="other data or settings"):
        train(architecture, task, validation, **(arguments | {"settings": other}))
    whole = checkpoint.read_bytes()
    parts = (b"", b"half a checkpo", whole[: len(whole) // 2], whole[:-1], damaged(whole))
    for part in (*parts, without_its_key(checkpoint)):
        checkpoint.write_bytes(part)
        with pytest.raises(InputError, match="not a checkpoint"):
            train(architecture, task, validation, **arguments)
    checkpoint.write_bytes(whole)
    train(architecture, task, validation, **arguments)


def damaged(archive):
    """One byte in the middle is another."""
    middle = len(archive) // 2
    return archive[:middle] + bytes([archive[middle] ^ 0xFF]) + archive[middle + 1 :]


def without_its_key(checkpoint):
    with np.load(checkpoint) as held:
        arrays = dict(held)
    about = json.loads(str(arrays.pop("about")))
    del about["key"]
    file = io.BytesIO()
    np.savez(file, about=np.array(json.dumps(about)), **arrays)
    return file.getvalue()


def check_learning(trained, validation):
    aucs = [row["validation_auc"] for row in trained.curve]
    assert trained.curve[-1]["loss"] < trained.curve[0]["loss"]
    assert max(aucs) == aucs[trained.best_epoch - 1] == trained.best_auc
    before = area_under_roc(validation.belief, validation.target > 0.5)
    assert max(aucs) > before - 0.01
    rates = [row["rate"] for row in trained.curve]
    assert rates[-1] == pytest.approx(QUICK.last_rate)
    assert rates == sorted(rates, reverse=True)


def test_another_seed_gives_another_start_and_order():
    states = [training._first_state(small("tight"), Settings(seed=s), 1) for s in (1, 1, 2)]
    first, again, other = ([np.asarray(x) for x in leaves(s)] for s in states)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def leaves(state):
    import jax

    return jax.tree.leaves(state.parameters)


def test_prepared_tasks_say_what_the_network_sees():
    samples = learnable(60)
    combined = prepare(samples, small("tight"), **MODEL)
    assert combined.belief == pytest.approx(fn_scores(samples, 0.2, *MODEL.values()), rel=1e-6)
    assert np.array_equal(combined.target > 0.5, samples.infected)
    assert (prepare(samples, small("tight", "alone"), **MODEL).belief == 0).all()
    wider = prepare(samples, small("tight", with_exposed=True), others_kept=0.1, **MODEL)
    assert np.array_equal(wider.target > 0.5, samples.exposed_or_infected)
    exposed = samples.exposed_or_infected & ~samples.infected
    assert wider.weight[exposed] == pytest.approx(10.0)
    assert (wider.weight[~exposed] == 1.0).all()
    blind = prepare(samples, small("tight", "public"), **MODEL)
    rows = np.arange(14) * len(blind.levels)
    assert set(blind.shares.indices) <= set(rows)  # level 0 of every age


def test_the_score_of_balanced_samples_keeps_its_order():
    """The shifted log odds of the loss rise with the score, for every offset."""
    import jax
    import jax.numpy as jnp

    scores = jnp.linspace(-0.02, 1.2, 200)
    miss = training._loss(small("tight"), scores, jnp.asarray(2.0), jnp.zeros(200))
    assert (np.diff(np.asarray(miss)) >= 0).all()
    slope = jax.grad(lambda s: training._loss(small("tight"), s, 2.0, 1.0))(-0.5)
    assert np.isfinite(slope)
    plain = training._loss(small("paper"), scores, jnp.asarray(2.0), jnp.ones(200))
    assert np.asarray(plain) == pytest.approx((np.asarray(scores) - 1.0) ** 2, abs=1e-6)


def test_auc_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(1)
    scores, positive = rng.integers(0, 6, 80) / 6, rng.random(80) < 0.4
    pairs = scores[positive][:, None] - scores[~positive]
    expected = ((pairs > 0) + 0.5 * (pairs == 0)).mean()
    task = prepare(learnable(80), small("tight"), **MODEL)
    task = dataclasses.replace(task, target=positive.astype(np.float32))
    assert training._validation_auc(scores.astype(np.float32), task) == pytest.approx(expected)
    healthy = dataclasses.replace(task, target=np.zeros(80, dtype=np.float32))
    assert training._validation_auc(scores.astype(np.float32), healthy) == 0.5
    with pytest.raises(InputError, match="not a number"):
        training._validation_auc(np.full(80, np.nan, dtype=np.float32), task)


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"batch": 0}, {"rate": 0.0}, {"last_rate": 1.0}, {"seed": -1}]
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(InputError):
        Settings(**wrong)


def test_training_needs_both_kinds():
    architecture = small("paper")
    task, validation = tasks(architecture, n=50)
    healthy = dataclasses.replace(task, target=np.zeros(50, dtype=np.float32))
    with pytest.raises(InputError, match="both kinds"):
        train(architecture, healthy, validation, p1=P1, settings=QUICK)


# The command.


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    directory = tmp_path_factory.mktemp("dataset")
    writer = DatasetWriter(directory=directory, grid=GRID, **MODEL)
    runs = {}
    for seed, split in enumerate(("train", "validation", "test")):
        samples = learnable(240, seed=seed)
        writer.add(split, samples)
        infected = int(samples.infected.sum())
        runs[split] = {"person_days": 9000, "infected_person_days": infected, "seeds": [seed]}
    writer.finish({"policy": "none", "runs": runs})
    return directory


def command(dataset, out, *more):
    options = ["--epochs", "4", "--variant", "combined"]
    return ["train", str(dataset), "--out", str(out), *options, *more]


@pytest.fixture(scope="module")
def trained(dataset, tmp_path_factory):
    out = tmp_path_factory.mktemp("models")
    done = CliRunner().invoke(app, command(dataset, out, "--json", "-q"), catch_exceptions=False)
    assert done.exit_code == 0
    return out, json.loads(done.stdout)["models"]


def test_the_command_writes_models_that_pass(trained):
    out, (row,) = trained
    model = load_model(row["model"])
    assert row["model"] == str(out / "dna.safetensors")
    assert model.certificate.digest == row["digest"]
    assert 0.0 < model.lipschitz <= 1.0 + 1e-6
    assert "--network dna --variant combined --epochs 4" in model.provenance["command"]
    assert model.provenance["dataset"]["origin"]["policy"] == "none"
    curve = list(csv.DictReader((out / "dna.csv").read_text().splitlines()))
    assert [x["epoch"] for x in curve] == ["1", "2", "3", "4"]
    assert (out / "dna.svg").read_text().startswith("<?xml")
    assert not list(out.glob("*checkpoint*"))


# The command, in a process that kills itself when the third epoch begins.
KILLED = """
import os, signal
from dnatrace.training import decoder_rounds
from dnatrace.training import network as training

whole = training._epoch

def epoch(state, task, step, settings, number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(state, task, step, settings, number)

training._epoch = epoch
from dnatrace.cli import main
main()
"""


def test_a_killed_command_resumes_and_ends_with_the_same_file(dataset, trained, tmp_path):
    """Of the network that `dna` uses, killed without a chance to tidy up."""
    order = command(dataset, tmp_path, "-q")
    line = [sys.executable, "-c", KILLED, *order]
    victim = subprocess.run(line, stdout=subprocess.DEVNULL, check=False)
    assert victim.returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == ["dna.checkpoint.npz"]
    with np.load(tmp_path / "dna.checkpoint.npz") as held:
        assert len(json.loads(str(held["about"]))["curve"]) == 2
    assert CliRunner().invoke(app, order).exit_code == 0
    for name in ("dna.safetensors", "dna.csv"):
        assert (tmp_path / name).read_bytes() == (trained[0] / name).read_bytes()


def test_wrong_orders_are_named(dataset, tmp_path):
    for more in (["--network", "other"], ["--variant", "both"], ["--samples", "1"]):
        done = CliRunner().invoke(app, command(dataset, tmp_path, *more))
        assert isinstance(done.exception, InputError)
    done = CliRunner().invoke(app, command(tmp_path, tmp_path))
    assert isinstance(done.exception, InputError)


def test_what_fails_leaves_no_empty_directory(dataset, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise InputError("no memory left")

    monkeypatch.setattr(training, "train", fails)
    monkeypatch.setattr(decoder_rounds, "_collect", fails)
    out = tmp_path / "all" / "models"
    for order in (command(dataset, out), ["train", "--network", "tally", "--out", str(out)]):
        assert str(CliRunner().invoke(app, order).exception) == "no memory left"
        assert list(tmp_path.iterdir()) == []
    out.mkdir(parents=True)
    CliRunner().invoke(app, command(dataset, out))
    assert out.is_dir()  # it was there before


def test_what_was_trained_fits_into_80_columns(dataset, tmp_path):
    out = tmp_path / ("long-name-" * 8)
    done = CliRunner().invoke(app, [*command(dataset, out, "-q"), "--network", "dna-paper"])
    *shown, where = done.stdout.splitlines()
    assert max(map(len, shown)) <= 80
    assert f"weights {load_model(out / 'dna-paper.safetensors').certificate.digest}" in shown[-1]
    assert where == f"Stored in {out}"


def test_orders_name_their_models_and_samples(dataset, tmp_path):
    order = Order(dataset=dataset, out=tmp_path, samples=100)
    chosen = model_training._chosen(learnable(240), order)
    assert len(chosen) == 100
    assert np.array_equal(chosen.person, np.unique(chosen.person))
    assert "--samples 100" in order.command(Variant.PUBLIC)
    assert [order.name(v) for v in Variant] == ["dna", "dna-alone", "dna-public"]
    assert set(model_training.RECIPES) == {"dna", "dna-paper"}


def test_models_are_replaced_only_by_force(dataset, trained, tmp_path):
    out = tmp_path / "models"
    shutil.copytree(trained[0], out)
    model = out / "dna.safetensors"
    before = model.read_bytes()
    same, other = command(dataset, out, "-q"), command(dataset, out, "--seed", "2", "-q")
    for order in (same, other, ["train", "--network", "tally", "--out", str(out)]):
        (out / "tally.safetensors").write_bytes(before)
        done = CliRunner().invoke(app, order)
        assert isinstance(done.exception, InputError)
        assert str(done.exception).endswith("exists already; --force replaces it")
    assert model.read_bytes() == before
    lost = tmp_path / "lost"
    lost.mkdir()
    for curve in ("dna.csv", "dna.svg"):  # its model has another name by now
        (lost / curve).write_text("mine")
        done = CliRunner().invoke(app, command(dataset, lost, "-q"))
        assert str(done.exception) == f"{lost / curve}: exists already; --force replaces it"
        assert (lost / curve).read_text() == "mine"
        (lost / curve).unlink()
    # Not even for a variant that is still to be trained, unless this order made what is there.
    both = [*other, "--variant", "alone"]
    assert isinstance(CliRunner().invoke(app, both).exception, InputError)
    assert CliRunner().invoke(app, [*other, "--force"]).exit_code == 0
    changed = model.read_bytes()
    assert changed != before
