"""DPFN (level 2): noise on the exposure of each day, then FN as usual.

Reference: Romijnders et al. 2024, "Protect your score: contact tracing with differential privacy
guarantees". A receiver depends on a day's messages through one number, the exposure, so one draw of
noise a day protects every message of the day.
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.methods.base import DayFacts, Needs, Score
from dnatrace.methods.frozen import FrozenDays, frozen_lifetime
from dnatrace.methods.settings import choose, counts_exposed, renewed_lifetime, require_messages
from dnatrace.privacy import sensitivity
from dnatrace.privacy.accounting import Lifetime, Target, Unit
from dnatrace.privacy.gaussian import renyi_multiplier
from dnatrace.privacy.mechanisms import GaussianMechanism, noisy_exposures, publish_processed
from dnatrace.privacy.noise import FastNoise, Noise
from dnatrace.privacy.release import Bounded, Protected, Released
from dnatrace.seir import SeirParameters

_PURPOSE = "noise/dpfn"
Floats = NDArray[np.float64]


class DpfnRelease(StrEnum):
    """How the exposures of days are noised."""

    FROZEN = "frozen"
    CORRELATED = "correlated"
    AS_PUBLISHED = "as_published"
    ANALYTIC = "analytic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dpfn:
    """Noise on the exposure of each day, then FN with own tests.

    Guarantee: every message is protected by the noise of its day; own tests come after the noise
    and cannot weaken it. `frozen` noises a day once. `correlated` does so with noise that cancels
    over days. `analytic` and `as_published` (Rényi calibration) noise every day of the
    window afresh in each release, and the costs of the releases add up.
    Edge cases: with a window of one day nobody has heard anything and the release is public.

    Attributes:
        target: what the noise is calibrated for.
        release_kind: one of `DpfnRelease`.
        score: which belief is released.
        gamma: messages are clipped to [0, gamma].
        mu_ref: message value at which `correlated` takes its weights; fixed, never estimated.
        window_days: the most days a contact stays in the window.
        noise: the back end.
    """

    target: Target
    release_kind: DpfnRelease = DpfnRelease.FROZEN
    score: Score = Score.EXPOSED_OR_INFECTED
    gamma: float = 0.2
    mu_ref: float = 0.005
    window_days: int = 14
    noise: Noise = field(default_factory=lambda: FastNoise(seed=0))

    def __post_init__(self) -> None:
        kind = choose("release of dpfn", self.release_kind, DpfnRelease)
        object.__setattr__(self, "release_kind", kind)
        object.__setattr__(self, "score", choose("score", self.score, Score))
        sensitivity.require_gamma(self.gamma)
        sensitivity.require_reference(self.mu_ref)

    @property
    def needs(self) -> Needs:
        """Messages of the last round."""
        return Needs.MESSAGES

    @property
    def sound(self) -> bool:
        """All releases are proved; they differ in what a contact costs over its life."""
        return True

    @property
    def first_age(self) -> int:
        """The age from which a contact day matters."""
        return sensitivity.first_age(counts_exposed(self.score))

    def start(self, n_people: int) -> Any:
        """Return the state before the first day."""
        return _VARIANTS[self.release_kind].start()

    def release(self, facts: DayFacts, state: Any) -> tuple[Released, Any]:
        """Return the belief of everybody, computed from noisy exposures."""
        return _VARIANTS[self.release_kind].release(self, facts, state)

    def mechanism(self, lifetime: Lifetime, multiplier: float) -> GaussianMechanism:
        """Return the noise on exposures."""
        return GaussianMechanism(
            name=f"exposure of each day, messages clipped to [0, {self.gamma:g}]",
            multiplier=multiplier,
            lifetime=lifetime,
            noise=self.noise,
            purpose=_PURPOSE,
        )

    def exposures(self, facts: DayFacts) -> Bounded:
        """Return the exposures of the window."""
        messages = require_messages(facts, self.window_days)
        return sensitivity.bounded_exposures(
            facts.window, messages, p1=facts.parameters.p1, gamma=self.gamma
        )

    def scores(self, facts: DayFacts, noisy: Floats) -> Floats:
        """Return F from noisy exposures of the first days of the window; the rest has no effect."""
        exposures = np.zeros((len(facts.window), facts.window.n_people))
        exposures[: len(noisy)] = noisy if len(noisy) else 0.0
        return sensitivity.last_day_scores(
            exposures,
            facts.outcomes,
            parameters=facts.parameters,
            test_errors=facts.test_errors,
            with_exposed=counts_exposed(self.score),
        )


class _Variant(Protocol):
    def start(self) -> Any: ...
    def release(self, method: Dpfn, facts: DayFacts, state: Any) -> tuple[Released, Any]: ...


def _noise_rows(
    method: Dpfn, facts: DayFacts, rows: slice, mechanism: GaussianMechanism
) -> list[Protected]:
    """Return the exposures of some days of the window with noise, one row a day."""
    exposures = method.exposures(facts)
    noisy = noisy_exposures(
        Bounded(values=exposures.values[rows], sensitivity=exposures.sensitivity[rows]),
        facts.window.counts[rows],
        reach=sensitivity.exposure_reach(facts.parameters.p1, method.gamma),
        mechanism=mechanism,
        day=facts.day,
    )
    return noisy.rows()


class _Frozen:
    """Noise a day once, when it first matters, and keep the noisy value."""

    def start(self) -> FrozenDays:
        return FrozenDays()

    def release(
        self, method: Dpfn, facts: DayFacts, state: FrozenDays
    ) -> tuple[Released, FrozenDays]:
        age = method.first_age
        multiplier = method.target.multiplier(frozen_lifetime(age))

        def protect(start: int, end: int) -> list[Protected]:
            mechanism = method.mechanism(frozen_lifetime(age, end - start), multiplier)
            return _noise_rows(method, facts, slice(start, end), mechanism)

        days = state.advance(facts, age, protect)
        released = publish_processed(
            days.rows, lambda noisy: method.scores(facts, noisy), day=facts.day, noise=method.noise
        )
        return released, days


@dataclass(frozen=True, slots=True)
class _Renewed:
    """Noise every day of the window afresh in each release."""

    renyi: bool

    def start(self) -> None:
        return None

    def release(self, method: Dpfn, facts: DayFacts, state: None) -> tuple[Released, None]:
        exposed = counts_exposed(method.score)
        lifetime = renewed_lifetime(window=method.window_days, with_exposed=exposed, joint=False)
        multiplier = method.target.multiplier(lifetime)
        if self.renyi:
            target = method.target
            exact = 1.0 / target.mu
            multiplier *= renyi_multiplier(target.epsilon, target.delta) / exact
        heard = slice(0, max(0, len(facts.window) - method.first_age))
        rows = _noise_rows(method, facts, heard, method.mechanism(lifetime, multiplier))
        released = publish_processed(
            rows, lambda noisy: method.scores(facts, noisy), day=facts.day, noise=method.noise
        )
        return released, None


@lru_cache(maxsize=16)
def series_root(parameters: SeirParameters, window: int, with_exposed: bool) -> tuple[float, ...]:
    """Return the power-series square root of κ from its first age on, one term an age.

    The Toeplitz matrix C of these terms satisfies C·C = that of κ, up to the window.
    """
    kappa = sensitivity.decay(parameters, window=window, with_exposed=with_exposed)
    kappa = kappa[sensitivity.first_age(with_exposed) :]
    if not kappa or kappa[0] <= 0.0:
        raise InputError("release 'correlated' of dpfn: with this window and g no message matters")
    root = [math.sqrt(kappa[0])]
    for n in range(1, len(kappa)):
        cross = sum(root[j] * root[n - j] for j in range(1, n))
        root.append((kappa[n] - cross) / (2.0 * root[0]))
    return tuple(root)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CorrelatedDays:
    """State of the correlated release, none of it older than the window.

    Attributes:
        exposures: of consecutive contact days as they were when they first mattered, secret;
            float64 [people] each, the last is the newest.
        days: the same exposures with noise, protected.
    """

    exposures: tuple[Floats, ...] = ()
    days: FrozenDays = field(default_factory=FrozenDays)


class _Correlated:
    """Noise y = C·x with independent noise, day by day; x̃ = C⁻¹·y has noise that cancels.

    C is banded: `series_root` and nothing beyond it. A contact moves y by s·(c_0, c_1, …) on the
    days after it, so over its life it costs ‖c‖ times one draw, for which the noise is calibrated.
    The score is the linear form of x̃ at the reference; no day is clipped, because a clip would
    undo the cancelling.
    """

    def start(self) -> CorrelatedDays:
        return CorrelatedDays()

    def release(
        self, method: Dpfn, facts: DayFacts, state: CorrelatedDays
    ) -> tuple[Released, CorrelatedDays]:
        root = series_root(facts.parameters, method.window_days, counts_exposed(method.score))
        raw = method.exposures(facts).values
        secret = list(state.exposures)

        def protect(start: int, end: int) -> list[Protected]:
            secret.extend(raw[start:end].copy())
            sums = _protect_sums(method, facts, root, secret, end - start)
            past = [row.values for row in state.days.rows]
            return sums.processed(lambda y: _undo(root, past, y)).rows()

        days = state.days.advance(facts, method.first_age, protect)
        released = publish_processed(
            days.rows,
            lambda noisy: _linear_scores(method, facts, noisy),
            day=facts.day,
            noise=method.noise,
        )
        kept = tuple(secret[-len(root) :])
        return released, CorrelatedDays(exposures=kept, days=days)


def _protect_sums(
    method: Dpfn, facts: DayFacts, root: tuple[float, ...], secret: list[Floats], n_new: int
) -> Protected:
    """Return y of the newest `n_new` days with noise."""
    reach = sensitivity.exposure_reach(facts.parameters.p1, method.gamma)
    values = np.zeros((n_new, facts.window.n_people))
    for row, newest in enumerate(range(len(secret) - n_new, len(secret))):
        for c, age in zip(root, range(newest, -1, -1), strict=False):
            values[row] += c * secret[age]
    # A release alone cannot be told from the life of a message here: both get the whole life.
    unit = Unit.PAIR if method.target.unit is Unit.PAIR else Unit.CONTACT
    multiplier = sums_lifetime(root, method.first_age).factor(unit) / method.target.mu
    mechanism = method.mechanism(sums_lifetime(root, method.first_age, n_new), multiplier)
    bounded = Bounded(values=values, sensitivity=np.full(values.shape, reach * root[0]))
    return mechanism.protect(bounded, day=facts.day)


def _undo(root: tuple[float, ...], past: list[Floats], sums: Floats) -> Floats:
    """Return x̃ from noisy sums y = C·x, one row after the other, given x̃ of the days before."""
    known = list(past)
    for y in sums:
        heard = y.copy()
        for c, x in zip(root[1:], reversed(known), strict=False):
            heard -= c * x
        known.append(heard / root[0])
    return np.stack(known[len(past) :])


def sums_lifetime(root: tuple[float, ...], age: int, n_rows: int = 1) -> Lifetime:
    """Return how a contact spends when `n_rows` of the sums y are noised on one day.

    All contact days are in one sum, under one draw of noise.
    """
    shares = [0.0] * age
    for i in range(len(root) + n_rows - 1):
        touched = root[max(0, i - n_rows + 1) : i + 1]
        shares.append(math.sqrt(sum(c * c for c in touched)) / root[0])
    return Lifetime(shares=tuple(shares), joint=True)


def _linear_scores(method: Dpfn, facts: DayFacts, noisy: Floats) -> Floats:
    """Return F(x_ref) + Σ w_t·(x̃_t - x_ref,t)."""
    p1 = facts.parameters.p1
    reference = sensitivity.reference_exposures(facts.window.counts, p1=p1, mu_ref=method.mu_ref)
    form = sensitivity.linear_form(
        reference,
        facts.outcomes,
        parameters=facts.parameters,
        test_errors=facts.test_errors,
        with_exposed=counts_exposed(method.score),
    )
    n = len(noisy)
    if n == 0:
        return form.scores
    return form.scores + (form.weights[:n] * (noisy - reference[:n])).sum(axis=0)


_VARIANTS: dict[DpfnRelease, _Variant] = {
    DpfnRelease.FROZEN: _Frozen(),
    DpfnRelease.CORRELATED: _Correlated(),
    DpfnRelease.AS_PUBLISHED: _Renewed(renyi=True),
    DpfnRelease.ANALYTIC: _Renewed(renyi=False),
}
