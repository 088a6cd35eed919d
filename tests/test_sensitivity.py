"""Sensitivities: exact where claimed, never exceeded by a search, reached where tight."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnatrace.errors import InputError
from dnatrace.inference import exposures as ex
from dnatrace.methods.base import Score, Setup
from dnatrace.methods.dpfn import DpfnSettings
from dnatrace.methods.dpfn_s import DpfnSSettings, restarted
from dnatrace.privacy import sensitivity as sv
from dnatrace.privacy.accounting import Target
from dnatrace.privacy.budget_filter import linear_statistic
from dnatrace.privacy.gaussian import epsilon_of_mu
from dnatrace.privacy.sensitivity import LinearForm, exposure_reach
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.seir import SeirParameters, TestErrors

from . import reference_privacy as reference
from .private_methods import ONE, facts_of
from .reference_privacy import PAPER_TESTS, parameters

PAPER = SeirParameters()
SCORES = pytest.mark.parametrize("with_exposed", [False, True])


def short(values):
    return [round(v, 2) for v in values]


def one_score(x, tests, p, with_exposed, errors=PAPER_TESTS):
    return ex.last_day_scores(
        np.asarray(x, dtype=float)[:, None],
        np.asarray(tests, dtype=np.int8)[:, None],
        parameters=p,
        test_errors=errors,
        with_exposed=with_exposed,
    )[0]


@st.composite
def people(draw, least_days=1, most_days=14):
    n = draw(st.integers(least_days, most_days))
    x = draw(st.lists(st.floats(0, 3), min_size=n, max_size=n))
    tests = draw(st.lists(st.sampled_from([-1, -1, 0, 1]), min_size=n, max_size=n))
    p = SeirParameters(
        p0=draw(st.sampled_from([1e-4, 1e-3, 0.05])),
        p1=0.05,
        g=draw(st.sampled_from([0.3, 0.99])),
        h=draw(st.sampled_from([0.1, 0.7])),
    )
    errors = TestErrors(
        false_positive_rate=draw(st.sampled_from([0.0, 0.01, 0.25])),
        false_negative_rate=draw(st.sampled_from([0.001, 0.03])),
    )
    return np.array(x), np.array(tests), p, errors, draw(st.booleans())


# The chain and its derivatives.


@given(people(most_days=5))
def test_scores_agree_with_enumeration(person):
    x, tests, p, errors, exposed = person
    expected = reference.score_by_enumeration(x, tests, p, errors, exposed)
    assert reference.score(x, tests, p, errors, exposed) == pytest.approx(expected, rel=1e-9)
    assert one_score(x, tests, p, exposed, errors) == pytest.approx(expected, rel=1e-8, abs=1e-15)


@given(people())
def test_weights_agree_with_imaginary_steps(person):
    x, tests, p, errors, exposed = person
    form = sv.linear_form(
        x[:, None],
        tests.astype(np.int8)[:, None],
        parameters=p,
        test_errors=errors,
        with_exposed=exposed,
    )
    assert form.scores[0] == pytest.approx(reference.score(x, tests, p, errors, exposed), rel=1e-8)
    expected = reference.weights(x, tests, p, errors, exposed)
    assert form.weights[:, 0] == pytest.approx(expected, rel=1e-7, abs=1e-10)


def test_weights_do_not_depend_on_neighbours_in_a_block(threads):
    rng = np.random.default_rng(5)
    x = rng.random((14, 131))
    tests = rng.integers(-1, 2, (14, 131)).astype(np.int8)
    args = {"parameters": PAPER, "test_errors": PAPER_TESTS, "with_exposed": True}
    together = sv.linear_form(x, tests, **args)
    for i in (0, 63, 64, 130):
        alone = sv.linear_form(x[:, i : i + 1].copy(), tests[:, i : i + 1].copy(), **args)
        assert np.array_equal(alone.weights[:, 0], together.weights[:, i])
    threads(1)
    assert np.array_equal(sv.linear_form(x, tests, **args).weights, together.weights)


@given(people(least_days=2), st.data())
def test_attained_change_is_what_one_message_does(person, data):
    _, tests, p, errors, exposed = person
    counts = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=len(tests), max_size=len(tests)))
    )
    change, _ = sv.attained_change(
        tests.astype(np.int8)[:, None],
        counts[:, None],
        parameters=p,
        test_errors=errors,
        gamma=0.7,
        with_exposed=exposed,
    )
    still = reference.score(np.zeros(len(tests)), tests, p, errors, exposed)
    moved = [
        abs(
            reference.score(np.eye(len(tests))[t] * -math.log1p(-0.035), tests, p, errors, exposed)
            - still
        )
        for t in range(len(tests))
        if counts[t] > 0
    ]
    assert change[0] == pytest.approx(max(moved, default=0.0), rel=1e-6, abs=1e-12)


def test_the_last_days_have_no_influence():
    for exposed, silent in ((True, [13]), (False, [13, 12])):
        form = sv.linear_form(
            np.full((14, 1), 0.1),
            np.full((14, 1), -1, dtype=np.int8),
            parameters=PAPER,
            test_errors=PAPER_TESTS,
            with_exposed=exposed,
        )
        assert [t for t in range(14) if form.weights[t, 0] == 0.0] == sorted(silent)
        assert 13 - max(np.flatnonzero(form.weights[:, 0])) == sv.first_age(exposed)


# Constants that are stated.


def test_stated_decay():
    infected = sv.decay(PAPER, window=14, with_exposed=False)
    both = sv.decay(PAPER, window=14, with_exposed=True)
    tail = [0.90, 0.81, 0.73, 0.66, 0.59, 0.53, 0.48, 0.43, 0.39, 0.35, 0.31]
    assert short(infected) == [0, 0, 0.99, *tail]
    assert short(both) == [0, 1, 1, *tail]
    assert math.sqrt(sum(k * k for k in infected)) == pytest.approx(2.198, abs=5e-4)
    assert math.sqrt(sum(k * k for k in both)) == pytest.approx(2.419, abs=5e-4)


def test_stated_suprema_and_universal_bounds():
    c = PAPER.p1 * 0.7
    for exposed, share in ((False, 0.977), (True, 0.986)):
        found = sv.supremum_without_tests(PAPER, 0.7, window=14, with_exposed=exposed)
        assert found / c == pytest.approx(share, abs=5e-4)
    assert sv.supremum_without_tests(PAPER, 0.7, window=14, with_exposed=False) == pytest.approx(
        PAPER.g * (1 - PAPER.p0) ** 13 * c, rel=1e-12
    )
    for c, bound in ((0.007, 0.479), (0.02, 0.645), (0.035, 0.719), (0.05, 0.760)):
        assert reference.universal_bound(parameters(c), 1.0) == pytest.approx(bound, abs=5e-4)
    assert reference.universal_bound(SeirParameters(p0=0.0), 1.0) == 1.0


@pytest.mark.parametrize(
    ("errors", "low", "high"),
    [((0.01, 0.001), 8.6, 23.4), ((0.1, 0.01), 6.0, 8.1), ((0.25, 0.03), 3.2, 3.6)],
)
def test_one_positive_test_breaks_the_published_sensitivity(errors, low, high):
    tests = np.full((14, 14), -1, dtype=np.int8)
    np.fill_diagonal(tests, 1)
    found = {}
    for c in (0.007, 0.02, 0.035, 0.05):
        change = [
            sv.attained_change(
                tests,
                np.ones((14, 14)),
                parameters=parameters(c),
                test_errors=TestErrors(
                    false_positive_rate=errors[0], false_negative_rate=errors[1]
                ),
                gamma=1.0,
                with_exposed=exposed,
            )[0].max()
            for exposed in (False, True)
        ]
        found[c] = max(change) / c
    assert found[0.05] == pytest.approx(low, abs=0.06)
    assert found[0.007] == pytest.approx(high, abs=0.06)
    assert errors[0] > 0.01 or found[0.035] >= 8


# Searches: bounds hold, tight ones are reached.


def search(value, *, most_exposure, histories, starts=6, seed=0):
    rng = np.random.default_rng(seed)
    best = 0.0
    for density in np.linspace(0.0, 0.6, starts):
        tests = rng.choice([-1, 0, 1], 14) if histories else np.full(14, -1)
        exposures = most_exposure * (rng.random(14) < density)
        start = (exposures, tests, int(rng.integers(0, 13)))
        moves = lambda state, rng: reference.neighbours_of_window(  # noqa: E731
            state, rng, most_exposure=most_exposure, histories=histories
        )
        best = max(best, reference.ascend(value, start, moves, rng)[1])
    return best


def change_of_score(p, with_exposed):
    s = -math.log1p(-p.p1)

    def value(state):
        x, tests, day = state
        more = x.copy()
        more[day] += s
        pair = np.column_stack([x, more])
        both = np.repeat(np.asarray(tests, dtype=np.int8)[:, None], 2, axis=1)
        scores = ex.last_day_scores(
            pair, both, parameters=p, test_errors=PAPER_TESTS, with_exposed=with_exposed
        )
        return abs(scores[1] - scores[0])

    return value


@SCORES
def test_without_tests_the_search_reaches_the_supremum_and_no_more(with_exposed):
    p = parameters(0.035)
    found = search(change_of_score(p, with_exposed), most_exposure=1.0, histories=False)
    supremum = sv.supremum_without_tests(p, 1.0, window=14, with_exposed=with_exposed)
    assert 0.97 * supremum <= found <= supremum * (1 + 1e-9)


def test_with_quick_recovery_the_supremum_is_on_the_other_side():
    p = SeirParameters(p1=0.035, h=0.9, p0=0.01)
    found = search(change_of_score(p, False), most_exposure=30.0, histories=False)
    supremum = sv.supremum_without_tests(p, 1.0, window=14, with_exposed=False)
    assert supremum > p.g * (1 - p.p0) ** 13 * 0.035
    assert 0.97 * supremum <= found <= supremum * (1 + 1e-9)


@SCORES
def test_with_tests_the_search_breaks_the_theorem_but_not_the_universal_bound(with_exposed):
    p = parameters(0.035)
    s = -math.log1p(-0.035)
    found = search(change_of_score(p, with_exposed), most_exposure=15 * s, histories=True, starts=3)
    assert 8 * 0.035 <= found <= reference.universal_bound(p, 1.0) * (1 + 1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.007, 0.035, 0.2]), st.booleans())
def test_history_bound_holds(seed, c, with_exposed):
    rng = np.random.default_rng(seed)
    n = 300
    counts = rng.integers(1, 15, (14, n))
    tests = np.where(rng.random((14, n)) < 0.25, rng.integers(0, 2, (14, n)), -1).astype(np.int8)
    p = parameters(c)
    s = -math.log1p(-c)
    levels = rng.choice([0.0, 0.0, 0.3, 1.0], (14, n))
    x = levels * (counts - 1) * s
    more = x.copy()
    more[rng.integers(0, 14, n), np.arange(n)] += s
    args = {"parameters": p, "test_errors": PAPER_TESTS, "with_exposed": with_exposed}
    moved = np.abs(ex.last_day_scores(more, tests, **args) - ex.last_day_scores(x, tests, **args))
    bound = sv.history_bound(tests, counts, parameters=p, test_errors=PAPER_TESTS, gamma=1.0)
    assert (moved <= bound * (1 + 1e-9)).all()
    assert (bound <= reference.universal_bound(p, 1.0) * (1 + 1e-9)).all()
    for i in rng.integers(0, n, 5):
        expected = reference.history_bound(tests[:, i], counts[:, i], p, PAPER_TESTS, 1.0)
        assert bound[i] == pytest.approx(expected, rel=1e-9)


def test_history_bound_without_tests_is_c():
    untested = np.full((14, 3), -1, dtype=np.int8)
    for rows in (untested, untested[:1]):
        bound = sv.history_bound(
            rows, np.ones_like(rows), parameters=PAPER, test_errors=PAPER_TESTS, gamma=0.5
        )
        assert bound == pytest.approx(0.015, rel=1e-9)


@SCORES
def test_two_sided_decay_holds_and_is_reached(with_exposed):
    """A message moves F by at most c·κ̄; many infected later contacts make it exceed c·κ."""
    p = SeirParameters(p0=1e-6, p1=0.02)
    bound = sv.two_sided_decay(p, window=14, with_exposed=with_exposed)
    kappa = sv.decay(p, window=14, with_exposed=with_exposed)
    untested = np.full(14, -1)
    value = change_of_score(p, with_exposed)
    for age in range(1, 14):
        day = 13 - age
        found = max(
            value((10.0 * np.eye(14)[later] * (later > day), untested, day)) for later in range(14)
        )
        assert found == pytest.approx(0.02 * bound[age], rel=0.01, abs=1e-15)
        assert found <= 0.02 * bound[age] * (1 + 1e-9) + 1e-15
    assert bound[13] > 2 * kappa[13]
    # 50 contacts a day are enough to exceed κ for the oldest message.
    realistic = np.where(np.arange(14) >= 8, 50 * 0.0212, 0.0)
    assert change_of_score(parameters(0.021), False)((realistic, untested, 0)) > 0.021 * kappa[13]


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_restart_keeps_every_used_message_within_the_two_sided_decay(seed, with_exposed):
    rng = np.random.default_rng(seed)
    n, c = 300, 0.05
    p, s = parameters(c), -math.log1p(-c)
    tests = np.where(rng.random((14, n)) < 0.2, rng.integers(0, 2, (14, n)), -1).astype(np.int8)
    usable = sv.usable_days(tests)
    x = np.where(usable, rng.choice([0.0, 0.5, 5.0], (14, n)), 0.01)
    day = rng.integers(0, 14, n)
    more = x.copy()
    more[day, np.arange(n)] += s * usable[day, np.arange(n)]
    args = {"parameters": p, "test_errors": PAPER_TESTS, "with_exposed": with_exposed}
    moved = np.abs(ex.last_day_scores(more, tests, **args) - ex.last_day_scores(x, tests, **args))
    bound = c * np.array(sv.two_sided_decay(p, window=14, with_exposed=with_exposed))[13 - day]
    assert (moved <= bound * (1 + 1e-9) + 1e-12).all()


def test_usable_days():
    tests = np.full((5, 3), -1, dtype=np.int8)
    tests[3, 1] = 0
    tests[0, 2] = 1
    assert sv.usable_days(tests).T.tolist() == [
        [True] * 5,
        [False, False, True, True, True],
        [True] * 5,
    ]


# Exposures.


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.2, 1.0]))
def test_clipped_exposures_move_by_at_most_the_reach(seed, gamma):
    crowd = reference.crowd(np.random.default_rng(seed), n_receivers=12)
    public, secret = crowd.facts(crowd.messages, SeirParameters(p1=0.03))
    setup = Setup(target=Target(epsilon=1.0))
    bounded = DpfnSettings(gamma=gamma).bounded(setup, public, secret, slice(0, 14))
    other = ex.clipped_exposures(crowd.window, crowd.neighbour, p1=0.03, gamma=gamma)
    moved = np.abs(other - bounded.values)
    assert (moved <= bounded.sensitivity).all()
    assert ((moved > 0).sum(axis=0) <= 1).all()
    assert moved.max() >= 0.97 * sv.exposure_reach(0.03, gamma)
    expected = np.zeros_like(bounded.values)
    for t, day in enumerate(crowd.window):
        for s, r in zip(day.senders, day.receivers(), strict=True):
            expected[t, r] -= math.log1p(-0.03 * min(float(crowd.messages[t, s]), gamma))
    assert bounded.values == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_wrong_input_is_named():
    for gamma in (0.0, -1.0, 1.5, math.nan):
        with pytest.raises(InputError, match="gamma"):
            sv.message_reach(0.03, gamma)
    with pytest.raises(InputError, match="p1"):
        sv.exposure_reach(1.0, 1.0)
    window = ContactWindow(n_people=2, n_days=3)
    window.push(DayContacts.empty(2))
    with pytest.raises(InputError, match="shape"):
        ex.clipped_exposures(window, np.zeros((2, 2)), p1=0.1, gamma=1.0)


@pytest.mark.parametrize("weight", [1e-16, 3e-15, 1e-12, 1e-8, 1e-6, 1e-3])
def test_the_sensitivity_of_linear_covers_its_rounding(weight):
    """20,000 windows each in which the messages of one day go from nothing to everything."""
    n, reach = 20_000, exposure_reach(0.02, 1.0)
    rng = np.random.default_rng(5)
    weights = weight * rng.random((3, n))
    form = LinearForm(scores=rng.random(n), weights=weights, lifts=np.empty((0, n)))
    counts = np.ones((3, n), dtype=np.int32)
    moved = rng.random((3, n)) * reach
    found = []
    for said in (0.0, reach / (1 + 1e-9)):
        moved[1] = said
        found.append(
            linear_statistic(
                form, moved, counts, np.zeros((3, n)), reach=reach, mu=1.0, budget=None
            )
        )
    change = np.abs(found[0].values - found[1].values)
    assert (change <= found[0].sensitivity).all()
    if weight == 1e-3:
        assert (change > 0.0).mean() > 0.9


def test_restart_states_a_sensitivity_above_rounding():
    window = ContactWindow(n_people=2, n_days=14)
    for _ in range(14):
        window.push(DayContacts.from_pairs([0], [1], n_people=2))
    messages, outcomes = np.zeros((14, 2), np.float32), np.full((14, 2), -1, np.int8)
    facts = facts_of(window, outcomes, messages, parameters(1e-12))
    statistic, _ = restarted(DpfnSSettings(release="restart"), Setup(target=ONE), *facts)
    assert statistic.sensitivity[1] > 2.0**-50
    assert statistic.sensitivity[0] == 0.0


def test_what_restart_costs_is_what_the_guarantees_say():
    """The row of `restart` in docs/guarantees.md, computed from the code."""
    text = (Path(__file__).parents[1] / "docs" / "guarantees.md").read_text("utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| `restart` |"))
    found = []
    for score in Score:
        settings = DpfnSSettings(release="restart", score=score)
        window = ContactWindow(n_people=2, n_days=14)
        window.push(DayContacts.from_pairs([0], [1], n_people=2))
        said, tests = np.zeros((1, 2), np.float32), np.full((1, 2), -1, np.int8)
        facts = facts_of(window, tests, said, parameters(0.02), errors=PAPER_TESTS)
        _, lifetime = restarted(settings, Setup(target=ONE), *facts)
        factors = (lifetime.contact_factor, lifetime.pair_factor)
        found.append([epsilon_of_mu(ONE.mu * factor, 1e-3) for factor in factors])
    (contact, pair), (contact_exposed, pair_exposed) = found
    expected = f"{contact:.2f} / {contact_exposed:.2f} | {pair:.1f} / {pair_exposed:.1f}"
    assert row == f"| `restart` | {expected} |"
