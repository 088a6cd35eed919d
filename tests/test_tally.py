"""Tally: one message moves it by at most 1 for every test history; a decoder hides nothing else."""

import json
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dnatrace.cli import app
from dnatrace.errors import InputError
from dnatrace.methods.adversary import OwnTests
from dnatrace.methods.base import Needs, Setup
from dnatrace.methods.tally import ContactRate, Tally, tallies
from dnatrace.networks.decoder import (
    Alarm,
    decoder_names,
    decoder_path,
    load_decoder,
    write_decoder,
)
from dnatrace.networks.decoder_inputs import DecoderInputs, common_inputs, scaled_tallies
from dnatrace.networks.runtime import model_path
from dnatrace.privacy.accounting import GaussianEvent, Ledger, PublicEvent, Target, Unit
from dnatrace.privacy.audit import audit
from dnatrace.privacy.gaussian import epsilon_of_mu
from dnatrace.privacy.noise import FastNoise
from dnatrace.privacy.release import TrustBoundaryError
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.runs import audits as privacy_checks
from dnatrace.runs import guarantees
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.run import run
from dnatrace.seir import SeirParameters, TestErrors

from . import reference_decoder as reference
from . import reference_privacy
from .command_line import run as dnatrace
from .private_methods import ONE, WeakNoise, facts_of, game, released
from .reference_decoder import ALARM, random_decoder, straight_decoder
from .reference_privacy import PAPER_TESTS, SilentNoise

PAPER = SeirParameters()


def method(decoder=None, *, target=ONE, noise=None, **settings):
    setup = Setup(target=target, noise=noise or FastNoise(seed=0), **settings)
    return Tally(setup=setup, decoder=decoder or straight_decoder())


# --- the statistic -------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32 - 1), low=st.floats(0, 0.5), width=st.floats(0.01, 0.5))
@settings(max_examples=20)
def test_tallies_agree_with_counting_one_by_one(seed, low, width):
    crowd = reference_privacy.crowd(np.random.default_rng(seed), n_receivers=12)
    alarm = Alarm(low=low, high=low + width)
    mine = tallies(crowd.window, crowd.messages, alarm)
    for person in range(crowd.n_receivers):
        slow = reference.tally(crowd.window, crowd.messages, alarm, person)
        assert mine[person] == pytest.approx(slow, abs=1e-9)


@given(st.floats(allow_nan=False, width=32))
def test_an_alarm_lies_between_0_and_1_whatever_the_message(message):
    value = ALARM(np.array([message], dtype=np.float32))[0]
    assert 0.0 <= value <= 1.0


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.5), (0.5, 0.5), (0.6, 0.5), (0.1, 1.1)])
def test_a_wrong_alarm_is_refused(low, high):
    with pytest.raises(InputError, match="0 ≤ low < high ≤ 1"):
        Alarm(low=low, high=high)
    with pytest.raises(InputError):
        Alarm(low=float("nan"), high=high)


def test_messages_that_are_no_numbers_do_not_pass():
    crowd = reference_privacy.crowd(np.random.default_rng(1), n_receivers=5)
    facts = crowd.facts(np.full_like(crowd.messages, np.nan), PAPER)
    with pytest.raises(TrustBoundaryError, match="finite"):
        released(method(), facts)


# --- its sensitivity -----------------------------------------------------------------------------


def furthest(alarm, histories, n_contacts=3, n_days=4):
    """The most that replacing one message moves a tally: every day, contact, history, extreme."""
    n_people = 1 + n_contacts
    window = ContactWindow(n_people=n_people, n_days=n_days)
    for _ in range(n_days):
        window.push(DayContacts.from_pairs(range(1, n_people), [0] * n_contacts, n_people=n_people))
    base = np.linspace(0, 1, n_days * n_people).reshape(n_days, n_people).astype(np.float32)
    worst = {}
    for history in histories:
        outcomes = np.full((n_days, n_people), -1, dtype=np.int8)
        outcomes[:, 0] = history
        for day, sender in product(range(n_days), range(1, n_people)):
            values = []
            for said in (0.0, 0.02, 0.05, 0.1, 1.0):
                messages = base.copy()
                messages[day, sender] = said
                facts = facts_of(window, outcomes, messages, PAPER)
                statistic = method(replace(straight_decoder(), alarm=alarm)).statistic(*facts)
                values.append(statistic.values[0])
            moved = max(values) - min(values)
            worst[history] = max(worst.get(history, 0.0), moved / statistic.sensitivity[0])
    return worst


