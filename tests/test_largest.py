"""`tally` of the largest beliefs: what phones say, what one message moves, and an audit of it."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnatrace.inference.exchange import ExchangeKind, LargestBelief, NeighbourRounds
from dnatrace.methods.adversary import OwnTests
from dnatrace.methods.base import Setup
from dnatrace.methods.tally import DECODERS, Tally, TallyRelease, tallies
from dnatrace.networks.decoder import load_decoder
from dnatrace.privacy.audit import audit
from dnatrace.privacy.gaussian import epsilon_of_mu
from dnatrace.privacy.noise import FastNoise
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.runs import audits as privacy_checks
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import build_exchange, run
from dnatrace.seir import SeirParameters

from . import reference_privacy
from .private_methods import ONE, WeakNoise, facts_of, game
from .reference_privacy import PAPER_TESTS

PAPER = SeirParameters()
LARGEST = {"name": "tally", "release": "largest"}
SMALL = {"people": 500, "days": 12, "seed": 3, "initially_infected": 20}
MODEL = {"parameters": PAPER, "test_errors": PAPER_TESTS}


def shipped(target=ONE, noise=FastNoise, **given):
    setup = Setup(target=target, noise=noise(seed=0, **given))
    return Tally(setup=setup, decoder=load_decoder(DECODERS[TallyRelease.LARGEST]))


# --- what phones say -----------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_everybody_says_their_largest_belief_of_two_rounds_on_every_day(seed):
    crowd = reference_privacy.crowd(np.random.default_rng(seed), n_receivers=12)
    said = LargestBelief(**MODEL).receive(crowd.window, crowd.outcomes, with_messages=True)
    once = NeighbourRounds(**MODEL, rounds=2)
    heard = once.receive(crowd.window, crowd.outcomes, with_messages=True)
    assert np.array_equal(said.exposures, heard.exposures)
    for person, column in enumerate(said.messages.T):
        assert set(column.tolist()) == {max(heard.messages[:, person].tolist())}
    assert not said.own_tests  # what was heard enters, so nothing is proved of a person
    assert (
        LargestBelief(**MODEL).receive(crowd.window, crowd.outcomes, with_messages=False).messages
        is None
    )


def test_a_contact_before_the_infection_hears_of_it_too():
    """Person 1 is negative on day 0 and positive on day 5: who was met first may be the source."""
    window = ContactWindow(n_people=2, n_days=6)
    window.push(DayContacts.from_pairs([1], [0], n_people=2))
    for _ in range(5):
        window.push(DayContacts.empty(2))
    outcomes = np.full((6, 2), -1, dtype=np.int8)
    outcomes[[0, 5], 1] = 0, 1
    alarm = load_decoder().alarm
    found = {
        exchange: tallies(
            window, exchange.receive(window, outcomes, with_messages=True).messages, alarm
        )
        for exchange in (LargestBelief(**MODEL), NeighbourRounds(**MODEL, rounds=2))
    }
    assert [tally[0] for tally in found.values()] == [1.0, 0.0]


def test_the_release_chooses_messages_and_decoder_and_the_default_keeps_its_own():
    largest, usual = RunConfig(method=LARGEST), RunConfig(method="tally")
    assert largest.exchange is ExchangeKind.LARGEST
    assert isinstance(build_exchange(largest), LargestBelief)
    assert usual.exchange is ExchangeKind.ROUNDS
    assert isinstance(build_exchange(usual), NeighbourRounds)
    decoders = [c.method.build(c.method_setup()).decoder for c in (largest, usual)]
    assert [decoder.name for decoder in decoders] == ["tally-largest", "tally"]
    named = RunConfig(method=LARGEST | {"decoder": "tally"})
    assert named.method.load().digest == load_decoder().digest
    back = RunConfig(method=LARGEST, seir={"exchange": "rounds"})
    assert isinstance(build_exchange(back), NeighbourRounds)
    digests = {c.digest for c in (largest, usual, named, back)}
    assert len(digests) == 4
    three = RunConfig(method=LARGEST, seir={"rounds": 3})
    assert three.digest == largest.digest  # rounds mean nothing to it


def test_its_decoder_was_trained_on_several_capacities():
    runs = load_decoder("tally-largest").provenance["runs"]
    given = {scenario.get("tests.capacity", 0.08) for scenario in runs["scenarios"]}
    assert given >= {0.08, 0.04, 0.02}


# --- what one message moves ----------------------------------------------------------------------


def world(n_days=4, n_contacts=3):
    n_people = 1 + n_contacts
    window = ContactWindow(n_people=n_people, n_days=n_days)
    for _ in range(n_days):
        window.push(DayContacts.from_pairs(range(1, n_people), [0] * n_contacts, n_people=n_people))
    return window


def furthest(statistic, histories):
    """The most that replacing one message moves a tally, over days, senders and own tests."""
    window = world()
    worst = {}
    for history in histories:
        outcomes = np.full((4, 4), -1, dtype=np.int8)
        outcomes[:, 0] = history
        said = LargestBelief(**MODEL).receive(window, outcomes, with_messages=True).messages
        for day, sender in product(range(4), range(1, 4)):
            values = []
            for message in (0.0, 0.06, 1.0):
                messages = said.copy()
                messages[day, sender] = message
                values.append(statistic(facts_of(window, outcomes, messages, PAPER)))
            worst[history] = max(worst.get(history, 0.0), max(values) - min(values))
    return worst


def test_no_message_moves_it_by_more_than_1_for_any_history_of_tests():
    worst = furthest(
        lambda facts: shipped().statistic(*facts).values[0], list(product((-1, 0, 1), repeat=4))
    )
    assert len(worst) == 81
    assert all(0.999 < moved <= 1.0 for moved in worst.values())


def test_the_search_finds_a_statistic_that_takes_the_largest_itself():
    """The control: had the method, and not the phone, taken the largest, one message were four."""

    def statistic(facts):
        _, secret = facts
        largest = np.broadcast_to(secret.messages.max(axis=0), secret.messages.shape)
        return tallies(secret.window, largest, load_decoder("tally-largest").alarm)[0]

    assert furthest(statistic, [(-1, -1, -1, -1)])[-1, -1, -1, -1] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("tests", "releases"), [*((tests, 1) for tests in OwnTests), (OwnTests.NEGATIVE_POSITIVE, 14)]
)
def test_it_survives_the_audit(tests, releases):
    config = RunConfig(method=LARGEST)
    result = privacy_checks.audit(config, own_tests=tests, releases=releases, draws=4_000)
    assert result.passed
    claimed = epsilon_of_mu(np.sqrt(releases) * ONE.mu, 1e-3)
    assert 0.9 * claimed < result.claimed_epsilon <= claimed * (1 + 1e-6)


def test_too_little_noise_is_caught():
    setup = {"target": ONE}
    weak = game(
        lambda seed: Tally(
            setup=Setup(noise=WeakNoise(seed=seed, share=1 / 3), **setup),
            decoder=load_decoder("tally-largest"),
        ),
        met_on=(13,),
    )
    assert not audit(weak, claimed_epsilon=1.0, delta=1e-3, draws=60_000).passed


def test_in_the_loop_it_promises_what_tally_does():
    costs = [run(RunConfig(method=m, **SMALL)).summary["privacy"] for m in (LARGEST, "tally")]
    assert all(cost["sound"] for cost in costs)
    for name in ("per_release_epsilon", "per_score_epsilon", "per_contact_epsilon"):
        assert costs[0][name] == pytest.approx(costs[1][name])
    assert costs[0]["per_person_epsilon"] is None
