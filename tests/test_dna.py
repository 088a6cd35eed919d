"""DNA: the score plus a network, no neighbour further than stated, audits that can refute it."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnatrace.errors import InputError
from dnatrace.methods import dna as dna_methods
from dnatrace.methods.adversary import OwnTests
from dnatrace.methods.base import Needs, Score, Setup
from dnatrace.methods.dna import Augmentation, DnaSettings, _warn_of_another_score
from dnatrace.methods.dpfn_s import DpfnSRelease, Expansion
from dnatrace.privacy import sensitivity as sv
from dnatrace.privacy.accounting import (
    GaussianEvent,
    Ledger,
    PublicEvent,
    Target,
    Unit,
    UnprovenEvent,
)
from dnatrace.privacy.audit import audit
from dnatrace.privacy.noise import FastNoise
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.runs import audits as privacy_checks
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.run import run
from dnatrace.runs.sections import PrivacySettings
from dnatrace.seir import SeirParameters

from . import reference_privacy
from .private_methods import ONE, RecordingNoise, WeakNoise, facts_of, game, made, released
from .reference_networks import random_model, small
from .reference_privacy import SilentNoise, parameters
from .tampered_models import TAMPERED, write

PAPER = SeirParameters()
SOUND = [DpfnSRelease.LINEAR, DpfnSRelease.RESTART]
MODELS = {kind: random_model(small(kind)) for kind in ("tight", "paper")}


def dna(release="linear", *, model="tight", target=ONE, noise=None, window_days=14, **settings):
    settings = DnaSettings(**{"gamma": 0.2, "release": release} | settings)
    setup = Setup(target=target, noise=noise or FastNoise(seed=0), window_days=window_days)
    model = MODELS[model] if isinstance(model, str) else model
    kinds = {"linear": dna_methods.Linear, "restart": dna_methods.Restart}
    augmented = Augmentation(settings=settings, setup=setup, model=model)
    return kinds.get(release, dna_methods.AsPublished)(augmented=augmented, setup=setup)


def noised(facts, release, **settings):
    noise = RecordingNoise()
    event = released(dna(release, noise=noise, **settings), facts).event
    return noise.values[0][0], noise.sensitivity[0][0], event


@pytest.mark.parametrize("release", SOUND)
@given(
    seed=st.integers(0, 2**32 - 1),
    score=st.sampled_from(Score),
    gamma=st.sampled_from([0.1, 0.15, 0.2, 1.0]),
    model=st.sampled_from(list(MODELS)),
)
@settings(max_examples=12)
def test_no_neighbour_is_further_than_stated(release, seed, score, gamma, model):
    crowd = reference_privacy.crowd(np.random.default_rng(seed), n_receivers=60)
    p = parameters(0.1)
    settings = {"score": score, "gamma": gamma, "model": model}
    here, stated, event = noised(crowd.facts(crowd.messages, p), release, **settings)
    there, same, _ = noised(crowd.facts(crowd.neighbour, p), release, **settings)
    assert np.array_equal(stated, same)  # the size of the noise is public
    assert isinstance(event, GaussianEvent)
    moved = np.abs(there - here)
    assert (moved <= stated).all()
    assert (moved[stated == 0] == 0).all()


def test_the_network_can_use_what_is_stated():
    """Of age 0 F hears nothing, so what moves is p1·G alone, and it moves."""
    window = ContactWindow(n_people=2, n_days=14)
    for day in range(14):
        met = day == 13
        window.push(DayContacts.from_pairs([1], [0], n_people=2) if met else DayContacts.empty(2))
    values = []
    for message in (0.0, 0.2):
        outcomes = np.full((14, 2), -1, dtype=np.int8)
        messages = np.full((14, 2), message, dtype=np.float32)
        facts = facts_of(window, outcomes, messages, PAPER)
        value, stated, event = noised(facts, "linear")
        values.append(value[0])
        assert stated[0] == pytest.approx(PAPER.p1 * 0.2 * MODELS["tight"].lipschitz, rel=1e-6)
        assert stated[1] == 0.0  # nobody met
        assert event.lifetime.shares == (1.0,) * 14
    assert 0.0 < abs(values[1] - values[0]) <= stated[0]


def test_statistics_agree_with_their_definition():
    crowd = reference_privacy.crowd(np.random.default_rng(2), n_receivers=30)
    facts = crowd.facts(crowd.messages, PAPER)
    model = MODELS["tight"]
    view = model.look(crowd.outcomes, crowd.window.counts, None)
    g = view.scores(crowd.window, np.minimum(crowd.messages, np.float32(0.2)))
    for release in ("linear", "restart", "as_published"):
        noise = RecordingNoise()
        released(made("dpfn-s", release, noise=noise, rho=0.0), facts)
        values, stated, _ = noised(facts, release, rho=0.0)
        assert values == pytest.approx(noise.values[0][0] + PAPER.p1 * g, abs=1e-12)
        counts = view.n_messages
        added = np.where(counts > 0, PAPER.p1 * 0.2 * model.lipschitz / np.maximum(counts, 1), 0)
        assert stated == pytest.approx(noise.sensitivity[0][0] + added, rel=1e-6)


def test_shrinkage_pulls_towards_the_public_score():
    crowd = reference_privacy.crowd(np.random.default_rng(3), n_receivers=30)
    facts = crowd.facts(crowd.messages, PAPER)
    scores = {rho: released(dna(rho=rho), facts).scores for rho in (0.0, 1e-6)}
    a, known = dna().augmented, facts[0]
    public = Expansion.at(a.settings, known).form.scores
    public = public + PAPER.p1 * a.look(known).reference(a.settings.mu_ref)
    assert scores[1e-6] == pytest.approx(public, abs=1e-6)
    assert not np.allclose(scores[0.0], public, atol=1e-4)
    silent = released(dna(rho=0.0, noise=SilentNoise()), facts).scores
    assert silent == pytest.approx(noised(facts, "linear")[0], abs=1e-12)


def test_nobody_met_nothing_to_hide():
    window = ContactWindow(n_people=3, n_days=14)
    window.push(DayContacts.empty(3))
    facts = facts_of(
        window,
        np.full((1, 3), -1, dtype=np.int8),
        np.zeros((1, 3), dtype=np.float32),
        PAPER,
        age_groups=np.array([1, 4, 8], dtype=np.uint8),
    )
    found = released(dna(), facts)
    assert isinstance(found.event, PublicEvent)
    assert np.ptp(found.scores) > 0  # age is public and counts


@pytest.mark.parametrize("unit", [unit for unit in Unit if unit is not Unit.PERSON])
def test_units_are_met(unit):
    crowd = reference_privacy.crowd(np.random.default_rng(5), n_receivers=10)
    facts = crowd.facts(crowd.messages, PAPER)
    method = dna(target=Target(epsilon=1.0, unit=unit))
    ledger = Ledger()
    for day in range(40):
        event = released(method, facts).event
        ledger.record(type(event)(**{**fields_of(event), "day": day}))
    assert ledger.epsilon(unit, 1e-3) == pytest.approx(1.0, abs=1e-6)
    assert ledger.sound


def fields_of(event):
    from dataclasses import fields

    return {f.name: getattr(event, f.name) for f in fields(event)}


def test_as_published_is_algorithm_one_and_says_how_far_off_it_is():
    crowd = reference_privacy.crowd(np.random.default_rng(4))
    facts = crowd.facts(crowd.messages, parameters(0.05))
    method = dna("as_published", gamma=0.7, score="infected")
    found = released(method, facts)
    assert found.scores.min() >= 0.0
    assert found.scores.max() <= 0.7
    assert isinstance(found.event, UnprovenEvent)
    assert 4 < found.event.attained_worst <= found.event.bound_worst


@pytest.mark.parametrize("tests", [OwnTests.NONE, OwnTests.POSITIVE])
@pytest.mark.parametrize("release", SOUND)
def test_sound_releases_pass_the_audit(release, tests):
    """And an eighth of the noise is caught, so that passing is not for want of anything to see."""

    def passed(noise, day):
        make = lambda seed: dna(release, gamma=0.7, noise=noise(seed))  # noqa: E731
        sample = game(make, tests=tests, met_on=(day,))
        return audit(sample, claimed_epsilon=1.0, delta=1e-3, draws=20_000).passed

    days = (12, 11)
    assert all(passed(lambda seed: FastNoise(seed=seed), day) for day in days)
    assert not all(passed(lambda seed: WeakNoise(seed, share=1 / 8), day) for day in days)


def test_two_thirds_of_the_noise_is_caught():
    """With other contacts: a single one has a share of G that the belief cannot use."""
    make = lambda seed: dna("linear", gamma=0.7, noise=WeakNoise(seed))  # noqa: E731
    sample = game(make, others=1)
    assert not audit(sample, claimed_epsilon=1.0, delta=1e-3, draws=200_000).passed


def test_the_command_catches_two_thirds_of_the_noise(monkeypatch):
    """The encounters of `dnatrace audit`, with the network that ships; its own noise passes."""
    config = load_config(preset="standard", overrides={"method": "dna"})
    found = []
    for noise in (FastNoise, WeakNoise):
        monkeypatch.setattr(PrivacySettings, "source", lambda _, seed, n=noise: n(seed=seed))
        found.append(privacy_checks.audit(config, draws=60_000))
    honest, weak = found
    assert honest.passed
    assert honest.lower_bound > 0.6
    assert not weak.passed
    assert weak.confidence == 0.99
    # Without other contacts the share of G hides it: why there are more than two encounters.
    monkeypatch.setattr(DnaSettings, "counts_contacts", False)
    assert privacy_checks.audit(config, draws=60_000).passed


def test_as_published_is_caught_after_a_positive_test():
    make = lambda seed: dna(  # noqa: E731
        "as_published", gamma=0.7, score="infected", noise=FastNoise(seed=seed)
    )
    result = audit(
        game(make, tests=OwnTests.POSITIVE), claimed_epsilon=1.0, delta=1e-3, draws=50_000
    )
    assert not result.passed
    assert audit(game(make), claimed_epsilon=1.0, delta=1e-3, draws=20_000).passed


def test_networks_trained_without_f_are_refused():
    for variant in ("alone", "public"):
        with pytest.raises(InputError, match=variant):
            dna(model=random_model(small("tight", variant)))


def test_windows_must_fit():
    """Refused before anything runs, and days that are more than announced as well."""
    with pytest.raises(InputError, match="15 days"):
        dna(window_days=15)
    crowd = reference_privacy.crowd(np.random.default_rng(6), n_receivers=5, n_days=20)
    with pytest.raises(InputError, match="20"):
        released(dna(window_days=14), crowd.facts(crowd.messages, PAPER))


@pytest.mark.parametrize("rho", [0.0, 0.05])
@pytest.mark.parametrize("release", SOUND)
def test_nothing_is_said_when_nothing_is_transmitted(release, rho):
    """p1 = 0: no message moves the score, so it is public, and it is a number."""
    crowd = reference_privacy.crowd(np.random.default_rng(8), n_receivers=20)
    never = parameters(0.0)
    here, there = (
        released(dna(release, rho=rho), crowd.facts(messages, never))
        for messages in (crowd.messages, crowd.neighbour)
    )
    assert np.isfinite(here.scores).all()
    assert np.array_equal(here.scores, there.scores)
    assert isinstance(here.event, PublicEvent)


@dataclass(frozen=True)
class ConstantNoise:
    """Whatever was asked to be noised, the noisy value is this."""

    value: float = 0.3
    name: str = "constant"
    score_grid: float | None = None

    def perturb(self, values, sensitivity, *, multiplier, purpose, day, draw=0):
        return np.full(np.shape(values), self.value)


@pytest.mark.parametrize("rho", [0.0, 0.05])
@pytest.mark.parametrize("release", list(DpfnSRelease))
def test_messages_matter_through_the_noisy_value_alone(release, rho):
    """Neighbours with the same noisy value have the same scores, bit by bit."""
    crowd = reference_privacy.crowd(np.random.default_rng(7), n_receivers=40)

    def scores(messages, noise):
        method = dna(release, noise=noise, rho=rho)
        return released(method, crowd.facts(messages, PAPER)).scores

    def same(noise):
        return np.array_equal(scores(crowd.messages, noise), scores(crowd.neighbour, noise))

    assert same(ConstantNoise())
    assert not same(SilentNoise())
    other = scores(crowd.messages, ConstantNoise(value=0.1))
    assert not np.array_equal(other, scores(crowd.messages, ConstantNoise()))


def test_a_network_for_another_score_is_one_line_in_the_log(caplog):
    wrong = random_model(small("tight", with_exposed=True))
    right = random_model(small("tight", with_exposed=False))
    _warn_of_another_score.cache_clear()
    with caplog.at_level("WARNING"):
        dna(model=right, score="infected")
        assert not caplog.records
        for _ in range(3):
            dna(model=wrong, score="infected")
    (record,) = caplog.records
    assert "trained to augment P(E) + P(I); this run releases P(I)" in record.getMessage()


def test_the_preset_of_the_authors_programs_warns(caplog):
    """It ranks by P(E) + P(I); the published network was trained with P(I)."""
    config = load_config(preset="paper-code", overrides={"method": "dna"})
    _warn_of_another_score.cache_clear()
    with caplog.at_level("WARNING"):
        config.method.build(config.method_setup())
    assert "model 'dna-paper' was trained to augment P(I);" in caplog.text


SMALL = {"method": "dna", "people": 300, "days": 16, "seed": 3, "initially_infected": 10}


def test_a_run_uses_the_model_that_ships():
    result = run(RunConfig(**SMALL))
    assert result.summary["privacy"]["sound"] is True
    assert "network" in result.summary["privacy"]["mechanism"]
    assert result.summary["privacy"]["per_release_epsilon"] == pytest.approx(1.0)
    assert dna().needs is Needs.MESSAGES


def test_the_name_of_a_run_tells_its_weights(tmp_path):
    path = tmp_path / "m.safetensors"
    write(path)
    of = lambda: RunConfig(**SMALL | {"method": {"name": "dna", "model": str(path)}})  # noqa: E731
    first = of().digest
    assert first == of().digest
    changed = MODELS["tight"].weights
    changed = changed | {"head.bias": changed["head.bias"] + np.float32(1)}
    write(path, weights=changed)
    assert of().digest != first


def test_a_tampered_model_does_not_run(tmp_path):
    path = tmp_path / "m.safetensors"
    write(path)
    TAMPERED["bound"](path)
    with pytest.raises(InputError, match="does not match"):
        run(RunConfig(**SMALL | {"method": {"name": "dna", "model": str(path)}}))


def test_provenance_is_json():
    assert json.dumps(MODELS["tight"].architecture.as_dict())
    assert sv.first_age(True) == 1  # F hears nothing of age 0; the network does
