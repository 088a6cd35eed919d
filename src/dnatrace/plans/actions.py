"""What a health service can decide, as settings of a run and in words.

Sizes are shares of a budget, so that the same action can be taken with a larger one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from dnatrace.plans.budgets import Budgets
from dnatrace.policy.household import Trigger
from dnatrace.policy.levers import LeversSettings
from dnatrace.policy.stays import most_of
from dnatrace.runs import notices
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.keys import CATALOGUES, SHORTCUTS
from dnatrace.runs.nesting import flatten, merge, parse_setting

NO_SCORES, FLOOR, NEWS = "none", "public-facts", "headcount news"
_NEWS = {"method": "headcount", "release": "news"}
SENDS_HOME = ("household", "quarantine")
_SOMEBODY = 1e-9  # as a share: nobody follows, but everybody may be told
# Tracing methods by their names in a plan. Whether they have a proof is determined from runs.
METHODS: dict[str, dict[str, Any]] = {
    NO_SCORES: {"method": "none"},
    FLOOR: {"method": "public-facts"},
    "headcount": {"method": "headcount"},
    NEWS: _NEWS,
}
EXACT, TRUTH, APP_RULE = "exact messages", "truth", "app rule"
# Not offered: what the same policy could achieve without privacy.
BOUNDS: dict[str, dict[str, Any]] = {
    # Counts of positive tests with next to no noise: the best that any noise could achieve.
    EXACT: _NEWS | {"epsilon": 300.0, "unit": "person"},
    TRUTH: {"method": "oracle"},
    # The rule of exposure-notification apps; 72 % of users report (Wymant et al. 2021).
    APP_RULE: {"method": "none", "policy.notification.consent": 0.72},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Where a plan is made.

    Attributes:
        scenario: the name of the scenario.
        settings: texts "section.key=value" laid over it.
        overrides: further settings by dotted key: people and days.
    """

    scenario: str
    settings: tuple[str, ...] = ()
    overrides: Mapping[str, Any]

    def config(self, **changes: Any) -> RunConfig:
        """Return the world with changes."""
        over = dict(self.overrides) | changes
        return load_config(
            scenario=self.scenario, settings=self.settings, overrides=over, tell=False
        )

    def tell_what_is_idle(self) -> None:
        """Report settings of the world without effect; which levers are on a plan decides."""
        given: dict[str, Any] = {}
        for text in self.settings:
            merge(given, parse_setting(text, SHORTCUTS))
        given.pop("policy", None)
        config = self.config(method="headcount")
        notices.tell_what_is_idle(given, config, CATALOGUES)
        notices.tell_idle_settings(flatten(given), config)

    @property
    def usual(self) -> RunConfig:
        """The scenario as it is, without a method: its status quo."""
        usual = self.config(method="none")
        if is_somebody(usual.tests.capacity, usual.n_people):
            return usual
        return self.config(method="none", **{"tests.capacity": 0.0})


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What is done.

    Attributes:
        method: one of `METHODS`.
        epsilon: ε per person; 0 for methods without messages.
        tests: the share of the budget of tests that is used.
        for_scores: the share of these that is reserved for the highest scores, which also get what
            people with symptoms leave.
        negative_ends: whether a negative result of one's own ends a quarantine.
        to_release: the share of these tests for people in quarantine, to end it.
        waits: whether people with symptoms await their result at home.
        household_days: how long housemates stay at home; 0 for not at all.
        household_trigger: what sends housemates home.
        by_score: the share of the budget of quarantine that the highest scores may fill.
        score_days: how long people with the highest scores stay at home.
        staff: whether staff of the scenario trace contacts; no, where nobody may be in quarantine.
    """

    method: str = NO_SCORES
    epsilon: float = 0.0
    tests: float = 1.0
    for_scores: float = 0.0
    negative_ends: bool = False
    to_release: float = 0.0
    waits: bool = False
    household_days: int = 0
    household_trigger: str = Trigger.POSITIVE.value
    by_score: float = 0.0
    score_days: int = 10
    staff: bool = True

    @property
    def uses_scores(self) -> bool:
        """Whether anything is decided by scores."""
        return self.method != NO_SCORES and (self.tests > 0.0 or self.by_score > 0.0)

    def plain(self, budgets: Budgets, people: int | None) -> Self:
        """Return the same action without parts that have no effect among this many people."""
        action = self._of_whole_people(budgets, people)
        if budgets.tests == 0.0 or action.tests == 0.0:
            action = replace(action, tests=0.0, for_scores=0.0, to_release=0.0, waits=False)
        if not is_somebody(budgets.quarantine, people):
            action = replace(action, waits=False, household_days=0, by_score=0.0, staff=False)
        if action.method == NO_SCORES:
            action = replace(action, for_scores=0.0, by_score=0.0)
        if action.household_days == 0:
            action = replace(action, household_trigger=Trigger.POSITIVE.value)
        if action.by_score == 0.0:
            action = replace(action, score_days=10)
        if action.household_days == 0 and action.by_score == 0.0:
            action = replace(action, negative_ends=False)
        if action.tests == 0.0 or not action.negative_ends:
            action = replace(action, negative_ends=False, to_release=0.0)
        return action

    def _of_whole_people(self, budgets: Budgets, people: int | None) -> Self:
        """Return the same action with 0 for sizes that are less than one person."""
        total = self.tests * budgets.tests
        ill = total * (1.0 - self.for_scores)
        nobody_ill = ill > 0.0 and not is_somebody(ill, people)
        return replace(
            self,
            tests=self.tests if is_somebody(total, people) else 0.0,
            for_scores=1.0 if nobody_ill else self.for_scores,
            waits=self.waits and not nobody_ill,
            to_release=self.to_release if is_somebody(total * self.to_release, people) else 0.0,
            by_score=self.by_score
            if is_somebody(self.by_score * budgets.quarantine, people)
            else 0.0,
        )

    def config(self, world: World, budgets: Budgets) -> RunConfig:
        """Return the action as a configuration."""
        return world.config(**self._settings(world, budgets), **METHODS[self.method])

    def bound(self, world: World, budgets: Budgets, name: str) -> RunConfig:
        """Return the same policy with a method of `BOUNDS`, which is not offered."""
        return world.config(**(self._settings(world, budgets) | BOUNDS[name]))

    def _settings(self, world: World, budgets: Budgets) -> dict[str, Any]:
        """Return settings by dotted key; levers are followed no more than the world says."""
        follows = {name: follow(world.usual, name) for name in (*SENDS_HOME, "symptoms")}
        total, filled = self.tests * budgets.tests, self.by_score * budgets.quarantine
        # This many per day fill it by the time the first stays end; some of those told do not
        # comply.
        told = filled / (self.score_days * max(follows["quarantine"], _SOMEBODY))
        told = min(1.0, max(told, 1.0 / world.usual.people)) if filled > 0.0 else 0.0
        settings: dict[str, Any] = {
            "policy.name": "levers",
            "tests.capacity": total,
            "policy.most_tests": total,
            "policy.most_quarantined": budgets.quarantine,
            "policy.symptoms.capacity": total * (1.0 - self.for_scores),
            "policy.symptoms.waits_at_home": self.waits,
            "policy.release_tests.capacity": total * self.to_release,
            "policy.household.days": self.household_days,
            "policy.household.trigger": self.household_trigger,
            "policy.quarantine.days": self.score_days,
            "policy.quarantine.most_at_once": filled,
            "policy.quarantine.capacity": told,
        }
        settings |= {f"policy.{name}.adherence": share for name, share in follows.items()}
        settings |= {f"policy.{name}.negative_ends": self.negative_ends for name in SENDS_HOME}
        staff = self.staff and has_staff(world.usual)
        settings |= {} if staff else {"policy.manual.capacity": 0.0}
        if self.epsilon > 0.0:
            settings |= {"epsilon": self.epsilon, "unit": "person"}
        return settings


def is_somebody(share: float, people: int | None) -> bool:
    """Return whether a share of the people is at least one of them, if their number is known."""
    return share > 0.0 if people is None else most_of(share, people) > 0


def follow(usual: RunConfig, lever: str) -> float:
    """Return the share of people told by a lever who stay at home.

    It is that of the scenario; where it says nothing, the share that isolates after a positive
    result.
    """
    policy = usual.policy
    if isinstance(policy, LeversSettings):
        rules = getattr(policy, lever)
        if "adherence" in rules.model_fields_set:
            return float(rules.adherence)
    return usual.isolation.adherence


def has_staff(usual: RunConfig) -> bool:
    """Return whether staff of the scenario trace contacts by hand, of one case per day or more."""
    policy = usual.policy
    if not isinstance(policy, LeversSettings) or not policy.manual.is_on:
        return False
    return is_somebody(policy.manual.capacity, usual.n_people)


def people_ask(usual: RunConfig) -> bool:
    """Return whether people with symptoms ask for tests in the scenario."""
    return isinstance(usual.policy, LeversSettings) and usual.policy.symptoms.is_on
