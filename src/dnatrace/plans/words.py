"""A plan in words that a health officer can act on."""

from collections.abc import Mapping
from typing import Any

from dnatrace.plans import comparison
from dnatrace.plans.actions import (
    FLOOR,
    METHODS,
    NO_SCORES,
    TRUTH,
    Action,
    follow,
    has_staff,
    people_ask,
)
from dnatrace.plans.budgets import Budgets
from dnatrace.plans.comparison import PER, STATUS_QUO, share
from dnatrace.plans.planning import Plan
from dnatrace.policy.household import Trigger
from dnatrace.runs.quantities import shown
from dnatrace.runs.scenarios import read_scenario

_NOTHING = 5e-4
NOT_KNOWN = (
    "The numbers are those of a simulated city, not of yours: its contacts, its disease and who "
    "follows are assumptions with the sources that `dnatrace config scenarios` lists, and no "
    "uncertainty about them is in the intervals, which tell chance between runs alone.",
    "Levers that the package does not have (masks, closing schools for this purpose, borders) "
    "were not tried, nor sizes between those of the search.",
    "What tests, calls and days at home cost in money, and what they cost those who bear them.",
)


def interval(row: Mapping[str, Any], name: str, scale: float = 1.0) -> str:
    """Return a mean with its interval."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    mean = _shown(scale * row[name])
    if low is None:
        return f"{mean} (one seed: no interval)"
    return f"{mean} ({_shown(scale * low)} to {_shown(scale * high)})"


def _shown(value: float) -> str:
    """Return a number; what is as good as nothing is 0."""
    return shown(0.0 if abs(value) < _NOTHING else value)


def to_do(action: Action, plan: Plan) -> list[str]:
    """Return what is to be done, one instruction per line."""
    return [
        *_tests(action, plan),
        *_home(action, plan),
        *_scores(action),
    ] or ["Do nothing."]


def _tests(action: Action, plan: Plan) -> list[str]:
    total = action.tests * plan.budgets.tests
    if total == 0.0:
        return []
    lines = [f"Test up to {share(total)} of the people per day."]
    asked = people_ask(plan.world.usual) and action.for_scores < 1.0
    if asked:
        most = share(total * (1.0 - action.for_scores))
        lines.append(f"People with symptoms come first, up to {most} of the people per day.")
    if action.method != NO_SCORES:
        what = "What they leave goes" if asked else "All tests go"
        lines.append(f"{what} to the app users with the highest scores.")
    if action.to_release:
        most = share(total * action.to_release)
        lines.append(f"Up to {most} of the people per day are tested in quarantine, to end it.")
    if action.waits:
        lines.append("People with symptoms stay at home until they have their result.")
    return lines


def _home(action: Action, plan: Plan) -> list[str]:
    lines = []
    most = share(plan.budgets.quarantine)
    if action.household_days:
        when = {
            Trigger.POSITIVE.value: "Housemates of a person who tested positive",
            Trigger.SYMPTOMS.value: "People with symptoms and their housemates",
        }[action.household_trigger]
        lines.append(f"{when} stay at home for {action.household_days} days.")
    if action.by_score:
        filled = share(action.by_score * plan.budgets.quarantine)
        lines.append(
            f"App users with the highest scores stay at home for {action.score_days} days without "
            f"a test, up to {filled} of the people at once."
        )
    if action.negative_ends:
        lines.append("A negative test of one's own ends a quarantine.")
    if lines:
        lines.append(
            f"Never more than {most} of the people in quarantine; a lot decides beyond it."
        )
    if has_staff(plan.world.usual):
        kept = "as in the scenario" if action.staff else "no longer"
        lines.append(f"Staff trace contacts by hand {kept}.")
    return lines


def _scores(action: Action) -> list[str]:
    if action.method == NO_SCORES:
        return []
    if action.epsilon == 0.0:
        return [f"Scores come from public facts alone ({action.method}): no phone sends anything."]
    return [f"Scores come from {action.method} with ε = {action.epsilon:g} per person."]


def promise(action: Action, plan: Plan) -> str:
    """Return what is promised to a person."""
    delta = plan.world.config(**METHODS[action.method]).privacy.delta
    if action.epsilon == 0.0:
        text = "No message about anybody leaves a phone; scores tell nobody of another's test."
    else:
        text = (
            f"Whatever one other person's phone ever shows, it tells of one test result of yours "
            f"no more than ε = {action.epsilon:g} allows (δ = {delta:g}), given everybody else's "
            "tests and who met whom; with the noise `secure`, for the noise of these runs is a "
            "simulation's."
        )
    policy = action.config(plan.world, plan.budgets).policy
    if policy.tells_of_cases:
        text += " Not covered: those who are sent home because of a case learn of it without noise."
    return text


def recommendation(plan: Plan) -> dict[str, Any]:
    """Return the plan in words: what to do, what it brings and costs, what nobody knows."""
    row = next(row for row in plan.rows() if row["recommended"])
    return {
        "do": to_do(plan.action, plan),
        "brings": _brings(plan, row),
        "costs": _costs(plan, row),
        "promise": promise(plan.action, plan),
        "privacy": _price_of_privacy(plan),
        "unknown": [*_world_words(plan), *NOT_KNOWN],
        "action": action_values(plan.action, plan.budgets),
    }


def action_values(action: Action, budgets: Budgets) -> dict[str, Any]:
    """Return an action as plain values, sizes as shares of the people."""
    return {
        "method": action.method,
        "epsilon_per_person": action.epsilon,
        "tests_per_day": action.tests * budgets.tests,
        "tests_kept_for_scores": action.for_scores * action.tests * budgets.tests,
        "negative_ends": action.negative_ends,
        "tests_for_release": action.to_release * action.tests * budgets.tests,
        "waits_at_home": action.waits,
        "household_days": action.household_days,
        "household_trigger": action.household_trigger if action.household_days else None,
        "in_quarantine_by_score": action.by_score * budgets.quarantine,
        "score_days": action.score_days if action.by_score else None,
        "staff_trace": action.staff,
    }


def _brings(plan: Plan, row: Mapping[str, Any]) -> str:
    seeds = len(plan.study.seeds)
    nothing, usual = (
        interval(row, f"infections_averted_vs_{name}") for name in ("nothing", "status_quo")
    )
    if row["infections_averted_vs_nothing"] == 0.0:
        return "Nothing was found within these budgets that averts infections in this world."
    told = row["infections_averted_vs_status_quo_low"]
    sure = "" if told is None or told > 0.0 else " It is not told apart from the status quo."
    return (
        f"Per {PER:,} people over {plan.world.usual.days} days: {nothing} infections averted "
        f"against doing nothing, {usual} against the status quo of the scenario (its levers "
        f"without tracing).{sure} Means and 90 % intervals over {seeds} fresh seeds, paired; "
        f"{interval(row, 'infected_share', 100.0)} % of the people are infected in the end."
    )


def _costs(plan: Plan, row: Mapping[str, Any]) -> str:
    usual = comparison.goals_of(plan.study, STATUS_QUO)
    return (
        f"{interval(row, 'days_at_home_per_person')} days at home per person in all (status quo "
        f"{interval(usual, 'days_at_home_per_person')}) and {interval(row, 'tests_per_person')} "
        f"tests per person (status quo {interval(usual, 'tests_per_person')}). On the busiest day "
        f"of any run {share(row['most_tested_on_a_day'])} of the people were tested and "
        f"{share(row['most_in_quarantine_on_a_day'])} were in quarantine."
    )


def _price_of_privacy(plan: Plan) -> str:
    """Return what messages gain, private or exact."""
    worth = {row["key"]: row for row in comparison.margins(plan.study, plan.steps)}
    exact = worth["exact messages"]
    text = (
        f"With the same policy, exact counts of positive tests (not private) avert "
        f"{interval(exact, 'infections_averted')} infections per {PER:,} people more than {FLOOR}"
    )
    truth = comparison.named_interval(
        "infections_averted",
        PER * -plan.study.difference(TRUTH, FLOOR, "attack_rate").values,
    )
    if "messages" in worth:
        private = interval(worth["messages"], "infections_averted")
        text += f"; private ones at ε = {plan.budgets.epsilon:g} {private} more"
    text += (
        f". To know who is infected would avert {interval(truth, 'infections_averted')} more: "
        "what a better method could still gain."
    )
    if plan.action.epsilon == 0.0 and plan.action.method != NO_SCORES and "messages" in worth:
        text += " Messages were not shown to pay on the validation seeds, so none are sent."
    return text


def _world_words(plan: Plan) -> list[str]:
    """Return the assumptions that decide: who has the app, who follows."""
    usual = plan.world.usual
    stays, adoption = follow(usual, "household"), usual.app.adoption
    users = "some, by age," if isinstance(adoption, list) else share(adoption)
    return [
        f"Assumed: {read_scenario(plan.world.scenario).title}. {users} have "
        f"the app, {share(usual.isolation.adherence)} isolate after a positive result and "
        f"{share(stays)} of those told to stay at home do."
    ]


def margin_lines(plan: Plan) -> list[str]:
    """Return what each constraint and each part of the plan is worth, one line each."""
    return [
        f"{row['more_of'][0].upper()}{row['more_of'][1:]}: worth "
        f"{interval(row, 'infections_averted')} infections averted per {PER:,} people, at "
        f"{interval(row, 'days_at_home_per_person')} days at home and "
        f"{interval(row, 'tests_per_person')} tests more per person."
        for row in comparison.margins(plan.study, plan.steps)
    ]
