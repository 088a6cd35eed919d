"""What a person should be told about a configuration: what has no effect, and possible slips."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dnatrace.plugins import Catalogue
from dnatrace.policy.stays import most_of
from dnatrace.runs.sections import P1

if TYPE_CHECKING:
    from dnatrace.runs.config import RunConfig

_LOG = logging.getLogger(__name__)


def tell_what_is_idle(
    given: Mapping[str, Any], config: "RunConfig", catalogues: Mapping[str, Catalogue[Any]]
) -> None:
    """Report settings without effect on the method, simulator and policy, and slips in lists."""
    for told in config.simulator.without_effect(config.days):
        _LOG.warning("simulator.%s: no effect", told)
    for told in config.simulator.notices():
        _LOG.warning("warning: %s", told)
    for told in config.acting_policy.notices(config.simulator):
        _LOG.warning("policy.%s", told)
    believed = given.get("seir")
    if isinstance(believed, Mapping) and P1 in believed and ("seir", P1) in config.idle():
        name = config.method.name
        _LOG.warning("seir.%s (p1) has no effect with method '%s'", P1, name)
    if config.tests.believed.misleads:
        _LOG.warning("the error rates of tests add up to more than 1: tests mislead")
    for section, catalogue in catalogues.items():
        held, name = given.get(section), getattr(config, section).name
        for key in held if isinstance(held, Mapping) and name in catalogue else ():
            if catalogue.ignores(name, key) and key not in catalogue:
                _LOG.warning("%s.%s has no effect with %s '%s'", section, key, section, name)


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
