"""Certificates: what they bound, and that no file passes whose weights they do not describe."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from dnatrace.cli import app
from dnatrace.errors import InputError
from dnatrace.networks.certificate import MARGIN, certify, spectral_norm, weight_digest
from dnatrace.networks.runtime import (
    load_model,
    model_names,
    model_path,
    read_model,
)
from dnatrace.training.projection import project
from dnatrace.training.scores import network_scores

from . import reference_networks as reference
from .reference_networks import model_of, random_model, random_weights, samples_of, small
from .tampered_models import LEVELS, TAMPERED, write

KINDS = ["paper", "tight"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_the_product_of_norms(kind):
    architecture = small(kind)
    weights = random_weights(architecture)
    certificate = certify(architecture, weights, LEVELS)
    norms = [np.linalg.norm(weights[n].astype(float), 2) for n in architecture.message_path()]
    assert [x.norm for x in certificate.layers] == pytest.approx(norms, rel=1e-12)
    assert certificate.lipschitz_bound == pytest.approx(math.prod(norms) * (1 + MARGIN), rel=1e-12)
    assert certificate.lipschitz_bound <= 1 + 1e-6
    for name in architecture.message_path():
        louder = weights | {name: np.float32(1.5) * weights[name]}
        found = certify(architecture, louder, LEVELS).lipschitz_bound
        assert found == pytest.approx(1.5 * certificate.lipschitz_bound, rel=1e-6)
    free = {k: 100 * w for k, w in weights.items() if k not in architecture.message_path()}
    again = certify(architecture, weights | free, LEVELS).lipschitz_bound
    assert again == certificate.lipschitz_bound


@pytest.mark.parametrize("kind", KINDS)
def test_projection_lowers_what_is_above_one_and_nothing_else(kind):
    architecture = small(kind)
    rng = np.random.default_rng(1)
    weights = {k: rng.normal(size=s).astype(np.float32) for k, s in architecture.shapes().items()}
    projected = project(architecture, weights)
    for name, weight in weights.items():
        if name not in architecture.message_path():
            assert np.array_equal(projected[name], weight)
            continue
        assert spectral_norm(projected[name]) <= 1.0
        before = np.linalg.svd(weight.astype(float), compute_uv=False)
        after = np.linalg.svd(projected[name].astype(float), compute_uv=False)
        assert after == pytest.approx(np.minimum(before, 1.0), abs=2e-6)
    again = project(architecture, projected)
    assert all(again[k] == pytest.approx(projected[k], abs=1e-6) for k in weights)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 5, 2000])
def test_random_neighbours_stay_within_the_bound(kind, n):
    rng = np.random.default_rng(n)
    model = random_model(small(kind))
    here = [
        [
            (int(a), float(v))
            for a, v in zip(rng.integers(0, 14, n), rng.random(n) ** 3, strict=True)
        ]
        for _ in range(20)
    ]
    there = [[(x[0][0], 0.2 * float(rng.integers(0, 2))), *x[1:]] for x in here]
    moved = network_scores(model, samples_of(here)) - network_scores(model, samples_of(there))
    assert np.abs(moved).max() <= model.gamma * model.lipschitz / n
    assert np.abs(moved).max() > 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_bound_of_weights_too_large_would_be_false(kind):
    """Negative control: without projection neighbours are further apart than γ/C."""
    architecture = small(kind)
    weights = random_weights(architecture)
    loud = weights | {k: 3 * weights[k] for k in architecture.message_path()}
    louder = model_of(architecture, loud)
    here, there = (samples_of([[(a, v)] for a in range(14)]) for v in (0.0, 0.2))
    moved = np.abs(network_scores(louder, here) - network_scores(louder, there)).max()
    assert moved > 0.2 * (1 + 1e-6)
    assert moved <= 0.2 * louder.lipschitz


def test_the_digest_sees_everything_that_g_depends_on():
    architecture = small("tight")
    weights = random_weights(architecture)
    digests = {weight_digest(architecture, weights, LEVELS)}
    for name in weights:
        changed = weights[name].copy()
        changed.flat[0] = np.nextafter(changed.flat[0], np.float32(9))
        digests.add(weight_digest(architecture, weights | {name: changed}, LEVELS))
    digests.add(weight_digest(small("tight", gamma=0.1), weights, LEVELS))
    digests.add(weight_digest(small("tight", public_scale=2.0), weights, LEVELS))
    digests.add(weight_digest(small("tight", "alone"), weights, LEVELS))
    digests.add(weight_digest(architecture, weights, LEVELS[:-1]))
    assert len(digests) == len(weights) + 5


@pytest.mark.parametrize("kind", KINDS)
def test_files_come_back_and_have_the_same_bytes(tmp_path, kind):
    a, b = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    certificate = write(a, kind)
    write(b, kind)
    assert a.read_bytes() == b.read_bytes()
    model = load_model(a)
    assert model.certificate == certificate
    assert model.provenance == {"command": "none"}
    loud = model.before_projection()
    assert loud.lipschitz == pytest.approx(1.5 ** len(certificate.layers), rel=1e-4)
    samples = samples_of(reference.random_messages(np.random.default_rng(1), 9))
    assert not np.array_equal(network_scores(loud, samples), network_scores(model, samples))


@pytest.mark.parametrize("how", TAMPERED)
def test_tampered_files_are_refused(tmp_path, how):
    path = tmp_path / "model.safetensors"
    write(path)
    load_model(path)
    TAMPERED[how](path)
    with pytest.raises(InputError, match=r"model\.safetensors"):
        load_model(path)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_must_be_finite(tmp_path, bad):
    weights = random_weights(small("tight"))
    weights["head.bias"][0] = bad
    with pytest.raises(InputError, match="finite"):
        write(tmp_path / "m.safetensors", weights=weights)


def test_a_louder_model_is_loaded_with_its_own_bound(tmp_path):
    """What is certified is what the noise uses, also when it is more than 1."""
    path = tmp_path / "loud.safetensors"
    weights = random_weights(small("tight"))
    weights["pool.2.weight"] *= np.float32(3.0)
    write(path, weights=weights)
    assert load_model(path).lipschitz == pytest.approx(3.0, rel=1e-4)


def test_missing_files_are_named(tmp_path):
    for wrong in ("no-such-model", str(tmp_path / "none.safetensors")):
        with pytest.raises(InputError, match="no such file"):
            load_model(wrong)
    with pytest.raises(InputError, match="directory"):
        read_model(tmp_path)


def test_models_that_ship():
    names = model_names()
    for network in ("dna", "dna-paper"):
        assert {network, f"{network}-alone", f"{network}-public"} <= set(names)
    for name in names:
        model = load_model(name)
        assert model.lipschitz <= 1 + 1e-6
        assert {"dataset", "settings", "command", "libraries"} <= set(model.provenance)
        assert model_path(name).stat().st_size < 600_000
    assert sum(model_path(name).stat().st_size for name in names) < 2_000_000


def test_certify_prints_layer_by_layer(tmp_path):
    path = tmp_path / "m.safetensors"
    certificate = write(path)
    done = CliRunner().invoke(app, ["certify", str(path), "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["lipschitz_bound"] == certificate.lipschitz_bound
    assert found["digest"] == certificate.digest
    assert found["digest_matches"] is True
    assert [x["layer"] for x in found["layers"]] == list(small("tight").message_path())
    plain = CliRunner().invoke(app, ["certify", str(path)])
    assert "matches" in plain.stdout
    assert "pool.1.weight" in plain.stdout


def test_models_commands_are_quiet_and_speak_json(tmp_path):
    pytest.importorskip("onnx")
    path, out = tmp_path / "m.safetensors", tmp_path / "m.onnx"
    certificate = write(path)
    assert CliRunner().invoke(app, ["certify", str(path), "--json", "-q"]).exit_code == 0
    done = CliRunner().invoke(app, ["export", str(path), str(out), "--json", "-q"])
    assert done.exit_code == 0
    made = {"model": str(path), "file": str(out), "digest": certificate.digest}
    assert json.loads(done.stdout) == made
    assert out.stat().st_size > 0
    again = ["export", str(path), str(out), "--force"]
    assert f"Wrote {out}" in CliRunner().invoke(app, again).stdout


def test_certify_exits_with_one_when_it_does_not_match(tmp_path):
    path = tmp_path / "m.safetensors"
    write(path)
    TAMPERED["weight"](path)
    done = CliRunner().invoke(app, ["certify", str(path), "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["digest_matches"] is False
    assert "NOT" in CliRunner().invoke(app, ["certify", str(path)]).stdout
