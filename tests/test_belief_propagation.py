"""Belief propagation over days of infection, against the enumeration of all joint days."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnatrace.inference import _pair_kernels
from dnatrace.inference import infection_times as times
from dnatrace.inference.belief_propagation import (
    BeliefPropagation,
    conclude,
    model_of,
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
@given(trees(), st.sampled_from([0.3, 3.0]), st.sampled_from([1e-4, 0.05]))
def test_one_round_is_what_is_heard_once(tree, transmission, p0):
    contacts, outcomes, groups = tree
    errors = TestErrors(false_positive_rate=0.02, false_negative_rate=0.1)
    n_days, n_people = outcomes.shape
    rows = np.array(contacts, dtype=np.int64).reshape(-1, 3)
    window = ContactWindow.from_rows(rows, n_people=n_people, n_days=n_days)
    parameters = course(transmission, p0)
    found = times.one_round_window(
        window, outcomes, parameters=parameters, test_errors=errors, age_groups=groups
    )
    slow = reference_times.heard_once(contacts, outcomes, parameters, errors, groups, p0)
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
    model = model_of(read, None, prior, untested, first=0)
    engine = BeliefPropagation(parameters=spike, test_errors=TestErrors(), tolerance=0.0)
    inbox = engine.settle(pairs, silence(pairs, 14), model, np.ones(3, dtype=np.bool_))
    infected = 1.0 - conclude(pairs, inbox, model)[0][:, -2]
    np.testing.assert_allclose(infected, [0.1, 0.05, 0.025], atol=1e-6)
    # The same with marginals for messages, by hand: Ben's 5 % comes back to Ann.
    said_by_ben = 0.1 * 0.5
    assert 0.1 + 0.9 * said_by_ben * 0.5 == pytest.approx(0.1225)


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
