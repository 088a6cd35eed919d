"""Scenarios: the world and the levers of a run, every number with its source.

A scenario is a TOML file of the package: `title`, then settings as in any configuration, and a
table `[sources]` with one line per setting, by dotted key. It says nothing about the tracing
method: methods are what is compared within a scenario.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from dnatrace.errors import InputError, closest
from dnatrace.runs.nesting import flatten

ALIASES = {"autumn": "uk-2020-autumn"}
_PACKAGE = "dnatrace.scenario_files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A world, and the measures taken in it apart from tracing.

    Attributes:
        name: its name in configurations.
        title: its title in words.
        settings: its settings, nested as in files.
        sources: where each setting comes from, by dotted key.
    """

    name: str
    title: str
    settings: dict[str, Any]
    sources: dict[str, str]

    def as_rows(self) -> list[dict[str, Any]]:
        """Return one row per setting: key, value and source."""
        flat = flatten(self.settings)
        return [{"key": k, "value": v, "source": self.sources.get(k, "")} for k, v in flat.items()]


def scenario_names() -> list[str]:
    """Return the names of the scenarios that ship with the package."""
    files = resources.files(_PACKAGE).iterdir()
    return sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml"))


@cache
def read_scenario(name: str) -> Scenario:
    """Return a scenario by its name or short name."""
    known = scenario_names()
    full = ALIASES.get(name, name)
    if full not in known:
        names = [*known, *ALIASES]
        listed = f"there are {', '.join(names)}{closest(name, names)}"
        raise InputError(f"scenario '{name}' does not exist; {listed}")
    values = tomllib.loads(resources.files(_PACKAGE).joinpath(f"{full}.toml").read_text("utf-8"))
    title, sources = values.pop("title"), values.pop("sources")
    return Scenario(name=full, title=title, settings=values, sources=sources)


def scenarios() -> dict[str, Scenario]:
    """Return all scenarios by name."""
    return {name: read_scenario(name) for name in scenario_names()}
