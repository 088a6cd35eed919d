"""Search for actions within budgets: few seeds for all actions, more for promising ones.

Optuna's sampler (tree-structured Parzen estimators, several goals) proposes actions in batches from
the results of earlier batches; half of a batch are neighbours of the best so far. Nothing of the
search is kept except the runs themselves: the same call proposes the same actions again and finds
their runs in the store, so an interrupted search resumes where it stopped and ends as it would
have.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import optuna
from numpy.typing import NDArray

from dnatrace.plans.actions import METHODS, NO_SCORES, Action, World, has_staff, people_ask
from dnatrace.plans.budgets import Budgets, Outcome
from dnatrace.policy.household import Trigger
from dnatrace.runs.config import RunConfig

# Outcomes of configurations on seeds, one list per configuration.
Evaluate = Callable[[Sequence[RunConfig], Sequence[int]], list[list[Outcome]]]

HOUSEHOLD_DAYS = (0, 5, 7, 10, 14)
SCORE_DAYS = (5, 7, 10, 14)
SIZE = 0.25  # the step of sizes, which are shares of a budget
LOWER_EPSILON = 0.2  # as a share of the budget: five times less to spend
LEAST_IN_BATCH, MOST_IN_BATCH = 4, 20  # actions of one batch do not learn from each other


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is tried.

    Attributes:
        evaluations: the number of actions proposed.
        seeds: the number of seeds for the best of them, and for what is reported.
        first_seeds: the number of seeds for every action.
    """

    evaluations: int
    seeds: int
    first_seeds: int = 2

    @property
    def batch(self) -> int:
        """How many actions are proposed at once: a tenth, so that the sampler learns often."""
        return min(MOST_IN_BATCH, max(LEAST_IN_BATCH, self.evaluations // 10))

    @property
    def rungs(self) -> list[tuple[int, int]]:
        """How many actions get how many seeds: a third get half of them, a tenth all."""
        half = max(self.first_seeds, (self.seeds + 1) // 2)
        third, tenth = (max(3, round(self.evaluations * share)) for share in (1 / 3, 1 / 10))
        return [(third, half), (tenth, self.seeds)]


@dataclass(slots=True, kw_only=True, eq=False)
class Tried:
    """An action and its outcomes on the first validation seeds.

    Attributes:
        action: the action as proposed, without parts that have no effect.
        config: its configuration.
        outcomes: one per seed.
    """

    action: Action
    config: RunConfig
    outcomes: list[Outcome] = field(default_factory=list)

    def goals(self, n_seeds: int | None = None) -> NDArray[np.float64]:
        """Return infections, days at home and tests as means over the first seeds."""
        return np.mean([outcome.goals for outcome in self.outcomes[:n_seeds]], axis=0)


@dataclass(slots=True, kw_only=True, eq=False)
class Search:
    """Propose actions, evaluate them, promote the best.

    Attributes:
        world: where.
        budgets: the budgets that no remaining action exceeds.
        methods: the names of those of `METHODS` that have a proof.
        effort: how much is tried.
        seeds: the seeds for validation, at least as many as the effort says.
        seed: the seed of the sampler.
        tried: what was tried, by digest, in the order of proposals.
    """

    world: World
    budgets: Budgets
    methods: Sequence[str]
    effort: Effort
    seeds: Sequence[int]
    seed: int = 0
    tried: dict[str, Tried] = field(default_factory=dict)

    @property
    def n_stages(self) -> int:
        """How many times `stages` yields."""
        return -(-self.effort.evaluations // self.effort.batch) + len(self.effort.rungs)

    def stages(self, evaluate: Evaluate) -> Iterator[None]:
        """Search, and yield after every batch and every rung."""
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(
            seed=self.seed, n_startup_trials=2 * self.effort.batch, multivariate=False
        )
        study = optuna.create_study(directions=["minimize"] * 3, sampler=sampler)
        for action in self._first():
            study.enqueue_trial(self._parameters(action), skip_if_exists=True)
        for first in range(0, self.effort.evaluations, self.effort.batch):
            n = min(self.effort.batch, self.effort.evaluations - first)
            for action in self._near_the_best()[: n // 2] if first else ():
                study.enqueue_trial(self._parameters(action), skip_if_exists=True)
            self._batch(study, n, evaluate)
            yield
        for n_kept, n_seeds in self.effort.rungs:
            self._promote(n_kept, n_seeds, evaluate)
            yield

    def _batch(self, study: optuna.Study, n: int, evaluate: Evaluate) -> None:
        trials = [study.ask() for _ in range(n)]
        asked = [self._tried(self._suggest(trial)) for trial in trials]
        fresh = {one.config.digest: one for one in asked if not one.outcomes}
        self._extend(list(fresh.values()), self.effort.first_seeds, evaluate)
        for trial, one in zip(trials, asked, strict=True):
            study.tell(trial, [float(goal) for goal in one.goals()])

    def _tried(self, action: Action) -> Tried:
        config = action.config(self.world, self.budgets)
        return self.tried.setdefault(config.digest, Tried(action=action, config=config))

    def _extend(self, some: Sequence[Tried], n_seeds: int, evaluate: Evaluate) -> None:
        """Run actions on further seeds, up to `n_seeds`."""
        have = len(some[0].outcomes) if some else 0
        if have < n_seeds:
            found = evaluate([one.config for one in some], self.seeds[have:n_seeds])
            for one, outcomes in zip(some, found, strict=True):
                one.outcomes += outcomes

    def _promote(self, n_kept: int, n_seeds: int, evaluate: Evaluate) -> None:
        """Give more seeds to the best of the actions that have the most."""
        best = self.finalists()
        goals = np.array([one.goals() for one in best])
        ranks = front_ranks(goals)
        order = np.lexsort((goals[:, 0], ranks))
        kept = [best[place] for place in order[:n_kept]]
        self._extend(kept, n_seeds, evaluate)

    @property
    def offered(self) -> list[Tried]:
        """The actions that kept within the budgets in every run."""
        return [
            one
            for one in self.tried.values()
            if all(outcome.within(self.budgets) for outcome in one.outcomes)
        ]

    def finalists(self) -> list[Tried]:
        """Return the offered actions that have the most seeds."""
        most = max((len(one.outcomes) for one in self.offered), default=0)
        return [one for one in self.offered if len(one.outcomes) == most]

    def _first(self) -> list[Action]:
        """Return what is tried first: nothing, each lever alone at full size, and all of them."""
        all_tests = Action(tests=1.0)
        home = [
            Action(household_days=10),
            Action(household_days=10, household_trigger=Trigger.SYMPTOMS.value),
        ]
        scores = [
            Action(method=name, epsilon=self._epsilon(name, 1.0), by_score=share, household_days=d)
            for name in self.methods
            if name != NO_SCORES
            for share, d in ((0.0, 0), (1.0, 0), (0.5, 10))
        ]
        return [Action(tests=0.0), all_tests, *home, *scores]

    def _near_the_best(self) -> list[Action]:
        """Return untried actions one step from the one with the fewest infections."""
        if not self.offered:
            return []
        n_seeds = self.effort.first_seeds
        best = min(self.offered, key=lambda one: float(one.goals(n_seeds)[0]))
        near: dict[str, Action] = {}
        for action in one_step_from(best.action, self.methods):
            whole = replace(action, epsilon=self._epsilon(action.method, self._share(action)))
            plain = whole.plain(self.budgets, self.world.usual.n_people)
            near.setdefault(plain.config(self.world, self.budgets).digest, plain)
        return [action for digest, action in near.items() if digest not in self.tried]

    def _share(self, action: Action) -> float:
        return LOWER_EPSILON if 0.0 < action.epsilon < self.budgets.epsilon else 1.0

    def _epsilon(self, method: str, share: float) -> float:
        noisy = self.world.config(**METHODS[method]).method.adds_noise
        return share * self.budgets.epsilon if noisy else 0.0

    def _parameters(self, action: Action) -> dict[str, object]:
        """Return what the sampler would have to propose for an action."""
        return {
            "method": action.method,
            "epsilon": self._share(action),
            "tests": action.tests,
            "for_scores": action.for_scores,
            "negative_ends": action.negative_ends,
            "to_release": action.to_release,
            "waits": action.waits,
            "household_days": action.household_days,
            "trigger": action.household_trigger,
            "by_score": action.by_score,
            "score_days": action.score_days,
            "staff": action.staff,
        }

    def _suggest(self, trial: optuna.Trial) -> Action:
        """Return the action that the sampler proposes; it is not asked about what cannot matter."""
        usual, method = self.world.usual, trial.suggest_categorical("method", list(self.methods))
        scores, tests, home = method != NO_SCORES, self.budgets.tests > 0.0, self.budgets.quarantine
        noisy = scores and self.world.config(**METHODS[method]).method.adds_noise
        share = trial.suggest_categorical("epsilon", [LOWER_EPSILON, 1.0]) if noisy else 0.0
        size = trial.suggest_float("tests", 0.0, 1.0, step=SIZE) if tests else 0.0
        asks, some = people_ask(usual), size > 0.0
        kept = trial.suggest_float("for_scores", 0.0, 1.0, step=SIZE) if some and scores else 0.0
        may_wait = some and asks and home
        waits = trial.suggest_categorical("waits", [False, True]) if may_wait else False
        days = trial.suggest_categorical("household_days", HOUSEHOLD_DAYS) if home else 0
        trigger = (
            trial.suggest_categorical("trigger", [one.value for one in Trigger])
            if days and asks
            else Trigger.POSITIVE.value
        )
        filled = trial.suggest_float("by_score", 0.0, 1.0, step=SIZE) if scores and home else 0.0
        length = trial.suggest_categorical("score_days", SCORE_DAYS) if filled else 10
        may_end = some and (days or filled)
        ends = trial.suggest_categorical("negative_ends", [False, True]) if may_end else False
        release = trial.suggest_float("to_release", 0.0, 0.5, step=SIZE) if ends else 0.0
        may_trace = has_staff(usual) and home
        staff = trial.suggest_categorical("staff", [True, False]) if may_trace else True
        return Action(
            method=method,
            epsilon=share * self.budgets.epsilon,
            tests=size,
            for_scores=kept,
            negative_ends=ends,
            to_release=release,
            waits=waits,
            household_days=days,
            household_trigger=trigger,
            by_score=filled,
            score_days=length,
            staff=staff,
        ).plain(self.budgets, usual.n_people)


def one_step_from(action: Action, methods: Sequence[str]) -> list[Action]:
    """Return actions that differ in one decision by one step: larger sizes first, then smaller."""
    steps: list[dict[str, object]] = []
    for name, most in (("tests", 1.0), ("for_scores", 1.0), ("by_score", 1.0), ("to_release", 0.5)):
        size = getattr(action, name)
        steps += [{name: size + by} for by in (SIZE, -SIZE) if 0.0 <= size + by <= most]
    for name, ladder in (("household_days", HOUSEHOLD_DAYS), ("score_days", SCORE_DAYS)):
        place = ladder.index(getattr(action, name))
        steps += [{name: ladder[p]} for p in (place + 1, place - 1) if 0 <= p < len(ladder)]
    flips = ("waits", "negative_ends", "staff")
    steps += [{name: not getattr(action, name)} for name in flips]
    steps += [{"household_trigger": one.value} for one in Trigger]
    steps += [{"method": name} for name in methods]
    changed = (replace(action, **step) for step in steps)  # type: ignore[arg-type]
    return [other for other in changed if other != action]


def dominated(goals: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows are dominated: another is nowhere worse and somewhere better. O(rows²)."""
    better = (goals[:, None] <= goals[None]).all(2) & (goals[:, None] < goals[None]).any(2)
    return np.asarray(better.any(0))


def front_ranks(goals: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return one rank per row: 0 for the front, 1 for the front of the others, and so on."""
    ranks = np.full(len(goals), -1, dtype=np.int64)
    rank = 0
    while (left := np.flatnonzero(ranks < 0)).size:
        ranks[left[~dominated(goals[left])]] = rank
        rank += 1
    return ranks
