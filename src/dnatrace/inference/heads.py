"""Head counts: how many distinct people somebody met in a window, each by their largest alarm.

Whoever was met ten times counts once: one person moves one number of a receiver by at most 1. Those
met more often or lately are counted apart from those met in passing (channels), by contacts alone:
what a test says never moves anybody from one channel to another.
"""

from dataclasses import dataclass

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.inference import _headcount_kernels as kernels
from dnatrace.inference.exposures import check_shape
from dnatrace.records import ContactWindow, DayContacts

# Of a window. The kernel is always handed so many, so that one compiled version serves all; days
# beyond those of the window are not read.
MOST_DAYS = 14

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """How people are told apart by their contacts with a receiver.

    The closeness of two people is the sum over their contacts of `fading` to the power of its age
    in days.

    Attributes:
        fading: 1 counts every contact of the window alike, 0.8 one of five days ago a third.
        bounds: rising; a person is in the last channel whose bound is not above their closeness,
            and in none below the first.
    """

    fading: float = 1.0
    bounds: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        if not 0.0 < self.fading <= 1.0:  # also catches NaN
            raise InputError(f"fading must lie in (0, 1], not {self.fading}")
        rising = all(a < b for a, b in zip(self.bounds, self.bounds[1:], strict=False))
        if not self.bounds or not rising or not 0.0 <= self.bounds[0] <= self.bounds[-1] < np.inf:
            raise InputError(f"bounds must rise from 0 or more, not {self.bounds}")

    @property
    def channels(self) -> int:
        """How many numbers a receiver has."""
        return len(self.bounds)


def head_counts(window: ContactWindow, alarms: Floats, closeness: Closeness) -> Floats:
    """Return the alarms of distinct people met, by channel: float64 [channels, people].

    Guarantee: for every receiver a sender is in one channel at most, chosen by contacts alone, and
    adds the largest of their alarms on the days the two met, so from 0 to 1; exactly, as alarms are
    multiples of 2⁻²⁰. Senders that a receiver did not meet add nothing.

    Args:
        window: who met whom.
        alarms: float64 [days, people], in [0, 1] and multiples of 2⁻²⁰.
        closeness: chooses channels.

    Cost: one counting sort of each day's contacts, when it is first asked for; then contacts of
    people whose alarm is above 0 alone.
    """
    check_shape(window, alarms)
    if len(window) > MOST_DAYS:
        raise InputError(f"a window of {len(window)} days: head counts have {MOST_DAYS} at most")
    if not (alarms.min(initial=0.0) >= 0.0 and alarms.max(initial=0.0) <= 1.0):  # nor NaN
        raise InputError("alarms must lie between 0 and 1")
    n_days, n_people = alarms.shape
    days = [*window, *(DayContacts.empty(n_people) for _ in range(MOST_DAYS - n_days))]
    alarming = np.flatnonzero(alarms.any(axis=0))
    turned = [day.by_sender() for day in days]
    return kernels.count_heads(
        tuple(offsets for offsets, _ in turned),
        tuple(receivers for _, receivers in turned),
        alarming,
        np.ascontiguousarray(alarms.T[alarming]),
        closeness.fading ** np.arange(n_days - 1, -1, -1, dtype=np.float64),
        np.array(closeness.bounds),
        get_num_threads(),
    )
