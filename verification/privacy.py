"""Audit every private release at full size: `python -m verification.privacy [--draws 1000000]`.

Prints a table and exits with 1 when a sound release exceeds its claim, when a planted mistake is
not caught, or when an audit takes more than a minute. `--quick` audits one release and plants one
mistake, with few draws.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dnatrace.methods.adversary import AdversaryGame, Encounter, OwnTests
from dnatrace.methods.base import Method, Setup
from dnatrace.methods.catalogue import METHODS
from dnatrace.privacy.accounting import Target, Unit
from dnatrace.privacy.audit import audit
from dnatrace.privacy.gaussian import epsilon_of_mu, mu_of_budget
from dnatrace.privacy.noise import FastNoise, SecureNoise
from dnatrace.seir import SeirParameters

DELTA = 1e-3
PARAMETERS = SeirParameters(p1=0.05)  # with gamma = 0.7: p1·gamma = .035
SECONDS_ALLOWED = 60.0
QUICK_DRAWS = 20_000
ENOUGH_DRAWS = 1_000_000  # to show `at_least`


@dataclass(frozen=True, slots=True)
class WeakNoise(FastNoise):
    """Adds two thirds of the required noise."""

    def perturb(self, values: Any, sensitivity: Any, *, multiplier: float, **key: Any) -> Any:
        """Add too little noise."""
        return FastNoise.perturb(self, values, sensitivity, multiplier=multiplier * 2 / 3, **key)


@dataclass(frozen=True, slots=True)
class StoredNoise(FastNoise):
    """Adds the draw of the first day again to re-estimated values."""

    def perturb(self, values: Any, sensitivity: Any, *, day: int, **key: Any) -> Any:
        """Ignore the day."""
        return FastNoise.perturb(self, values, sensitivity, day=0, **key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One audit and what it must show."""

    name: str
    make: Callable[[int], Method]
    claimed: float
    caught: bool = False  # a planted mistake or a known flaw: the bound must exceed the claim
    at_least: float = 0.0  # the bound must reach this with all draws
    tests: OwnTests = OwnTests.NONE
    releases: int = 1
    later_message: float | None = None
    met_on: tuple[int, ...] = (11,)
    delta: float = DELTA


def _maker(
    name: str,
    release: str,
    noise: Any = FastNoise,
    target: Target | None = None,
) -> Callable[[int], Method]:
    """Return a function from a noise seed to a method."""
    gamma = {"gamma": 0.7} if "gamma" in METHODS[name].names_in_files() else {}
    settings = METHODS[name](**{"release": release, **gamma})
    aim = target or Target(epsilon=1.0)
    return lambda seed: settings.build(Setup(target=aim, noise=noise(seed=seed)))


def _variants() -> list[tuple[str, str]]:
    names = ("per-message", "dpfn", "dpfn-s")
    return [("traditional", "gaussian"), *((n, r) for n in names for r in METHODS[n].releases())]


def _sound_cases() -> list[Case]:
    cases = []
    for method, release in _variants():
        name, flawed = f"{method} {release}", (method, release) == ("dpfn-s", "as_published")
        make = _maker(method, release)
        for tests in (OwnTests.NONE,) if flawed else OwnTests:
            cases += [
                Case(
                    name=f"{name}, tests {tests}, met {13 - day} days ago",
                    make=make,
                    claimed=1.0,
                    tests=tests,
                    met_on=(day,),
                )
                for day in (11, 12)
            ]
        if not flawed:
            target = Target(epsilon=1.0, unit=Unit.CONTACT)
            make = _maker(method, release, target=target)
            several = f"{name}, three releases, per contact"
            cases.append(Case(name=several, make=make, claimed=1.0, releases=3))
    return cases


def _controls() -> list[Case]:
    published = _maker("dpfn-s", "as_published")
    two = epsilon_of_mu(np.sqrt(2) * mu_of_budget(1.0, DELTA), DELTA)
    stored: dict[str, Any] = {"claimed": two, "releases": 2, "later_message": 0.1, "met_on": (8,)}
    loose = _maker("dpfn-s", "linear", target=Target(epsilon=1.0, delta=0.05))
    weak, again = (_maker("dpfn-s", "linear", noise) for noise in (WeakNoise, StoredNoise))
    flaw: dict[str, Any] = {"make": published, "claimed": 1.0, "caught": True}
    return [
        Case(name="dpfn-s as_published, positive", at_least=8.0, tests=OwnTests.POSITIVE, **flaw),
        Case(
            name="dpfn-s as_published, negative-positive",
            at_least=8.0,
            tests=OwnTests.NEGATIVE_POSITIVE,
            **flaw,
        ),
        Case(name="noise × 2/3", make=weak, claimed=1.0, caught=True),
        Case(name="two releases, fresh draws", make=_maker("dpfn-s", "linear"), **stored),
        Case(
            name="two releases, stored draw",
            make=again,
            caught=True,
            **stored,
        ),
        Case(name="calibrated for δ = .05", make=loose, claimed=1.0, delta=0.05),
        Case(name="the same called δ = .001", make=loose, claimed=1.0, caught=True),
    ]


def _run(case: Case, draws: int) -> bool:
    own = case.tests.outcomes(14) + (-1,) * (case.releases - 1)
    encounter = Encounter(
        own_tests=own,
        met_on=case.met_on,
        releases=case.releases,
        later_message=case.later_message,
        parameters=PARAMETERS,
    )
    start = time.perf_counter()
    sample = AdversaryGame(encounter, case.make)
    result = audit(sample, claimed_epsilon=case.claimed, delta=case.delta, draws=draws)
    seconds = time.perf_counter() - start
    good = result.passed is not case.caught
    good &= result.lower_bound >= (case.at_least if draws >= ENOUGH_DRAWS else 0.0)
    good &= seconds <= SECONDS_ALLOWED
    wanted = "caught" if case.caught else "below"
    print(
        f"{case.name:62} claim {case.claimed:6.3f}  bound {result.lower_bound:6.3f}  "
        f"{wanted:6} {'ok' if good else 'FAILED':6} {seconds:5.1f} s",
        flush=True,
    )
    return good


def _print_secure_cost(n: int) -> None:
    spread = np.linspace(0.5, 1.0, n) * 0.02
    start = time.perf_counter()
    SecureNoise().perturb(np.zeros(n), spread, multiplier=2.5, purpose="cost", day=0)
    seconds = time.perf_counter() - start
    print(f"secure noise: {1e6 * seconds / n:.0f} µs per draw, {seconds:.2f} s for {n:,} scores")


def _quick_cases() -> list[Case]:
    """Return a release that must pass and planted mistakes that few draws can show."""
    sound = [case for case in _sound_cases() if case.name.startswith("dpfn-s linear, tests none")]
    flawed = [case for case in _controls() if case.caught and "as_published" in case.name]
    return [*sound, *flawed]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="show in seconds that it works")
    options = parser.parse_args(arguments)
    draws = QUICK_DRAWS if options.quick else options.draws
    cases = _quick_cases() if options.quick else [*_sound_cases(), *_controls()]
    if options.quick:
        print("QUICK: few draws of few releases. These bounds mean nothing; the script works.")
    print(f"{draws:,} draws of each window, confidence 99 %, δ = {DELTA:g}, p1·γ = .035")
    good = [_run(case, draws) for case in cases]
    _print_secure_cost(100 if options.quick else 10_000)
    print(f"{sum(good)} of {len(good)} as they must be")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
