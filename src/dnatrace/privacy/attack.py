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
from scipy.special import betaincinv, ndtr

from dnatrace.errors import require_between
from dnatrace.privacy.audit import MOST_DRAWS
from dnatrace.privacy.gaussian import EPSILON_RANGE, mu_of_budget

Floats = NDArray[np.float64]
Sample = Callable[[int, int], Floats]  # as in `dnatrace.privacy.audit`

_BINS = 60
_RIDGE = 1e-10
_INTERVAL = 0.95  # confidence of the interval of a success


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackResult:
    """How well the attacker did.

    Attributes:
        success: the share of right guesses; 0.5 for tossing a coin.
        success_interval: where the true share lies, with 95 % confidence.
        true_positive_rate: the share of infectious victims who were recognised.
        false_positive_rate: the share of healthy victims who were accused.
        co_attackers: how many people pooled their scores, including the attacker.
        days: on how many days they met the victim.
        draws: how many victims of each kind there were.
        limit: the largest share of right guesses that the guarantee allows; 1 without one.
        edges: the edges of the bins of what the attacker looked at, [bins + 1].
        histograms: numbers of victims by bin, [2, bins], healthy and infectious.
        reads: from how many releases later scores of the method are computed.
    """

    success: float
    success_interval: tuple[float, float]
    true_positive_rate: float
    false_positive_rate: float
    co_attackers: int
    days: int
    draws: int
    limit: float
    edges: Floats
    histograms: NDArray[np.int64]
    reads: int = 1

    @property
    def words(self) -> str:
        """The result in plain words."""
        who = "An attacker" if self.co_attackers == 1 else f"{self.co_attackers} attackers"
        meets = "meets" if self.co_attackers == 1 else "meet"
        often = "once" if self.days == 1 else f"on {self.days} days"
        sees = "watches their own score" if self.co_attackers == 1 else "pool their scores"
        low, high = self.success_interval
        return (
            f"{who} who {meets} only the victim {often} and {sees} "
            f"{'guesses' if self.co_attackers == 1 else 'guess'} right "
            f"{100 * self.success:.1f} times in 100 whether the victim is infectious "
            f"({100 * _INTERVAL:.0f} % interval {100 * low:.1f} to {100 * high:.1f}); "
            f"a coin is right 50 times. {self._beside_the_limit}{self._of_several}"
        )

    @property
    def _of_several(self) -> str:
        """What to add when scores are computed from several releases."""
        if self.reads == 1:
            return ""
        return (
            f" This is the first score alone; later ones are computed from up to {self.reads} "
            "releases and can reveal more: `dnatrace privacy statement` has that cost, and "
            "`dnatrace audit --world couple` plays all of them."
        )

    @property
    def _beside_the_limit(self) -> str:
        """What the guarantee allows, and what the difference from it means."""
        if self.limit >= 1.0:
            return (
                "No guarantee limits them, and with tests of their own they may learn more: "
                "`dnatrace audit --own-tests positive` plays that."
            )
        low, high = self.success_interval
        allowed = f"The guarantee allows at most {100 * self.limit:.1f}"
        if low > self.limit:
            return f"{allowed}: THEY EXCEED IT by more than chance."
        if high < self.limit:
            return f"{allowed}."
        return f"{allowed}; the difference is within the chance of {2 * self.draws:,} guesses."

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
        sample: draws the releases that all attackers see together, [draws, scores]; in world 1 the
            victim is infectious.
        draws: the number of victims of each kind; half as many more are drawn to fix the attacker's
            rule beforehand.
        co_attackers: how many people `sample` pools, for the wording.
        days: on how many days they met the victim, for the wording.
        epsilon: the ε claimed for everything the attackers see; None for no claim.
        delta: the δ of the claim.
        mu: the same claim as a parameter of Gaussian privacy, which limits the attackers more
            tightly (`dnatrace.methods.adversary.AdversaryGame.pooled_mu`); None for no such claim.
    """
    require_between("draws", draws, 100, MOST_DRAWS)
    trial = [_matrix(sample(world, draws // 2)) for world in (0, 1)]
    direction = discriminant(trial)
    threshold = best_threshold(*(releases @ direction for releases in trial))
    healthy, infectious = (_matrix(sample(world, draws)) @ direction for world in (0, 1))
    hit = float(np.mean(infectious > threshold))
    false_alarm = float(np.mean(healthy > threshold))
    right = int(np.count_nonzero(infectious > threshold) + np.count_nonzero(healthy <= threshold))
    edges = np.histogram_bin_edges(np.concatenate([healthy, infectious]), bins=_BINS)
    histograms = np.stack([np.histogram(seen, edges)[0] for seen in (healthy, infectious)])
    return AttackResult(
        success=(1.0 + hit - false_alarm) / 2.0,
        success_interval=exact_interval(right, 2 * draws),
        true_positive_rate=hit,
        false_positive_rate=false_alarm,
        co_attackers=co_attackers,
        days=days,
        draws=draws,
        limit=min(success_limit(epsilon, delta), gaussian_success_limit(mu)),
        edges=edges,
        histograms=histograms,
    )


def exact_interval(right: int, guesses: int, confidence: float = _INTERVAL) -> tuple[float, float]:
    """Return a confidence interval for the true share of right guesses.

    Guarantee: it covers with at least the stated confidence, even when the two kinds of victims are
    not equally easy: a sum of unequal chances spreads less than the binomial of their mean (Clopper
    and Pearson 1934; Hoeffding 1956).
    """
    tail = (1.0 - confidence) / 2.0
    low = betaincinv(right, guesses - right + 1, tail) if right > 0 else 0.0
    high = betaincinv(right + 1, guesses - right, 1.0 - tail) if right < guesses else 1.0
    return float(low), float(high)


def guessing_limit(epsilon: float | None, delta: float) -> float:
    """Return the largest share of right guesses that Gaussian noise worth (ε, δ) allows.

    Guarantee: it holds for guessing between two equally likely values of a message, for anybody who
    sees what ε is stated for. The whole curve of the noise counts, which limits guesses more
    tightly than its one point (ε, δ).
    Edge cases: 1 without a bound; outside the range of calibration only the point (ε, δ) counts.
    """
    limit = success_limit(epsilon, delta)
    if epsilon is None or not EPSILON_RANGE[0] <= epsilon <= EPSILON_RANGE[1]:
        return limit
    return min(limit, gaussian_success_limit(mu_of_budget(epsilon, delta)))


def in_a_hundred(share: float) -> str:
    """Return a share of right guesses as times in 100, rounded to distinguishable digits."""
    return "over 99.9" if share > 0.999 else f"{100 * share:.1f}"


def at_most(share: float) -> str:
    """Return in words how often a guess is right, at most."""
    return "nearly always" if share > 0.999 else f"at most {in_a_hundred(share)} times in 100"


def success_limit(epsilon: float | None, delta: float) -> float:
    """Return the largest share of right guesses between two equally likely cases under (ε, δ).

    Guarantee: the advantage of any test is at most (exp(ε) - 1 + 2δ)/(exp(ε) + 1) (Kairouz, Oh and
    Viswanath 2015, "The composition theorem for differential privacy").
    """
    if epsilon is None or math.isinf(epsilon):
        return 1.0
    shrunk = math.exp(-epsilon)
    return 0.5 + 0.5 * (1.0 - shrunk + 2.0 * delta * shrunk) / (1.0 + shrunk)


def gaussian_success_limit(mu: float | None) -> float:
    """Return the largest share of right guesses between two equally likely cases under μ.

    Guarantee: no test distinguishes the cases better than N(0, 1) from N(μ, 1), for which the best
    test is right with probability Φ(μ/2) (Dong, Roth and Su 2022).
    """
    return 1.0 if mu is None else float(ndtr(mu / 2.0))


def _matrix(releases: Floats) -> Floats:
    return releases[:, None] if releases.ndim == 1 else releases


def discriminant(trial: list[Floats]) -> Floats:
    """Return the combination of scores that separates the victims best (Fisher 1936)."""
    difference = trial[1].mean(axis=0) - trial[0].mean(axis=0)
    spread = np.atleast_2d((np.cov(trial[0].T) + np.cov(trial[1].T)) / 2.0)
    ridge = _RIDGE * float(np.trace(spread)) + 1e-300
    return np.asarray(np.linalg.solve(spread + ridge * np.eye(len(spread)), difference))


def best_threshold(healthy: Floats, infectious: Floats) -> float:
    """Return the threshold above which calling a victim infectious is right most often."""
    candidates = np.unique(
        np.quantile(np.concatenate([healthy, infectious]), np.linspace(0, 1, 401))
    )
    below = [np.searchsorted(np.sort(v), candidates, side="right") for v in (healthy, infectious)]
    return float(candidates[int(np.argmax(below[0] - below[1]))])
