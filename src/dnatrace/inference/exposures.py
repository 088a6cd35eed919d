"""Exposures: what the messages of a day add up to for the person who receives them.

A receiver depends on the messages of a day through one number, x = Σ -log(1 - p1·message). Here
messages are summed, in single precision for the rounds of Factorised Neighbours and in double
precision for statistics with a stated sensitivity, and turned into the score of the last day.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.inference import _kernels
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.seir import SeirParameters, TestErrors, pack_model

Floats = NDArray[np.float64]


def exposures_of(
    window: ContactWindow, messages: NDArray[np.float32], *, p1: float
) -> NDArray[np.float32]:
    """Return every receiver's exposure by day, float32 [days, people], from senders' messages.

    Cost: one logarithm per message and one gather per contact.
    """
    check_shape(window, messages)
    hazards = np.empty(messages.shape, dtype=np.float32)
    _kernels.message_hazards(messages, p1, hazards)
    exposures = np.empty(messages.shape, dtype=np.float32)
    for t, day in enumerate(window):
        add_up_day(day, hazards[t], exposures[t])
    return exposures


def clipped_exposures(
    window: ContactWindow, messages: NDArray[Any], *, p1: float, gamma: float
) -> Floats:
    """Return each day's exposure x = Σ -log(1 - p1·min(message, γ)): float64 [days, people].

    Guarantee: replacing one message changes one entry, by at most
    `privacy.sensitivity.exposure_reach`.
    """
    check_shape(window, messages)
    exposures = np.empty(messages.shape)
    for row, day, said in zip(exposures, window, messages, strict=True):
        add_up_day(day, clipped_hazards(said, p1=p1, gamma=gamma), row)
    return exposures


def clipped_hazards(messages: NDArray[Any], *, p1: float, gamma: float) -> Floats:
    """Return what each message [people], clipped to [0, γ], adds to an exposure: float64."""
    hazards = np.empty(messages.size)
    _kernels.clipped_hazards(messages, gamma, p1, hazards)
    return hazards


def reference_exposures(counts: NDArray[Any], *, p1: float, mu_ref: float) -> Floats:
    """Return the exposures if every message were `mu_ref`: public, float64 [days, people]."""
    return counts * -math.log1p(-p1 * mu_ref)


def add_up_day(day: DayContacts, values: NDArray[Any], totals: NDArray[Any]) -> None:
    """Fill totals [people] with the sum of the senders' values over each receiver's contacts.

    Offsets and ids are read as unsigned numbers, as in `_csr`; sums are float64 and take the dtype
    of `totals` at the end.
    """
    offsets, senders = day.offsets.view(np.uint32), day.senders.view(np.uint32)
    _kernels.add_up(offsets, senders, values, totals)


def last_day_scores(
    exposures: Floats,
    outcomes: NDArray[np.int8],
    *,
    parameters: SeirParameters,
    test_errors: TestErrors,
    with_exposed: bool,
) -> Floats:
    """Return F, P(I) or P(E) + P(I) of the last day, given exposures and own tests: [people]."""
    scores = np.empty(outcomes.shape[1])
    model = pack_model(parameters, test_errors)
    _kernels.last_day_scores(exposures, outcomes, model, float(with_exposed), scores)
    return scores


def check_shape(window: ContactWindow, by_day: NDArray[Any]) -> None:
    """Raise unless an array is [days, people] of a window."""
    if by_day.shape != (len(window), window.n_people):
        raise InputError(
            f"an array of shape {list(by_day.shape)} for a window of {len(window)} days "
            f"and {window.n_people} people"
        )
