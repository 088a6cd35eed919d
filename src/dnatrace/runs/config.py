"""The configuration of a run: validated on construction, hashed, read from TOML.

Every key can be set from a preset, a TOML file, `--set section.key=value` or keyword arguments. A
key that does not exist is an error that names it.
"""

import difflib
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dnatrace.errors import InputError
from dnatrace.methods.base import Score
from dnatrace.networks.decoder import DEFAULT_DECODER, load_decoder
from dnatrace.networks.runtime import DEFAULT_MODEL, load_model
from dnatrace.policy import AdherenceUnit
from dnatrace.privacy.accounting import Unit
from dnatrace.simulators.base import N_AGE_GROUPS

DEFAULT_PRESET = "standard"

Share = Annotated[float, Field(ge=0.0, le=1.0)]
PositiveShare = Annotated[float, Field(gt=0.0, le=1.0)]
Days = Annotated[int, Field(ge=0, le=100_000, strict=True)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class MethodSection(_Section):
    """Which method turns messages into scores, and its constants."""

    name: str = "tally"
    release: str | None = Field(None, description="variant of the release; the sound one if absent")
    score: Score = Field(Score.EXPOSED_OR_INFECTED, description="which belief ranks people")
    gamma: PositiveShare = Field(0.2, description="messages are clipped to [0, gamma]")
    mu_ref: Share = Field(0.005, description="message that stands for an average contact")
    rho: Annotated[float, Field(ge=0.0)] = Field(
        0.05, description="expected spread of the exposure, for shrinkage"
    )
    model: str = Field(
        DEFAULT_MODEL, description="network of dna: the name of one that ships, or a path"
    )
    decoder: str = Field(
        DEFAULT_DECODER, description="decoder of tally: the name of one that ships, or a path"
    )


class PrivacySection(_Section):
    """The guarantee that the noise is calibrated for."""

    epsilon: Annotated[float, Field(gt=0.0)] = 1.0
    delta: Annotated[float, Field(gt=0.0, lt=1.0)] = 1e-3
    unit: Unit = Unit.RELEASE
    noise: Literal["fast", "secure"] = "fast"


class SeirSection(_Section):
    """The statistical model that phones use."""

    p0: Share = Field(0.001, description="infection from outside, a day")
    p1: Share = Field(0.03, description="transmission by a contact with an infected person")
    g: Share = Field(0.99, description="exposed to infected, a day")
    h: Share = Field(0.10, description="infected to removed, a day")
    window: Annotated[int, Field(ge=1, le=1000, strict=True)] = Field(
        14, description="days of contacts that are kept"
    )
    rounds: Annotated[int, Field(ge=1, strict=True)] = Field(
        5, description="updates of everybody a day"
    )


class TestsSection(_Section):
    """How tests are given."""

    __test__ = False  # the name does not make it a test case

    capacity: Share = Field(0.08, description="share of the population tested a day")
    false_positive_rate: Share = 0.01
    false_negative_rate: Share = 0.001
    order_delay: Days = Field(0, description="days from being chosen to being tested")
    result_delay: Days = Field(0, description="days from the test to its result")


class IsolationSection(_Section):
    """How positives isolate."""

    days: Days = 10
    start_day: Days = Field(3, description="results before this day have no consequence")
    adherence: Share = Field(1.0, description="share that follows the rule")
    adherence_unit: AdherenceUnit = AdherenceUnit.PERSON
    keeps_household: bool = Field(False, description="whether isolated people meet housemates")
    dropout: Share = Field(0.0, description="probability a day of giving up")


class AppSection(_Section):
    """Who has the app."""

    adoption: Share | list[Share] = Field(1.0, description="share, or nine shares by age group")

    @model_validator(mode="after")
    def _nine(self) -> Self:
        if isinstance(self.adoption, list) and len(self.adoption) != N_AGE_GROUPS:
            raise ValueError(f"give one share or {N_AGE_GROUPS}, one for each age group")
        return self

    @property
    def by_age(self) -> tuple[float, ...]:
        """The share with the app in each of the nine age groups."""
        if isinstance(self.adoption, list):
            return tuple(self.adoption)
        return (self.adoption,) * N_AGE_GROUPS


class SimulatorSection(_Section):
    """Who meets whom, and who gets infected."""

    name: Literal["city", "replay", "openabm", "covasim"] = "city"
    contacts: str | None = Field(
        None, description="replay: CSV or Parquet of sender, receiver, day"
    )


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
    "p1": "seir.p1",
    "simulator": "simulator.name",
}


