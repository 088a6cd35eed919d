"""The runs of a store, one row each."""

import logging
import re
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.runs import store as stores
from dnatrace.runs.quantities import PER_THOUSAND, SUMMARY, shown

_PLACES = ("people", "days", "seed")

_LOG = logging.getLogger("dnatrace")
_DIGEST = re.compile(r"[0-9a-f]{16}")


def list_runs(store: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return what distinguishes the runs of a store, and their results, sorted by name.

    Shares are fractions of the population; a number that is absent or unbounded is None. Runs that
    are damaged are told and left out; their names are returned, too.

    Raises:
        InputError: there is no store, or no run that can be read.
    """
    complete = [store] if stores.is_complete(store) else stores.stored_runs(store)
    named = {p for p in store.iterdir() if _DIGEST.fullmatch(p.name) and p.is_dir()}
    wrong = {p.name: f"{p}: is not a complete run" for p in sorted(named - {*complete})}
    rows = []
    for run in complete:
        try:
            rows.append(_row(run))
        except InputError as error:
            wrong[run.name] = str(error)
    if not rows and wrong:
        first = next(iter(wrong.values()))
        many = f"{store}: none of its {len(wrong)} runs can be read: "
        raise InputError(f"{many if len(wrong) > 1 else ''}{first}")
    if not rows:
        raise InputError(f"{store}: holds no stored run; `dnatrace run --out` makes them")
    for told in wrong.values():
        _LOG.warning("warning: %s; this run is left out", told)
    return rows, list(wrong)


def _row(run: Path) -> dict[str, Any]:
    summary = stores.read_json(run, "summary.json")
    found = summary.get("privacy")
    privacy: dict[str, Any] = found if isinstance(found, dict) else {}
    burden = SUMMARY["isolation_person_days"]
    days, people = (_number(summary.get(key)) for key in (burden.key, "people"))
    return {
        "digest": run.name,
        "label": stores.read_label(run),
        "method": summary.get("method"),
        "variant": privacy.get("release"),
        "epsilon": _number(privacy.get("epsilon")) if privacy.get("noise") is not None else None,
        "unit": privacy.get("unit") if privacy.get("noise") is not None else None,
        **{key: summary.get(key) for key in _PLACES},
        "peak_infected": _number(summary.get("peak_infected")),
        "attack_rate": _number(summary.get("attack_rate")),
        "isolation_days_per_person": burden.in_unit(days, people)
        if people and days is not None
        else None,
        "version": summary.get("version"),
    }


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) else None


def for_people(row: dict[str, Any]) -> dict[str, str]:
    """Return a row for reading: short names, units, rounded as everywhere."""
    peak, rate = (SUMMARY[key] for key in ("peak_infected", "attack_rate"))
    texts = {key: "–" if row[key] in (None, "") else str(row[key]) for key in row}
    return {
        **{key: texts[key] for key in ("digest", "label", "method", "variant")},
        "ε": shown(row["epsilon"]),
        "per": texts["unit"],
        **{key: texts[key] for key in _PLACES},
        f"peak, {PER_THOUSAND}": _in_unit(peak, row),
        f"ever infected, {rate.unit}": _in_unit(rate, row),
        "isolation, days per person": shown(row["isolation_days_per_person"]),
        "version": texts["version"],
    }


def _in_unit(quantity: Any, row: dict[str, Any]) -> str:
    stored = row[quantity.key]
    return shown(None if stored is None else quantity.in_unit(stored, 1))
