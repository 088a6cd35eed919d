"""Find methods, simulators and policies by name, in this package and in others.

A plug-in is one settings class: its fields are its section of the configuration, and it builds what
it stands for. Another package registers one through an entry point in the group `dnatrace.methods`,
`dnatrace.simulators` or `dnatrace.policies`; docs/plugins.md shows how.
"""

import importlib.metadata
import inspect
import logging
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Generic, TypeVar, Union

from pydantic import BaseModel, Field

from dnatrace.errors import InputError, closest, nearest
from dnatrace.settings import SettingError, Settings, checked_value

_LOG = logging.getLogger(__name__)


class Plugin(Settings):
    """What a method, a simulator or a policy says about itself."""

    noun: ClassVar[str] = "plug-in"
    # Keys that point to something whose content is in the fingerprint: its location does not
    # matter.
    read_by_content: ClassVar[tuple[str, ...]] = ()
    name: str

    @classmethod
    def title(cls) -> str:
        """Return the name by which configurations refer to it."""
        return str(cls.model_fields["name"].default)

    @classmethod
    def availability(cls) -> tuple[bool, str]:
        """Return whether it can be used here, and a line on what it is or what is missing."""
        package = cls.__module__.partition(".")[0]
        return True, "built in" if package == __name__.partition(".")[
            0
        ] else f"of package {package}"

    def fingerprint(self) -> str:
        """Return the digest of what it ships or reads, so that different content is another run."""
        return ""


P = TypeVar("P", bound=Plugin)


