"""The loop: what must hold on every day of every run."""

from itertools import pairwise

import numpy as np
import pytest

from dnatrace.errors import InputError
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import build_loop
from dnatrace.seir import State
from dnatrace.simulators.base import SEIR_OF_COURSE, CourseState

SMALL = {"people": 400, "days": 25, "seed": 2, "initially_infected": 12}


def days_of(**settings):
    config = RunConfig(**(SMALL | settings))
    return list(build_loop(config).run(config.days))


@pytest.fixture(scope="module")
def fn_days():
    return days_of(method="fn")


def pairs_of(contacts):
    return set(zip(contacts.senders.tolist(), contacts.receivers().tolist(), strict=True))


def test_an_isolated_person_has_no_contacts(fn_days):
    assert any(log.isolated.any() for log in fn_days)
    for log in fn_days:
        counts = log.contacts.counts
        assert counts[log.isolated].sum() == 0
        assert not log.isolated[log.contacts.senders].any()
        assert log.secret.window[-1].counts[log.isolated].sum() == 0


def test_capacity_is_never_exceeded_and_nobody_in_isolation_is_tested(fn_days):
    for log in fn_days:
        assert log.tested.size == 32
        assert np.unique(log.tested).size == log.tested.size
        assert not log.isolated[log.tested].any()
        assert not (log.states[log.tested] == CourseState.DEATH).any()


def test_positives_isolate_for_ten_days_from_tomorrow(fn_days):
    isolated = np.array([log.isolated for log in fn_days])
    dead = np.array([log.states == CourseState.DEATH for log in fn_days])
    for log in fn_days:
        last = min(log.day + 10, len(fn_days))
        ahead = isolated[log.day : last]  # row d is day d + 1
        if log.day < 3:
            assert not ahead[:1, log.informed].any()
        else:
            assert (ahead | dead[log.day : last])[:, log.informed].all()
    begun = isolated[1:] & ~isolated[:-1]
    for index in range(len(begun)):
        log = fn_days[index]
        assert set(np.flatnonzero(begun[index])) <= set(log.informed.tolist())


def test_results_come_from_true_states(fn_days):
    positive = np.concatenate([log.results for log in fn_days])
    seir = np.concatenate([SEIR_OF_COURSE[log.states[log.tested]] for log in fn_days])
    ill = (seir == State.E) | (seir == State.I)
    assert positive[ill].mean() > 0.97
    assert positive[~ill].mean() < 0.04  # 1 % of about 780 tests: mean 8, 31 is 8 sd above


def test_swabs_that_find_infected_people_alone():
    rates = {"false_positive_rate": 0.0, "false_negative_rate": 0.0}
    found = {}
    for detects in ("exposed-or-infected", "infected"):
        logs = days_of(method="random", tests=rates | {"detects": detects})
        states = [SEIR_OF_COURSE[log.states[log.tested]][log.results] for log in logs]
        found[detects] = set(np.concatenate(states).tolist())
    assert found == {"exposed-or-infected": {State.E, State.I}, "infected": {State.I}}


def test_tests_go_to_the_highest_scores_of_yesterday(fn_days):
    for yesterday, today in pairwise(fn_days):
        scores = yesterday.released.scores
        free = ~today.isolated & (today.states != CourseState.DEATH)
        free[today.tested] = False
        assert scores[today.tested].min() >= scores[free].max()


def test_the_window_forgets(fn_days):
    window = fn_days[-1].secret.window
    assert len(window) == 14
    assert window.first_day == SMALL["days"] - 13
    assert fn_days[-1].public.outcomes.shape == (14, 400)


def same_day(one, other):
    return (
        np.array_equal(one.states, other.states)
        and np.array_equal(one.contacts.senders, other.contacts.senders)
        and np.array_equal(one.tested, other.tested)
        and np.array_equal(one.results, other.results)
        and np.array_equal(one.isolated, other.isolated)
    )


def test_same_seed_same_bits_whatever_the_threads(fn_days, threads):
    threads(1)
    for one, other in zip(fn_days, days_of(method="fn"), strict=True):
        assert same_day(one, other)
        np.testing.assert_array_equal(one.released.scores, other.released.scores)
    assert not same_day(fn_days[-1], days_of(method="fn", seed=3)[-1])


def test_methods_meet_one_epidemic_until_they_decide_differently(fn_days):
    """Contacts and infections agree as long as the same people isolate; then they need not."""
    other_days = days_of(method="random")
    agree = [
        np.array_equal(a.isolated, b.isolated) for a, b in zip(fn_days, other_days, strict=True)
    ]
    first_difference = agree.index(False)
    assert first_difference >= 3
    for one, other in zip(fn_days[:first_difference], other_days[:first_difference], strict=True):
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(one.contacts.senders, other.contacts.senders)
    one, other = fn_days[first_difference], other_days[first_difference]
    free = ~one.isolated & ~other.isolated
    assert pairs_of(one.contacts.among(free)) == pairs_of(other.contacts.among(free))
    # A person tested on one day by both methods gets the same result.
    for one, other in zip(fn_days, other_days, strict=True):
        both = np.intersect1d(one.tested, other.tested)
        same = np.array_equal(one.states[both], other.states[both])
        if same:
            mine, theirs = (log.results[np.isin(log.tested, both)] for log in (one, other))
            np.testing.assert_array_equal(mine, theirs)


def test_without_adherence_isolation_has_no_effect():
    free = days_of(method="none")
    for one, other in zip(free, days_of(method="fn", isolation={"adherence": 0.0}), strict=True):
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(one.contacts.senders, other.contacts.senders)
        assert not other.isolated.any()


