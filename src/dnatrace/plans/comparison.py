"""What is measured on fresh seeds: the plan, its neighbours and the baselines, paired by seed.

The plan was chosen on other seeds, so nothing here was selected for looking good.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.plans.actions import (
    BOUNDS,
    EXACT,
    FLOOR,
    NEWS,
    NO_SCORES,
    Action,
    World,
    has_staff,
    is_somebody,
)
from dnatrace.plans.budgets import Budgets
from dnatrace.plans.instructions import share
from dnatrace.policy.levers import LeversSettings
from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.costs import Ratio, averted, nothing_of, ratio_of_means
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.study import Study

NOTHING, STATUS_QUO, PLAN = "nothing", "status quo", "plan"
NEXT_BEST = "next best"  # the plan of the front with the fewest infections on validation seeds
ONE_PERCENT = 0.01
LOWER = 0.2  # as a share of ε: to measure what a five times smaller privacy budget costs
PRIVATE = NEWS  # better than `daily` at every ε that was measured
PER = 10_000  # numbers are reported per this many people


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change of the plan, to be measured.

    Attributes:
        key: its name in files.
        text: what it adds, in words.
        less: the label of the runs with less of it.
        more: the label of the runs with more of it.
        is_part: whether it is a part of the plan rather than a constraint.
    """

    key: str
    text: str
    less: str
    more: str
    is_part: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Configurations close to the plan, by label, and which of them to compare.

    Attributes:
        configs: the configurations by label.
        steps: the comparisons to make.
    """

    configs: dict[str, RunConfig]
    steps: list[Step]


def neighbours(action: Action, world: World, budgets: Budgets) -> Neighbours:
    """Return what the plan is compared with: more of every budget, less of every lever."""
    configs: dict[str, RunConfig] = {}
    steps: list[Step] = []

    def add(key: str, text: str, config: RunConfig, *, more: bool) -> None:
        configs[key] = config
        less_of, more_of = (PLAN, key) if more else (key, PLAN)
        steps.append(Step(key=key, text=text, less=less_of, more=more_of, is_part=not more))

    wider = budgets.with_more(tests=ONE_PERCENT)
    if wider != budgets and not _leaves_tests(action, world, budgets):
        grown = action if action.tests > 0.0 else replace(action, tests=1.0)
        used, before = (
            share(one.tests * b.tests) for one, b in ((grown, wider), (action, budgets))
        )
        text = "one more percent of tests in the budget (the plan then tests up to "
        text += f"{used} of the people per day instead of {before})"
        add("more tests", text, grown.config(world, wider), more=True)
    wider = budgets.with_more(quarantine=ONE_PERCENT)
    if wider != budgets and _sends_home(action, world, wider):
        text = f"one more percent in quarantine (at most {share(wider.quarantine)} of the people "
        text += f"instead of {share(budgets.quarantine)})"
        add("more quarantine", text, action.config(world, wider), more=True)
    people = world.usual.n_people
    for key, (text, without) in _without(action, world).items():
        add(key, text, without.plain(budgets, people).config(world, budgets), more=False)
    return Neighbours(configs=configs, steps=steps)


def _leaves_tests(action: Action, world: World, budgets: Budgets) -> bool:
    """Return whether somebody could be tested and nobody is, so that more tests change nothing."""
    return action.tests == 0.0 and is_somebody(budgets.tests, world.usual.n_people)


def _sends_home(action: Action, world: World, budgets: Budgets) -> bool:
    """Return whether anybody may be in quarantine: by a lever of the plan or of the scenario."""
    policy = action.config(world, budgets).policy
    assert isinstance(policy, LeversSettings)  # every action has levers
    senders = (policy.household, policy.quarantine, policy.manual, policy.notification)
    waits = policy.symptoms.is_on and policy.symptoms.waits_at_home
    return waits or any(lever.is_on for lever in senders)


def not_measured(action: Action, world: World, budgets: Budgets) -> list[str]:
    """Return which larger budgets were not measured, and why."""
    lines = []
    if _leaves_tests(action, world, budgets):
        text = "One more percent of tests in the budget was not measured: this plan leaves "
        lines.append(f"{text}unused the tests that it has.")
    if not _sends_home(action, world, budgets.with_more(quarantine=ONE_PERCENT)):
        text = "One more percent in quarantine was not measured: this plan uses no quarantine."
        lines.append(text)
    return lines


def _without(action: Action, world: World) -> dict[str, tuple[str, Action]]:
    """Return the plan without each of its parts, and what the part is called."""
    found: dict[str, tuple[str, Action]] = {}
    if action.household_days:
        text = "quarantine of housemates"
        found["no household"] = (text, replace(action, household_days=0))
    if action.by_score:
        found["no quarantine by score"] = ("quarantine by score", replace(action, by_score=0.0))
    if action.waits:
        text = "waiting at home for the result"
        found["no waiting"] = (text, replace(action, waits=False))
    if action.staff and has_staff(world.usual):
        found["no staff"] = ("tracing by staff", replace(action, staff=False))
    if action.tests:
        found["no tests"] = ("all tests", replace(action, tests=0.0))
    if action.uses_scores:
        text = "scores at all"
        found["no scores"] = (text, replace(action, method=NO_SCORES, epsilon=0.0))
    return found


def privacy_twins(action: Action, world: World, budgets: Budgets) -> Neighbours:
    """Return the same policy with other methods: no messages, less and all of ε, exact messages.

    Edge case: where nothing is decided by scores, methods are not compared.
    """
    floor = replace(action, method=FLOOR, epsilon=0.0)
    configs = {FLOOR: floor.config(world, budgets)}
    steps = []
    if budgets.epsilon > 0.0 and action.uses_scores:
        method = action.method if action.epsilon > 0.0 else PRIVATE
        for label, epsilon in (("ε", budgets.epsilon), ("lower ε", LOWER * budgets.epsilon)):
            twin = replace(action, method=method, epsilon=epsilon)
            configs[label] = twin.config(world, budgets)
        told = f"all of ε ({budgets.epsilon:g} per person) instead of {LOWER * budgets.epsilon:g}"
        messages = f"private messages ({method}, ε = {budgets.epsilon:g}) instead of none"
        steps += [
            Step(key="epsilon", text=told, less="lower ε", more="ε"),
            Step(key="messages", text=messages, less=FLOOR, more="ε"),
        ]
    for name in BOUNDS:
        configs[name] = action.bound(world, budgets, name)
    if action.uses_scores:
        text = "exact messages, which are NOT private, instead of none"
        steps.append(Step(key="exact messages", text=text, less=FLOOR, more=EXACT))
    return Neighbours(configs=configs, steps=steps)


def baselines(world: World) -> dict[str, RunConfig]:
    """Return the world without any intervention, and as the scenario has it without tracing."""
    return {NOTHING: nothing_of(world.usual), STATUS_QUO: world.usual}


def margins(study: Study[str], steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Return what each step gains, infections averted per 10,000 people, and what it costs."""
    rows = []
    for step in steps:
        infections = PER * -_change(study, step, "attack_rate")
        home = _change(study, step, "isolation_person_days") / people_of(study, step.more)
        tests = _change(study, step, "tests_used") / people_of(study, step.more)
        row: dict[str, Any] = {"key": step.key, "more_of": step.text}
        row |= {"is_part": step.is_part}
        row |= named_interval("infections_averted", infections)
        row |= named_interval("days_at_home_per_person", home)
        row |= named_interval("tests_per_person", tests)
        rows.append(row | {"per_people": PER})
    return rows


