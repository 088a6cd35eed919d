"""The same plan in other worlds: fewer comply, fewer have the app, more contagion.

Intervals show chance between runs. What they do not show is measured here: each assumption is
changed on its own, and the plan is compared with the status quo and with the next best plan in that
world, on the same fresh seeds. The plan was not chosen for any of these worlds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dnatrace.plans.actions import Action, World, follow
from dnatrace.plans.budgets import Budgets
from dnatrace.plans.comparison import (
    NEXT_BEST,
    PER,
    PLAN,
    STATUS_QUO,
    named_interval,
    named_spread,
    people_of,
)
from dnatrace.plans.instructions import share
from dnatrace.policy.levers import LeversSettings
from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.study import Study

# How much each is changed: chosen as what an officer would consider possible.
FEWER_FOLLOW = 0.2  # subtracted from adherence
FEWER_WITH_APP = 0.5  # of the users
MORE_CONTAGION = 1.2  # times transmission
_LEVERS = ("symptoms", "household", "quarantine", "manual", "notification")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A world in which one thing differs from the scenario.

    Attributes:
        key: its name in files.
        text: what differs, worded to follow "if".
        world: that world.
    """

    key: str
    text: str
    world: World

    def label(self, of: str) -> str:
        """Return the label of its runs."""
        return f"{self.key}: {of}"


def other_worlds(world: World) -> list[Assumption]:
    """Return the worlds to look at, without those that the simulator cannot represent."""
    usual = world.usual
    found = [_changed(world, *_fewer_follow(usual)), _changed(world, *_fewer_users(usual))]
    if "transmissibility" in type(usual.simulator).model_fields:
        found.append(_changed(world, *_more_contagion(usual)))
    return found


def _changed(world: World, key: str, text: str, changes: dict[str, Any]) -> Assumption:
    other = replace(world, overrides=dict(world.overrides) | changes)
    return Assumption(key=key, text=text, world=other)


def _fewer_follow(usual: RunConfig) -> tuple[str, str, dict[str, Any]]:
    """Return lower shares of people who isolate and who follow each lever, by as many points."""

    def lower(adherence: float) -> float:
        return round(max(0.0, adherence - FEWER_FOLLOW), 12)

    changes = {"isolation.adherence": lower(usual.isolation.adherence)}
    policy = usual.policy
    for name in _LEVERS if isinstance(policy, LeversSettings) else ():
        rules = getattr(policy, name)
        if rules.is_on or "adherence" in rules.model_fields_set:
            changes[f"policy.{name}.adherence"] = lower(follow(usual, name))
    text = f"{share(changes['isolation.adherence'])} isolate after a positive result instead of "
    text += f"{share(usual.isolation.adherence)}, and as many points fewer follow the rest"
    return "fewer follow", text, changes


def _fewer_users(usual: RunConfig) -> tuple[str, str, dict[str, Any]]:
    adoption = usual.app.adoption
    if isinstance(adoption, list):
        fewer: float | list[float] = [FEWER_WITH_APP * one for one in adoption]
        return "fewer users", "half as many of every age have the app", {"app.adoption": fewer}
    text = f"{share(FEWER_WITH_APP * adoption)} have the app instead of {share(adoption)}"
    return "fewer users", text, {"app.adoption": FEWER_WITH_APP * adoption}


def _more_contagion(usual: RunConfig) -> tuple[str, str, dict[str, Any]]:
    rate = float(getattr(usual.simulator, "transmissibility"))  # noqa: B009 - not of every one
    text = f"people infect others {share(MORE_CONTAGION - 1.0)} more often"
    changes = {"simulator.transmissibility": round(MORE_CONTAGION * rate, 12)}
    return "more contagion", text, changes


def configurations(
    some: Sequence[Assumption], actions: dict[str, Action], budgets: Budgets
) -> dict[str, RunConfig]:
    """Return what is run in these worlds, by label: the status quo, the plan, the next best."""
    configs = {}
    for one in some:
        configs[one.label(STATUS_QUO)] = one.world.usual
        for name, action in actions.items():
            configs[one.label(name)] = action.config(one.world, budgets)
    return configs


def rows_of(study: Study[str], some: Sequence[Assumption]) -> list[dict[str, Any]]:
    """Return what the plan averts and costs in each world, compared with its status quo."""
    rows = []
    for one in some:
        plan, quo, other = (one.label(name) for name in (PLAN, STATUS_QUO, NEXT_BEST))
        row: dict[str, Any] = {"key": one.key, "if": one.text}
        for name, label in (("infected_share", plan), ("infected_share_status_quo", quo)):
            row |= named_spread(name, study.spread(label, "attack_rate"))
        fewer = -study.difference(plan, quo, "attack_rate").values
        row |= named_interval("infections_averted_vs_status_quo", PER * fewer)
        home = study.difference(plan, quo, "isolation_person_days").values
        row |= named_interval("days_at_home_more_per_person", home / people_of(study, plan))
        if other in study.summaries:
            fewer = -study.difference(plan, other, "attack_rate").values
            row |= named_interval("infections_averted_vs_next_best", PER * fewer)
        rows.append(row | {"per_people": PER})
    return rows


def without_effect(study: Study[str], some: Sequence[Assumption]) -> set[str]:
    """Return the keys of worlds in which the plan and the status quo fare as in the scenario."""
    return {
        one.key
        for one in some
        if all(
            np.array_equal(
                study.spread(one.label(name), metric).values, study.spread(name, metric).values
            )
            for name in (PLAN, STATUS_QUO)
            for metric in ("attack_rate", "isolation_person_days", "tests_used")
        )
    }
