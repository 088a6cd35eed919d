"""DNA: the score of DPFN-S plus a network of certified sensitivity, under one draw of noise.

Reference: Romijnders et al., "DNA: Differentially private Neural Augmentation for contact tracing",
Algorithm 1. The network G reads the messages of the window and public facts; its certificate bounds
what one of C messages can change by γ·L/C. docs/guarantees.md has the proofs.
"""

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.methods.base import DayFacts, Needs
from dnatrace.methods.dpfn_s import DpfnS, DpfnSRelease, restarted, shrinkage, unproven_event
from dnatrace.methods.settings import require_messages
from dnatrace.networks.architecture import WINDOW, Variant
from dnatrace.networks.inputs import quantise
from dnatrace.networks.runtime import Model, PublicView
from dnatrace.privacy import sensitivity
from dnatrace.privacy.accounting import Lifetime
from dnatrace.privacy.budget_filter import linear_statistic
from dnatrace.privacy.mechanisms import GaussianMechanism, publish_unproven
from dnatrace.privacy.release import Bounded, Released

_PURPOSE = "noise/dna"
_ROUNDING = 1e-9  # relative, as for exposures
_LOG = logging.getLogger(__name__)
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dna:
    """Noise on one score a person: a statistic of the belief plus p1·G.

    Guarantee: `linear` and `restart` are (ε, δ)-private for the unit of the target, whatever the
    own tests. One message is in both parts, so their sensitivities add up: Δ = Δ_F + p1·γ'·L/C,
    where C counts the messages of the window, L is the certified bound, and γ' is the smaller of
    the method's and the network's γ (messages are clipped at both, and rounded to the network's
    levels). C, own tests, counts and age group are public, and so is Δ.
    A message counts in G from its first day on, also on days when F does not know it yet, so it
    reaches as many releases as the window has days; every one of them has noise for the whole Δ.
    Contacts and pairs are calibrated by that number, without a filter: a filter needs the weight
    of every message, and a network has none to read off.
    `as_published` is Algorithm 1. Its Δ_F is the one that own tests break; its events say by how
    much.
    Edge cases: people without contacts depend on no message and get no noise. A window longer than
    the network's is refused. A network that was trained with another score than the released one
    is no error, since nothing proved depends on it, but a line in the log.

    Attributes:
        belief: F, its release, and everything about noise.
        model: the network; one that was trained together with F.
    """

    belief: DpfnS
    model: Model

    def __post_init__(self) -> None:
        variant = self.model.architecture.variant
        if variant is not Variant.COMBINED:
            raise InputError(
                f"model '{self.model.name}' is of the variant '{variant}'; dna adds a network to F "
                "and needs one that was trained so ('combined')"
            )
        if self.belief.window_days > WINDOW:
            raise InputError(
                f"a window of {self.belief.window_days} days: the networks of dna read {WINDOW}"
            )
        if self.belief.with_exposed != self.model.with_exposed:
            _warn_of_another_score(self.model.name, self.model.with_exposed)

    @property
    def needs(self) -> Needs:
        """Messages of the last round."""
        return Needs.MESSAGES

    @property
    def sound(self) -> bool:
        """Whether the release is proved with own tests."""
        return self.belief.sound

    @property
    def lifetime(self) -> Lifetime:
        """A contact is in as many releases as the window has days, each with noise of its own."""
        return Lifetime(shares=(1.0,) * self.belief.window_days, joint=True)

    def start(self, n_people: int) -> None:
        """Return the state before the first day: nothing is kept."""
        return

    def release(self, facts: DayFacts, state: None) -> tuple[Released, None]:
        """Return the noisy score of everybody."""
        return _VARIANTS[self.belief.release_kind](self, facts), None

    def look(self, facts: DayFacts) -> PublicView:
        """Return the network given the public facts of the day."""
        return self.model.look(facts.outcomes, facts.window.counts, facts.age_groups)

    def augment(self, facts: DayFacts, view: PublicView, statistic: Bounded) -> Bounded:
        """Return statistic + p1·G with its sensitivity."""
        p1 = facts.parameters.p1
        messages = require_messages(facts, self.belief.window_days)
        clipped = np.minimum(messages, np.float32(self.belief.gamma))
        return Bounded(
            values=statistic.values + p1 * view.scores(facts.window, clipped),
            sensitivity=statistic.sensitivity + self.reach(facts, view),
        )

    def reach(self, facts: DayFacts, view: PublicView) -> Floats:
        """Return p1·γ'·L/C, the most one message moves p1·G; 0 without messages: [people]."""
        ceiling = np.array([[self.belief.gamma]], dtype=np.float32)
        top = float(self.model.grid[quantise(ceiling, self.model.grid)[0, 0]])
        most = facts.parameters.p1 * top * self.model.lipschitz * (1.0 + _ROUNDING)
        counts = view.n_messages
        return np.where(counts > 0, most / np.maximum(counts, 1), 0.0)

    def mechanism(self, name: str) -> GaussianMechanism:
        """Return the noise of one release."""
        certified = f"p1·γ·{self.model.lipschitz:.7g}/C"
        return GaussianMechanism(
            name=f"{name} plus a network of certified sensitivity {certified}",
            multiplier=self.belief.target.multiplier(self.lifetime),
            lifetime=self.lifetime,
            noise=self.belief.noise,
            purpose=_PURPOSE,
        )


