"""The statistical model of one person: states, parameters and the exact 4-state chain.

A person is S, E, I or R on every day of a window. On the first day P(S) = 1 - p0, P(E) = p0. From
one day to the next, S becomes E with probability 1 - (1 - p0)·exp(-x), where x is the day's
exposure, E becomes I with probability g, I becomes R with probability h, and R stays. A test is
positive with probability 1 - false_negative_rate in I and false_positive_rate otherwise.

Given exposures and own tests, `smooth_block` computes the posterior of every day by one forward and
one backward pass. It works on blocks of people laid side by side, so that the compiler can use
SIMD, and in float64, so that no evidence is extreme enough to underflow.
"""

import math
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from dnatrace.errors import InputError, shown
from dnatrace.settings import Settings, Share, setting

N_STATES = 4
BLOCK = 64  # people side by side; the buffers for 14 days fit into the second-level cache
LIKELIHOOD_FLOOR = 1e-6  # contradictory tests leave every state possible
RESCALE_EVERY = 8  # days; 1e6 to the power of 8 is far from the limits of float64
_SMALL_HAZARD = 0.125
_PAPER = "DNA paper"


class State(IntEnum):
    """The states of the model, in the order of every array of beliefs."""

    S = 0
    E = 1
    I = 2
    R = 3


class SeirParameters(Settings):
    """Parameters of the statistical model that phones use, the same for everybody.

    The defaults are those of Romijnders et al., "DNA: Differentially private Neural Augmentation
    for contact tracing". Published sources disagree on p1 (0.01, 0.02, 0.03, 0.05), which is why
    every run prints and stores the value it used. Code and formulas use the short names, files the
    full names.
    """

    p0: Share = setting(
        0.001,
        "what phones believe: infection from outside the known contacts, per day",
        source=_PAPER,
        called="infection_from_outside",
    )
    p1: Share = setting(
        0.03,
        "what phones believe: transmission by one contact with an infected person; the disease "
        "itself has `simulator.transmissibility`",
        source=f"{_PAPER}; other sources say 0.01, 0.02, 0.05",
        called="transmission_per_contact",
    )
    g: Share = setting(
        0.99,
        "what phones believe: exposed to infected, per day",
        source=_PAPER,
        called="exposed_to_infected",
    )
    h: Share = setting(
        0.10,
        "what phones believe: infected to removed, per day",
        source=_PAPER,
        called="infected_to_removed",
    )

    @property
    def background_hazard(self) -> float:
        """The exposure that p0 amounts to, -log(1 - p0)."""
        return -math.log1p(-self.p0) if self.p0 < 1.0 else math.inf


class ErrorRates(Settings):
    """How often a test errs; `TestErrors` and `policy.laboratory.SwabErrors` say for whom."""

    false_positive_rate: Share = setting(
        0.01, "P(positive) for a person without a detectable infection", source=_PAPER
    )
    false_negative_rate: Share = setting(
        0.001, "P(negative) for a person with a detectable infection", source=_PAPER
    )


class TestErrors(ErrorRates):
    """What the phones' model assumes about tests: that they detect I alone.

    The false positive rate is P(positive | not I), E included, as in the paper's observation
    equation. What swabs detect in a simulated run is set by `policy.laboratory.SwabErrors`.
    """

    __test__: ClassVar[bool] = False  # the name does not make it a test case

    def likelihood(self, positive: bool, infected: bool) -> float:
        """Return P(outcome | I, or not I), at least `LIKELIHOOD_FLOOR`."""
        share_positive = 1.0 - self.false_negative_rate if infected else self.false_positive_rate
        return max(share_positive if positive else 1.0 - share_positive, LIKELIHOOD_FLOOR)

    def likelihood_ratio(self, positive: bool) -> float:
        """Return P(outcome | I) / P(outcome | not I), all the information in a test."""
        if positive not in (0, 1):
            raise InputError(f"positive must be true or false, not {shown(positive)}")
        return self.likelihood(positive, True) / self.likelihood(positive, False)

    @property
    def misleads(self) -> bool:
        """Whether a positive test would be evidence against infection."""
        return self.false_positive_rate + self.false_negative_rate > 1.0

    @property
    def can_contradict(self) -> bool:
        """Whether some outcome is impossible in some state, so that the floor may decide."""
        rates = (self.false_positive_rate, self.false_negative_rate)
        return any(r < LIKELIHOOD_FLOOR or r > 1.0 - LIKELIHOOD_FLOOR for r in rates)


