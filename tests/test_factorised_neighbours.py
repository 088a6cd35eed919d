import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.inference import factorised_neighbours as fn

from . import reference, strategies

MODEL = {"parameters": dt.SeirParameters(), "test_errors": dt.TestErrors()}


def infer(case, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fn.ContradictoryTestsWarning)
        return dt.infer(
            case.contacts, case.tests, n_people=case.n_people, n_days=case.n_days, **options
        )


@given(
    strategies.cases(),
    strategies.seir_parameters(),
    strategies.errors_of_tests(),
    st.integers(1, 3),
)
def test_equals_enumeration_of_all_sequences(case, parameters, errors, rounds):
    expected = reference.factorised_neighbours(
        case.contacts,
        case.tests,
        case.n_people,
        case.n_days,
        parameters,
        errors,
        rounds,
        reference.all_sequences(case.n_days),
    )
    actual = infer(case, parameters=parameters, test_errors=errors, rounds=rounds)
    assert actual.dtype == np.float32
    assert np.isfinite(actual).all()
    np.testing.assert_allclose(actual, expected, atol=1e-5, rtol=0)


@settings(max_examples=20)
@given(
    strategies.cases(people=(2, 4), days=(14, 14), most_contacts=60),
    strategies.seir_parameters(),
    strategies.errors_of_tests(),
    st.integers(1, 3),
)
def test_equals_enumeration_of_monotone_sequences(case, parameters, errors, rounds):
    expected = reference.factorised_neighbours(
        case.contacts,
        case.tests,
        case.n_people,
        case.n_days,
        parameters,
        errors,
        rounds,
        reference.monotone_sequences(case.n_days),
    )
    actual = infer(case, parameters=parameters, test_errors=errors, rounds=rounds)
    np.testing.assert_allclose(actual, expected, atol=1e-5, rtol=0)


def test_the_two_enumerations_agree():
    errors, parameters = dt.TestErrors(), dt.SeirParameters(p0=0.1, g=0.5)
    log_stays, outcomes = [-0.1, -0.3, -0.2, -0.5], [-1, 0, 1, -1]
    both = [
        reference.posterior(log_stays, outcomes, parameters, errors, sequences)
        for sequences in (reference.all_sequences(4), reference.monotone_sequences(4))
    ]
    np.testing.assert_allclose(*both, atol=1e-14)


def test_one_day_old_contact_matters_and_the_last_day_does_not():
    tests = np.array([[0, 2, 1]])
    base, early, late = (
        dt.infer(np.array(c).reshape(-1, 3), tests, n_people=2, n_days=4)
        for c in ([], [[0, 1, 2]], [[0, 1, 3]])
    )
    assert early[1, 3, dt.State.E] > base[1, 3, dt.State.E] + 1e-3
    np.testing.assert_array_equal(late[1], base[1])


@given(strategies.cases(), strategies.seir_parameters(), strategies.errors_of_tests())
def test_beliefs_sum_to_one_and_order_does_not_matter(case, parameters, errors):
    model = {"parameters": parameters, "test_errors": errors}
    beliefs = infer(case, **model)
    np.testing.assert_allclose(beliefs.sum(axis=2), 1.0, atol=1e-6)
    reversed_case = strategies.Case(
        case.n_people, case.n_days, case.contacts[::-1], case.tests[::-1]
    )
    np.testing.assert_array_equal(infer(reversed_case, **model), beliefs)


@given(strategies.cases(), strategies.seir_parameters(), strategies.errors_of_tests())
def test_the_last_day_alone_is_the_last_day(case, parameters, errors):
    model = {"parameters": parameters, "test_errors": errors}
    window = dt.ContactWindow.from_rows(case.contacts, n_people=case.n_people, n_days=case.n_days)
    log = dt.TestLog.from_rows(case.tests, n_people=case.n_people, n_days=case.n_days)
    exposures = fn.message_rounds(window, log.outcomes, **model)
    last = fn.last_day_beliefs(exposures, log.outcomes, **model)
    whole = fn.beliefs(exposures, log.outcomes, **model).values
    np.testing.assert_allclose(last, whole[:, -1], atol=1e-6)


def test_threads_give_identical_bits(threads):
    case = strategies.random_case(3, 3001, 14, 6)
    threads(1)
    one = infer(case)
    threads(2)
    np.testing.assert_array_equal(infer(case), one)


@pytest.mark.parametrize("n_people", [1, 63, 64, 65, 200])
def test_block_edges(n_people):
    """People are computed in blocks; somebody's block must not matter."""
    case = strategies.random_case(n_people, max(n_people, 2), 6, 3)
    alone = infer(case)
    wider = strategies.Case(case.n_people + 77, 6, case.contacts, case.tests)
    np.testing.assert_array_equal(infer(wider)[: case.n_people], alone)


