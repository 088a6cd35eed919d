import gc
import re
import weakref
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnatrace as dt
from dnatrace import _csr
from dnatrace.errors import InputError
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.records import DayContacts

from . import reference, strategies

MODEL = {"parameters": dt.SeirParameters(), "test_errors": dt.TestErrors()}


def window_of(case):
    return dt.ContactWindow.from_rows(case.contacts, n_people=case.n_people, n_days=case.n_days)


def log_of(case):
    return dt.TestLog.from_rows(case.tests, n_people=case.n_people, n_days=case.n_days)


def day_of(case, day):
    rows = case.contacts[case.contacts[:, 2] == day]
    return dt.DayContacts.from_pairs(rows[:, 0], rows[:, 1], n_people=case.n_people)


def assert_same_window(actual, expected):
    assert len(actual) == len(expected)
    for mine, theirs in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(mine.offsets, theirs.offsets)
        np.testing.assert_array_equal(mine.senders, theirs.senders)


@given(strategies.cases(people=(1, 9), most_contacts=80))
def test_sorting_equals_twin(case):
    for day, contacts in enumerate(window_of(case)):
        rows = case.contacts[case.contacts[:, 2] == day]
        offsets, senders = reference.counting_sort(
            list(rows[:, 0]), list(rows[:, 1]), case.n_people
        )
        np.testing.assert_array_equal(contacts.offsets, offsets)
        np.testing.assert_array_equal(contacts.senders, senders)
        assert contacts.receivers().tolist() == sorted(rows[:, 1])
        assert contacts.counts.sum() == len(rows)


def test_many_rows_are_split_and_sorted_in_parallel():
    case = strategies.random_case(1, 500, 9, 20)
    assert len(case.contacts) > _csr._WORTH_THREADS
    window = window_of(case)
    back = np.concatenate(
        [
            np.stack([day.senders, day.receivers(), np.full(day.senders.size, d)], axis=1)
            for d, day in enumerate(window)
        ]
    )
    np.testing.assert_array_equal(
        back[np.lexsort(back.T)], case.contacts[np.lexsort(case.contacts.T)]
    )
    assert window.n_contacts == len(case.contacts)


@given(strategies.cases(days=(1, 8)), st.integers(1, 8))
def test_pushing_days_equals_rebuilding(case, n_held):
    pushed = dt.ContactWindow(n_people=case.n_people, n_days=n_held)
    for day in range(case.n_days):
        pushed.push(day_of(case, day))
    first = max(case.n_days - n_held, 0)
    assert pushed.first_day == first
    rows = case.contacts[case.contacts[:, 2] >= first] - [0, 0, first]
    rebuilt = dt.ContactWindow.from_rows(rows, n_people=case.n_people, n_days=case.n_days - first)
    assert_same_window(pushed, rebuilt)
    np.testing.assert_array_equal(pushed.counts, rebuilt.counts)


def test_push_touches_no_other_day_and_the_oldest_leaves_memory():
    case = strategies.random_case(2, 50, 4, 5)
    window = window_of(case)
    kept = [window[i] for i in range(1, 4)]
    oldest = weakref.ref(window[0].senders)
    window.push(dt.DayContacts.empty(50))
    gc.collect()
    assert oldest() is None
    assert all(window[i] is day for i, day in enumerate(kept))
    assert len(window) == 4
    assert window.first_day == 1
    assert not any(isinstance(day.senders.base, np.ndarray) for day in window)  # no shared memory


@given(strategies.cases(people=(2, 6)), st.data())
def test_forget_equals_never_having_met(case, data):
    person = data.draw(st.integers(0, case.n_people - 1))
    window = window_of(case)
    window.forget(person)
    met = (case.contacts[:, 0] == person) | (case.contacts[:, 1] == person)
    never = strategies.Case(case.n_people, case.n_days, case.contacts[~met], case.tests)
    assert_same_window(window, window_of(never))
    np.testing.assert_array_equal(
        fn.infer_window(window, log_of(case), **MODEL).values,
        fn.infer_window(window_of(never), log_of(never), **MODEL).values,
    )


@given(strategies.cases(people=(1, 9), most_contacts=80))
def test_most_meetings_of_a_pair_equal_counting_them(case):
    day = day_of(case, 0)
    pairs = Counter(zip(day.senders.tolist(), day.receivers().tolist(), strict=True))
    assert day.most_meetings() == max(pairs.values(), default=0)


@given(strategies.cases(people=(1, 9), most_contacts=80))
def test_contacts_by_sender_are_the_same_contacts(case):
    day = day_of(case, 0)
    offsets, receivers = day.by_sender()
    turned = [
        (sender, int(receiver))
        for sender in range(case.n_people)
        for receiver in receivers[offsets[sender] : offsets[sender + 1]]
    ]
    assert turned == sorted(zip(day.senders.tolist(), day.receivers().tolist(), strict=True))
    assert day.by_sender()[1] is receivers  # kept


