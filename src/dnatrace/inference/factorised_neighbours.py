"""Factorised Neighbours: everybody's belief from the messages of contacts and own tests.

A message is the sender's probability of being infected, P(I), on the day of the contact. With a
factorised neighbourhood a person depends on messages through one number per day, the exposure x = Σ
-log(1 - p1·message); given exposures and own tests the belief is the smoothed posterior of the
chain in `dnatrace.seir`. The two halves are separate, pure functions: `exposures_of` and `infected`
/ `beliefs`. Everybody updates at once, for a number of rounds that start from zero messages, so
deleting a contact removes its influence at the next call.

Reference: Romijnders et al. 2023, "No time to waste: practical statistical contact tracing with few
low-bit messages". The published codes enumerate all O(days³) monotone state sequences; the result
here is the same at a cost linear in the days.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError, require_at_least, require_between, require_number
from dnatrace.inference import _kernels
from dnatrace.inference.beliefs import Beliefs
from dnatrace.inference.exposures import add_up_day, check_shape, exposures_of
from dnatrace.records import ContactWindow, TestLog
from dnatrace.seir import (
    LIKELIHOOD_FLOOR,
    N_STATES,
    SeirParameters,
    TestErrors,
    last_day_marginals,
    pack_model,
)

Messages = NDArray[np.float32]  # [days, people]
Exposures = NDArray[np.float32]  # [days, people]

DEFAULT_ROUNDS = 5
MOST_ROUNDS = 1000  # far beyond where beliefs settle: more is a slip
MOST_LEVELS = 65_536  # two bytes per message; more would add nothing


class ContradictoryTestsWarning(UserWarning):
    """Somebody's tests are impossible under the model; the likelihood floor decides."""


def infer_window(
    window: ContactWindow,
    log: TestLog,
    *,
    parameters: SeirParameters,
    test_errors: TestErrors,
    rounds: int = DEFAULT_ROUNDS,
    clip: float | None = None,
    levels: int | None = None,
) -> Beliefs:
    """Return the beliefs over a window; arguments as in `dnatrace.inference.infer`.

    Cost: O(rounds × (contacts + people × days)), people in parallel.
    """
    outcomes = log.outcomes
    exposures = message_rounds(
        window, outcomes, rounds=rounds, parameters=parameters, test_errors=test_errors
    )
    check_message_grid(clip, levels)
    if clip is not None or levels is not None:
        messages = infected(exposures, outcomes, parameters=parameters, test_errors=test_errors)
        messages = bound_messages(messages, clip=clip, levels=levels)
        exposures = exposures_of(window, messages, p1=parameters.p1)
    return beliefs(exposures, outcomes, parameters=parameters, test_errors=test_errors)


def message_rounds(
    window: ContactWindow,
    outcomes: NDArray[np.int8],
    *,
    parameters: SeirParameters,
    test_errors: TestErrors,
    rounds: int = DEFAULT_ROUNDS,
    susceptible: NDArray[np.float32] | None = None,
    silent: NDArray[np.bool_] | None = None,
) -> Exposures:
    """Return everybody's exposures when the last round of updates begins: [days, people].

    `susceptible` [people] is a factor on everybody's exposure; messages of the `silent` are 0.

    The last round itself is `infected` or `beliefs` of the result. In the first round nothing has
    been received. Inside the rounds messages are neither clipped nor rounded. The exposure of the
    last day cannot change any belief of the window and is left at zero.
    """
    check_shape(window, outcomes)
    require_between("rounds", rounds, 1, MOST_ROUNDS)
    model = pack_model(parameters, test_errors)
    exposures = np.zeros(outcomes.shape, dtype=np.float32)
    hazards = np.empty(outcomes.shape, dtype=np.float32)
    for _ in range(rounds - 1):
        _kernels.hazard_marginals(exposures, outcomes, model, parameters.p1, hazards)
        if silent is not None:
            hazards[:, silent] = 0.0
        for t in range(len(window) - 1):
            add_up_day(window[t], hazards[t], exposures[t])
        if susceptible is not None:
            exposures *= susceptible
    return exposures


def infected(
    exposures: Exposures,
    outcomes: NDArray[np.int8],
    *,
    parameters: SeirParameters,
    test_errors: TestErrors,
) -> Messages:
    """Return P(I) given exposures and own tests: float32 [days, people]."""
    out = np.empty(outcomes.shape, dtype=np.float32)
    _kernels.infected_marginals(exposures, outcomes, pack_model(parameters, test_errors), out)
    return out


