"""How a setting is declared: its bounds, what it means, and where its default comes from.

Every section of a configuration is a small model of such fields. The documentation, the JSON Schema
and the report's table of parameters are generated from them.
"""

from collections.abc import Mapping
from datetime import date, time
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    create_model,
)
from pydantic_core import CoreSchema

from dnatrace.errors import InputError, nearest, shown

_SURE = 0.8  # difflib's ratio of a key and one of another section, to be what was meant

Choice = TypeVar("Choice", bound=StrEnum)
Share = Annotated[float, Field(ge=0.0, le=1.0)]
PositiveShare = Annotated[float, Field(gt=0.0, le=1.0)]
NotNegative = Annotated[float, Field(ge=0.0)]
Days = Annotated[int, Field(ge=0, le=100_000, strict=True)]


def setting(default: Any, meaning: str, *, source: str = "", called: str | None = None) -> Any:
    """Declare a field of `Settings`.

    Args:
        default: the value when none is given.
        meaning: what it means, in one line.
        source: where the default comes from.
        called: its name in files, when formulas and code use a shorter one; both are accepted.
    """
    more: Any = {"source": source} if source else None
    return Field(default, description=meaning, alias=called, json_schema_extra=more)


def _require_numbers(schema: Any) -> None:
    """Let each fractional number in a schema, in place, be strict: whole ones are still taken."""
    if isinstance(schema, dict):
        if schema.get("type") == "float":
            schema["strict"] = True
        schema = schema.values()
    elif not isinstance(schema, list | tuple):
        return
    for part in schema:
        _require_numbers(part)


def _plain(value: Any) -> Any:
    """Return a value with the numbers and arrays of numpy as plain numbers and lists."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value)) if isinstance(value, tuple) else [*map(_plain, value)]
    return value


class _Fields(BaseModel):
    """A model that takes numbers alone for fractional numbers, no texts and no true or false.

    It holds for every field of every model derived from it, those of other packages, too.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True
    )

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler, /
    ) -> CoreSchema:
        schema = handler(source)
        _require_numbers(schema)
        return schema