def test_no_message_moves_a_tally_by_more_than_1_for_any_history_of_tests():
    """And 1 is reached for each: the stated sensitivity is exact, own tests change nothing."""
    worst = furthest(ALARM, list(product((-1, 0, 1), repeat=4)))
    assert len(worst) == 81
    assert all(0.999 < ratio <= 1.0 for ratio in worst.values())


@dataclass(frozen=True)
class Unclipped:
    """The control: an alarm that goes on rising."""

    low: float = 0.02
    high: float = 0.1

    def __call__(self, messages):
        return np.maximum(messages.astype(np.float64) - self.low, 0.0) / (self.high - self.low)


def test_the_search_finds_an_alarm_without_a_ceiling():
    assert furthest(Unclipped(), [(-1, -1, -1, -1)])[-1, -1, -1, -1] > 10


@given(seed=st.integers(0, 2**32 - 1), tested=st.floats(0, 1), positive=st.floats(0, 1))
@settings(max_examples=15)
def test_own_tests_do_not_enter_the_statistic_or_its_noise(seed, tested, positive):
    rng = np.random.default_rng(seed)
    crowd = reference_privacy.crowd(rng, n_receivers=20, tested=tested, positive=positive)
    facts = crowd.facts(crowd.messages, PAPER)
    nobody = np.full_like(crowd.outcomes, -1)
    untested = facts_of(crowd.window, nobody, crowd.messages, PAPER)
    here, there = method().statistic(*facts), method().statistic(*untested)
    assert np.array_equal(here.values, there.values)
    assert np.array_equal(here.sensitivity, there.sensitivity)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_no_neighbour_is_further_than_stated(seed):
    crowd = reference_privacy.crowd(np.random.default_rng(seed), n_receivers=60)
    tally = method()
    here = tally.statistic(*crowd.facts(crowd.messages, PAPER))
    there = tally.statistic(*crowd.facts(crowd.neighbour, PAPER))
    assert np.array_equal(here.sensitivity, there.sensitivity)  # the size of the noise is public
    moved = np.abs(there.values - here.values)
    assert (moved <= here.sensitivity).all()
    assert (moved[here.sensitivity == 0] == 0).all()


# --- nothing else gets out -----------------------------------------------------------------------


def test_scores_depend_on_messages_through_the_tally_alone():
    """Other messages with the same tallies give the same bits; with another tally they do not."""
    crowd = reference_privacy.crowd(np.random.default_rng(7), n_receivers=40)
    tally = method(random_decoder(3))
    low = np.where(crowd.messages <= 0.02, 0.0, crowd.messages).astype(np.float32)
    high = np.where(low >= 0.1, 0.7, low).astype(np.float32)

    def scores(messages):
        return released(tally, crowd.facts(messages, PAPER)).scores

    assert not np.array_equal(low, high)
    assert np.array_equal(scores(low), scores(high))
    assert not np.array_equal(scores(low), scores(np.zeros_like(low)))


def test_a_fortnight_of_scores_depends_on_messages_through_tallies_alone():
    crowd = reference_privacy.crowd(np.random.default_rng(8), n_receivers=20)
    tally = method(random_decoder(4))
    low = np.where(crowd.messages <= 0.02, 0.0, crowd.messages).astype(np.float32)
    high = np.where(low >= 0.1, 0.9, low).astype(np.float32)

    def last_score(messages):
        state = tally.start(crowd.window.n_people)
        for day in range(14):
            facts = facts_of(crowd.window, crowd.outcomes, messages, PAPER, day=day)
            found, state = tally.release(*facts, state)
        return found.scores

    assert np.array_equal(last_score(low), last_score(high))
    assert not np.array_equal(last_score(low), last_score(np.zeros_like(low)))


