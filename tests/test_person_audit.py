"""Audits of a person: what one test tells a receiver, played end to end."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnatrace.errors import InputError
from dnatrace.methods.base import release_of
from dnatrace.networks.decoder import Alarm, write_decoder
from dnatrace.privacy.accounting import Ledger, Unit, UnprovenEvent
from dnatrace.privacy.gaussian import epsilon_of_mu
from dnatrace.runs import measured
from dnatrace.runs.audits import as_stated
from dnatrace.runs.config import RunConfig
from dnatrace.runs.person_audits import (
    ScoreSample,
    audit_person,
    scripted_loop,
    tell,
    with_noise,
)
from dnatrace.runs.sections import PrivacySettings
from dnatrace.runs.worlds import Test, World, WorldName, day_of, worlds

from .command_line import run
from .command_line import run as dnatrace
from .private_methods import WeakNoise
from .reference_headcount import DAILY, NEWS, straight_decoder

SMALL_WORLDS = [name for name in WorldName if name is not WorldName.CITY]
FALSE = ("tally", "dna", "dpfn-s", "traditional")


@pytest.fixture(autouse=True)
def one_thread(threads):
    """Threads cost more than they bring in worlds so small."""
    threads(1)


@pytest.fixture(scope="session")
def decoders(tmp_path_factory):
    """Files of decoders that hide nothing."""
    folder = tmp_path_factory.mktemp("decoders")
    for heads in (DAILY, NEWS):
        write_decoder(folder / f"{heads.release}.safetensors", straight_decoder(heads))
    easily = replace(straight_decoder(DAILY), alarm=Alarm(low=0.02, high=0.1))
    write_decoder(folder / "easily.safetensors", easily)
    return folder


@pytest.fixture
def headcount(decoders):
    """Return what configures `headcount`."""

    def configured(release="daily", decoder=None, **more):
        path = str(decoders / f"{decoder or release}.safetensors")
        method = {"name": "headcount", "release": release, "decoder": path}
        return RunConfig(method=method, **more)

    return configured


# What was measured independently, at noise for ε = 1 per release: largest move and ε.
MEASURED = {
    "met-once": (1.0, 4.7),
    "couple": (12.0, 167.0),
    "relay": (1.9, 7.1),
    "household": (25.0, 465.0),
    "class": (80.0, 3084.0),
    "common-contacts": (63.0, 1871.0),
}


@pytest.mark.parametrize("name", MEASURED)
def test_what_a_test_tells_under_tally(name):
    found = audit_person(RunConfig(method="tally"), WorldName(name))
    move, epsilon = MEASURED[name]
    assert found.largest_move == pytest.approx(move, rel=0.05)
    assert found.epsilon == pytest.approx(epsilon, rel=0.02)
    assert found.claimed_epsilon == pytest.approx(5.02, abs=0.005)
    assert not found.proved
    assert found.passed is (name == "met-once")
    assert found.met is (name not in ("relay", "common-contacts"))


@pytest.mark.parametrize("release", ["daily", "news"])
@pytest.mark.parametrize("name", SMALL_WORLDS)
def test_headcount_keeps_its_promise_in_every_world(name, release, headcount):
    """Of one test of a person, for ever: exactly what is claimed, or nothing for strangers."""
    for unit in (Unit.RELEASE, Unit.PERSON):
        found = audit_person(headcount(release, unit=unit), name)
        assert found.proved
        assert found.passed
        assert found.largest_move <= 1.0
        assert (found.epsilon > 0.0) is found.met
        if unit is Unit.PERSON:
            assert found.claimed_epsilon == pytest.approx(1.0)


@pytest.mark.parametrize("method", FALSE)
def test_others_break_a_promise_about_a_person(method):
    """The noise is that for a contact, which is as near as they come to a person."""
    config = RunConfig(method=method, unit="person")
    assert with_noise(config).privacy.unit is Unit.CONTACT
    found = audit_person(config, WorldName.HOUSEHOLD)
    assert found.claimed_epsilon == pytest.approx(1.0, abs=1e-6)
    assert found.epsilon > 5.0
    assert not found.passed
    assert "THE CLAIM IS FALSE" in found.words


def test_messages_that_pass_through_others_are_caught(headcount):
    """The control: the same counts of messages from rounds have no bound and break the claim."""
    assert audit_person(headcount(decoder="easily"), WorldName.COMMON_CONTACTS).passed
    config = headcount(decoder="easily", seir={"exchange": "rounds"})
    found = audit_person(config, WorldName.COMMON_CONTACTS)
    assert not found.proved
    assert not found.passed
    assert not found.met


def test_without_noise_nothing_is_promised_and_everything_told():
    found = audit_person(RunConfig(method="fn"), WorldName.COUPLE)
    assert found.epsilon == np.inf
    assert "over 99 of 100 times" in found.words
    silent = audit_person(RunConfig(method="public-only"), WorldName.COUPLE)
    assert silent.epsilon == 0.0
    assert "guesses the result of the test right 50 of 100" in silent.words


def test_the_city_is_played_and_strangers_hear_of_tests_under_tally(headcount, monkeypatch):
    monkeypatch.setattr("dnatrace.runs.worlds._CITY", 150)
    monkeypatch.setattr("dnatrace.runs.worlds._VICTIMS", 2)
    mine, tally = headcount(), RunConfig(method="tally")
    assert audit_person(mine, WorldName.CITY).passed
    assert not audit_person(tally, WorldName.CITY).passed
    for world in worlds(WorldName.CITY, mine):
        strangers = ~world.meets()
        strangers[world.tested] = False
        assert not tell(mine, world).squares[strangers].any()


# Draws.


def test_scores_that_are_drawn_never_tell_more_than_the_exact_cost():
    for name in (WorldName.MET_ONCE, WorldName.COUPLE):
        found = audit_person(RunConfig(method="tally"), name, draws=1000)
        assert 0.5 < found.drawn.lower_bound <= found.epsilon
        assert 0.6 < found.guesses <= found.success + 0.05


def test_less_noise_than_was_stated_is_caught_by_draws(headcount, monkeypatch):
    """What is exact believes the size of the noise; draws do not."""
    config = headcount(unit="person", epsilon=0.5)
    assert audit_person(config, WorldName.MET_ONCE, draws=1000).passed
    weak = lambda self, seed: WeakNoise(seed, share=1 / 16)  # noqa: E731
    monkeypatch.setattr(PrivacySettings, "source", weak)
    found = audit_person(config, WorldName.MET_ONCE, draws=1000)
    assert found.epsilon <= 0.5
    assert not found.passed


def test_a_closed_loop_in_which_the_policy_acts(headcount):
    found = audit_person(headcount(), WorldName.HOUSEHOLD, draws=1000, closed=True)
    assert found.epsilon is None
    assert found.passed
    loud = RunConfig(method="tally", unit="person")
    refuted = audit_person(loud, WorldName.HOUSEHOLD, draws=1000, closed=True)
    assert not refuted.passed
    # Without messages nothing is told, though copies compete for the same tests.
    silent = audit_person(
        RunConfig(method="public-only"), WorldName.HOUSEHOLD, draws=1000, closed=True
    )
    assert abs(silent.guesses - 0.5) < 0.05
    with pytest.raises(InputError, match="closed loop"):
        audit_person(loud, WorldName.CITY, draws=1000, closed=True)
    with pytest.raises(InputError, match="draws"):
        audit_person(loud, WorldName.COUPLE, closed=True)


def test_the_policy_tests_others_in_a_closed_loop_and_nobody_in_an_open_one():
    config = RunConfig(method="tally", tests={"capacity": 0.5})
    world = worlds(WorldName.HOUSEHOLD, config)[0]
    sample = ScoreSample(config, world)
    open_scores, again = sample(0, 50), ScoreSample(config, world)(0, 50)
    assert np.array_equal(open_scores, again)
    closed = ScoreSample(config, world, closed=True)(0, 50)
    assert not np.array_equal(open_scores, closed)


def test_copies_of_a_world_share_nothing():
    """One copy gives the same first scores whether or not there are others."""
    config = RunConfig(method="tally")
    world = worlds(WorldName.HOUSEHOLD, config)[0]
    together = tell(config, replace(world.repeated(3), receiver=1))
    alone = tell(config, world)
    n = world.n_people
    for copy in range(3):
        assert np.array_equal(together.squares[copy * n : (copy + 1) * n], alone.squares)


# Worlds that differ otherwise, and worlds of chance.


@st.composite
def chance_worlds(draw):
    """Small graphs in which people move, and tests of A that differ in result, day or number."""
    n_people, n_days = draw(st.integers(3, 6)), draw(st.integers(5, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs = [(a, b) for a in range(n_people) for b in range(a)]
    often = np.where(rng.random(len(pairs)) < 0.4, 0.0, rng.random(len(pairs)))
    later = rng.permutation(often)  # people move to other households half-way
    days = tuple(
        day_of(
            [
                p
                for p, r in zip(pairs, often if 2 * d < n_days else later, strict=True)
                if rng.random() < r
            ],
            n_people,
        )
        for d in range(n_days)
    )
    own = lambda positive, day: Test(day=day, person=0, positive=positive)  # noqa: E731
    first, second = (int(d) for d in rng.choice(n_days, 2, replace=False) + 1)
    kinds = {
        "result": ((own(False, first),), (own(True, first),)),
        "day": ((own(True, first),), (own(True, second),)),
        "two": ((own(False, first), own(False, second)), (own(True, first), own(True, second))),
        "none": ((), (own(True, first),)),
    }
    here, there = kinds[draw(st.sampled_from(sorted(kinds)))]
    others = tuple(
        Test(day=int(d) + 1, person=int(p), positive=bool(rng.integers(2)))
        for d, p in zip(rng.integers(0, n_days, 8), rng.integers(1, n_people, 8), strict=True)
    )
    once = {(t.day, t.person): t for t in others}
    return World(name="chance", days=days, first=here, second=there, tests=tuple(once.values()))


@given(world=chance_worlds())
@settings(max_examples=15, deadline=None)
def test_no_world_of_chance_moves_a_headcount_by_more_than_one(world, decoders):
    path = str(decoders / "daily.safetensors")
    config = RunConfig(method={"name": "headcount", "decoder": path})
    told = tell(config, world)
    others = np.arange(world.n_people) != world.tested
    assert (told.moves[others] <= 1.0).all()
    strangers = others & ~world.meets()
    assert not told.squares[strangers].any()


# The command.


def test_the_command_refutes_keeps_and_tells(tmp_path, headcount):
    kept = tmp_path / "audit.json"
    few = ("--draws", "1000", "--threads", "1")
    asked = ("audit", "--unit", "person", "--method", "tally", *few)
    refuted = dnatrace(*asked, "--world", "couple", "--out", kept)
    assert refuted.returncode == 1
    assert "THE CLAIM IS FALSE" in refuted.stdout
    stored = json.loads(kept.read_text())
    assert stored["worlds"][0]["epsilon"] == pytest.approx(20.8, rel=0.01)
    assert stored["worlds"][0]["claimed_for"] == "contact"
    decoder = ("--set", f"method.decoder={headcount().method.decoder}")
    mine = ("--method", "headcount", *decoder)
    asked = ("audit", "--unit", "person", *mine, *few, "--world", "household", "--json")
    passed = dnatrace(*asked)
    assert passed.returncode == 0, passed.stderr
    assert json.loads(passed.stdout)["passed"]
    wrong = dnatrace("audit", "--world", "nowhere")
    assert wrong.returncode == 2
    assert "unknown world" in wrong.stderr


PRIVATE = ("tally", "traditional", "dna", "dpfn-s", "dpfn", "per-message")


@pytest.mark.parametrize("method", PRIVATE)
def test_whoever_is_met_three_times_on_a_day_costs_at_most_three_contacts(method):
    config = RunConfig(method=method, seir={"rounds": 1})  # what others say does not change
    once = worlds(WorldName.MET_ONCE, config)[0]
    often = replace(once, days=tuple(day_of(_pairs(day) * 3, 2) for day in once.days))
    assert max(day.most_meetings() for day in often.days) == 3
    ledger = Ledger(meetings_per_day=3)
    for log in scripted_loop(config, often, 0).run(len(often.days)):
        event = log.released.event
        ledger.record(as_stated(event) if isinstance(event, UnprovenEvent) else event)
    found = epsilon_of_mu(tell(config, often).mu, 1e-3)
    assert 0.0 < found <= ledger.person_day_epsilon(1e-3) * (1 + 1e-9)
    if method in ("tally", "traditional"):  # one contact would be too little
        assert found > ledger.epsilon(Unit.CONTACT, 1e-3)


def _pairs(day):
    both = zip(day.senders.tolist(), day.receivers().tolist(), strict=True)
    return [pair for pair in both if pair[0] < pair[1]]


@pytest.mark.parametrize("name", FALSE)
def test_figures_that_ship_beside_no_bound_are_those_of_the_audit(name):
    config = RunConfig(method=name)
    for world in ("couple", "common-contacts"):
        shipped = measured.figures()[name, release_of(config.method), world]
        found = audit_person(config, WorldName(world)).epsilon
        assert shipped == pytest.approx(found, rel=0.01)


def test_a_closed_loop_is_audited_with_its_policy(tmp_path):
    """Who is tested and who stays at home changes what a receiver sees: another audit."""
    asked = ("--world", "couple", "--closed-loop", "--draws", 1000, "-q")
    done = dnatrace("audit", *asked, "--out", "a.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for setting, culprit in (
        ("isolation.adherence=0.5", "isolation"),
        ("tests.capacity=0.2", "tests"),
    ):
        other = ("privacy", "statement", "--audit", "a.json", "-q", "--set", setting)
        done = dnatrace(*other, cwd=tmp_path)
        assert done.returncode == 2
        assert f"a.json: is an audit of something else: {culprit}" in done.stderr


def test_an_audit_of_nothing_and_options_of_another_audit_are_refused():
    done = run("audit", "--world", "met-once", "--method", "fn", "--json")
    line = "dnatrace: method 'fn' claims nothing: nothing to audit\n"
    assert (done.returncode, done.stderr) == (2, line)
    done = run("audit", "--world", "met-once", "--releases", "5")
    assert done.returncode == 2
    assert "a world has tests and releases of its own" in done.stderr


def test_a_closed_loop_refuses_levers():
    """They were accepted and recorded as audited, and nobody was told of a case."""
    words = ("audit", "--world", "couple", "--closed-loop", "--draws", 100)
    levers = ("--set", "policy.name=levers", "--set", "policy.household.days=10")
    for chosen in (levers, (*levers, "--method", "tally")):
        done = run(*words, *chosen)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith("dnatrace: --closed-loop: levers are not played: ")
