"""Belief propagation over days of infection, against the enumeration of all joint days."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnatrace.inference import _pair_kernels
from dnatrace.inference import infection_times as times
from dnatrace.inference.belief_propagation import (
    BeliefPropagation,
    model_of,
    nothing_sent,
    propagate_window,
    silence,
)
from dnatrace.inference.course import OLD_DAYS, CourseParameters, tables
from dnatrace.records import ContactWindow
from dnatrace.seir import TestErrors
from tests import reference_times

SUSCEPTIBILITY = tuple(0.5 + 0.25 * k for k in range(9))


def course(transmission=3.0, p0=0.01):
    return CourseParameters(
        p0=p0,
        transmission=transmission,
        generation_mean=2.0,
        generation_sd=1.0,
        recovery_mean=3.0,
        recovery_sd=1.0,
        susceptibility=SUSCEPTIBILITY,
    )


def compare(contacts, outcomes, groups, parameters, errors, **options):
    """Return the posteriors of the kernel and of the enumeration, [people, days + 2]."""
    n_days, n_people = outcomes.shape
    rows = np.array(contacts, dtype=np.int64).reshape(-1, 3)
    window = ContactWindow.from_rows(rows, n_people=n_people, n_days=n_days)
    found = propagate_window(
        window,
        outcomes,
        parameters=parameters,
        test_errors=errors,
        age_groups=groups,
        **options,
    )
    exact = reference_times.posterior_of_days(
        contacts, outcomes, parameters, errors, groups, parameters.p0
    )
    assert np.isfinite(found).all()
    assert found[:, : OLD_DAYS - 1].sum() == 0.0
    assert found[:, -1].sum() == 0.0
    return found[:, OLD_DAYS - 1 : -1], exact


@st.composite
def trees(draw):
    """A tree of people who meet once or more, heard by one or both, with tests."""
    n_people, n_days = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    contacts = []
    for person in range(1, n_people):
        other = draw(st.integers(0, person - 1))
        meetings = st.tuples(st.integers(0, n_days - 1), st.sampled_from(["both", "in", "out"]))
        for day, which in draw(st.lists(meetings, min_size=1, max_size=3)):
            contacts += [(other, person, day)] if which != "out" else []
            contacts += [(person, other, day)] if which != "in" else []
    results = st.sampled_from([-1, -1, 0, 1])
    outcomes = np.array(
        draw(
            st.lists(
                st.lists(results, min_size=n_people, max_size=n_people),
                min_size=n_days,
                max_size=n_days,
            )
        ),
        dtype=np.int8,
    )
    groups = np.array([draw(st.integers(0, 8)) for _ in range(n_people)], dtype=np.uint8)
    return contacts, outcomes, groups


@settings(max_examples=20, deadline=None)
@given(trees(), st.sampled_from([0.3, 3.0, 30.0]), st.sampled_from([1e-4, 0.05]))
def test_exact_on_trees(tree, transmission, p0):
    errors = TestErrors(false_positive_rate=0.02, false_negative_rate=0.1)
    found, exact = compare(*tree, course(transmission, p0), errors)
    np.testing.assert_allclose(found, exact, atol=1e-6)


def test_what_is_told_alone_is_not_exact():
    """The negative control: after one round, second-hand news is missing."""
    contacts = [(0, 1, 1), (1, 0, 1), (1, 2, 2), (2, 1, 2)]
    outcomes = np.full((4, 3), -1, dtype=np.int8)
    outcomes[3, 0] = 1
    groups = np.zeros(3, dtype=np.uint8)
    found, exact = compare(contacts, outcomes, groups, course(), TestErrors(), rounds=1)
    assert np.abs(found - exact).max() > 1e-4
    settled, exact = compare(contacts, outcomes, groups, course(), TestErrors())
    np.testing.assert_allclose(settled, exact, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(trees(), st.sampled_from([0.3, 3.0]), st.sampled_from([1e-4, 0.05]), st.integers(1, 3))
def test_what_is_heard_in_exchanges(tree, transmission, p0, exchanges):
    contacts, outcomes, groups = tree
    errors = TestErrors(false_positive_rate=0.02, false_negative_rate=0.1)
    n_days, n_people = outcomes.shape
    rows = np.array(contacts, dtype=np.int64).reshape(-1, 3)
    window = ContactWindow.from_rows(rows, n_people=n_people, n_days=n_days)
    parameters = course(transmission, p0)
    found = times.one_round_window(
        window,
        outcomes,
        parameters=parameters,
        test_errors=errors,
        age_groups=groups,
        exchanges=exchanges,
    )
    slow = reference_times.heard(contacts, outcomes, parameters, errors, groups, p0, exchanges)
    np.testing.assert_allclose(found[:, OLD_DAYS - 1 : -1], slow, atol=1e-9)


def test_loops_have_an_error_that_is_small_at_usual_transmission():
    """A triangle who all met twice: not exact, to a few parts in a thousand."""
    pairs = [(0, 1), (1, 2), (0, 2)]
    contacts = [(a, b, d) for x, y in pairs for d in (1, 2) for a, b in ((x, y), (y, x))]
    outcomes = np.full((4, 3), -1, dtype=np.int8)
    outcomes[3, 0], outcomes[3, 1] = 1, 0
    groups = np.full(3, 2, dtype=np.uint8)
    usual = course(transmission=0.2, p0=1e-3)
    found, exact = compare(contacts, outcomes, groups, usual, TestErrors())
    assert np.abs(found - exact).max() < 5e-3
    strong, exact = compare(contacts, outcomes, groups, course(10.0, 1e-3), TestErrors())
    assert 0.1 < np.abs(strong - exact).max() < 0.6  # far from exact when contacts are certain


def test_ann_ben_and_cem_of_the_documentation():
    """docs/method.md: what Ben heard from Ann does not come back to Ann as news."""
    spike = CourseParameters(
        p0=0.0, transmission=np.log(2.0), generation_mean=6.5, generation_sd=0.05
    )
    read = tables(spike, TestErrors(), most_age=OLD_DAYS + 14)
    assert read.transmissions[0, 7] == pytest.approx(0.5)
    ann, ben, cem = range(3)
    met = [(ann, ben, 6), (ann, ben, 13), (ben, cem, 13)]
    rows = np.array([(a, b, d) for x, y, d in met for a, b in ((x, y), (y, x))])
    window = ContactWindow.from_rows(rows, n_people=3, n_days=14)
    pairs = _pair_kernels.no_pairs(3)
    for t, day in enumerate(window):
        pairs, _ = _pair_kernels.add_day(pairs, day.offsets, day.senders, day=t, first=0)
    prior = times.first_prior(3, 0.0)
    prior[ann, OLD_DAYS - 1], prior[ann, OLD_DAYS] = 0.1, 0.9  # infected the day before, or not
    untested = np.full((14, 3), -1, dtype=np.int8)
    model = model_of(read, None, prior, untested, np.zeros(len(untested)), first=0)
    engine = BeliefPropagation(parameters=spike, test_errors=TestErrors(), tolerance=0.0)
    fresh, awake = np.ones(pairs.others.size, dtype=np.bool_), np.ones(3, dtype=np.bool_)
    posterior, _ = engine.settle(pairs, fresh, silence(pairs, 14), model, awake)
    infected = 1.0 - posterior[:, -2]
    np.testing.assert_allclose(infected, [0.1, 0.05, 0.025], atol=1e-6)
    # The same with marginals for messages, by hand: Ben's 5 % comes back to Ann.
    said_by_ben = 0.1 * 0.5
    assert 0.1 + 0.9 * said_by_ben * 0.5 == pytest.approx(0.1225)


@st.composite
def weeks(draw):
    """Contacts (sender, receiver) of some days; the same twice, and heard by one alone, occur."""
    n_people = draw(st.integers(2, 5))
    people = st.integers(0, n_people - 1)
    contacts = st.lists(st.tuples(people, people).filter(lambda c: c[0] != c[1]), max_size=8)
    return n_people, draw(st.lists(contacts, min_size=1, max_size=8))


def day_rows(contacts):
    return np.array([(a, b, 0) for a, b in contacts], dtype=np.int64).reshape(-1, 3)


@settings(max_examples=40, deadline=None)
@given(weeks(), st.integers(1, 4))
def test_pairs_are_those_of_the_window(week, n_days):
    n_people, by_day = week
    pairs = _pair_kernels.no_pairs(n_people)
    for day, contacts in enumerate(by_day):
        before, first = pairs, day - n_days + 1
        rows = ContactWindow.from_rows(day_rows(contacts), n_people=n_people, n_days=1)[0]
        pairs, origins = _pair_kernels.add_day(
            pairs, rows.offsets, rows.senders, day=day, first=first
        )
        slow = reference_times.days_of_pairs(dict(enumerate(by_day[: day + 1])), first)
        who = np.repeat(np.arange(n_people), np.diff(pairs.offsets))
        keys = list(zip(who.tolist(), pairs.others.tolist(), strict=True))
        assert keys == sorted(slow)
        for e, key in enumerate(keys):
            assert pairs.days[pairs.starts[e] : pairs.starts[e + 1]].tolist() == slow[key]
            assert keys[pairs.reverse[e]] == key[::-1]
            once = len(slow[key]) == 1 and slow[key] == slow[key[::-1]]
            assert (pairs.slots[e] == _pair_kernels.NONE) == once
            if origins[e] != _pair_kernels.NONE:
                assert before.others[origins[e]] == key[1]
        assert pairs.days.size == sum(map(len, slow.values()))  # memory is that of the window


@settings(max_examples=15, deadline=None)
@given(trees(), st.sampled_from([0.3, 3.0]))
def test_yesterdays_messages_change_the_way_and_not_the_end(tree, transmission):
    """On a tree the messages settle to the same, from silence or from those of yesterday."""
    contacts, outcomes, groups = tree
    n_days, n_people = outcomes.shape
    found = {}
    for warm in (False, True):
        engine = BeliefPropagation(
            parameters=course(transmission, 1e-3),
            test_errors=TestErrors(false_positive_rate=0.02, false_negative_rate=0.1),
            n_days=2,
            rounds=12,
            tolerance=0.0,
            warm=warm,
        )
        state, window = nothing_sent(n_people, 2), ContactWindow(n_people=n_people, n_days=2)
        for day in range(n_days):
            today = day_rows([(a, b) for a, b, d in contacts if d == day])
            window.push(ContactWindow.from_rows(today, n_people=n_people, n_days=1)[0])
            known = outcomes[max(day - 1, 0) : day + 1]
            posterior, state = engine.step(state, window, known, groups)
        found[warm] = posterior
    np.testing.assert_allclose(found[True], found[False], atol=1e-6)


def test_a_cold_start_forgets_what_was_heard():
    """From silence every day begins anew: what is heard at third hand needs as many rounds."""
    chain = [(0, 1, 1), (1, 0, 1), (1, 2, 4), (2, 1, 4), (2, 3, 7), (3, 2, 7)]
    rows = np.array(chain)
    outcomes = np.full((14, 4), -1, dtype=np.int8)
    outcomes[:3, 0] = 1

    def heard(**settings):
        engine = BeliefPropagation(
            parameters=CourseParameters(transmission=30.0), test_errors=TestErrors(), **settings
        )
        state = nothing_sent(4, 14)
        for n_days in range(1, 15):
            met = rows[rows[:, 2] < n_days]
            window = ContactWindow.from_rows(met, n_people=4, n_days=n_days)
            posterior, state = engine.step(state, window, outcomes[:n_days], None)
        return 1.0 - posterior[3, -2]

    settled = heard(rounds=4, warm=False, tolerance=0.0)
    assert heard(rounds=1, warm=True) == pytest.approx(settled, rel=1e-3)
    assert heard(rounds=1, warm=False) < 0.1 * settled
    assert settled > 0.05


def test_nothing_is_impossible():
    """Contradictory tests, certain transmission, people without contacts, 500 contacts per day."""
    rng = np.random.default_rng(1)
    n_people, n_days, n = 40, 5, 250
    one = rng.integers(1, n_people, (n_days, n))  # person 0 meets nobody
    other = 1 + (one - 1 + rng.integers(1, n_people - 1, one.shape)) % (n_people - 1)
    one[:, :100], other[:, :100] = 1, rng.integers(2, n_people, (n_days, 100))
    days = np.repeat(np.arange(n_days), n)
    pairs = np.stack([one.ravel(), other.ravel(), days], axis=1)
    rows = np.concatenate([np.repeat(pairs, 5, axis=0), np.repeat(pairs[:, [1, 0, 2]], 5, axis=0)])
    window = ContactWindow.from_rows(rows, n_people=n_people, n_days=n_days)
    assert window.counts[:, 1].min() >= 500
    outcomes = rng.integers(-1, 2, (n_days, n_people)).astype(np.int8)
    for transmission, p0 in ((1000.0, 1e-5), (0.2, 1.0), (1000.0, 0.0)):
        given = {
            "parameters": CourseParameters(transmission=transmission, p0=p0),
            "test_errors": TestErrors(false_positive_rate=0.0, false_negative_rate=0.0),
        }
        for found in (
            propagate_window(window, outcomes, rounds=3, **given),
            times.one_round_window(window, outcomes, **given),
        ):
            assert np.isfinite(found).all()
            np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_what_leaves_the_window_is_carried_over():
    """A positive test of long ago is remembered as immunity; without tests nothing is known."""
    engine = times.OneRound(parameters=CourseParameters(), test_errors=TestErrors(), n_days=3)
    carried = times.Carried.nothing(2, 3)
    window = ContactWindow(n_people=2, n_days=3)
    for day in range(20):
        window.push(ContactWindow.from_rows(np.empty((0, 3), int), n_people=2, n_days=1)[0])
        outcomes = np.full((len(window), 2), -1, dtype=np.int8)
        for t in range(len(window)):
            if day - len(window) + 1 + t in (2, 3, 4):
                outcomes[t, 0] = 1
        posterior, carried = engine.step(carried, window, outcomes, None)
    assert posterior[0, -2] < 0.1
    assert posterior[1, -2] > 0.99
    assert times.infected_within(posterior, 7)[0] < 0.01
