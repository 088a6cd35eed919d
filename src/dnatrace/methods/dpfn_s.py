"""DPFN-S (level 3): noise on the score itself.

Reference: Romijnders et al., "DNA: Differentially private Neural Augmentation for contact tracing",
Theorem 1. The theorem holds without own tests only; docs/guarantees.md has the proofs of the
releases that allow own tests, and the counterexample to the published one.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.methods.base import DayFacts, Needs, Score
from dnatrace.methods.settings import choose, counts_exposed, renewed_lifetime, require_messages
from dnatrace.privacy import sensitivity
from dnatrace.privacy.accounting import PAIR_DAYS, Lifetime, Target, Unit, UnprovenEvent
from dnatrace.privacy.budget_filter import Spent, linear_statistic
from dnatrace.privacy.mechanisms import GaussianMechanism, publish_unproven
from dnatrace.privacy.noise import FastNoise, Noise
from dnatrace.privacy.release import Bounded, Released
from dnatrace.privacy.sensitivity import LinearForm

_PURPOSE = "noise/dpfn-s"
Floats = NDArray[np.float64]


class DpfnSRelease(StrEnum):
    """Which statistic is noised."""

    LINEAR = "linear"
    RESTART = "restart"
    AS_PUBLISHED = "as_published"


@dataclass(frozen=True, slots=True, kw_only=True)
class DpfnS:
    """Noise on one score a person.

    Guarantee: `linear` and `restart` are (ε, δ)-private for the unit of the target, whatever the
    own tests. `as_published` is not: its noise is made for a sensitivity that own tests break, and
    its events say by how much.
    Edge cases: people whose score depends on no message get no noise.

    Attributes:
        target: what the noise is calibrated for.
        release_kind: one of `DpfnSRelease`.
        score: which belief is released.
        gamma: messages are clipped to [0, gamma].
        mu_ref: message value around which `linear` expands and which `restart` puts in place of
            dropped messages; fixed on training seeds, never estimated from the run.
        rho: spread of exposures that the shrinkage of `linear` assumes; None for no shrinkage.
        window_days: the most days a contact stays in the window.
        noise: the back end.
    """

    target: Target
    release_kind: DpfnSRelease = DpfnSRelease.LINEAR
    score: Score = Score.EXPOSED_OR_INFECTED
    gamma: float = 0.2
    mu_ref: float = 0.005
    rho: float | None = 0.05
    window_days: int = 14
    noise: Noise = field(default_factory=lambda: FastNoise(seed=0))

    def __post_init__(self) -> None:
        kind = choose("release of dpfn-s", self.release_kind, DpfnSRelease)
        object.__setattr__(self, "release_kind", kind)
        object.__setattr__(self, "score", choose("score", self.score, Score))
        sensitivity.require_gamma(self.gamma)
        sensitivity.require_reference(self.mu_ref)
        if self.rho is not None and not 0.0 < self.rho < np.inf:
            raise InputError(f"rho must be a positive number, not {self.rho}")

    @property
    def needs(self) -> Needs:
        """Messages of the last round."""
        return Needs.MESSAGES

    @property
    def sound(self) -> bool:
        """Whether the release is proved with own tests."""
        return self.release_kind is not DpfnSRelease.AS_PUBLISHED

    @property
    def with_exposed(self) -> bool:
        """Whether the score is P(E) + P(I)."""
        return counts_exposed(self.score)

    def start(self, n_people: int) -> Any:
        """Return the state before the first day."""
        return _VARIANTS[self.release_kind].start()

    def release(self, facts: DayFacts, state: Any) -> tuple[Released, Any]:
        """Return the noisy score of everybody."""
        return _VARIANTS[self.release_kind].release(self, facts, state)

    def exposures(self, facts: DayFacts) -> Floats:
        """Return the exposures of the window, messages clipped before the logarithm."""
        messages = require_messages(facts, self.window_days)
        return sensitivity.clipped_exposures(
            facts.window, messages, p1=facts.parameters.p1, gamma=self.gamma
        )

    def reference(self, facts: DayFacts, counts: NDArray[Any]) -> Floats:
        """Return the public exposures, every message at `mu_ref`."""
        p1 = facts.parameters.p1
        return sensitivity.reference_exposures(counts, p1=p1, mu_ref=self.mu_ref)

    def belief(self, facts: DayFacts, exposures: Floats) -> Floats:
        """Return F."""
        return sensitivity.last_day_scores(
            exposures,
            facts.outcomes,
            parameters=facts.parameters,
            test_errors=facts.test_errors,
            with_exposed=self.with_exposed,
        )

    def form(self, facts: DayFacts, exposures: Floats) -> LinearForm:
        """Return F and its derivatives at the given exposures."""
        return sensitivity.linear_form(
            exposures,
            facts.outcomes,
            parameters=facts.parameters,
            test_errors=facts.test_errors,
            with_exposed=self.with_exposed,
        )


class _Variant(Protocol):
    def start(self) -> Any: ...
    def release(self, method: DpfnS, facts: DayFacts, state: Any) -> tuple[Released, Any]: ...


class _Linear:
    """Release F to first order around public exposures.

    The statistic is F(x_ref) + Σ w_t·(x_t - x_ref,t) with public weights, so its sensitivity is
    exactly s·max|w_t| over days with contacts. Calibrated to contacts or pairs it is a filter:
    every contact day has a budget, and a day weighs what its budget still allows, in the end 0.
    """

    def start(self) -> Spent:
        return Spent()

    def release(self, method: DpfnS, facts: DayFacts, state: Spent) -> tuple[Released, Spent]:
        window, counts = facts.window, facts.window.counts
        reference = method.reference(facts, counts)
        form = method.form(facts, reference)
        mechanism = _linear_mechanism(method, facts)
        reach = sensitivity.exposure_reach(facts.parameters.p1, method.gamma)
        squares = state.aligned(
            first_day=window.first_day, n_days=len(window), n_people=window.n_people
        )
        statistic = linear_statistic(
            form,
            np.subtract(method.exposures(facts), reference, out=reference),
            counts,
            squares,
            reach=reach,
            mu=1.0 / mechanism.multiplier,
            budget=mechanism.budget,
        )
        shrink = shrinkage(method.rho, mechanism.multiplier * reach)
        released = mechanism.release(
            statistic,
            day=facts.day,
            decode=lambda noisy: form.scores + shrink * (noisy - form.scores),
            spent=float(np.sqrt(squares.max())),
        )
        return released, Spent(first_day=window.first_day, squares=squares)


def _linear_mechanism(method: DpfnS, facts: DayFacts) -> GaussianMechanism:
    """Return the noise of one release, and the budget of a contact when the unit asks for one.

    A filter may use any plan for a single release. This one is the natural decay of a message: a
    contact without own tests around it has then spent its budget when it leaves the window.
    """
    window, exposed, target = method.window_days, method.with_exposed, method.target
    multiplier, budget = 1.0 / target.mu, None
    kappa = sensitivity.decay(facts.parameters, window=window, with_exposed=exposed)
    if target.unit is not Unit.RELEASE and max(kappa) > 0.0:  # else no message ever matters
        plan = Lifetime(shares=tuple(k / max(kappa) for k in kappa), joint=True)
        budget = target.mu if target.unit is Unit.CONTACT else target.mu / PAIR_DAYS
        multiplier = plan.contact_factor / budget
    return GaussianMechanism(
        name=(
            "score to first order around public exposures "
            f"(messages clipped to [0, {method.gamma:g}], sensitivity s·max|w|)"
        ),
        multiplier=multiplier,
        lifetime=renewed_lifetime(window=window, with_exposed=exposed, joint=True),
        noise=method.noise,
        purpose=_PURPOSE,
        budget=budget,
    )


def shrinkage(rho: float | None, relative_noise: Any) -> Any:
    """Return λ = v/(v + σ²) with v = (ρ·max|w|)² and σ = relative_noise·max|w|, also by person."""
    if rho is None:
        return 1.0
    return rho * rho / (rho * rho + relative_noise * relative_noise)


class _Restart:
    """Release F with messages older than the day before the last own test replaced by mu_ref.

    No own test then weighs a message that is used, so F is affine in each: sensitivity at most
    c·max κ̄ for any test history.
    """

    def start(self) -> None:
        return None

    def release(self, method: DpfnS, facts: DayFacts, state: None) -> tuple[Released, None]:
        statistic, lifetime = restarted(method, facts)
        mechanism = GaussianMechanism(
            name="score without messages from before the last own test (sensitivity p1·γ)",
            multiplier=method.target.multiplier(lifetime),
            lifetime=lifetime,
            noise=method.noise,
            purpose=_PURPOSE,
        )
        return mechanism.release(statistic, day=facts.day), None


def restarted(method: DpfnS, facts: DayFacts) -> tuple[Bounded, Lifetime]:
    """Return the statistic of `restart`, and how a contact spends over its releases."""
    bound = np.array(
        sensitivity.two_sided_decay(
            facts.parameters, window=method.window_days, with_exposed=method.with_exposed
        )
    )
    top = float(bound.max())
    counts = facts.window.counts
    # Days without influence leave, too: rounding must not let them through without noise.
    matters = bound[: len(facts.window)][::-1, None] > 0.0
    usable = sensitivity.usable_days(facts.outcomes) & matters
    exposures = np.where(usable, method.exposures(facts), method.reference(facts, counts))
    heard = (usable & (counts > 0)).any(axis=0)
    reach = sensitivity.message_reach(facts.parameters.p1, method.gamma) * top
    statistic = Bounded(
        values=method.belief(facts, exposures),
        sensitivity=np.where(heard, reach * (1.0 + 1e-9), 0.0),
    )
    return statistic, Lifetime(shares=tuple(bound / top if top else bound), joint=True)


class _AsPublished:
    """Release F with noise for p1·γ, clipped to [0, γ], and record how far off that is."""

    def start(self) -> None:
        return None

    def release(self, method: DpfnS, facts: DayFacts, state: None) -> tuple[Released, None]:
        lifetime = renewed_lifetime(
            window=method.window_days, with_exposed=method.with_exposed, joint=True
        )
        mechanism = GaussianMechanism(
            name="score, with noise for a sensitivity of p1·γ that own tests break",
            multiplier=method.target.multiplier(lifetime),
            lifetime=lifetime,
            noise=method.noise,
            purpose=_PURPOSE,
        )
        scores = method.belief(facts, method.exposures(facts))
        c = sensitivity.message_reach(facts.parameters.p1, method.gamma)
        released = publish_unproven(
            Bounded(values=scores, sensitivity=np.full(scores.shape, c)),
            mechanism,
            unproven_event(method, facts, mechanism),
            day=facts.day,
            decode=lambda noisy: np.clip(noisy, 0.0, method.gamma),
        )
        return released, None


def unproven_event(
    method: DpfnS, facts: DayFacts, mechanism: GaussianMechanism, *, added: Floats | None = None
) -> UnprovenEvent:
    """Return the nominal event with the ratios of true to stated sensitivity of the day.

    `added` is the sensitivity of another, proved part of the score, float64 [people], which the
    noise allows for as well: it can work against F (the attained change is less by it) and with it
    (the bound is more by it).
    """
    counts = facts.window.counts
    c = sensitivity.message_reach(facts.parameters.p1, method.gamma)
    attained, _ = sensitivity.attained_change(
        facts.outcomes,
        counts,
        parameters=facts.parameters,
        test_errors=facts.test_errors,
        gamma=method.gamma,
        with_exposed=method.with_exposed,
    )
    bound = sensitivity.history_bound(
        facts.outcomes,
        counts,
        parameters=facts.parameters,
        test_errors=facts.test_errors,
        gamma=method.gamma,
    )
    bound[~counts.any(axis=0)] = 0.0  # nobody met, no message
    stated = np.full(bound.shape, c if c > 0.0 else 1.0)
    if added is not None:
        stated += added
        attained, bound = np.maximum(attained - added, 0.0), bound + added
    ratios, people = np.unique(np.ceil(100.0 * attained / stated) / 100.0, return_counts=True)
    return UnprovenEvent(
        day=facts.day,
        mechanism=mechanism.name,
        mu=1.0 / mechanism.multiplier,
        lifetime=mechanism.lifetime,
        attained=tuple(zip(ratios.tolist(), people.tolist(), strict=True)),
        attained_worst=float((attained / stated).max()),
        bound_worst=float((bound / stated).max()),
    )


_VARIANTS: dict[DpfnSRelease, _Variant] = {
    DpfnSRelease.LINEAR: _Linear(),
    DpfnSRelease.RESTART: _Restart(),
    DpfnSRelease.AS_PUBLISHED: _AsPublished(),
}