def test_who_met_nobody_gets_no_noise():
    window = ContactWindow(n_people=3, n_days=14)
    window.push(DayContacts.from_pairs([1], [0], n_people=3))
    outcomes = np.full((1, 3), -1, dtype=np.int8)
    messages = np.full((1, 3), 0.06, dtype=np.float32)
    tally = method()
    found, state = tally.release(*facts_of(window, outcomes, messages, PAPER), tally.start(3))
    assert state.history[0].values[0] != 0.5
    assert state.history[0].values[1:].tolist() == [0.0, 0.0]
    assert isinstance(found.event, GaussianEvent)
    empty = facts_of(emptied(3), outcomes, messages, PAPER)
    assert isinstance(released(tally, empty).event, PublicEvent)


def emptied(n_people):
    window = ContactWindow(n_people=n_people, n_days=14)
    window.push(DayContacts.empty(n_people))
    return window


# --- noise, units, history -----------------------------------------------------------------------


def test_units_are_calibrated_by_the_tallies_that_a_message_is_in():
    units = (Unit.RELEASE, Unit.CONTACT, Unit.PAIR)
    by_unit = {u: method(target=Target(epsilon=1.0, unit=u)).mechanism for u in units}
    release = by_unit[Unit.RELEASE].multiplier
    assert by_unit[Unit.CONTACT].multiplier == pytest.approx(np.sqrt(14) * release)
    assert by_unit[Unit.PAIR].multiplier > by_unit[Unit.CONTACT].multiplier
    ledger = Ledger()
    for day in range(30):
        ledger.record(by_unit[Unit.CONTACT].event(day, noised=True))
    assert ledger.epsilon(Unit.CONTACT, 1e-3) == pytest.approx(1.0, rel=1e-6)


def test_one_score_alone_costs_what_it_reads():
    """A release is one tally; the ledger also says what a score that reads fourteen can tell."""
    ledger, mechanism = Ledger(), method(averaging_decoder()).mechanism
    assert mechanism.reads == load_decoder().reads == 14
    assert method(straight_decoder()).mechanism.reads == 1
    for day in range(3):
        ledger.record(mechanism.event(day, noised=True))
    assert ledger.epsilon(Unit.RELEASE, 1e-3) == pytest.approx(1.0, rel=1e-6)
    assert ledger.score_epsilon(1e-3) == pytest.approx(epsilon_of_mu(np.sqrt(3) * ONE.mu, 1e-3))
    for day in range(3, 40):
        ledger.record(mechanism.event(day, noised=True))
    contact = ledger.epsilon(Unit.CONTACT, 1e-3)
    assert contact == pytest.approx(5.02, abs=0.01)
    assert ledger.score_epsilon(1e-3) == pytest.approx(contact)
    assert ledger.summary(1e-3)["per_score_epsilon"] == pytest.approx(contact)


def test_the_decoder_sees_the_last_fourteen_tallies_newest_first():
    crowd = reference_privacy.crowd(np.random.default_rng(5), n_receivers=10)
    seen = []

    class Watching:
        alarm, reads = ALARM, 14

        def scores(self, noisy, noise, facts):
            seen.append((noisy, noise))
            return noisy[0]

    tally = method(Watching(), noise=SilentNoise())
    state = tally.start(crowd.window.n_people)
    for day in range(17):
        messages = np.full_like(crowd.messages, min(0.02 + 0.004 * day, 0.1))
        facts = facts_of(crowd.window, crowd.outcomes, messages, PAPER, day=day)
        _, state = tally.release(*facts, state)
    noisy, noise = seen[-1]
    assert noisy.shape == (14, crowd.window.n_people)
    assert noise == tally.mechanism.multiplier
    person = int(np.argmax(noisy[0]))
    assert (np.diff(noisy[:, person]) < 0).all()  # messages rose day by day


def test_contacts_are_averaged_over_days_out_of_isolation():
    known = ContactRate.start(2)
    for contacts, away in (([4, 4], [0, 0]), ([0, 8], [1, 0]), ([6, 12], [0, 0])):
        known = known.after(np.array(contacts, dtype=np.int32), np.array(away, dtype=bool))
    assert known.mean.tolist() == [5.0, 8.0]
    assert known.days.tolist() == [2, 3]
    for _ in range(200):  # what is long ago is forgotten
        known = known.after(np.array([1, 1], dtype=np.int32), None)
    assert known.mean == pytest.approx([1.0, 1.0], abs=0.01)


def test_a_window_longer_than_the_decoders_is_refused():
    with pytest.raises(InputError, match="window of 15 days"):
        method(window_days=15)


# --- the decoder ---------------------------------------------------------------------------------