def test_long_window_neither_overflows_nor_underflows():
    n_days = 120
    errors = dt.TestErrors(false_positive_rate=0.0, false_negative_rate=0.0)
    parameters = dt.SeirParameters(p0=0.01, h=0.5)
    negatives = np.array([[0, day, 0] for day in range(n_days)])
    positives = np.array([[1, day, 1] for day in range(n_days)])
    case = strategies.Case(2, n_days, np.empty((0, 3)), np.concatenate([negatives, positives]))
    beliefs = infer(case, parameters=parameters, test_errors=errors)
    assert np.isfinite(beliefs).all()
    np.testing.assert_allclose(beliefs.sum(axis=2), 1.0, atol=1e-6)
    assert beliefs[0, -1, dt.State.I] < 1e-5
    assert beliefs[1, 60, dt.State.I] > 0.999


@given(strategies.cases(), st.floats(0.01, 1.0), st.integers(2, 64))
def test_quantised_messages_are_what_was_used(case, clip, levels):
    """The result is one update from messages that all lie on the grid, and nothing else."""
    window = dt.ContactWindow.from_rows(case.contacts, n_people=case.n_people, n_days=case.n_days)
    log = dt.TestLog.from_rows(case.tests, n_people=case.n_people, n_days=case.n_days)
    exposures = fn.message_rounds(window, log.outcomes, rounds=5, **MODEL)
    messages = fn.infected(exposures, log.outcomes, **MODEL)
    rounded = fn.bound_messages(messages, clip=clip, levels=levels)
    grid = fn.message_grid(levels, clip)
    assert grid[0] == 0
    assert grid[-1] == np.float32(clip)
    assert np.isin(rounded, grid).all()
    nearest = np.abs(grid[:, None] - np.minimum(messages, clip).reshape(-1)).min(axis=0)
    np.testing.assert_allclose(
        np.abs(rounded - np.minimum(messages, clip)).reshape(-1), nearest, atol=1e-7
    )
    one_hot = np.zeros((case.n_people, case.n_days, 4))
    one_hot[:, :, 2], one_hot[:, :, 0] = rounded.T, 1.0 - rounded.T.astype(np.float64)
    log_stays = reference.stays_from_messages(
        case.contacts, one_hot, case.n_people, case.n_days, MODEL["parameters"]
    )
    expected = [
        reference.posterior(
            log_stays[u],
            log.outcomes[:, u],
            MODEL["parameters"],
            MODEL["test_errors"],
            reference.all_sequences(case.n_days),
        )
        for u in range(case.n_people)
    ]
    np.testing.assert_allclose(infer(case, clip=clip, levels=levels), expected, atol=1e-5)


def test_clipping_changes_only_the_last_update():
    case = strategies.random_case(5, 200, 8, 5)
    unclipped = infer(case, rounds=6)
    np.testing.assert_allclose(infer(case, rounds=5, clip=1.0), unclipped, atol=1e-6)
    assert np.abs(infer(case, rounds=5, clip=0.001) - unclipped).max() > 1e-4


def test_contradictory_tests_warn_and_stay_finite():
    errors = dt.TestErrors(false_positive_rate=0.0, false_negative_rate=0.0)
    tests = np.array([[0, 1, 1], [0, 2, 0], [0, 3, 1], [1, 2, 1]])
    with pytest.warns(fn.ContradictoryTestsWarning, match="the tests of 1 people"):
        beliefs = dt.infer(np.empty((0, 3)), tests, n_people=2, n_days=5, test_errors=errors)
    assert np.isfinite(beliefs).all()
    consistent = dt.infer(  # no warning, which would be an error here
        np.empty((0, 3)), tests[-1:], n_people=2, n_days=5, test_errors=errors
    )
    assert consistent[1, 2, dt.State.I] > 0.99


