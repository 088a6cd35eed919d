"""Presets: the named configurations of the package, each with its purpose."""

import tomllib
from importlib import resources
from itertools import takewhile
from typing import Any

from dnatrace.errors import InputError, closest

_PACKAGE = "dnatrace.preset_files"


def preset_names() -> list[str]:
    """Return the names of the presets that ship with the package."""
    files = resources.files(_PACKAGE).iterdir()
    return sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml"))


def presets() -> dict[str, str]:
    """Return the first sentence about every preset, by name."""
    return {name: _first_sentence(_text(name)) for name in preset_names()}


def read_preset(name: str) -> dict[str, Any]:
    """Return the settings of a preset, nested as in files."""
    if name not in preset_names():
        known = preset_names()
        listed = f"there are {', '.join(known)}{closest(name, known)}"
        raise InputError(f"preset '{name}' does not exist; {listed}")
    return tomllib.loads(_text(name))


def _text(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(f"{name}.toml").read_text("utf-8")


def _first_sentence(text: str) -> str:
    """Return the first sentence of the comment that a TOML file begins with."""
    lines = takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(line.removeprefix("#").strip() for line in lines).partition(". ")[0]
