"""What an adversarial review found: each of these failed before."""

import contextlib
import json
import os
import pickle
import struct
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.inference.exchange import NeighbourRounds
from dnatrace.methods.base import Needs, Score, Setup
from dnatrace.methods.dpfn import Correlated
from dnatrace.methods.dpfn_s import DpfnSSettings, restarted
from dnatrace.methods.kinds import PrivateMethod, Query
from dnatrace.networks.decoder import is_decoder, load_decoder
from dnatrace.networks.model_file import pack
from dnatrace.networks.runtime import load_model, read_model
from dnatrace.privacy import mechanisms
from dnatrace.privacy.accounting import GaussianEvent, Ledger, Lifetime, Target, Unit
from dnatrace.privacy.budget_filter import linear_statistic
from dnatrace.privacy.gaussian import epsilon_of_mu
from dnatrace.privacy.mechanisms import GaussianMechanism
from dnatrace.privacy.noise import FastNoise, SecureNoise
from dnatrace.privacy.release import Bounded, TrustBoundaryError
from dnatrace.privacy.sensitivity import LinearForm, exposure_reach
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.report.page import SIMULATED, _verdict
from dnatrace.runs import guarantees
from dnatrace.runs.presentation import privacy_line
from dnatrace.runs.run import build_loop, run

from .command_line import run as dnatrace
from .private_methods import ONE, RecordingNoise, facts_of, made
from .reference_headcount import headcount
from .reference_privacy import PAPER_TESTS, SilentNoise, parameters
from .tampered_models import edit_metadata, parts_of, put, write

SMALL = {"people": 60, "days": 3, "initially_infected": 10}


# Noise that protects nobody is called so, whatever the configuration says.


@pytest.fixture(scope="module")
def fast():
    return run(dt.RunConfig(method="dpfn-s", **SMALL))


def test_fast_noise_is_a_simulation_wherever_costs_are_told(fast, tmp_path):
    privacy = fast.summary["privacy"]
    assert (privacy["sound"], privacy["protects"], privacy["noise"]) == (True, False, "fast")
    assert "SIMULATION" in privacy_line(privacy)
    assert "proved." not in privacy_line(privacy)
    assert "SIMULATION" in guarantees.state(fast.config, fast.ledger)
    assert all(FastNoise(seed=1).name == e.noise for e in fast.ledger.events if e.day > 1)
    stored = dt.runs.store.write_run(fast, tmp_path)
    title = dnatrace("privacy", "ledger", stored).stdout.splitlines()[0]
    assert "SIMULATION" in title
    assert json.loads((stored / "ledger.json").read_text())["spent"]["protects"] is False


@dataclass
class Reported:
    """The part of a group of runs that a verdict reads."""

    privacy: dict


def test_the_report_calls_proved_what_protects_and_nothing_else(fast):
    privacy = fast.summary["privacy"]
    assert _verdict(Reported(privacy)) == SIMULATED
    older = {key: value for key, value in privacy.items() if key != "protects"}
    assert _verdict(Reported(older)) == SIMULATED
    assert _verdict(Reported(older | {"noise": "secure"})) == "proved"
    assert _verdict(Reported(privacy | {"protects": True, "noise": "secure"})) == "proved"
    assert _verdict(Reported(privacy | {"sound": False})) == "NOT SOUND"


def test_an_object_with_noise_of_its_own_is_not_secure_because_the_configuration_says_so():
    config = dt.RunConfig(method="dpfn-s", noise="secure", **SMALL)
    result = run(config, method=made("dpfn-s", noise=FastNoise(seed=1)))
    assert result.summary["privacy"]["noise"] == "fast"
    assert not result.summary["privacy"]["protects"]
    text = guarantees.state(result.config, result.ledger)
    assert "SIMULATION" in text
    assert "secure" not in text


