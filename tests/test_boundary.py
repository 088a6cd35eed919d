"""The trust boundary: what is called public is, and what was checked cannot be changed."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import dnatrace as dt
from dnatrace.methods.base import Needs, Setup
from dnatrace.methods.kinds import PrivateMethod, Query
from dnatrace.privacy import mechanisms
from dnatrace.privacy.accounting import Lifetime
from dnatrace.privacy.mechanisms import GaussianMechanism
from dnatrace.privacy.release import Bounded, TrustBoundaryError
from dnatrace.runs.run import run

from .private_methods import ONE

SMALL = {"people": 60, "days": 3, "initially_infected": 10}


@dataclass(frozen=True)
class CallsItPublic:
    """Publishes a secret as public, of today or of the day before."""

    needs: Needs
    secret: str
    late: bool = False

    def start(self, n_people):
        return np.zeros(n_people)

    def release(self, public, secret, state):
        shown = getattr(secret, self.secret)
        shown = np.atleast_2d(shown if self.secret != "window" else shown.counts)
        shown = shown.sum(axis=0).astype(float)
        scores = state if self.late else shown
        return mechanisms.publish_public(scores, day=public.day), shown


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("needs", "secret"),
    [
        (Needs.TRUTH, "states"),
        (Needs.MESSAGES, "messages"),
        (Needs.EXPOSURES, "exposures"),
        (Needs.NOTHING, "window"),
    ],
)
def test_a_secret_is_not_published_as_public(needs, secret, late):
    with pytest.raises(TrustBoundaryError, match="are called public"):
        run(dt.RunConfig(**SMALL | {"days": 6}), method=CallsItPublic(needs, secret, late))


@dataclass(frozen=True)
class NoisesNothing(PrivateMethod):
    """Puts messages aside in `query` and shows them after the noise that there is not."""

    setup: Setup = field(default_factory=lambda: Setup(target=ONE))
    aside: list = field(default_factory=list)

    def query(self, prepared, public, secret, memory):
        self.aside.append(secret.messages[-1].astype(float))
        mechanism = GaussianMechanism(
            name="nothing",
            multiplier=1.0,
            lifetime=Lifetime(shares=(1.0,), joint=True),
            noise=self.setup.noise,
            purpose="noise/nothing",
        )
        return Query(mechanism=mechanism, statistic=None)

    def decode(self, noisy, prepared, public):
        return self.aside[-1]


def test_nothing_noised_is_nothing_shown():
    with pytest.raises(TrustBoundaryError, match="are called public"):
        run(dt.RunConfig(**SMALL), method=NoisesNothing())


@pytest.mark.parametrize("name", ["public-only", "random", "tally", "dpfn", "per-message"])
def test_what_is_public_may_be_called_so(name):
    """Also on first days, on which private methods have nothing to noise."""
    result = run(dt.RunConfig(**SMALL | {"days": 4}, method=name))
    assert result.summary["privacy"]["sound"]


def test_a_bounded_statistic_cannot_be_changed_after_its_check():
    values, sensitivity = np.zeros(3), np.ones(3)
    bounded = Bounded(values=values, sensitivity=sensitivity)
    values[0], sensitivity[0] = np.nan, -1.0
    assert bounded.values.tolist() == [0.0, 0.0, 0.0]
    assert bounded.sensitivity.tolist() == [1.0, 1.0, 1.0]
    for array in (bounded.values, bounded.sensitivity):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0
