"""What every simulator must keep, whoever wrote it: one list of tests for all."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from dnatrace.errors import InputError
from dnatrace.records import DayContacts
from dnatrace.simulators import openabm
from dnatrace.simulators.base import N_STATES, ContactKind, CourseState
from dnatrace.simulators.city import City
from dnatrace.simulators.covasim import Covasim
from dnatrace.simulators.replay import Replay

DAYS = 12


def build_replay(*, n_people, seed, initially_infected, isolation_keeps_household=False):
    assert not isolation_keeps_household
    generator = np.random.default_rng(5)
    table = generator.integers(0, n_people, (8 * n_people, 2))
    table = table[table[:, 0] != table[:, 1]]
    days = generator.integers(0, 5, len(table))
    rows = np.column_stack([np.vstack([table, table[:, ::-1]]), np.tile(days, 2)])
    return Replay(
        contacts=rows, n_people=n_people, seed=seed, initially_infected=initially_infected
    )


BUILDERS = {
    "city": (City, 1500),
    "replay": (build_replay, 1500),
    "covasim": (Covasim, 1500),
    "openabm": (openabm.OpenABM, 6000),
}
WITH_HOUSEHOLDS = [name for name in BUILDERS if name != "replay"]


def maker(name):
    """Return a function that builds a simulator with much infection, and its number of people."""
    if name == "covasim":
        pytest.importorskip("covasim", reason="Covasim is not installed")
    if name == "openabm" and not openabm.is_installed():
        pytest.skip("OpenABM-Covid19 is not installed")
    build, n = BUILDERS[name]

    def make(seed=4, **more):
        return build(n_people=n, seed=seed, **{"initially_infected": n // 10, **more})

    return make


@pytest.fixture(params=BUILDERS)
def make(request):
    return maker(request.param)


@pytest.fixture(params=WITH_HOUSEHOLDS)
def make_with_households(request):
    return maker(request.param)


def check_contacts(contacts: DayContacts, n_people: int) -> None:
    """Raise unless contacts are symmetric, between different people, and well formed."""
    assert contacts.offsets.dtype == contacts.senders.dtype == np.int32
    assert contacts.n_people == n_people
    assert contacts.offsets[0] == 0
    assert contacts.offsets[-1] == contacts.senders.size
    assert np.all(np.diff(contacts.offsets) >= 0)
    assert contacts.senders.min(initial=0) >= 0
    assert contacts.senders.max(initial=0) < n_people
    senders, receivers = contacts.senders.astype(np.int64), contacts.receivers()
    assert np.all(senders != receivers)
    there = np.sort(senders * n_people + receivers)
    back = np.sort(receivers * np.int64(n_people) + senders)
    assert np.array_equal(there, back)


def check_states(before, after) -> None:
    """Raise unless the states of a day are valid and follow from those of the day before."""
    assert after.states.dtype == np.uint8
    assert after.states.max() < N_STATES
    assert after.infected_on.dtype == np.int32
    assert np.array_equal(after.infected_on >= 0, after.states != CourseState.UNINFECTED)
    known = before.infected_on >= 0
    assert np.array_equal(after.infected_on[known], before.infected_on[known])
    newly = after.infected_on[~known]
    assert np.all((newly == -1) | (newly == after.day))
    assert np.all(after.states[before.states == CourseState.DEATH] == CourseState.DEATH)


def noted(simulator):
    return SimpleNamespace(
        states=simulator.states, infected_on=simulator.infected_on, day=simulator.day
    )


def test_a_run_keeps_the_protocol(make):
    simulator = make()
    n = simulator.n_people
    assert simulator.day == 0
    assert simulator.age_groups.dtype == np.uint8
    assert simulator.age_groups.shape == simulator.households.shape == (n,)
    assert simulator.age_groups.max() <= 8
    assert simulator.households.dtype == np.int32
    first = np.sum(simulator.infected_on == 0)
    # OpenABM-Covid19 may draw a person twice.
    assert first == n // 10 or (
        isinstance(simulator, openabm.OpenABM) and n // 11 < first < n // 10
    )
    before = noted(simulator)
    for day in range(1, DAYS + 1):
        contacts = simulator.advance()
        assert simulator.day == day
        assert contacts.senders.size > n
        check_contacts(contacts, n)
        check_states(before, noted(simulator))
        before = noted(simulator)
    assert np.sum(simulator.infected_on > 0) > 50


def test_the_checks_see_what_is_wrong():
    contacts = City(n_people=200).advance()
    check_contacts(contacts, 200)
    turned = contacts.senders.copy()
    turned[0] = (turned[0] + 1) % 200
    with pytest.raises(AssertionError):
        check_contacts(dataclasses.replace(contacts, senders=turned), 200)
    alone = DayContacts(offsets=np.array([0, 1, 1], np.int32), senders=np.array([0], np.int32))
    with pytest.raises(AssertionError):
        check_contacts(alone, 2)
    before = SimpleNamespace(states=np.zeros(2, np.uint8), infected_on=np.full(2, -1, np.int32))
    late = SimpleNamespace(
        states=np.array([1, 0], np.uint8), infected_on=np.array([3, -1], np.int32), day=4
    )
    with pytest.raises(AssertionError):
        check_states(before, late)


def test_isolated_people_meet_nobody_and_only_the_last_mask_counts(make):
    simulator = make()
    isolated = np.arange(simulator.n_people) % 3 == 0
    simulator.isolate(~isolated)
    simulator.isolate(isolated)
    for _ in range(4):
        contacts = simulator.advance()
        assert not contacts.counts[isolated].any()
        assert not isolated[contacts.senders].any()
        assert np.all(simulator.infected_on[isolated] <= 0)
    assert contacts.counts[~isolated].mean() > 1
    simulator.isolate(np.zeros_like(isolated))
    assert simulator.advance().counts[isolated].mean() > 1


def test_isolation_that_keeps_the_household_keeps_nothing_else(make_with_households):
    simulator = make_with_households(isolation_keeps_household=True)
    isolated = np.arange(simulator.n_people) % 3 == 0
    simulator.isolate(isolated)
    for _ in range(3):
        contacts = simulator.advance()
        check_contacts(contacts, simulator.n_people)
        receivers = contacts.receivers()
        touched = isolated[receivers] | isolated[contacts.senders]
        assert touched.any()
        assert np.all(contacts.kinds[touched] == ContactKind.HOUSEHOLD)
        home = simulator.households
        at_home = contacts.kinds == ContactKind.HOUSEHOLD
        assert np.array_equal(home[receivers[at_home]], home[contacts.senders[at_home]])
        assert np.any(contacts.kinds[~touched] != ContactKind.HOUSEHOLD)


def test_everyone_isolated_ends_the_epidemic(make):
    simulator = make()
    first = simulator.infected_on
    simulator.isolate(np.ones(simulator.n_people, dtype=bool))
    for _ in range(5):
        assert simulator.advance().senders.size == 0
    assert np.array_equal(simulator.infected_on, first)


def test_a_seed_reproduces_even_beside_another_simulator(make):
    one, two, other = make(), make(), make(seed=5)
    isolated = np.arange(one.n_people) % 5 == 0
    differ = False
    for day in range(6):
        for simulator in (one, two, other):
            simulator.isolate(isolated if day > 2 else np.zeros_like(isolated))
        a, b = one.advance(), two.advance()
        other.advance()
        assert np.array_equal(a.offsets, b.offsets)
        assert np.array_equal(a.senders, b.senders)
        assert np.array_equal(one.states, two.states)
        differ |= not np.array_equal(one.states, other.states)
    assert differ


def test_answers_are_copies_and_wrong_masks_are_refused(make):
    simulator = make(initially_infected=3)
    simulator.states[:] = CourseState.DEATH
    simulator.infected_on[:] = 99
    assert np.sum(simulator.states == CourseState.UNINFECTED) == simulator.n_people - 3
    assert simulator.infected_on.max() == 0
    n = simulator.n_people
    for wrong in (np.zeros(n - 1, bool), np.zeros(n), np.zeros((n, 1), bool)):
        with pytest.raises(InputError, match="isolated must be"):
            simulator.isolate(wrong)


def test_nobody_infected_stays_so(make):
    simulator = make(initially_infected=0)
    for _ in range(4):
        simulator.advance()
    assert not simulator.states.any()
    assert np.all(simulator.infected_on == -1)


@pytest.mark.parametrize("wrong", [{"initially_infected": 10**6}, {"seed": -1}])
def test_wrong_arguments_are_refused(make, wrong):
    with pytest.raises(InputError):
        make(**wrong)
