"""Head counts: how many distinct people somebody met in a window, each by their largest alarm.

A person met ten times counts once: one person moves one number of a receiver by at most 1. People
met more often or lately are counted separately from those met in passing (channels), by contacts
alone: a test result never moves anybody from one channel to another.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.inference import _headcount_kernels as kernels
from dnatrace.records import ContactWindow
from dnatrace.threads import in_parts

_WORTH_THREADS = 200_000  # contacts; below, starting threads costs more than they save

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """How people are divided into channels by their contacts with a receiver.

    The closeness of two people is the sum over their contacts of `fading` to the power of its age
    in days.

    Attributes:
        fading: 1 counts every contact of the window alike; 0.8 counts one of five days ago as a
            third.
        bounds: increasing; a person is in the last channel whose bound is not above their
            closeness, and in none below the first.
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


def head_counts(
    window: ContactWindow, alarms: Floats, closeness: Closeness, *, of: Ids | None = None
) -> Floats:
    """Return the alarms of distinct people met, by channel: float64 [channels, people].

    Guarantee: for every receiver a sender is in at most one channel, chosen by contacts alone, and
    adds the largest of their alarms on the days the two met, so between 0 and 1; exactly, as alarms
    are multiples of 2⁻²⁰. Senders whom a receiver did not meet add nothing.

    Args:
        window: who met whom.
        alarms: float64 [days, people], in [0, 1] and multiples of 2⁻²⁰.
        closeness: how channels are chosen.
        of: the ids of the people whose alarms these are, each once; all others have none. None
            means everybody.

    Cost: one counting sort of each day's contacts that are not mutual, at the first call; after
    that only contacts of people whose alarm is above 0. Large counts run on several threads; the
    result does not depend on how many.
    """
    people = np.arange(window.n_people) if of is None else of
    if alarms.shape != (len(window), people.size):
        raise InputError(f"alarms {alarms.shape} for {len(window)} days and {people.size} people")
    if not (alarms.min(initial=0.0) >= 0.0 and alarms.max(initial=0.0) <= 1.0):  # nor NaN
        raise InputError("alarms must lie between 0 and 1")
    alarming = alarms.any(axis=0)
    met, starts = _met_by(people[alarming], window)
    by_sender = np.ascontiguousarray(alarms.T[alarming])
    weights = closeness.fading ** np.arange(len(window) - 1, -1, -1, dtype=np.float64)
    bounds = np.array(closeness.bounds)

    def part(first: int, end: int) -> Floats:
        counts = np.zeros((closeness.channels, window.n_people))
        kernels.count_heads(met, starts, by_sender, weights, bounds, first, end, counts)
        return counts

    parts = in_parts(len(by_sender), part, worth=met.size > _WORTH_THREADS)
    return parts[0] if len(parts) == 1 else np.sum(parts, axis=0)


def _met_by(senders: Ids, window: ContactWindow) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return whom some people met, and where each list begins: int64 [days, people + 1]."""
    met, starts = [], np.zeros((len(window), senders.size + 1), dtype=np.int64)
    total = 0
    for t, day in enumerate(window):
        offsets, receivers = day.by_sender()
        begins = offsets[senders].astype(np.int64)
        sizes = offsets[senders + 1] - begins
        np.cumsum(sizes, out=starts[t, 1:])
        places = np.repeat(begins - starts[t, :-1], sizes) + np.arange(starts[t, -1])
        met.append(receivers[places])
        starts[t] += total
        total += places.size
    return np.concatenate([np.empty(0, dtype=np.uint32), *met]), starts