@lru_cache(maxsize=64)  # one line a model, however often the method is built
def _warn_of_another_score(model: str, with_exposed: bool) -> None:
    names = ("P(I)", "P(E) + P(I)")
    _LOG.warning(
        "warning: model '%s' was trained to augment %s; this run releases %s with it",
        model,
        names[with_exposed],
        names[not with_exposed],
    )


class _Variant(Protocol):
    def __call__(self, method: Dna, facts: DayFacts) -> Released: ...


def _linear(method: Dna, facts: DayFacts) -> Released:
    """Release F to first order around public exposures, plus p1·G.

    The public part, F and G with every message at mu_ref, is not shrunk.
    """
    belief, counts = method.belief, facts.window.counts
    reference = belief.reference(facts, counts)
    form = belief.form(facts, reference)
    reach = sensitivity.exposure_reach(facts.parameters.p1, belief.gamma)
    mechanism = method.mechanism("score to first order around public exposures")
    first_order = linear_statistic(
        form,
        np.subtract(belief.exposures(facts), reference, out=reference),
        counts,
        np.zeros(counts.shape),
        reach=reach,
        mu=1.0 / mechanism.multiplier,
        budget=None,
    )
    view = method.look(facts)
    statistic = method.augment(facts, view, first_order)
    public = form.scores + facts.parameters.p1 * view.reference(belief.mu_ref)
    noise = mechanism.multiplier * statistic.sensitivity
    # max|w|, public; when nothing is transmitted no message weighs anything
    weight = first_order.sensitivity / reach if reach > 0.0 else np.zeros(noise.shape)
    some = weight > 0.0
    relative = np.divide(noise, weight, out=np.full(noise.shape, np.inf), where=some)
    kept = np.where(some | (belief.rho is None), shrinkage(belief.rho, relative), 0.0)
    return mechanism.release(
        statistic, day=facts.day, decode=lambda noisy: public + kept * (noisy - public)
    )


def _restart(method: Dna, facts: DayFacts) -> Released:
    """Release F without messages from before the last own test, plus p1·G of all messages."""
    statistic, _ = restarted(method.belief, facts)
    mechanism = method.mechanism("score without messages from before the last own test")
    return mechanism.release(method.augment(facts, method.look(facts), statistic), day=facts.day)


def _as_published(method: Dna, facts: DayFacts) -> Released:
    """Release F + p1·G with noise for p1·γ·(1 + L/C), clipped to [0, γ]: Algorithm 1."""
    belief = method.belief
    scores = belief.belief(facts, belief.exposures(facts))
    c = sensitivity.message_reach(facts.parameters.p1, belief.gamma)
    view = method.look(facts)
    mechanism = method.mechanism(
        "score, with noise for a sensitivity of p1·γ that own tests break,"
    )
    statistic = Bounded(values=scores, sensitivity=np.full(scores.shape, c))
    event = unproven_event(belief, facts, mechanism, added=method.reach(facts, view))
    return publish_unproven(
        method.augment(facts, view, statistic),
        mechanism,
        event,
        day=facts.day,
        decode=lambda noisy: np.clip(noisy, 0.0, belief.gamma),
    )


_VARIANTS: dict[DpfnSRelease, _Variant] = {
    DpfnSRelease.LINEAR: _linear,
    DpfnSRelease.RESTART: _restart,
    DpfnSRelease.AS_PUBLISHED: _as_published,
}
