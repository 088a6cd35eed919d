"""The Gaussian mechanism in closed form: noise for a target, and the privacy of given noise.

Adding N(0, σ²) to a statistic of sensitivity Δ is (ε, δ)-differentially private exactly when

    δ ≥ Φ(μ/2 - ε/μ) - exp(ε)·Φ(-μ/2 - ε/μ),   μ = Δ/σ

(Balle and Wang 2018, "Improving the Gaussian mechanism for differential privacy", Theorem 8; their
Algorithm 1 solves it for σ). The same μ is the parameter of Gaussian differential privacy (Dong,
Roth and Su 2022), under which releases compose as μ² = Σ μᵢ². The classical formula
σ = Δ·√(2 log(1.25/δ))/ε wastes noise below ε = 1 and protects too little far above: it is here to
reproduce published programs (`privacy.calibration`), and its cost is accounted for exactly.

Writing the formula with Mills' ratio, φ(a)·[M(-a) - M(-b)] with a = μ/2 - ε/μ and b = -μ/2 - ε/μ,
keeps its relative precision for every ε and avoids computing exp(ε).
"""

import math

from scipy.optimize import brentq
from scipy.special import erfcx, ndtr

from dnatrace.errors import InputError, require_at_least, require_number

_HALF_PI_ROOT = math.sqrt(math.pi / 2.0)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
# Relative margins on δ, above the rounding of the formula and far below anything that matters. The
# margin for ε is the smaller one, so that noise calibrated for an ε is never reported to cost more.
_MARGIN = 1e-9
_EPSILON_MARGIN = 2e-10
# The range of reliable calibration, far wider than anything of use.
EPSILON_RANGE = (1e-6, 1e5)
DELTA_RANGE = (1e-100, 0.99)


def require_budget(epsilon: float, delta: float) -> None:
    """Raise unless ε and δ are positive and within the range of reliable calibration."""
    require_number(epsilon=epsilon)
    low, high = EPSILON_RANGE
    if not low <= epsilon <= high:  # also catches NaN
        raise InputError(f"epsilon must be a number from {low:g} to {high:g}, not {epsilon}")
    require_delta(delta)


def require_delta(delta: float) -> None:
    """Raise unless δ lies between 0 and 1, not too close to either."""
    require_number(delta=delta)
    low, high = DELTA_RANGE
    if not low <= delta <= high:
        raise InputError(f"delta must be a number from {low:g} to {high:g}, not {delta}")


def delta_of_mu(mu: float, epsilon: float) -> float:
    """Return the least δ at which μ-Gaussian privacy is (ε, δ)-private.

    Reference: Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2022, Corollary 1.
    Edge cases: μ = 0 costs nothing, μ = ∞ protects nothing; ε = 0 gives the total variation.
    """
    if mu <= 0.0:
        return 0.0
    if math.isinf(mu):
        return 1.0
    a = mu / 2.0 - epsilon / mu
    b = -mu / 2.0 - epsilon / mu
    density = _DENSITY * math.exp(-a * a / 2.0)
    tail = density * _HALF_PI_ROOT * float(erfcx(-b / math.sqrt(2.0)))
    if a > 0.0:
        return max(0.0, float(ndtr(a)) - tail)
    return max(0.0, density * _HALF_PI_ROOT * float(erfcx(-a / math.sqrt(2.0))) - tail)