def beliefs(
    exposures: Exposures,
    outcomes: NDArray[np.int8],
    *,
    parameters: SeirParameters,
    test_errors: TestErrors,
) -> Beliefs:
    """Return the posterior of every state given exposures and own tests."""
    n_days, n_people = outcomes.shape
    values = np.empty((n_people, n_days, N_STATES), dtype=np.float32)
    _kernels.all_marginals(exposures, outcomes, pack_model(parameters, test_errors), values)
    return Beliefs(values=values)


def last_day_beliefs(
    exposures: NDArray[Any],
    outcomes: NDArray[np.int8],
    *,
    parameters: SeirParameters,
    test_errors: TestErrors,
) -> NDArray[np.float64]:
    """Return the posterior of the last day alone: float64 [people, 4]."""
    values = np.empty((outcomes.shape[1], N_STATES))
    last_day_marginals(exposures, outcomes, pack_model(parameters, test_errors), values)
    return values


def check_message_grid(clip: float | None, levels: int | None) -> None:
    """Raise unless clip lies in (0, 1] and there are at least two levels."""
    if clip is not None:
        require_number(clip=clip)
        if not 0.0 < clip <= 1.0:
            raise InputError(f"clip must be greater than 0 and at most 1, not {clip}")
    if levels is not None:
        require_at_least("levels", levels, 2)
        if levels > MOST_LEVELS:
            raise InputError(f"levels must be at most {MOST_LEVELS}, not {levels}")


def message_grid(levels: int, clip: float = 1.0) -> NDArray[np.float32]:
    """Return the values a rounded message can take: from 0 to clip, finer near 0.

    Level k is clip·(k / (levels - 1))²: most messages are small, and their errors add up.
    """
    return (clip * np.linspace(0.0, 1.0, levels) ** 2).astype(np.float32)


def bound_messages(
    messages: Messages, *, clip: float | None = None, levels: int | None = None
) -> Messages:
    """Clip messages to [0, clip] and round them to the nearest of `levels` values."""
    check_message_grid(clip, levels)
    ceiling = 1.0 if clip is None else clip
    clipped = np.minimum(messages, np.float32(ceiling))
    if levels is None:
        return clipped
    grid = message_grid(levels, ceiling)
    midpoints = (grid[1:] + grid[:-1]) / 2
    return grid[np.searchsorted(midpoints, clipped, side="right")]


def warn_if_contradictory(
    outcomes: NDArray[np.int8], parameters: SeirParameters, test_errors: TestErrors
) -> None:
    """Warn when somebody's tests are impossible under the model."""
    if not test_errors.can_contradict:
        return
    n = int(_contradictory(outcomes, parameters, test_errors).sum())
    if n:
        warnings.warn(
            f"the tests of {n} people contradict the model (a test error rate is 0 or 1): "
            f"test likelihoods are floored at {LIKELIHOOD_FLOOR:g}",
            ContradictoryTestsWarning,
            stacklevel=4,
        )


def _contradictory(
    outcomes: NDArray[np.int8], parameters: SeirParameters, test_errors: TestErrors
) -> NDArray[np.bool_]:
    """Return who has tests that no sequence of states can produce, bool [people].

    It tracks which states are reachable; anybody may become E, with contacts or without, unless
    nothing comes from outside: then nobody is infected who could pass it on.
    """
    p, floor = parameters, LIKELIHOOD_FLOOR
    fpr, fnr = test_errors.false_positive_rate, test_errors.false_negative_rate
    n_people = outcomes.shape[1]
    S, E = np.full(n_people, p.p0 < 1.0), np.full(n_people, p.p0 > 0.0)
    I, R = np.zeros(n_people, dtype=bool), np.zeros(n_people, dtype=bool)
    dead_end = np.zeros(n_people, dtype=bool)
    for t, outcome in enumerate(outcomes):
        if t > 0:
            R |= I & (p.h > 0.0)
            I = (E & (p.g > 0.0)) | (I & (p.h < 1.0))
            E = (S & (p.p0 > 0.0)) | (E & (p.g < 1.0))
        positive, negative = outcome == 1, outcome == 0
        I &= ~(positive & (fnr > 1.0 - floor)) & ~(negative & (fnr < floor))
        elsewhere = ~(positive & (fpr < floor)) & ~(negative & (fpr > 1.0 - floor))
        S, E, R = S & elsewhere, E & elsewhere, R & elsewhere
        dead_end |= ~(S | E | I | R)
    return dead_end
