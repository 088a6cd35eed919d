import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.policy import highest_scores, isolation, laboratory
from dnatrace.policy.isolation import AdherenceUnit, IsolationRules
from dnatrace.policy.laboratory import TestRules
from dnatrace.privacy import mechanisms
from dnatrace.privacy.release import Released, TrustBoundaryError
from dnatrace.seir import State

from . import reference

STREAM = dt.Stream(1, "test")


def choose(scores, eligible, most, ties):
    released = mechanisms.publish_public(np.asarray(scores, dtype=float), day=1)
    return highest_scores.choose_tests(
        released, eligible=np.asarray(eligible), most=most, ties=np.asarray(ties)
    ).tolist()


@given(st.data())
def test_choice_equals_twin(data):
    n = data.draw(st.integers(1, 30))
    few = st.sampled_from([0.0, 0.1, 0.5, -1.0, float("nan")])  # many ties
    scores = data.draw(st.lists(few, min_size=n, max_size=n))
    eligible = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    most = data.draw(st.integers(0, n + 2))
    ties = np.random.default_rng(n).permutation(n) / n
    expected = reference.choose_tests(scores, eligible, most, ties)
    assert choose(scores, eligible, most, ties) == expected
    assert len(expected) <= most


def test_only_a_release_can_choose_tests():
    scores = np.zeros(3)
    everybody = np.ones(3, dtype=bool)
    with pytest.raises(TrustBoundaryError, match="must be Released, not ndarray"):
        highest_scores.choose_tests(scores, eligible=everybody, most=1, ties=scores)
    event = mechanisms.publish_public(scores, day=1).event
    with pytest.raises(TrustBoundaryError, match="only dnatrace"):
        Released(scores=scores, event=event, seal=object())


