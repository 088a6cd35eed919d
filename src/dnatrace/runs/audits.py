"""Audit and attack the method of a configuration: what it claims against what can be shown."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError, require_at_least, require_kind
from dnatrace.methods.adversary import (
    AdversaryGame,
    Encounter,
    OwnTests,
    attack_encounter,
    audit_encounters,
    event_square,
)
from dnatrace.methods.base import Method
from dnatrace.privacy.accounting import GaussianEvent, Ledger, Unit, UnprovenEvent
from dnatrace.privacy.attack import AttackResult
from dnatrace.privacy.attack import attack as play_attack
from dnatrace.privacy.audit import AuditResult
from dnatrace.privacy.audit import audit as run_audit
from dnatrace.privacy.gaussian import epsilon_of_mu
from dnatrace.runs.config import RunConfig

_MOST_SECURE_DRAWS = 20_000  # the secure back end takes about 50 µs per draw
_MOST_RELEASES = 100  # a contact is in no more than a window of them
_MOST_CO_ATTACKERS = 100  # all of their scores are kept: a gigabyte of memory with 100,000 draws
_SHORTEST_WINDOW = 3  # days: a contact two days before the release


def audit(
    config: RunConfig,
    *,
    own_tests: OwnTests = OwnTests.NONE,
    releases: int = 1,
    draws: int = 1_000_000,
    confidence: float = 0.99,
) -> AuditResult:
    """Return an empirical lower bound on ε for a configuration's method, beside its claim.

    Two encounters are audited: the victim was met two days ago, or yesterday. For methods whose
    noise depends on contacts there are two more, days with other contacts and a contact on the
    release day, which counts at once; with several releases also a contact on the day of the first.
    Each encounter is held to what is claimed for its contact, which may be in fewer releases than
    another; one that exceeds its claim is returned, or the one that shows most, and of those that
    show as much the one with the largest claim. Each has its own `draws` and an equal share of the
    error probability, so that the confidence holds for all of them together.
    """
    _require_config(config)
    _require_noise(config, "audit")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie strictly between 0 and 1, not {confidence}")
    if config.privacy.noise == "secure" and draws > _MOST_SECURE_DRAWS:
        raise InputError(f"draws must be at most {_MOST_SECURE_DRAWS} with secure noise")
    if releases > _MOST_RELEASES:
        raise InputError(f"releases must be at most {_MOST_RELEASES}, not {releases}")
    encounters = audit_encounters(
        own_tests,
        releases=releases,
        by_contacts=config.method.counts_contacts,
        **_encounter_settings(config),
    )
    results = []
    for encounter in encounters:
        claimed, reached = _claim(config, encounter)
        result = run_audit(
            AdversaryGame(encounter, _method_maker(config)),
            claimed_epsilon=claimed,
            delta=config.privacy.delta,
            draws=draws,
            confidence=1.0 - (1.0 - confidence) / len(encounters),
        )
        known = {"contact_age": encounter.age, "releases_reached": reached}
        results.append(replace(result, confidence=confidence, **known))
    return max(results, key=lambda r: (not r.passed, r.lower_bound, r.claimed_epsilon))


def attack(
    config: RunConfig, *, co_attackers: int = 0, days: int = 1, draws: int = 100_000
) -> AttackResult:
    """Return how often the paper's adversary, with some co-attackers, guesses right."""
    _require_config(config)
    require_at_least("co-attackers", co_attackers, 0)
    if co_attackers > _MOST_CO_ATTACKERS:
        raise InputError(f"co-attackers must be at most {_MOST_CO_ATTACKERS}, not {co_attackers}")
    _require_noise(config, "attack")
    settings = _encounter_settings(config)
    once = AdversaryGame(attack_encounter(**settings), _method_maker(config))
    first, last = once.ages()
    encounter = attack_encounter(
        co_attackers=co_attackers + 1, days=days, first_age=first, last_age=last, **settings
    )
    game = AdversaryGame(encounter, _method_maker(config))
    found = play_attack(
        game,
        draws=draws,
        co_attackers=co_attackers + 1,
        days=days,
        delta=config.privacy.delta,
        mu=game.pooled_mu(),
    )
    return replace(found, reads=max(getattr(event, "reads", 1) for event in game.events))


def check_picture(path: Path) -> None:
    """Raise unless the file name ends in .png, .svg or .pdf."""
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(f"{path}: the name must end in .png, .svg or .pdf")


def _require_config(config: Any) -> None:
    """Raise unless this is a configuration."""
    if config is None:
        raise InputError("config must be a RunConfig, not None")
    require_kind("config", config, RunConfig)


def _require_noise(config: RunConfig, what: str) -> None:
    """Raise for methods that use no messages, or show them without noise."""
    if not config.method.adds_noise:
        name = config.method.name
        raise InputError(f"method '{name}' adds no noise and claims nothing: nothing to {what}")


def _encounter_settings(config: RunConfig) -> dict[str, Any]:
    require_at_least("seir.window", config.seir.window, _SHORTEST_WINDOW)
    return {
        "window_days": config.seir.window,
        "parameters": config.seir.parameters,
        "test_errors": config.tests.believed,
    }


def _method_maker(config: RunConfig) -> Callable[[int], Method]:
    """Return a function from a noise seed to the method of a configuration."""

    def make(seed: int) -> Method:
        return config.tracer.build(config.method_setup(config.privacy.source(seed)))

    return make


def _claim(config: RunConfig, encounter: Encounter) -> tuple[float, int]:
    """Return the ε claimed for the contact of an encounter, and how many releases it affects.

    Guarantee: it is what these releases cost together, not what the costliest contact does. A
    method whose stated sensitivity fails is held to what it states.
    """
    game = AdversaryGame(encounter, _method_maker(config))
    game(0, 1)
    stated = [as_stated(e) if isinstance(e, UnprovenEvent) else e for e in game.events]
    squares = [event_square(event, encounter) for event in stated]
    filtered = Ledger(stated).mu(Unit.CONTACT)  # no contact costs more; a filter may allow less
    mu = min(math.sqrt(sum(squares)), filtered)
    return epsilon_of_mu(mu, config.privacy.delta), sum(square > 0.0 for square in squares)


def as_stated(event: UnprovenEvent) -> GaussianEvent:
    """Return the event as the method states it, whether or not it holds."""
    return GaussianEvent(
        day=event.day, mechanism=event.mechanism, mu=event.mu, lifetime=event.lifetime
    )
