"""The compiled half of head counts: distinct people met in a window."""

from typing import Any

import numpy as np
from numba import njit, prange

_UNSEEN = -1.0


@njit(cache=True)
def _channel(close: Any, bounds: Any) -> Any:
    """Return the last channel whose bound is not above a closeness; -1 for none."""
    channel = -1
    while channel + 1 < bounds.size and bounds[channel + 1] <= close:
        channel += 1
    return channel


@njit(cache=True)
def _reach(
    s: Any, offsets: Any, receivers: Any, alarms: Any, weights: Any, seen: Any, reached: Any
) -> Any:
    """Note in `seen` the largest alarm and the closeness of whom a sender met; return how many.

    They are listed in `reached`. `seen` is [people, 2], `_UNSEEN` first for people not met.
    """
    n = 0
    for t in range(weights.size):
        alarm, weight = alarms[t], weights[t]
        for i in range(offsets[t][s], offsets[t][s + 1]):
            r = receivers[t][i]
            largest = seen[r, 0]
            if largest < 0.0:
                reached[n] = r
                n += 1
                seen[r, 1] = 0.0
            seen[r, 0] = max(largest, alarm)
            seen[r, 1] += weight
    return n


@njit(cache=True, parallel=True)
def count_heads(
    offsets: Any, receivers: Any, alarming: Any, alarms: Any, weights: Any, bounds: Any, parts: Any
) -> Any:
    """Return float64 [channels, people]: the alarms of distinct people met, by closeness.

    A sender counts once per receiver, by their largest alarm on the days they met. Closeness is the
    sum of `weights` over the contacts of the two; it chooses the channel: the last one whose bound
    is not above it. Who is below the first bound does not count. Contacts of senders without an
    alarm are not looked at.

    Args:
        offsets: a tuple of one array per day, at least as many as `weights`, and so
        receivers: as `DayContacts.by_sender` returns them.
        alarming: int64 [alarming people].
        alarms: float64 [alarming people, days], the oldest first; multiples of 2⁻²⁰, so that sums
            are exact in any order.
        weights: float64 [days], of a contact on that day.
        bounds: float64 [channels], rising.
        parts: into how many the senders are divided; the result does not depend on it.

    Cost: some 10 operations per contact of an alarming sender; memory (24 + 8 × channels) bytes ×
    people × parts.
    """
    n_people, n_channels = offsets[0].size - 1, bounds.size
    totals = np.zeros((parts, n_people, n_channels))
    for part in prange(parts):
        seen = np.full((n_people, 2), _UNSEEN)
        reached = np.empty(n_people, dtype=np.uint32)
        for j in range(part * alarming.size // parts, (part + 1) * alarming.size // parts):
            n = _reach(alarming[j], offsets, receivers, alarms[j], weights, seen, reached)
            for k in range(n):
                r = reached[k]
                channel = _channel(seen[r, 1], bounds)
                if channel >= 0:
                    totals[part, r, channel] += seen[r, 0]
                seen[r, 0] = _UNSEEN
    counts = np.zeros((n_channels, n_people))
    for r in prange(n_people):
        for part in range(parts):
            for channel in range(n_channels):
                counts[channel, r] += totals[part, r, channel]
    return counts