def test_an_object_is_held_to_its_own_epsilon_not_to_that_of_the_configuration():
    config = dt.RunConfig(method="dpfn-s", epsilon=1.0, **SMALL)
    for epsilon in (0.5, 4.0):
        result = run(config, method=made("dpfn-s", target=Target(epsilon=epsilon)))
        privacy = result.summary["privacy"]
        assert privacy["epsilon"] == pytest.approx(epsilon)
        assert privacy["per_release_epsilon"] == pytest.approx(epsilon)
        text = guarantees.state(result.config, result.ledger)
        assert "no target was stated" in text
        assert "ε = 1 at" not in text


def test_an_object_cannot_promise_a_person_what_its_messages_do_not_keep():
    """It was set up for messages from own tests; those of the configuration pass through others."""
    config = dt.RunConfig(seir={"exchange": "rounds"}, **SMALL)
    with pytest.raises(InputError, match="own-tests"):
        run(config, method=headcount(own_tests=True))
    result = run(config, method=headcount(own_tests=False))
    assert result.summary["privacy"]["per_person_epsilon"] is None


def test_a_loop_put_together_by_hand_is_held_to_it_as_well():
    loop = build_loop(dt.RunConfig(**SMALL), method=headcount(own_tests=True))
    exchange = NeighbourRounds(parameters=loop.parameters, test_errors=dt.TestErrors(), rounds=2)
    next(loop.run(1))  # messages from own tests are what it was set up for
    with pytest.raises(InputError, match="pass through others"):
        next(replace(loop, exchange=exchange).run(1))


# `dpfn`, `correlated`.


def scores_of_correlated(noise, said, own, copies):
    """Return scores [days, copies] of people who met one other on the first day, and the ledger."""
    n_days, n = len(own), copies
    window = ContactWindow(n_people=2 * n, n_days=14)
    outcomes = np.full((n_days, 2 * n), -1, dtype=np.int8)
    outcomes[:, :n] = np.array(own)[:, None]
    messages = np.zeros((n_days, 2 * n), dtype=np.float32)
    messages[:, n:] = said
    method = made("dpfn", "correlated", noise=noise)
    state, seen, ledger = method.start(2 * n), [], Ledger()
    met = DayContacts.from_pairs(np.arange(n) + n, np.arange(n), n_people=2 * n)
    for day in range(n_days):
        window.push(met if day == 0 else DayContacts.empty(2 * n))
        known = slice(0, day + 1)
        facts = facts_of(window, outcomes[known], messages[known], parameters(0.05))
        released, state = method.release(*facts, state)
        seen.append(released.scores[:n])
        ledger.record(released.event)
    return np.stack(seen), ledger


def test_one_score_of_correlated_sums_costs_more_than_a_release():
    """The score is a linear form of sums with Gaussian noise, so its shift over its spread is μ.

    Own tests weigh days as hardly anybody's do; 40,000 draws know the spread to 0.35 %, and four of
    these are allowed for.
    """
    own = (-1, 1, 1, -1, -1, -1, -1, 1, -1, -1, -1, -1, 1, -1)
    drawn, ledger = scores_of_correlated(FastNoise(seed=1), 0.0, own, 40_000)
    healthy, _ = scores_of_correlated(SilentNoise(), 0.0, own, 1)
    ill, _ = scores_of_correlated(SilentNoise(), 1.0, own, 1)
    mu = abs(ill[-1, 0] - healthy[-1, 0]) / drawn[-1].std()
    measured = epsilon_of_mu(float(mu) * (1 - 4 * 0.0035), 1e-3)
    assert ledger.epsilon(Unit.RELEASE, 1e-3) < measured < ledger.score_epsilon(1e-3)
    assert ledger.score_epsilon(1e-3) <= ledger.epsilon(Unit.CONTACT, 1e-3) * (1 + 1e-9)


