"""DPFN-S (level 3): noise on the score itself.

Reference: Romijnders et al., "DNA: Differentially private Neural Augmentation for contact tracing",
Theorem 1. The theorem holds only without own tests; docs/guarantees.md has the proofs for the
releases that allow own tests, and the counterexample to the published one.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from dnatrace.methods.base import Method, PublicFacts, SecretFacts, Setup
from dnatrace.methods.kinds import Floats, PrivateMethod, Query
from dnatrace.methods.settings import (
    NAME,
    RELEASE,
    STUDY,
    ClippedSettings,
    ReferenceSettings,
    clipped_exposures,
    form_of,
    reference_exposures,
    renewed_lifetime,
    score_of,
)
from dnatrace.privacy import sensitivity
from dnatrace.privacy.accounting import PAIR_DAYS, Lifetime, Unit, UnprovenEvent
from dnatrace.privacy.budget_filter import Spent, linear_statistic
from dnatrace.privacy.mechanisms import GaussianMechanism
from dnatrace.privacy.release import Bounded
from dnatrace.privacy.sensitivity import LinearForm
from dnatrace.settings import setting

_PURPOSE = "noise/dpfn-s"


class DpfnSRelease(StrEnum):
    """Which statistic gets noise."""

    LINEAR = "linear"
    RESTART = "restart"
    AS_PUBLISHED = "as_published"


class BeliefSettings(ClippedSettings, ReferenceSettings):
    """Noise on a statistic of the belief: `dpfn-s`, and `dna`, which adds a network to it."""

    release: DpfnSRelease = setting(DpfnSRelease.LINEAR, RELEASE)
    rho: Annotated[float, Field(ge=0.0)] = setting(
        0.05,
        "expected spread of the exposure, for shrinkage; 0 for no shrinkage",
        source=STUDY,
        called="exposure_spread",
    )

    def shrinkage(self, relative_noise: Any) -> Any:
        """Return λ = v/(v + σ²), v = (ρ·max|w|)² and σ = relative_noise·max|w|, also by person."""
        if self.rho == 0.0:
            return 1.0
        return self.rho * self.rho / (self.rho * self.rho + relative_noise * relative_noise)


class DpfnSSettings(BeliefSettings):
    """Noise on the score."""

    name: Literal["dpfn-s"] = setting("dpfn-s", NAME)

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        kinds = {DpfnSRelease.LINEAR: Linear, DpfnSRelease.RESTART: Restart}
        return kinds.get(self.release, AsPublished)(settings=self, setup=setup)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Expansion:
    """F around public exposures.

    Attributes:
        reference: the exposures if every message were `mu_ref`, float64 [days, people].
        form: F and its derivatives there.
    """

    reference: Floats
    form: LinearForm

    @classmethod
    def at(cls, settings: ReferenceSettings, public: PublicFacts) -> "Expansion":
        """Expand F around the exposures of average contacts."""
        reference = reference_exposures(settings, public)
        return cls(reference=reference, form=form_of(settings, public, reference))


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear(PrivateMethod):
    """Release F to first order around public exposures.

    The statistic is F(x_ref) + Σ w_t·(x_t - x_ref,t) with public weights, so its sensitivity is
    exactly s·max|w_t| over days with contacts. When calibrated to contacts or pairs it is a filter:
    every contact day has a budget, and the weight of a day is limited by what is left of its
    budget, in the end to 0.

    Guarantee: (ε, δ)-private for the unit of the target, whatever the own tests.
    Edge cases: people whose score depends on no message get no noise.
    """

    settings: DpfnSSettings
    setup: Setup

    def prepare(self, public: PublicFacts, remembered: Any) -> Expansion:
        """Expand F around public exposures."""
        return Expansion.at(self.settings, public)

    def query(
        self, prepared: Expansion, public: PublicFacts, secret: SecretFacts, memory: Spent | None
    ) -> Query:
        """Return F to first order, within the budget of every contact day."""
        mechanism = self.mechanism(public)
        squares = (memory or Spent()).aligned(
            first_day=public.first_day, n_days=public.n_days, n_people=public.n_people
        )
        statistic = linear_statistic(
            prepared.form,
            clipped_exposures(self.settings, self.setup, public, secret) - prepared.reference,
            public.counts,
            squares,
            reach=sensitivity.exposure_reach(public.parameters.p1, self.settings.gamma),
            mu=1.0 / mechanism.multiplier,
            budget=mechanism.budget,
        )
        return Query(
            mechanism=mechanism,
            statistic=statistic,
            memory=Spent(first_day=public.first_day, squares=squares),
            spent=float(np.sqrt(squares.max())),
        )

    def decode(self, noisy: Floats, prepared: Expansion, public: PublicFacts) -> Floats:
        """Shrink the noisy score towards F at the reference."""
        reach = sensitivity.exposure_reach(public.parameters.p1, self.settings.gamma)
        kept = self.settings.shrinkage(self.mechanism(public).multiplier * reach)
        scores = prepared.form.scores
        return scores + kept * (noisy[0] - scores)

    def mechanism(self, public: PublicFacts) -> GaussianMechanism:
        """Return the noise of one release, and the budget of a contact when the unit has one.

        A filter may use any plan for a single release. This one is the natural decay of a message:
        a contact without own tests around it has spent its budget when it leaves the window.
        """
        score, target, window = self.settings.score, self.setup.target, self.setup.window_days
        multiplier, budget = 1.0 / target.mu, None
        kappa = sensitivity.decay(
            public.parameters, window=window, with_exposed=score.counts_exposed
        )
        if target.unit is not Unit.RELEASE and max(kappa) > 0.0:  # otherwise no message matters
            plan = Lifetime(shares=tuple(k / max(kappa) for k in kappa), joint=True)
            budget = target.mu if target.unit is Unit.CONTACT else target.mu / PAIR_DAYS
            multiplier = plan.contact_factor / budget
        return GaussianMechanism(
            name=(
                "score to first order around public exposures "
                f"(messages clipped to [0, {self.settings.gamma:g}], sensitivity s·max|w|)"
            ),
            multiplier=multiplier,
            lifetime=renewed_lifetime(window=window, score=score, joint=True),
            noise=self.setup.noise,
            purpose=_PURPOSE,
            budget=budget,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(PrivateMethod):
    """Release F with messages older than the day before the last own test replaced by mu_ref.

    Guarantee: no own test then weighs a message that is used, so F is affine in each message: the
    sensitivity is at most c·max κ̄ for any test history.
    """

    settings: DpfnSSettings
    setup: Setup

    def query(self, prepared: Any, public: PublicFacts, secret: SecretFacts, memory: Any) -> Query:
        """Return F without messages that own tests weigh."""
        statistic, lifetime = restarted(self.settings, self.setup, public, secret)
        mechanism = GaussianMechanism(
            name="score without messages from before the last own test (sensitivity p1·γ)",
            multiplier=self.setup.target.multiplier(lifetime),
            lifetime=lifetime,
            noise=self.setup.noise,
            purpose=_PURPOSE,
        )
        return Query(mechanism=mechanism, statistic=statistic)

    def decode(self, noisy: Floats, prepared: Any, public: PublicFacts) -> Floats:
        """Return the noisy score."""
        return noisy[0]


def restarted(
    settings: BeliefSettings, setup: Setup, public: PublicFacts, secret: SecretFacts
) -> tuple[Bounded, Lifetime]:
    """Return the statistic of `restart`, and how a contact spends over its releases."""
    with_exposed = settings.score.counts_exposed
    bound = np.array(
        sensitivity.two_sided_decay(
            public.parameters, window=setup.window_days, with_exposed=with_exposed
        )
    )
    top = float(bound.max())
    # Days without influence are dropped, too: rounding must not let them through without noise.
    matters = bound[: public.n_days][::-1, None] > 0.0
    usable = sensitivity.usable_days(public.outcomes) & matters
    exposures = clipped_exposures(settings, setup, public, secret)
    exposures = np.where(usable, exposures, reference_exposures(settings, public))
    received = (usable & (public.counts > 0)).any(axis=0)
    reach = sensitivity.message_reach(public.parameters.p1, settings.gamma) * top
    statistic = Bounded(
        values=score_of(settings, public, exposures),
        sensitivity=np.where(received, sensitivity.above_rounding(reach * (1.0 + 1e-9)), 0.0),
    )
    return statistic, Lifetime(shares=tuple(bound / top if top else bound), joint=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsPublished(PrivateMethod):
    """Release F with noise for p1·γ, clipped to [0, γ], and record how far off that is.

    Guarantee: none. The noise is calibrated for a sensitivity that own tests break; events say by
    how much.
    """

    settings: DpfnSSettings
    setup: Setup

    def query(self, prepared: Any, public: PublicFacts, secret: SecretFacts, memory: Any) -> Query:
        """Return F with the published sensitivity."""
        lifetime = renewed_lifetime(
            window=self.setup.window_days, score=self.settings.score, joint=True
        )
        mechanism = GaussianMechanism(
            name="score, with noise for a sensitivity of p1·γ that own tests break",
            multiplier=self.setup.target.multiplier(lifetime),
            lifetime=lifetime,
            noise=self.setup.noise,
            purpose=_PURPOSE,
        )
        return Query(
            mechanism=mechanism,
            statistic=published_statistic(self.settings, self.setup, public, secret),
            unproven=unproven_event(self.settings, public, mechanism),
        )

    def decode(self, noisy: Floats, prepared: Any, public: PublicFacts) -> Floats:
        """Clip the noisy score to [0, γ]."""
        return np.clip(noisy[0], 0.0, self.settings.gamma)


def published_statistic(
    settings: BeliefSettings, setup: Setup, public: PublicFacts, secret: SecretFacts
) -> Bounded:
    """Return F with the sensitivity that Theorem 1 states, p1·γ."""
    scores = score_of(settings, public, clipped_exposures(settings, setup, public, secret))
    c = sensitivity.message_reach(public.parameters.p1, settings.gamma)
    return Bounded(values=scores, sensitivity=np.full(scores.shape, c))


def unproven_event(
    settings: BeliefSettings,
    public: PublicFacts,
    mechanism: GaussianMechanism,
    *,
    added: Floats | None = None,
) -> UnprovenEvent:
    """Return the nominal event with the ratios of true to stated sensitivity of the day.

    `added` is the sensitivity of another, proved part of the score, float64 [people], which the
    noise allows for as well: it can work against F (which reduces the attained change by that much)
    or with it (which raises the bound by that much).
    """
    c = sensitivity.message_reach(public.parameters.p1, settings.gamma)
    attained, bound = _true_sensitivities(settings, public)
    stated = np.full(bound.shape, c if c > 0.0 else 1.0)
    if added is not None:
        stated += added
        attained, bound = np.maximum(attained - added, 0.0), bound + added
    ratios, people = np.unique(np.ceil(100.0 * attained / stated) / 100.0, return_counts=True)
    return UnprovenEvent(
        day=public.day,
        mechanism=mechanism.name,
        mu=1.0 / mechanism.multiplier,
        lifetime=mechanism.lifetime,
        attained=tuple(zip(ratios.tolist(), people.tolist(), strict=True)),
        attained_worst=float((attained / stated).max()),
        bound_worst=float((bound / stated).max()),
        noise=mechanism.noise.name,
    )


def _true_sensitivities(settings: BeliefSettings, public: PublicFacts) -> tuple[Floats, Floats]:
    """Return the attained change of F through one message, and a bound: float64 [people] each."""
    model: dict[str, Any] = {
        "parameters": public.parameters,
        "test_errors": public.test_errors,
        "gamma": settings.gamma,
    }
    attained, _ = sensitivity.attained_change(
        public.outcomes, public.counts, with_exposed=settings.score.counts_exposed, **model
    )
    bound = sensitivity.history_bound(public.outcomes, public.counts, **model)
    bound[~public.counts.any(axis=0)] = 0.0  # nobody met, no message
    return attained, bound
