"""Find whom cases met in the last days, for levers that need it; nothing here has noise."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dnatrace.records import DayContacts
from dnatrace.simulators.base import ContactKind


def meetings_with(
    day: DayContacts, cases: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return whom cases met, and the kind of each meeting; random for a list without kinds.

    Cost: one pass over the contacts of the day, and one search per meeting found.
    """
    found = np.flatnonzero(cases[day.senders])
    receivers = np.searchsorted(day.offsets, found, side="right") - 1
    if day.kinds is None:
        return receivers, np.full(found.size, ContactKind.RANDOM, dtype=np.uint8)
    return receivers, day.kinds[found]


def closest_meeting(
    days: Iterable[DayContacts], cases: NDArray[np.bool_], by_kind: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the largest value by kind over everybody's meetings with cases; 0 without any."""
    largest = np.zeros(cases.size)
    for day in days:
        receivers, kinds = meetings_with(day, cases)
        np.maximum.at(largest, receivers, by_kind[kinds])
    return largest


def count_meetings(days: Iterable[DayContacts], cases: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how often everybody met a case: int64 [people]."""
    counts = np.zeros(cases.size, dtype=np.int64)
    for day in days:
        counts += np.bincount(meetings_with(day, cases)[0], minlength=cases.size)
    return counts
