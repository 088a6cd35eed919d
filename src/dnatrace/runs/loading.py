"""How a configuration is put together: a preset, a scenario, a file, settings, overrides."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.runs import notices
from dnatrace.runs.config import SCHEMA, RunConfig
from dnatrace.runs.keys import CATALOGUES, SHORTCUTS, as_tables, named, with_full_names
from dnatrace.runs.nesting import (
    check_kinds,
    flatten,
    is_stored,
    merge,
    nested,
    parse_setting,
    read_run_file,
    refuse_twice,
)
from dnatrace.runs.presets import read_preset
from dnatrace.runs.scenarios import read_scenario

DEFAULT_PRESET = "standard"


def load_config(
    *,
    preset: str = DEFAULT_PRESET,
    scenario: str | None = None,
    file: Path | str | None = None,
    settings: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> RunConfig:
    """Return a configuration: a preset, then a scenario, a file, settings and overrides.

    Args:
        preset: one of `dt.presets()`.
        scenario: one of `dt.scenarios()`, or None.
        file: the path of a TOML file, or of the `config.json` of a stored run.
        settings: texts "section.key=value", the value as in TOML or a bare word.
        overrides: values by dotted key or shortcut; None means not given.
    """
    check_kinds({"preset": preset, "scenario": scenario}, file, settings, overrides)
    of_file = {} if file is None else read_run_file(Path(file), SCHEMA)
    if file is not None and is_stored(Path(file)):
        _refuse_under(file, preset, scenario)
    try:
        config, given = _combined(preset, scenario, of_file, settings, overrides or {})
    except InputError as error:
        if of_file and _is_right(preset, scenario, settings, overrides or {}):
            raise InputError(f"{file}: {error}") from None
        raise
    notices.tell_what_is_idle(given, config, CATALOGUES)
    notices.tell_of_scenario(scenario, given, config)
    one_by_one = [of_file, *(parse_setting(text, SHORTCUTS) for text in settings)]
    notices.tell_idle_settings([key for keys in one_by_one for key in flatten(keys)], config)
    by_hand = [key for key, value in flatten(overrides or {}).items() if value is not None]
    notices.has_told(config, but=[SHORTCUTS.get(key, key) for key in by_hand])
    return config


def _refuse_under(file: Path | str, preset: str, scenario: str | None) -> None:
    """Raise for a preset or a scenario under the file of a run: it would do nothing, or a part."""
    under = {"preset": preset if preset != DEFAULT_PRESET else None, "scenario": scenario}
    for kind, name in under.items():
        if name is not None:
            raise InputError(
                f"{kind} '{name}', {file}: choose one of them; a stored run has nearly every "
                f"setting, so the {kind} would change next to nothing"
            )


def _is_right(*others: Any) -> bool:
    """Whether a configuration is right without its file, so that the file is to blame."""
    preset, scenario, settings, overrides = others
    try:
        _combined(preset, scenario, {}, settings, overrides)
    except InputError:
        return False
    return True


def _combined(
    preset: str,
    scenario: str | None,
    of_file: Mapping[str, Any],
    settings: Sequence[str],
    overrides: Mapping[str, Any],
) -> tuple[RunConfig, dict[str, Any]]:
    """Return a configuration, and what was given beside its preset and scenario."""
    values = read_preset(preset)
    merge(values, read_scenario(scenario).settings if scenario is not None else {})
    its_people, its_simulator = values.pop("people", None), named(values, "simulator")
    given: dict[str, Any] = {}
    merge(given, as_tables(of_file))
    of_settings = [(text, parse_setting(text, SHORTCUTS)) for text in settings]
    overriding = [
        nested(key if isinstance(value, Mapping) else SHORTCUTS.get(key, key), value)
        for key, value in overrides.items()
        if value is not None
    ]
    refuse_twice(of_settings)
    refuse_twice((None, values) for values in overriding)
    for _, one in of_settings:
        merge(given, one)
    given = with_full_names(given, tell=True)
    for one in overriding:
        merge(given, one)
    given = with_full_names(given, tell=False)
    for section, catalogue in CATALOGUES.items():
        if isinstance(values.get(section), Mapping):
            name = named(given, section, named(values, section))
            values[section] = catalogue.flattened(values[section], name)
    merge(values, given)
    if its_people is not None and named(values, "simulator") == its_simulator:
        values.setdefault("people", its_people)  # a preset's number is meant for the city
    first, people = values.get("initially_infected"), values.get("people")
    asked = "initially_infected" in given
    if not asked and isinstance(first, int) and isinstance(people, int):
        values["initially_infected"] = min(first, people)  # meant for the preset's own people
    config = RunConfig(**values)
    if not asked:
        config.model_fields_set.discard("initially_infected")
    return config, given
