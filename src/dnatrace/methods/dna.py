"""DNA: the score of DPFN-S plus a network of certified sensitivity, under one draw of noise.

Reference: Romijnders et al., "DNA: Differentially private Neural Augmentation for contact tracing",
Algorithm 1. The network G reads the messages of the window and public facts; its certificate bounds
by γ·L/C how much one of C messages can change it. docs/guarantees.md has the proofs.
"""

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from dnatrace.errors import InputError
from dnatrace.methods.base import Method, PublicFacts, SecretFacts, Setup
from dnatrace.methods.dpfn_s import (
    BeliefSettings,
    DpfnSRelease,
    Expansion,
    published_statistic,
    restarted,
    unproven_event,
)
from dnatrace.methods.kinds import Floats, PrivateMethod, Query
from dnatrace.methods.settings import NAME, clipped_exposures
from dnatrace.networks.architecture import WINDOW, Variant
from dnatrace.networks.inputs import quantise
from dnatrace.networks.runtime import DEFAULT_MODEL, Model, PublicView, load_model
from dnatrace.privacy import sensitivity
from dnatrace.privacy.accounting import Lifetime
from dnatrace.privacy.budget_filter import linear_statistic
from dnatrace.privacy.mechanisms import GaussianMechanism
from dnatrace.privacy.release import Bounded
from dnatrace.seir import SeirParameters
from dnatrace.settings import PositiveShare, setting

_PURPOSE = "noise/dna"
_ROUNDING = 1e-9  # relative, as for exposures
_LOG = logging.getLogger(__name__)


