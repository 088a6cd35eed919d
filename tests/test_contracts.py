"""What simulators, policies and methods return is checked before it is used."""

from dataclasses import replace

import numpy as np
import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.methods.chance import Chance
from dnatrace.methods.headcount import Headcount
from dnatrace.policy.highest_scores import HighestScores
from dnatrace.privacy.release import Bounded, TrustBoundaryError
from dnatrace.records import DayContacts
from dnatrace.runs.run import build_loop
from dnatrace.simulators.city import City
from tests import command_line

CONFIG = dt.RunConfig(people=60, days=3, initially_infected=6)


def run_with(monkeypatch, kind, name, answer):
    """Run three days with a part whose method gives another answer."""
    before = getattr(kind, name)

    def other(self, *arguments, **options):
        return answer(before(self, *arguments, **options))

    monkeypatch.setattr(kind, name, other)
    return dt.run(CONFIG)


def test_right_answers_pass(monkeypatch):
    assert run_with(monkeypatch, HighestScores, "choose", lambda same: same).summary["days"] == 3


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (lambda _: None, "City.advance must return DayContacts, not None"),
        (lambda _: [], "City.advance must return DayContacts, not a list"),
        (
            lambda _: DayContacts.empty(9),
            "City.advance returned contacts of 9 people, and there are 60",
        ),
    ],
)
def test_contacts_of_a_simulator(monkeypatch, answer, line):
    with pytest.raises(InputError) as told:
        run_with(monkeypatch, City, "advance", answer)
    assert str(told.value) == line


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (lambda _: None, "choose must return two values: whom to test, and the state; not None"),
        (lambda a: (None, a[1]), "choose must return ids of people as whole numbers, not None"),
        (lambda a: (np.array([0.5]), a[1]), "whole numbers, not an array of float64, shape [1]"),
        (lambda a: (np.array([60]), a[1]), "choose chose a person outside 0 … 59 on day 1"),
        (lambda a: (np.array([-1]), a[1]), "choose chose a person outside 0 … 59 on day 1"),
        (lambda a: (np.array([4, 4]), a[1]), "choose chose a person twice on day 1"),
        (lambda a: (np.arange(60), a[1]), "choose chose 60 people on day 1, and 4 can be tested"),
    ],
)
def test_whom_a_policy_tests(monkeypatch, answer, line):
    with pytest.raises(InputError) as told:
        run_with(monkeypatch, HighestScores, "choose", answer)
    assert str(told.value).startswith("HighestScores.")
    assert str(told.value).endswith(line)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (lambda a: a[0], "must return two values: who stays at home, and the state; not an array"),
        (lambda a: (np.zeros(60), a[1]), "must return who stays at home as bool, not an array of"),
        (
            lambda a: (np.zeros(3, bool), a[1]),
            "must return one value per person, 60, not shape [3]",
        ),
    ],
)
def test_who_stays_at_home(monkeypatch, answer, line):
    with pytest.raises(InputError) as told:
        run_with(monkeypatch, HighestScores, "isolate", answer)
    assert str(told.value).startswith(f"HighestScores.isolate {line}")


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (lambda scores: scores * np.nan, "Headcount.decode returned NaN for everybody on day 1"),
        (
            lambda scores: scores[:7],
            "Headcount.decode must return one number per person, 60, not an array of float64, "
            "shape [7]",
        ),
        (lambda _: None, "Headcount.decode must return one number per person, 60, not None"),
    ],
)
def test_scores_of_a_method(monkeypatch, answer, line):
    with pytest.raises(InputError) as told:
        run_with(monkeypatch, Headcount, "decode", answer)
    assert str(told.value) == line


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (lambda _: None, "Headcount.query must return a Query, not None"),
        (lambda _: np.zeros(60), "Headcount.query must return a Query, not an array of float64"),
        (
            lambda query: replace(query, statistic=np.zeros(60)),
            "Headcount.query returned a statistic that must be a Bounded or None, not an array",
        ),
        (
            lambda query: replace(
                query, statistic=Bounded(values=np.zeros(2), sensitivity=np.ones(2))
            ),
            "Headcount.query returned a statistic of shape [2] for 60 people",
        ),
    ],
)
def test_queries_of_a_method(monkeypatch, answer, line):
    """They were tracebacks of whatever looked at them first."""
    with pytest.raises(InputError) as told:
        run_with(monkeypatch, Headcount, "query", answer)
    assert str(told.value).startswith(line)


def test_a_statistic_that_cannot_be_bounded_names_its_method(monkeypatch):
    def wrong(self, *arguments):
        return Bounded(values=np.zeros(60), sensitivity=1.0)

    monkeypatch.setattr(Headcount, "query", wrong)
    line = "^Headcount.query: sensitivity must be an array, not 1.0$"
    with pytest.raises(TrustBoundaryError, match=line):
        dt.run(CONFIG)
    done = command_line.run("run", "--people", 60, "--days", 2)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"dnatrace: {line[1:-1]}")


@pytest.mark.parametrize(
    ("step", "answer"), [("settle", lambda _: None), ("settle", lambda rows: rows[:, :3])]
)
def test_rows_of_a_method(monkeypatch, step, answer):
    line = rf"^Headcount.{step} must return numbers \[rows, people\], 60 per row, not "
    with pytest.raises(InputError, match=line):
        run_with(monkeypatch, Headcount, step, answer)


def test_scores_of_a_public_method_come_with_a_state(monkeypatch):
    monkeypatch.setattr(Chance, "scores", lambda *_: None)
    with pytest.raises(InputError, match=r"^Chance.scores must return two values: scores, and the"):
        dt.run(dt.RunConfig(method="random", people=60, days=2))


def test_a_tracker_that_returns_nothing_is_named():
    with pytest.raises(InputError, match=r"^track must return what yields the days or runs"):
        dt.run(CONFIG, track=lambda days, n: None)


def test_a_tracker_that_ends_early_ends_the_run_with_a_line():
    with pytest.raises(InputError, match=r"^track: it ended after day 2 of 3"):
        dt.run(CONFIG, track=lambda days, n: list(days)[: n - 1])


def test_a_policy_may_say_that_it_goes_beyond_the_laboratory():
    loop = build_loop(CONFIG)

    class Everybody:
        """Tests everybody, every day."""

        beyond_capacity = True

        def __getattr__(self, name):
            return getattr(loop.policy, name)

        def choose(self, released, situation, state):
            del released
            return np.flatnonzero(situation.eligible), state

    everybody = replace(loop, policy=Everybody())
    (first,) = everybody.run(1)
    assert first.tested.size > loop.most_tests