@pytest.mark.parametrize("reads", [1, 2, 3, 5])
def test_a_score_costs_what_the_releases_it_reads_tell_of_one_contact(reads):
    """Against a sum over contact days, written out."""
    shares = (0.0, 1.0, 0.5, 0.25)
    life = Lifetime(shares=shares, joint=True)
    event = GaussianEvent(day=0, mechanism="m", mu=0.7, lifetime=life, reads=reads)
    ledger = Ledger([replace(event, day=day) for day in range(20)])
    worst = max(
        sum((0.7 * share) ** 2 for share in shares[first : first + reads])
        for first in range(len(shares))
    )
    assert ledger.score_epsilon(1e-3) == pytest.approx(epsilon_of_mu(worst**0.5, 1e-3))


def days_of_meetings(forgotten):
    """Return windows of sixteen days, one per day; one person is forgotten after the tenth."""
    n, rng = 8, np.random.default_rng(3)
    window = ContactWindow(n_people=n, n_days=14)
    for day in range(16):
        pairs = np.array([(a, b) for a in range(n) for b in range(n) if a != b])
        senders, receivers = pairs[rng.random(len(pairs)) < 0.6].T
        window.push(DayContacts.from_pairs(senders, receivers, n_people=n))
        if day >= 9 and forgotten is not None:
            window.forget(forgotten)
        yield day, window


def sums_of(forgotten, silent=None):
    """Return what `correlated` noises on every day."""
    noise = RecordingNoise()
    method, state = made("dpfn", "correlated", noise=noise, gamma=1.0), None
    assert isinstance(method, Correlated)
    rng = np.random.default_rng(4)
    messages = rng.random((16, 8), dtype=np.float32)
    if silent is not None:
        messages[:, silent] = 0.0
    state = method.start(8)
    for _, window in days_of_meetings(forgotten):
        said = messages[window.first_day : window.first_day + len(window)]
        outcomes = np.full(said.shape, -1, dtype=np.int8)
        _, state = method.release(*facts_of(window, outcomes, said, parameters(0.05)), state)
    return noise.values


def test_who_is_forgotten_is_in_no_later_sum_of_correlated():
    """Their messages, silent or not, are in no sum from the day on which they are forgotten."""
    others = np.arange(8) != 5
    loud, silent, kept = (
        np.concatenate(sums)[:, others]
        for sums in (sums_of(5), sums_of(5, silent=5), sums_of(None))
    )
    assert not np.array_equal(loud[:8], silent[:8])
    assert np.array_equal(loud[-6:], silent[-6:])
    assert not np.array_equal(loud[-6:], kept[-6:])


# Rounding.


@pytest.mark.parametrize("weight", [1e-16, 3e-15, 1e-12, 1e-8, 1e-6, 1e-3])
def test_the_sensitivity_of_linear_covers_its_rounding(weight):
    """20,000 windows each in which the messages of one day go from nothing to everything."""
    n, reach = 20_000, exposure_reach(0.02, 1.0)
    rng = np.random.default_rng(5)
    weights = weight * rng.random((3, n))
    form = LinearForm(scores=rng.random(n), weights=weights, lifts=np.empty((0, n)))
    counts = np.ones((3, n), dtype=np.int32)
    moved = rng.random((3, n)) * reach
    found = []
    for said in (0.0, reach / (1 + 1e-9)):
        moved[1] = said
        found.append(
            linear_statistic(
                form, moved, counts, np.zeros((3, n)), reach=reach, mu=1.0, budget=None
            )
        )
    change = np.abs(found[0].values - found[1].values)
    assert (change <= found[0].sensitivity).all()
    if weight == 1e-3:
        assert (change > 0.0).mean() > 0.9


def test_restart_states_a_sensitivity_above_rounding():
    window = ContactWindow(n_people=2, n_days=14)
    for _ in range(14):
        window.push(DayContacts.from_pairs([0], [1], n_people=2))
    messages, outcomes = np.zeros((14, 2), np.float32), np.full((14, 2), -1, np.int8)
    facts = facts_of(window, outcomes, messages, parameters(1e-12))
    statistic, _ = restarted(DpfnSSettings(release="restart"), Setup(target=ONE), *facts)
    assert statistic.sensitivity[1] > 2.0**-50
    assert statistic.sensitivity[0] == 0.0


