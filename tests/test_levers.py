"""Every lever alone against a hand calculation on a tiny world, and all of them in the loop."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.policy import meetings
from dnatrace.policy.base import Evening, FollowsUp, Severity, Situation
from dnatrace.policy.isolation import IsolationRules
from dnatrace.policy.levers import LeversSettings
from dnatrace.privacy import mechanisms
from dnatrace.records import DayContacts, Diary
from dnatrace.runs.run import build_loop
from dnatrace.simulators.base import CourseState

from . import reference

# Six people in three homes: 0 and 1, 2 and 3 and 4, 5 alone.
HOMES = np.array([0, 0, 1, 1, 1, 2], dtype=np.int32)
N = HOMES.size
RULES = IsolationRules(days=10, start_day=1)
EVERYBODY = np.ones(N, dtype=bool)


class World:
    """A policy of levers in the tiny world, led through days by hand."""

    def __init__(self, *, rules=RULES, seed=1, n=N, **levers):
        self.policy = LeversSettings(**levers).build(rules, seed)
        self.n, self.day, self.state = n, 0, self.policy.start(n)
        self.homes = HOMES if n == N else np.arange(n, dtype=np.int32)
        self.waiting = np.zeros(n, dtype=bool)

    def step(
        self,
        *,
        ill=(),
        positives=(),
        negatives=(),
        scores=None,
        pairs=(),
        most_tests=0,
        has_app=None,
        alive=None,
    ):
        """Take a day; return who is at home, who is tested and how many are told."""
        self.day += 1
        everybody = np.ones(self.n, dtype=bool)
        onsets = np.zeros(self.n, dtype=np.uint8)
        onsets[list(ill)] = Severity.SEVERE
        alive = everybody if alive is None else alive
        has_app = everybody if has_app is None else has_app
        released = mechanisms.publish_public(
            np.zeros(self.n) if scores is None else np.asarray(scores, dtype=float), day=self.day
        )
        home, self.state = self.policy.isolate(self.day, self.state)
        situation = Situation(
            day=self.day,
            eligible=has_app & ~home & alive & ~self.waiting,
            most_tests=most_tests,
            reachable=alive & ~self.waiting,
            onsets=onsets,
        )
        tested, self.state = self.policy.choose(released, situation, self.state)
        positives = np.array(positives, dtype=np.int64)
        self.state = self.policy.respond(positives, self.day, self.state)
        ends = np.array([p for pair in pairs for p in (pair, pair[::-1])]).reshape(-1, 2)
        evening = Evening(
            day=self.day,
            released=released,
            positives=positives,
            negatives=np.array(negatives, dtype=np.int64),
            onsets=onsets,
            households=self.homes,
            has_app=has_app,
            alive=alive,
            contacts=DayContacts.from_pairs(ends[:, 0], ends[:, 1], n_people=self.n),
        )
        self.state = self.policy.follow_up(evening, self.state)
        measures = self.policy.measures(self.state)
        assert not (measures.quarantined & ~home).any()
        return np.flatnonzero(home).tolist(), tested.tolist(), measures

    def homes_of(self, days, **first):
        """Return who is at home on each of so many days, the first with news."""
        return [self.step(**(first if i == 0 else {}))[0] for i in range(days)]


def test_levers_follow_up():
    assert isinstance(World().policy, FollowsUp)


def test_a_diary_has_what_people_know_of_their_days():
    world = World(household={"days": 3}, symptoms={"severe": 1.0, "background": 0.0})
    asked, told, at_home, immune = Diary.ASKED, Diary.TOLD, Diary.AT_HOME, Diary.IMMUNE
    world.step(ill=[5])
    assert world.policy.diary(world.state).tolist() == [[0, 0, 0, 0, 0, asked]]
    world.step(positives=[0])  # 1 lives with them, and learns of it in the evening
    world.step()
    found = immune | at_home
    assert world.policy.diary(world.state)[1:].tolist() == [
        [0, 0, 0, 0, 0, 0],
        [found, told | at_home, 0, 0, 0, 0],
    ]
    for _ in range(20):
        world.step()
    diary = world.policy.diary(world.state)
    assert len(diary) == 14
    assert diary[-1].tolist() == [immune, 0, 0, 0, 0, 0]  # for good


def test_being_sent_home_by_score_tells_of_no_case():
    world = World(quarantine={"capacity": 0.2, "days": 5})
    world.step(scores=[0, 0, 0, 9, 0, 0])
    home, _, _ = world.step()
    assert home == [3]
    assert world.policy.diary(world.state)[-1].tolist() == [0, 0, 0, int(Diary.AT_HOME), 0, 0]


def test_a_household_stays_home_for_its_days():
    world = World(household={"days": 3}, rules=RULES.model_copy(update={"days": 5}))
    # 2 learns of a positive result on day 1: five days for 2, three for 3 and 4.
    expected = [[]] + [[2, 3, 4]] * 3 + [[2]] * 2 + [[]]
    assert world.homes_of(7, positives=[2]) == expected


def test_a_household_of_somebody_ill_stays_home_with_them():
    world = World(household={"days": 2, "trigger": "symptoms"})
    assert world.homes_of(4, ill=[1]) == [[], [0, 1], [0, 1], []]


def test_who_was_positive_lately_is_exempt():
    world = World(
        household={"days": 2, "exempt_days": 4}, rules=IsolationRules(days=1, start_day=1)
    )
    assert world.homes_of(3, positives=[0]) == [[], [0, 1], [1]]
    assert world.step(positives=[1])[0] == []  # on day 4; 0 was positive on day 1
    assert world.step()[0] == [1]
    world.step(positives=[1])  # day 6: 0 is told now
    assert world.step()[0] == [0, 1]


def test_quarantine_takes_the_highest_scores_within_both_budgets():
    scores = [0.5, 0.9, 0.1, 0.8, 0.7, np.nan]
    world = World(quarantine={"capacity": 2 / 6, "days": 2, "most_at_once": 3 / 6})
    home, _, measures = world.step(scores=scores)
    assert (home, measures.notices) == ([], 2)
    home, _, measures = world.step(scores=scores)  # 1 and 3 are at home; room for one more
    assert (home, measures.notices) == ([1, 3], 1)
    home, _, measures = world.step(scores=scores)  # theirs ends today: two places tomorrow
    assert (home, measures.notices) == ([1, 3, 4], 2)
    assert world.step(scores=scores)[0] == [1, 3, 4]


def test_a_threshold_leaves_low_scores_alone():
    world = World(quarantine={"capacity": 1.0, "days": 2, "threshold": 0.75})
    assert world.step(scores=[0.5, 0.9, 0.1, 0.8, 0.7, np.nan])[2].notices == 2
    assert world.step(scores=np.zeros(N))[0] == [1, 3]
    assert world.step(scores=np.zeros(N))[2].notices == 0


def test_nobody_is_told_who_is_at_home_already():
    world = World(quarantine={"capacity": 1 / 6, "days": 3})
    world.step(positives=[1], scores=[0, 0.9, 0, 0.8, 0, 0])
    assert world.step()[0] == [1, 3]


def test_a_negative_result_ends_a_stay_that_says_so():
    for ends, expected in (
        (True, [[2], [2, 3, 4], [2, 4], [2, 4]]),
        (False, [[2], *[[2, 3, 4]] * 3]),
    ):
        world = World(household={"days": 6, "negative_ends": ends})
        world.step(positives=[2])
        days = [world.step(negatives=[])[0], world.step(negatives=[3])[0]]
        days += [world.step()[0], world.step()[0]]
        assert days[0] == [2, 3, 4]
        assert days[1:] == expected[1:]


def test_release_tests_come_on_their_day_once_and_within_their_budget():
    world = World(
        household={"days": 8, "negative_ends": True}, release_tests={"capacity": 1 / 6, "after": 3}
    )
    tested = [world.step(positives=[2] if i == 0 else ())[1] for i in range(7)]
    # At home from day 2 on; the third day at home is day 4; one test per day for 3 and 4.
    assert tested[:3] == [[], [], []]
    assert sorted(tested[3] + tested[4]) == [3, 4]
    assert tested[5:] == [[], []]


def test_without_stays_that_a_result_ends_there_are_no_release_tests():
    world = World(household={"days": 8}, release_tests={"capacity": 1.0, "after": 1})
    assert [world.step(positives=[2] if i == 0 else ())[1] for i in range(4)] == [[]] * 4


def test_symptoms_are_tested_by_severity_severe_first():
    background = {"background": 0.0}
    world = World(symptoms={"severe": 1.0, "mild": 0.0, **background})
    assert world.step(ill=[0, 5])[1] == [0, 5]
    onsets = np.array([1, 1, 2, 1, 2, 0], dtype=np.uint8)
    situation = Situation(
        day=1, eligible=EVERYBODY, most_tests=0, reachable=EVERYBODY, onsets=onsets
    )
    for capacity, n, always in ((1.0, 5, {0, 1, 2, 3, 4}), (0.5, 3, {2, 4}), (2 / 6, 2, {2, 4})):
        settings = {"severe": 1.0, "mild": 1.0, "capacity": capacity, **background}
        world = World(symptoms=settings)
        chosen, _ = world.policy.choose(
            mechanisms.publish_public(np.zeros(N), day=0), situation, world.state
        )
        assert len(chosen) == n
        assert always <= set(chosen.tolist())


def test_chances_of_symptomatic_tests_have_their_rates():
    n = 40_000
    world = World(n=n, symptoms={"severe": 0.0, "mild": 0.4, "background": 0.1})
    tested = world.step()[1]
    # Binomial with chance 0.04: standard deviation 39; 5 of them.
    assert abs(len(tested) - 1600) < 200
    world = World(n=n, symptoms={"severe": 0.25, "mild": 0.0, "background": 0.1})
    assert abs(len(world.step(ill=range(n))[1]) - 10_000) < 450  # standard deviation 87


def test_waiting_at_home_ends_with_the_result():
    world = World(symptoms={"severe": 1.0, "waits_at_home": True, "background": 0.0})
    assert world.step(ill=[0, 5])[1] == [0, 5]
    assert world.step()[0] == [0, 5]
    assert world.step(negatives=[0])[0] == [0, 5]
    assert world.step(positives=[5])[0] == [5]
    home, _, measures = world.step()
    assert home == [5]
    assert not measures.quarantined.any()  # a positive of one's own is no quarantine


def test_nobody_waits_at_home_unless_asked():
    world = World(symptoms={"severe": 1.0, "background": 0.0})
    world.step(ill=[0])
    assert world.step()[0] == []


def test_a_test_by_symptoms_takes_nothing_from_the_tests_by_score():
    world = World(symptoms={"severe": 1.0, "background": 0.0})
    _, tested, measures = world.step(ill=[1], scores=[0.1, 0.9, 0.8, 0, 0, 0], most_tests=2)
    assert tested == [0, 1, 2]
    assert measures.notices == 2  # who asks is not told


PAIRS = [(0, 2), (0, 5), (2, 5)]


def manual(**settings):
    certain = {"household": 1.0, "occupation": 1.0, "random": 1.0}
    return {"manual": {"capacity": 1.0, "days": 1, "delay": 0} | certain | settings}


def test_manual_tracing_tells_whom_the_case_met():
    world = World(**manual())
    world.step(pairs=PAIRS)
    world.step(positives=[0])
    assert world.step()[0] == [0, 2, 5]  # 0 met 2 and 5 the day before
    assert world.step()[0] == [0]


def test_manual_tracing_waits_and_looks_back_no_further_than_said():
    world = World(**manual(delay=2, look_back=3))
    world.step(pairs=PAIRS, positives=[0])
    assert world.homes_of(2) == [[0], [0]]  # the call is on day 3, whose contacts reach day 1
    assert world.step()[0] == [0, 2, 5]
    world = World(**manual(delay=2, look_back=2))
    world.step(pairs=PAIRS, positives=[0])
    assert world.homes_of(3) == [[0]] * 3


def test_staff_ask_as_many_cases_as_they_can_and_the_oldest_first():
    world = World(**manual(capacity=1 / 6), rules=IsolationRules(days=0, start_day=1))
    pairs = [(0, 1), (2, 3), (4, 5)]
    world.step(pairs=pairs, positives=[0])
    world.step(positives=[2, 4])
    days = [world.step()[0] for _ in range(3)]
    assert days[0] in ([3], [5])  # 1 was told on day 1 and was free again on day 3
    assert sorted(days[0] + days[1]) == [3, 5]
    assert days[2] == []


def test_the_kind_of_a_meeting_decides_who_is_named():
    day = DayContacts.from_pairs([0, 0, 0], [1, 2, 3], n_people=4)
    day = replace(day, kinds=np.array([0, 1, 2], dtype=np.uint8))
    chance = meetings.closest_meeting(
        [day], np.array([1, 0, 0, 0], bool), np.array([0.9, 0.5, 0.1])
    )
    assert chance.tolist() == [0.0, 0.9, 0.5, 0.1]


def test_notification_tells_app_users_whom_a_reporting_user_met():
    settings = {"notification": {"consent": 1.0, "detection": 1.0, "days": 2}}
    world = World(**settings)
    world.step(pairs=PAIRS)
    world.step(positives=[0])
    assert world.step()[0] == [0, 2, 5]
    has_app = EVERYBODY.copy()
    has_app[5] = False
    world = World(**settings)
    world.step(pairs=PAIRS, has_app=has_app)
    world.step(positives=[0], has_app=has_app)
    assert world.step(has_app=has_app)[0] == [0, 2]
    has_app[0] = False  # who has no app reports nothing
    world = World(**settings)
    world.step(pairs=PAIRS, has_app=has_app)
    world.step(positives=[0], has_app=has_app)
    assert world.step(has_app=has_app)[0] == [0]


def test_shares_that_follow_give_up_and_are_detected():
    n = 20_000
    pairs = [(0, other) for other in range(1, n)]
    world = World(
        n=n,
        notification={
            "consent": 1.0,
            "detection": 0.5,
            "adherence": 0.6,
            "days": 9,
            "dropout": 0.1,
        },
    )
    world.step(pairs=pairs)
    told = world.step(pairs=pairs, positives=[0])[2].notices
    # Two meetings: detected with 1 - 0.5². Standard deviations 61, 69 and 70; 5 of them.
    assert abs(told - 0.75 * n) < 306
    first = len(world.step()[0])
    assert abs(first - 0.9 * 0.6 * 0.75 * n) < 345
    assert abs(len(world.step()[0]) - 0.9 * first) < 350


@given(st.data())
def test_meetings_equal_their_twin(data):
    n = data.draw(st.integers(2, 8))
    person = st.integers(0, n - 1)
    days = []
    for _ in range(data.draw(st.integers(0, 3))):
        pairs = data.draw(st.lists(st.tuples(person, person).filter(lambda p: p[0] != p[1])))
        senders, receivers = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        day = DayContacts.from_pairs(senders, receivers, n_people=n)
        if data.draw(st.booleans()):
            kinds = data.draw(st.lists(st.integers(0, 2), min_size=len(pairs), max_size=len(pairs)))
            day = replace(day, kinds=np.array(kinds, dtype=np.uint8))
        days.append(day)
    cases = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    by_kind = np.array([0.9, 0.5, 0.2])
    counts, closest = reference.meetings_with_cases(days, cases, by_kind)
    assert meetings.count_meetings(days, cases).tolist() == counts
    assert meetings.closest_meeting(days, cases, by_kind).tolist() == closest


SMALL = {"people": 400, "days": 25, "seed": 2, "initially_infected": 12}
ALL = {
    "name": "levers",
    "symptoms": {"severe": 1.0, "mild": 0.6, "capacity": 0.01, "waits_at_home": True},
    "household": {"days": 6, "adherence": 0.8, "dropout": 0.05, "negative_ends": True},
    "quarantine": {"capacity": 0.01, "days": 7, "most_at_once": 0.05, "adherence": 0.7},
    "release_tests": {"capacity": 0.02, "after": 3},
    "manual": {"capacity": 0.01, "days": 5},
    "notification": {"consent": 0.7, "days": 5, "adherence": 0.5},
}
DELAYS = {"order_delay": 1, "result_delay": 1, "capacity": 0.02}


def days_of(**settings):
    config = dt.RunConfig(**(SMALL | settings))
    return list(build_loop(config).run(config.days))


@pytest.fixture(scope="module")
def all_days():
    return days_of(method="fn", policy=ALL, tests=DELAYS)


def test_budgets_hold_with_everything_on(all_days):
    most = 4 + 8 + 8  # by symptoms, to be released, by score
    for log in all_days:
        assert np.unique(log.tested).size == log.tested.size <= most
        assert not (log.states[log.tested] == CourseState.DEATH).any()
        assert log.contacts.counts[log.isolated].sum() == 0
        assert not (log.measures.quarantined & ~log.isolated & (log.states != 10)).any()
    assert any(log.isolated[log.tested].any() for log in all_days)  # tests at home
    assert sum(log.measures.quarantined.sum() for log in all_days) > 50
    assert sum(log.measures.notices for log in all_days) > 50


def test_the_same_bits_on_one_thread(all_days, threads):
    threads(1)
    for one, other in zip(all_days, days_of(method="fn", policy=ALL, tests=DELAYS), strict=True):
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(one.tested, other.tested)
        np.testing.assert_array_equal(one.isolated, other.isolated)


def test_all_levers_off_is_the_papers_policy():
    delays = {"order_delay": 1, "result_delay": 2, "capacity": 0.1}
    for one, other in zip(
        days_of(method="fn", tests=delays, isolation={"dropout": 0.1}),
        days_of(method="fn", tests=delays, isolation={"dropout": 0.1}, policy="levers"),
        strict=True,
    ):
        np.testing.assert_array_equal(one.tested, other.tested)
        np.testing.assert_array_equal(one.isolated, other.isolated)
        np.testing.assert_array_equal(one.released.scores, other.released.scores)
        assert one.measures.notices == other.measures.notices


ZERO = {
    "name": "levers",
    "symptoms": {"severe": 1.0, "mild": 1.0, "capacity": 0.0},
    "household": {"days": 0},
    "quarantine": {"capacity": 0.0},
    "manual": {"capacity": 0.0},
    "notification": {"consent": 0.0},
}
FULL = {
    "name": "levers",
    "symptoms": {"severe": 1.0, "mild": 1.0, "background": 1.0},
    "household": {"days": 1000, "trigger": "symptoms", "exempt_days": 0},
    "quarantine": {"capacity": 1.0, "days": 1000, "exempt_days": 0},
    "release_tests": {"capacity": 1.0, "after": 0},
    "manual": {"capacity": 1.0, "look_back": 100},
    "notification": {"consent": 1.0, "detection": 1.0},
}


def test_zero_and_full_budgets_end_properly():
    for one, other in zip(
        days_of(method="none"), days_of(method="none", policy=ZERO, days=25), strict=True
    ):
        np.testing.assert_array_equal(one.states, other.states)
        assert other.tested.size == other.measures.notices == 0
    logs = days_of(method="random", policy=FULL, tests={"capacity": 1.0}, days=8)
    assert logs[0].tested.size == 400
    alive = logs[-1].states != CourseState.DEATH
    np.testing.assert_array_equal(logs[-1].isolated, alive)
    assert logs[-1].contacts.senders.size == 0


def test_no_more_tests_than_all_levers_may_have_together():
    world = World(
        symptoms={"severe": 1.0, "background": 0.0},
        household={"days": 10},
        release_tests={"capacity": 1.0, "after": 1},
        most_tests=0.5,  # three of six
    )
    _, tested, _ = world.step(ill=[0, 1], scores=[0, 0, 0, 3, 2, 1], most_tests=6)
    assert set(tested) == {0, 1, 3}  # the ill first, what they leave by score
    _, tested, _ = world.step(ill=[0, 1, 2, 5], most_tests=6)
    assert len(tested) == 3
    assert set(tested) <= {0, 1, 2, 5}


def test_no_more_people_in_quarantine_than_all_levers_may_send():
    quarantine = {"capacity": 1.0, "days": 10}
    world = World(household={"days": 10}, quarantine=quarantine, most_quarantined=0.5)
    *_, told = world.step(positives=[0, 2], scores=[0, 0, 0, 0, 0, 9])
    home, *_ = world.step()
    assert told.notices == 3  # housemates 1, 3 and 4; nobody is left for the highest score
    assert home == [0, 1, 2, 3, 4]
    world = World(household={"days": 10}, quarantine=quarantine, most_quarantined=0.5)
    *_, told = world.step(positives=[0], scores=[0, 0, 1, 2, 3, 9])
    home, *_ = world.step()
    assert told.notices == 3
    assert home == [0, 1, 4, 5]  # 1 and the two highest
    world = World(household={"days": 10}, most_quarantined=1 / 6)
    *_, told = world.step(positives=[0, 2])
    assert told.notices == 1  # by lot


def test_who_waits_at_home_is_in_the_budget_of_quarantine():
    symptoms = {"severe": 1.0, "background": 0.0, "waits_at_home": True}
    world = World(symptoms=symptoms, most_quarantined=1 / 3)
    _, tested, _ = world.step(ill=[0, 1, 2, 3])
    home, *_ = world.step()
    assert len(tested) == 4
    assert len(home) == 2


def test_budgets_of_all_levers_hold_in_the_loop_on_every_day():
    policy = FULL | {"most_tests": 0.05, "most_quarantined": 0.1}
    logs = days_of(method="random", policy=policy, tests={"capacity": 1.0}, days=12)
    assert max(log.tested.size for log in logs) == 20  # of 400
    assert max(log.measures.quarantined.sum() for log in logs) == 40
    free = days_of(method="random", policy=FULL, tests={"capacity": 1.0}, days=4)
    assert max(log.measures.quarantined.sum() for log in free) > 40  # it can fail


def test_other_illness_sends_a_household_home_when_symptoms_do():
    symptoms = {"mild": 1.0, "background": 1.0, "capacity": 0.0}
    household = {"days": 3, "trigger": "symptoms"}
    world = World(symptoms=symptoms, household=household)
    world.step()
    home, *_ = world.step()
    assert home == [0, 1, 2, 3, 4, 5]
    world = World(household=household)  # nobody notices symptoms
    world.step()
    home, *_ = world.step()
    assert home == []


def test_without_scores_nobody_is_sent_home_by_score():
    policy = {"name": "levers", "quarantine": {"capacity": 0.1, "days": 5}}
    assert any(log.isolated.any() for log in days_of(method="random", policy=policy))
    config = dt.RunConfig(**SMALL, method="none", policy=policy)
    assert config.digest == dt.RunConfig(**SMALL, method="none").digest
    policy |= {"symptoms": {"severe": 1.0, "background": 0.0}}
    bare = {key: value for key, value in policy.items() if key != "quarantine"}
    config = dt.RunConfig(**SMALL, method="none", policy=policy)
    assert config.digest == dt.RunConfig(**SMALL, method="none", policy=bare).digest
    fewer = dt.RunConfig(**SMALL | {"tests": {"capacity": 0.5}}, method="none", policy=policy)
    assert config.digest == fewer.digest == dt.RunConfig(**fewer.effective()).digest
    by_chance = dt.RunConfig(**SMALL, method="random", policy=policy)
    assert by_chance.digest != dt.RunConfig(**SMALL, method="random", policy=bare).digest
    logs = days_of(method="none", policy=policy)
    assert sum(log.tested.size for log in logs) > 0
    assert not any(log.measures.quarantined.any() for log in logs)


def test_levers_meet_one_epidemic_until_they_decide_differently():
    """Paired: a lever more changes neither contacts nor who asks for a test before it acts."""
    symptoms = {"symptoms": {"severe": 1.0, "mild": 0.5}}
    one = days_of(method="none", policy={"name": "levers", **symptoms})
    other = days_of(method="none", policy={"name": "levers", **symptoms, "household": {"days": 9}})
    agree = [np.array_equal(a.isolated, b.isolated) for a, b in zip(one, other, strict=True)]
    first = agree.index(False)
    assert first >= 3
    for a, b in zip(one[:first], other[:first], strict=True):
        np.testing.assert_array_equal(a.states, b.states)
        np.testing.assert_array_equal(a.tested, b.tested)
        np.testing.assert_array_equal(a.contacts.senders, b.contacts.senders)


def test_contacts_are_told_to_those_who_ask_alone():
    for lever, told in (({"household": {"days": 3}}, False), ({"manual": {"capacity": 0.1}}, True)):
        config = dt.RunConfig(**SMALL, method="fn", policy={"name": "levers"} | lever)
        assert build_loop(config).tells_contacts is told


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"symptoms": {"mild": 0.5}}, "policy.symptoms: policy 'highest-scores' has none"),
        ({"name": "levers", "symptoms": {"mild": 2}}, "policy.symptoms.mild: input should be"),
        ({"name": "levers", "manual": {"look_back": 0}}, "policy.manual.look_back: input should"),
        (
            {"name": "levers", "houshold": {"days": 1}},
            "unknown key 'policy.houshold'; did you mean",
        ),
        ({"name": "levers", "household": {"day": 1}}, "unknown key 'policy.household.day'"),
    ],
)
def test_bad_levers(policy, message):
    with pytest.raises(InputError, match=message):
        dt.RunConfig(policy=policy)
