"""Make a plan: search on validation seeds, choose, measure on fresh seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dnatrace.errors import InputError, require_between
from dnatrace.plans import assumptions, comparison
from dnatrace.plans.actions import FLOOR, METHODS, Action, World
from dnatrace.plans.assumptions import Assumption, other_worlds
from dnatrace.plans.budgets import Budgets, Outcome, outcome_of
from dnatrace.plans.comparison import NEXT_BEST, PLAN, baselines, neighbours, privacy_twins
from dnatrace.plans.search import Effort, Search, Tried, dominated
from dnatrace.runs.config import RunConfig
from dnatrace.runs.progress import Track
from dnatrace.sweeps.processes import workers_stay
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.study import Study, run_study
from dnatrace.sweeps.sweep import Where, sweep

FULL = Effort(evaluations=200, seeds=10)
QUICK = Effort(evaluations=12, seeds=3, first_seeds=1)
QUICK_WORLD = {"people": 500, "days": 40, "initially_infected": 5}
TOLERANCE = 0.05  # share of the infections averted that an easier plan may lose
MOST_OF_FRONT = 6  # plans of the front measured on fresh seeds, in addition to the chosen one
_MOST_EVALUATIONS = 100_000  # each is a run per seed: more is a slip
_LAST_SEED = 2**32 - 1  # of what the search draws
# Seeds of a plan with seed s: validation from 1,000,000 + 10,000·s on, fresh ones 5,000 later.
_FIRST_SEED, _SEEDS_PER_PLAN, _FRESH = 1_000_000, 10_000, 5_000


def effort_of(evaluations: int | None, seeds: int | None, *, quick: bool) -> Effort:
    """Return how much to try, given what was asked for."""
    usual = QUICK if quick else FULL
    return replace(usual, evaluations=evaluations or usual.evaluations, seeds=seeds or usual.seeds)


def world_of(scenario: str, settings: Sequence[str], *, quick: bool, **size: int | None) -> World:
    """Return a scenario with settings laid over it, and perhaps another size."""
    given = {name: value for name, value in size.items() if value is not None}
    tiny = QUICK_WORLD if quick else {}
    return World(scenario=scenario, settings=tuple(settings), overrides=tiny | given)


class RunFailedError(Exception):
    """A run of a plan failed, so there is no plan; finished runs are in the store."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """A plan and what is known about it.

    Attributes:
        world: where.
        budgets: what may be used.
        effort: how much was tried.
        search: what was tried on validation seeds.
        action: what to do.
        front: the actions of the front by label, including the plan.
        study: the study of everything that was run on fresh seeds.
        uses: the outcome of every run of the front on fresh seeds, by label.
        steps: what is compared on fresh seeds.
        next_best: the label of the other plan of the front with the fewest infections on validation
            seeds; None if there is no other.
        other_worlds: other worlds in which the plan was run.
    """

    world: World
    budgets: Budgets
    effort: Effort
    search: Search
    action: Action
    front: dict[str, Action]
    study: Study[str]
    uses: dict[str, list[Outcome]]
    steps: list[comparison.Step]
    next_best: str | None
    other_worlds: list[Assumption]

    def rows(self) -> list[dict[str, Any]]:
        """Return the front on fresh seeds, fewest infections first."""
        found = [
            {"label": label, "recommended": label == PLAN}
            | {"method": action.method}
            | comparison.goals_of(self.study, label)
            | {
                "most_tested_on_a_day": max(run.most_tests for run in self.uses[label]),
                "most_in_quarantine_on_a_day": max(
                    run.most_quarantined for run in self.uses[label]
                ),
            }
            for label, action in self.front.items()
        ]
        return sorted(found, key=lambda row: float(row["infected_share"]))


@dataclass(slots=True, kw_only=True, eq=False)
class Planner:
    """Makes a plan stage by stage, so that progress can be shown.

    Attributes:
        world: where.
        budgets: what may be used.
        effort: how much is tried.
        store: the store of runs; those it has are not repeated.
        seed: a different seed draws different actions and seeds.
        where: where the runs are done.
        methods: the names of `METHODS` to choose from.
        plan: the plan, when all stages are done.
    """

    world: World
    budgets: Budgets
    effort: Effort
    store: Path
    seed: int = 0
    where: Where = field(default_factory=Where)
    methods: Sequence[str] = tuple(METHODS)
    plan: Plan | None = None

    def __post_init__(self) -> None:
        require_between("seeds", self.effort.seeds, 1, _FRESH)
        require_between("evaluations", self.effort.evaluations, 1, _MOST_EVALUATIONS)
        require_between("seed", self.seed, 0, _LAST_SEED)
        self.effort = replace(
            self.effort, first_seeds=min(self.effort.first_seeds, self.effort.seeds)
        )

    @property
    def search(self) -> Search:
        """The search, before it has begun."""
        first = _FIRST_SEED + _SEEDS_PER_PLAN * self.seed
        return Search(
            world=self.world,
            budgets=self.budgets,
            methods=[name for name in self.methods if self._affordable(name)],
            effort=self.effort,
            seeds=range(first, first + self.effort.seeds),
            seed=self.seed,
        )

    @property
    def fresh_seeds(self) -> range:
        """The seeds on which nothing was chosen."""
        first = _FIRST_SEED + _SEEDS_PER_PLAN * self.seed + _FRESH
        return range(first, first + self.effort.seeds)

    @property
    def n_stages(self) -> int:
        """How many times `stages` yields."""
        return self.search.n_stages + 2

    def stages(self) -> Iterator[None]:
        """Make the plan, yielding after every stage; `plan` is set after the last one."""
        search = self.search
        yield from search.stages(self.evaluate)
        action = self._with_less_told(self._chosen(search), search)
        yield
        self.plan = self._measured(search, action)
        yield

    def evaluate(self, configs: Sequence[RunConfig], seeds: Sequence[int]) -> list[list[Outcome]]:
        """Return the outcomes of configurations on seeds, using the engine and store of sweeps.

        Raises:
            RunFailedError: a run failed.
        """
        runs = [[c.model_copy(update={"seed": seed}) for seed in seeds] for c in configs]
        once = {run.digest: run for by_seed in runs for run in by_seed}
        report = sweep(list(once.values()), self.store, **self.where)
        for failure in report.failed:
            failed = failure.config
            told = f"{failed.method.name}, seed {failed.seed}: {failure.error}"
            raise RunFailedError(f"a run failed: {told}")
        return [[outcome_of(self.store / run.digest) for run in by_seed] for by_seed in runs]

    def _affordable(self, name: str) -> bool:
        """Return whether a method is possible within ε at all: one with noise needs some of it."""
        return (
            self.budgets.epsilon > 0.0 or not self.world.config(**METHODS[name]).method.adds_noise
        )

    def _chosen(self, search: Search) -> Tried:
        """Return the easiest of the finalists that avert nearly as much as the best.

        "Nearly" means all but `TOLERANCE` of the infections that the best averts, compared with the
        most infections among the finalists and doing nothing. "Easiest" means the fewest days at
        home, then tests, then ε, then the smaller capacity for tests. Edge case: doing nothing is
        always among the actions tried.
        """
        finalists = search.finalists()
        if not finalists:
            raise InputError("no action keeps to these budgets")
        infected = np.array([one.goals()[0] for one in finalists])
        nothing = self._infected_without_anything(len(finalists[0].outcomes))
        least = infected.min()
        enough = infected <= least + TOLERANCE * max(0.0, nothing - least)
        able = [one for one, is_enough in zip(finalists, enough, strict=True) if is_enough]
        return min(able, key=lambda one: (*one.goals()[1:], one.action.epsilon, one.action.tests))

    def _infected_without_anything(self, n_seeds: int) -> float:
        config = baselines(self.world)[comparison.NOTHING]
        found = self.evaluate([config], self.search.seeds[:n_seeds])[0]
        return float(np.mean([outcome.infected for outcome in found]))

    def _with_less_told(self, chosen: Tried, search: Search) -> Action:
        """Return the same action without messages, unless messages were shown to help.

        They help if the 90 % interval of what they avert on the validation seeds lies above 0.
        """
        action = chosen.action
        if action.epsilon == 0.0:
            return action
        silent = replace(action, method=FLOOR, epsilon=0.0)
        n_seeds = len(chosen.outcomes)
        others = self.evaluate([silent.config(self.world, self.budgets)], search.seeds[:n_seeds])
        gain = [
            theirs.infected - ours.infected
            for ours, theirs in zip(chosen.outcomes, others[0], strict=True)
        ]
        pays = n_seeds > 1 and Spread(values=np.array(gain)).interval[0] > 0.0
        return action if pays or not _within(others[0], self.budgets) else silent

    def _measured(self, search: Search, action: Action) -> Plan:
        """Return the plan with everything measured on fresh seeds."""
        front = {PLAN: action} | _front(search, action)
        beside = neighbours(action, self.world, self.budgets)
        twins = privacy_twins(action, self.world, self.budgets)
        configs = baselines(self.world)
        configs |= {name: one.config(self.world, self.budgets) for name, one in front.items()}
        configs |= beside.configs | twins.configs
        others, next_best = other_worlds(self.world), _next_best(search, front)
        looked_at = {PLAN: action} | ({NEXT_BEST: front[next_best]} if next_best else {})
        configs |= assumptions.configurations(others, looked_at, self.budgets)
        self.evaluate(list(configs.values()), self.fresh_seeds)
        study = run_study(configs, seeds=self.fresh_seeds, store=self.store, **self.where)
        # The runs are in the store now. A plan that exceeded its budgets on any of these days is
        # not offered.
        used = self.evaluate([configs[name] for name in front], self.fresh_seeds)
        uses = dict(zip(front, used, strict=True))
        if not _within(uses[PLAN], self.budgets):
            raise RunFailedError("the plan used more than its budgets on fresh seeds")
        front = {name: one for name, one in front.items() if _within(uses[name], self.budgets)}
        return Plan(
            world=self.world,
            budgets=self.budgets,
            effort=self.effort,
            search=search,
            action=action,
            front=front,
            study=study,
            uses=uses,
            steps=sorted([*beside.steps, *twins.steps], key=lambda step: step.is_part),
            next_best=next_best if next_best in front else None,
            other_worlds=others,
        )


def _within(outcomes: Sequence[Outcome], budgets: Budgets) -> bool:
    return all(outcome.within(budgets) for outcome in outcomes)


def _front(search: Search, action: Action) -> dict[str, Action]:
    """Return actions of the front of the finalists, evenly from few days at home to many.

    Of several with the same outcome (for instance with sizes that were never filled), one is kept.
    """
    finalists = search.finalists()
    goals = np.array([one.goals() for one in finalists])
    by_goals: dict[tuple[float, ...], Action] = {}
    for goal, one, worse in zip(goals, finalists, dominated(goals), strict=True):
        place = tuple(float(value) for value in goal[[1, 0, 2]])
        if not worse and by_goals.get(place) != action:
            by_goals[place] = one.action
    best = sorted((pair for pair in by_goals.items() if pair[1] != action), key=lambda p: p[0])
    n = min(MOST_OF_FRONT, len(best))
    places = np.unique(np.linspace(0, max(0, len(best) - 1), n).round().astype(int))
    return {f"alternative {k}": best[place][1] for k, place in enumerate(places, start=1)}


def _next_best(search: Search, front: dict[str, Action]) -> str | None:
    """Return the label of the plan other than the chosen one with the fewest infections so far."""
    infected = {one.action: float(one.goals()[0]) for one in search.finalists()}
    others = {label: infected[one] for label, one in front.items() if label != PLAN}
    return min(others, key=others.__getitem__, default=None)


def make_plan(planner: Planner, track: Track | None = None) -> Plan:
    """Return a plan; `track` wraps its stages, for instance with a progress bar."""
    stages = planner.stages()
    with workers_stay():
        for _ in track(stages, planner.n_stages) if track else stages:
            pass
    assert planner.plan is not None  # the last stage makes it
    return planner.plan
