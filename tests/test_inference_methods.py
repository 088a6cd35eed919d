"""Methods of inference in the loop: what their settings change, and what they leave as it is."""

import re
from pathlib import Path

import numpy as np
import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.inference.belief_propagation import BeliefPropagation
from dnatrace.inference.infection_times import OneRound
from dnatrace.inference.infer import infer
from dnatrace.methods.fn import NEVER, after_results
from dnatrace.methods.infection_time import LEAST_OUTSIDE, found_per_person_day
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.seir import TestErrors
from tests.private_methods import made
from tests.test_methods import facts

CONTACTS = np.array([(0, 1, 1), (1, 0, 1), (1, 2, 3), (2, 1, 3), (0, 1, 4), (1, 0, 4)])
TESTS = np.array([(0, 4, 1), (2, 4, 0)])
SIZE = {"n_people": 4, "n_days": 6}


@pytest.mark.parametrize("inference", ["fn", "one-round", "bp"])
def test_beliefs_of_every_inference(inference):
    beliefs = infer(CONTACTS, TESTS, inference=inference, **SIZE)
    assert beliefs.shape == (4, 6, 4)
    np.testing.assert_allclose(beliefs.sum(axis=2), 1.0, atol=1e-5)
    infected = beliefs[:, -1, 1:].sum(axis=1)
    assert infected[0] > infected[1] > infected[3]  # the positive, who met them, who met nobody


def test_second_hand_news_needs_more_than_one_round():
    """Person 2 met only somebody who met the positive: heard of by `bp`, not by `one-round`."""
    tests = np.array([(0, 4, 1)])
    strong = dt.CourseParameters(transmission=5.0)
    never = {
        name: infer(CONTACTS, tests, inference=name, course=strong, **SIZE)[2, -1, 0]
        for name in ("one-round", "bp")
    }
    alone = infer(CONTACTS[:2], tests, inference="bp", course=strong, **SIZE)[2, -1, 0]
    assert 1.0 - never["bp"] > 3.0 * (1.0 - alone)
    assert never["one-round"] == pytest.approx(alone, abs=1e-4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inference": "magic"}, "unknown inference 'magic'"),
        ({"inference": "bp", "clip": 0.5}, "clip: inference 'bp' has none"),
        ({"inference": "one-round", "rounds": 3}, "rounds: inference 'one-round' has none"),
        ({"course": dt.CourseParameters()}, "course: inference 'fn' has none"),
        ({"inference": "bp", "rounds": 0}, "rounds must be between 1 and 1000"),
    ],
)
def test_arguments_without_effect_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        infer(CONTACTS, TESTS, **given)


def test_susceptibility_needs_nine_ages():
    with pytest.raises(InputError, match="susceptibility_by_age"):
        dt.RunConfig(method={"name": "bp", "susceptibility_by_age": [1.0, 2.0]})


def test_fn_with_the_settings_of_the_exchange_is_fn():
    """An exchange of its own with five rounds and the paper's prior gives the same belief."""
    size = {"people": 300, "days": 20, "seed": 3, "initially_infected": 10}
    usual = dt.run(dt.RunConfig(method="fn", **size))
    own = dt.run(dt.RunConfig(method={"name": "fn", "own_rounds": 5}, **size))
    assert own.daily["infected"] == usual.daily["infected"]
    assert own.daily["auroc"] == usual.daily["auroc"]
    two = dt.run(dt.RunConfig(method={"name": "fn", "own_rounds": 2}, **size))
    assert two.daily["auroc"] != usual.daily["auroc"]


def test_who_remembers_a_positive_test_is_no_longer_at_risk():
    public, secret = facts()
    remembers = made("fn", remembers_positives=True)
    last = np.full(public.n_people, NEVER, dtype=np.int32)
    last[5] = 19  # the window begins on day 20
    outcomes = public.outcomes.copy()
    outcomes[:, 5] = -1
    known = {k: getattr(public, k) for k in public.__slots__}
    known |= {"outcomes": outcomes, "first_day": 20, "day": 19 + public.n_days}
    public = type(public)(**known)
    with_memory, _ = remembers.scores(public, secret, last)
    without, after = remembers.scores(public, secret, remembers.start(public.n_people))
    assert with_memory[5] == 0.0 < without[5]
    positive = (outcomes == 1).any(axis=0)
    assert ((after != NEVER) == positive).all()
    assert (after_results(last, public)[positive] >= public.first_day).all()


