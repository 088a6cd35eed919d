"""Settings shared by several methods, and what private methods compute from them.

Notation as in `dnatrace.privacy.sensitivity`: F is the score of the last day, γ the clip.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dnatrace.inference import exposures as ex
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.methods.base import MethodSettings, PublicFacts, Score, SecretFacts, Setup
from dnatrace.privacy import sensitivity
from dnatrace.privacy.accounting import Lifetime
from dnatrace.privacy.sensitivity import LinearForm, first_age
from dnatrace.seir import State
from dnatrace.settings import PositiveShare, setting

Floats = NDArray[np.float64]
Reference = Annotated[float, Field(ge=0.0, lt=1.0)]

STUDY = "study on OpenABM-Covid19"
NAME = "tracing method"
RELEASE = "variant of the release; by default the sound one"


class ScoreSettings(MethodSettings):
    """A method that releases a belief."""

    score: Score = setting(Score.EXPOSED_OR_INFECTED, "which belief ranks people")


class ReferenceSettings(ScoreSettings):
    """A method that compares messages with an average contact."""

    mu_ref: Reference = setting(
        0.005,
        "message that stands for an average contact; fixed beforehand, never estimated",
        source=STUDY,
        called="reference_message",
    )


class ClippedSettings(ScoreSettings):
    """A method that clips messages."""

    gamma: PositiveShare = setting(
        0.2,
        "messages are clipped to [0, gamma]",
        source=f"{STUDY}; the paper does not state it",
    )

    @property
    def adds_noise(self) -> bool:
        """Whether scores have noise."""
        return True


def last_day_score(public: PublicFacts, exposures: NDArray[Any], score: Score) -> Floats:
    """Return the belief that ranks people, given exposures [days, people]."""
    beliefs = fn.last_day_beliefs(
        exposures,
        public.outcomes,
        parameters=public.parameters,
        test_errors=public.test_errors,
    )
    infected = beliefs[:, State.I]
    return infected if score is Score.INFECTED else infected + beliefs[:, State.E]


def clipped_exposures(
    settings: ClippedSettings, setup: Setup, public: PublicFacts, secret: SecretFacts
) -> Floats:
    """Return the exposures of the window, with messages clipped before the logarithm."""
    messages = setup.require_messages(public, secret)
    p1 = public.parameters.p1
    return ex.clipped_exposures(secret.window, messages, p1=p1, gamma=settings.gamma)


def reference_exposures(settings: ReferenceSettings, public: PublicFacts) -> Floats:
    """Return the public exposures, with every message at `mu_ref`."""
    p1 = public.parameters.p1
    return ex.reference_exposures(public.counts, p1=p1, mu_ref=settings.mu_ref)


def score_of(settings: ScoreSettings, public: PublicFacts, exposures: Floats) -> Floats:
    """Return F from the exposures of the first days of the window; later days have no effect."""
    padded = exposures
    if len(exposures) < public.n_days:
        padded = np.zeros((public.n_days, public.n_people))
        padded[: len(exposures)] = exposures
    return ex.last_day_scores(
        padded,
        public.outcomes,
        parameters=public.parameters,
        test_errors=public.test_errors,
        with_exposed=settings.score.counts_exposed,
    )


def form_of(settings: ScoreSettings, public: PublicFacts, exposures: Floats) -> LinearForm:
    """Return F and its derivatives at the given exposures."""
    return sensitivity.linear_form(
        exposures,
        public.outcomes,
        parameters=public.parameters,
        test_errors=public.test_errors,
        with_exposed=settings.score.counts_exposed,
    )


def renewed_lifetime(*, window: int, score: Score, joint: bool) -> Lifetime:
    """Return the spending of a contact whose message gets fresh noise in every release it reaches.

    That is one release per age, from the first age that matters to the end of the window.
    """
    first = first_age(score.counts_exposed)
    return Lifetime(shares=(0.0,) * first + (1.0,) * (window - first), joint=joint)