class RunConfig(_Section):
    """Everything that determines the result of a run.

    `RunConfig(method="fn", people=10_000, seed=1)` works too: the short names of `SHORTCUTS` are
    put where they belong. Threads, progress and output are not part of it.
    """

    people: Annotated[int, Field(ge=1, strict=True)] = 10_000
    days: Annotated[int, Field(ge=1, le=100_000, strict=True)] = 100
    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)] = 1
    initially_infected: Annotated[int, Field(ge=0, strict=True)] | None = Field(
        None, description="5 people, 25 from 100,000 people on, 50 from 200,000 on, if absent"
    )
    method: MethodSection = MethodSection()
    privacy: PrivacySection = PrivacySection()
    seir: SeirSection = SeirSection()
    tests: TestsSection = TestsSection()
    isolation: IsolationSection = IsolationSection()
    app: AppSection = AppSection()
    simulator: SimulatorSection = SimulatorSection()

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InputError(_explain(error, type(self))) from None

    @model_validator(mode="before")
    @classmethod
    def _place_shortcuts(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        placed: dict[str, Any] = {}
        for key, value in values.items():
            path = SHORTCUTS.get(key)
            if path is None or isinstance(value, Mapping | BaseModel):
                _merge(placed, {key: value})
            else:
                _merge(placed, nested(path, value))
        return placed

    @property
    def n_initially_infected(self) -> int:
        """How many people are infected on day 0; the published experiments' numbers by default."""
        if self.initially_infected is not None:
            return min(self.initially_infected, self.people)
        n = 50 if self.people >= 200_000 else 25 if self.people >= 100_000 else 5
        return min(n, self.people)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as they are stored."""
        return self.model_dump(mode="json")

    @property
    def digest(self) -> str:
        """The name of the run: 16 hexadecimal digits of the hash of all settings.

        A contact list that is replayed, the network of `dna` and the decoder of `tally` count with
        their content; of OpenABM-Covid19 and Covasim, the installed build does, if there is one.
        """
        values = self.as_dict()
        del values["method"]["decoder"]  # its content counts, where it has an effect
        text = json.dumps(values, sort_keys=True)
        digest = hashlib.blake2b(text.encode(), digest_size=8)
        if self.simulator.contacts is not None and Path(self.simulator.contacts).is_file():
            digest.update(Path(self.simulator.contacts).read_bytes())
        if self.method.name == "dna":
            digest.update(load_model(self.method.model).certificate.digest.encode())
        if self.method.name == "tally":
            digest.update(load_decoder(self.method.decoder).digest.encode())
        digest.update((_installed_build(self.simulator.name) or "").encode())
        return digest.hexdigest()


def _installed_build(simulator: str) -> str | None:
    """Return which variant and version of an outside simulator a run would use."""
    # These import what an ordinary configuration does not need.
    if simulator == "openabm":
        from dnatrace.simulators import openabm  # noqa: PLC0415

        return openabm.installed_build()
    if simulator == "covasim":
        from dnatrace.simulators import covasim  # noqa: PLC0415

        return covasim.installed_build()
    return None


def preset_names() -> list[str]:
    """Return the names of the presets that ship with the package."""
    files = resources.files("dnatrace.presets").iterdir()
    return sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml"))


def load_config(
    *,
    preset: str = DEFAULT_PRESET,
    file: Path | None = None,
    settings: Iterable[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> RunConfig:
    """Return a configuration from a preset, then a file, then settings, then overrides.

    Args:
        preset: one of `preset_names()`.
        file: TOML.
        settings: texts "section.key=value", the value as in TOML or a bare word.
        overrides: by dotted key or shortcut; None means not given.
    """
    values = _read_preset(preset)
    # What a preset says of its own city and its own method holds for these alone.
    its_people, its_method = values.pop("people", None), values["method"]["name"]
    its_release = values["method"].pop("release", None)
    if file is not None:
        _merge(values, read_toml(file))
    for setting in settings:
        _merge(values, _parse_setting(setting))
    for key, value in (overrides or {}).items():
        if value is not None:
            _merge(values, nested(SHORTCUTS.get(key, key), value))
    chosen = RunConfig(**values)
    if its_people is not None and chosen.simulator.name == "city":
        values.setdefault("people", its_people)
    if its_release is not None and chosen.method.name == its_method:
        values["method"].setdefault("release", its_release)
    return RunConfig(**values)


def nested(path: str, value: Any) -> dict[str, Any]:
    """Return {"a": {"b": value}} for the path "a.b"."""
    *sections, last = path.split(".")
    result = {last: value}
    for key in reversed(sections):
        result = {key: result}
    return result


def _merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Lay nested values over others, in place; lists are replaced."""
    for key, value in values.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = dict(value) if isinstance(value, Mapping) else value


def _read_preset(name: str) -> dict[str, Any]:
    if name not in preset_names():
        raise InputError(f"preset '{name}' does not exist; there are {', '.join(preset_names())}")
    text = resources.files("dnatrace.presets").joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the values of a TOML file, or say what is wrong with it."""
    if path.is_dir():
        raise InputError(f"{path}: is a directory, expected a TOML file")
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error


def _parse_setting(setting: str) -> dict[str, Any]:
    path, equals, text = setting.partition("=")
    if not equals or not path.strip():
        raise InputError(f"--set {setting}: expected section.key=value")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    return nested(SHORTCUTS.get(path.strip(), path.strip()), value)


def _explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Return one line for the first thing that is wrong."""
    first = error.errors()[0]
    keys = [
        str(k) for k in first["loc"] if not str(k).startswith(("float", "int", "list", "const"))
    ]
    path = ".".join(keys)
    if first["type"] == "extra_forbidden":
        guess = difflib.get_close_matches(path, all_keys(model), n=1)
        return f"unknown key '{path}'" + (f"; did you mean '{guess[0]}'?" if guess else "")
    message = first["msg"].removeprefix("Value error, ")
    return f"{path or 'configuration'}: {message[0].lower()}{message[1:]}, not {first['input']!r}"


def all_keys(model: type[BaseModel], prefix: str = "") -> list[str]:
    """Return every dotted key of a configuration."""
    keys = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            keys += all_keys(kind, f"{prefix}{name}.")
        else:
            keys.append(prefix + name)
    return keys