class Settings(_Fields):
    """A section of a configuration: immutable, checked on construction, no unknown keys."""

    def __init__(self, **values: Any) -> None:
        # Numbers of numpy are numbers, also where whole ones are asked for.
        plain = {key: _plain(value) for key, value in values.items()}
        try:
            super().__init__(**plain)
        except ValidationError as error:
            raise _explained(error, type(self)) from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other values of fields, each checked by itself.

        A name that is no field would be kept without any effect, so it is refused.
        """
        checked = {name: self._checked(name, value) for name, value in (update or {}).items()}
        return super().model_copy(update=checked, deep=deep)

    def _checked(self, name: str, value: Any) -> Any:
        """Return a value as the field holds it; settings of a kind of one's own are kept."""
        kind = type(self)
        if name not in kind.model_fields:
            raise InputError(f"'{name}' is no field of {kind.__name__}; `dt.load_config` places it")
        if isinstance(value, BaseModel):
            return value
        if isinstance(getattr(self, name), BaseModel):
            place = f"`dt.load_config(overrides={{'{name}': …}})` places it"
            raise InputError(f"{name}: expected settings, not {shown(value)}; {place}")
        return checked_value(kind, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Raise: settings are shared and name runs, so they never change."""
        del value
        copy = f"model_copy(update={{'{name}': …}})"
        raise InputError(f"{name}: settings cannot be changed; {copy} returns a changed copy")

    @classmethod
    def names_in_files(cls) -> dict[str, str]:
        """Return the names of the fields by the names they have in files."""
        return {field.alias or name: name for name, field in cls.model_fields.items()}

    @classmethod
    def names_understood(cls) -> list[str]:
        """Return the names that a misspelt key may have meant."""
        return list(cls.names_in_files())

    def as_dict(self) -> dict[str, Any]:
        """Return plain values under the names they have in files."""
        # Serialised as any: the settings of a method that is in no catalogue are values, too.
        return self.model_dump(mode="json", by_alias=True, serialize_as_any=True)

    def changed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of its plain values that differ from their defaults, under the same names.

        Values that are no setting of its own are kept.
        """
        changed: dict[str, Any] = {}
        for key, value in values.items():
            name = self.names_in_files().get(key)
            inner = getattr(self, name) if name is not None else None
            if isinstance(inner, Settings):
                if differs := inner.changed(value):
                    changed[key] = differs
            elif name is None or inner != type(self).model_fields[name].default:
                changed[key] = value
        return changed


def checked_value(model: type[Settings], name: str, value: Any) -> Any:
    """Return a value as a field of a model would hold it, or raise saying what is wrong."""
    try:
        return getattr(_alone(model, name)(**{name: _plain(value)}), name)
    except ValidationError as error:
        raise _explained(error, model) from None


@cache
def _alone(model: type[Settings], name: str) -> type[BaseModel]:
    """Return a model of one field of another, by its full name."""
    field = model.model_fields[name]
    kind: Any = Annotated[field.annotation, None, *field.metadata]  # None: there may be no other
    fields: Any = {name: (kind, ...)}

    class Alone(_Fields):
        model_config = model.model_config

    return create_model(model.__name__, __base__=Alone, **fields)


class SettingError(InputError):
    """An error in a section, to be reported by the section around it.

    Attributes:
        path: the keys that lead to the value.
        problem: what is wrong with it; "unknown" for a key that does not exist.
        guess: the dotted key that was probably meant; None for none.
    """

    def __init__(self, path: tuple[str, ...], problem: str, guess: str | None = None) -> None:
        self.path, self.problem, self.guess = path, problem, guess
        super().__init__(self.sentence())

    def sentence(self) -> str:
        """Return the whole error in one line."""
        key = ".".join(self.path)
        if self.problem != "unknown":
            return f"{key}: {self.problem}" if key else self.problem
        guess = "" if self.guess is None else f"; did you mean '{self.guess}'?"
        return f"unknown key '{key}'{guess}"

    def within(self, section: tuple[str, ...], model: type[Settings]) -> "SettingError":
        """Return the same error as the section around it, of a model, reports it.

        A key that is like none of its own section may belong to another section of the model.
        """
        guess = None if self.guess is None else ".".join((*section, self.guess))
        if self.problem == "unknown" and guess is None:
            guess = nearest(self.path[-1], model.names_understood(), cutoff=_SURE)
        return SettingError((*section, *self.path), self.problem, guess)


def _explained(error: ValidationError, model: type[Settings]) -> SettingError:
    """Return one line on the first thing that is wrong."""
    first = _culprit(error.errors())
    path = tuple(
        key
        for key in first["loc"]
        if isinstance(key, str)
        and not key.startswith(("float", "int", "list", "const", "tagged-union"))
    )
    inner = first.get("ctx", {}).get("error")
    if isinstance(inner, SettingError):
        return inner.within(path[:1], model)  # the name of the plug-in follows that of the section
    if first["type"] == "extra_forbidden":
        close = nearest(path[-1], model.names_understood())
        return SettingError(path, "unknown", close and ".".join((*path[:-1], close)))
    message = first["msg"].removeprefix("Value error, ")
    if isinstance(inner, ValueError):
        return SettingError(path, message)
    given = first["input"]
    if first["type"] in ("too_short", "too_long"):
        limits = first["ctx"]
        most = f"at most {limits['max_length']}" if "max_length" in limits else ""
        wanted = most or f"at least {limits['min_length']}"
        return SettingError(path, f"give {wanted} values, not {len(given)}")
    if first["type"] in ("model_type", "model_attributes_type"):
        message = f"is a table of settings{_examples(model, path)}"
    if first["type"] in ("union_tag_not_found", "union_tag_invalid"):
        message = f"expected the name of a {path[-1]} or its settings"
    written = f"the date {given}" if isinstance(given, date | time) else shown(given)
    return SettingError(path, f"{message[0].lower()}{message[1:]}, not {written}")


def _culprit(errors: list[Any]) -> Any:
    """Return the first error; of a value that may be a list and is one, that of its entry."""
    first = errors[0]
    if not isinstance(first["input"], list | tuple):
        return first
    of_entries = (one for one in errors if one["loc"][:1] == first["loc"][:1])
    return next(
        (one for one in of_entries if one["loc"] and isinstance(one["loc"][-1], int)), first
    )


def _examples(model: type[Settings], path: tuple[str, ...]) -> str:
    """Return the first keys of a section, in brackets; nothing where its kind is not known."""
    field = model.model_fields.get(model.names_in_files().get(path[-1], "")) if path else None
    kind = field.annotation if field is not None else None
    if not (isinstance(kind, type) and issubclass(kind, Settings)):
        return ""
    return f" ({', '.join(list(kind.names_in_files())[:3])}, …)"


def choose(name: str, value: Any, choices: type[Choice]) -> Choice:
    """Return the member of an enum that `value` names, or raise with the names that exist."""
    try:
        return choices(value)
    except ValueError:
        raise InputError(f"unknown {name} {shown(value)}: {', '.join(choices)}") from None