@njit(cache=True)
def leave_probabilities(exposure: Any, background: Any, leave: Any, stay: Any) -> None:
    """Fill leave = P(S → E) = 1 - exp(-(x + background)) and stay = exp(-(x + background)).

    All arrays are [block]. Small values keep their relative precision: below `_SMALL_HAZARD` a
    series is used, whose first omitted term is 2e-10 of the result.
    """
    for i in range(exposure.size):
        z = np.float64(exposure[i]) + background
        s = math.exp(-z)
        series = z * (
            1.0 - z * (1 / 2 - z * (1 / 6 - z * (1 / 24 - z * (1 / 120 - z * (1 / 720)))))
        )
        stay[i] = s
        leave[i] = series if z < _SMALL_HAZARD else 1.0 - s


def leaving(hazard: float) -> tuple[float, float]:
    """Return P(S → E) and P(S → S) of one hazard, bit-identical to `leave_probabilities`."""
    z, s = hazard, math.exp(-hazard)
    series = z * (1.0 - z * (1 / 2 - z * (1 / 6 - z * (1 / 24 - z * (1 / 120 - z * (1 / 720))))))
    return (series if z < _SMALL_HAZARD else 1.0 - s), s


def pack_model(parameters: SeirParameters, test_errors: TestErrors) -> NDArray[np.float64]:
    """Return the six numbers the kernels need.

    They are p0, g, h, the background hazard, and the likelihood ratios of a negative and a positive
    test.
    """
    p = parameters
    ratios = test_errors.likelihood_ratio(False), test_errors.likelihood_ratio(True)
    return np.array([p.p0, p.g, p.h, p.background_hazard, *ratios])


@njit(cache=True)
def load_block(
    exposures: Any, outcomes: Any, first: int, model: Any, leave: Any, stay: Any, ratio: Any
) -> None:
    """Fill the inputs of the chain for the people from `first` on; padding has no tests."""
    n_days, n_people = outcomes.shape
    background, ratio_negative, ratio_positive = model[3], model[4], model[5]
    width = min(BLOCK, n_people - first)
    exposure = np.zeros(BLOCK)
    for t in range(n_days):
        for i in range(width):
            outcome = outcomes[t, first + i]
            tested = ratio_positive if outcome > 0 else ratio_negative
            ratio[t, i] = 1.0 if outcome < 0 else tested
        for i in range(width, BLOCK):
            ratio[t, i] = 1.0
        if t < n_days - 1:
            for i in range(width):
                exposure[i] = exposures[t, first + i]
            leave_probabilities(exposure, background, leave[t], stay[t])


@njit(cache=True)
def rescale(weights: Any) -> None:
    """Divide every person's column of weights [4, block] by its sum."""
    for i in range(weights.shape[1]):
        scale = 1.0 / (weights[0, i] + weights[1, i] + weights[2, i] + weights[3, i])
        weights[0, i] *= scale
        weights[1, i] *= scale
        weights[2, i] *= scale
        weights[3, i] *= scale


