"""The keys of a configuration: who brings those of a section, short names, and full ones."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from dnatrace.errors import InputError
from dnatrace.methods.catalogue import METHODS
from dnatrace.methods.headcount import HeadcountSettings
from dnatrace.plugins import Catalogue
from dnatrace.policy.catalogue import POLICIES
from dnatrace.policy.highest_scores import HighestScoresSettings
from dnatrace.runs.nesting import merge, nested, refuse_twice
from dnatrace.runs.sections import ModelSettings
from dnatrace.settings import Settings
from dnatrace.simulators.catalogue import SIMULATORS
from dnatrace.simulators.city import CitySettings

_LOG = logging.getLogger(__name__)

CATALOGUES: dict[str, Catalogue[Any]] = {
    "method": METHODS,
    "simulator": SIMULATORS,
    "policy": POLICIES,
}
# Chosen where a configuration names none.
USUAL: dict[str, Any] = {
    "method": HeadcountSettings(),
    "simulator": CitySettings(),
    "policy": HighestScoresSettings(),
}
# Keyword arguments and command-line options that live in a section.
SHORTCUTS = {
    "method": "method.name",
    "release": "method.release",
    "score": "method.score",
    "gamma": "method.gamma",
    "epsilon": "privacy.epsilon",
    "delta": "privacy.delta",
    "unit": "privacy.unit",
    "noise": "privacy.noise",
    "p1": "seir.transmission_per_contact",
    "policy": "policy.name",
    "simulator": "simulator.name",
}


def named(values: Mapping[str, Any], section: str, default: str | None = None) -> str:
    """Return which plug-in a section names."""
    chosen = values.get(section, {})
    usual = default or USUAL[section].name
    return str(chosen.get("name", usual) if isinstance(chosen, Mapping) else chosen)


def as_tables(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values in which a plug-in that is only named is a table, to which others may add."""
    by_name = {key: {"name": values[key]} for key in CATALOGUES if isinstance(values.get(key), str)}
    return dict(values) | by_name


def with_full_names(given: Mapping[str, Any], *, tell: bool) -> dict[str, Any]:
    """Return values under the names they have in files; short names are accepted and reported."""
    kinds: dict[str, list[type[Settings]]] = {"seir": [ModelSettings]}
    kinds |= {section: list(catalogue) for section, catalogue in CATALOGUES.items()}
    renamed = dict(given)
    for section, models in kinds.items():
        held = given.get(section)
        if not isinstance(held, Mapping):
            continue
        full = {name: key for model in models for key, name in model.names_in_files().items()}
        renamed[section] = {full.get(key, key): value for key, value in held.items()}
        for key in held if tell else ():
            if full.get(key, key) != key:
                _LOG.info("%s.%s is now called %s.%s", section, key, section, full[key])
    return renamed


def within_sections(model: type[Settings]) -> Iterator[str]:
    """Yield the dotted keys of the sections of a model, those of all plug-ins, too."""
    for section, name in model.names_in_files().items():
        default = model.model_fields[name].default
        kinds = list(CATALOGUES.get(section, [type(default)]))
        for kind in kinds if isinstance(default, Settings) else ():
            for key, own in kind.names_in_files().items():
                yield f"{section}.{key}"
                inner = kind.model_fields[own].default
                if isinstance(inner, Settings):
                    yield from (f"{section}.{key}.{last}" for last in inner.names_in_files())


def in_sections(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments as nested values, short names in the sections they belong to."""
    for name in (one for one in ("preset", "scenario") if one in given):
        raise InputError(
            f"'{name}' is no key of a configuration: give --{name} on the command line, "
            f"dt.load_config({name}=…) in Python"
        )
    pieces = {key: _piece(key, value) for key, value in given.items()}
    _refuse_different(pieces)
    placed: dict[str, Any] = {}
    for piece in pieces.values():
        merge(placed, piece)
    return placed


def _piece(key: str, value: Any) -> dict[str, Any]:
    """Return one keyword argument as nested values; settings in it are tables, too."""
    short = None if isinstance(value, Mapping | BaseModel) else SHORTCUTS.get(key)
    return nested(short or key, value)


def _refuse_different(pieces: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise if keyword arguments give a key different values, or a section whole and in part."""
    for name, piece in pieces.items():
        beside = [other for other, one in pieces.items() if other != name and name in one]
        if beside and isinstance(piece.get(name), BaseModel):
            raise InputError(
                f"{name} is given whole, and {beside[0]} beside it: choose one of them"
            )
    refuse_twice((None, piece) for piece in pieces.values())