def gap_recovered(study: Study[str]) -> dict[str, Any] | None:
    """Return the share of the gain of exact messages over none that private messages keep.

    There are no numbers where exact messages are not shown to gain anything.
    """
    if "ε" not in study.summaries:
        return None
    floor, private, exact = (
        study.spread(label, "attack_rate").values for label in (FLOOR, "ε", EXACT)
    )
    gains = floor.size > 1 and Spread(values=floor - exact).interval[0] > 0.0
    found = ratio_of_means(floor - private, floor - exact) if gains else Ratio(value=None)
    return {"share": found.value, "low": found.low, "high": found.high}


def told_rows(study: Study[str], label: str) -> list[dict[str, Any]]:
    """Return what a label averts and costs compared with doing nothing and with the status quo.

    Numbers are of everybody in the city, so `per_people` is how many they are.
    """
    against = {name: name for name in (NOTHING, STATUS_QUO) if name != label}
    size = {"per_people": round(float(people_of(study, label)[0]))}
    return [row | size for row in averted(study, label, against)]


def group_rows(study: Study[str], label: str) -> list[dict[str, Any]]:
    """Return what a label averts and costs against the status quo, per person of every group."""
    rows = study.averted(label, by_group=True, status_quo=STATUS_QUO).to_pylist()
    return [row | {"per_people": 1} for row in rows]


def goals_of(study: Study[str], label: str) -> dict[str, Any]:
    """Return infections, days at home and tests of a label, with intervals.

    Infections averted are per `per_people`; other numbers say in their names what they are.
    """
    values = {
        "infected_share": study.spread(label, "attack_rate"),
        "deaths_share": study.spread(label, "deaths"),
        "days_at_home_per_person": _per_person(study, label, "isolation_person_days"),
        "tests_per_person": _per_person(study, label, "tests_used"),
    }
    spent = study.summaries[label][0]["privacy"]["per_person_epsilon"]
    row: dict[str, Any] = {"epsilon": None if label in BOUNDS else spent}
    for name, found in values.items():
        row |= named_spread(name, found)
    for name in (NOTHING, STATUS_QUO):
        fewer = -study.difference(label, name, "attack_rate").values * PER
        row |= named_interval(f"infections_averted_vs_{name.replace(' ', '_')}", fewer)
    return row | {"per_people": PER}


def named_interval(name: str, values: NDArray[np.float64]) -> dict[str, float | None]:
    """Return mean, low and high end of the 90 % interval under names; no interval for one seed."""
    return named_spread(name, Spread(values=values))


def named_spread(name: str, spread: Spread) -> dict[str, float | None]:
    """Return the same of a spread, whose interval stays within what the quantity can be."""
    low, high = spread.interval
    ends = (low, high) if spread.values.size > 1 else (None, None)
    return {name: spread.mean, f"{name}_low": ends[0], f"{name}_high": ends[1]}


def _per_person(study: Study[str], label: str, metric: str) -> Spread:
    found = study.spread(label, metric)
    return Spread(values=found.values / people_of(study, label), bounds=found.bounds)


def _change(study: Study[str], step: Step, metric: str) -> NDArray[np.float64]:
    return study.difference(step.more, step.less, metric).values


def people_of(study: Study[str], label: str) -> NDArray[np.float64]:
    """Return the size of the population on every seed."""
    return study.spread(label, "people").values
