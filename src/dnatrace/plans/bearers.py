"""Who bears a plan: who stays at home the most, and who has no fewer infections in return."""

from collections.abc import Mapping
from typing import Any

from dnatrace.plans.comparison import PLAN, STATUS_QUO
from dnatrace.plans.instructions import share
from dnatrace.plans.intervals import is_loss, is_nothing, is_told, more
from dnatrace.plans.planning import Plan


def bears_lines(plan: Plan) -> list[str]:
    """Return who bears the plan and may oppose it."""
    lines = []
    for by in ("household size", "age"):
        days = _groups(plan, by, "isolation_days_per_person")
        if len(days) < 2:
            continue
        most, least = (pick(days, key=lambda row: float(row["n"])) for pick in (max, min))
        if most["n"] == least["n"]:
            lines.append(f"By {by} nobody bears more days at home than others.")
            lines += _in_vain(plan, by)
            continue
        lines.append(
            f"By {by} the most is borne by {_people(most, by)}: {_than_today(most)}; the least by "
            f"{_people(least, by)}: {more(least, 'n', 'days at home per person')}."
        )
        lines += _in_vain(plan, by)
    for key, what in (
        ("isolation_person_days", "all days at home"),
        ("quarantine_person_days", "those without a positive result of one's own"),
    ):
        needless = _needless(plan, key)
        lines += [] if needless is None else [f"Of {what} {needless} are of people not infected."]
    return lines


def _than_today(row: Mapping[str, Any]) -> str:
    differs = is_told(row, "n") is not False and not is_nothing(row, "n")
    today = " than today" if differs else ", compared with today"
    return more(row, "n", "days at home per person") + today


def _in_vain(plan: Plan, by: str) -> list[str]:
    """Return who has more infections than today, and who is not shown to have fewer."""
    gains = _groups(plan, by, "infections averted")
    harmed = [_people(row, by) for row in gains if is_loss(row, "n")]
    vain = [_people(row, by) for row in gains if is_told(row, "n") is False]
    told = {"More infections than today": harmed, "No detectable reduction in infections": vain}
    return [f"{what}: {', '.join(who)}." for what, who in told.items() if who]


def _people(row: Mapping[str, Any], by: str) -> str:
    if by == "age":
        return f"people of {row['group']}"
    return "people who live alone" if row["group"] == "1" else f"households of {row['group']}"


def _needless(plan: Plan, key: str) -> str | None:
    """Return the share of days at home of people who are not infected."""
    of = plan.study.summaries[PLAN]
    days, idle = (sum(float(s.get(k) or 0.0) for s in of) for k in (key, f"{key}_uninfected"))
    return share(round(idle / days, 2)) if days else None


def _groups(plan: Plan, by: str, quantity: str) -> list[dict[str, Any]]:
    found = plan.study.averted(PLAN, by_group=True, status_quo=STATUS_QUO).to_pylist()
    return [
        {"group": row["group"], "n": row["mean"], "n_low": row["low"], "n_high": row["high"]}
        for row in found
        if (row["grouped_by"], row["quantity"]) == (by, quantity) and row["mean"] is not None
    ]