class DnaSettings(BeliefSettings):
    """Noise on the score plus a network."""

    counts_contacts: ClassVar[bool] = True
    person_day_bytes: ClassVar[float] = 80.0
    person_day_microseconds: ClassVar[float] = 2.6
    read_by_content: ClassVar[tuple[str, ...]] = ("model",)
    name: Literal["dna"] = setting("dna", NAME)
    model: str = setting(
        DEFAULT_MODEL,
        "network of `dna`: the name of a shipped one, or a path; `dna-paper` in `paper` and "
        "`paper-code`",
        source="docs/network.md",
    )
    network_weight: PositiveShare | None = setting(
        None,
        "factor of the network in the score; `seir.transmission_per_contact` if absent",
        source="DNA paper, Algorithm 1",
    )

    def weight(self, parameters: SeirParameters) -> float:
        """Return the factor of the network, p1 unless another one is set."""
        return parameters.p1 if self.network_weight is None else self.network_weight

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        kinds = {DpfnSRelease.LINEAR: Linear, DpfnSRelease.RESTART: Restart}
        augmentation = Augmentation(settings=self, setup=setup, model=load_model(self.model))
        return kinds.get(self.release, AsPublished)(augmented=augmentation, setup=setup)

    def fingerprint(self) -> str:
        """Return the digest of the network."""
        return load_model(self.model).certificate.digest

    @property
    def training(self) -> str:
        """Where the network comes from."""
        model = load_model(self.model)
        data = model.provenance.get("dataset", {})
        return (
            f"network '{model.name}', weights {model.certificate.digest}, trained on "
            f"{data.get('samples', 0):,} samples of simulated people (dataset "
            f"{data.get('digest', 'unknown')}): training has no privacy cost. Certified Lipschitz "
            f"bound {model.lipschitz:.7g}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """What the three releases share: w·G on top of a statistic of the belief, usually w = p1.

    Guarantee: one message is in both parts, so their sensitivities add up: Δ = Δ_F + w·γ'·L/C,
    where w is the weight of the network, C counts the messages of the window, L is the certified
    bound, and γ' is the smaller of the method's and the network's γ (messages are clipped at both,
    and rounded to the network's levels). C, own tests, counts and age group are public, and so is
    Δ.
    A message counts in G from its first day on, even on days when it does not enter F yet, so it
    reaches as many releases as the window has days; each of them has noise for the whole Δ.
    Contacts and pairs are calibrated by that number, without a filter: a filter needs the weight of
    every message, and a network has no weights that could be read off.
    Edge cases: people without contacts depend on no message and get no noise. A window longer than
    the network's is refused. A network that was trained with a score other than the released one is
    logged but not refused, since no proof depends on it.

    Attributes:
        settings: the settings of the method.
        setup: target, window and noise.
        model: the network, trained together with F.
    """

    settings: DnaSettings
    setup: Setup
    model: Model

    def __post_init__(self) -> None:
        variant = self.model.architecture.variant
        if variant is not Variant.COMBINED:
            raise InputError(
                f"model '{self.model.name}' is of the variant '{variant}'; dna adds a network to F "
                "and needs one that was trained so ('combined')"
            )
        if self.setup.window_days > WINDOW:
            raise InputError(
                f"a window of {self.setup.window_days} days: the networks of dna read {WINDOW}"
            )
        if self.settings.score.counts_exposed != self.model.with_exposed:
            _warn_of_another_score(self.model.name, self.model.with_exposed)

    @property
    def lifetime(self) -> Lifetime:
        """A contact is in as many releases as the window has days, each with its own noise."""
        return Lifetime(shares=(1.0,) * self.setup.window_days, joint=True)

    def look(self, public: PublicFacts) -> PublicView:
        """Return the network given the public facts of the day."""
        return self.model.look(public.outcomes, public.counts, public.age_groups)

    def augment(
        self, statistic: Bounded, view: PublicView, public: PublicFacts, secret: SecretFacts
    ) -> Bounded:
        """Return statistic + w·G with its sensitivity, w the weight of the network."""
        messages = self.setup.require_messages(public, secret)
        clipped = np.minimum(messages, np.float32(self.settings.gamma))
        added = self.settings.weight(public.parameters) * view.scores(secret.window, clipped)
        return Bounded(
            values=statistic.values + added,
            sensitivity=statistic.sensitivity + self.reach(public, view),
        )

    def reach(self, public: PublicFacts, view: PublicView) -> Floats:
        """Return w·γ'·L/C, the most that one message moves w·G; 0 without messages: [people]."""
        ceiling = np.array([[self.settings.gamma]], dtype=np.float32)
        top = float(self.model.grid[quantise(ceiling, self.model.grid)[0, 0]])
        weight = self.settings.weight(public.parameters)
        most = weight * top * self.model.lipschitz * (1.0 + _ROUNDING)
        counts = view.n_messages
        return np.where(counts > 0, most / np.maximum(counts, 1), 0.0)

    def mechanism(self, name: str) -> GaussianMechanism:
        """Return the noise of one release."""
        weight = self.settings.network_weight
        factor = "p1" if weight is None else f"{weight:g}"
        certified = f"{factor}·γ·{self.model.lipschitz:.7g}/C"
        return GaussianMechanism(
            name=f"{name} plus a network of certified sensitivity {certified}",
            multiplier=self.setup.target.multiplier(self.lifetime),
            lifetime=self.lifetime,
            noise=self.setup.noise,
            purpose=_PURPOSE,
        )


@lru_cache(maxsize=64)  # one line per model, however often the method is built
def _warn_of_another_score(model: str, with_exposed: bool) -> None:
    names = ("P(I)", "P(E) + P(I)")
    _LOG.warning(
        "warning: model '%s' was trained to augment %s; this run releases %s with it",
        model,
        names[with_exposed],
        names[not with_exposed],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear(PrivateMethod):
    """Release F to first order around public exposures, plus w·G.

    Guarantee: (ε, δ)-private for the unit of the target, whatever the own tests (`Augmentation`).
    The public part, that is F and G with every message at mu_ref, is not shrunk.
    """

    augmented: Augmentation
    setup: Setup

    def prepare(self, public: PublicFacts, remembered: Any) -> tuple[Expansion, PublicView]:
        """Expand F around public exposures and give the network the public facts."""
        return Expansion.at(self.augmented.settings, public), self.augmented.look(public)

    def query(
        self,
        prepared: tuple[Expansion, PublicView],
        public: PublicFacts,
        secret: SecretFacts,
        memory: Any,
    ) -> Query:
        """Return F to first order plus w·G."""
        (expansion, view), settings = prepared, self.augmented.settings
        mechanism = self._mechanism()
        exposures = clipped_exposures(settings, self.setup, public, secret)
        first_order = linear_statistic(
            expansion.form,
            exposures - expansion.reference,
            public.counts,
            np.zeros(public.counts.shape),
            reach=self._exposure_reach(public),
            mu=1.0 / mechanism.multiplier,
            budget=None,
        )
        statistic = self.augmented.augment(first_order, view, public, secret)
        return Query(mechanism=mechanism, statistic=statistic)

    def decode(
        self, noisy: Floats, prepared: tuple[Expansion, PublicView], public: PublicFacts
    ) -> Floats:
        """Shrink what messages add to the public part."""
        (expansion, view), settings = prepared, self.augmented.settings
        known = expansion.form.scores
        known = known + settings.weight(public.parameters) * view.reference(settings.mu_ref)
        reach = self._exposure_reach(public)
        weights = np.where(public.counts > 0, np.abs(expansion.form.weights), 0.0)
        largest = reach * weights.max(axis=0)  # the sensitivity of the first part, public
        noise = self._mechanism().multiplier * (largest + self.augmented.reach(public, view))
        # max|w|; when nothing is transmitted, no message has any weight
        weight = largest / reach if reach > 0.0 else np.zeros(noise.shape)
        some = weight > 0.0
        relative = np.divide(noise, weight, out=np.full(noise.shape, np.inf), where=some)
        kept = np.where(some | (settings.rho == 0.0), settings.shrinkage(relative), 0.0)
        return known + kept * (noisy[0] - known)

    def _mechanism(self) -> GaussianMechanism:
        return self.augmented.mechanism("score to first order around public exposures")

    def _exposure_reach(self, public: PublicFacts) -> float:
        return sensitivity.exposure_reach(public.parameters.p1, self.augmented.settings.gamma)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(PrivateMethod):
    """Release F without messages from before the last own test, plus w·G of all messages.

    Guarantee: (ε, δ)-private for the unit of the target, whatever the own tests (`Augmentation`).
    """

    augmented: Augmentation
    setup: Setup

    def query(self, prepared: Any, public: PublicFacts, secret: SecretFacts, memory: Any) -> Query:
        """Return F without messages that own tests weigh, plus w·G."""
        a = self.augmented
        statistic, _ = restarted(a.settings, a.setup, public, secret)
        return Query(
            mechanism=a.mechanism("score without messages from before the last own test"),
            statistic=a.augment(statistic, a.look(public), public, secret),
        )

    def decode(self, noisy: Floats, prepared: Any, public: PublicFacts) -> Floats:
        """Return the noisy score."""
        return noisy[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class AsPublished(PrivateMethod):
    """Release F + w·G with noise for γ·(p1 + w·L/C), clipped to [0, γ]: Algorithm 1 with w = p1.

    Guarantee: none. Own tests break its Δ_F; its events say by how much.
    """

    augmented: Augmentation
    setup: Setup

    def query(self, prepared: Any, public: PublicFacts, secret: SecretFacts, memory: Any) -> Query:
        """Return F + w·G with the published sensitivity."""
        a = self.augmented
        view = a.look(public)
        mechanism = a.mechanism("score, with noise for a sensitivity of p1·γ that own tests break,")
        statistic = published_statistic(a.settings, a.setup, public, secret)
        return Query(
            mechanism=mechanism,
            statistic=a.augment(statistic, view, public, secret),
            unproven=unproven_event(a.settings, public, mechanism, added=a.reach(public, view)),
        )

    def decode(self, noisy: Floats, prepared: Any, public: PublicFacts) -> Floats:
        """Clip the noisy score to [0, γ]."""
        return np.clip(noisy[0], 0.0, self.augmented.settings.gamma)