def test_a_certain_positive_where_nothing_comes_from_outside_is_a_contradiction():
    """Nobody can be infected at all: the test is explained away by the floor, which is told."""
    errors = dt.TestErrors(false_positive_rate=0.0, false_negative_rate=0.1)
    contacts, tests = np.array([[0, 1, 2], [1, 0, 2]]), np.array([[0, 4, 1]])
    nothing = dt.SeirParameters(p0=0.0)
    with pytest.warns(fn.ContradictoryTestsWarning, match="the tests of 1 people"):
        dt.infer(contacts, tests, n_people=2, n_days=7, test_errors=errors, parameters=nothing)
    little = dt.SeirParameters(p0=1e-4)  # no warning, which would be an error here
    dt.infer(contacts, tests, n_people=2, n_days=7, test_errors=errors, parameters=little)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds must be between 1 and 1000"),
        ({"clip": 0.0}, "clip must be greater than 0"),
        ({"clip": float("nan")}, "clip must be greater than 0"),
        ({"levels": 1}, "levels must be at least 2"),
        ({"n_people": 0}, "number of people must be at least 1"),
        ({"n_days": 0}, "number of days must be at least 1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        dt.infer([], [], **({"n_people": 2, "n_days": 2} | options))


@pytest.mark.parametrize("name", ["p0", "p1", "g", "h"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_bad_parameters(name, value):
    with pytest.raises(InputError, match=f"{name}: input should be"):
        dt.SeirParameters(**{name: value})


def test_bad_test_errors():
    with pytest.raises(InputError, match="false_negative_rate: input should be"):
        dt.TestErrors(false_negative_rate=2)


def pushed(n_days, days, n_people=3):
    """A window into which days were pushed: people 0 and 1 meet on every one of them."""
    window = dt.ContactWindow(n_people=n_people, n_days=n_days)
    for _ in range(days):
        window.push(dt.DayContacts.from_pairs([0, 1], [1, 0], n_people=n_people))
    return window


@pytest.mark.parametrize("inference", ["fn", "one-round", "bp"])
@pytest.mark.parametrize(("n_days", "days"), [(5, 8), (14, 1), (14, 3), (5, 5)])
def test_a_window_that_moves_on_has_the_numbers_of_its_days(inference, n_days, days):
    window = pushed(n_days, days)
    first, held = window.first_day, len(window)
    rows = [[s, r, d] for d in range(held) for s, r in ((0, 1), (1, 0))]
    tests = [[0, days - 1, 1], [2, first, 0]]
    moved = [[person, day - first, positive] for person, day, positive in tests]
    expected = dt.infer(rows, moved, n_people=3, n_days=held, inference=inference)
    np.testing.assert_array_equal(dt.infer(window, tests, inference=inference), expected)
    log = dt.TestLog(n_people=3, n_days=n_days)
    for _ in range(days):
        log.push_day()
    for person, day, positive in tests:
        log.record(day, [person], [positive])
    np.testing.assert_array_equal(dt.infer(window, log, inference=inference), expected)
    with pytest.raises(InputError, match=f"outside the window of days {first} … {days - 1}"):
        dt.infer(window, [[0, days, 1]], inference=inference)


def test_a_log_of_tests_says_how_many_there_are(tmp_path):
    rows, tests = [[0, 1, 0], [1, 0, 2]], [[0, 1, 1]]
    log = dt.TestLog.from_rows(tests, n_people=4, n_days=5)
    expected = dt.infer(rows, tests, n_people=4, n_days=5)
    np.testing.assert_array_equal(dt.infer(rows, log), expected)
    file = tmp_path / "contacts.parquet"
    pq.write_table(
        pa.table(dict(zip(("sender", "receiver", "day"), zip(*rows, strict=True), strict=True))),
        file,
    )
    np.testing.assert_array_equal(dt.infer(file, log, n_people=4, n_days=5), expected)


def log_of_days(n_days, days, n_people=3):
    log = dt.TestLog(n_people=n_people, n_days=n_days)
    for _ in range(days):
        log.push_day()
    return log


@pytest.mark.parametrize(
    ("contacts", "tests", "message"),
    [
        (pushed(5, 8), log_of_days(5, 7), "a log of days 2 … 6 for contacts of days 3 … 7"),
        (pushed(5, 8), log_of_days(4, 8), "a log of days 4 … 7 for contacts of days 3 … 7"),
        (pushed(5, 0), log_of_days(5, 1), "a log of days 0 … 0 for contacts of no day yet"),
        (pushed(5, 1), log_of_days(5, 0), "the log of tests holds no day yet"),
        (pushed(5, 0), [], "the window of contacts holds no day yet"),
        (pushed(5, 1), log_of_days(5, 1, 4), "a log of 4 people for contacts of 3"),
        ([], log_of_days(5, 8), "beside a log of days 3 … 7 contacts must be a ContactWindow"),
    ],
)
def test_contacts_and_tests_of_other_days(contacts, tests, message):
    with pytest.raises(InputError, match=message):
        dt.infer(contacts, tests)


def test_sizes_that_a_window_or_a_log_has_not():
    with pytest.raises(InputError, match="n_days: the window of contacts has 1, not 14"):
        dt.infer(pushed(14, 1), [], n_days=14)
    with pytest.raises(InputError, match="n_people: the log of tests has 3, not 4"):
        dt.infer([], log_of_days(2, 2), n_people=4)
