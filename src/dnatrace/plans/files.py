"""What `dnatrace plan` writes: the plan as JSON, Markdown, CSV and a page."""

from typing import Any

from dnatrace.plans import assumptions, changes, comparison, instructions, words
from dnatrace.plans.actions import BOUNDS
from dnatrace.plans.comparison import NOTHING, PER, PLAN, STATUS_QUO
from dnatrace.plans.instructions import share
from dnatrace.plans.intervals import interval
from dnatrace.plans.planning import TOLERANCE, Plan
from dnatrace.plans.questions import question
from dnatrace.plans.search import Tried
from dnatrace.runs.quantities import shown
from dnatrace.sweeps.results import as_csv, as_json, as_text, markdown_table, origin, page_head

WARNING = "SMALL VERSION: a tiny city and few evaluations. These numbers mean nothing."
FRONT_HEAD = (
    *("plan", f"infections averted per {PER:,} people, against nothing"),
    *("the same against the status quo", "ever infected, %"),
    *("days at home per person", "tests per person", "ε per person"),
)


# For the terminal: two tables, so that a row fits into 80 columns.
GAIN_HEAD = ("plan", f"averted per {PER:,}", "against status quo")
COST_HEAD = ("plan", "days at home", "tests", "ε")
UNITS = (
    f"Infections averted per {PER:,} people, against doing nothing and against the status quo; "
    "days at home and tests per person of the whole run; ε of one test of a person."
)
HEADINGS = {  # of the paragraphs
    "brings": "What it brings",
    "costs": "What it costs",
    "promise": "What is promised to a person",
    "privacy": "What privacy costs",
}


def as_values(plan: Plan, *, small: bool) -> dict[str, Any]:
    """Return the plan as plain values, as `--json` prints it."""
    search, seeds = plan.search, plan.study.seeds
    asked = question(search, small=small)
    return {
        **asked,
        "title": title_of(plan),
        "changes": [change.as_values() for change in changes.changes_of(plan.world)],
        "recommendation": words.recommendation(plan),
        "front": [row | {"do": words.to_do(plan.front[row["label"]], plan)} for row in plan.rows()],
        "margins": comparison.margins(plan.study, plan.steps),
        "gap_recovered": comparison.gap_recovered(plan.study),
        "other_worlds": assumptions.rows_of(plan.study, plan.other_worlds),
        "next_best": plan.next_best,
        "averted": comparison.told_rows(plan.study, PLAN),
        "baselines": [other_row(plan, name) for name in (NOTHING, STATUS_QUO)],
        "bounds_not_private": [other_row(plan, name) for name in BOUNDS],
        "by_group": comparison.group_rows(plan.study, PLAN),
        "search": {
            **asked["search"],
            "distinct": len(search.tried),
            "over_budget": len(search.tried) - len(search.offered),
        },
        "fresh_seeds": list(seeds),
    }


def other_row(plan: Plan, label: str) -> dict[str, Any]:
    """Return the numbers of something that is not offered."""
    return {"label": label} | comparison.goals_of(plan.study, label)


def front_cells(plan: Plan) -> list[list[str]]:
    """Return the front as cells of a table, followed by the baselines and the bounds."""
    rows = []
    for row in plan.rows():
        name = "**recommended**" if row["recommended"] else row["label"]
        rows.append([name, *_numbers(row), _epsilon(row)])
    return rows


def front_lines(plan: Plan) -> list[tuple[str, str]]:
    """Return what each plan of the front does instead of the recommended one."""
    return [
        (
            row["label"],
            instructions.instead(plan.front[row["label"]], plan.action, plan.world, plan.budgets),
        )
        for row in plan.rows()
        if not row["recommended"]
    ]