def some_facts(rng, n_people, n_days, age_groups=True):
    false_positive, false_negative = rng.random(2)
    return DecoderInputs(
        outcomes=rng.integers(-1, 2, (n_days, n_people)).astype(np.int8),
        mean_contacts=rng.gamma(2.0, 5.0, n_people),
        age_groups=rng.integers(0, 11, n_people).astype(np.uint8) if age_groups else None,
        test_errors=TestErrors(
            false_positive_rate=false_positive, false_negative_rate=false_negative
        ),
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    n_days=st.integers(1, 14),
    releases=st.integers(1, 14),
    noise=st.floats(0.01, 1000.0),
    with_ages=st.booleans(),
)
@settings(max_examples=25)
def test_compiled_scores_agree_with_the_slow_twin(seed, n_days, releases, noise, with_ages):
    rng = np.random.default_rng(seed)
    decoder = random_decoder(seed % 5)
    facts = some_facts(rng, 7, n_days, with_ages)
    noisy = rng.normal(3.0, noise, (releases, 7))
    mine = decoder.scores(noisy, noise, facts)
    slow = [reference.score(decoder, noisy, noise, facts, i) for i in range(7)]
    assert mine == pytest.approx(slow, rel=1e-4, abs=1e-3)


def test_training_and_running_read_the_same_inputs():
    training = pytest.importorskip("dnatrace.training.decoder")
    rng = np.random.default_rng(4)
    decoder, facts = random_decoder(1), some_facts(rng, 50, 14)
    noisy = rng.normal(2.0, 3.0, (14, 50))
    errors = facts.test_errors
    rates = [errors.false_positive_rate, errors.false_negative_rate]
    common = np.tile(common_inputs(3.0, rates), (50, 1))
    inputs = [scaled_tallies(noisy.T, 3.0), training.personal_inputs(facts), common]
    by_jax = training.forward(decoder.weights, np.concatenate(inputs, axis=1))
    assert decoder.scores(noisy, 3.0, facts) == pytest.approx(np.asarray(by_jax), rel=1e-4)


def test_a_straight_decoder_shows_the_newest_tally():
    rng = np.random.default_rng(2)
    noisy = rng.normal(0.0, 3.0, (5, 20))
    shown = straight_decoder().scores(noisy, 3.0, some_facts(rng, 20, 14))
    assert shown == pytest.approx(noisy[0] / 5.0, rel=1e-5)


def test_files_keep_every_bit_and_damage_is_refused(tmp_path):
    decoder, path = random_decoder(9), tmp_path / "mine.safetensors"
    write_decoder(path, decoder)
    held = load_decoder(path)
    assert held.digest == decoder.digest
    assert held.alarm == ALARM
    assert all(np.array_equal(held.weights[k], w) for k, w in decoder.weights.items())
    raw = path.read_bytes()
    for damaged in (raw[:-40], raw[:-3] + b"abc", raw.replace(b"0.02", b"0.05"), b"", b"x" * 99):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=str(path)):
            load_decoder(path)
    with pytest.raises(InputError, match="no such file"):
        load_decoder(tmp_path / "other")
    with pytest.raises(InputError, match="not a decoder"):
        load_decoder(model_path("dna"))
    write_decoder(path, replace(decoder, provenance=["no", "table"]))
    with pytest.raises(InputError, match="not a table"):
        load_decoder(path)


def test_a_loaded_decoder_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        load_decoder().weights["0.bias"][0] = 1.0


@pytest.mark.parametrize("name", decoder_names())
def test_decoders_that_ship(name):
    decoder = load_decoder(name)
    assert decoder_path(name).stat().st_size < 100_000
    world = name.endswith("-world")  # trained over the scenarios: more runs, of fewer people
    own = name.startswith("tally")
    network = "world" if world else name if own else "headcount"  # with its floor
    assert decoder.provenance["command"].startswith(f"dnatrace train --network {network}")
    assert decoder.provenance["runs"]["people"] >= (6_000 if world else 8_000)


