"""How far one message can move a statistic: exact values and bounds.

Neighbours differ in the value of one incoming message; own tests and the numbers of contacts per
day are public. Notation: c = p1·γ is the most one message adds to a probability of infection, s =
-log(1 - c) the most it adds to an exposure, F the score on the last day of the window, P(I) or P(E)
+ P(I).

The age of a message is the release day minus the contact day. A contact can make its receiver E on
the next day and I on the one after, so age 0 has no influence, and age 1 none on P(I).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.privacy import _kernels
from dnatrace.seir import SeirParameters, TestErrors, pack_model

_ROUNDING = 1e-9  # relative; amply covers float64 sums of up to a million messages
_STEP = 2.0**-48  # absolute; the error of a belief after some hundred operations is smaller

Floats = NDArray[np.float64]


def require_gamma(gamma: float) -> None:
    """Raise unless γ lies in (0, 1]."""
    if not 0.0 < gamma <= 1.0:  # also catches NaN
        raise InputError(f"gamma must be greater than 0 and at most 1, not {gamma}")


def message_reach(p1: float, gamma: float) -> float:
    """Return c = p1·γ, the most one clipped message adds to the probability of infection."""
    require_gamma(gamma)
    return p1 * gamma


def exposure_reach(p1: float, gamma: float) -> float:
    """Return s = -log(1 - p1·γ), the most one clipped message adds to an exposure.

    Guarantee: replacing one message of a day changes the day's exposure by at most s; a relative
    margin of 1e-9 covers rounding.
    Edge cases: p1·γ = 1 is refused, as there is no bound.
    """
    c = message_reach(p1, gamma)
    if c >= 1.0:
        raise InputError("p1·gamma must be less than 1: a certain infection has no finite exposure")
    return -math.log1p(-c) * (1.0 + _ROUNDING)


def above_rounding(sensitivity: Any) -> Any:
    """Return a sensitivity that also covers rounding, for scores that messages hardly move.

    `sensitivity` includes a relative margin of 1e-9. A score is a number of about 1 in float64:
    where messages move it by less than a millionth, rounding can exceed that margin. Edge cases: 0
    stays 0, because a score that depends on no message is always rounded alike.
    """
    exact = np.asarray(sensitivity) / (1.0 + _ROUNDING)
    return np.where(exact > 0.0, np.maximum(sensitivity, exact + _STEP), 0.0)


def first_age(with_exposed: bool) -> int:
    """Return the age from which a message matters: 1 for P(E) + P(I), 2 for P(I)."""
    return 1 if with_exposed else 2


@lru_cache(maxsize=64)
def decay(parameters: SeirParameters, *, window: int, with_exposed: bool) -> tuple[float, ...]:
    """Return κ by age 0 … window-1: P(target on the release day | E one day after the contact).

    Age 0 is 0. With g = .99 and h = .1, P(I) has 0, 0, .99, .90, .81 … and P(E) + P(I) has
    0, 1, 1, .90, .81 ….
    """
    E, I = 1.0, 0.0
    kappa = [0.0]
    for _ in range(window - 1):
        kappa.append(I + (E if with_exposed else 0.0))
        E, I = (1.0 - parameters.g) * E, parameters.g * E + (1.0 - parameters.h) * I
    return tuple(kappa)


@lru_cache(maxsize=64)
def two_sided_decay(
    parameters: SeirParameters, *, window: int, with_exposed: bool
) -> tuple[float, ...]:
    """Return κ̄ by age: the most, in multiples of c, that a message moves F if no test follows it.

    Guarantee: |ΔF| ≤ c·κ̄ for every other message and any number of contacts. Raising a message
    raises F by at most c·κ. It can also lower F: a person infected early has recovered, one
    infected by later contacts has not, and that difference is at most c·(max of later κ - κ).
    Tight in both directions as p0 → 0 and the number of contacts grows.
    """
    kappa = decay(parameters, window=window, with_exposed=with_exposed)
    later = 0.0
    bounds = []
    for value in kappa:
        bounds.append(max(value, later - value) if value or later else 0.0)
        later = max(later, value)
    return tuple(bounds)


def supremum_without_tests(
    parameters: SeirParameters, gamma: float, *, window: int, with_exposed: bool
) -> float:
    """Return the exact supremum of |ΔF| without own tests, over messages and contact counts.

    Without tests F is affine in every message, with slope P(S)·(1 - p0)·p1 times the difference
    that E instead of S makes on the next day. What S leads to depends on later contacts: its
    minimum and maximum follow day by day, with each day either without messages or with so many
    that nobody stays S. With the default parameters: g·(1 - p0)^(T-1)·c for P(I) and (1 - p0)^T·c
    for P(E) + P(I).
    """
    p0 = parameters.p0
    kappa = decay(parameters, window=window, with_exposed=with_exposed)
    least = most = 0.0  # of P(target | S on the day after the contact), over later contacts
    supremum = 0.0
    for age in range(1, window):
        stays = (1.0 - p0) ** (window - age + 1)  # S up to the contact, and not infected by p0 then
        supremum = max(supremum, stays * max(kappa[age] - least, most - kappa[age]))
        least = min(kappa[age], (1.0 - p0) * least + p0 * kappa[age])
        most = max(kappa[age], (1.0 - p0) * most + p0 * kappa[age])
    return message_reach(parameters.p1, gamma) * supremum


def history_bound(
    outcomes: NDArray[np.int8],
    counts: NDArray[Any],
    *,
    parameters: SeirParameters,
    test_errors: TestErrors,
    gamma: float,
) -> Floats:
    """Return a bound on |ΔF| of each person given own tests and counts: float64 [people].

    Guarantee: it holds for all messages in [0, γ] and either score. It is about four times what a
    search finds; only the case without tests and the variant `linear` are claimed to be tight.
    Method: r is the largest evidence ratio E : S of the tests after a contact (`evidence_ratios`).
    If r ≤ 1, the bound is c; otherwise it is the most that a posterior with evidence up to r can
    move when the prior moves from p0 to p0 + c(1 - p0), at least c. Args: outcomes and counts are
    [days, people].
    """
    c = message_reach(parameters.p1, gamma)
    p, raised = parameters.p0, parameters.p0 + c * (1.0 - parameters.p0)
    ratios = np.ones(outcomes.shape[1])
    if len(outcomes) > 1:
        model = pack_model(parameters, test_errors)
        powers = (1.0 - c) ** np.arange(counts.max() + 1)
        _kernels.evidence_ratios(outcomes, counts, model, powers, ratios)
    if p == 0.0 or raised >= 1.0:
        return np.where(ratios > 1.0, 1.0, c)
    worst = np.minimum(ratios, math.sqrt((1.0 - p) * (1.0 - raised) / (p * raised)))
    moved = _posterior(raised, worst) - _posterior(p, worst)
    return np.where(ratios > 1.0, np.maximum(c, moved), c)


def _posterior(prior: float, ratio: Floats) -> Floats:
    return prior * ratio / (1.0 + prior * (ratio - 1.0))


def attained_change(
    outcomes: NDArray[np.int8],
    counts: NDArray[Any],
    *,
    parameters: SeirParameters,
    test_errors: TestErrors,
    gamma: float,
    with_exposed: bool,
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the largest |ΔF| when one message goes from 0 to γ and all others are 0, and its day.

    It is exact for those windows, so it is a lower bound on the sensitivity given own tests; the
    worst case over one positive test is also what a search over all messages finds. Edge cases:
    people without contacts have 0.
    """
    form = linear_form(
        np.zeros(outcomes.shape),
        outcomes,
        parameters=parameters,
        test_errors=test_errors,
        with_exposed=with_exposed,
        with_lifts=True,
    )
    c = message_reach(parameters.p1, gamma)
    # N and Z are affine in c, so the change is the derivative's divided by the new likelihood.
    change = np.abs(c * form.weights / (1.0 + c * form.lifts))
    change[counts == 0] = 0.0
    return change.max(axis=0), change.argmax(axis=0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearForm:
    """F to first order around public exposures.

    Attributes:
        scores: F at the reference, float64 [people].
        weights: ∂F/∂x_t there, float64 [days, people].
        lifts: ∂log P(own tests)/∂x_t there, float64 [days, people], or no rows if not needed.
    """

    scores: Floats
    weights: Floats
    lifts: Floats


def linear_form(
    exposures: Floats,
    outcomes: NDArray[np.int8],
    *,
    parameters: SeirParameters,
    test_errors: TestErrors,
    with_exposed: bool,
    with_lifts: bool = False,
) -> LinearForm:
    """Return F and its derivative by exposure at the given exposures and own tests.

    Guarantee: a function of its arguments alone; given public exposures, the weights are public.
    Whatever their rounding, the sensitivity of Σ w_t·x_t is s·max|w_t| for these weights.
    Cost: one forward and two backward passes, O(days × people), people in parallel.
    """
    shape = outcomes.shape
    lifts = np.empty(shape if with_lifts else (0, shape[1]))
    form = LinearForm(scores=np.empty(shape[1]), weights=np.empty(shape), lifts=lifts)
    model = pack_model(parameters, test_errors)
    _kernels.linear_forms(
        exposures, outcomes, model, float(with_exposed), form.weights, form.lifts, form.scores
    )
    return form


def usable_days(outcomes: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return which days the restart rule keeps: from the day before the last own test on.

    A contact on a kept day has an effect at the earliest on the day of the last test, as E, which
    has the likelihood of S; so no own test weighs the messages of kept days, and F is affine in
    them. Shape [days, people]; without own tests every day is kept.
    """
    n_days = outcomes.shape[0]
    days = np.arange(n_days)[:, None]
    last_test = np.where(outcomes >= 0, days, -1).max(axis=0, initial=-1)
    return np.asarray(days >= last_test - 1)
