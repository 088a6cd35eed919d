"""Summaries and ledgers of stored runs, checked: numbers are numbers and texts are texts."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.runs.quantities import SUMMARY
from dnatrace.runs.store import read_json


def read_summary(run: Path) -> dict[str, Any]:
    """Read the summary of a stored run: numbers are numbers and texts are texts, or absent.

    Raises:
        InputError: it is damaged; the message names the key.
    """
    summary, path = read_json(run, "summary.json"), run / "summary.json"
    privacy = summary.get("privacy", {})
    if not isinstance(privacy, dict):
        raise InputError(f"{path}: is damaged: it says nothing about privacy")
    for values in (summary, privacy):
        for key, value in values.items():
            what = _KINDS.get(key, "a number" if key.endswith("_epsilon") else "")
            if value is not None and what and not _IS[what](value):
                raise InputError(f"{path}: is damaged: '{key}' is not {what}")
    return summary


def is_number(value: Any) -> bool:
    """Whether a value is a finite number that calculations can take."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= LARGEST


LARGEST = 1e100  # squares and sums of such numbers are finite
_MOST = 2**53  # people or days: exact as floating point numbers
_IS: dict[str, Callable[[Any], bool]] = {
    "a number": is_number,
    "a whole number": lambda value: is_number(value) and isinstance(value, int),
    "a positive number": lambda value: _IS["a whole number"](value) and 1 <= value <= _MOST,
    "a text": lambda value: isinstance(value, str),
    "true or false": lambda value: isinstance(value, bool),
    "numbers by name": lambda value: (
        isinstance(value, dict) and all(v is None or is_number(v) for v in value.values())
    ),
}
_KINDS = {
    **dict.fromkeys(("people", "days"), "a positive number"),
    **dict.fromkeys(("seed", "meetings_per_day"), "a whole number"),
    **dict.fromkeys(("method", "simulator", "version", "release", "unit", "mechanism"), "a text"),
    **dict.fromkeys(("noise", "floor", "person_measured", "config_digest"), "a text"),
    **dict.fromkeys(("target_kept",), "a text"),
    **dict.fromkeys(("peak_reached", "sound", "protects", "person_unfinished"), "true or false"),
    **dict.fromkeys(("policy_tells_of_cases",), "true or false"),
    **dict.fromkeys(("true_epsilon", "selection_epsilon"), "numbers by name"),
    **dict.fromkeys((*SUMMARY, "p1", "epsilon", "delta"), "a number"),
}


def read_ledger(run: Path) -> dict[str, Any]:
    """Read the ledger of a stored run, or raise saying what is wrong."""
    ledger = read_json(run, "ledger.json")
    costs = "target" in ledger and _are_costs(ledger.get("spent"))
    releases = ledger.get("releases")
    rows = isinstance(releases, list) and all(isinstance(row, dict) for row in releases)
    if not (costs and rows):
        raise InputError(f"{run / 'ledger.json'}: is damaged: it is not a ledger")
    return ledger


def _are_costs(spent: Any) -> bool:
    """Tell whether costs are numbers, or None where they have no bound."""
    if not isinstance(spent, dict):
        return False
    epsilons = (value for key, value in spent.items() if re.fullmatch("per_.*_epsilon", key))
    delta: Any = spent.get("delta")
    known = {"releases", "sound"} <= set(spent) and is_number(delta) and 0.0 < delta < 1.0
    noise = spent.get("noise", [])  # older versions did not store it
    drawn = isinstance(noise, list) and all(isinstance(name, str) for name in noise)
    return known and drawn and all(value is None or is_number(value) for value in epsilons)