def test_what_restart_costs_is_what_the_guarantees_say():
    """The row of `restart` in docs/guarantees.md, computed from the code."""
    text = (Path(__file__).parents[1] / "docs" / "guarantees.md").read_text("utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| `restart` |"))
    found = []
    for score in Score:
        settings = DpfnSSettings(release="restart", score=score)
        window = ContactWindow(n_people=2, n_days=14)
        window.push(DayContacts.from_pairs([0], [1], n_people=2))
        said, tests = np.zeros((1, 2), np.float32), np.full((1, 2), -1, np.int8)
        facts = facts_of(window, tests, said, parameters(0.02), errors=PAPER_TESTS)
        _, lifetime = restarted(settings, Setup(target=ONE), *facts)
        factors = (lifetime.contact_factor, lifetime.pair_factor)
        found.append([epsilon_of_mu(ONE.mu * factor, 1e-3) for factor in factors])
    (contact, pair), (contact_exposed, pair_exposed) = found
    expected = f"{contact:.2f} / {contact_exposed:.2f} | {pair:.1f} / {pair_exposed:.1f}"
    assert row == f"| `restart` | {expected} |"


# What is called public.


@dataclass(frozen=True)
class CallsItPublic:
    """Publishes a secret as public, of today or of the day before."""

    needs: Needs
    secret: str
    late: bool = False

    def start(self, n_people):
        return np.zeros(n_people)

    def release(self, public, secret, state):
        shown = getattr(secret, self.secret)
        shown = np.atleast_2d(shown if self.secret != "window" else shown.counts)
        shown = shown.sum(axis=0).astype(float)
        scores = state if self.late else shown
        return mechanisms.publish_public(scores, day=public.day), shown


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("needs", "secret"),
    [
        (Needs.TRUTH, "states"),
        (Needs.MESSAGES, "messages"),
        (Needs.EXPOSURES, "exposures"),
        (Needs.NOTHING, "window"),
    ],
)
def test_a_secret_is_not_published_as_public(needs, secret, late):
    with pytest.raises(TrustBoundaryError, match="are called public"):
        run(dt.RunConfig(**SMALL | {"days": 6}), method=CallsItPublic(needs, secret, late))


@dataclass(frozen=True)
class NoisesNothing(PrivateMethod):
    """Puts messages aside in `query` and shows them after the noise that there is not."""

    setup: Setup = field(default_factory=lambda: Setup(target=ONE))
    aside: list = field(default_factory=list)

    def query(self, prepared, public, secret, memory):
        self.aside.append(secret.messages[-1].astype(float))
        mechanism = GaussianMechanism(
            name="nothing",
            multiplier=1.0,
            lifetime=Lifetime(shares=(1.0,), joint=True),
            noise=self.setup.noise,
            purpose="noise/nothing",
        )
        return Query(mechanism=mechanism, statistic=None)

    def decode(self, noisy, prepared, public):
        return self.aside[-1]


def test_nothing_noised_is_nothing_shown():
    with pytest.raises(TrustBoundaryError, match="are called public"):
        run(dt.RunConfig(**SMALL), method=NoisesNothing())


@pytest.mark.parametrize("name", ["public-only", "random", "tally", "dpfn", "per-message"])
def test_what_is_public_may_be_called_so(name):
    """Also on first days, on which private methods have nothing to noise."""
    result = run(dt.RunConfig(**SMALL | {"days": 4}, method=name))
    assert result.summary["privacy"]["sound"]


# What was checked stays what is used.


def test_a_bounded_statistic_cannot_be_changed_after_its_check():
    values, sensitivity = np.zeros(3), np.ones(3)
    bounded = Bounded(values=values, sensitivity=sensitivity)
    values[0], sensitivity[0] = np.nan, -1.0
    assert bounded.values.tolist() == [0.0, 0.0, 0.0]
    assert bounded.sensitivity.tolist() == [1.0, 1.0, 1.0]
    for array in (bounded.values, bounded.sensitivity):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0


