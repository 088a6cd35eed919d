"""How the world of a plan differs from its scenario, and what is done in it today."""

from dataclasses import dataclass
from typing import Any

from dnatrace.plans.actions import World, has_staff, people_ask
from dnatrace.plans.instructions import HOUSEHOLD
from dnatrace.policy.levers import LeversSettings
from dnatrace.runs.keys import SHORTCUTS
from dnatrace.runs.nesting import flatten, parse_setting
from dnatrace.runs.scenarios import read_scenario

_SIZES = ("people", "days")
_FIRST = "initially_infected"  # follows the number of people unless a setting gives it
_ABSENT = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A setting that differs from that of the scenario.

    Attributes:
        key: its dotted key.
        value: what it is here.
        there: what it is in the scenario; None where the scenario has no such setting.
        is_size: whether only the size of the runs differs by it.
    """

    key: str
    value: Any
    there: Any
    is_size: bool

    @property
    def text(self) -> str:
        """The change in words."""
        there = "not" if self.there is None else _plain(self.there)
        return f"{self.key} {_plain(self.value)} ({there} there)"

    def as_values(self) -> dict[str, Any]:
        """Return the change as plain values."""
        return {
            "key": self.key,
            "value": self.value,
            "in_scenario": self.there,
            "is_size": self.is_size,
        }


def changes_of(world: World) -> list[Change]:
    """Return which settings differ from those of the scenario, sizes last.

    Settings that a world has only because it has another simulator or policy are left out, unless
    they were given.
    """
    here = flatten(world.config(method="none").as_dict())
    original = World(scenario=world.scenario, overrides={})
    there = flatten(original.config(method="none").as_dict())
    given, sizes = _given(world), _sizes(world)
    # Settings of methods are not among those of a run without a method.
    here |= {key: value for key, value in given.items() if key.startswith("method.")}
    found = [
        Change(key=key, value=value, there=there.get(key), is_size=key in sizes)
        for key, value in here.items()
        if value != there.get(key, _ABSENT) and (key in there or key in given)
    ]
    return sorted(found, key=lambda change: change.is_size)


def _given(world: World) -> dict[str, Any]:
    """Return the settings laid over the scenario, by dotted key."""
    given: dict[str, Any] = {}
    for text in world.settings:
        given |= flatten(parse_setting(text, SHORTCUTS))
    return given


def _sizes(world: World) -> set[str]:
    """Return the keys by which only the size of the runs differs."""
    return {*_SIZES, *({_FIRST} - set(_given(world)))}


def _plain(value: Any) -> str:
    """Return a value as in a text of settings, large whole numbers with separators."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)


def is_changed(world: World) -> bool:
    """Return whether anything but the size of the runs differs from the scenario."""
    return any(not change.is_size for change in changes_of(world))


def changed_settings(world: World) -> str:
    """Return what differs from the scenario, apart from sizes; "" for nothing."""
    return ", ".join(change.text for change in changes_of(world) if not change.is_size)


def changes_line(world: World) -> str:
    """Return what differs from the scenario, and that today is today in that world; "" if same."""
    settings = changed_settings(world)
    sizes = ", ".join(change.text for change in changes_of(world) if change.is_size)
    told = [text for text in (settings, f"sizes: {sizes}" if sizes else "") if text]
    if not told:
        return ""
    return (
        f"Changed from the scenario: {'; '.join(told)}. What is called today is today in this "
        "changed world."
    )


def scenario_name(world: World) -> str:
    """Return the name of the scenario with its title, which may tell of what a plan decides."""
    scenario = read_scenario(world.scenario)
    return f"{scenario.name} (“{scenario.title}”)"


def assumed(world: World) -> str:
    """Return which world is assumed, apart from what the plan decides."""
    staff = ", whether staff trace" if has_staff(world.usual) else ""
    line = changes_line(world)
    return (
        f"the world of scenario {scenario_name(world)}, except for what the plan decides: who is "
        f"tested, who is in quarantine{staff} and which scores are used.{line and f' {line}'}"
    )


def today_line(world: World) -> str:
    """Return what is done today: the levers of the scenario that need no scores."""
    usual = world.usual
    parts = []
    if people_ask(usual):
        days = usual.isolation.days
        parts += ["people with symptoms who ask are tested, within no budget"]
        parts += [f"people who test positive stay at home for {days} days"]
    policy = usual.policy
    if isinstance(policy, LeversSettings):
        household = policy.household
        if household.is_on:
            who = HOUSEHOLD[household.trigger.value]
            parts.append(f"{who} stay at home for {household.days} days")
        if policy.manual.is_on:
            parts.append("staff trace contacts by hand")
        if policy.notification.is_on:
            parts.append("app users who met a user who reports stay at home")
    done = "; ".join(parts) or "nobody is tested or sent home"
    return f"Today means: {done}. There are no scores today, so nothing is done by score."
