"""Headcount: one test of a person moves what a receiver is told by at most 1, and others not."""

import math
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from dnatrace.errors import InputError
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.inference import heads, own_tests
from dnatrace.inference.exchange import ExchangeKind, OwnTests
from dnatrace.inference.heads import Closeness, head_counts
from dnatrace.methods.headcount import DECODERS, OF_WORLD, HeadcountRelease, HeadcountSettings
from dnatrace.networks.decoder import Heads, load_decoder, write_decoder
from dnatrace.networks.decoder_inputs import DecoderInputs, head_evidence
from dnatrace.privacy.accounting import GaussianEvent, Ledger, Target, Unit
from dnatrace.privacy.gaussian import epsilon_of_mu, mu_of_budget
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.runs import floor, guarantees
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.presentation import privacy_line
from dnatrace.runs.run import build_exchange, run
from dnatrace.seir import SeirParameters, TestErrors

from . import reference_headcount as reference
from .private_methods import facts_of
from .reference_headcount import (
    DAILY,
    NEWS,
    OWN_TESTS,
    PAPER,
    ROUNDS,
    ReadsScores,
    RowCounter,
    World,
    headcount,
    moves,
    random_decoder,
    side_by_side,
    statistics,
    violations,
)

LIFE = 14  # releases that a test result is in
BUDGETS = {"daily": LIFE, "news": 1}

# --- the kernel ----------------------------------------------------------------------------------


@st.composite
def windows(draw):
    """Contacts of up to 14 days of a dozen people, some of whom meet again and again."""
    n_people, n_days = draw(st.integers(2, 12)), draw(st.integers(1, 14))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    window = ContactWindow(n_people=n_people, n_days=14)
    for _ in range(n_days):
        n = int(rng.integers(0, 30))
        drawn = rng.integers(0, n_people, (2, n))
        pairs = drawn[:, drawn[0] != drawn[1]]
        window.push(DayContacts.from_pairs(*pairs, n_people=n_people))
    steps = rng.integers(0, 2**20 + 1, (n_days, n_people)) * (rng.random(n_people) < 0.5)
    return window, steps / 2**20


@given(
    windows(),
    st.floats(0.3, 1.0),
    st.lists(st.floats(0, 9), min_size=1, max_size=5, unique=True),
)
@settings(max_examples=40, deadline=None)
def test_counts_agree_with_counting_people_one_by_one(drawn, fading, bounds):
    window, alarms = drawn
    closeness = Closeness(fading=fading, bounds=tuple(sorted(bounds)))
    mine = head_counts(window, alarms, closeness)
    some = np.flatnonzero(alarms.any(axis=0))
    assert np.array_equal(mine, head_counts(window, alarms[:, some], closeness, of=some))
    slow = [reference.head_counts(window, alarms, closeness, p) for p in range(window.n_people)]
    assert mine.T.tolist() == slow


def test_the_same_bits_on_one_thread_and_two(threads, monkeypatch):
    monkeypatch.setattr(heads, "_WORTH_THREADS", 0)
    rng = np.random.default_rng(3)
    window = ContactWindow(n_people=500, n_days=14)
    for _ in range(14):
        senders = rng.integers(0, 500, 6000)
        receivers = (senders + rng.integers(1, 500, 6000)) % 500
        window.push(DayContacts.from_pairs(senders, receivers, n_people=500))
    alarms = rng.integers(0, 2**20, (14, 500)) / 2**20
    found = []
    for n in (1, 2):
        threads(n)
        found.append(head_counts(window, alarms, Closeness(bounds=(0.0, 2.0))))
    assert np.array_equal(*found)


@pytest.mark.parametrize(
    ("fading", "bounds"),
    [
        (0.0, (0.0,)),
        (1.1, (0.0,)),
        (1.0, ()),
        (1.0, (2.0, 1.0)),
        (1.0, (-1.0,)),
        (0.5, (math.nan,)),
    ],
)
def test_wrong_closeness_is_refused(fading, bounds):
    with pytest.raises(InputError):
        Closeness(fading=fading, bounds=bounds)


def test_alarms_beyond_1_are_refused():
    window = ContactWindow(n_people=2, n_days=14)
    window.push(DayContacts.from_pairs([0], [1], n_people=2))
    for wrong in (1.5, -0.1, math.nan):
        with pytest.raises(InputError, match="between 0 and 1"):
            head_counts(window, np.full((1, 2), wrong), Closeness())