def test_no_cap_on_contacts():
    senders = np.concatenate([np.arange(1, 3000), np.ones(2000, dtype=int)])
    day = dt.DayContacts.from_pairs(senders, np.zeros(4999, dtype=int), n_people=3000)
    assert day.counts[0] == 4999
    assert (day.senders == 1).sum() == 2001


def test_a_log_is_a_ring_too():
    log = dt.TestLog(n_people=3, n_days=2)
    for day in range(3):
        log.push_day()
        log.record(day, np.array([day]), np.array([day == 1]))
    assert log.first_day == 1
    np.testing.assert_array_equal(log.outcomes, [[-1, 1, -1], [-1, -1, 0]])
    log.record(0, np.array([0]), np.array([True]))  # that day has left
    log.record(1, np.array([2]), np.array([True]))  # a late result
    np.testing.assert_array_equal(log.outcomes, [[-1, 1, 1], [-1, -1, 0]])
    with pytest.raises(InputError, match="day 3 has not begun"):
        log.record(3, np.array([0]), np.array([True]))


def test_the_same_result_twice_counts_once():
    once, twice = ([[1, 0, 1]], [[1, 0, 1], [1, 0, 1]])
    logs = [dt.TestLog.from_rows(rows, n_people=2, n_days=1).outcomes for rows in (once, twice)]
    np.testing.assert_array_equal(*logs)


def test_empty_window():
    window = dt.ContactWindow(n_people=3, n_days=2)
    assert window.counts.shape == (0, 3)
    assert window.n_contacts == 0
    assert dt.TestLog(n_people=3, n_days=2).outcomes.shape == (0, 3)


def test_beliefs_know_their_scores():
    values = np.array([[[0.1, 0.2, 0.3, 0.4]]], dtype=np.float32)
    beliefs = dt.Beliefs(values=values)
    assert beliefs.infected[0, 0] == np.float32(0.3)
    assert beliefs.exposed_or_infected[0, 0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda w: w.forget(3), "person 3 is outside the ids 0 … 2"),
        (lambda w: w.push(dt.DayContacts.empty(4)), "a day of 4 people in a window of 3"),
        (lambda _: dt.DayContacts.from_pairs([0], [1, 2], n_people=3), "one length"),
        (lambda _: dt.DayContacts.from_pairs([0], [3], n_people=3), "row 1, column 'receiver': 3"),
        (lambda _: dt.ContactWindow(n_people=2**31, n_days=1), "32-bit ids"),
        (lambda _: dt.DayContacts.from_pairs([], [], n_people=-1), "people must be at least 1"),
        (lambda _: dt.DayContacts.from_pairs([0], [1], n_people=3.0), "n_people must be a whole"),
        (lambda _: dt.DayContacts.empty(-1), "the number of people must be at least 1"),
        (lambda _: dt.DayContacts.empty(3).among(np.zeros(1, bool)), "kept must have 3 values"),
        (lambda _: dt.DayContacts.empty(3).among(np.ones(3)), "kept must be an array of bool"),
        (lambda w: w.push(None), "a day must be a DayContacts, not None"),
        (lambda w: w.push_after(dt.DayContacts.empty(9)), "a day of 9 people in a window of 3"),
        (lambda w: w.forget(1.5), "person must be a whole number, not 1.5"),
        (lambda w: w.forget(None), "person must be a whole number, not None"),
        (lambda _: dt.ContactWindow(n_people=2, n_days=1, first_day=0.5), "first_day must be a"),
    ],
)
def test_bad_calls(action, message):
    with pytest.raises(InputError, match=message):
        action(dt.ContactWindow(n_people=3, n_days=2))


@pytest.mark.parametrize(
    ("people", "positive", "message"),
    [
        ([-1], [True], "row 1, column 'person': -1 is outside the ids 0 … 2"),
        ([0, 3], [True, True], "row 2, column 'person': 3 is outside the ids 0 … 2"),
        ([1.7], [True], "column 'person': 1.7 is not a whole number"),
        ([True, False, False], [True, True, True], "column 'person': expected whole numbers"),
        ([0], [7], "column 'positive': 7 is outside 0 and 1"),
        ([0], [float("nan")], "column 'positive': nan is not a whole number"),
        ([0], ["yes"], "column 'positive': expected whole numbers"),
        ([0, 1], [True], "two arrays of one length"),
        ([0, 0], [True, False], "person 0 has two different results on day 0"),
        ([[0, 1]], [True], "column 'person': expected whole numbers, got int64 of shape"),
    ],
)
def test_results_that_cannot_be(people, positive, message):
    log = dt.TestLog(n_people=3, n_days=2)
    log.push_day()
    log.record(0, [0, 1], [0, 1])
    with pytest.raises(InputError, match=re.escape(message)):
        log.record(0, people, positive)
    np.testing.assert_array_equal(log.outcomes, [[0, 1, -1]])  # nothing was entered


