"""Audits and attacks of a configuration's method: what it claims against what can be shown."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError, require_at_least
from dnatrace.experiments.config import RunConfig
from dnatrace.experiments.runs import loop_rules, method_options
from dnatrace.methods.base import DayFacts, Method, Needs
from dnatrace.methods.catalogue import build_method, release_of
from dnatrace.methods.rehearsal import OwnTests, Rehearsal, Scene
from dnatrace.privacy.accounting import GaussianEvent, Ledger, Unit, UnprovenEvent
from dnatrace.privacy.attack import AttackResult
from dnatrace.privacy.attack import attack as play_attack
from dnatrace.privacy.audit import AuditResult
from dnatrace.privacy.audit import audit as run_audit
from dnatrace.privacy.gaussian import epsilon_of_mu
from dnatrace.privacy.noise import FastNoise, SecureNoise
from dnatrace.privacy.release import Released

# The contact whose message weighs most: two days before the release.
_AGE_OF_CONTACT = 2
_SECURE_DRAWS = 20_000  # the secure back end takes a tenth of a millisecond a draw


@dataclass(frozen=True, slots=True)
class _Overheard:
    """A method whose events are kept."""

    method: Method
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def needs(self) -> Needs:
        return self.method.needs

    def start(self, n_people: int) -> Any:
        return self.method.start(n_people)

    def release(self, facts: DayFacts, state: Any) -> tuple[Released, Any]:
        released, state = self.method.release(facts, state)
        self.ledger.record(released.event)
        return released, state


def method_maker(config: RunConfig) -> Callable[[int], Method]:
    """Return what makes the method of a configuration from a seed for its noise."""
    options = method_options(config)
    secure = config.privacy.noise == "secure"

    def make(seed: int) -> Method:
        noise = SecureNoise() if secure else FastNoise(seed=seed)
        return build_method(config.method.name, replace(options, noise=noise))

    return make


def scene_of(
    config: RunConfig,
    *,
    own_tests: OwnTests = OwnTests.NONE,
    releases: int = 1,
    attackers: int = 1,
    days: int = 1,
) -> Scene:
    """Return the paper's adversary: people who meet nobody but the victim, and watch their scores.

    They meet on `days` days, the last of them two days before the first release.
    """
    window = config.seir.window
    last = window - 1 - _AGE_OF_CONTACT
    require_at_least("seir.window", window, _AGE_OF_CONTACT + 1)
    require_at_least("days", days, 1)
    if days > last + 1:
        raise InputError(f"days must be at most {last + 1}, so that all meetings are in the window")
    rules = loop_rules(config)
    return Scene(
        own_tests=own_tests.outcomes(window) + (-1,) * (releases - 1),
        met_on=tuple(range(last - days + 1, last + 1)),
        releases=releases,
        attackers=attackers,
        window_days=window,
        parameters=rules.parameters,
        test_errors=rules.tests.errors,
    )


def claimed_epsilon(config: RunConfig, scene: Scene) -> float | None:
    """Return the ε that the method claims for one contact over the releases of a scene.

    A method whose stated sensitivity fails is held to what it states. None without a claim.
    """
    if release_of(config.method.name, config.method.release) is None:
        return None  # no message is used, or all are shown
    method = _Overheard(method_maker(config)(0))
    Rehearsal(scene, lambda _: method)(1, 2)
    stated = Ledger()
    for event in method.ledger.events:
        stated.record(_as_stated(event) if isinstance(event, UnprovenEvent) else event)
    mu = stated.mu(Unit.CONTACT)
    return None if mu == float("inf") else epsilon_of_mu(mu, config.privacy.delta)


def _as_stated(event: UnprovenEvent) -> GaussianEvent:
    return GaussianEvent(
        day=event.day, mechanism=event.mechanism, mu=event.mu, lifetime=event.lifetime
    )


def audit(
    config: RunConfig,
    *,
    own_tests: OwnTests = OwnTests.NONE,
    releases: int = 1,
    draws: int = 1_000_000,
    confidence: float = 0.99,
) -> AuditResult:
    """Return the empirical lower bound on ε of a configuration's method, beside its claim."""
    scene = scene_of(config, own_tests=own_tests, releases=releases)
    claim = claimed_epsilon(config, scene)
    if claim is None:
        raise InputError(f"method '{config.method.name}' claims no privacy: nothing to audit")
    if config.privacy.noise == "secure" and draws > _SECURE_DRAWS:
        raise InputError(f"draws must be at most {_SECURE_DRAWS} with secure noise, not {draws}")
    return run_audit(
        Rehearsal(scene, method_maker(config)),
        claimed_epsilon=claim,
        delta=config.privacy.delta,
        draws=draws,
        confidence=confidence,
    )


def check_picture(path: Path) -> None:
    """Raise unless the name of the file tells PNG, SVG or PDF."""
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(f"{path}: the name must end in .png, .svg or .pdf")


def attack(
    config: RunConfig, *, co_attackers: int = 0, days: int = 1, draws: int = 100_000
) -> AttackResult:
    """Return how often the paper's adversary, with some co-attackers, guesses right."""
    require_at_least("co-attackers", co_attackers, 0)
    if release_of(config.method.name, config.method.release) is None:
        raise InputError(f"method '{config.method.name}' adds no noise: nothing to attack")
    scene = scene_of(config, attackers=co_attackers + 1, days=days)
    alone = co_attackers == 0 and days == 1
    return play_attack(
        Rehearsal(scene, method_maker(config)),
        draws=draws,
        co_attackers=co_attackers + 1,
        days=days,
        epsilon=claimed_epsilon(config, scene) if alone else None,
        delta=config.privacy.delta,
    )