# --- one person, end to end ----------------------------------------------------------------------


SEEDS = st.integers(0, 2**32 - 1)
AT_ONCE, N_DAYS = 20, 24


def searched(seed, heads, change, *, units):
    """Play small worlds and their neighbours, which differ in tests of person 0, all at once.

    `change` gets a generator and a world and returns both neighbours; `units` is how many test
    results differ.
    """
    rng = np.random.default_rng(seed)
    both = [change(rng, reference.random_world(rng, N_DAYS)) for _ in range(AT_ONCE)]
    (here, starts), (there, _) = (side_by_side(worlds) for worlds in zip(*both, strict=True))
    moved = moves(here, there, headcount(heads))
    for (world, other), start in zip(both, starts, strict=True):
        mine = moved[:, start : start + world.n_people]
        budget = units * BUDGETS[heads.release]
        assert violations(world, 0, mine, most=1.0, budget=budget) == []
        days = np.flatnonzero((world.outcomes != other.outcomes).any(axis=1))
        life = {int(day) + age for day in days for age in range(BUDGETS[heads.release])}
        assert set(np.flatnonzero(mine[:, 1:].any(axis=1))) <= life
    return moved


def another_result(rng, world):
    """One test has another result, or is not taken."""
    day = rng.integers(0, N_DAYS)
    here, there = rng.permutation([-1, 0, 1])[:2]
    return world.with_test(0, day, here), world.with_test(0, day, there)


def another_day(rng, world):
    """The positive test is taken on another day."""
    first, second = rng.choice(N_DAYS, 2, replace=False)
    without = world.with_test(0, first, -1).with_test(0, second, -1)
    return without.with_test(0, first, 1), without.with_test(0, second, 1)


def two_tests(rng, world):
    """Two tests have other results."""
    first, second = rng.choice(N_DAYS, 2, replace=False)
    here = world.with_test(0, first, 0).with_test(0, second, rng.integers(-1, 2))
    return here, world.with_test(0, first, 1).with_test(0, second, rng.integers(-1, 2))