def short_tables(plan: Plan) -> list[list[dict[str, str]]]:
    """Return the front and what is not offered, for the terminal: what is gained, what it costs."""
    rows = [("recommended" if row["recommended"] else row["label"], row) for row in plan.rows()]
    rows += [(name, comparison.goals_of(plan.study, name)) for name in NOT_OFFERED]
    gains, costs = [], []
    for name, row in rows:
        averted, today, _, home, tests = _numbers(row)
        gains.append(dict(zip(GAIN_HEAD, (name, averted, today), strict=True)))
        costs.append(dict(zip(COST_HEAD, (name, home, tests, _epsilon(row)), strict=True)))
    return [gains, costs]


def other_cells(plan: Plan) -> list[list[str]]:
    """Return what is not offered, as cells of the same table."""
    return [
        [f"{label}: {told}", *_numbers(row), _epsilon(row)]
        for label, told in NOT_OFFERED.items()
        for row in (comparison.goals_of(plan.study, label),)
    ]


def _epsilon(row: dict[str, Any]) -> str:
    return "no bound" if row["epsilon"] is None else shown(row["epsilon"])


def _numbers(row: dict[str, Any]) -> list[str]:
    return [
        interval(row, "infections_averted_vs_nothing"),
        interval(row, "infections_averted_vs_status_quo"),
        interval(row, "infected_share", 100.0),
        interval(row, "days_at_home_per_person"),
        interval(row, "tests_per_person"),
    ]


NOT_OFFERED = {
    NOTHING: "no intervention",
    STATUS_QUO: "the scenario's levers without tracing, within no budget",
    "exact messages": "the recommended policy with exact counts of positive tests",
    "truth": "the recommended policy, knowing who is infected (oracle)",
    "app rule": "the recommended policy without scores, and quarantine for every contact of an app "
    "user who reports",
}


def notes(plan: Plan, *, small: bool) -> list[str]:
    """Return what a reader must know."""
    budgets, seeds, rungs = plan.budgets, plan.study.seeds, plan.effort.rungs
    steps = ", ".join(f"the best {n} on {k} seeds" for n, k in rungs)
    return [
        *([WARNING] if small else []),
        f"Budgets, never exceeded on any day of any run: {share(budgets.tests)} of the people "
        f"tested, {share(budgets.quarantine)} in quarantine (at home for another reason than a "
        f"positive result of their own), ε = {budgets.epsilon:g} for one test of a person.",
        *(f"{line}." for line in budgets.too_small(plan.world.usual.n_people)),
        f"Searched: {plan.effort.evaluations} proposals, {len(plan.search.tried)} of them "
        f"different, on the first {plan.effort.first_seeds} of the validation seeds, then {steps}. "
        f"Recommended: the fewest days at home among those that avert at least "
        f"{share(1.0 - TOLERANCE)} of what the best averts.",
        f"All numbers: {len(seeds)} fresh seeds ({seeds[0]} to {seeds[-1]}), "
        f"{plan.world.usual.people:,} people, {plan.world.usual.days} days; infections per "
        f"{PER:,} people; means with 90 % Student-t intervals, differences paired by seed.",
    ]


def title_of(plan: Plan) -> str:
    """Return the title of a page."""
    title = f"What to do in the world of scenario {changes.scenario_name(plan.world)}"
    changed = changes.changed_settings(plan.world)
    return f"{title}, changed: {changed}" if changed else title