def test_the_shipped_decoder_wants_alarms_found():
    """More alarms, a higher score; a negative test today, a lower one: no proof, but sense."""
    decoder, rng = load_decoder(), np.random.default_rng(0)
    facts = some_facts(rng, 200, 14)
    facts = replace(
        facts,
        outcomes=np.full((14, 200), -1, dtype=np.int8),
        test_errors=PAPER_TESTS,
        age_groups=rng.integers(0, 9, 200).astype(np.uint8),
    )
    calm = decoder.scores(np.zeros((14, 200)), 2.57, facts)
    assert np.mean(decoder.scores(np.full((14, 200), 8.0), 2.57, facts) > calm) > 0.95
    tested = facts.outcomes.copy()
    tested[-1] = 0
    assert (
        np.mean(decoder.scores(np.zeros((14, 200)), 2.57, replace(facts, outcomes=tested)) < calm)
        > 0.95
    )


# --- audits --------------------------------------------------------------------------------------


def straight(target=ONE, noise=FastNoise):
    return lambda seed: method(target=target, noise=noise(seed=seed))


@pytest.mark.parametrize("tests", OwnTests)
def test_an_audit_comes_close_to_the_claim_and_not_above(tests):
    sample = game(straight(), tests=tests)
    result = audit(sample, claimed_epsilon=1.0, delta=1e-3, draws=100_000)
    assert result.passed
    assert result.lower_bound > 0.75


@pytest.mark.parametrize("tests", OwnTests)
def test_a_fortnight_of_releases_stays_within_the_life_of_a_contact(tests):
    """Fourteen tallies with the same message: the whole claim for a contact is used."""
    sample = game(straight(), tests=tests, releases=14, met_on=(13,))
    claimed = epsilon_of_mu(np.sqrt(14) * ONE.mu, 1e-3)
    result = audit(sample, claimed_epsilon=claimed, delta=1e-3, draws=20_000)
    assert result.passed
    assert result.lower_bound > 0.5 * claimed
    for_life = Target(epsilon=1.0, unit=Unit.CONTACT)
    sample = game(straight(for_life), tests=tests, releases=14, met_on=(13,))
    result = audit(sample, claimed_epsilon=1.0, delta=1e-3, draws=20_000)
    assert result.passed
    assert result.lower_bound > 0.5


def averaging_decoder():
    """The sum of all tallies that are kept: what a score that reads them can tell at most."""
    weights = {k: np.array(w) for k, w in straight_decoder().weights.items()}
    weights["0.weight"][:14] = 1.0, -1.0
    return replace(straight_decoder(), weights=weights)


def test_the_last_score_alone_tells_more_than_one_release_and_not_more_than_a_contact():
    """The control is the claim of one release: it must be refuted for a score that reads many."""
    decoder = averaging_decoder()
    fortnight = game(
        lambda seed: method(decoder, noise=FastNoise(seed=seed)), releases=14, met_on=(13,)
    )

    def last(world, draws):
        return fortnight(world, draws)[:, -1:]

    contact = epsilon_of_mu(np.sqrt(14) * ONE.mu, 1e-3)
    result = audit(last, claimed_epsilon=contact, delta=1e-3, draws=20_000)
    assert result.passed
    assert result.lower_bound > 2.5
    assert not audit(last, claimed_epsilon=1.0, delta=1e-3, draws=20_000).passed


@pytest.mark.parametrize("releases", [1, 14])
def test_an_audit_catches_too_little_noise(releases):
    for_life = Target(epsilon=1.0, unit=Unit.CONTACT if releases > 1 else Unit.RELEASE)
    sample = game(straight(for_life, WeakNoise), releases=releases, met_on=(13,))
    assert not audit(sample, claimed_epsilon=1.0, delta=1e-3, draws=40_000).passed


@pytest.mark.parametrize(
    ("tests", "releases"), [*((tests, 1) for tests in OwnTests), (OwnTests.NEGATIVE_POSITIVE, 14)]
)
def test_the_shipped_decoder_survives_the_audit(tests, releases):
    result = privacy_checks.audit(
        RunConfig(method="tally"), own_tests=tests, releases=releases, draws=4_000
    )
    assert result.passed
    claimed = epsilon_of_mu(np.sqrt(releases) * ONE.mu, 1e-3)
    assert 0.9 * claimed < result.claimed_epsilon <= claimed * (1 + 1e-6)


def test_the_shipped_decoder_with_too_little_noise_is_caught():
    weak = game(
        lambda seed: method(load_decoder(), noise=WeakNoise(seed=seed, share=1 / 3)), met_on=(13,)
    )
    assert not audit(weak, claimed_epsilon=1.0, delta=1e-3, draws=60_000).passed


