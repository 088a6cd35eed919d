"""Factorised Neighbours without echo: nobody is told what came from themselves."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnatrace as dt
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.inference.cavity import Met, cavity_rounds
from dnatrace.records import ContactWindow
from tests import reference, strategies

usual = strategies.seir_parameters(st.floats(0.001, 0.6))
rates = strategies.errors_of_tests(st.floats(0.001, 0.3))


def outcomes_of(case):
    outcomes = np.full((case.n_days, case.n_people), -1, dtype=np.int8)
    for person, day, positive in case.tests:
        outcomes[day, person] = positive
    return outcomes


def window_of(case):
    return ContactWindow.from_rows(case.contacts, n_people=case.n_people, n_days=case.n_days)


def exposures(case, parameters, errors, rounds, **more):
    met = Met.nobody(case.n_people).with_newest(window_of(case))
    given = {"parameters": parameters, "test_errors": errors, "rounds": rounds}
    return cavity_rounds(met, outcomes_of(case), **given, **more)


@settings(max_examples=40)
@given(
    strategies.cases(people=(2, 4), days=(2, 5), most_contacts=12),
    usual,
    rates,
    st.integers(1, 4),
    st.data(),
)
def test_equals_enumeration(case, parameters, errors, rounds, data):
    one = st.sampled_from([0.5, 1.0, 2.5])
    factors = data.draw(st.lists(one, min_size=case.n_people, max_size=case.n_people))
    silent = np.array(
        data.draw(st.lists(st.booleans(), min_size=case.n_people, max_size=case.n_people))
    )
    expected = reference.echo_free_neighbours(
        [tuple(map(int, row)) for row in case.contacts],
        outcomes_of(case).T,
        parameters,
        errors,
        rounds,
        reference.monotone_sequences(case.n_days),
        factors,
        silent,
    )
    actual = exposures(
        case,
        parameters,
        errors,
        rounds,
        susceptible=np.array(factors, dtype=np.float32),
        silent=silent,
    )
    np.testing.assert_allclose(actual.T, expected, atol=2e-5, rtol=2e-4)


@given(strategies.cases(people=(2, 5), days=(2, 5)), usual, rates)
def test_one_exchange_has_no_echo(case, parameters, errors):
    """With two rounds the messages are those of Factorised Neighbours, but for the last day."""
    plain = fn.message_rounds(
        window_of(case), outcomes_of(case), parameters=parameters, test_errors=errors, rounds=2
    )
    without = exposures(case, parameters, errors, 2)
    np.testing.assert_allclose(without[:-1], plain[:-1], atol=1e-6, rtol=1e-5)


def test_what_i_told_you_does_not_come_back():
    """Two people who meet every day, one of them positive: the other's belief is no news to them.

    Factorised Neighbours with many rounds lets the exposure of the positive grow by their own
    message; without echo it stays what the other knows by themselves.
    """
    days = range(10)
    contacts = np.array([(a, b, t) for t in days for a, b in ((0, 1), (1, 0))])
    case = strategies.Case(2, 10, contacts, np.array([(0, 3, 1)]))
    model = dt.SeirParameters(p0=1e-4, p1=0.3), dt.TestErrors()
    given = {"parameters": model[0], "test_errors": model[1]}
    alone = exposures(case, *model, 2)[:, 0]  # what person 1 says of own accord
    echo = fn.message_rounds(window_of(case), outcomes_of(case), rounds=8, **given)[:, 0]
    without = exposures(case, *model, 8)[:, 0]
    assert echo[8] > 20.0 * alone[8]
    assert without[8] < 2.0 * alone[8]


@given(
    strategies.cases(people=(2, 5), days=(1, 6)),
    strategies.seir_parameters(),
    strategies.errors_of_tests(),
)
def test_nothing_breaks_at_the_ends(case, parameters, errors):
    """Contradictory tests, certain transmission, no prior: exposures are finite, none negative."""
    found = exposures(case, parameters, errors, 4)
    assert np.isfinite(found).all()
    assert (found >= 0.0).all()


def test_window_that_moves_and_threads():
    """Pairs kept from day to day are those of the window, and threads change no bit."""
    case = strategies.random_case(5, 300, 20, 6.0)
    days = [case.contacts[case.contacts[:, 2] == t] for t in range(20)]
    window = ContactWindow(n_people=300, n_days=14)
    met = Met.nobody(300)
    for rows in days:
        window.push(dt.DayContacts.from_pairs(rows[:, 0], rows[:, 1], n_people=300))
        met = met.with_newest(window)
    outcomes = outcomes_of(case)[-14:]
    given = {"parameters": dt.SeirParameters(), "test_errors": dt.TestErrors(), "rounds": 4}
    moved = cavity_rounds(met, outcomes, **given)
    at_once = cavity_rounds(Met.nobody(300).with_newest(window), outcomes, **given)
    assert (moved == at_once).all()
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert (cavity_rounds(met, outcomes, **given) == moved).all()
    finally:
        numba.set_num_threads(before)


def test_in_the_loop():
    size = {"people": 300, "days": 20, "seed": 3, "initially_infected": 10}
    plain = dt.run(dt.RunConfig(method={"name": "fn", "own_rounds": 5}, **size))
    without = dt.run(dt.RunConfig(method={"name": "fn", "own_rounds": 5, "cavity": True}, **size))
    assert without.daily["auroc"] != plain.daily["auroc"]
    two = {"name": "fn", "own_rounds": 2}
    same = dt.run(dt.RunConfig(method=two | {"cavity": True}, **size)).daily["auroc"]
    assert same.to_pylist() == pytest.approx(
        dt.run(dt.RunConfig(method=two, **size)).daily["auroc"].to_pylist(), nan_ok=True
    )
