"""`dnatrace plan`: budgets that hold, a search that finds what is known, the same when resumed."""

import json

import numba
import numpy as np
import pytest

from dnatrace.errors import InputError
from dnatrace.plans import comparison, planning, words
from dnatrace.plans.actions import FLOOR, METHODS, NO_SCORES, Action, World, follow
from dnatrace.plans.budgets import Budgets, Outcome
from dnatrace.plans.comparison import NOTHING, PLAN
from dnatrace.plans.search import Effort, Search, dominated, front_ranks, one_step_from
from dnatrace.policy.household import Trigger
from dnatrace.sweeps import sweep as sweeps

from . import command_line
from .forked_sweeps import in_process

TINY = {"people": 300, "days": 20, "initially_infected": 10}
WORLD = World(scenario="autumn", overrides=TINY)
BUDGETS = Budgets(tests=0.02, quarantine=0.05, epsilon=5.0)
EFFORT = Effort(evaluations=10, seeds=2, first_seeds=1)
ARGUMENTS = ("plan", "--scenario", "autumn", "--tests", 0.02, "--quarantine", 0.05, "--epsilon", 5)
SMALL = ("--people", 200, "--days", 10, "--evaluations", 5, "--seeds", 2)


@pytest.fixture(autouse=True, scope="module")
def _here():
    """Runs in this process, on one thread: for so few people more are in each other's way."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "execute", in_process)
        yield
    numba.set_num_threads(before)


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
    for more in ({"most_tests": 0.021}, {"most_quarantined": 0.051}, {"epsilon": 5.1}):
        assert not made_up(0.5, **more).within(BUDGETS), more
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
    fewer = plan.study.difference(NOTHING, PLAN, "attack_rate").mean * 10_000
    assert row["infections_averted_vs_nothing"] == pytest.approx(fewer)
    assert words.interval(row, "infections_averted_vs_nothing") in said["brings"]
    assert "28 % have the app" in said["unknown"][0]
    keys = {margin["key"] for margin in comparison.margins(plan.study, plan.steps)}
    assert {"more tests", "more quarantine", "epsilon", "messages", "exact messages"} <= keys
    assert set(plan.study.seeds).isdisjoint(plan.search.seeds)


def test_what_staff_do_is_told_where_there_are_any(tmp_path):
    school = World(scenario="school-term", overrides=TINY | {"people": 100, "days": 6})
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
    assert names | {"plan-evaluations.csv", "runs"} == {path.name for path in out.iterdir()}
    page = (out / "plan.html").read_text("utf-8")
    assert "<svg" in page
    assert "<script" not in page
    assert str(tmp_path) not in page
    shown = command_line.run(*ARGUMENTS, *SMALL, "--store", out / "runs", "-q")
    assert "What to do" in shown.stdout
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
