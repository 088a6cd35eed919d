"""What a person should be told about a configuration: what has no effect, and possible slips."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from dnatrace.plugins import Catalogue
from dnatrace.policy.stays import most_of
from dnatrace.runs.nesting import flatten
from dnatrace.runs.scenarios import Scenario, read_scenario
from dnatrace.runs.sections import P1

if TYPE_CHECKING:
    from dnatrace.runs.config import RunConfig

_LOG = logging.getLogger(__name__)
_OF_A_METHOD = ("privacy", "tests", "isolation")  # which not every method needs
_SECTIONS = (*_OF_A_METHOD, "seir")
_TOLD: set[str] = set()  # lines that this process has shown
_MUTED = ContextVar("muted", default=False)


def tell_what_is_idle(
    given: Mapping[str, Any], config: "RunConfig", catalogues: Mapping[str, Catalogue[Any]]
) -> None:
    """Report settings without effect on the method, simulator and policy, and slips in lists."""
    for line in _of_plugins(config):
        _LOG.warning("%s", line)
        _TOLD.add(line)
    believed = given.get("seir")
    for key in believed if isinstance(believed, Mapping) else ():
        if ("seir", key) in config.idle():
            _LOG.warning("%s", _idle_line("seir", key, config))
    for line in _of_levers(given.get("policy"), config):
        _LOG.warning("%s", line)
    if config.tests.believed.misleads:
        _LOG.warning("the error rates of tests add up to more than 1: tests mislead")
    for section, catalogue in catalogues.items():
        held, name = given.get(section), getattr(config, section).name
        for key in held if isinstance(held, Mapping) and name in catalogue else ():
            if catalogue.ignores(name, key) and key not in catalogue:
                _LOG.warning("%s.%s has no effect with %s '%s'", section, key, section, name)


def _of_levers(given: Any, config: "RunConfig") -> list[str]:
    """Return which settings were given of parts of a policy that are off."""
    keys = flatten(given) if isinstance(given, Mapping) else {}
    return [
        f"policy.{key} has no effect: policy.{key.partition('.')[0]} is off"
        for key in config.policy.idle()
        if key in keys
    ]


def tell_idle_settings(keys: Iterable[str], config: "RunConfig") -> None:
    """Report which dotted keys that were set one by one belong to sections without effect."""
    idle = config.idle()
    for key in keys:
        section, _, own = key.partition(".")
        if section in _OF_A_METHOD and ((section, None) in idle or (section, own) in idle):
            _LOG.warning("%s has no effect with method '%s'", key, config.method.name)


def _of_sections(config: "RunConfig") -> list[str]:
    """Return which settings without effect were given in Python; `load_config` tells of its own."""
    idle = config.idle()
    return [
        _idle_line(section, key, config)
        for section in _SECTIONS
        for key, own in type(getattr(config, section)).names_in_files().items()
        if own in getattr(config, section).model_fields_set
        and ((section, None) in idle or (section, key) in idle)
    ]


def _idle_line(section: str, key: str, config: "RunConfig") -> str:
    called = f"{key} (p1)" if key == P1 else key
    return f"{section}.{called} has no effect with method '{config.method.name}'"


def tell_ignored(section: str, name: str, keys: Iterable[str]) -> None:
    """Report once a process what was given in Python that the chosen plug-in does not know."""
    for line in (f"{section}.{key} has no effect with {section} '{name}'" for key in keys):
        if line not in _TOLD and not _MUTED.get():
            _LOG.warning("%s", line)
            _TOLD.add(line)


@contextmanager
def muted() -> Iterator[None]:
    """Report nothing that a plug-in does not know: whoever puts values together tells of them."""
    before = _MUTED.set(True)
    try:
        yield
    finally:
        _MUTED.reset(before)


def has_told(config: "RunConfig", *, but: Iterable[str] = ()) -> None:
    """Note that what was given of these sections is known to be idle, but for some dotted keys."""
    for section in _SECTIONS:
        held = getattr(config, section)
        names = {f"{section}.{key}": own for key, own in type(held).names_in_files().items()}
        kept = {names[key] for key in but if key in names and section in _OF_A_METHOD}
        held.model_fields_set.intersection_update(kept)


def tell_of_run(config: "RunConfig", n_people: int) -> None:
    """Report what there is to say of a run that begins, with `n_people` people."""
    for line in _of_sections(config):
        if line not in _TOLD:
            _LOG.warning("%s", line)
        _TOLD.add(line)
    tell_new(config)
    tell_too_small(config, n_people)


def tell_of_scenario(name: str | None, given: Mapping[str, Any], config: "RunConfig") -> None:
    """Report once a process that a scenario's infections are meant for a larger city.

    Or for a smaller one: their number is as sourced, not in proportion to the people of a run.
    """
    if name is None:
        return
    people = config.n_people or config.simulator.own_people()
    for line in _of_counts(read_scenario(name), flatten(given), config, people) if people else ():
        if line not in _TOLD:
            _LOG.warning("%s", line)
            _TOLD.add(line)


def _of_counts(
    scenario: Scenario, given: Mapping[str, Any], config: "RunConfig", people: int
) -> list[str]:
    """Return which numbers of people of a scenario are another share of the people here."""
    meant, of_scenario = type(config).model_fields["people"].default, flatten(scenario.settings)
    lines = []
    first = of_scenario.get("initially_infected")
    if first is not None and "initially_infected" not in given:
        same = max(1, round(first * people / meant))
        lines += [
            f"scenario '{scenario.name}' infects {first} of {meant:,} people at first, and "
            f"{config.n_initially_infected} of the {people:,} here; initially_infected={same} is "
            f"{_how_near(same, first * people / meant)}"
        ] * (same != first)
    for key in (f"simulator.{key}" for key in config.simulator.counts()):
        count = of_scenario.get(key, 0)
        exact = count * people / meant
        share = max(1, round(exact)) if isinstance(count, int) else exact
        if count and key not in given and share != count:
            lines.append(
                f"scenario '{scenario.name}' has {key}={count:g} for {meant:,} people, and for the "
                f"{people:,} here; {key}={share:g} is {_how_near(share, exact)}"
            )
    return lines


def _how_near(number: float, exact: float) -> str:
    return "the same share" if number == exact else "nearest to the same share"


def tell_new(config: "RunConfig") -> None:
    """Report what simulator and policy have to say of a configuration, each line once a process.

    `load_config` says it at once; configurations that are made in Python come here.
    """
    for line in _of_plugins(config):
        if line not in _TOLD:
            _LOG.warning("%s", line)
        _TOLD.add(line)


def _of_plugins(config: "RunConfig") -> list[str]:
    """Return what simulator and policy say does nothing, and possible slips in lists."""
    simulator = config.simulator
    return [
        *(f"simulator.{told}: no effect" for told in simulator.without_effect(config.days)),
        *(f"warning: {told}" for told in simulator.notices(config.days)),
        *(f"policy.{told}" for told in config.acting_policy.notices(simulator)),
    ]


def tell_too_small(config: "RunConfig", n_people: int, told: set[str] | None = None) -> None:
    """Report budgets of less than one person; lines in `told`, to which they are added, are not."""
    told = set() if told is None else told
    for line in too_small(config, n_people):
        if line not in told:
            _LOG.warning("%s", line)
        told.add(line)


def too_small(config: "RunConfig", n_people: int) -> list[str]:
    """Return which budgets are less than one person among `n_people`, and what follows."""
    share, lines = config.tests.capacity, []
    if config.method.gives_tests and config.tests.most_tests(n_people) == 0 < share:
        less = f"tests.capacity {share:g} of {n_people} people is less than one test per day"
        lines.append(f"{less}: nobody is tested by score")
    return lines + [
        f"policy.{key} {share:g} of {n_people} people is less than one person: {then}"
        for key, share, then in config.acting_policy.budgets()
        if most_of(share, n_people) == 0 < share
    ]
