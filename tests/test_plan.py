"""`dnatrace plan`: budgets that hold, a search that finds what is known, the same when resumed."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnatrace.errors import InputError
from dnatrace.plans import assumptions, bearers, comparison, files, instructions, planning, words
from dnatrace.plans.actions import FLOOR, METHODS, NO_SCORES, Action, World, follow, has_staff
from dnatrace.plans.budgets import Budgets, Outcome
from dnatrace.plans.comparison import NEXT_BEST, NOTHING, PLAN, STATUS_QUO
from dnatrace.plans.intervals import fewer, interval, is_gain, is_loss, is_told, more
from dnatrace.plans.search import Effort, Search, dominated, front_ranks, one_step_from
from dnatrace.policy.household import Trigger
from dnatrace.sweeps import sweep as sweeps

from . import command_line
from .forked_sweeps import alone, in_process

TINY = {"people": 300, "days": 20, "initially_infected": 10}
WORLD = World(scenario="autumn", overrides=TINY)
BUDGETS = Budgets(tests=0.02, quarantine=0.05, epsilon=5.0)
EFFORT = Effort(evaluations=10, seeds=2, first_seeds=1)
ARGUMENTS = ("plan", "--scenario", "autumn", "--tests", 0.02, "--quarantine", 0.05, "--epsilon", 5)
SMALL = ("--people", 200, "--days", 10, "--evaluations", 5, "--seeds", 2)


WORLDS = ["fewer follow", "fewer users", "more contagion"]


def fewer_words(row):
    return fewer(row, "infections_averted_vs_status_quo", "infections")


@pytest.fixture(autouse=True, scope="module")
def _here():
    with alone():
        yield


def planned(tmp_path, *, world=WORLD, budgets=BUDGETS, effort=EFFORT, **more):
    planner = planning.Planner(
        world=world, budgets=budgets, effort=effort, store=tmp_path / "runs", **more
    )
    return planning.make_plan(planner)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return planned(tmp_path_factory.mktemp("plan"))


# By construction: an outcome that the search must find.
def made_up(infected, home=1.0, tests=1.0, **more):
    usual = {"most_tests": 0.0, "most_quarantined": 0.0, "epsilon": 0.0}
    return Outcome(infected=infected, days_at_home=home, tests=tests, **(usual | more))


def searched(evaluate, **more):
    search = Search(
        world=WORLD,
        budgets=BUDGETS,
        methods=list(METHODS),
        effort=Effort(evaluations=60, seeds=4, first_seeds=2),
        seeds=range(4),
        **more,
    )
    for _ in search.stages(
        lambda configs, seeds: [[evaluate(c, s) for s in seeds] for c in configs]
    ):
        pass
    return search


def test_the_search_finds_the_best_answer_that_is_known():
    """Housemates at home for 14 days and all tests are best, by construction; ε brings nothing."""

    def outcome(config, seed):
        policy = config.policy
        gain = policy.household.days / 14 + policy.most_tests / BUDGETS.tests
        noise = np.random.default_rng(seed).normal(0.0, 0.05)  # the same for all: paired
        return made_up(0.6 - 0.2 * gain + noise, home=policy.household.days / 5)

    best = min(searched(outcome).finalists(), key=lambda one: one.goals()[0])
    assert (best.action.household_days, best.action.tests) == (14, 1.0)
    assert len(best.outcomes) == 4


def test_every_single_step_from_the_best_is_near_it():
    action = Action(method=FLOOR, tests=0.5, household_days=14, by_score=1.0, score_days=5)
    near = one_step_from(action, list(METHODS))
    assert action not in near
    assert {other.tests for other in near} == {0.25, 0.5, 0.75}
    assert {other.household_days for other in near} == {10, 14}
    assert {other.score_days for other in near} == {5, 7}
    assert {other.by_score for other in near} == {0.75, 1.0}
    assert {other.method for other in near} == set(METHODS)


def test_what_uses_more_than_a_budget_is_not_offered():
    def outcome(config, seed):
        over = config.policy.household.days > 7
        return made_up(0.1 if over else 0.5, most_quarantined=0.06 if over else 0.05)

    search = searched(outcome)
    assert {one.action.household_days for one in search.offered} == {0, 5, 7}
    assert {one.action.household_days for one in search.tried.values()} > {0, 5, 7}
    assert all(one.action.household_days <= 7 for one in search.finalists())


def test_what_a_run_may_use():
    outcome = made_up(0.5, most_tests=0.02, most_quarantined=0.05, epsilon=5.0)
    assert outcome.within(BUDGETS)
    for over in ({"most_tests": 0.021}, {"most_quarantined": 0.051}, {"epsilon": 5.1}):
        assert not made_up(0.5, **over).within(BUDGETS), over
    assert not made_up(0.5, epsilon=None).within(BUDGETS)  # nothing bounds it


def test_the_same_seed_searches_the_same():
    def outcome(config, seed):
        return made_up(int(config.digest, 16) % 1000 / 1000)

    one, other, third = (searched(outcome, seed=seed) for seed in (1, 1, 2))
    assert list(one.tried) == list(other.tried) != list(third.tried)


def test_fronts_by_hand():
    goals = np.array([[1.0, 1.0], [0.0, 2.0], [1.0, 2.0], [2.0, 2.0], [1.0, 1.0]])
    np.testing.assert_array_equal(dominated(goals), [False, False, True, True, False])
    np.testing.assert_array_equal(front_ranks(goals), [0, 0, 1, 2, 0])


def test_fewer_seeds_for_what_is_not_promising():
    effort = Effort(evaluations=200, seeds=10)
    assert (effort.batch, effort.rungs) == (20, [(67, 5), (20, 10)])
    plan = planning.FULL
    runs = plan.evaluations * plan.first_seeds + 67 * 3 + 20 * 5
    assert runs < plan.evaluations * plan.seeds / 2


def test_people_follow_levers_no_more_than_in_the_scenario():
    assert follow(WORLD.usual, "quarantine") == 0.6  # as the scenario says
    assert follow(WORLD.usual, "household") == 0.6  # as many as isolate
    school = World(scenario="school-term", overrides=TINY).usual
    assert (follow(school, "household"), follow(school, "symptoms")) == (0.8, 0.8)
    action = Action(household_days=10, waits=True)
    policy = action.config(WORLD, BUDGETS).policy
    assert policy.household.adherence == policy.symptoms.adherence == 0.6


def test_budgets_are_settings_of_every_action():
    action = Action(method=FLOOR, tests=0.5, for_scores=0.25, by_score=0.5, score_days=10)
    config = action.config(WORLD, BUDGETS)
    assert config.tests.capacity == config.policy.most_tests == 0.01
    assert config.policy.symptoms.capacity == 0.0075
    assert config.policy.most_quarantined == 0.05
    assert config.policy.quarantine.most_at_once == 0.025
    assert config.policy.quarantine.capacity == pytest.approx(0.025 / (10 * 0.6))
    private = Action(method="headcount", epsilon=2.0).config(WORLD, BUDGETS)
    assert (private.privacy.epsilon, private.privacy.unit) == (2.0, "person")


def test_budgets_hold_on_every_day_of_every_run(plan):
    for label in plan.front:
        for run in plan.uses[label]:
            assert run.within(BUDGETS)
    for one in plan.search.tried.values():
        assert all(run.within(BUDGETS) for run in one.outcomes)
    used = max(run.most_quarantined for one in plan.search.tried.values() for run in one.outcomes)
    assert 0.0 < used <= 0.05
    assert max(r.most_tests for o in plan.search.tried.values() for r in o.outcomes) > 0.0


def test_a_plan_says_what_was_measured(plan):
    said = words.recommendation(plan)
    row = next(row for row in plan.rows() if row["recommended"])
    averted = plan.study.difference(NOTHING, PLAN, "attack_rate").mean * 10_000
    assert row["infections_averted_vs_nothing"] == pytest.approx(averted)
    assert fewer(row, "infections_averted_vs_nothing", "infections") in said["brings"]
    assert fewer_words(row) in said["brings"]
    assert fewer_words(row) in said["in_short"]
    assert "28 % have the app" in said["depends"][0]
    assert said["depends"][1].startswith("Today means: people with symptoms who ask are tested")
    keys = {margin["key"] for margin in comparison.margins(plan.study, plan.steps)}
    assert {"more tests", "more quarantine", "epsilon", "messages", "exact messages"} <= keys
    lines = [*words.margin_lines(plan, parts=True), *words.margin_lines(plan, parts=False)]
    assert len(lines) == len(plan.steps)
    assert set(plan.study.seeds).isdisjoint(plan.search.seeds)


def test_every_number_of_averted_infections_says_per_how_many_people(plan):
    """300 people: a count of the city, a number per 10,000 and a share of a group all differ."""
    values = files.as_values(plan, small=True)
    nothing, today = values["baselines"]
    for row in [*values["front"], *values["bounds_not_private"], nothing, today]:
        for name, base in (("nothing", nothing), ("status_quo", today)):
            fewer_share = base["infected_share"] - row["infected_share"]
            told = row[f"infections_averted_vs_{name}"]
            assert told == pytest.approx(row["per_people"] * fewer_share, abs=1e-6)
    ours = next(row for row in values["front"] if row["recommended"])
    for row in values["averted"]:
        if row["quantity"] == "infections averted":
            told = ours[f"infections_averted_vs_{row['against'].replace(' ', '_')}"]
            assert row["mean"] / row["per_people"] == pytest.approx(told / ours["per_people"])
    assert {row["per_people"] for row in values["averted"]} == {300}
    assert {row["per_people"] for row in values["by_group"]} == {1}


def test_tables_of_the_front_have_units(plan):
    made = files.plan_files(plan, "x", small=True, page=b"")
    assert ",per_people," in made["plan-front.csv"].decode().splitlines()[0]
    assert "| infections averted per 10,000 people, against nothing |" in made["plan.md"].decode()
    assert [list(rows[0]) for rows in files.short_tables(plan)] == [
        ["plan", "averted per 10,000", "against status quo"],
        ["plan", "days at home", "tests", "ε"],
    ]
    shown = command_line.run(*ARGUMENTS, *SMALL).stdout
    assert "Infections averted per 10,000 people, against doing nothing" in " ".join(shown.split())


def row_of(mean, low=None, high=None):
    return {"n": mean, "n_low": low, "n_high": high}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (row_of(3871.6, 3455.1, 4288.2), "3,870 (3,460 to 4,290)"),
        (row_of(96.1, -31.9, 224.0), "100 (−30 to 220)"),
        (row_of(0.0337, 0.00144, 0.066), "0.034 (0.001 to 0.066)"),
        (row_of(1.2773, 1.2688, 1.2858), "1.28 (1.27 to 1.29)"),
        (row_of(0.495, 0.495, 0.495), "0.495"),
        (row_of(-4.07e-21, -8.64e-05, 8.64e-05), "0"),
        (row_of(12.3), "12.3 (one seed: no interval)"),
        (row_of(-0.2, -1.2, 0.8), "−0.2 (−1.2 to 0.8)"),
        (row_of(-0.01, -1.2, 1.18), "0.0 (−1.2 to 1.2)"),
        (row_of(1270.0, 31.1, 2508.0), "1,300 (30 to 2,500)"),
        (row_of(-1270.0, -2508.0, -31.1), "−1,300 (−2,500 to −30)"),
        (row_of(0.0333, 0.000311, 0.0663), "0.033 (0.0003 to 0.066)"),
        (row_of(1270.0, -31.1, 2508.0), "1,300 (0 to 2,500)"),
        (row_of(0.0004, 0.0002, 0.0006), "0.0004"),
    ],
)
def test_numbers_have_no_more_digits_than_their_intervals_allow(row, told):
    assert interval(row, "n") == told


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (row_of(392.0, 250.0, 535.0), "390 (250 to 540) more tests"),
        (row_of(-392.0, -535.0, -250.0), "390 (250 to 540) fewer tests"),
        (row_of(-87.1, -188.0, 14.2), "no detectable difference in tests (−190 to 10)"),
        (row_of(-4.07e-21, -8.64e-05, 8.64e-05), "as many tests"),
        (row_of(0.0, 0.0, 0.0), "as many tests"),
        (row_of(0.0), "as many tests"),
        (row_of(-3.0), "3 (one seed: no interval) fewer tests"),
        (row_of(1270.0, 31.1, 2508.0), "1,300 (30 to 2,500) more tests"),
        (row_of(-0.0333, -0.0663, -0.000311), "0.033 (0.0003 to 0.066) fewer tests"),
    ],
)
def test_a_difference_whose_interval_holds_0_is_none(row, told):
    assert more(row, "n", "tests") == told
    turned = row_of(-row["n"], *(None if row[e] is None else -row[e] for e in ("n_high", "n_low")))
    assert fewer(turned, "n", "tests") == told


@given(mean=st.floats(0.01, 1e5), share=st.floats(1e-6, 1.0), sign=st.sampled_from((-1.0, 1.0)))
def test_no_interval_that_excludes_0_seems_to_contain_it(mean, share, sign):
    """The end nearer to 0 is a share of the mean, on either side of 0."""
    near, far = sign * share * mean, sign * (2.0 - share) * mean
    told = interval(row_of(sign * mean, min(near, far), max(near, far)), "n")
    numbers = told.replace("(", "").replace(")", "").replace(",", "").split(" to ")
    assert all(float(number.split()[-1].replace("−", "-")) * sign > 0.0 for number in numbers)


def test_what_is_told_apart_from_0():
    assert is_told(row_of(1.0, 0.1, 2.0), "n")
    assert is_told(row_of(-1.0, -2.0, -0.1), "n")
    assert is_told(row_of(1.0, -0.1, 2.0), "n") is False
    assert is_told(row_of(1.0), "n") is None
    assert not is_gain(row_of(1.0), "n")  # one seed shows nothing
    assert is_gain(row_of(1.0, 0.1, 2.0), "n")
    assert not is_gain(row_of(1.0, -0.1, 2.0), "n")
    assert is_loss(row_of(-1.0, -2.0, -0.1), "n")
    assert not is_loss(row_of(-1.0), "n")
    assert not is_loss({}, "n")


def test_no_sentence_has_a_gain_out_of_noise(plan, monkeypatch):
    """Exact messages lose against none: then no share of what they gain is told."""
    rows = comparison.margins(plan.study, plan.steps)
    for row in rows:
        high = 14.2 if row["key"] == "messages" else -101.0
        row.update({"infections_averted": -199.0, "infections_averted_low": -297.0})
        row["infections_averted_high"] = high
    monkeypatch.setattr(comparison, "margins", lambda *_: rows)
    gap = {"share": None, "low": None, "high": None}
    monkeypatch.setattr(comparison, "gap_recovered", lambda _: gap)
    said = words.recommendation(plan)["privacy"]
    assert "which are not private: 199 (101 to 297) more infections." in said
    assert "at ε = 5: no detectable difference in infections" in said
    assert "the promise to a person has no detectable cost" in said
    assert "% (" not in said
    gap |= {"share": 0.5, "low": 0.2, "high": 0.9}
    assert "have 50 % (20 to 90 %) of what exact ones" in words.recommendation(plan)["privacy"]


def test_other_plans_are_told_by_what_they_do_instead():
    action = Action(method=FLOOR, tests=0.5, waits=True, household_days=5, by_score=0.5)

    def instead(**changes):
        return instructions.instead(replace(action, **changes), action, WORLD, BUDGETS)

    assert instead() == "The same"
    assert instead(household_days=0) == "No quarantine of housemates"
    assert instead(waits=False) == "Not: the ill wait for their result at home"
    assert instead(household_days=7) == (
        "Housemates of a person who tested positive at home for 7 days"
    )
    told = instead(method="headcount", epsilon=5.0, by_score=0.0)
    assert told == "Scores from headcount, ε = 5; no quarantine by score"
    assert instead(negative_ends=True) == "A negative test ends a quarantine"


def test_every_alternative_is_told_and_differs(plan):
    told = dict(files.front_lines(plan))
    assert set(told) == set(plan.front) - {PLAN}
    assert "The same" not in told.values()


def test_what_to_do_in_one_sentence():
    def told(**action):
        return instructions.in_short(Action(**action), WORLD, BUDGETS)

    assert told(tests=0.0) == "Do nothing."
    assert (
        told(tests=0.5) == "Up to 1 % of the people are tested per day, those with symptoms first."
    )
    everything = told(
        method=FLOOR, tests=1.0, for_scores=1.0, waits=True, household_days=5, by_score=0.5
    )
    assert everything == (
        "Housemates of a person who tested positive stay at home for 5 days; people tested "
        "because of symptoms wait at home for the result; the app users with the highest scores, "
        "up to 2.5 % of the people, stay at home for 10 days; up to 2 % of the people are tested "
        "per day; no phone sends anything."
    )
    assert told(method="headcount", epsilon=2.0).endswith("with noise, ε = 2 per person.")


def test_other_worlds_differ_in_one_assumption():
    base = WORLD.usual.as_dict()
    found = {one.key: one for one in assumptions.other_worlds(WORLD)}
    assert list(found) == WORLDS
    follow_less = found["fewer follow"].world.usual
    assert follow_less.isolation.adherence == pytest.approx(0.4)
    assert follow(follow_less, "quarantine") == follow(follow_less, "household") == 0.4
    assert found["fewer users"].world.usual.app.adoption == 0.14
    more_ill = found["more contagion"].world.usual
    assert more_ill.simulator.transmissibility == pytest.approx(0.72)
    assert more_ill.as_dict() | {"simulator": 0} == base | {"simulator": 0}
    school = World(scenario="school-term", overrides=TINY)
    less = assumptions.other_worlds(school)[0].world.usual
    assert (less.policy.manual.adherence, less.policy.household.adherence) == (0.4, 0.6)
    listed = World(scenario="autumn", overrides=TINY | {"app.adoption": [0.2] * 9})
    assert assumptions.other_worlds(listed)[1].world.usual.app.adoption == [0.1] * 9
    none = World(scenario="autumn", overrides=TINY | {"isolation.adherence": 0.1})
    assert assumptions.other_worlds(none)[0].world.usual.isolation.adherence == 0.0


def test_the_plan_is_compared_with_what_is_done_today_in_the_same_world(plan):
    rows = assumptions.rows_of(plan.study, plan.other_worlds)
    assert [row["key"] for row in rows] == WORLDS
    for row in rows:
        labels = [f"{row['key']}: {name}" for name in (STATUS_QUO, PLAN)]
        gain = plan.study.difference(*labels, "attack_rate").mean * 10_000
        assert row["infections_averted_vs_status_quo"] == pytest.approx(gain)
        assert (f"{row['key']}: {NEXT_BEST}" in plan.study.summaries) == bool(plan.next_best)
    ill = plan.study.spread(STATUS_QUO, "attack_rate").mean
    assert rows[2]["infected_share_status_quo"] > ill  # they do differ
    assert len(words.world_lines(plan)) == 3


def made_up_worlds(monkeypatch, *gains):
    rows = [
        {
            "key": key,
            "if": f"it is {key}",
            "infections_averted_vs_status_quo": mean,
            "infections_averted_vs_status_quo_low": mean - 50.0,
            "infections_averted_vs_next_best": mean - 300.0,
            "infections_averted_vs_next_best_high": mean - 250.0,
        }
        for key, mean in gains
    ]
    monkeypatch.setattr(assumptions, "rows_of", lambda *_: rows)


def test_where_the_plan_would_fail_is_said_first(plan, monkeypatch):
    made_up_worlds(monkeypatch, ("dry", 400.0), ("wet", 300.0))
    said = words.recommendation(plan)["in_short"]
    assert "It stays better than today where one assumption is wrong (dry, wet)." in said
    assert "averts more if" not in said
    made_up_worlds(monkeypatch, ("dry", 400.0), ("wet", 20.0))
    said = words.recommendation(plan)["in_short"]
    assert "It is not shown to be better than today if it is wet." in said
    assert (f"({plan.next_best}) averts more if it is wet." in said) == bool(plan.next_best)


def test_nobody_bears_more_where_all_groups_are_alike(plan, monkeypatch):
    same = {"n": 0.0, "n_low": 0.0, "n_high": 0.0}
    rows = [same | {"group": group} for group in ("1", "2")]
    monkeypatch.setattr(bearers, "_groups", lambda plan, by, quantity: rows)
    assert words.bears_lines(plan)[0] == (
        "By household size nobody bears more days at home than others."
    )


def test_shares_in_other_worlds_are_shares(plan):
    for row in assumptions.rows_of(plan.study, plan.other_worlds):
        for name in ("infected_share", "infected_share_status_quo"):
            assert 0.0 <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= 1.0


def test_who_bears_it_is_told(plan):
    lines = words.bears_lines(plan)
    rows = plan.study.averted(PLAN, by_group=True, status_quo=STATUS_QUO).to_pylist()
    days = {
        row["group"]: row["mean"]
        for row in rows
        if (row["grouped_by"], row["quantity"]) == ("age", "isolation_days_per_person")
        and row["mean"] is not None
    }
    most = max(days, key=days.__getitem__)
    assert any(f"By age the most is borne by people of {most}:" in line for line in lines)
    summaries = plan.study.summaries[PLAN]
    total, idle = (
        sum(one[f"isolation_person_days{end}"] for one in summaries) for end in ("", "_uninfected")
    )
    if total:
        assert any(f"{100 * round(idle / total, 2):.3g} % are of people not" in x for x in lines)


def test_positive_results_and_full_quarantine_are_told(plan):
    """What the scenario decides is part of what people must know; who chooses reads scores."""
    action = replace(plan.action, tests=1.0, method=FLOOR, epsilon=0.0, by_score=0.25, score_days=5)
    done = words.to_do(action, plan)
    days = plan.world.usual.isolation.days
    assert f"People who test positive stay at home for {days} days, as in the scenario." in done
    assert any("the highest scores go first, for the rest a lot decides" in line for line in done)
    assert "somebody must read all scores" in words.promise(action, plan)
    alone = replace(action, method=NO_SCORES, by_score=0.0, household_days=5)
    assert any(line.endswith("beyond it a lot decides.") for line in words.to_do(alone, plan))
    assert "read all scores" not in words.promise(alone, plan)
    assert not any("test positive" in x for x in words.to_do(replace(alone, tests=0.0), plan))


def test_what_staff_do_is_told_where_there_are_any(tmp_path):
    more = {"people": 100, "days": 6, "policy.manual.capacity": 0.05}
    school = World(scenario="school-term", overrides=TINY | more)
    found = planned(tmp_path, world=school, effort=Effort(evaluations=4, seeds=1, first_seeds=1))
    for staff, told in ((True, "as in the scenario"), (False, "no longer")):
        action = Action(staff=staff)
        assert words.to_do(action, found)[-1] == f"Staff trace contacts by hand {told}."
        capacity = action.config(school, BUDGETS).policy.manual.capacity
        assert (capacity > 0.0) == staff


def test_nothing_to_avert_means_nothing_to_do(tmp_path):
    """Nobody infects anybody: whatever is done is in vain, so nothing is the best answer."""
    still = World(scenario="autumn", overrides=TINY | {"simulator.transmissibility": 0.0})
    found = planned(tmp_path, world=still, effort=Effort(evaluations=8, seeds=2, first_seeds=1))
    assert found.action.tests == found.action.household_days == found.action.by_score == 0
    row = next(row for row in found.rows() if row["recommended"])
    assert row["infections_averted_vs_nothing"] == row["days_at_home_per_person"] == 0.0
    said = words.recommendation(found)
    assert said["do"] == ["Do nothing."]
    assert said["brings"].startswith("Nothing was found")
    assert said["in_short"].startswith("Do nothing. Nothing was found")


@pytest.mark.parametrize(
    "budgets",
    [
        Budgets(tests=0.0, quarantine=0.0, epsilon=0.0),
        Budgets(tests=1.0, quarantine=1.0, epsilon=100.0),
    ],
)
def test_no_budget_and_all_of_it_end_properly(tmp_path, budgets):
    tiny = World(scenario="autumn", overrides=TINY | {"people": 100, "days": 10})
    found = planned(
        tmp_path, world=tiny, budgets=budgets, effort=Effort(evaluations=6, seeds=1, first_seeds=1)
    )
    assert found.rows()
    if budgets.tests == 0.0:
        assert len(found.search.tried) <= 2  # methods differ in name alone
        assert found.uses[PLAN][0].goals[1:] == (0.0, 0.0)
        assert found.action.epsilon == 0.0
    else:
        assert not {step.key for step in found.steps} & {"more tests", "more quarantine"}


def test_messages_that_do_not_pay_are_not_sent(tmp_path, monkeypatch):
    planner = planning.Planner(world=WORLD, budgets=BUDGETS, effort=EFFORT, store=tmp_path / "runs")
    search = planner.search
    tried = search._tried(Action(method="headcount", epsilon=5.0))

    def outcomes(infected):
        found = [[made_up(share) for share in infected]]
        monkeypatch.setattr(planning.Planner, "evaluate", lambda *_: found)
        return planner._with_less_told(tried, search)

    tried.outcomes = [made_up(0.50), made_up(0.51)]
    assert outcomes([0.50, 0.52]).method == FLOOR
    assert outcomes([0.60, 0.61]).method == "headcount"
    tried.action = Action(method=NO_SCORES)
    assert outcomes([0.60, 0.61]).method == NO_SCORES


def test_the_command_resumes_and_gives_the_same(tmp_path, monkeypatch):
    out = tmp_path / "out"
    line = (*ARGUMENTS, *SMALL, "--out", out, "--json", "-q")
    done = []

    def interrupted(configs, **how):
        for finished in in_process(configs, **how):
            yield finished
            done.append(finished.config.digest)
            if len(done) == 4:
                raise KeyboardInterrupt

    monkeypatch.setattr(sweeps, "execute", interrupted)
    ended = command_line.run(*line)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert "the same command resumes" in ended.stderr
    assert not (out / "plan.json").exists()
    resumed = command_line.run(*line)
    assert resumed.returncode == 0
    assert len(done) == len(set(done))  # no run was done twice
    monkeypatch.setattr(sweeps, "execute", in_process)
    anew = command_line.run(*line[:-4], "--out", tmp_path / "anew", "--json", "-q")
    assert json.loads(anew.stdout) == json.loads(resumed.stdout)
    values = json.loads(resumed.stdout)
    assert values["front"]
    assert values["margins"]
    assert values["recommendation"]["do"]
    names = {"plan.json", "plan.md", "plan.html", "plan-front.csv", "plan-margins.csv"}
    names |= {"plan-worlds.csv"}
    assert [world["key"] for world in values["other_worlds"]] == WORLDS
    assert names | {"plan-evaluations.csv", "runs"} == {path.name for path in out.iterdir()}
    page = (out / "plan.html").read_text("utf-8")
    assert "<svg" in page
    assert "<script" not in page
    assert str(tmp_path) not in page
    shown = command_line.run(*ARGUMENTS, *SMALL, "--store", out / "runs", "-q")
    assert shown.stdout.startswith(values["recommendation"]["in_short"])
    assert "What to do" in shown.stdout
    assert "If the world is different" in shown.stdout
    assert "one more percent of tests".capitalize() in shown.stdout


@pytest.mark.parametrize(
    ("changed", "culprit"),
    [
        ({"--tests": 1.5}, "--tests 1.5: give a share"),
        ({"--quarantine": -0.1}, "--quarantine -0.1: give a share"),
        ({"--epsilon": "nan"}, "--epsilon nan"),
        ({"--scenario": "spring"}, "scenario 'spring' does not exist"),
        ({"--set": "tests.capcity=1"}, "capcity"),
        ({"--out": "/dev/null/x"}, "cannot be written"),
    ],
)
def test_bad_input_is_told_in_one_line(tmp_path, changed, culprit):
    options = dict(zip(ARGUMENTS[1::2], ARGUMENTS[2::2], strict=True)) | changed
    words = [word for pair in options.items() for word in pair]
    ended = command_line.run("plan", *words, *SMALL, "-q", cwd=tmp_path)
    assert ended.returncode == 2
    assert culprit in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_wrong_effort_and_wrong_budgets():
    with pytest.raises(InputError, match="seeds"):
        planning.Planner(
            world=WORLD, budgets=BUDGETS, effort=Effort(evaluations=1, seeds=9000), store=None
        )
    assert Budgets(tests=0.995, quarantine=0.0, epsilon=0.0).with_more(tests=0.01).tests == 1.0
    assert Trigger.SYMPTOMS.value == "symptoms"


def test_staff_are_named_only_where_the_scenario_has_them(plan):
    """The key is null in plan.json where nobody traces by hand."""
    assert not has_staff(plan.world.usual)
    assert words.action_values(plan.action, plan)["staff_trace"] is None


def test_staff_who_may_send_nobody_home_do_not_trace():
    """A plan told them to trace on, and that those who are sent home learn of a case."""
    school = World(scenario="school-term", overrides=TINY | {"people": 3000})
    assert has_staff(school.usual)
    none = Budgets(tests=0.02, quarantine=0.0, epsilon=0.0)
    action = Action().plain(none, school.usual.n_people)
    config = action.config(school, none)
    assert config.policy.manual.capacity == 0.0
    assert not config.tells_of_cases
    told = " ".join(instructions.to_do(action, school, none))
    assert "Staff trace contacts by hand no longer." in told
    few = World(scenario="school-term", overrides=TINY | {"people": 100})
    assert not has_staff(few.usual)


def test_what_staff_are_worth_is_measured():
    """As of every other part: a plan could advise to drop tests, never tracers who do nothing."""
    school = World(scenario="school-term", overrides=TINY | {"people": 3000})
    budgets = Budgets(tests=0.02, quarantine=0.05, epsilon=0.0)
    found = comparison.neighbours(Action(), school, budgets)
    assert {step.key: step.text for step in found.steps}["no staff"] == "tracing by staff"
    assert found.configs["no staff"].policy.manual.capacity == 0.0
    assert "no staff" not in comparison.neighbours(Action(staff=False), school, budgets).configs


def test_a_plan_tells_of_settings_that_were_given_and_of_no_others(tmp_path):
    """82 remarks on what its search had proposed itself stood among its progress."""
    given = ("--set", "seir.rounds=3", "--set", "policy.quarantine.adherence=0.5")
    done = command_line.run(*ARGUMENTS, *SMALL, *given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "no effect" in line]
    assert told == ["seir.rounds has no effect with method 'headcount'"]
