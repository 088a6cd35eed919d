"""Name settings by what differs between them: the same names on the terminal and on pages."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from dnatrace.methods.catalogue import METHODS
from dnatrace.runs.config import FIRST_INFECTIONS, load_config, usual_first_infections
from dnatrace.runs.nesting import flatten
from dnatrace.runs.parameters import default_of, described_settings
from dnatrace.runs.scenarios import scenarios

METHOD = "method.name"
EPSILON, RELEASE, UNIT = "privacy.epsilon", "method.release", "privacy.unit"

_SHORT = {
    EPSILON: "ε",
    "privacy.delta": "δ",
    UNIT: "per",
    "method.gamma": "γ",
    "tests.false_positive_rate": "false positives",
    "tests.false_negative_rate": "false negatives",
}
_ALSO = {EPSILON: ("eps",)}  # names that are typed, too

# By dotted key; settings without an effect are left out.
Settings = Mapping[str, Any]


class Names:
    """Names for settings: the method, and every setting that differs from its default.

    Where settings belong to different scenarios, names mention the scenario, and what differs from
    it rather than from the defaults.
    """

    def __init__(
        self, settings: Sequence[Settings], worlds: Sequence[str | None] | None = None
    ) -> None:
        """Take settings, and the scenario of each; that with which it agrees if unknown."""
        keys = dict.fromkeys([*described_settings(), *(key for one in settings for key in one)])
        self._varying = [
            key
            for key in keys
            if key != METHOD and len({repr(one[key]) for one in settings if key in one}) > 1
        ]
        self._at_default = {
            key
            for key in self._varying
            if any(key in one and self._is_default(one, key) for one in settings)
        }
        self._units = {one[UNIT]: None for one in settings if EPSILON in one and UNIT in one}
        self._firsts = {
            usual_first_infections(int(one["people"])): None
            for one in settings
            if one.get(FIRST_INFECTIONS, 0) is None and "people" in one
        }
        known = _found_worlds(settings) if worlds is None else list(worlds)
        apart = len(set(known)) > 1
        self._worlds = dict(zip(map(_identity, settings), known, strict=True)) if apart else {}

    @property
    def unsaid(self) -> dict[str, Any]:
        """Settings with the value they have where labels omit them, if runs differ in them.

        And the unit of every ε, which labels omit where it is that of all.
        """
        defaults = {key: known.default for key, known in described_settings().items()}
        worlds = [_worlds()[name] for name in set(self._worlds.values()) - {None} if name]
        said = {EPSILON, RELEASE}.union(*worlds)  # a label that names a scenario says all of it
        defaults[FIRST_INFECTIONS] = " or ".join(map(str, self._firsts)) or None
        unit = {UNIT: next(iter(self._units))} if len(self._units) == 1 else {}
        return unit | {
            key: defaults[key]
            for key in self._varying
            if key in self._at_default - said and defaults.get(key) is not None
        }

    def label(self, one: Settings, *, skip: Collection[str] = (), in_full: bool = False) -> str:
        """Return the name of a setting without the keys in `skip`, defaults only `in_full`."""
        return self._within(one, self._worlds.get(_identity(one)), skip=skip, in_full=in_full)

    def _within(
        self, one: Settings, world: str | None, *, skip: Collection[str] = (), in_full: bool = False
    ) -> str:
        parts = [str(one.get(METHOD))]
        parts += [] if world is None else [f"scenario {world}"]
        for key in self._varying:
            usual = self._is_default(one, key) if world is None else _agrees(one, key, world)
            said = key in one and (key == EPSILON or not usual)
            if key not in skip and (said or in_full):
                parts.append(f"{short(key)} {written(one.get(key))}")
        return ", ".join(parts)

    def other_labels(self, one: Settings) -> Iterator[str]:
        """Yield names that describe a setting just as well: in full, or from another scenario."""
        yield self.label(one, in_full=True)
        absent = [key for key in self._varying if key not in one]
        yield self.label(one, skip=absent, in_full=True)
        for world in (None, *_worlds()):
            yield self._within(one, world)

    def meant(self, text: str, labelled: Mapping[str, Settings]) -> list[str]:
        """Return which labels of settings a text means, however it is typed; [] if none."""
        if text in labelled:
            return [text]
        typed = self._as_typed(text)
        ways = (
            [label for label in labelled if self._as_typed(label) == typed],
            [
                label
                for label, one in labelled.items()
                if typed in map(self._as_typed, self.other_labels(one))
            ],
        )
        return next(filter(None, ways), [])

    def _as_typed(self, text: str) -> list[str]:
        """Return the parts of a name in a form in which they are compared, in one order.

        Keys count in full, in short and by their last part; case, blanks and zeros do not.
        """
        first, *rest = re.sub(r"[\s=:]+", " ", text.casefold()).split(",")
        words = first.split()
        for n in range(1, len(words) - 1):  # a method and a setting without a comma between them
            if " ".join(words[n:-1]) in self._keys:
                first, rest = " ".join(words[:n]), [" ".join(words[n:]), *rest]
                break
        parts = [part.strip().rpartition(" ") for part in (first, *rest)]
        return sorted(f"{self._keys.get(key, key)} {_plain(value)}" for key, _, value in parts)

    @cached_property
    def _keys(self) -> dict[str, str]:
        """The settings that differ, by every name by which a person may call them."""
        called: dict[str, str] = {}
        lasts = [key.rpartition(".")[2] for key in self._varying]
        for key, last in zip(self._varying, lasts, strict=True):
            ways = [key, short(key).casefold()] + [last] * (lasts.count(last) == 1)
            ways += _ALSO.get(key, ())
            called |= {way: key for name in ways for way in (name, name.replace("_", " "))}
        return called

    def _is_default(self, one: Settings, key: str) -> bool:
        return _is_same(one.get(key), default_of(key, str(one.get(METHOD))))

    def plain(self, one: Settings) -> bool:
        """Return whether settings that differ between runs have their defaults in this one."""
        return all(self._is_default(one, key) for key in self._varying if key in one)

    def unique(self, settings: Sequence[Settings]) -> list[str]:
        """Return a label for each, all different: in full where the short ones would be equal.

        Settings that only one of them has, such as those of a policy that does nothing in the
        other, tell the rest apart, and then numbers.
        """
        labels = [self.label(one) for one in settings]
        full = [
            label if labels.count(label) == 1 else self.label(one, in_full=True)
            for label, one in zip(labels, settings, strict=True)
        ]
        pairs = list(zip(full, settings, strict=True))
        apart = [
            label + _telling(one, [other for same, other in pairs if same == label])
            for label, one in pairs
        ]
        before = (apart[:i].count(label) for i, label in enumerate(apart))
        return [f"{label} #{n + 1}" if n else label for label, n in zip(apart, before, strict=True)]

    def order(self, one: Settings) -> tuple[Any, ...]:
        """Return a sort key: method, then defaults before other values, then the value."""
        method, known = str(one.get(METHOD)), METHODS.names
        place = known.index(method) if method in known else len(known)
        rest = (
            (key != EPSILON and key in one and not self._is_default(one, key), _sortable(value))
            for key in self._varying
            for value in [one.get(key, default_of(key, method))]
        )
        return (place, method, *rest)


def _telling(one: Settings, alike: Sequence[Settings]) -> str:
    """Return what tells settings from others of the same label: a name if one differs."""
    keys = dict.fromkeys(key for other in alike for key in other)
    differing = [key for key in keys if len({repr(other.get(key)) for other in alike}) > 1]
    key = next((key for key in differing if key.endswith(".name")), [*differing, ""][0])
    return f", {short(key)} {written(one[key])}" if key in one else ""


def _identity(one: Settings) -> str:
    return repr(sorted(one.items()))


# ---- Scenarios ----------------------------------------------------------------------------------


@cache
def _worlds() -> dict[str, dict[str, Any]]:
    """Return the settings of all scenarios by name and dotted key, as runs are stored."""
    worlds = {}
    for name, scenario in scenarios().items():
        stored = flatten(load_config(scenario=name).effective())
        own = flatten(scenario.settings)
        worlds[name] = {key: stored.get(key, value) for key, value in own.items()}
    return worlds


def _agrees(one: Settings, key: str, world: str) -> bool:
    """Whether a setting has the value of a scenario, or its default if that has none."""
    usual = default_of(key, str(one.get(METHOD)))
    return _is_same(one.get(key), _worlds()[world].get(key, usual))


def _found_worlds(settings: Sequence[Settings]) -> list[str | None]:
    """Return the scenario of each setting, None for the defaults; for none if one is unclear."""
    found = [_worlds_like(one) for one in settings]
    sure = {names[0] for names in found if names is not None and len(names) == 1}
    chosen: list[str | None] = []
    for names in found:
        if names is None:
            return [None] * len(found)
        chosen.append(next((name for name in names if name in sure), [*names, None][0]))
    return chosen


def _worlds_like(one: Settings) -> list[str] | None:
    """Return the scenarios that settings agree with; [] near the defaults, None far from all."""
    method = str(one.get(METHOD))
    keys = {key for world in _worlds().values() for key in world if key in one}
    if sum(not _is_same(one[key], default_of(key, method)) for key in keys) < 2:
        return []
    return [w for w in _worlds() if all(_agrees(one, key, w) for key in keys)] or None


# ---- Keys and values ----------------------------------------------------------------------------


@cache
def short(key: str) -> str:
    """Return a setting's name for readers: as many of its last parts as tell it from all others."""
    if key in _SHORT:
        return _SHORT[key]
    parts = key.split(".")
    others = [other.split(".") for other in described_settings() if other != key]
    for n in range(1, len(parts)):
        if parts[-n:] not in [other[-n:] for other in others]:
            return ".".join(parts[-n:]).replace("_", " ")
    return key.replace("_", " ") if len(parts) == 1 else key


def written(value: Any) -> str:
    """Return a setting's value for readers."""
    if value is None:
        return "absent"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(written(v) for v in value)
    return str(value)


def _plain(value: str) -> str:
    """Return a number in its shortest form, and anything else as it is."""
    try:
        return f"{float(value):g}"
    except ValueError:
        return value


def _is_same(stored: Any, usual: Any) -> bool:
    """Whether a stored value is a usual one; files hold lists where settings have tuples."""
    return bool(stored == (list(usual) if isinstance(usual, tuple) else usual))


def _sortable(value: Any) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return (not number, float(value) if number else 0.0, "" if number else str(value))