@pytest.mark.parametrize("load", [load_model, load_decoder])
def test_a_cached_network_cannot_be_changed(load):
    network = load()
    parts = [*network.weights.values()]
    if load is load_model:
        parts += [network.grid, network.table, *network.trained.values()]
        parts += [layer for layer in network._layers if np.ndim(layer)]
    for array in parts:
        assert not array.flags.writeable
    with pytest.raises(TypeError):
        network.weights[next(iter(network.weights))] = parts[0]
    sent = pickle.loads(pickle.dumps(network.weights))  # as to another process
    assert not any(array.flags.writeable for array in sent.values())


# Files of models.


def without_seal(path):
    header, body = parts_of(path)
    del header["__metadata__"]["seal"]
    put(path, header, body)


def without_offsets(path):
    header, body = parts_of(path)
    header["grid"]["data_offsets"] = []
    put(path, header, body)


def raw_header(path, text):
    path.write_bytes(struct.pack("<Q", len(text)) + text)


BROKEN = {
    "no seal": without_seal,
    "no offsets": without_offsets,
    "deep": lambda p: raw_header(p, b"[" * 200_000),
    "deep text": lambda p: raw_header(
        p, json.dumps({"__metadata__": {"dnatrace": '{"a":' * 100_000, "seal": ""}}).encode()
    ),
    "many layers": lambda p: edit_metadata(
        p, lambda m: m["architecture"].update(kind="paper", depth=10**9)
    ),
    "pipe": lambda p: (p.unlink(), os.mkfifo(p)),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_model_is_one_line(how, tmp_path):
    path = tmp_path / "m.safetensors"
    write(path)
    BROKEN[how](path)
    for read in (load_model, load_decoder):
        with pytest.raises(InputError) as error:
            read(path)
        assert "\n" not in str(error.value)
        assert str(path) in str(error.value)
    told = dnatrace("certify", path)
    assert told.returncode == 2


def test_a_decoder_with_an_alarm_beyond_all_numbers_is_refused(tmp_path):
    path = tmp_path / "d.safetensors"
    about = {"decoder": {"low": 0.1, "high": 10**400}, "provenance": {}}
    path.write_bytes(pack(about, dict(load_decoder().weights)))
    assert is_decoder(path)
    with pytest.raises(InputError, match="not a decoder"):
        load_decoder(path)


LEAVES = st.none() | st.booleans() | st.integers(-9, 10**20) | st.floats() | st.text(max_size=3)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_value_in_a_header_is_more_than_one_line(data, tmp_path_factory):
    """Any value of the header, or all of it, is replaced by any JSON value."""
    path = tmp_path_factory.getbasetemp() / "fuzzed.safetensors"
    write(path)
    header, body = parts_of(path)
    about = json.loads(header["__metadata__"]["dnatrace"])
    held = data.draw(st.sampled_from([header, header["grid"], header["__metadata__"], about]))
    key = data.draw(st.sampled_from(sorted(held)))
    held[key] = data.draw(JSON)
    if held is about:
        header["__metadata__"]["dnatrace"] = json.dumps(about)
    put(path, header, body)
    with contextlib.suppress(InputError):  # any other exception is the failure
        assert read_model(path).certificate


# Secure noise.


def test_secure_noise_does_not_wrap():
    noise = SecureNoise()
    values = np.array([2.0**33, 2.0**40, -(2.0**34), 2.0**31])
    noisy = noise.perturb(values, np.ones(4), multiplier=2.0, purpose="p", day=0)
    assert np.abs(noisy - np.array([2.0**32, 2.0**32, -(2.0**32), 2.0**31])).max() < 100.0


def test_secure_noise_refuses_what_its_integers_cannot_hold():
    with pytest.raises(InputError, match="standard deviation"):
        SecureNoise().perturb(np.zeros(1), np.ones(1), multiplier=1e9, purpose="p", day=0)
