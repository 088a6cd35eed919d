"""DPFN (level 2): noise on the exposure of each day, then FN as usual.

Reference: Romijnders et al. 2024, "Protect your score: contact tracing with differential privacy
guarantees". A receiver depends on a day's messages through one number, the exposure, so one draw of
noise per day protects every message of the day.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

import numpy as np

from dnatrace.errors import InputError
from dnatrace.inference.exposures import add_up_day, clipped_hazards
from dnatrace.methods.base import Method, PublicFacts, SecretFacts, Setup
from dnatrace.methods.frozen import FrozenDays, frozen_lifetime
from dnatrace.methods.kinds import Floats, PrivateMethod, Query
from dnatrace.methods.settings import (
    NAME,
    RELEASE,
    ClippedSettings,
    ReferenceSettings,
    clipped_exposures,
    form_of,
    reference_exposures,
    renewed_lifetime,
    score_of,
)
from dnatrace.privacy import sensitivity
from dnatrace.privacy.accounting import Lifetime, Unit
from dnatrace.privacy.gaussian import renyi_multiplier
from dnatrace.privacy.mechanisms import GaussianMechanism
from dnatrace.privacy.release import Bounded
from dnatrace.records import DayContacts
from dnatrace.seir import SeirParameters
from dnatrace.settings import setting

_PURPOSE = "noise/dpfn"


class DpfnRelease(StrEnum):
    """How noise is added to the exposures of days."""

    FROZEN = "frozen"
    CORRELATED = "correlated"
    AS_PUBLISHED = "as_published"
    ANALYTIC = "analytic"


class DpfnSettings(ClippedSettings, ReferenceSettings):
    """Noise on the exposure of each day."""

    name: Literal["dpfn"] = setting("dpfn", NAME)
    release: DpfnRelease = setting(DpfnRelease.FROZEN, RELEASE)

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        if self.release is DpfnRelease.FROZEN:
            return Frozen(settings=self, setup=setup)
        if self.release is DpfnRelease.CORRELATED:
            return Correlated(settings=self, setup=setup)
        return Renewed(settings=self, setup=setup)

    @property
    def first_age(self) -> int:
        """The age from which a contact day matters."""
        return sensitivity.first_age(self.score.counts_exposed)

    def mechanism(
        self, setup: Setup, lifetime: Lifetime, multiplier: float, *, reads: int = 1
    ) -> GaussianMechanism:
        """Return the noise on exposures."""
        return GaussianMechanism(
            name=f"exposure of each day, messages clipped to [0, {self.gamma:g}]",
            multiplier=multiplier,
            lifetime=lifetime,
            noise=setup.noise,
            purpose=_PURPOSE,
            reads=reads,
        )

    def bounded(
        self, setup: Setup, public: PublicFacts, secret: SecretFacts, rows: slice
    ) -> Bounded | None:
        """Return the exposures of some days of the window with their sensitivity."""
        if rows.stop <= rows.start:
            setup.require_window(public)
            return None
        values = clipped_exposures(self, setup, public, secret)[rows]
        reach = sensitivity.exposure_reach(public.parameters.p1, self.gamma)
        met = public.counts[rows] > 0
        return Bounded(values=values, sensitivity=np.where(met, reach, 0.0))

    def settled(self, noisy: Floats, counts: Any, public: PublicFacts, multiplier: float) -> Floats:
        """Return noisy exposures, unbiased for exp(-x) and clipped to the possible range.

        Adding half the variance makes E[exp(-x̃)] = exp(-x) before the clip to [0, counts·s]; both
        are post-processing. Days without contacts stay exactly 0.
        Reference: the log-normal mechanism of Romijnders et al. 2024, "Protect your score".
        """
        reach = sensitivity.exposure_reach(public.parameters.p1, self.gamma)
        half_variance = (multiplier * reach) ** 2 / 2.0
        return np.clip(noisy + half_variance, 0.0, counts * reach)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen(PrivateMethod):
    """Add noise to a day once, when it first matters, and keep the result; then FN with own tests.

    Guarantee: every message is protected by the noise of its day; own tests come after the noise
    and cannot weaken it.
    Edge cases: with a window of one day nobody has received anything and the release is public.
    """

    settings: DpfnSettings
    setup: Setup

    @property
    def multiplier(self) -> float:
        """The noise, in multiples of the sensitivity."""
        return self.setup.target.multiplier(frozen_lifetime(self.settings.first_age))

    def query(
        self, prepared: Any, public: PublicFacts, secret: SecretFacts, memory: FrozenDays | None
    ) -> Query:
        """Return the exposures of the days that matter for the first time."""
        s, before = self.settings, memory or FrozenDays()
        rows = before.new_rows(public, s.first_age)
        lifetime = frozen_lifetime(s.first_age, rows.stop - rows.start)
        return Query(
            mechanism=s.mechanism(self.setup, lifetime, self.multiplier),
            statistic=s.bounded(self.setup, public, secret, rows),
            memory=FrozenDays(first_day=public.first_day, n_days=rows.stop),
            keep=before.kept(public),
        )

    def settle(self, noisy: Floats, past: Sequence[Floats], public: PublicFacts) -> Floats:
        """Return noisy exposures, clipped to the possible range."""
        counts = public.counts[len(past) : len(past) + len(noisy)]
        return self.settings.settled(noisy, counts, public, self.multiplier)

    def decode(self, noisy: Floats, prepared: Any, public: PublicFacts) -> Floats:
        """Return F from noisy exposures."""
        return score_of(self.settings, public, noisy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed(PrivateMethod):
    """Add fresh noise to every day of the window in each release; then FN with own tests.

    Guarantee: for one release as `Frozen`; the costs of releases add up. `as_published` has the
    noise of the Rényi calibration, `analytic` that of the exact one.
    """

    settings: DpfnSettings
    setup: Setup

    @property
    def lifetime(self) -> Lifetime:
        """A message is in every release from the first age at which it matters."""
        window, score = self.setup.window_days, self.settings.score
        return renewed_lifetime(window=window, score=score, joint=False)

    @property
    def multiplier(self) -> float:
        """The noise, in multiples of the sensitivity."""
        target = self.setup.target
        multiplier = target.multiplier(self.lifetime)
        if self.settings.release is DpfnRelease.AS_PUBLISHED:
            exact = 1.0 / target.mu
            multiplier *= renyi_multiplier(target.epsilon, target.delta) / exact
        return multiplier

    def query(self, prepared: Any, public: PublicFacts, secret: SecretFacts, memory: Any) -> Query:
        """Return the exposures of all days that matter."""
        rows = slice(0, max(0, public.n_days - self.settings.first_age))
        return Query(
            mechanism=self.settings.mechanism(self.setup, self.lifetime, self.multiplier),
            statistic=self.settings.bounded(self.setup, public, secret, rows),
        )

    def settle(self, noisy: Floats, past: Sequence[Floats], public: PublicFacts) -> Floats:
        """Return noisy exposures, clipped to the possible range."""
        return self.settings.settled(noisy, public.counts[: len(noisy)], public, self.multiplier)

    def decode(self, noisy: Floats, prepared: Any, public: PublicFacts) -> Floats:
        """Return F from noisy exposures."""
        return score_of(self.settings, public, noisy)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CorrelatedDays:
    """Memory of the correlated release, none of it older than the window.

    Attributes:
        days: which contact days have been noised.
        hazards: what everybody's message added to an exposure on these days, as of when the day
            first mattered; secret; float64 [people] each, the newest last.
    """

    days: FrozenDays = field(default_factory=FrozenDays)
    hazards: tuple[Floats, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlated(PrivateMethod):
    """Add independent noise to y = C·x, day by day; the noise of x̃ = C⁻¹·y cancels.

    C is banded: the terms of `series_root` and zeros beyond them. A contact moves y by s·(c_0, c_1,
    …) on the days after it, so over its life it costs ‖c‖ times one draw, for which the noise is
    calibrated. The score is the linear form of x̃ at the reference; no day is clipped, because
    clipping would undo the cancellation. Messages are kept, not sums: a contact that has been
    forgotten is in no later sum. A score reads all sums that contain a message at once, so one
    score alone can cost as much as a contact over its life.
    """

    settings: DpfnSettings
    setup: Setup

    def root(self, public: PublicFacts) -> tuple[float, ...]:
        """Return the terms of C."""
        with_exposed = self.settings.score.counts_exposed
        return series_root(public.parameters, self.setup.window_days, with_exposed)

    def query(
        self, prepared: Any, public: PublicFacts, secret: SecretFacts, memory: CorrelatedDays | None
    ) -> Query:
        """Return y of the days that matter for the first time."""
        s, before = self.settings, memory or CorrelatedDays()
        root = self.root(public)
        rows = before.days.new_rows(public, s.first_age)
        n_new = rows.stop - rows.start
        hazards = [*before.hazards, *self._hazards(public, secret, rows)]
        exposures = _exposures_of(hazards, islice(secret.window, 0, rows.stop))
        # A single release cannot be separated from the life of a message here: both get the whole
        # life.
        unit = Unit.PAIR if self.setup.target.unit is Unit.PAIR else Unit.CONTACT
        multiplier = sums_lifetime(root, s.first_age).factor(unit) / self.setup.target.mu
        lifetime = sums_lifetime(root, s.first_age, max(n_new, 1))
        return Query(
            mechanism=s.mechanism(self.setup, lifetime, multiplier, reads=len(root)),
            statistic=self._sums(public, exposures, n_new) if n_new else None,
            memory=CorrelatedDays(
                days=FrozenDays(first_day=public.first_day, n_days=rows.stop),
                hazards=tuple(hazards[-len(root) :]),
            ),
            keep=before.days.kept(public),
        )

    def _hazards(self, public: PublicFacts, secret: SecretFacts, rows: slice) -> list[Floats]:
        """Return what messages of some days add to exposures."""
        said = self.setup.require_messages(public, secret)[rows]
        gamma, p1 = self.settings.gamma, public.parameters.p1
        return [clipped_hazards(row, p1=p1, gamma=gamma) for row in said]

    def _sums(self, public: PublicFacts, exposures: Sequence[Floats], n_new: int) -> Bounded:
        """Return y of the newest `n_new` days with its sensitivity."""
        root = self.root(public)
        reach = sensitivity.exposure_reach(public.parameters.p1, self.settings.gamma)
        values = np.zeros((n_new, public.n_people))
        for row, newest in enumerate(range(len(exposures) - n_new, len(exposures))):
            for c, age in zip(root, range(newest, -1, -1), strict=False):
                values[row] += c * exposures[age]
        return Bounded(values=values, sensitivity=np.full(values.shape, reach * root[0]))

    def settle(self, noisy: Floats, past: Sequence[Floats], public: PublicFacts) -> Floats:
        """Return x̃ from noisy sums y = C·x, row by row, given x̃ of earlier days."""
        root, known = self.root(public), list(past)
        for y in noisy:
            rest = y.copy()
            for c, x in zip(root[1:], reversed(known), strict=False):
                rest -= c * x
            known.append(rest / root[0])
        return np.stack(known[len(past) :])

    def decode(self, noisy: Floats, prepared: Any, public: PublicFacts) -> Floats:
        """Return F(x_ref) + Σ w_t·(x̃_t - x_ref,t)."""
        reference = reference_exposures(self.settings, public)
        form = form_of(self.settings, public, reference)
        n = len(noisy)
        if n == 0:
            return form.scores
        return form.scores + (form.weights[:n] * (noisy - reference[:n])).sum(axis=0)


def _exposures_of(hazards: Sequence[Floats], window: Iterable[DayContacts]) -> list[Floats]:
    """Return the exposures of the days whose hazards are given, the last days of a window.

    Cost: one look-up per contact.
    """
    exposures = []
    for said, day in zip(reversed(hazards), reversed(list(window)), strict=False):
        received = np.empty(said.size)
        add_up_day(day, said, received)
        exposures.append(received)
    return exposures[::-1]


@lru_cache(maxsize=16)
def series_root(parameters: SeirParameters, window: int, with_exposed: bool) -> tuple[float, ...]:
    """Return the power-series square root of κ from its first age on, one term per age.

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


def sums_lifetime(root: tuple[float, ...], age: int, n_rows: int = 1) -> Lifetime:
    """Return how a contact spends when noise is added to `n_rows` of the sums y on one day.

    All contact days are in one sum, under one draw of noise.
    """
    shares = [0.0] * age
    for i in range(len(root) + n_rows - 1):
        touched = root[max(0, i - n_rows + 1) : i + 1]
        shares.append(math.sqrt(sum(c * c for c in touched)) / root[0])
    return Lifetime(shares=tuple(shares), joint=True)
