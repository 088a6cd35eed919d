"""Which question a plan answers, so that no other plan and no other file is overwritten by it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.files import keep_inputs, parse_json
from dnatrace.plans.search import Search
from dnatrace.runs.scenarios import read_scenario

# What a plan is written to; plan.json says whose files these are.
NAMES = (
    *("plan.json", "plan.md", "plan.html", "plan-front.csv", "plan-margins.csv"),
    *("plan-worlds.csv", "plan-evaluations.csv"),
)


def question(search: Search, *, small: bool) -> dict[str, Any]:
    """Return what was asked, as plain values: equal for calls that give the same plan."""
    world, budgets, effort = search.world, search.budgets, search.effort
    return {
        "scenario": read_scenario(world.scenario).name,
        "settings": list(world.settings),
        "people": world.usual.people,
        "days": world.usual.days,
        "small_version": small,
        "budgets": {
            "tests": budgets.tests,
            "quarantine": budgets.quarantine,
            "epsilon": budgets.epsilon,
        },
        "search": {
            "evaluations": effort.evaluations,
            "validation_seeds": list(search.seeds),
            "rungs": [list(rung) for rung in effort.rungs],
        },
    }


def keep_others(out: Path, asked: Mapping[str, Any]) -> None:
    """Raise if files of this directory would be overwritten that are not a plan of this question.

    Raises:
        InputError: there is a plan of another question, or a file that is not of a plan.
    """
    recorded = _recorded(out / NAMES[0])
    if recorded is not None and _answers(recorded, asked):
        return
    if recorded is not None:
        raise InputError(f"{out / NAMES[0]}: is a plan for another question; --force replaces it")
    for path in (out / name for name in NAMES):
        if path.exists():
            keep_inputs(path, (), force=False)


def _recorded(path: Path) -> Mapping[str, Any] | None:
    """Return what a file records; None if it is not a plan."""
    try:
        values = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return None
    is_plan = isinstance(values, Mapping) and {"budgets", "recommendation"} <= set(values)
    return values if is_plan else None


def _answers(recorded: Any, asked: Any) -> bool:
    """Return whether a record has everything that was asked, whatever else it has."""
    if isinstance(asked, Mapping):
        return isinstance(recorded, Mapping) and all(
            key in recorded and _answers(recorded[key], value) for key, value in asked.items()
        )
    return bool(recorded == asked)