# --- in the loop ---------------------------------------------------------------------------------


def test_it_is_proved():
    small = {"people": 500, "days": 12, "seed": 3, "method": "tally"}
    result = run(load_config(preset="quick", overrides=small))
    assert result.summary["privacy"]["sound"]
    assert result.summary["privacy"]["per_release_epsilon"] == pytest.approx(1.0, rel=1e-6)
    assert result.summary["privacy"]["per_score_epsilon"] > 4.0
    assert "alarming contacts" in result.summary["privacy"]["mechanism"]
    assert "one score alone" in guarantees.state(result.config, result.ledger)


def test_the_decoder_counts_in_the_name_of_a_run_of_tally_alone(tmp_path):
    path = tmp_path / "mine.safetensors"
    write_decoder(path, random_decoder(1))
    digests = {
        (name, decoder): load_config(
            overrides={"method": name, "method.decoder": decoder, "people": 100}
        ).digest
        for name in ("tally", "fn")
        for decoder in ("tally", str(path))
    }
    assert digests["tally", "tally"] != digests["tally", str(path)]
    assert digests["fn", "tally"] == digests["fn", str(path)]
    before = digests["tally", str(path)]
    write_decoder(path, random_decoder(2))
    overrides = {"method": "tally", "method.decoder": str(path), "people": 100}
    assert load_config(overrides=overrides).digest != before


@pytest.mark.parametrize(
    ("method_name", "decoder", "told"),
    [
        ("tally", "headcount", "reads head counts, daily; needed: tallies"),
        ("tally", "public-facts", "reads public facts alone; needed: tallies"),
        ("public-facts", "tally", "reads tallies; needed: public facts alone"),
        ("public-facts", "headcount", "reads head counts, daily; needed: public facts alone"),
    ],
)
def test_a_decoder_of_another_method_is_refused(method_name, decoder, told):
    """It was taken without a word, and the statement said that it reads tallies."""
    chosen = ("--method", method_name, "--set", f"method.decoder={decoder}", "--people", "60")
    done = dnatrace("run", *chosen)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"decoder '{decoder}' {told}" in done.stderr


def test_needs_messages():
    assert method().needs is Needs.MESSAGES
    config = RunConfig(method="tally")
    assert config.method.build(config.method_setup()).decoder.digest == load_decoder().digest


# --- on the command line -------------------------------------------------------------------------


def invoke(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_certify_says_what_is_proved_by_name_and_by_path(tmp_path):
    for model in ("tally", decoder_path("tally")):
        done = invoke("certify", model, "--json")
        assert done.exit_code == 0
        answer = json.loads(done.stdout)
        assert answer["sensitivity"] == 1.0
        assert answer["digest"] == load_decoder().digest
    assert "moves it by at most 1" in " ".join(invoke("certify", "tally").stdout.split())
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(decoder_path("tally").read_bytes()[:-8] + b"damaged!")
    done = invoke("certify", damaged)
    assert isinstance(done.exception, InputError)
    assert "does not match" in str(done.exception)


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (["train", "--network", "tally", "--epochs", "3"], "--epochs has no meaning"),
        (["train", "data", "--network", "tally"], "DATASET has no meaning"),
        (["train", "--network", "dna", "--rounds", "3"], "--rounds has no meaning"),
        (["train", "--network", "magic", "--rounds", "3"], "network 'magic' does not exist"),
        (["train", "--network", "tally", "--steps", "0"], "steps"),
        (["train", "--network", "tally", "--people", "9"], "people"),
        (["export", "tally", "tally.onnx"], "is a decoder"),
        (
            ["run", "--method", "tally", "--release", "linear"],
            "method.release: input should be 'gaussian'",
        ),
        (["run", "--method", "tally", "--set", "method.decoder=nowhere"], "'nowhere'"),
    ],
)
def test_what_does_not_fit_is_named(arguments, culprit):
    done = invoke(*arguments)
    assert isinstance(done.exception, InputError)
    assert culprit in str(done.exception)


def test_train_refuses_a_file_for_a_directory(tmp_path):
    (tmp_path / "file").write_text("x")
    done = invoke("train", "--network", "tally", "--out", tmp_path / "file")
    assert "not a directory" in str(done.exception)
