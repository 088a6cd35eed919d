"""What the page offers to choose from: situations as cards, main controls, all parameters.

Meanings, sources and bounds come from the settings themselves; wording for readers is here.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from scipy.special import stdtrit

from dnatrace._version import __version__
from dnatrace.app.asked import ARMS, MOST_SEEDS
from dnatrace.app.work import COLUMNS
from dnatrace.plugins import Plugin
from dnatrace.runs.config import DEFAULT_PRESET, RunConfig
from dnatrace.runs.keys import CATALOGUES
from dnatrace.runs.parameters import described_settings
from dnatrace.runs.presets import preset_names
from dnatrace.runs.quantities import DAILY
from dnatrace.runs.scenarios import scenarios
from dnatrace.sweeps.spread import CONFIDENCE

# Titles of cards; a situation that is not listed here goes by its name.
_NAMES = {
    "standard": "Plenty of tests",
    "scarce": "Scarce tests",
    "uk-2020-autumn": "England, autumn 2020",
    "quick": "A quick try",
    "adoption-60": "Six in ten have the app",
    "household": "Housemates stay at home",
    "quarantine": "Quarantine by score",
    "school-term": "A school term",
    "tests-4": "Half the tests",
    "variant": "A new variant",
    "realistic": "Scarce and slow",
    "lifetime": "Strong privacy",
    "paper": "The paper",
    "paper-code": "The paper’s programs",
    "paper-best-reading": "The paper, best reading",
}
# Presets as situations, in the order of the cards; one that is not listed here has only its name.
_PRESETS = {
    "standard": "A city with plenty of tests: 8 % of people per day, ε = 1 per release",
    "quick": "A town of 2,000 people for 40 days: takes seconds, to try things out",
    "realistic": "Scarce and slow tests, 80 % follow the rules, the app by age",
    "lifetime": "Like the first, with ε = 1 for one test of a person, for ever",
    "paper": "The DNA paper, following its text; its guarantee fails with own tests",
    "paper-code": "The DNA paper, following its authors' programs",
    "paper-best-reading": "The DNA paper, read so that its numbers are matched best",
}
LEVERS = "levers"  # the policy that has them
_FIRST = ("standard", "scarce", "uk-2020-autumn", "quick")  # cards shown before "more"

_CONTROLS: tuple[dict[str, Any], ...] = (
    {"key": "tests.capacity", "label": "Tests per day", "unit": "% of people", "scale": 100},
    {"key": "app.adoption", "label": "Who has the app", "unit": "% of people", "scale": 100},
    {
        "key": "isolation.adherence",
        "label": "Who stays at home when told to",
        "unit": "% of people",
        "scale": 100,
    },
    {"key": "tests.order_delay", "label": "Wait for a test", "unit": "days"},
    {"key": "tests.result_delay", "label": "Wait for its result", "unit": "days"},
    {"key": "method.name", "label": "What phones show", "unit": ""},
    {"key": "privacy.epsilon", "label": "Privacy budget ε", "unit": "smaller is more private"},
    {"key": "privacy.unit", "label": "ε holds for", "unit": ""},
    {"key": "policy.name", "label": "Who is tested or stays at home", "unit": ""},
    {"key": "people", "label": "People", "unit": ""},
    {"key": "days", "label": "Days", "unit": ""},
)
# Controls of the policy `levers`; setting one chooses that policy.
_LEVERS: tuple[dict[str, Any], ...] = (
    {
        "key": "policy.symptoms.mild",
        "label": "People with mild symptoms who are tested",
        "unit": "% of them; in addition to the tests per day",
        "scale": 100,
    },
    {
        "key": "policy.household.days",
        "label": "Housemates of a positive test stay at home",
        "unit": "days; 0 for not at all",
    },
    {
        "key": "policy.quarantine.capacity",
        "label": "Told by score to stay at home, without a test",
        "unit": "% of people per day",
        "scale": 100,
    },
    {
        "key": "policy.quarantine.days",
        "label": "Such a stay lasts",
        "unit": "days",
    },
    {
        "key": "policy.manual.capacity",
        "label": "Cases that staff call to ask for contacts",
        "unit": "% of people per day",
        "scale": 100,
    },
    {
        "key": "policy.notification.consent",
        "label": "App users who report their positive test",
        "unit": "% of them; people they met stay at home, told without noise",
        "scale": 100,
    },
)
_UNITS = {
    "release": "one release: what is shown on one day",
    "person": "one test of a person, for ever",
    "contact": "one contact over its life",
    "pair": "two people, over all their contacts",
}


def offered() -> dict[str, Any]:
    """Return everything the page needs to know before anything is asked."""
    return {
        "version": __version__,
        "situations": _situations(),
        "controls": [control | _field(control["key"]) for control in _CONTROLS],
        "levers": [lever | _field(lever["key"]) for lever in _LEVERS],
        "lever_policy": LEVERS,
        "parameters": _parameters(),
        "columns": COLUMNS,
        "arms": ARMS,
        "quantities": [
            {
                "key": q.key,
                "label": q.label,
                "unit": q.unit,
                "name": q.name,
                "scale": q.scale,
                "per_person": q.per_person,
                "columns": q.columns,
            }
            for q in DAILY
        ],
        "most_seeds": MOST_SEEDS,
        # Quantiles of Student's t, for intervals of 2, 3, … seeds.
        "quantiles": [float(stdtrit(n, (1 + CONFIDENCE) / 2)) for n in range(1, MOST_SEEDS + 1)],
    }


def _situations() -> list[dict[str, Any]]:
    """Return cards: the first few, then scenarios, then the remaining presets."""
    presets = {
        name: {"preset": name, "scenario": None, "name": name, "title": _PRESETS.get(name, name)}
        for name in (*_PRESETS, *preset_names())
        if name in preset_names()
    }
    worlds = {
        name: {"preset": DEFAULT_PRESET, "scenario": name, "name": name, "title": scenario.title}
        for name, scenario in scenarios().items()
        if name not in presets
    }
    cards = worlds | presets
    order = [name for name in _FIRST if name in cards]
    return [
        cards[name] | {"first": name in _FIRST, "label": _NAMES.get(name, name)}
        for name in dict.fromkeys([*order, *cards])
    ]


def _parameters() -> list[dict[str, Any]]:
    return [
        {
            "key": key,
            "meaning": known.meaning.replace("`", ""),
            "source": known.source,
            "default": known.default,
            "of": known.of,
            **_field(key),
        }
        for key, known in described_settings().items()
        if key != "seed"
    ]


# ---- Fields: possible values --------------------------------------------------------------------


@cache
def _schema() -> dict[str, Any]:
    return RunConfig.model_json_schema()


def _field(key: str) -> dict[str, Any]:
    """Return how a key is entered: a choice with its names, a switch, a number or a text."""
    section, _, name = key.partition(".")
    if section in CATALOGUES and name == "name":
        return {"kind": "choice", "choices": _named(CATALOGUES[section])}
    found = _properties(_schema(), key.split("."))
    kinds = [_resolved(kind) for one in found for kind in one.get("anyOf", [one])]
    names = dict.fromkeys(name for kind in kinds for name in kind.get("enum", _constant(kind)))
    may_be_absent = {"absent": any(kind.get("type") == "null" for kind in kinds)}
    if names:
        words = _UNITS if key == "privacy.unit" else {}
        choices = [{"value": name, "label": words.get(name, name)} for name in names]
        return {"kind": "choice", "choices": choices, **may_be_absent}
    types = {kind.get("type") for kind in kinds}
    if "boolean" in types:
        return {"kind": "switch"}
    kind = "number" if types & {"number", "integer"} else "text"
    return {"kind": kind, **may_be_absent, **_bounds(kinds)}


def _constant(kind: Mapping[str, Any]) -> list[Any]:
    return [kind["const"]] if "const" in kind else []


def _bounds(kinds: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return bounds and whether the number is whole."""
    number = next((k for k in kinds if k.get("type") in ("number", "integer")), {})
    low = number.get("minimum", number.get("exclusiveMinimum"))
    high = number.get("maximum", number.get("exclusiveMaximum"))
    return {"low": low, "high": high, "whole": number.get("type") == "integer"}


def _named(plugins: Iterable[type[Plugin]]) -> list[dict[str, str]]:
    """Return the plug-ins that can be used here, each with a description."""
    return [
        {"value": kind.title(), "label": f"{kind.title()}: {_first_line(kind)}"}
        for kind in plugins
        if kind.availability()[0]
    ]


def _first_line(kind: type[Plugin]) -> str:
    line = (kind.__doc__ or "").strip().partition("\n")[0].rstrip(".").replace("`", "")
    return line[:1].lower() + line[1:]


def _properties(schema: Mapping[str, Any], path: list[str]) -> list[dict[str, Any]]:
    """Return the schemas of a key: one, or those of all plug-ins in a section that have it."""
    inner = [kind.get("properties", {}).get(path[0]) for kind in _alternatives(schema)]
    known = [one for one in inner if one is not None]
    if len(path) == 1:
        return [_resolved(one) for one in known]
    return [found for one in known for found in _properties(one, path[1:])]


def _alternatives(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    kinds = schema.get("oneOf") or schema.get("anyOf") or [schema]
    return [_resolved(kind) for kind in kinds]


def _resolved(schema: Mapping[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return dict(schema)
    return dict(_schema()["$defs"][reference.rpartition("/")[2]])
