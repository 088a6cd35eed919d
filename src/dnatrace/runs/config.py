"""The configuration of a run: validated on construction, hashed.

`loading.py` puts one together from a preset, a scenario, a TOML file, `--set` and options. A key
that does not exist is an error that names it. Methods, simulators and policies bring their own
settings: `method`, `simulator` and `policy` hold the settings of the one they name.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, model_validator

from dnatrace.errors import InputError
from dnatrace.inference.exchange import ExchangeKind
from dnatrace.methods.base import MethodSettings, Setup
from dnatrace.plugins import Plugin
from dnatrace.policy.app import AppRules
from dnatrace.policy.base import PolicySettings
from dnatrace.policy.isolation import IsolationRules
from dnatrace.policy.laboratory import BELIEVED, TestRules
from dnatrace.privacy.noise import Noise
from dnatrace.runs.keys import CATALOGUES, SHORTCUTS, USUAL, within_sections
from dnatrace.runs.nesting import merge, nested, refuse_twice
from dnatrace.runs.sections import COURSE, P1, PAPER, ModelSettings, PrivacySettings
from dnatrace.settings import Settings, setting
from dnatrace.simulators.base import SimulatorSettings

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
        pieces = {key: _piece(key, value) for key, value in values.items()}
        _refuse_different(pieces)
        placed: dict[str, Any] = {}
        for piece in pieces.values():
            merge(placed, piece)
        placed.pop("schema", None)
        for section, catalogue in CATALOGUES.items():
            if section in placed:
                default = cls.model_fields[section].default.name
                placed[section] = catalogue.fitted(placed[section], default)
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
        n = 50 if self.people >= 200_000 else 25 if self.people >= 100_000 else 5
        return min(n, self.people)

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
        return self.seir.exchange or self.method.exchange_kind

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
        values = _changed(self, stored)
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


def _piece(key: str, value: Any) -> dict[str, Any]:
    """Return one keyword argument as nested values; settings in it are tables, too."""
    path = SHORTCUTS.get(key)
    if path is None or isinstance(value, Mapping | BaseModel):
        return {key: value}
    return nested(path, value)


def _refuse_different(pieces: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise if keyword arguments give a key different values, or a section whole and in part."""
    for name, piece in pieces.items():
        beside = [other for other, one in pieces.items() if other != name and name in one]
        if beside and isinstance(piece.get(name), BaseModel):
            raise InputError(
                f"{name} is given whole, and {beside[0]} beside it: choose one of them"
            )
    refuse_twice((None, piece) for piece in pieces.values())


def _changed(settings: Settings, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that differ from their defaults, under the names they have in files."""
    changed: dict[str, Any] = {}
    for key, value in values.items():
        name = type(settings).names_in_files().get(key)
        inner = getattr(settings, name) if name is not None else None
        if isinstance(inner, Settings):
            if differs := _changed(inner, value):
                changed[key] = differs
        elif name is None or inner != type(settings).model_fields[name].default:
            changed[key] = value
    return changed