def test_infection_from_outside_is_learned_from_positivity():
    public, _ = facts()
    outcomes = np.full_like(public.outcomes, -1)
    known = {k: getattr(public, k) for k in public.__slots__}
    errors = TestErrors(false_positive_rate=0.01, false_negative_rate=0.0)
    fill = known | {"outcomes": outcomes, "test_errors": errors}
    assert found_per_person_day(type(public)(**fill)) == LEAST_OUTSIDE
    outcomes[0, :] = 0
    n = public.n_people
    outcomes[0, : n // 4] = 1
    expected = (n // 4 - 0.01 * n) / 0.99 / outcomes.size
    assert found_per_person_day(type(public)(**fill)) == pytest.approx(expected)
    learned = made("one-round", outside_share=0.5).settings.course(type(public)(**fill))
    assert learned.p0 == pytest.approx(0.5 * expected)
    fn = made("fn", outside_share=0.5)
    assert fn._parameters(type(public)(**fill)).p0 == pytest.approx(0.5 * expected)
    assert made("fn", own_p0=0.2)._parameters(public).p0 == 0.2


@pytest.mark.parametrize("name", ["one-round", "bp"])
@pytest.mark.parametrize("days", [1, 13, 14, 30])
def test_people_infected_before_the_first_day(name, days):
    """Without contacts and tests P(never infected) is that of the first day and of all others.

    The first day keeps its share when it leaves the window, and the days before it have none of it.
    """
    share, p0 = 0.02, 1e-3
    method = made(name, infected_at_first=share, p0=p0)
    course = method.settings.course
    state = method.start(3)
    window = ContactWindow(n_people=3, n_days=14)
    posterior = np.empty(0)
    for day in range(days):
        window.push(DayContacts.empty(3))
        outcomes = np.full((min(day + 1, 14), 3), -1, dtype=np.int8)
        engine = _engine(name, course(facts()[0]))
        posterior, state = engine.step(state, window, outcomes, None)
    on_first = posterior[0, posterior.shape[1] - 3 - days]
    assert on_first == pytest.approx(share * (1.0 - p0) ** 13, rel=1e-9)
    others = 13 + days  # days of the first window before the run, and days of the run
    never = (1.0 - share) * (1.0 - p0) ** others
    assert posterior[0, -2] == pytest.approx(never, rel=1e-9)


def _engine(name, course):
    kind = OneRound if name == "one-round" else BeliefPropagation
    return kind(parameters=course, test_errors=TestErrors())


def test_scores_times_contacts():
    public, secret = facts()
    plain = made("one-round")
    times = made("one-round", contacts_power=1.0)
    risk, _ = plain.scores(public, secret, plain.start(public.n_people))
    weighed, _ = times.scores(public, secret, times.start(public.n_people))
    met = public.counts.sum(axis=0) / np.maximum((public.counts > 0).sum(axis=0), 1)
    np.testing.assert_allclose(weighed, risk * met / met.mean())


def test_the_echo_of_the_documentation(capsys):
    """The code of the page on the method prints what stands below it."""
    page = (Path(__file__).parents[1] / "docs" / "method.md").read_text(encoding="utf-8")
    page = page[page.index("## The echo") :]
    found = re.search(r"```python\n(import numpy.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert found is not None
    exec(compile(found[1], "method.md", "exec"), {})
    shown = capsys.readouterr().out
    assert shown == found[2]
    said = dict(line.rsplit(" ", 1) for line in shown.splitlines())
    numbers = {name: float(value) for name, value in said.items()}
    assert numbers["fn, 5 rounds"] > 2.0 * numbers["fn, 2 rounds"]  # the echo
    assert numbers["fn, 2 rounds"] < 1.5 * numbers["fn, nobody met"]
    assert numbers["bp"] < 1.5 * numbers["bp, nobody met"]
