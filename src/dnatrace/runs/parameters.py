"""What every setting means and where its default comes from, read from the settings."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from dnatrace.plugins import Plugin
from dnatrace.runs.config import RunConfig
from dnatrace.runs.keys import CATALOGUES
from dnatrace.runs.presets import preset_names
from dnatrace.settings import Settings

_HEAD = """# Parameters

This page lists every key of the configuration, for TOML files, `--set key=value` and
`dt.RunConfig`. It is what `dnatrace config parameters` prints, generated from the fields of the
settings; a test fails when it is stale. Shares are fractions in [0, 1]. Where only some methods,
simulators or policies know a key, they are named after "for"; a method ignores keys of other
methods. A table `[method.NAME]` applies to that method alone. Names in brackets are older or
shorter names that are still accepted. "DNA paper" is Romijnders et al., *DNA: Differentially
private Neural Augmentation for contact tracing*.

"""
_FOOT = """
Comments in the presets {presets} say what
they change and why (`src/dnatrace/preset_files/`). The parameters of the city are in
`src/dnatrace/reference_data/parameters.csv`, with their sources.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A key of the configuration.

    Attributes:
        meaning: what it means, in words.
        source: the source of the default; empty when it has none.
        default: the default, a plain value.
        short: another name that is accepted; empty when there is none.
        of: the methods, simulators or policies that know it; empty when all do.
    """

    meaning: str
    source: str
    default: Any
    short: str = ""
    of: tuple[str, ...] = ()


@cache
def described_settings() -> dict[str, Setting]:
    """Return every setting by dotted key, in the order of the configuration."""
    found: dict[str, Setting] = {}
    for key, own in RunConfig.names_in_files().items():
        field = RunConfig.model_fields[own]
        if key in CATALOGUES:
            found |= dict(_of_plugins(key, field.default))
        elif isinstance(field.default, Settings):
            found |= dict(_of_section(key, type(field.default)))
        else:
            found[key] = _described(RunConfig, key)
    return found


def _of_section(section: str, kind: type[Settings]) -> Iterator[tuple[str, Setting]]:
    for key, name in kind.names_in_files().items():
        inner = kind.model_fields[name].default
        if isinstance(inner, Settings):
            yield from _of_section(f"{section}.{key}", type(inner))
        else:
            yield f"{section}.{key}", _described(kind, key)


def _of_plugins(section: str, default: Plugin) -> Iterator[tuple[str, Setting]]:
    """Yield the keys of all plug-ins of a kind, each key once."""
    catalogue = CATALOGUES[section]
    for key in dict.fromkeys(key for kind in catalogue for key in kind.names_in_files()):
        kinds = [kind for kind in catalogue if key in kind.names_in_files()]
        everybody = len(kinds) == len(catalogue.names)
        whose = () if everybody else tuple(kind.title() for kind in kinds)
        inner = kinds[0].model_fields[kinds[0].names_in_files()[key]].default
        if isinstance(inner, Settings):
            for name, described in _of_section(f"{section}.{key}", type(inner)):
                yield name, replace(described, of=whose)
            continue
        one = _described(kinds[0], key)
        defaults = {_described(kind, key).default for kind in kinds}
        usual = one.default if len(defaults) == 1 else f"by {section}"
        described = replace(one, default=default.name if key == "name" else usual, of=whose)
        yield f"{section}.{key}", described


def _described(kind: type[Settings], key: str) -> Setting:
    name = kind.names_in_files()[key]
    field = kind.model_fields[name]
    more: Any = field.json_schema_extra or {}
    return Setting(
        meaning=field.description or "",
        source=more.get("source", ""),
        default=getattr(field.default, "value", field.default),
        short=name if name != key else "",
    )


def default_of(key: str, method: str) -> Any:
    """Return the default of a setting for a method: variants of a release have different ones."""
    known = described_settings().get(key)
    kinds = CATALOGUES["method"]
    section, _, name = key.partition(".")
    if section == "method" and method in kinds and name in kinds[method].names_in_files():
        return method if name == "name" else _described(kinds[method], name).default
    return known.default if known else None


def as_markdown() -> str:
    """Return the page docs/parameters.md."""
    lines = ["| key | default | meaning | source of the default |", "|---|---|---|---|"]
    for key, known in described_settings().items():
        named = f"`{key}`" + (f" (`{known.short}`)" if known.short else "")
        default = "absent" if known.default is None else f"{known.default}"
        whose = f"; for {', '.join(known.of)}" if known.of else ""
        lines.append(f"| {named} | {default} | {known.meaning}{whose} | {known.source} |")
    presets = ", ".join(f"`{name}`" for name in preset_names())
    return _HEAD + "\n".join(lines) + "\n" + _FOOT.format(presets=presets)