class Catalogue(Generic[P]):
    """Plug-ins of one kind.

    Args:
        kind: the class they all extend.
        group: the group of entry points.
        built_in: the plug-ins of this package, in the order in which they are listed.
        own: keys that mean something to one plug-in alone. Any other key that one of them knows may
            be given whichever plug-in is chosen; a plug-in that does not know it ignores it.
    """

    def __init__(
        self, kind: type[P], group: str, built_in: tuple[type[P], ...], own: tuple[str, ...] = ()
    ) -> None:
        self._kind, self._own = kind, own
        self._plugins = {plugin.title(): plugin for plugin in built_in}
        for point in importlib.metadata.entry_points(group=group):
            self._add(point)

    def _add(self, point: importlib.metadata.EntryPoint) -> None:
        try:
            plugin = point.load()
            if not issubclass(plugin, self._kind):
                raise TypeError(f"it is not a {self._kind.__name__}")
            if inspect.isabstract(plugin):
                lacking = ", ".join(sorted(plugin.__abstractmethods__))
                raise TypeError(f"it lacks {lacking}")
            if plugin.title() in self._plugins:
                raise ValueError(f"the name '{plugin.title()}' is taken")
            if plugin.title() != point.name:
                raise ValueError(f"it calls itself '{plugin.title()}'")
        except Exception as error:  # a faulty plug-in must not keep ours from working
            noun, why = self._kind.noun, " ".join(str(error).split())
            _LOG.warning("%s '%s' of another package left out: %s", noun, point.name, why)
            return
        self._plugins[plugin.title()] = plugin

    def __iter__(self) -> Iterator[type[P]]:
        return iter(self._plugins.values())

    def __contains__(self, name: object) -> bool:
        return name in self._plugins

    def __getitem__(self, name: str) -> type[P]:
        if name not in self._plugins:
            raise InputError(
                f"{self._kind.noun} '{name}' does not exist; there are {', '.join(self.names)}"
                f"{closest(name, self.names)}"
            )
        return self._plugins[name]

    @property
    def names(self) -> list[str]:
        """Return all names in the order of the catalogue."""
        return list(self._plugins)

    def described(self) -> dict[str, str]:
        """Return one line about each, by name."""
        return {
            name: (plugin.__doc__ or "").split("\n")[0] for name, plugin in self._plugins.items()
        }

    @property
    def choice(self) -> Any:
        """The type of a configuration's section: one of the plug-ins, chosen by `name`."""
        kinds: Any = tuple(self._plugins.values())
        union = Union.__getitem__(kinds)  # the kinds are known only now
        return Annotated[union, Field(discriminator="name")] if len(kinds) > 1 else union

    def fitted(self, given: Any, default: str) -> Any:
        """Return the values of a section as expected by the plug-in that it names.

        A bare name stands for a section. A table under the name of a plug-in applies to it alone.
        """
        if isinstance(given, BaseModel):
            return given
        values = {"name": given} if isinstance(given, str) else given
        if not isinstance(values, Mapping):
            return values
        name = values.get("name", default)
        chosen = self[str(name)]
        flat = self.flattened(values, str(name)).items()
        return {key: value for key, value in flat if self._counts(chosen, key, value)}

    def flattened(self, values: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Return a section for the named plug-in, with its own table laid over the rest.

        A section that was written for another plug-in loses the keys that only that one knows.
        """
        tables = {k: v for k, v in values.items() if k in self and isinstance(v, Mapping)}
        for title, table in tables.items():
            self._check_table(title, table)
        flat = {k: v for k, v in values.items() if k not in tables}
        if name in self and values.get("name", name) != name:
            flat = {k: v for k, v in flat.items() if not self.ignores(name, k)}
        return flat | {"name": name} | dict(tables.get(name, {}))

    def _counts(self, chosen: type[P], key: str, value: Any) -> bool:
        """Return whether the chosen plug-in reads a key; raise for a key that none understands."""
        if knows(chosen, key):
            return value is not None or _may_be_absent(chosen, key)
        noun = self._kind.noun
        known = sorted({name for plugin in self for name in plugin.names_in_files()})
        if not any(knows(plugin, key) for plugin in self):
            close = nearest(key, known)
            raise SettingError((noun, key), "unknown", close and f"{noun}.{close}")
        owners = [plugin for plugin in self if knows(plugin, key)]
        if key in self._own and value is not None:
            those = " or ".join(f"'{plugin.title()}'" for plugin in owners)
            raise InputError(f"{noun}.{key}: {noun} '{chosen.title()}' has none, but {those} has")
        if value is not None:
            self._check_elsewhere(owners, key, value)
        return False

    def _check_elsewhere(self, owners: list[type[P]], key: str, value: Any) -> None:
        """Raise if a value that has no effect would be wrong for each plug-in that has the key."""
        wrong: InputError | None = None
        for plugin in owners:
            try:
                checked_value(plugin, plugin.names_in_files().get(key, key), value)
            except InputError as error:
                wrong = wrong or error
            else:
                return
        if wrong is not None:
            raise InputError(f"{self._kind.noun}.{wrong}")

    def _check_table(self, title: str, table: Mapping[str, Any]) -> None:
        """Raise if a table under the name of a plug-in has a key that the plug-in has not."""
        plugin = self[title]
        for key in table:
            if not knows(plugin, key):
                within = f"{self._kind.noun}.{title}."
                guess = closest(key, plugin.names_in_files(), within=within)
                raise InputError(f"unknown key '{within}{key}'{guess}")

    def left_out(self, given: Any, name: str) -> list[str]:
        """Return the keys of a section that the named plug-in does not know, as `fitted` drops."""
        values = given if isinstance(given, Mapping) else {}
        known = {key for key, value in values.items() if value is not None and key not in self}
        return [key for key in values if key in known and self.ignores(name, key)]

    def ignores(self, name: str, key: str) -> bool:
        """Return whether some plug-in knows a key and the named one does not."""
        return not knows(self[name], key) and any(knows(plugin, key) for plugin in self)


def knows(plugin: type[Plugin], key: str) -> bool:
    """Return whether a key, by its full name or its short one, is a field of a plug-in."""
    return key in plugin.model_fields or key in plugin.names_in_files()


def _may_be_absent(plugin: type[Plugin], key: str) -> bool:
    name = plugin.names_in_files().get(key, key)
    return plugin.model_fields[name].default is None
