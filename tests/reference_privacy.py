"""Slow, obvious twins of the privacy kernels, and windows to search for violations in."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from dnatrace.methods.base import PublicFacts, SecretFacts
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.seir import SeirParameters, TestErrors

PAPER_TESTS = TestErrors(false_positive_rate=0.01, false_negative_rate=0.001)


def likelihoods(outcome, errors):
    """P(outcome | state) for S, E, I, R."""
    if outcome < 0:
        return np.ones(4)
    infected = errors.likelihood(bool(outcome), True)
    other = errors.likelihood(bool(outcome), False)
    return np.array([other, other, infected, other])


def transitions(exposure, p):
    stay = (1 - p.p0) * np.exp(-exposure)
    return np.array(
        [[stay, 1 - stay, 0, 0], [0, 1 - p.g, p.g, 0], [0, 0, 1 - p.h, p.h], [0, 0, 0, 1]]
    )


def score_by_enumeration(exposures, tests, p, errors, with_exposed):
    """F by adding up all sequences of states."""
    n = len(tests)
    total = target = 0.0
    for path in itertools.product(range(4), repeat=n):
        probability = (1 - p.p0, p.p0, 0, 0)[path[0]]
        for t in range(n):
            probability *= likelihoods(tests[t], errors)[path[t]]
            if t:
                probability *= transitions(exposures[t - 1], p)[path[t - 1], path[t]]
        total += probability
        if path[-1] == 2 or (with_exposed and path[-1] == 1):
            target += probability
    return target / total


def score(exposures, tests, p, errors, with_exposed):
    """F by one product of matrices."""
    belief = np.array([1 - p.p0, p.p0, 0, 0]) * likelihoods(tests[0], errors)
    for t in range(1, len(tests)):
        belief = (belief @ transitions(exposures[t - 1], p)) * likelihoods(tests[t], errors)
        belief = belief / belief.sum()
    belief = belief / belief.sum()
    return belief[2] + with_exposed * belief[1]


def weights(exposures, tests, p, errors, with_exposed):
    """∂F/∂x_t by an imaginary step (Squire and Trapp 1998): a difference without cancellation."""
    step = 1e-100
    out = np.zeros(len(tests))
    for t in range(len(tests)):
        x = np.array(exposures, dtype=complex)
        x[t] += 1j * step
        out[t] = score(x, tests, p, errors, with_exposed).imag / step
    return out


def delta_by_integration(mu, epsilon):
    """∫ max(0, p₁ - exp(ε)·p₀) for N(μ, 1) against N(0, 1)."""
    start = epsilon / mu + mu / 2

    def excess(x):
        return (math.exp(-((x - mu) ** 2) / 2) - math.exp(epsilon - x * x / 2)) / math.sqrt(
            2 * math.pi
        )

    return quad(excess, start, start + 40, epsabs=0, epsrel=1e-10, limit=500)[0]


def delta_by_tails(mu, epsilon):
    """Balle and Wang's formula as it is printed."""
    return ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


def history_bound(tests, counts, p, errors, gamma):
    """The bound of `sensitivity.history_bound` for one person, as it is written down."""
    n, c = len(tests), p.p1 * gamma
    o = [likelihoods(outcome, errors) for outcome in tests]
    b = {n - 1: o[n - 1].copy()}
    least = {n - 1: o[n - 1][0]}
    for t in range(n - 2, 0, -1):
        nxt = b[t + 1]
        mixed = [
            q * least[t + 1] + (1 - q) * nxt[1]
            for q in (1 - p.p0, (1 - p.p0) * (1 - c) ** counts[t])
        ]
        least[t] = o[t][0] * min(mixed)
        steps = transitions(0.0, p)
        b[t] = o[t] * (steps @ nxt)
    r = max((b[t][1] / least[t] for t in b if t > 0), default=1.0)
    if r <= 1:
        return c
    raised = p.p0 + c * (1 - p.p0)
    r = min(r, math.sqrt((1 - p.p0) * (1 - raised) / (p.p0 * raised)))
    return max(c, raised * r / (1 + raised * (r - 1)) - p.p0 * r / (1 + p.p0 * (r - 1)))


