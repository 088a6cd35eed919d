"""The runs of a store, one row each."""

import json
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.runs import notices
from dnatrace.runs import store as stores
from dnatrace.runs.checked import read_summary
from dnatrace.runs.config import FIRST_INFECTIONS, RunConfig, usual_first_infections
from dnatrace.runs.guarantees import scores_noised
from dnatrace.runs.nesting import flatten
from dnatrace.runs.quantities import PER_THOUSAND, SUMMARY, shown

_PLACES = ("people", "days", "seed")
# Settings that every row has, under other names.
_IN_ROWS = {
    *("method.name", "method.release", "privacy.epsilon", "privacy.unit"),
    *("people", "days", "seed"),
}

_DEFAULT_PEOPLE = RunConfig.model_fields["people"].default  # where a list decides how many
_LOG = logging.getLogger("dnatrace")
_DIGEST = re.compile(r"[0-9a-f]{16}")


def list_runs(store: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return what distinguishes the runs of a store, and their results, sorted by name.

    Shares are fractions of the population; a number that is absent or unbounded is None. After the
    results, rows have every other setting in which the runs differ, by dotted key; None where it
    has no effect. Runs that are damaged are told and left out; their names are returned, too.

    Raises:
        InputError: there is no store, or no run that can be read.
    """
    complete = [store] if stores.is_complete(store) else stores.stored_runs(store)
    named = {p for p in store.iterdir() if _DIGEST.fullmatch(p.name) and p.is_dir()}
    wrong = {p.name: f"{p}: is not a complete run" for p in sorted(named - {*complete})}
    rows: list[dict[str, Any]] = []
    settings: list[dict[str, Any]] = []
    contents: list[dict[str, str]] = []
    for run in complete:
        try:
            row, own = _row(run), settings_with_effect(stores.read_json(run, "config.json"))
            content = contents_of(stores.read_json(run, "provenance.json"))
        except InputError as error:
            wrong[run.name] = str(error)
        else:
            rows.append(row)
            settings.append(own)
            contents.append(content)
    if not rows and wrong:
        first = next(iter(wrong.values()))
        many = f"{store}: none of its {len(wrong)} runs can be read: "
        raise InputError(f"{many if len(wrong) > 1 else ''}{first}")
    if not rows:
        raise InputError(f"{store}: holds no stored run; `dnatrace run --out` makes them")
    for told in wrong.values():
        _LOG.warning("warning: %s; this run is left out", told)
    settings = told_apart_by_content(settings, contents)
    keys = _varied(settings)
    for row, one in zip(rows, settings, strict=True):
        row |= {key: one.get(key) for key in keys}
        if FIRST_INFECTIONS in keys and row[FIRST_INFECTIONS] is None:
            usual = usual_first_infections(one.get("people", _DEFAULT_PEOPLE))
            row[FIRST_INFECTIONS] = min(usual, row["people"] or usual)
    return rows, list(wrong)


def settings_with_effect(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a stored run that have an effect, by dotted key.

    Older stores hold all settings; settings of a plug-in that is not installed here are kept as
    they are.
    """
    try:
        with notices.muted():
            values = RunConfig(**config).effective()
    except InputError:
        values = dict(config)
    values.pop("schema", None)
    return flatten(values)


def contents_of(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return the first digits of the digests of files that settings name, by key and "content".

    Older versions did not store them.
    """
    stored = provenance.get("contents")
    digests = stored if isinstance(stored, dict) else {}
    return {f"{key} content": str(digest)[:8] for key, digest in digests.items()}


def told_apart_by_content(
    settings: Sequence[dict[str, Any]], contents: Sequence[dict[str, str]]
) -> list[dict[str, Any]]:
    """Return the settings of runs; they name the contents of files where these alone differ."""
    known: dict[str, set[str]] = {}
    for one, content in zip(settings, contents, strict=True):
        known.setdefault(_identity(one), set()).add(_identity(content))
    return [
        one | (content if len(known[_identity(one)]) > 1 else {})
        for one, content in zip(settings, contents, strict=True)
    ]


def _identity(settings: Mapping[str, Any]) -> str:
    return repr(sorted((key, value) for key, value in settings.items() if key != "seed"))


def _varied(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys in which runs differ, apart from those that every row has.

    A key that has no effect in some runs counts where these would look the same without it: first
    those that name a plug-in.
    """
    keys = dict.fromkeys(key for one in settings for key in one)
    varied = [
        key
        for key in keys
        if key not in _IN_ROWS and len({repr(one[key]) for one in settings if key in one}) > 1
    ]
    others = sorted(keys, key=lambda key: not key.endswith(".name"))
    while alike := _alike(settings, {*varied, *_IN_ROWS}):
        varied.append(next(key for key in others if _differs(key, alike)))
    return [key for key in keys if key in varied]


def _differs(key: str, settings: Sequence[Mapping[str, Any]]) -> bool:
    return key != "seed" and len({repr(one.get(key, "absent")) for one in settings}) > 1


def _alike(settings: Sequence[Mapping[str, Any]], keys: Collection[str]) -> list[Mapping[str, Any]]:
    """Return different settings that look the same by some keys; none if there are none."""
    by_look: dict[str, dict[str, Mapping[str, Any]]] = {}
    for one in settings:
        look = _identity({key: one[key] for key in keys if key in one})
        by_look.setdefault(look, {}).setdefault(_identity(one), one)
    return next((list(same.values()) for same in by_look.values() if len(same) > 1), [])


def as_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for CSV: a setting that is a list becomes JSON."""
    return {k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in row.items()}


def _row(run: Path) -> dict[str, Any]:
    summary = read_summary(run)
    privacy: dict[str, Any] = summary.get("privacy", {})
    burden = SUMMARY["isolation_person_days"]
    days, people = (summary.get(key) for key in (burden.key, "people"))
    return {
        "digest": run.name,
        "label": stores.read_label(run),
        "method": summary.get("method"),
        "variant": privacy.get("release"),
        "epsilon": privacy.get("epsilon") if scores_noised(privacy) else None,
        "unit": privacy.get("unit") if scores_noised(privacy) else None,
        **{key: summary.get(key) for key in _PLACES},
        "peak_infected": summary.get("peak_infected"),
        "peak_reached": summary.get("peak_reached"),
        "attack_rate": summary.get("attack_rate"),
        "isolation_days_per_person": burden.in_unit(days, people)
        if people and days is not None
        else None,
        "sound": privacy.get("sound"),
        "protects": privacy.get("protects"),
        "version": summary.get("version"),
    }


RISING = "↑"  # after a peak: the number of infected people still rises on the last day
_COLUMNS = {
    *("digest", "label", "method", "variant", "epsilon", "unit", *_PLACES, "peak_infected"),
    "peak_reached",
    *("attack_rate", "isolation_days_per_person", "sound", "protects", "version"),
}


def for_people(row: dict[str, Any]) -> dict[str, str]:
    """Return a row for reading: short names, units, rounded as everywhere."""
    peak, rate = (SUMMARY[key] for key in ("peak_infected", "attack_rate"))
    texts = {key: "–" if row[key] in (None, "") else str(row[key]) for key in row}
    varied = {key: value for key, value in as_cells(row).items() if key not in _COLUMNS}
    told = ", ".join(f"{key}={value}" for key, value in varied.items() if value is not None)
    return {
        **{key: texts[key] for key in ("digest", "label", "method", "variant")},
        "ε": shown(row["epsilon"])
        + (", NOT SOUND" if row["sound"] is False and row["epsilon"] is not None else ""),
        "per": texts["unit"],
        **({"varied": told or "–"} if varied else {}),
        **{key: texts[key] for key in _PLACES},
        f"peak, {PER_THOUSAND}": _in_unit(peak, row)
        + (f" {RISING}" if row["peak_reached"] is False else ""),
        f"ever infected, {rate.unit}": _in_unit(rate, row),
        "at home, days per person": shown(row["isolation_days_per_person"]),
        "version": texts["version"],
    }


def in_short(texts: Mapping[str, str]) -> dict[str, str]:
    """Return a row of `for_people` for narrow terminals: settings in one column, folded heads."""
    known = {key: text for key, text in texts.items() if text != "–"}
    parts = [known.get("method", "–"), known.get("variant"), known.get("varied")]
    parts += [f"{key} {known[key]}" for key in ("ε", "per") if key in known]
    told = ", ".join(filter(None, parts)).replace("=", " ")
    short: dict[str, str] = {}
    for key, text in texts.items():
        if key == "method":
            short["setting"] = told
        elif key not in ("variant", "ε", "per", "varied"):
            short["\n".join(key.split())] = text
    return short


def _in_unit(quantity: Any, row: dict[str, Any]) -> str:
    stored = row[quantity.key]
    return shown(None if stored is None else quantity.in_unit(stored, 1))
