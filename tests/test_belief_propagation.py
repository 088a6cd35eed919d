"""Belief propagation over days of infection, against the enumeration of all joint days."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dnatrace.inference.belief_propagation import propagate_window
from dnatrace.inference.course import OLD_DAYS, CourseParameters
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


@settings(max_examples=30, deadline=None)
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