@dataclass(frozen=True)
class SilentNoise:
    """A back end that adds nothing, so that a release shows its statistic."""

    name: str = "silent"
    score_grid: float | None = None

    def perturb(self, values, sensitivity, *, multiplier, purpose, day, draw=0):
        return values.copy()


@dataclass(frozen=True)
class Crowd:
    """Receivers with contacts of their own, and the same with one message of each replaced."""

    window: ContactWindow
    outcomes: np.ndarray
    messages: np.ndarray
    neighbour: np.ndarray
    n_receivers: int

    def facts(self, messages, p, errors=PAPER_TESTS):
        public = PublicFacts(
            day=self.window.first_day + len(self.window) - 1,
            first_day=self.window.first_day,
            counts=self.window.counts,
            outcomes=self.outcomes,
            parameters=p,
            test_errors=errors,
        )
        return public, SecretFacts(window=self.window, messages=messages)


def crowd(rng, *, n_receivers=150, n_days=14, most_contacts=4, tested=0.15, positive=0.5):
    """Draw a crowd whose messages are often extreme."""
    counts = rng.integers(0, most_contacts + 1, (n_days, n_receivers))
    n_people = n_receivers + int(counts.sum())
    window = ContactWindow(n_people=n_people, n_days=n_days)
    messages = np.zeros((n_days, n_people), dtype=np.float32)
    first = n_receivers
    contacts = [[] for _ in range(n_receivers)]
    for t in range(n_days):
        receivers = np.repeat(np.arange(n_receivers), counts[t])
        senders = np.arange(first, first + receivers.size)
        first += receivers.size
        window.push(DayContacts.from_pairs(senders, receivers, n_people=n_people))
        draws = rng.random(receivers.size) ** 4
        extreme = rng.random(receivers.size)
        draws[extreme < 0.3] = 0.0
        draws[extreme > 0.6] = 1.0
        messages[t, senders] = draws
        for s, r in zip(senders, receivers, strict=True):
            contacts[r].append((t, s))
    neighbour = messages.copy()
    for met in contacts:
        if met:
            t, s = met[rng.integers(len(met))]
            messages[t, s], neighbour[t, s] = (0.0, 1.0) if rng.random() < 0.8 else rng.random(2)
    outcomes = np.full((n_days, n_people), -1, dtype=np.int8)
    takes = rng.random((n_days, n_receivers)) < tested
    results = rng.random((n_days, n_receivers)) < positive
    outcomes[:, :n_receivers] = np.where(takes, results, -1)
    return Crowd(window, outcomes, messages, neighbour, n_receivers)


def ascend(value, start, moves, rng, rounds=40):
    """Coordinate ascent: try all single changes of a window, keep the best, until none helps."""
    best, best_value = start, value(start)
    for _ in range(rounds):
        candidates = moves(best, rng)
        values = [value(c) for c in candidates]
        i = int(np.argmax(values))
        if values[i] <= best_value:
            break
        best, best_value = candidates[i], values[i]
    return best, best_value


def neighbours_of_window(state, rng, *, most_exposure, histories=True):
    """All windows that differ from (exposures, tests, day) in one coordinate."""
    exposures, tests, day = state
    out = []
    for t in range(len(tests) - 1):
        for level in (0.0, most_exposure, most_exposure * rng.random()):
            x = exposures.copy()
            x[t] = level
            out.append((x, tests, day))
        out.append((exposures, tests, t))
    if histories:
        for t in range(len(tests)):
            for outcome in (-1, 0, 1):
                y = tests.copy()
                y[t] = outcome
                out.append((exposures, y, day))
    return out


def parameters(c, gamma=1.0):
    """Parameters whose p1·gamma is c."""
    return SeirParameters(p1=c / gamma)


def universal_bound(parameters, gamma):
    """Return a bound on |ΔF| for any test history, any counts and either score.

    Guarantee: tanh(¼·log[(1 + c(1 - p0)/p0)/(1 - c)]), the most that two posteriors can differ
    whose prior odds differ by that factor.
    Edge cases: 1 for p0 = 0, where a single message can decide everything.
    """
    c = parameters.p1 * gamma
    if parameters.p0 == 0.0 or c >= 1.0:
        return 1.0
    odds = (1.0 + c * (1.0 - parameters.p0) / parameters.p0) / (1.0 - c)
    return math.tanh(0.25 * math.log(odds))
