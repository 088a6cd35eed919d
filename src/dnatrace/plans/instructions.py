"""A plan in words: as instructions, in one sentence, and how another plan differs."""

from dnatrace.plans.actions import NO_SCORES, Action, World, has_staff, people_ask
from dnatrace.plans.budgets import Budgets
from dnatrace.policy.household import Trigger

NOTHING = "Do nothing."
HOUSEHOLD = {
    Trigger.POSITIVE.value: "housemates of a person who tested positive",
    Trigger.SYMPTOMS.value: "people with symptoms and their housemates",
}


def share(value: float) -> str:
    """Return a share of people in percent."""
    return f"{100.0 * value:.3g} %"


def to_do(action: Action, world: World, budgets: Budgets) -> list[str]:
    """Return what is to be done, one instruction per line."""
    return [
        *_tests(action, world, budgets),
        *_isolation(action, world, budgets),
        *_home(action, world, budgets),
        *_scores(action),
    ] or [NOTHING]


def _tests(action: Action, world: World, budgets: Budgets) -> list[str]:
    total = action.tests * budgets.tests
    if total == 0.0:
        return []
    lines = [f"Test up to {share(total)} of the people per day."]
    asked = people_ask(world.usual) and action.for_scores < 1.0
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


def _isolation(action: Action, world: World, budgets: Budgets) -> list[str]:
    """Return what a positive result means, which is not decided but the scenario's."""
    if action.tests * budgets.tests == 0.0:
        return []
    days = world.usual.isolation.days
    return [f"People who test positive stay at home for {days} days, as in the scenario."]


def _home(action: Action, world: World, budgets: Budgets) -> list[str]:
    lines = []
    if action.household_days:
        who = _capital(HOUSEHOLD[action.household_trigger])
        lines.append(f"{who} stay at home for {action.household_days} days.")
    if action.by_score:
        filled = share(action.by_score * budgets.quarantine)
        lines.append(
            f"App users with the highest scores stay at home for {action.score_days} days without "
            f"a test, up to {filled} of the people at once."
        )
    if action.negative_ends:
        lines.append("A negative test of one's own ends a quarantine.")
    if lines:
        most = share(budgets.quarantine)
        first = "the highest scores go first, for the rest" if action.by_score else "beyond it"
        lines.append(f"Never more than {most} of the people in quarantine; {first} a lot decides.")
    if has_staff(world.usual):
        kept = "as in the scenario" if action.staff else "no longer"
        lines.append(f"Staff trace contacts by hand {kept}.")
    return lines


def _scores(action: Action) -> list[str]:
    if not action.uses_scores:
        return []
    if action.epsilon == 0.0:
        return [f"Scores come from public facts alone ({action.method}): no phone sends anything."]
    return [f"Scores come from {action.method} with ε = {action.epsilon:g} per person."]


def in_short(action: Action, world: World, budgets: Budgets) -> str:
    """Return what is to be done in one sentence."""
    parts = []
    if action.household_days:
        who = HOUSEHOLD[action.household_trigger]
        parts.append(f"{who} stay at home for {action.household_days} days")
    if action.waits:
        parts.append("people tested because of symptoms wait at home for the result")
    if action.by_score:
        filled = share(action.by_score * budgets.quarantine)
        parts.append(
            f"the app users with the highest scores, up to {filled} of the people, stay at home "
            f"for {action.score_days} days"
        )
    if action.tests * budgets.tests > 0.0:
        first = people_ask(world.usual) and action.for_scores < 1.0
        turn = ", those with symptoms first" if first else ""
        total = share(action.tests * budgets.tests)
        parts.append(f"up to {total} of the people are tested per day{turn}")
    if not parts:
        return NOTHING
    said = "; ".join(parts)
    if action.method == NO_SCORES:
        return f"{_capital(said)}."
    messages = "no phone sends anything"
    if action.epsilon > 0.0:
        messages = f"phones send counts with noise, ε = {action.epsilon:g} per person"
    return f"{_capital(said)}; {messages}."


def instead(other: Action, action: Action, world: World, budgets: Budgets) -> str:
    """Return what another plan does differently, leaving out what is the same."""
    theirs, ours = (_aspects(one, world, budgets) for one in (other, action))
    told = [text for name, text in theirs.items() if text and text != ours[name]]
    return _capital("; ".join(told)) or "The same"


def _aspects(action: Action, world: World, budgets: Budgets) -> dict[str, str]:
    """Return each decision of an action in words; none where it has no meaning."""
    total, home = action.tests * budgets.tests, action.by_score * budgets.quarantine
    asked, scored = people_ask(world.usual) and total > 0.0, action.uses_scores
    sources = f"scores from {action.method}" + (f", ε = {action.epsilon:g}" * (action.epsilon > 0))
    housemates = f"{HOUSEHOLD[action.household_trigger]} at home for {action.household_days} days"
    ends = "a negative test ends a quarantine"
    waits = "the ill wait for their result at home"
    return {
        "method": sources if scored else "no scores",
        "tests": f"tests for {share(total)} of the people per day" if total else "no tests",
        "symptoms": f"of these up to {share(total * (1.0 - action.for_scores))} for people with "
        "symptoms"
        if asked and scored
        else "",
        "waits": waits if action.waits else f"not: {waits}",
        "household": housemates if action.household_days else "no quarantine of housemates",
        "by score": f"quarantine by score for {action.score_days} days, up to {share(home)} of the "
        "people"
        if home
        else "no quarantine by score",
        "ends": ends if action.negative_ends else f"not: {ends}",
        "release": f"up to {share(total * action.to_release)} tested in quarantine"
        if action.to_release
        else "no tests in quarantine",
        "staff": "staff trace by hand" if action.staff else "no staff who trace",
    }


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