@pytest.mark.parametrize("heads", [DAILY, NEWS], ids=lambda heads: heads.release)
@given(seed=SEEDS)
@settings(max_examples=200 // AT_ONCE, deadline=None)
def test_one_test_moves_a_receiver_by_at_most_1_and_others_not_at_all(heads, seed):
    """200 small graphs and histories; whatever the tests of others are."""
    searched(seed, heads, another_result, units=1)


@pytest.mark.parametrize("heads", [DAILY, NEWS], ids=lambda heads: heads.release)
@pytest.mark.parametrize("change", [another_day, two_tests])
@given(seed=SEEDS)
@settings(max_examples=3, deadline=None)
def test_another_day_of_the_test_or_two_tests_are_two_units(heads, change, seed):
    searched(seed, heads, change, units=2)


def test_the_search_moves_people():
    """It would show nothing if nobody were ever moved."""
    for kind in (DAILY, NEWS):
        moved = searched(1, kind, another_result, units=1)
        assert (moved.max(axis=0) > 0.9).sum() >= AT_ONCE // 4


def couple(days, tests):
    """Two people who meet every day, and the results of the first."""
    outcomes = np.full((days, 2), -1, dtype=np.int8)
    for day, result in tests.items():
        outcomes[day, 0] = result
    return World(2, tuple([[(0, 1), (0, 1)]] * days), outcomes)


@given(st.dictionaries(st.integers(0, 199), st.integers(0, 1), max_size=40), st.integers(0, 199))
@settings(max_examples=4, deadline=None)
def test_news_never_gives_more_than_its_budget_in_200_days_of_daily_meetings(tests, day):
    world = couple(200, tests)
    moved = moves(world.with_test(0, day, 0), world.with_test(0, day, 1), headcount(NEWS))
    assert (
        moved[:, 1] ** 2
    ).sum() == 1.0  # on the day of the test, and reached: the bound is tight
    told = statistics(world, headcount(NEWS))[:, :, 1].sum()
    assert told == sum(result == 1 for result in tests.values())


def test_daily_spends_its_whole_budget_on_a_couple():
    moved = moves(couple(40, {10: 0}), couple(40, {10: 1}), headcount(DAILY))
    assert 0.85 * LIFE < (moved[:, 1] ** 2).sum() <= LIFE


def relay():
    """0 meets 1, 1 meets 2; 2 never meets 0. And a household of three with 3, who meets all."""
    pairs = [(0, 1), (1, 2), (1, 3), (0, 3), (0, 3)]
    outcomes = np.full((20, 4), -1, dtype=np.int8)
    outcomes[8, 1] = 1
    return World(4, tuple([pairs] * 20), outcomes)


def found_by(method, make_exchange=lambda: OWN_TESTS):
    world, day = relay(), 6
    moved = moves(world.with_test(0, day, 0), world.with_test(0, day, 1), method, make_exchange)
    return " ".join(violations(world, 0, moved, most=1.0, budget=LIFE))


def test_the_checks_find_messages_that_passed_through_others():
    assert found_by(headcount(DAILY)) == ""
    assert "2 never met 0" in found_by(headcount(DAILY), lambda: ROUNDS)


def test_the_checks_find_alarms_that_read_a_score():
    assert "2 never met 0" in found_by(headcount(DAILY), ReadsScores)


def test_the_checks_find_contacts_counted_one_by_one():
    found = found_by(RowCounter())
    assert "a release to 3 moves by" in found
    assert "never met" not in found


# --- the ledger ----------------------------------------------------------------------------------


def ledger_of(method, days=60):
    ledger = Ledger()
    for day in range(days):
        ledger.record(method.mechanism.event(day, noised=True))
    return ledger


def test_what_one_test_of_a_person_costs():
    daily, news = ledger_of(headcount(DAILY)), ledger_of(headcount(NEWS))
    assert daily.epsilon(Unit.PERSON, 1e-3) == pytest.approx(5.02, abs=0.01)
    assert news.epsilon(Unit.PERSON, 1e-3) == pytest.approx(1.0, rel=1e-6)
    for kind in (DAILY, NEWS):
        one = ledger_of(headcount(kind, unit=Unit.PERSON))
        assert one.epsilon(Unit.PERSON, 1e-3) == pytest.approx(1.0, rel=1e-6)
    mu = daily.mu(Unit.PERSON)
    pooled = daily.epsilon(Unit.PERSON, 1e-3, receivers=20)
    assert pooled == pytest.approx(epsilon_of_mu(mu * math.sqrt(20), 1e-3))
    # A person counts once: meeting again and again adds days, not moves.
    assert daily.mu(Unit.PAIR) == pytest.approx(mu * math.sqrt(27 / 14))


def test_a_short_run_says_so_far():
    assert ledger_of(headcount(DAILY), 5).person_unfinished
    assert not ledger_of(headcount(DAILY), 14).person_unfinished
    assert not ledger_of(headcount(NEWS), 1).person_unfinished


def test_messages_that_passed_through_others_have_no_bound():
    heard = headcount(DAILY, own_tests=False)
    assert ledger_of(heard).epsilon(Unit.PERSON, 1e-3) == math.inf
    assert ledger_of(heard).summary(1e-3)["per_person_epsilon"] is None
    with pytest.raises(InputError, match="no bound for a person"):
        _ = headcount(DAILY, unit=Unit.PERSON, own_tests=False).mechanism


@pytest.mark.parametrize(
    ("settings", "own"),
    [
        ({}, True),
        ({"seir": {"exchange": "rounds"}}, False),
        ({"seir": {"exchange": "rounds", "rounds": 1}}, True),
    ],
)
def test_the_configuration_tells_what_messages_are_made_of(settings, own):
    config = RunConfig(method="headcount", **settings)
    assert config.method_setup().own_tests is own
    tally = RunConfig(method="tally")
    assert tally.exchange is ExchangeKind.ROUNDS
    assert type(build_exchange(tally)).__name__ == "NeighbourRounds"


# --- messages from own tests ---------------------------------------------------------------------


@given(
    seed=SEEDS,
    days=st.integers(1, 41),
    parameters=st.builds(SeirParameters, p0=st.floats(1e-6, 0.2), g=st.floats(0.05, 0.9)),
    errors=st.builds(TestErrors, false_positive_rate=st.floats(0, 0.3)),
)
@settings(max_examples=25, deadline=None)
def test_messages_from_own_tests_have_the_bits_of_the_compiled_chain(
    seed, days, parameters, errors
):
    """With memory: the second half of the people is asked after the first, and again."""
    rng = np.random.default_rng(seed)
    n_people = int(rng.integers(1, 150))
    tested = rng.random((days, n_people)) < rng.choice([0.02, 0.5])
    outcomes = np.where(tested, rng.integers(0, 2, (days, n_people)), -1).astype(np.int8)
    before = np.full((14, n_people), -1, dtype=np.int8)
    chain = fn.infected(
        np.zeros((14 + days, n_people), dtype=np.float32),
        np.concatenate([before, outcomes]),
        parameters=parameters,
        test_errors=errors,
    )[14:]
    exchange = OwnTests(parameters=parameters, test_errors=errors)
    half = n_people // 2
    assert np.array_equal(exchange.messages(outcomes[:, :half]), chain[:, :half])
    assert np.array_equal(exchange.messages(outcomes[:, half:]), chain[:, half:])
    assert np.array_equal(exchange.messages(outcomes), chain)


def test_patterns_of_tests_are_forgotten_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr(own_tests, "_MOST_KEPT", 3)
    rng = np.random.default_rng(1)
    outcomes = rng.integers(-1, 2, (6, 200)).astype(np.int8)
    fresh = own_tests.infected_given_tests(outcomes, PAPER, reference.ERRORS)
    exchange = OwnTests(parameters=PAPER, test_errors=reference.ERRORS)
    for _ in range(3):
        assert np.array_equal(exchange.messages(outcomes), fresh)
        assert np.array_equal(exchange.messages(outcomes[:3]), exchange.messages(outcomes[:3]))


# --- the decoder ---------------------------------------------------------------------------------


@given(seed=SEEDS, releases=st.integers(1, 14), noise=st.floats(0.01, 100.0), diary=st.booleans())
@settings(max_examples=25, deadline=None)
def test_decoders_of_channels_agree_with_the_slow_one(seed, releases, noise, diary):
    rng = np.random.default_rng(seed)
    decoder, n_people = random_decoder(DAILY, seed=seed % 7, diary=diary), 4
    numbers = rng.normal(0, 3, (releases * decoder.channels, n_people))
    inputs = DecoderInputs(
        outcomes=rng.integers(-1, 2, (releases, n_people)).astype(np.int8),
        mean_contacts=rng.gamma(2.0, 5.0, n_people),
        age_groups=rng.integers(0, 10, n_people).astype(np.uint8),
        test_errors=reference.ERRORS,
        diary=rng.integers(0, 16, (releases, n_people)).astype(np.uint8),
    )
    evidence = head_evidence(numbers, noise)
    mine = decoder.scores(evidence, noise, inputs)
    # In the order of releases, or with what is 0 left out, the same bits.
    by_release = evidence.reshape(releases, -1, n_people)
    oldest_first = by_release[::-1].reshape(-1, n_people)
    assert np.array_equal(mine, decoder.scores(oldest_first, noise, inputs, newest_last=True))
    by_release[:, 1:] = 0.0
    merged = decoder.scores(evidence, noise, inputs)
    first = np.ascontiguousarray(by_release[:, 0])
    assert np.array_equal(merged, decoder.scores(first, noise, inputs, counted=1))
    for person in range(n_people):
        slow = reference.score(decoder, numbers, noise, inputs, person)
        assert mine[person] == pytest.approx(slow, rel=1e-4, abs=1e-3)


@given(st.floats(0.01, 100.0), st.floats(-50.0, 50.0), st.floats(0.0, 5.0))
@settings(max_examples=30, deadline=None)
def test_evidence_agrees_with_the_slow_one_rises_and_is_0_without_a_number(noise, number, more):
    mine = head_evidence(np.array([0.0, number, number + more]), noise)
    slow = [reference.evidence(seen, noise) for seen in (0.0, number, number + more)]
    assert mine.tolist() == pytest.approx(slow, rel=1e-4, abs=1e-5)
    assert mine[0] == 0.0
    assert mine[2] >= mine[1]


def test_with_much_noise_channels_are_one_number_and_the_others_get_none():
    apart, merged = (replace(DAILY, merged_above=above) for above in (5.0, 0.5))
    world = reference.random_world(np.random.default_rng(5), N_DAYS)
    several = statistics(world, headcount(apart))  # noise of about 2.6
    one = statistics(world, headcount(merged))
    assert several[:, 1:].any()
    assert np.array_equal(one[:, 0], several.sum(axis=1))
    assert one.shape[1] == 1
    assert bounded(world, headcount(merged)).sensitivity.shape[0] == 1
    searched(3, merged, another_result, units=1)


def bounded(world, method, **known):
    window = ContactWindow(n_people=world.n_people, n_days=14)
    pairs = world.contacts[N_DAYS // 2] or [(0, 1)]
    window.push(DayContacts.from_pairs(*zip(*pairs, strict=True), n_people=world.n_people))
    outcomes = world.outcomes[:1]
    messages = OWN_TESTS.receive(window, outcomes, with_messages=True).messages
    return method.statistic(*facts_of(window, outcomes, messages, reference.PAPER, **known))


# --- the method ----------------------------------------------------------------------------------


def test_a_decoder_of_other_numbers_is_refused(tmp_path):
    for name, reading in (("tally", "tallies"), ("public-facts", "public facts alone")):
        with pytest.raises(InputError, match=f"reads {reading}; needed: head counts, daily"):
            HeadcountSettings(decoder=name).build(RunConfig().method_setup())
    path = tmp_path / "news.safetensors"
    write_decoder(path, random_decoder(NEWS))
    assert load_decoder(path).heads == NEWS
    with pytest.raises(InputError, match="reads head counts, news; needed: head counts, daily"):
        HeadcountSettings(decoder=str(path)).build(RunConfig().method_setup())


@pytest.mark.parametrize("release", HeadcountRelease)
def test_the_decoders_that_ship_are_for_their_variant(release):
    decoder = load_decoder(DECODERS[release])
    assert decoder.heads.release == release
    assert decoder.provenance["command"].startswith("dnatrace train --network headcount")


@pytest.mark.parametrize("name", [*DECODERS.values(), "public-facts"])
def test_with_levers_decoders_read_diaries_and_without_them_they_do_not(name):
    plain, of_world = load_decoder(name), load_decoder(name + OF_WORLD)
    assert not plain.diary
    assert of_world.diary
    assert of_world.heads == plain.heads  # the same numbers with the same noise
    assert of_world.provenance["command"].startswith("dnatrace train --network world")
    release = {"release": "news"} if "news" in name else {}
    chosen = {"method": name.removesuffix("-news")} | release
    levers, none = load_config(scenario="scarce", overrides=chosen), load_config(overrides=chosen)
    off = load_config(overrides=chosen | {"policy.name": "levers"})
    assert levers.tracer.load().digest == of_world.digest
    assert none.tracer.load().digest == off.tracer.load().digest == plain.digest
    named = load_config(scenario="scarce", overrides=chosen | {"method.decoder": name})
    assert named.tracer.load().digest == plain.digest
    assert named.digest != levers.digest


def test_a_decoder_with_a_diary_survives_its_file_and_other_processes(tmp_path):
    decoder = random_decoder(NEWS, diary=True)
    path = tmp_path / "news.safetensors"
    write_decoder(path, decoder)
    for again in (load_decoder(path), pickle.loads(pickle.dumps(decoder))):
        assert again.diary
        assert again.digest == decoder.digest
    with pytest.raises(InputError, match=r"0\.weight"):
        random_decoder(NEWS).__class__(
            name="x", alarm=decoder.alarm, weights=decoder.weights, provenance={}, heads=NEWS
        )


@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_nothing_in_a_diary_moves_what_is_noised(seed):
    """What levers tell is read after the noise: the statistic and its bound are the same."""
    rng = np.random.default_rng(seed)
    world = reference.random_world(rng, N_DAYS)
    method = headcount(NEWS, decoder=random_decoder(NEWS, diary=True))
    diary = rng.integers(0, 16, (1, world.n_people)).astype(np.uint8)
    plain, told = bounded(world, method), bounded(world, method, diary=diary)
    assert np.array_equal(plain.values, told.values)
    assert np.array_equal(plain.sensitivity, told.sensitivity)


def test_who_met_nobody_gets_no_noise_and_channels_are_one_release():
    world = World(3, ([(0, 1)],), np.full((1, 3), 1, dtype=np.int8))
    method = headcount(DAILY)
    window = ContactWindow(n_people=3, n_days=14)
    window.push(DayContacts.from_pairs([0, 1], [1, 0], n_people=3))
    messages = OWN_TESTS.receive(window, world.outcomes, with_messages=True).messages
    facts = facts_of(window, world.outcomes, messages, reference.PAPER)
    released, state = method.release(*facts, method.start(3))
    assert len(state.history) == len(DAILY.bounds)
    assert all(row.values[2] == 0.0 for row in state.history)
    assert isinstance(released.event, GaussianEvent)
    assert released.event.lifetime.person == (1.0,) * 14


def test_a_result_is_news_once_however_late_it_comes():
    """With delays a result is known days after its test; it is counted on that day alone."""
    small = {"people": 300, "days": 20, "initially_infected": 30, "seed": 4}
    method = HeadcountSettings(release="news")
    for delay in (0, 2):
        config = RunConfig(method=method, tests={"result_delay": delay, "capacity": 0.2}, **small)
        assert news_told(config) == positives_known(config)


def watched(config):
    from dnatrace.runs.run import build_loop

    yield from build_loop(config).run(config.days)


def news_told(config):
    from dnatrace.methods.headcount import Known, news_alarms

    known, told = None, []
    for log in watched(config):
        told.append(sorted(news_alarms(log.public, known)[0]))
        known = Known(first_day=log.public.first_day, outcomes=log.public.outcomes)
    return told


def positives_known(config):
    return [sorted(log.informed) for log in watched(config)]


def test_a_run_says_what_a_person_is_promised():
    small = {"people": 300, "days": 20, "initially_infected": 20}
    privacy = run(RunConfig(method="headcount", **small)).summary["privacy"]
    assert privacy["per_person_epsilon"] == pytest.approx(5.02, abs=0.01)
    assert run(RunConfig(method="tally", **small)).summary["privacy"]["per_person_epsilon"] is None
    target = Target(epsilon=1.0, unit=Unit.PERSON)
    one = run(RunConfig(method="headcount", unit="person", **small))
    assert one.ledger.epsilon(Unit.PERSON, target.delta) == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(InputError, match="no bound for a person"):
        run(RunConfig(method="tally", unit="person", **small))


def test_heads_of_a_file_are_checked():
    empty = {"release": "daily", "fading": 1.0, "bounds": [], "merged_above": None}
    for wrong in ({}, empty, {"release": "daily", "fading": 1.0, "bounds": [1.0]}, [1]):
        with pytest.raises(InputError):
            Heads.read(wrong)
    assert replace(DAILY, bounds=(1.0,)).bounds == (1.0,)


def test_it_is_the_default_and_the_preset_of_a_lifetime_promises_a_person_1():
    assert RunConfig().method.name == load_config().method.name == "headcount"
    config = load_config(
        preset="lifetime", overrides={"people": 200, "days": 16, "initially_infected": 9}
    )
    assert config.privacy.unit is Unit.PERSON
    result = run(config)
    assert result.summary["privacy"]["per_person_epsilon"] == pytest.approx(1.0, rel=1e-6)
    assert result.summary["privacy"]["sound"]
    told = guarantees.state(result.config, result.ledger)
    assert told.index("One person: ε = 1 at") < told.index("Protected:")
    assert "2: 1.51, 5: 2.64, 20: 6.31, 100: 18.8" in told
    tally = run(RunConfig(method="tally", people=200, days=4, initially_infected=9))
    told = guarantees.state(tally.config, tally.ledger)
    assert "One person: no bound." in told
    assert "exactly calibrated: ε = 167 against their partner" in told
    assert "(measured with noise" in privacy_line(tally.summary["privacy"])
    stored = guarantees.ledger_table(tally.config, tally.ledger)["person_measured"]
    assert stored == tally.summary["privacy"]["person_measured"]
    assert result.summary["privacy"]["person_measured"] is None


def test_a_variant_that_nobody_measured_says_so():
    small = {"people": 200, "days": 3, "initially_infected": 9}
    found = run(RunConfig(method="dna", release="restart", **small)).summary["privacy"]
    assert found["per_person_epsilon"] is None
    assert "not measured for this variant" in found["person_measured"]


@pytest.mark.parametrize(("method", "costs_more"), [("tally", True), ("headcount", False)])
def test_whoever_is_met_twice_on_a_day_is_two_contacts_unless_people_count_once(method, costs_more):
    result = run(RunConfig(method=method, people=300, days=16, initially_infected=9))
    assert result.ledger.meetings_per_day > 1  # the city has people who live and work together
    privacy = result.summary["privacy"]
    more = privacy["per_person_day_epsilon"] > privacy["per_contact_epsilon"]
    assert more is costs_more
    told = guarantees.state(result.config, result.ledger)
    assert ("A contact is one meeting." in told) is costs_more
    times = f"for a person met {result.ledger.meetings_per_day} times on a day"
    assert (times in privacy_line(privacy)) is costs_more


# --- the floor -----------------------------------------------------------------------------------


def point(**values):
    known = {"method": "headcount", "release": "daily", "capacity": 0.08, "epsilon": 5.02}
    known |= {"runs": 20, "mean": 1.5, "half_width": 0.2}
    return floor.Measured(**known | {"difference": -1.5, "difference_half_width": 1.0} | values)


CURVE = (
    point(method="public-facts", release="", epsilon=math.inf, mean=3.0, difference=0.0),
    point(),
    point(epsilon=0.2, mean=3.1, difference=0.1),
)


def test_a_run_says_what_public_facts_reach_and_whether_it_is_better(monkeypatch):
    monkeypatch.setattr(floor, "curve", lambda: CURVE)
    assert "headcount has 1.5 ± 0.2 ‰ at ε = 5.02" in floor.beside(load_config(), 5.016)
    more_noise = load_config(overrides={"epsilon": 0.2, "unit": "person"})
    assert "NOT BETTER THAN THE FLOOR" in floor.beside(more_noise, 0.2)
    assert "NOT BETTER" in floor.beside(more_noise, 0.1)  # with more noise it is no better
    between = floor.beside(load_config(overrides={"epsilon": 1.0, "unit": "person"}), 1.0)
    assert between.endswith(
        "headcount was not measured with the noise of this run: with more noise it has 3.1 ± 0.2 ‰ "
        "at ε = 0.2 per person (+0.1 ± 1 ‰ on the same 20 seeds), NOT better; with less noise it "
        "has 1.5 ± 0.2 ‰ at ε = 5.02 per person (-1.5 ± 1 ‰ on the same 20 seeds), better."
    )
    little = floor.beside(load_config(overrides={"epsilon": 400.0, "unit": "person"}), 400.0)
    assert "with more noise it has 1.5 ± 0.2 ‰" in little
    assert "less noise" not in little
    tally = load_config(overrides={"method": "tally"})
    assert "not measured in comparison" in floor.beside(tally, None)
    for other in ({"people": 500}, {"tests.capacity": 0.3}, {"isolation.adherence": 0.5}):
        assert "not measured in this setting" in floor.beside(load_config(overrides=other), 1.0)
    assert floor.beside(load_config(overrides={"method": "public-facts"}), 0.0) is None


def test_the_curve_that_ships_has_a_floor_and_both_variants_at_every_capacity():
    by_capacity = {}
    for p in floor.curve():
        by_capacity.setdefault(p.capacity, set()).add((p.method, p.release))
    assert set(by_capacity) == {0.08, 0.04, 0.02}
    for found in by_capacity.values():
        assert found >= {("public-facts", ""), ("fn", ""), ("headcount", "daily")}
    assert "Floor: " in floor.beside(load_config(), 5.016)


def test_the_tables_of_the_theorem_are_computed():
    text = (Path(__file__).parents[1] / "docs" / "guarantees.md").read_text("utf-8")
    theorem, _, proof = text.partition("### Theorem")[2].partition("### Proof")
    release = mu_of_budget(1.0, 1e-3)
    distances = (math.sqrt(14) * release, release)  # `daily`, preset `lifetime`

    def rows(table):
        lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line[:1] == "|"]
        return {float(row[0]): row[1:] for row in lines if row[0][0].isdigit()}

    told = rows(theorem)
    assert set(told) == {1e-3, 1e-4, 1e-5, 1e-6}
    for delta, row in told.items():
        costs = [epsilon_of_mu(mu, delta) for mu in distances]
        beyond = [ndtr(mu / 2 - e / mu) for mu, e in zip(distances, costs, strict=True)]
        assert row[:2] == [f"{e:.2f}" for e in costs]
        assert row[2:] == [f"{p / delta:#.2g}".rstrip(".") + "·δ" for p in beyond]
    told = rows(proof.partition("## Threat model")[0])
    assert {1, 2, 5, 20, 100} == set(told)
    for units, row in told.items():
        costs = [epsilon_of_mu(mu * math.sqrt(units), 1e-3) for mu in distances]
        assert row == [f"{e:#.3g}".rstrip(".") for e in costs]
