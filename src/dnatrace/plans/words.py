"""A plan in words that a health officer can act on."""

from collections.abc import Mapping, Sequence
from typing import Any

from dnatrace.plans import assumptions, changes, comparison, instructions
from dnatrace.plans.actions import FLOOR, METHODS, TRUTH, Action, follow, has_staff
from dnatrace.plans.bearers import bears_lines
from dnatrace.plans.comparison import NOTHING, PER, PLAN, STATUS_QUO
from dnatrace.plans.instructions import share
from dnatrace.plans.intervals import (
    bound,
    fewer,
    interval,
    is_gain,
    is_loss,
    is_told,
    more,
)
from dnatrace.plans.planning import Plan

_AVERTED = "infections_averted"
_VERSUS_TODAY = "infections_averted_vs_status_quo"
_VERSUS_NEXT_BEST = "infections_averted_vs_next_best"
_COUNTED = {  # what is averted, in everyday words
    "infections": "infections",
    "deaths": "deaths",
    "hospital peak": "people in hospital, not critical, at the peak",
}
NOTHING_FOUND = "Nothing was found within these budgets that averts infections in this world."
NOT_KNOWN = (
    "The numbers are those of a simulated city, not of yours: its contacts, its disease and who "
    "complies are assumptions with the sources that `dnatrace config scenarios` lists. Intervals "
    "show only the chance between runs.",
    "Levers that the package does not have (masks, closing schools for this purpose, borders) "
    "were not tried, nor sizes between those of the search.",
    "What tests, calls and days at home cost in money, and what they cost those who bear them.",
)


def to_do(action: Action, plan: Plan) -> list[str]:
    """Return what to do, one instruction per line."""
    return instructions.to_do(action, plan.world, plan.budgets)


def recommendation(plan: Plan) -> dict[str, Any]:
    """Return the plan in words: what to do, what it gains and costs, what it depends on."""
    row = next(row for row in plan.rows() if row["recommended"])
    return {
        "in_short": _in_short(plan, row),
        "do": to_do(plan.action, plan),
        "brings": _brings(plan, row),
        "costs": _costs(plan, row),
        "depends": depends_lines(plan),
        "bears": bears_lines(plan),
        "promise": promise(plan.action, plan),
        "privacy": _price_of_privacy(plan),
        "unknown": list(NOT_KNOWN),
        "action": action_values(plan.action, plan),
    }


def action_values(action: Action, plan: Plan) -> dict[str, Any]:
    """Return an action as plain values, with sizes as shares of the population.

    What does not apply, such as staff where the scenario has none, is None.
    """
    budgets = plan.budgets
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
        "staff_trace": action.staff if has_staff(plan.world.usual) else None,
    }


def _in_short(plan: Plan, row: Mapping[str, Any]) -> str:
    """Return what to do and what it gains, in a few sentences."""
    do = instructions.in_short(plan.action, plan.world, plan.budgets)
    found = [NOTHING_FOUND] if row["infections_averted_vs_nothing"] == 0.0 else []
    changed = fewer(row, _VERSUS_TODAY, "infections")
    home = more(_per_person(plan, "isolation_person_days"), "n", "days at home per person")
    ends = ", which would end," if do == instructions.NOTHING else ""
    where = " in the changed world" if changes.is_changed(plan.world) else ""
    brings = f"Compared with what is done today{where}{ends} that means {changed} per {PER:,} "
    brings += f"people in {plan.world.usual.days} days, and {home}."
    return " ".join([do, *found, brings, *_robust(plan, row)])


def _robust(plan: Plan, here: Mapping[str, Any]) -> list[str]:
    """Return whether the plan is also better than today in the other worlds that change it."""
    same = assumptions.without_effect(plan.study, plan.other_worlds)
    rows = [row for row in _worlds(plan) if row["key"] not in same]
    worse = [row["if"] for row in rows if is_loss(row, _VERSUS_TODAY)]
    gains = [row for row in rows if is_gain(row, _VERSUS_TODAY)]
    unknown = [row["if"] for row in rows if row["if"] not in worse and row not in gains]
    also = "also " if is_loss(here, _VERSUS_TODAY) else ""
    lines = []
    if gains and not is_gain(here, _VERSUS_TODAY):
        lines.append(f"It is better than today if {_either(gains)}.")
    elif rows and len(gains) == len(rows):
        tried = ", ".join(row["key"] for row in rows)
        lines.append(f"It stays better than today where one assumption is wrong ({tried}).")
    if worse:
        lines.append(f"It is {also}worse than today if {'; or if '.join(worse)}.")
    if unknown:
        lines.append(f"It is not shown to be better than today if {'; nor if '.join(unknown)}.")
    passed = [row for row in rows if is_loss(row, _VERSUS_NEXT_BEST)]
    if passed and plan.next_best:
        lines.append(f"The next best plan ({plan.next_best}) averts more if {_either(passed)}.")
    return lines


