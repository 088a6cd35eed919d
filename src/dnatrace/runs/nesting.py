"""Nested values: merge them, address them by dotted key, read them from TOML or JSON."""

import tomllib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError, require_path, shown
from dnatrace.files import parse_json


def nested(path: str, value: Any) -> dict[str, Any]:
    """Return {"a": {"b": value}} for the path "a.b"."""
    *sections, last = path.split(".")
    result = {last: value}
    for key in reversed(sections):
        result = {key: result}
    return result


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values by dotted key."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Lay nested `values` over `into`, in place; lists are replaced, `values` is unchanged."""
    for key, value in values.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = deepcopy(dict(value)) if isinstance(value, Mapping) else value


def refuse_twice(given: Iterable[tuple[str | None, Mapping[str, Any]]]) -> None:
    """Raise if a dotted key is given different values: one would win without a word.

    `given` are nested values beside what a message calls them; None for key and value.
    """
    before: dict[str, tuple[str, Any]] = {}
    for text, values in given:
        for key, value in flatten(values).items():
            called = f"{key}={value}" if text is None else text
            earlier, other = before.setdefault(key, (called, value))
            if repr(other) != repr(value) and not _is_same_number(other, value):
                raise InputError(f"{earlier}, {called}: choose one of them")


def _is_same_number(one: Any, other: Any) -> bool:
    return isinstance(one, int | float) and isinstance(other, int | float) and one == other


def check_kinds(names: Mapping[str, Any], file: Any, settings: Any, overrides: Any) -> None:
    """Raise unless these are texts, a path, texts and a mapping by text, or absent.

    The name of a preset is the only one that must be there.
    """
    for key, value in names.items():
        if not isinstance(value, str) and (key == "preset" or value is not None):
            listed = f"dt.{key}s() lists them"
            raise InputError(f"{key}: expected a name, not {shown(value)}; {listed}")
    if not isinstance(file, str | Path | None):
        raise InputError(f"file: expected a path, not {shown(file)}")
    require_path(file=file)
    texts = not isinstance(settings, str) and isinstance(settings, Sequence)
    if not texts or not all(isinstance(text, str) for text in settings):
        raise InputError(
            f"settings: expected a list like ['tests.capacity=0.04'], not {shown(settings)}"
        )
    by_key = isinstance(overrides, Mapping) and all(isinstance(key, str) for key in overrides)
    if overrides is not None and not by_key:
        raise InputError(f"overrides: expected values by key, not {shown(overrides)}")


def read_toml(path: Path) -> dict[str, Any]:
    """Return the values of a TOML file, or raise saying what is wrong with it.

    Marks of the encoding that editors put before the first line are passed over.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a directory, expected a TOML file")
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {_wrong_encoding(error)}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error


def _wrong_encoding(error: UnicodeDecodeError) -> str:
    if error.object.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "is encoded in UTF-16, expected UTF-8"
    line = error.object.count(b"\n", 0, error.start) + 1
    return f"line {line} is not encoded in UTF-8"


def read_stored(path: Path, schema: int) -> dict[str, Any]:
    """Return the settings of the `config.json` of a stored run, or raise saying what is wrong."""
    try:
        values = parse_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON: {error}") from error
    if not isinstance(values, dict):
        raise InputError(f"{path}: expected settings, as in the config.json of a run")
    made = values.pop("schema", None)
    if made != schema:
        told = "has no number of its schema" if made is None else f"is of schema {made}"
        raise InputError(f"{path}: {told}, and this version reads schema {schema}")
    return values


def is_stored(path: Path) -> bool:
    """Whether a file is the `config.json` of a run, rather than TOML."""
    return path.suffix == ".json"


def read_run_file(path: Path, schema: int) -> dict[str, Any]:
    """Return the values of a file for one run; raise if it describes many.

    The file is TOML, or the `config.json` of a stored run, which has the number of the schema.
    """
    values = read_stored(path, schema) if is_stored(path) else read_toml(path)
    quoted = [key for key in values if "." in key]  # "tests.capacity" = 0.1
    pieces = [values, *(nested(key, values.pop(key)) for key in quoted)]
    refuse_twice((None, piece) for piece in pieces)
    for piece in pieces[1:]:
        merge(values, piece)
    for key in ("seeds", "grid"):
        if key in values:
            raise InputError(f"{path}: '{key}' belongs to a file of many runs: dnatrace sweep")
    for key in ("preset", "scenario"):
        if key in values:
            raise InputError(f"{path}: '{key}' is an option of a run: --{key} {values[key]}")
    return values


def parse_setting(text: str, shortcuts: Mapping[str, str], option: str = "") -> dict[str, Any]:
    """Return the nested value of a text "section.key=value"; short names are expanded.

    `option` is the one that gave the text, for messages; "" in Python.
    """
    path, equals, written = text.partition("=")
    if not equals or not path.strip():
        given = f"{option} {text}" if option else f"settings: {shown(text)}"
        raise InputError(f"{given}: expected section.key=value")
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = written.strip()
    key = path.strip()
    return nested(key if isinstance(value, Mapping) else shortcuts.get(key, key), value)
