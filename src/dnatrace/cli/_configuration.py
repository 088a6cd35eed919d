"""The options that choose a configuration, written once for the commands that take them."""

import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from dnatrace.cli._command import Answer, with_options
from dnatrace.errors import InputError

Setting = Annotated[list[str] | None, Option("--set", help="section.key=value; may be repeated.")]
Gamma = Annotated[float | None, Option(help="Clip messages to [0, γ].")]
Yes = Annotated[bool, Option("--yes", help="Start even if it needs more memory than is free.")]

_PRESET = Option(
    help="Configuration to start from.", show_default="standard; paper to examine as_published"
)
_OPTIONS = {
    "preset": Annotated[str | None, _PRESET],
    "scenario": Annotated[str | None, Option(help="World and levers laid over the preset.")],
    "file": Annotated[Path | None, Option("--config", help="TOML file laid over the preset.")],
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
RUN = tuple(_OPTIONS)
RELEASE = ("preset", "setting", *["method", "release", "epsilon", "delta", "unit", "gamma", "p1"])


def _tell_idle_privacy(given: dict[str, Any], config: Any) -> None:
    """Warn about privacy options that were given to a method that adds no noise."""
    names = [n for n in ("epsilon", "delta", "unit", "noise") if given.get(n) is not None]
    if names and not config.method.adds_noise:
        method = config.method.name
        logging.getLogger("dnatrace").warning(
            "warning: --%s has no effect: method '%s' adds no noise", names[0], method
        )


def configured(
    *names: str, published: str = "standard", usual: tuple[str, ...] = (), stored: str = ""
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Give a command options that choose a configuration, which it receives as `config`.

    Args:
        names: the names of the options.
        published: the preset to start from when the release is as published and none is given.
        usual: settings, as for --set, that apply unless others are given.
        stored: the argument that names a stored run, which has its own configuration.
    """

    def decorate(function: Callable[..., Answer]) -> Callable[..., Answer]:
        @functools.wraps(function)
        def run(**options: Any) -> Answer:
            from dnatrace.runs.config import load_config

            given = {name: options.pop(name) for name in names}
            for name, value in given.items() if options.get(stored) else ():
                if value:
                    option = {"setting": "set", "file": "config"}.get(name, name)
                    raise InputError(f"--{option}: a stored run has its own configuration")
            default = published if given["release"] == "as_published" else "standard"
            config = load_config(
                preset=given.pop("preset") or default,
                scenario=given.pop("scenario", None),
                file=given.pop("file", None),
                settings=(*usual, *(given.pop("setting") or ())),
                overrides=given,
            )
            _tell_idle_privacy(given, config)
            return function(config=config, **options)

        chosen = {name: _OPTIONS[name] for name in names}
        return with_options(run, function, chosen, hidden="config")

    return decorate
