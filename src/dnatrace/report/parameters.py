"""What every setting means, where its default comes from and what that is."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from dnatrace.report.reading import flatten
from dnatrace.runs.config import RunConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A key of the configuration.

    Attributes:
        meaning: in words.
        source: of the default; empty when it has none.
        default: a plain value.
    """

    meaning: str
    source: str
    default: Any


@cache
def described_settings() -> dict[str, Setting]:
    """Return every setting by dotted key, in the order of the configuration."""
    text = resources.files("dnatrace.report").joinpath("parameters.csv").read_text("utf-8")
    rows = {row["key"]: row for row in csv.DictReader(text.splitlines())}
    unknown = {"meaning": "", "source": ""}
    settings = {}
    for key, default in flatten(RunConfig().as_dict()).items():
        row = rows.get(key, unknown)
        meaning = row["meaning"] or _description(key)
        settings[key] = Setting(meaning=meaning, source=row["source"], default=default)
    return settings


def _description(key: str) -> str:
    """Return what the configuration itself says of a setting."""
    section, _, name = key.rpartition(".")
    fields: Any = RunConfig.model_fields
    if section:
        fields = fields[section].annotation.model_fields
    return fields[name].description or ""