def mu_of_budget(epsilon: float, delta: float) -> float:
    """Return the largest μ that is (ε, δ)-private; σ = Δ/μ is the noise that suffices.

    Guarantee: `delta_of_mu` of the result, with a margin for its own rounding, is at most δ; the
    result is re-checked and lowered until that holds, so there is never less noise than needed.
    Reference: Balle and Wang 2018, Algorithm 1.
    """
    require_budget(epsilon, delta)
    low, high = _bracket_mu(epsilon, delta)
    root = brentq(
        lambda log_mu: _log_ratio(delta_of_mu(math.exp(log_mu), epsilon), delta),
        math.log(low),
        math.log(high),
        xtol=1e-13,
        rtol=1e-14,
    )
    mu = math.exp(root)
    while delta_of_mu(mu, epsilon) * (1.0 + _MARGIN) > delta:
        mu *= 1.0 - _MARGIN / 8.0
    return mu


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the least ε at which μ-Gaussian privacy is (ε, δ)-private, rounded up.

    Guarantee: `delta_of_mu(mu, ε)`, with a margin for its rounding, is at most δ.
    Edge cases: 0 when δ alone covers the total variation, infinite for μ = ∞.
    """
    require_delta(delta)
    if math.isinf(mu):
        return math.inf
    if delta_of_mu(mu, 0.0) * (1.0 + _EPSILON_MARGIN) <= delta:
        return 0.0
    aim = delta / (1.0 + 2.0 * _EPSILON_MARGIN)
    high = mu * mu / 2.0 + mu * math.sqrt(2.0 * math.log(1.0 / aim)) + 1e-12
    epsilon = float(
        brentq(lambda e: _log_ratio(delta_of_mu(mu, e), aim), 0.0, high, xtol=1e-15, rtol=1e-14)
    )
    while delta_of_mu(mu, epsilon) * (1.0 + _EPSILON_MARGIN) > delta:
        epsilon = epsilon * (1.0 + _EPSILON_MARGIN) + 1e-16
    return epsilon


def gaussian_sigma(*, epsilon: float, delta: float, sensitivity: float) -> float:
    """Return the standard deviation of Gaussian noise that gives (ε, δ).

    Guarantee: adding it to a statistic that moves by at most `sensitivity` between neighbours is
    (ε, δ)-private; never less than needed, at most 1e-6 more.
    Reference: Balle and Wang 2018, Algorithm 1.
    Edge cases: sensitivity 0 needs no noise.
    """
    _require_sensitivity(sensitivity)
    sigma = sensitivity / mu_of_budget(epsilon, delta)
    if math.isinf(sigma):
        raise InputError(f"sensitivity {sensitivity} needs noise beyond all numbers")
    return sigma


def gaussian_epsilon(*, sigma: float, delta: float, sensitivity: float) -> float:
    """Return the ε that Gaussian noise of standard deviation `sigma` gives at δ.

    This is the inverse of `gaussian_sigma`. Edge cases: infinite without noise on a statistic that
    can change.
    """
    return epsilon_of_mu(_mu(sigma, sensitivity), delta)


def gaussian_delta(*, sigma: float, epsilon: float, sensitivity: float) -> float:
    """Return the δ that Gaussian noise of standard deviation `sigma` gives at ε ≥ 0."""
    require_number(epsilon=epsilon)
    if not 0.0 <= epsilon < math.inf:
        raise InputError(f"epsilon must be a number of at least 0, not {epsilon}")
    return delta_of_mu(_mu(sigma, sensitivity), epsilon)


def renyi_multiplier(epsilon: float, delta: float) -> float:
    """Return σ/Δ by the Rényi route of the published per-day method; more noise than needed.

    Rényi privacy α/(2σ²) of every order, converted by ε = α/(2σ²) + log(1/δ)/(α - 1) at the best
    α, is 1/(2σ²) + √(2 log(1/δ))/σ = ε (Mironov 2017, Proposition 3 and Corollary 3).
    """
    require_budget(epsilon, delta)
    slope = math.sqrt(2.0 * math.log(1.0 / delta))
    return (slope + math.sqrt(slope * slope + 2.0 * epsilon)) / (2.0 * epsilon)


def classical_multiplier(epsilon: float, delta: float) -> float:
    """Return σ/Δ by the classical formula, √(2 log(1.25/δ))/ε.

    Guarantee: none above ε = 1, where it has been used nevertheless; below that it is more than
    needed. Reference: Dwork and Roth 2014, Theorem A.1.
    """
    require_budget(epsilon, delta)
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def _mu(sigma: float, sensitivity: float) -> float:
    _require_sensitivity(sensitivity)
    require_at_least("sigma", sigma, 0)
    if sensitivity == 0.0:
        return 0.0
    return sensitivity / sigma if sigma > 0.0 else math.inf


def _require_sensitivity(sensitivity: float) -> None:
    require_number(sensitivity=sensitivity)
    if not 0.0 <= sensitivity < math.inf:
        raise InputError(f"sensitivity must be a number of at least 0, not {sensitivity}")


def _log_ratio(value: float, target: float) -> float:
    return math.log(max(value, 1e-300)) - math.log(target)


def _bracket_mu(epsilon: float, delta: float) -> tuple[float, float]:
    """Return values of μ on both sides of the target."""
    low = 1.0 / renyi_multiplier(epsilon, delta)  # sound, so δ is not exceeded
    while delta_of_mu(low, epsilon) > delta:  # not reached except by rounding
        low /= 2.0
    high = 2.0 * low
    while delta_of_mu(high, epsilon) <= delta:
        high *= 2.0
    return low, high