def test_a_release_cannot_be_forged():
    released = mechanisms.publish_public(np.zeros(3), day=1)
    with pytest.raises((TypeError, ValueError)):
        dataclasses.replace(released, scores=np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        released.scores[:] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        released.scores = np.ones(3)


def test_capacity_is_rounded_down():
    assert TestRules(capacity=0.08).most_tests(10_000) == 800
    assert TestRules(capacity=0.29).most_tests(100) == 29  # 0.29 * 100 is just below 29
    assert TestRules(capacity=0.08).most_tests(99) == 7
    assert TestRules(capacity=0.0).most_tests(10) == 0
    assert TestRules(capacity=1.0).most_tests(10) == 10


def test_test_errors_have_their_rates():
    people = np.arange(100_000)
    errors = dt.TestErrors(false_positive_rate=0.1, false_negative_rate=0.3)
    for ill, rate in ((True, 0.7), (False, 0.1)):
        results = laboratory.draw_results(
            people, np.full(people.size, ill), day=1, errors=errors, stream=STREAM
        )
        # Standard deviation at most 0.0015; 5 of them.
        assert abs(results.mean() - rate) < 0.0075


@pytest.mark.parametrize(
    ("detects", "found"),
    [
        ("exposed-or-infected", [False, True, True, False]),
        ("infected", [False, False, True, False]),
    ],
)
def test_swabs_find_what_they_are_said_to(detects, found):
    states = np.array([State.S, State.E, State.I, State.R], dtype=np.uint8)
    assert TestRules(detects=detects).detects.finds(states).tolist() == found


def test_phones_believe_the_true_rates_unless_told_otherwise():
    rates = {"false_positive_rate": 0.1, "false_negative_rate": 0.3}
    assert TestRules(**rates).believed == dt.TestErrors(**rates)
    wrong = TestRules(**rates, believed_false_negative_rate=0.0)
    assert wrong.believed == dt.TestErrors(false_positive_rate=0.1, false_negative_rate=0.0)
    # What phones believe does not change what swabs do, and what swabs find not what they believe.
    people = np.arange(1000)
    drawn = [
        laboratory.draw_results(people, people % 2 == 0, day=1, errors=rules, stream=STREAM)
        for rules in (TestRules(**rates), wrong)
    ]
    assert np.array_equal(*drawn)
    assert TestRules(detects="infected").believed == TestRules().believed


def admit(until, positives, **rules):
    return isolation.admit(
        until, np.asarray(positives), day=5, rules=IsolationRules(**rules), stream=STREAM
    )


def test_isolation_lasts_its_days_and_starts_tomorrow():
    until = admit(np.full(3, -1, dtype=np.int32), [1], days=10)
    assert until.tolist() == [-1, 15, -1]
    assert [int((until >= day)[1]) for day in (6, 15, 16)] == [1, 1, 0]


def test_nobody_isolates_before_the_start_or_without_adherence():
    nobody = np.full(1000, -1, dtype=np.int32)
    everyone = np.arange(1000)
    assert np.array_equal(admit(nobody, everyone, start_day=6), nobody)
    assert np.array_equal(admit(nobody, everyone, adherence=0.0), nobody)
    assert np.array_equal(admit(nobody, everyone, days=0), nobody)
    half = (admit(nobody, everyone, adherence=0.5) > 0).mean()
    assert abs(half - 0.5) < 0.08  # standard deviation 0.016; 5 of them


def test_adherence_by_person_is_the_same_on_every_day():
    nobody, everyone = np.full(1000, -1, dtype=np.int32), np.arange(1000)

    def follows(day, unit):
        rules = IsolationRules(adherence=0.5, adherence_unit=unit)
        return isolation.admit(nobody, everyone, day=day, rules=rules, stream=STREAM) > 0

    person, event = AdherenceUnit.PERSON, AdherenceUnit.EVENT
    assert np.array_equal(follows(5, person), follows(9, person))
    assert 0.4 < (follows(5, event) == follows(9, event)).mean() < 0.6


def test_dropout():
    until = np.full(10_000, 20, dtype=np.int32)
    rules = IsolationRules(dropout=0.1)
    left = isolation.drop_out(until, day=7, rules=rules, stream=STREAM)
    assert abs((left == 6).mean() - 0.1) < 0.015  # standard deviation 0.003; 5 of them
    assert ((left == 6) | (left == 20)).all()
    nobody = np.full(10, 6, dtype=np.int32)  # their time is over
    assert np.array_equal(isolation.drop_out(nobody, day=7, rules=rules, stream=STREAM), nobody)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TestRules(capacity=1.2), "capacity: input should be"),
        (lambda: TestRules(capacity=float("nan")), "capacity: input should be"),
        (lambda: TestRules(order_delay=-1), "order_delay: input should be"),
        (lambda: IsolationRules(days=-1), "days: input should be"),
        (lambda: IsolationRules(adherence=2), "adherence: input should be"),
        (lambda: IsolationRules(dropout=-0.1), "dropout: input should be"),
    ],
)
def test_bad_rules(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_sample_follows_the_scores():
    """Drawn in proportion to scores: the share of a person with half the score is half."""
    from dnatrace.policy.base import Situation
    from dnatrace.policy.sampled_scores import SampledScoresSettings

    n_people = 3_000
    scores = np.where(np.arange(n_people) % 2 == 0, 0.02, 0.01)
    scores[:10] = 0.9, *(0.8,) * 9
    eligible = np.ones(n_people, dtype=np.bool_)
    eligible[0] = False
    released = mechanisms.publish_public(scores, day=1)
    policy = SampledScoresSettings(sampled_share=0.9).build(IsolationRules(), seed=3)
    chosen = [
        policy.choose(
            released,
            Situation(day=day, eligible=eligible, most_tests=100),
            policy.start(n_people),
        )[0]
        for day in range(1, 41)
    ]
    assert all(ids.size == np.unique(ids).size == 100 and 0 not in ids for ids in chosen)
    assert all({*range(1, 10)} <= {*ids.tolist()} for ids in chosen)  # from the top
    drawn = np.concatenate(chosen)
    drawn = drawn[drawn >= 10]
    # 3,600 draws, two thirds of them even: 5 standard deviations are 0.04.
    assert (drawn % 2 == 0).mean() == pytest.approx(2 / 3, abs=0.04)
    highest = SampledScoresSettings(sampled_share=0.0).build(IsolationRules(), seed=3)
    situation = Situation(day=1, eligible=eligible, most_tests=9)
    assert highest.choose(released, situation, highest.start(n_people))[0].tolist() == [
        *range(1, 10)
    ]
