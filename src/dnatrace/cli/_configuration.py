"""The options that choose a configuration, written once for the commands that take them."""

import functools
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from dnatrace.cli._command import Answer, with_options
from dnatrace.errors import InputError

if TYPE_CHECKING:
    from dnatrace.runs.config import RunConfig

Setting = Annotated[list[str] | None, Option("--set", help="section.key=value; may be repeated.")]
Gamma = Annotated[float | None, Option(help="Clip messages to [0, γ].")]
Yes = Annotated[bool, Option("--yes", help="Start even if it needs more memory than is free.")]


def _preset(usual: str) -> Any:
    option = Option(help="Configuration to start from.", show_default=usual)
    return Annotated[str | None, option]


_OPTIONS = {
    "preset": _preset("standard"),
    "scenario": Annotated[str | None, Option(help="World and levers laid over the preset.")],
    "file": Annotated[
        Path | None, Option("--config", help="TOML, or a run's config.json, over the preset.")
    ],
    "setting": Setting,
    "method": Annotated[str | None, Option(help="Tracing method.")],
    "release": Annotated[str | None, Option(help="Variant of the method's release.")],
    "score": Annotated[str | None, Option(help="infected or exposed-or-infected.")],
    "epsilon": Annotated[float | None, Option(help="Privacy budget.")],
    "delta": Annotated[float | None, Option(help="Additive slack of the bound, δ.")],
    "unit": Annotated[str | None, Option(help="ε per person, release, contact or pair.")],
    "gamma": Gamma,
    "p1": Annotated[float | None, Option(help="Transmission per contact that phones assume.")],
    "noise": Annotated[str | None, Option(help="fast (simulation) or secure.")],
    "people": Annotated[int | None, Option(help="Size of the population.")],
    "days": Annotated[int | None, Option(help="Length of the run.")],
    "seed": Annotated[int | None, Option(help="Same seed, same result.")],
    "simulator": Annotated[str | None, Option(help="Who meets whom; see `dnatrace doctor`.")],
}
_LOG = logging.getLogger("dnatrace")
RUN = tuple(_OPTIONS)
RELEASE = ("preset", "setting", *["method", "release", "epsilon", "delta", "unit", "gamma", "p1"])


def _is_within(key: str, read: "Collection[str]") -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in read)


def _tell_idle_privacy(given: dict[str, Any], config: Any) -> None:
    """Warn about privacy options that were given to a method that adds no noise."""
    names = [n for n in ("epsilon", "delta", "unit", "noise") if given.get(n) is not None]
    if names and not config.method.adds_noise:
        method = config.method.name
        _LOG.warning("warning: --%s has no effect: method '%s' adds no noise", names[0], method)


def _parsed(settings: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Return what each --set gives, by dotted key, beside its text."""
    from dnatrace.runs.keys import SHORTCUTS
    from dnatrace.runs.nesting import flatten, parse_setting

    return [(text, flatten(parse_setting(text, SHORTCUTS, "--set"))) for text in settings]


def _unless_given(usual: Sequence[str], settings: Sequence[str]) -> list[str]:
    """Return usual settings but for those that --set gives."""
    keys = {key for _, values in _parsed(settings) for key in values}
    return [text for text, values in _parsed(usual) if not keys & set(values)]


def refuse_set(settings: Sequence[str], is_read: Callable[[str], bool], why: str) -> None:
    """Raise for the first --set whose key a command does not read."""
    for text, values in _parsed(settings):
        for key in values:
            if not is_read(key):
                raise InputError(f"--set {text}: {key} {why}")


def refuse_given_twice(settings: Sequence[str], given: dict[str, Any]) -> None:
    """Raise if options give a key different values."""
    from dnatrace.runs.keys import SHORTCUTS
    from dnatrace.runs.nesting import refuse_twice

    options = [
        (f"--{name} {value}", {SHORTCUTS.get(name, name): value})
        for name, value in given.items()
        if value is not None
    ]
    refuse_twice([*options, *((f"--set {text}", values) for text, values in _parsed(settings))])


@contextmanager
def _naming_options(given: dict[str, Any]) -> Iterator[None]:
    """Name the option that gave a wrong value, beside the key under which files have it."""
    from dnatrace.runs.keys import SHORTCUTS
    from dnatrace.settings import SettingError

    try:
        yield
    except SettingError as error:
        key = ".".join(error.path)
        for name in (name for name, value in given.items() if value is not None):
            if SHORTCUTS.get(name, name) == key:
                raise InputError(f"--{error}" if name == key else f"--{name}: {error}") from None
        raise


def _tell_other_tables(settings: Sequence[str], config: "RunConfig") -> None:
    """Say which --set is for a method, simulator or policy that is not the chosen one."""
    from dnatrace.runs.keys import CATALOGUES

    for text in settings:
        section, _, rest = text.partition("=")[0].strip().partition(".")
        name = rest.partition(".")[0]
        chosen = getattr(getattr(config, section, None), "name", name)
        if section in CATALOGUES and name in CATALOGUES[section] and name != chosen:
            _LOG.warning("warning: --set %s has no effect: %s is '%s'", text, section, chosen)


def configured(
    *names: str,
    published: str = "standard",
    usual: tuple[str, ...] = (),
    stored: str = "",
    reads: "Callable[[RunConfig, dict[str, Any]], Collection[str]] | None" = None,
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Give a command options that choose a configuration, which it receives as `config`.

    Args:
        names: the names of the options.
        published: the preset to start from when the release is as published and none is given.
        usual: settings, as for --set, that apply unless others are given.
        stored: the argument that names a stored run, which has its own configuration.
        reads: returns the sections and keys that the command reads, given the configuration and
            its other options; --set of others is refused. Absent: all.
    """

    def decorate(function: Callable[..., Answer]) -> Callable[..., Answer]:
        @functools.wraps(function)
        def run(**options: Any) -> Answer:
            from dnatrace.runs.config import load_config
            from dnatrace.runs.notices import has_told

            given = {name: options.pop(name) for name in names}
            for name, value in given.items() if options.get(stored) else ():
                if value:
                    option = {"setting": "set", "file": "config"}.get(name, name)
                    raise InputError(f"--{option}: a stored run has its own configuration")
            as_published = given["release"] == "as_published" and given.get("file") is None
            default = published if as_published else "standard"
            settings = given.pop("setting") or ()
            chosen = {
                "preset": given.pop("preset") or default,
                "scenario": given.pop("scenario", None),
                "file": given.pop("file", None),
            }
            refuse_given_twice(settings, given)  # a text that is no setting is named, too
            with _naming_options(given):
                applied = (*_unless_given(usual, settings), *settings)
                config = load_config(**chosen, settings=applied, overrides=given)
            _tell_other_tables(settings, config)
            if reads is not None:
                read = reads(config, options)
                why = f"has no effect on `dnatrace {function.__name__}`"
                refuse_set(settings, lambda key: _is_within(key, read), why)
            _tell_idle_privacy(given, config)
            has_told(config)
            return function(config=config, **options)

        chosen = {name: _OPTIONS[name] for name in names}
        if published != "standard":
            chosen["preset"] = _preset(f"standard; {published} for release as_published")
        return with_options(run, function, chosen, hidden="config")

    return decorate