def markdown(plan: Plan, command: str, *, small: bool) -> list[str]:
    """Return the plan as a page of Markdown: what to do first, how it was made last."""
    said = words.recommendation(plan)
    head, *how = page_head(title_of(plan), command, notes(plan, small=small))
    return [
        *(head, ""),
        *([f"**{WARNING}**", ""] if small else []),
        *(said["in_short"], ""),
        *("## What to do", "", *(f"- {line}" for line in said["do"]), ""),
        *_paragraphs(said, "brings", "costs"),
        *("## What it depends on", "", *(f"- {line}" for line in said["depends"]), ""),
        *("## If the world is different", "", WORLDS, ""),
        *(f"- {line}" for line in words.world_lines(plan)),
        *("", "## Who bears it", "", *(f"- {line}" for line in said["bears"]), ""),
        *("## Privacy", "", *_paragraphs(said, "promise", "privacy")),
        *("## What each part and each constraint is worth", "", WORTH, ""),
        *(f"- {line}" for parts in (True, False) for line in words.margin_lines(plan, parts=parts)),
        *("", "## The front", "", *markdown_table(FRONT_HEAD, front_cells(plan)), ""),
        *("What they do instead of what is recommended:", ""),
        *(f"- {label}: {told}." for label, told in front_lines(plan)),
        *("", "Not offered:", "", *markdown_table(FRONT_HEAD, other_cells(plan))),
        *("", "## Who gains and who bears it, against the status quo", ""),
        *markdown_table(GROUP_HEAD, group_cells(plan)),
        *("", "## What this does not know", "", *(f"- {line}" for line in said["unknown"])),
        *("", "## How this was made", *how),
    ]


WORTH = (
    f"With it instead of without it: infections per {PER:,} people, days at home and tests "
    "per person. Parts of the plan first, then constraints and methods."
)
WORLDS = (
    "The same plan, chosen for the world above, where one assumption is wrong; compared with what "
    f"is done today in that very world, on the same fresh seeds, per {PER:,} people."
)


def _paragraphs(said: dict[str, Any], *keys: str) -> list[str]:
    return [line for key in keys for line in (f"**{HEADINGS[key]}.** {said[key]}", "")]


GROUP_HEAD = ("by", "group", "infections averted, ‰ of the group", "days at home more per person")


def group_cells(plan: Plan) -> list[list[str]]:
    """Return who gains and who bears the burden."""
    cells: dict[tuple[str, str], list[str]] = {}
    scales = {"infections averted": 1000.0, "isolation_days_per_person": 1.0}
    for row in comparison.group_rows(plan.study, PLAN):
        if row["quantity"] in scales and row["mean"] is not None:
            named = {f"n{end}": row[key] for end, key in _ENDS.items()}
            told = interval(named, "n", scales[row["quantity"]])
            cells.setdefault((row["grouped_by"], row["group"]), []).append(told)
    return [[*group, *values] for group, values in cells.items()]


_ENDS = {"": "mean", "_low": "low", "_high": "high"}


def evaluation_rows(plan: Plan) -> list[dict[str, Any]]:
    """Return everything that was tried on validation seeds, one row per action."""
    return [_evaluation(one, plan) for one in plan.search.tried.values()]


def _evaluation(one: Tried, plan: Plan) -> dict[str, Any]:
    infected, home, tests = (float(goal) for goal in one.goals())
    return {
        **words.action_values(one.action, plan),
        "seeds": len(one.outcomes),
        "infected_share": infected,
        "days_at_home_per_person": home,
        "tests_per_person": tests,
        "most_tested_on_a_day": max(run.most_tests for run in one.outcomes),
        "most_in_quarantine_on_a_day": max(run.most_quarantined for run in one.outcomes),
        "within_budgets": all(run.within(plan.budgets) for run in one.outcomes),
        "config_digest_of_first_seed": one.config.model_copy(
            update={"seed": plan.search.seeds[0]}
        ).digest,
    }


def plan_files(
    plan: Plan, command: str, *, small: bool, page: bytes, stem: str = "plan"
) -> dict[str, bytes]:
    """Return the files of a plan by name."""
    values = {"command": command, "provenance": origin()} | as_values(plan, small=small)
    margins = comparison.margins(plan.study, plan.steps)
    return {
        f"{stem}.md": as_text(markdown(plan, command, small=small)),
        f"{stem}.html": page,
        f"{stem}-front.csv": as_csv(plan.rows()),
        f"{stem}-margins.csv": as_csv(margins),
        f"{stem}-worlds.csv": as_csv(assumptions.rows_of(plan.study, plan.other_worlds)),
        f"{stem}-evaluations.csv": as_csv(evaluation_rows(plan)),
        f"{stem}.json": as_json(values),
    }