@njit(cache=True)
def forward_block(leave: Any, stay: Any, ratio: Any, p0: Any, g: Any, h: Any, alpha: Any) -> None:
    """Fill alpha [days, 4, block] with P(state, tests up to the day), up to a factor per day.

    Args:
        leave: P(S → E) after each day, [days, block]; the last day is not used.
        stay: 1 - leave, with its own relative precision.
        ratio: likelihood ratio I : not I of each day's test, 1 without a test, [days, block].
        p0: prior P(E) on the first day.
        g: P(E → I).
        h: P(I → R).
        alpha: the result.
    """
    n_days, width = ratio.shape
    for i in range(width):
        alpha[0, 0, i] = 1.0 - p0
        alpha[0, 1, i] = p0
        alpha[0, 2, i] = 0.0
        alpha[0, 3, i] = 0.0
    for t in range(1, n_days):
        for i in range(width):
            S, E = alpha[t - 1, 0, i], alpha[t - 1, 1, i]
            I, R = alpha[t - 1, 2, i], alpha[t - 1, 3, i]
            alpha[t, 0, i] = S * stay[t - 1, i]
            alpha[t, 1, i] = S * leave[t - 1, i] + E * (1.0 - g)
            alpha[t, 2, i] = (E * g + I * (1.0 - h)) * ratio[t, i]
            alpha[t, 3, i] = I * h + R
        if t % RESCALE_EVERY == 0:
            rescale(alpha[t])


@njit(cache=True)
def backward_step(leave: Any, stay: Any, ratio: Any, g: Any, h: Any, beta: Any) -> None:
    """Turn beta of a day into beta of the day before, in place; beta [4, block].

    beta(state) = P(tests after the day | state on the day), up to a factor. `leave` and `stay` are
    those of the day before, `ratio` is that of the day.
    """
    for i in range(ratio.size):
        S, E, I, R = beta[0, i], beta[1, i], beta[2, i] * ratio[i], beta[3, i]
        beta[0, i] = stay[i] * S + leave[i] * E
        beta[1, i] = (1.0 - g) * E + g * I
        beta[2, i] = (1.0 - h) * I + h * R


@njit(cache=True)
def smooth_block(leave: Any, stay: Any, ratio: Any, p0: Any, g: Any, h: Any, alpha: Any) -> None:
    """Fill alpha [days, 4, block] with the posterior of every state and day given all tests.

    Guarantee: every posterior sums to 1; no NaN, for finite or infinite exposures and any tests.
    Cost: about 40 flops per person-day, O(days × block); arguments as in `forward_block`.
    """
    forward_block(leave, stay, ratio, p0, g, h, alpha)
    n_days, width = ratio.shape
    beta = np.ones((N_STATES, width))
    for t in range(n_days - 1, -1, -1):
        for i in range(width):
            S = alpha[t, 0, i] * beta[0, i]
            E = alpha[t, 1, i] * beta[1, i]
            I = alpha[t, 2, i] * beta[2, i]
            R = alpha[t, 3, i] * beta[3, i]
            scale = 1.0 / (S + E + I + R)
            alpha[t, 0, i] = S * scale
            alpha[t, 1, i] = E * scale
            alpha[t, 2, i] = I * scale
            alpha[t, 3, i] = R * scale
        if t > 0:
            backward_step(leave[t - 1], stay[t - 1], ratio[t], g, h, beta)
            if t % RESCALE_EVERY == 0:
                rescale(beta)


@njit(cache=True, parallel=True)
def last_day_marginals(exposures: Any, outcomes: Any, model: Any, beliefs: Any) -> None:
    """Fill beliefs [people, 4] with the posterior of the last day: the forward pass alone.

    Exposures are [days, people], the oldest day first, and the last day is not read; outcomes are
    int8 [days, people]; the model comes from `pack_model`. Cost: one exponential and about 20 flops
    per person-day.
    """
    n_days, n_people = outcomes.shape
    for b in prange((n_people + BLOCK - 1) // BLOCK):
        leave = np.empty((n_days, BLOCK))
        stay = np.empty((n_days, BLOCK))
        ratio = np.empty((n_days, BLOCK))
        alpha = np.empty((n_days, N_STATES, BLOCK))
        first = b * BLOCK
        load_block(exposures, outcomes, first, model, leave, stay, ratio)
        forward_block(leave, stay, ratio, model[0], model[1], model[2], alpha)
        for i in range(min(BLOCK, n_people - first)):
            total = 0.0
            for k in range(N_STATES):
                total += alpha[n_days - 1, k, i]
            for k in range(N_STATES):
                beliefs[first + i, k] = alpha[n_days - 1, k, i] / total
