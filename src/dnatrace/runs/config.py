"""The configuration of a run: validated on construction, hashed, read from TOML.

Every key can be set from a preset, a TOML file, `--set section.key=value` or keyword arguments. A
key that does not exist is an error that names it. Methods, simulators and policies bring their own
settings: `method`, `simulator` and `policy` hold the settings of the one they name.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from dnatrace.errors import InputError
from dnatrace.inference.exchange import ExchangeKind
from dnatrace.methods.base import MethodSettings, Setup
from dnatrace.plugins import Plugin
from dnatrace.policy.app import AppRules
from dnatrace.policy.base import PolicySettings
from dnatrace.policy.isolation import IsolationRules
from dnatrace.policy.laboratory import BELIEVED, TestRules
from dnatrace.privacy.noise import Noise
from dnatrace.runs import notices
from dnatrace.runs.keys import (
    CATALOGUES,
    SHORTCUTS,
    USUAL,
    as_tables,
    in_sections,
    named,
    with_full_names,
    within_sections,
)
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
from dnatrace.runs.sections import COURSE, P1, PAPER, ModelSettings, PrivacySettings
from dnatrace.settings import Settings, setting
from dnatrace.simulators.base import SimulatorSettings

DEFAULT_PRESET = "standard"
# Part of every digest and stored configuration. Raise it when a default or a meaning changes, so
# that runs before and after have different names; a new key needs no new number.
SCHEMA = 3

if TYPE_CHECKING:
    MethodChoice = MethodSettings
    SimulatorChoice = SimulatorSettings
    PolicyChoice = PolicySettings
else:
    MethodChoice, SimulatorChoice, PolicyChoice = (c.choice for c in CATALOGUES.values())


class RunConfig(Settings):
    """Everything that determines the result of a run.

    `RunConfig(method="fn", people=10_000, seed=1)` works, too: the short names of `SHORTCUTS` are
    put into their sections. Threads, progress and output are not part of it.

    No preset is applied: what is not given has its default. The command line, sweeps and
    `dt.load_config` start from the preset `standard`, which sets more for `fn` and `bp`:
    `dnatrace run --method fn` is `dt.load_config(overrides={"method": "fn"})`, and
    `RunConfig(method="fn")` is another run with other numbers.
    """

    people: Annotated[int, Field(ge=1, strict=True)] = setting(
        10_000, "size of the population", source=PAPER
    )
    days: Annotated[int, Field(ge=1, le=100_000, strict=True)] = setting(
        100, "length of the run", source=PAPER
    )
    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)] = setting(1, "same seed, same result")
    initially_infected: Annotated[int, Field(ge=0, strict=True)] | None = setting(
        None, "infected on day 0 (5; 25 from 100,000 people on; 50 from 200,000)", source=PAPER
    )
    method: MethodChoice = USUAL["method"]
    privacy: PrivacySettings = PrivacySettings()
    seir: ModelSettings = ModelSettings()
    tests: TestRules = TestRules()
    isolation: IsolationRules = IsolationRules()
    app: AppRules = AppRules()
    policy: PolicyChoice = USUAL["policy"]
    simulator: SimulatorChoice = USUAL["simulator"]
    if TYPE_CHECKING:  # short names and bare names of plug-ins are no fields

        def __init__(self, **values: Any) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _placed(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        placed = in_sections(values)
        placed.pop("schema", None)
        for section, catalogue in CATALOGUES.items():
            if section in placed:
                default = cls.model_fields[section].default.name
                given, placed[section] = placed[section], catalogue.fitted(placed[section], default)
                name = named(placed, section)
                notices.tell_ignored(section, name, catalogue.left_out(given, name))
        return placed

    @model_validator(mode="after")
    def _enough_people(self) -> "RunConfig":
        self.check_people(self.n_people)
        return self

    def check_people(self, n_people: int | None) -> None:
        """Raise if more people are infected at once than there are; None if not yet known."""
        if n_people is None:
            return
        first, asked = self.initially_infected, "initially_infected" in self.model_fields_set
        if asked and first is not None and first > n_people:
            raise InputError(f"initially_infected: {first:,} are more than all {n_people:,} people")
        for key, count in self.simulator.counts().items():
            if count > n_people:
                raise InputError(
                    f"simulator.{key}: {count:,} are more than all {n_people:,} people"
                )

    @classmethod
    def names_understood(cls) -> list[str]:
        """Return the names that a misspelt key may have meant: sections, keys and short names."""
        return [*super().names_understood(), *SHORTCUTS, *within_sections(cls)]

    @property
    def n_people(self) -> int | None:
        """How many people there are; None when the simulator decides that."""
        said = "people" in self.model_fields_set
        return self.people if said or not self.simulator.knows_people else None

    @property
    def n_initially_infected(self) -> int:
        """How many people are infected on day 0; by default as in the published experiments."""
        if self.initially_infected is not None:
            return self.initially_infected
        return usual_first_infections(self.people)

    @property
    def files(self) -> list[Path]:
        """The files that settings name: a contact list, a network, a decoder."""
        plugins: list[Plugin] = [getattr(self, section) for section in CATALOGUES]
        named = [getattr(plugin, key) for plugin in plugins for key in plugin.read_by_content]
        return [Path(name) for name in named if name is not None]

    @property
    def contents(self) -> dict[str, str]:
        """The digest of what each of those settings points to, by dotted key."""
        return {
            f"{section}.{key}": plugin.fingerprint()
            for section in CATALOGUES
            for plugin in [getattr(self, section)]
            for key in plugin.read_by_content
            if getattr(plugin, key) is not None
        }

    def method_setup(self, noise: Noise | None = None) -> Setup:
        """Return what the method is built from; `noise` replaces the configuration's own."""
        return Setup(
            target=self.privacy.target,
            window_days=self.seir.window,
            noise=noise or self.privacy.source(self.seed),
            own_tests=self.own_tests,
        )

    @property
    def tracer(self) -> Any:
        """The settings of the method, with the decoder that it ships for this policy."""
        return self.method.in_world(levers=self.policy.keeps_diary)

    @property
    def acting_policy(self) -> PolicySettings:
        """The policy as the method lets it act: without scores, levers that need them are off."""
        return self.policy if self.method.gives_tests else self.policy.without_scores()

    @property
    def own_tests(self) -> bool:
        """Whether messages are functions of their sender's own tests alone."""
        once = self.exchange is ExchangeKind.ROUNDS and self.seir.rounds == 1
        return once or self.exchange is ExchangeKind.OWN_TESTS

    @property
    def tells_of_cases(self) -> bool:
        """Whether the policy tells people, without noise, of a case they met or live with."""
        return self.policy.tells_of_cases_in(self.simulator)

    @property
    def exchange(self) -> ExchangeKind:
        """What messages are made of."""
        chosen = self.seir.exchange if self.method.reads_exchange else None
        return chosen or self.method.exchange_kind

    def effective(self) -> dict[str, Any]:
        """Return plain values of the settings that have an effect, as they are stored."""
        values = {"schema": SCHEMA} | self.as_dict()
        for section, key in self.idle():
            if key is None:
                del values[section]
            else:
                *tables, last = key.split(".")
                held = reduce(lambda table, name: table.get(name, {}), tables, values[section])
                held.pop(last, None)
        return values

    def idle(self) -> list[tuple[str, str | None]]:
        """Return what has no effect in this run: whole sections (no key), or dotted keys of one."""
        idle: list[tuple[str, str | None]] = []
        if not self.method.adds_noise:
            idle += [("privacy", None)]
        if not self.method.gives_tests and not self.policy.acts_alone:
            idle += [("tests", None), ("isolation", None), ("policy", None)]
        elif not self.method.gives_tests:
            idle += [("tests", "capacity"), *(("policy", key) for key in self.policy.by_score)]
        if ("tests", None) not in idle:
            idle += [("tests", key) for key in BELIEVED if not self.method.reads_test_errors]
            idle += [("policy", key) for key in self.acting_policy.idle()]
        if self.exchange is not ExchangeKind.ROUNDS or not self.method.reads_messages:
            idle += [("seir", "rounds")]
        if not self.method.reads_exchange:
            idle += [("seir", "exchange")]
        if not self.method.reads_model:
            idle += [("seir", key) for key in COURSE]
        if not self.method.reads_transmission and self.exchange is self.method.exchange_kind:
            idle += [("seir", P1)]
        idle += [("simulator", key) for key in self.simulator.idle()]
        return idle + ([("people", None)] if self.n_people is None else [])

    @property
    def believed_transmission(self) -> float | None:
        """What phones believe one contact transmits, p1; None where that has no effect."""
        return None if ("seir", P1) in self.idle() else self.seir.p1

    @property
    def digest(self) -> str:
        """The name of the run: 16 hexadecimal digits from all settings that have an effect."""
        return self.digest_of(self.effective())

    def digest_of(self, stored: Mapping[str, Any]) -> str:
        """Return the digest of some of the `effective` values.

        The digest covers the values that differ from their defaults, the number of the schema, and
        the content of what settings point to: a contact list, a network, a decoder, the installed
        build of an external simulator. So a new key renames no stored run.
        """
        values = self.changed(stored)
        for section in CATALOGUES:
            plugin: Plugin = self.tracer if section == "method" else getattr(self, section)
            if section in stored:
                own = {
                    key: value
                    for key, value in values.get(section, {}).items()
                    if key not in plugin.read_by_content
                }
                content = {"name": plugin.name, "content": plugin.fingerprint()}
                values[section] = own | content
        text = json.dumps(values, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _of_those_there(config: RunConfig) -> RunConfig:
    """Return a configuration with no more first infections than a list has people."""
    first = config.initially_infected
    people = None if first is None or config.n_people else config.simulator.own_people()
    if first is None or people is None or first <= people:
        return config
    return config.model_copy(update={"initially_infected": people})


FIRST_INFECTIONS = "initially_infected"  # the key whose default depends on the people


def usual_first_infections(people: int) -> int:
    """Return how many of so many people are infected on day 0 where no number is given."""
    return min(50 if people >= 200_000 else 25 if people >= 100_000 else 5, people)


def load_config(
    *,
    preset: str = DEFAULT_PRESET,
    scenario: str | None = None,
    file: Path | str | None = None,
    settings: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    tell: bool = True,
) -> RunConfig:
    """Return a configuration: a preset, then a scenario, a file, settings and overrides.

    Args:
        preset: one of `dt.presets()`.
        scenario: one of `dt.scenarios()`, or None.
        file: the path of a TOML file, or of the `config.json` of a stored run.
        settings: texts "section.key=value", the value as in TOML or a bare word; of several for
            a key the last one counts (on the command line they are refused).
        overrides: values by dotted key or shortcut; None means not given.
        tell: whether settings without effect are reported; no, if a program chose them.
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
    notices.tell_of_scenario(scenario, given, config)
    if not tell:
        notices.has_told(config)
        return config
    notices.tell_what_is_idle(given, config, CATALOGUES)
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
    overriding = [
        nested(key if isinstance(value, Mapping) else SHORTCUTS.get(key, key), value)
        for key, value in overrides.items()
        if value is not None
    ]
    refuse_twice((None, values) for values in overriding)
    for text in settings:
        merge(given, parse_setting(text, SHORTCUTS))
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
    with notices.muted():
        config = RunConfig(**values)
    if not asked:
        config = _of_those_there(config)
        config.model_fields_set.discard("initially_infected")
    return config, given
