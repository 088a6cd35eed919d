"""The adversary game of the paper: what does a phone learn about a person it met?

The attacker installs the app, meets only the victim and watches their own score. Whether the victim
is infectious, in state I (message γ), or not (message 0) is a coin flip; the attacker guesses from
the scores. Co-attackers meet the same victim and pool their scores; on repeated days they meet
again.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dnatrace.errors import require_at_least

Floats = NDArray[np.float64]
Sample = Callable[[int, int], Floats]  # as in `dnatrace.privacy.audit`

_BINS = 60
_RIDGE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackResult:
    """How well the attacker did.

    Attributes:
        success: share of right guesses; 0.5 is a coin.
        true_positive_rate: infectious victims that were recognised.
        false_positive_rate: healthy victims that were accused.
        co_attackers: people who pooled their scores, the attacker included.
        days: on which they met the victim.
        draws: victims of each kind.
        limit: the most right guesses that the guarantee allows; 1 without one.
        edges: of the bins of what the attacker looked at, [bins + 1].
        histograms: victims by bin, [2, bins], healthy and infectious.
    """

    success: float
    true_positive_rate: float
    false_positive_rate: float
    co_attackers: int
    days: int
    draws: int
    limit: float
    edges: Floats
    histograms: NDArray[np.int64]

    @property
    def words(self) -> str:
        """The result in plain words."""
        who = "An attacker" if self.co_attackers == 1 else f"{self.co_attackers} attackers"
        meets = "meets" if self.co_attackers == 1 else "meet"
        often = "once" if self.days == 1 else f"on {self.days} days"
        sees = "watches their own score" if self.co_attackers == 1 else "pool their scores"
        return (
            f"{who} who {meets} only the victim {often} and {sees} "
            f"{'guesses' if self.co_attackers == 1 else 'guess'} right "
            f"{100 * self.success:.1f} times in 100 whether the victim is infectious; "
            f"a coin is right 50 times. "
            + (
                f"The guarantee allows at most {100 * self.limit:.1f}."
                if self.limit < 1.0
                else "No guarantee limits them."
            )
        )

    def draw(self, path: Path) -> None:
        """Draw both histograms into a file; the less they overlap, the more the attacker knows."""
        from matplotlib.figure import Figure  # noqa: PLC0415  (slow to import, rarely needed)

        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.subplots()
        for counts, name in zip(self.histograms, ("healthy", "infectious"), strict=True):
            axes.stairs(
                counts / self.draws, self.edges, label=f"victim {name}", fill=True, alpha=0.5
            )
        axes.set_xlabel("what the attacker sees (best combination of their scores)")
        axes.set_ylabel("share of attacks")
        axes.set_title(f"right {100 * self.success:.1f} times in 100; a coin: 50")
        axes.legend()
        figure.savefig(path)


def attack(
    sample: Sample,
    *,
    draws: int = 100_000,
    co_attackers: int = 1,
    days: int = 1,
    epsilon: float | None = None,
    delta: float = 1e-3,
    mu: float | None = None,
) -> AttackResult:
    """Play the game `draws` times against each kind of victim.

    Args:
        sample: releases seen by all attackers together, [draws, scores]; world 1 is infectious.
        draws: victims of each kind; half as many more fix the rule of the attacker beforehand.
        co_attackers: how many people `sample` pools, for the words.
        days: on how many days they met the victim, for the words.
        epsilon: what is claimed for everything the attackers see; None for no claim.
        delta: of the claim.
        mu: the same claim as a parameter of Gaussian privacy, which limits the attackers more
            tightly (`dnatrace.methods.adversary.AdversaryGame.pooled_mu`); None for no such claim.
    """
    require_at_least("draws", draws, 100)
    trial = [_matrix(sample(world, draws // 2)) for world in (0, 1)]
    direction = _discriminant(trial)
    threshold = _best_threshold(*(releases @ direction for releases in trial))
    healthy, infectious = (_matrix(sample(world, draws)) @ direction for world in (0, 1))
    hit = float(np.mean(infectious > threshold))
    false_alarm = float(np.mean(healthy > threshold))
    edges = np.histogram_bin_edges(np.concatenate([healthy, infectious]), bins=_BINS)
    histograms = np.stack([np.histogram(seen, edges)[0] for seen in (healthy, infectious)])
    return AttackResult(
        success=(1.0 + hit - false_alarm) / 2.0,
        true_positive_rate=hit,
        false_positive_rate=false_alarm,
        co_attackers=co_attackers,
        days=days,
        draws=draws,
        limit=min(success_limit(epsilon, delta), gaussian_success_limit(mu)),
        edges=edges,
        histograms=histograms,
    )


def success_limit(epsilon: float | None, delta: float) -> float:
    """Return the most right guesses, of two equally likely cases, that (ε, δ) allows.

    Guarantee: the advantage of any test is at most (exp(ε) - 1 + 2δ)/(exp(ε) + 1) (Kairouz, Oh and
    Viswanath 2015, "The composition theorem for differential privacy").
    """
    if epsilon is None or math.isinf(epsilon):
        return 1.0
    shrunk = math.exp(-epsilon)
    return 0.5 + 0.5 * (1.0 - shrunk + 2.0 * delta * shrunk) / (1.0 + shrunk)


def gaussian_success_limit(mu: float | None) -> float:
    """Return the most right guesses, of two equally likely cases, that μ allows.

    Guarantee: no test tells the cases apart better than N(0, 1) from N(μ, 1), whose best test is
    right with probability Φ(μ/2) (Dong, Roth and Su 2022).
    """
    return 1.0 if mu is None else float(ndtr(mu / 2.0))


def _matrix(releases: Floats) -> Floats:
    return releases[:, None] if releases.ndim == 1 else releases


def _discriminant(trial: list[Floats]) -> Floats:
    """Return the combination of scores that tells the victims apart best (Fisher 1936)."""
    difference = trial[1].mean(axis=0) - trial[0].mean(axis=0)
    spread = np.atleast_2d((np.cov(trial[0].T) + np.cov(trial[1].T)) / 2.0)
    ridge = _RIDGE * float(np.trace(spread)) + 1e-300
    return np.asarray(np.linalg.solve(spread + ridge * np.eye(len(spread)), difference))


def _best_threshold(healthy: Floats, infectious: Floats) -> float:
    candidates = np.unique(
        np.quantile(np.concatenate([healthy, infectious]), np.linspace(0, 1, 401))
    )
    below = [np.searchsorted(np.sort(v), candidates, side="right") for v in (healthy, infectious)]
    return float(candidates[int(np.argmax(below[0] - below[1]))])