def _either(rows: Sequence[Mapping[str, Any]]) -> str:
    return "; or if ".join(row["if"] for row in rows)


def _per_person(plan: Plan, metric: str, than: str = STATUS_QUO) -> dict[str, float | None]:
    """Return how much more of something the plan uses per person, as `n`."""
    found = plan.study.difference(PLAN, than, metric).values
    return comparison.named_interval("n", found / comparison.people_of(plan.study, PLAN))


def _brings(plan: Plan, row: Mapping[str, Any]) -> str:
    in_vain = row["infections_averted_vs_nothing"] == 0.0
    told = {
        (found["against"], found["quantity"]): {
            "n": found["mean"],
            "n_low": found["low"],
            "n_high": found["high"],
        }
        for found in comparison.told_rows(plan.study, PLAN)
        if found["mean"] is not None
    }
    scale = PER / plan.world.usual.people
    lines = []
    scenario = "changed scenario" if changes.is_changed(plan.world) else "scenario"
    for against, name in (
        (STATUS_QUO, f"what is done today (the {scenario} without tracing)"),
        *([] if in_vain else [(NOTHING, "doing nothing")]),
    ):
        parts = [
            fewer(told[against, f"{what} averted"], "n", people, scale)
            for what, people in _COUNTED.items()
            if (against, f"{what} averted") in told
        ]
        lines.append(f"against {name} {', '.join(parts)}")
    usual = comparison.goals_of(plan.study, STATUS_QUO)
    first = f"{NOTHING_FOUND} " if in_vain else ""
    return first + (
        f"{interval(row, 'infected_share', 100.0)} % of the people are infected in the end, today "
        f"{interval(usual, 'infected_share', 100.0)} %. Per {PER:,} people over "
        f"{plan.world.usual.days} days: {'; '.join(lines)}."
    )


def _costs(plan: Plan, row: Mapping[str, Any]) -> str:
    home, tests = (_per_person(plan, key) for key in ("isolation_person_days", "tests_used"))
    days, used = "days_at_home_per_person", "tests_per_person"
    usual = comparison.goals_of(plan.study, STATUS_QUO)
    return (
        f"{interval(row, days)} days at home per person, for whatever reason, today "
        f"{interval(usual, days)}: {more(home, 'n', 'days')}. {interval(row, used)} tests per "
        f"person, today {interval(usual, used)}: {more(tests, 'n', 'tests')}. On the busiest day "
        f"of any run {share(row['most_tested_on_a_day'])} of the people were tested and "
        f"{share(row['most_in_quarantine_on_a_day'])} were in quarantine."
    )


def depends_lines(plan: Plan) -> list[str]:
    """Return what the plan depends on: who complies, its parts, the next best plan."""
    usual = plan.world.usual
    adoption = usual.app.adoption
    users = "some, by age," if isinstance(adoption, list) else share(adoption)
    lines = [
        f"Assumed: {changes.assumed(plan.world)} {users} have the app, "
        f"{share(usual.isolation.adherence)} isolate after a positive result and "
        f"{share(follow(usual, 'household'))} of those told to stay at home do.",
        changes.today_line(plan.world),
    ]
    return [*lines, *_part_lines(plan), *_next_best_lines(plan)]


def _part_lines(plan: Plan) -> list[str]:
    """Return which part is worth the most, and which could be left out."""
    parts = [row for row in comparison.margins(plan.study, plan.steps) if row["is_part"]]
    gains = [row for row in parts if is_told(row, _AVERTED) and row[_AVERTED] > 0.0]
    lines = []
    if gains:
        best = max(gains, key=lambda row: float(row[_AVERTED]))
        lines.append(
            f"Worth the most of its parts: {best['more_of']}. Without it "
            f"{interval(best, _AVERTED)} infections more per {PER:,} people."
        )
    idle = [row["more_of"] for row in parts if is_told(row, _AVERTED) is False]
    if idle:
        lines.append(
            f"Not shown to avert anything in addition to the rest: {', '.join(idle)}. To save "
            "effort, drop these first."
        )
    return lines


def _next_best_lines(plan: Plan) -> list[str]:
    if plan.next_best is None:
        return []
    averted = -PER * plan.study.difference(PLAN, plan.next_best, "attack_rate").values
    home = _per_person(plan, "isolation_person_days", plan.next_best)
    other = plan.front[plan.next_best]
    differs = instructions.instead(other, plan.action, plan.world, plan.budgets)
    gain = fewer(comparison.named_interval("n", averted), "n", "infections")
    return [
        f"The next best that was found ({plan.next_best}) differs in this: {differs}. Compared "
        f"with it the plan has {gain} per {PER:,} people, and "
        f"{more(home, 'n', 'days at home per person')}."
    ]


