"""Private methods made in one line, noise that is honest or not, and games to audit them with."""

from dataclasses import dataclass, field

import numpy as np

from dnatrace.methods.adversary import AdversaryGame, Encounter, OwnTests
from dnatrace.methods.base import PublicFacts, SecretFacts, Setup
from dnatrace.methods.catalogue import METHODS
from dnatrace.privacy.accounting import Target
from dnatrace.privacy.noise import FastNoise

from .reference_privacy import PAPER_TESTS, parameters

ONE = Target(epsilon=1.0)
SOUND = [
    *(("dpfn", release) for release in METHODS["dpfn"].releases()),
    *(("per-message", release) for release in METHODS["per-message"].releases()),
    ("dpfn-s", "linear"),
    ("dpfn-s", "restart"),
]


def made(name, release=None, *, target=ONE, noise=None, window_days=14, **settings):
    """Return a method of the catalogue."""
    settings |= {} if release is None else {"release": release}
    setup = Setup(target=target, noise=noise or FastNoise(seed=0), window_days=window_days)
    return METHODS[name](**settings).build(setup)


def facts_of(window, outcomes, messages, p, *, day=None, errors=PAPER_TESTS, **known):
    """Return public and secret facts of a window."""
    public = PublicFacts(
        day=window.first_day + len(window) - 1 if day is None else day,
        first_day=window.first_day,
        counts=window.counts,
        outcomes=outcomes,
        parameters=p,
        test_errors=errors,
        **known,
    )
    return public, SecretFacts(window=window, messages=messages, own_tests=True)


def released(method, facts):
    """Return the first release of a method."""
    public, secret = facts
    return method.release(public, secret, method.start(public.n_people))[0]


@dataclass
class RecordingNoise:
    """A silent back end that keeps what it was asked to noise."""

    values: list = field(default_factory=list)
    sensitivity: list = field(default_factory=list)
    name: str = "recording"
    score_grid: float | None = None

    def perturb(self, values, sensitivity, *, multiplier, purpose, day, draw=0):
        self.values.append(np.atleast_2d(values).copy())
        self.sensitivity.append(np.atleast_2d(sensitivity).copy())
        return values.copy()


@dataclass(frozen=True)
class WeakNoise:
    """Less noise than was asked for."""

    seed: int
    share: float = 2 / 3
    name: str = "weak"
    score_grid: float | None = None

    def perturb(self, values, sensitivity, *, multiplier, **key):
        return FastNoise(seed=self.seed).perturb(
            values, sensitivity, multiplier=multiplier * self.share, **key
        )


@dataclass(frozen=True)
class StoredNoise:
    """The draw of the first day, used again on every day."""

    seed: int
    name: str = "stored"
    score_grid: float | None = None

    def perturb(self, values, sensitivity, *, day, **rest):
        return FastNoise(seed=self.seed).perturb(values, sensitivity, day=0, **rest)


def game(make, *, tests=OwnTests.NONE, releases=1, met_on=(11,), **encounter):
    """Return a game of one encounter with a method that is made from a seed."""
    own = tests.outcomes(14) + (-1,) * (releases - 1)
    encounter = {"parameters": parameters(0.05)} | encounter
    return AdversaryGame(
        Encounter(own_tests=own, met_on=met_on, releases=releases, **encounter), make
    )