def test_results_come_as_truths_or_as_numbers_and_may_be_corrected():
    log = dt.TestLog(n_people=4, n_days=1)
    log.push_day()
    log.record(0, [0, 1, 1], [1, 0, 0])
    log.record(np.int64(0), np.array([2], dtype=np.uint8), np.array([True]))
    log.record(0, [1], [1.0])
    log.record(0, [], [])
    np.testing.assert_array_equal(log.outcomes, [[1, 1, 1, -1]])
    for day in (0.5, None):
        with pytest.raises(InputError, match="day must be a whole number"):
            log.record(day, [0], [True])


def test_a_log_of_rows_may_begin_later():
    log = dt.TestLog.from_rows([[0, 3, 1], [1, 5, 0]], first_day=3)
    assert (log.first_day, log.n_days) == (3, 3)
    np.testing.assert_array_equal(log.outcomes, [[1, -1], [-1, -1], [-1, 0]])
    with pytest.raises(InputError, match="2 is outside the window of days 3 … 5"):
        dt.TestLog.from_rows([[0, 2, 1]], n_days=3, first_day=3)


def ids(*values):
    return np.array(values, dtype=np.int32)


@pytest.mark.parametrize(
    ("offsets", "senders", "message"),
    [
        (ids(0, 1, 2, 3), ids(1, 99999, 0), "sender 99999 is outside the ids 0 … 2"),
        (ids(0, 1, 2, 3), ids(1, 0, -1), "sender -1 is outside the ids 0 … 2"),
        (ids(0, 1, 2, 4), ids(1, 2, 0), "offsets must begin with 0 and end with 3"),
        (ids(1, 1, 2, 3), ids(1, 2, 0), "offsets must begin with 0 and end with 3"),
        (ids(), ids(), "offsets must begin with 0 and end with 0"),
        (ids(0, 4, 1, 3), ids(1, 2, 0), "offsets must not fall"),
        (np.arange(4), ids(1, 2, 0), "offsets must be an array of int32 in one dimension"),
        (ids(0, 1, 2, 3), [1, 2, 0], "senders must be an array of int32, not a list"),
    ],
)
def test_a_day_that_kernels_could_not_read(offsets, senders, message):
    with pytest.raises(InputError, match=re.escape(message)):
        dt.DayContacts(offsets=offsets, senders=senders)


def test_kinds_belong_to_contacts():
    rows = {"offsets": ids(0, 1, 2), "senders": ids(1, 0)}
    assert dt.DayContacts(**rows, kinds=np.zeros(2, dtype=np.uint8)).n_people == 2
    with pytest.raises(InputError, match="kinds must have 2 values, not 3"):
        dt.DayContacts(**rows, kinds=np.zeros(3, dtype=np.uint8))


def test_a_day_keeps_its_contacts_whatever_becomes_of_the_arrays():
    """An id written into the array afterwards was out of range, and no kernel looks again."""
    offsets, senders = np.array([0, 1, 2], np.int32), np.array([1, 0], np.int32)
    kinds = np.zeros(2, np.uint8)
    day = DayContacts(offsets=offsets, senders=senders, kinds=kinds)
    offsets[1], senders[0], kinds[0] = 99, 99, 7
    assert day.offsets.tolist() == [0, 1, 2]
    assert day.senders.tolist() == [1, 0]
    assert day.kinds.tolist() == [0, 0]


def test_a_result_of_a_day_before_the_log_is_refused():
    """It was dropped without a word; -1 is no way to say the newest day."""
    log = dt.TestLog(n_people=3, n_days=2)
    log.push_day()
    with pytest.raises(InputError, match=r"^day -1 is before the first of this log, 0$"):
        log.record(-1, [0], [1])
    for _ in range(2):
        log.push_day()
    log.record(0, [0], [1])  # has left the log
    assert (log.outcomes == 1).sum() == 0


@pytest.mark.parametrize("values", [np.zeros((2, 3)), [[[1.0, 0, 0, 0]]], np.zeros((2, 3, 5))])
def test_beliefs_are_by_person_day_and_state(values):
    with pytest.raises(InputError, match=r"^values must be an array \[people, days, 4\], not "):
        dt.Beliefs(values=values)