def promise(action: Action, plan: Plan) -> str:
    """Return what is promised to a person."""
    delta = plan.world.config(**METHODS[action.method]).privacy.delta
    if action.epsilon == 0.0:
        text = "No message about anybody leaves a phone; scores reveal nobody else's test."
    else:
        text = (
            "Whatever one other person's phone ever shows, it reveals no more about one of your "
            f"test results than ε = {action.epsilon:g} allows (δ = {delta:g}), given everybody "
            "else's tests and who met whom. This requires the noise `secure`: the noise of these "
            "runs is for simulation only."
        )
    policy = action.config(plan.world, plan.budgets).policy
    if action.uses_scores:
        text += " Not covered: somebody must read all scores in order to choose the highest."
    if policy.tells_of_cases:
        text += " Not covered: those who are sent home because of a case learn of it without noise."
    return text


def _price_of_privacy(plan: Plan) -> str:
    """Return what messages, private or exact, gain over public facts under the same policy."""
    if not plan.action.uses_scores:
        return "Nothing: this plan uses no scores, so that no messages are needed."
    worth = {row["key"]: row for row in comparison.margins(plan.study, plan.steps)}
    text = (
        f"The same policy with messages instead of {FLOOR}, per {PER:,} people. Exact counts of "
        f"positive tests, which are not private: {_gain(worth['exact messages'])}."
    )
    if "messages" in worth:
        text += f" Private ones at ε = {plan.budgets.epsilon:g}: {_gain(worth['messages'])}."
    averted = -PER * plan.study.difference(TRUTH, FLOOR, "attack_rate").values
    text += f" Knowing who is infected: {_gain(comparison.named_interval(_AVERTED, averted))}; "
    text += "that is what a better method could still gain."
    if plan.action.epsilon == 0.0 and "messages" in worth:
        text += " Messages were not shown to help on the validation seeds, so none are sent."
    return text + _gap(comparison.gap_recovered(plan.study))


def _gain(row: Mapping[str, Any]) -> str:
    return fewer(row, _AVERTED, "infections")


def _gap(gap: Mapping[str, Any] | None) -> str:
    """Return the share of the gain of exact messages that private ones keep; "" if unknown."""
    if gap is None:
        return ""
    if gap["share"] is None or gap["low"] is None:
        return (
            " As exact messages are not shown to gain anything here, the promise to a person has "
            "no detectable cost."
        )
    low, mean, high = (bound(100.0 * gap[key], 1.0) for key in ("low", "share", "high"))
    return f" Private messages have {mean} % ({low} to {high} %) of what exact ones gain."


def margin_lines(plan: Plan, *, parts: bool) -> list[str]:
    """Return what each part of the plan, or each constraint, is worth, one line each."""
    lines = [
        f"{row['more_of'][0].upper()}{row['more_of'][1:]}: "
        f"{fewer(row, _AVERTED, 'infections')}, "
        f"{more(row, 'days_at_home_per_person', 'days at home')}, "
        f"{more(row, 'tests_per_person', 'tests')}."
        for row in comparison.margins(plan.study, plan.steps)
        if row["is_part"] == parts
    ]
    missing = comparison.not_measured(plan.action, plan.world, plan.budgets)
    return lines if parts else [*lines, *missing]


def _worlds(plan: Plan) -> list[dict[str, Any]]:
    return assumptions.rows_of(plan.study, plan.other_worlds)


def world_lines(plan: Plan) -> list[str]:
    """Return how the plan fares in other worlds, one line each."""
    return [_world_line(plan, row) for row in _worlds(plan)]


def _world_line(plan: Plan, row: Mapping[str, Any]) -> str:
    if row["key"] in assumptions.without_effect(plan.study, plan.other_worlds):
        return f"If {row['if']}: all stays the same, for nothing that is done depends on it."
    text = (
        f"If {row['if']}: {interval(row, 'infected_share', 100.0)} % are infected in the end, with "
        f"what is done today {interval(row, 'infected_share_status_quo', 100.0)} %; "
        f"{fewer(row, _VERSUS_TODAY, 'infections')}, "
        f"{more(row, 'days_at_home_more_per_person', 'days at home per person')}."
    )
    if plan.next_best is not None and _VERSUS_NEXT_BEST in row:
        text += f" Compared with {plan.next_best}: {fewer(row, _VERSUS_NEXT_BEST, 'infections')}."
    return text
