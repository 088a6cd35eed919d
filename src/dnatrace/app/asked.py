"""What the page asks for, as configurations; and configurations as TOML, command and script."""

import json
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dnatrace.errors import InputError, shown
from dnatrace.methods.public_facts import FLOOR
from dnatrace.runs.config import DEFAULT_PRESET, RunConfig, load_config
from dnatrace.runs.nesting import flatten

MOST_SEEDS = 100
NOTHING = "none"  # the method that gives no test
ARMS = {
    "a": "A",
    "b": "B",
    "floor": "Floor: no message between phones",
    "nothing": "Nothing done",
}
_BESIDE_B = {
    "floor": "Floor of A: no message between phones",
    "nothing": "Nothing done, in the situation of A",
}


def labels(arms: Iterable[str]) -> dict[str, str]:
    """Return the labels of arms; if B is among them, they say whose floor it is."""
    named = ARMS | _BESIDE_B if "b" in arms else ARMS
    return {arm: named[arm] for arm in arms}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One situation with changes.

    Attributes:
        preset: the preset to start from.
        scenario: the scenario laid over it, or None.
        changes: the changes by dotted key.
    """

    preset: str = DEFAULT_PRESET
    scenario: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, given: Any) -> "Asked":
        """Return what a page sent; raise unless it has the right form."""
        if not isinstance(given, dict) or set(given) - {"preset", "scenario", "set"}:
            raise InputError("a situation has 'preset', 'scenario' and 'set'")
        preset, scenario = given.get("preset") or DEFAULT_PRESET, given.get("scenario") or None
        changes = given.get("set") or {}
        if not isinstance(changes, dict) or not isinstance(preset, str):
            raise InputError("'set' has values by key, and 'preset' is a name")
        if not isinstance(scenario, str | None):
            raise InputError("'scenario' is a name")
        return cls(preset=preset, scenario=scenario, changes=changes)

    def config(self, **more: Any) -> RunConfig:
        """Return the configuration; `more` are further changes, by key or short name."""
        overrides = dict(self.changes) | more
        return load_config(preset=self.preset, scenario=self.scenario, overrides=overrides)

    def problems(self) -> dict[str, str]:
        """Return problems in words by key; under the empty key what no single change causes."""
        try:
            self.config()
        except InputError as error:
            found = {key: words for key in self.changes if (words := self._alone(key))}
            return found or {_named(str(error), self.changes): str(error)}
        return {}

    def without(self, keys: Collection[str]) -> "Asked | None":
        """Return the same without some changes, or without any if the others cannot be alone."""
        others = {key: value for key, value in self.changes.items() if key not in keys}
        for changes in (others, {}):
            one = replace(self, changes=changes)
            if not one.problems():
                return one
        return None

    def _alone(self, key: str) -> str | None:
        """Return what is wrong with one change alone; names of plug-ins apply to all changes."""
        named = {k: v for k, v in self.changes.items() if k.endswith(".name")}
        one = Asked(
            preset=self.preset,
            scenario=self.scenario,
            changes=named | {key: self.changes[key]},
        )
        try:
            one.config()
        except InputError as error:
            return str(error)
        return None

    def command(self, config: RunConfig) -> str:
        """Return the command line that gives the same numbers."""
        words = ["dnatrace", "run"]
        words += ["--preset", self.preset] if self.preset != DEFAULT_PRESET else []
        words += ["--scenario", self.scenario] if self.scenario else []
        for key, value in self.changes.items():
            if key != "seed" and value is not None:
                words += ["--set", f"{key}={toml_value(value)}"]
        return shlex.join([*words, "--seed", str(config.seed), "--json"])

    def as_python(self) -> str:
        """Return the call that loads the configuration."""
        parts = [f"preset={self.preset!r}"] if self.preset != DEFAULT_PRESET else []
        parts += [f"scenario={self.scenario!r}"] if self.scenario else []
        changes = {k: v for k, v in self.changes.items() if v is not None}
        parts += [f"overrides={changes!r}"] if changes else []
        return f"dt.load_config({', '.join(parts)})"


def _named(sentence: str, changes: Mapping[str, Any]) -> str:
    """Return the change that a sentence names first; empty for none."""
    named = {key: sentence.find(key) for key in changes if key in sentence}
    return min(named, key=lambda key: named[key], default="")


def arms_of(a: Asked, b: Asked | None) -> dict[str, RunConfig]:
    """Return the configurations that are compared: A, perhaps B, the floor and nothing done.

    The floor is A without any message between phones. Nothing done has no tests, no isolation and
    no other policy, in the world of A.
    """
    main = a.config()
    other = {"b": b.config(seed=main.seed)} if b is not None else {}
    floor = main.model_copy(update={"method": RunConfig(method=FLOOR).method})
    idle = RunConfig(method=NOTHING)
    nothing = main.model_copy(update={"method": idle.method, "policy": idle.policy})
    return {"a": main} | other | {"floor": floor, "nothing": nothing}


def seeds_from(first: int, given: Any) -> tuple[int, ...]:
    """Return as many seeds as asked for, from the first on."""
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= MOST_SEEDS:
        raise InputError(f"seeds: a whole number from 1 to {MOST_SEEDS}, not {shown(given)}")
    return tuple(range(first, first + given))


def on_seed(config: RunConfig, seed: int) -> RunConfig:
    """Return a configuration on another seed."""
    return config.model_copy(update={"seed": seed})


def toml_value(value: Any) -> str:
    """Return a plain value as TOML writes it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{k} = {toml_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(v) for v in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def as_toml(config: RunConfig) -> str:
    """Return a file for `--config` that gives the same run; absent values are left out."""
    flat = flatten(config.as_dict())
    lines = [f"{key} = {toml_value(value)}" for key, value in flat.items() if value is not None]
    return f"# dnatrace run --config THIS_FILE, digest {config.digest}\n" + "\n".join(lines) + "\n"


def as_script(a: Asked, b: Asked | None, seeds: Sequence[int]) -> str:
    """Return ten lines of Python that give the same numbers."""
    others = [f'    settings["B"] = {b.as_python()}'] if b is not None else []
    return "\n".join(
        [
            "import dnatrace as dt",
            "",
            'if __name__ == "__main__":',
            f'    settings = {{"A": {a.as_python()}}}',
            *others,
            f'    floor, idle = dt.RunConfig(method="{FLOOR}"), dt.RunConfig(method="{NOTHING}")',
            '    settings["floor"] = settings["A"].model_copy(update={"method": floor.method})',
            '    nothing = {"method": idle.method, "policy": idle.policy}',
            '    settings["nothing"] = settings["A"].model_copy(update=nothing)',
            f"    found = dt.compare(settings, seeds=range({seeds[0]}, {seeds[-1] + 1}))",
            "    for name, runs in found.summaries.items():",
            '        print(name, [run["attack_rate"] for run in runs])',
            "",
        ]
    )