def test_household_contacts_can_be_kept():
    kept = days_of(method="fn", isolation={"keeps_household": True})
    log = next(
        log for log in kept if log.isolated.any() and log.contacts.counts[log.isolated].any()
    )
    touching = log.isolated[log.contacts.receivers()] | log.isolated[log.contacts.senders]
    assert log.contacts.kinds is not None
    assert set(log.contacts.kinds[touching].tolist()) == {0}


def test_delays():
    logs = days_of(method="random", tests={"order_delay": 2, "result_delay": 3})
    assert [log.tested.size > 0 for log in logs[:4]] == [False, False, True, True]
    taken = {log.day: log.tested[log.results] for log in logs}
    for log in logs:
        np.testing.assert_array_equal(log.informed, taken.get(log.day - 3, []))
    for log in logs[6:]:  # results enter the log on the day they were taken
        known = log.public.outcomes[-4]
        assert (known >= 0).sum() == logs[log.day - 4].tested.size
        assert (log.public.outcomes[-3:] < 0).all()
    waiting = [set(log.tested.tolist()) for log in logs]
    for a, b in pairwise(waiting):
        assert not a & b  # nobody is tested while waiting for a result


def test_people_without_the_app_send_nothing_and_get_no_score():
    adoption = [0.0, 0.5, 1, 1, 1, 1, 1, 1, 0.0]
    config = RunConfig(**SMALL, method="fn", app={"adoption": adoption})
    loop = build_loop(config)
    simulator = loop.simulator
    for log in loop.run(8):
        scored = ~np.isnan(log.released.scores)
        by_age = np.array([scored[simulator.age_groups == age].mean() for age in range(9)])
        assert by_age[0] == by_age[8] == 0
        assert by_age[2:8].min() == 1
        assert 0.2 < by_age[1] < 0.8
        window_day = log.secret.window[-1]
        assert scored[window_day.senders].all()
        assert window_day.counts[~scored].sum() == 0
        assert scored[log.tested].all()
        assert log.contacts.counts[~scored].sum() > 0


@pytest.mark.parametrize("method", ["none", "random", "oracle", "fn", "public-only"])
@pytest.mark.parametrize(
    "settings",
    [
        {"initially_infected": 0},
        {"initially_infected": 400},
        {"days": 1},
        {"tests": {"capacity": 0.0}},
        {"tests": {"capacity": 1.0}},
        {"people": 100},
    ],
    ids=[
        "nobody infected",
        "everybody infected",
        "one day",
        "no tests",
        "all tested",
        "100 people",
    ],
)
def test_edges_end_properly(method, settings):
    logs = days_of(**({"method": method, "days": 6} | settings))
    assert len(logs) == settings.get("days", 6)
    ever = (logs[-1].states > 0).sum()
    if settings.get("initially_infected") == 0:
        assert ever == 0
    elif settings.get("initially_infected") == 400:
        assert ever == 400
    if settings.get("tests") == {"capacity": 0.0} or method == "none":
        assert sum(log.tested.size for log in logs) == 0
    if settings.get("tests") == {"capacity": 1.0} and method != "none":
        assert logs[0].tested.size == 400


def test_capacity_and_isolation_hold_with_delays_and_dropout():
    logs = days_of(
        method="fn",
        tests={"order_delay": 1, "result_delay": 2},
        isolation={"dropout": 0.1, "adherence": 0.7, "adherence_unit": "event"},
    )
    assert any(log.isolated.any() for log in logs)
    for log in logs:
        assert log.tested.size <= 32
        assert not log.isolated[log.tested].any()
        assert log.contacts.counts[log.isolated].sum() == 0


def test_the_dead_do_not_isolate():
    logs = days_of(method="random", days=60, tests={"capacity": 1.0}, isolation={"days": 40})
    assert (logs[-1].states == CourseState.DEATH).any()
    for yesterday, today in pairwise(logs):
        assert not today.isolated[yesterday.states == CourseState.DEATH].any()


def test_contacts_before_tests_count_a_day_earlier():
    """A contact dated the day before enters today's score; dated today it does not."""
    dated = {}
    for before in (False, True):
        settings = {"method": "fn", "seir": {"contacts_before_tests": before}}
        dated[before] = days_of(**settings | {"days": 6})
    for usual, early in zip(dated[False][:1], dated[True][:1], strict=True):
        # The first day is the same epidemic: same contacts, tests and results.
        assert pairs_of(usual.contacts) == pairs_of(early.contacts)
        assert np.array_equal(usual.results, early.results)
    for log in dated[True]:
        window, public = log.secret.window, log.public
        assert window[-1].senders.size == 0
        assert pairs_of(window[-2]) == pairs_of(log.contacts)
        assert public.first_day == max(0, log.day - 13)
        assert public.n_days == log.day - public.first_day + 1
        tested = np.flatnonzero(public.outcomes[-1] >= 0)
        assert set(tested) == set(log.tested.tolist())
    # On day 1 the usual score knows of no contact, the early one does.
    tested = np.zeros(SMALL["people"], dtype=bool)
    tested[dated[True][0].tested] = True
    scores = {k: logs[0].released.scores[~tested] for k, logs in dated.items()}
    assert np.unique(scores[False]).size == 1
    assert np.unique(scores[True]).size == 1  # nobody's message says more than the prior yet
    late = {k: np.unique(logs[2].released.scores).size for k, logs in dated.items()}
    assert late[True] > late[False] > 1


def test_methods_that_remember_the_newest_day_refuse_contacts_before_tests():
    with pytest.raises(InputError, match="contacts_before_tests leaves the newest day"):
        days_of(method="tally", seir={"contacts_before_tests": True})
