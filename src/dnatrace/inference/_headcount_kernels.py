"""The compiled part of head counts: distinct people met in a window."""

from typing import Any

import numpy as np
from numba import njit

_UNSEEN = -1.0


@njit(cache=True, nogil=True)
def count_heads(
    met: Any, starts: Any, alarms: Any, weights: Any, bounds: Any, first: Any, end: Any, counts: Any
) -> None:
    """Add to counts [channels, people] the alarms of distinct people met, by closeness.

    A sender counts once per receiver, by their largest alarm on the days they met. Closeness is the
    sum of `weights` over the contacts of the two; it chooses the channel: the last one whose bound
    is not above it. Senders below the first bound do not count.

    Args:
        met: whom alarming senders met, uint32 [contacts of alarming senders].
        starts: int64 [days, senders + 1]: the people whom sender j met on day t are entries
            starts[t, j] to starts[t, j + 1] of `met`.
        alarms: float64 [senders, days], the oldest first; multiples of 2⁻²⁰, so that sums are exact
            in any order.
        weights: the weight of a contact on each day, float64 [days].
        bounds: float64 [channels], increasing.
        first: the first sender to count.
        end: one more than the last sender to count.
        counts: float64 [channels, people], to which the alarms are added.

    Cost: some 10 operations per contact of an alarming sender; memory 20 bytes per person.
    """
    n_people = counts.shape[1]
    largest = np.full(n_people, _UNSEEN)
    closeness = np.zeros(n_people)
    reached = np.empty(n_people, dtype=np.uint32)
    for j in range(first, end):
        n = 0
        for t in range(weights.size):
            alarm, weight = alarms[j, t], weights[t]
            for i in range(starts[t, j], starts[t, j + 1]):
                r = met[i]
                if largest[r] < 0.0:
                    reached[n] = r
                    n += 1
                    closeness[r] = 0.0
                largest[r] = max(largest[r], alarm)
                closeness[r] += weight
        for k in range(n):
            r = reached[k]
            channel = -1
            while channel + 1 < bounds.size and bounds[channel + 1] <= closeness[r]:
                channel += 1
            if channel >= 0:
                counts[channel, r] += largest[r]
            largest[r] = _UNSEEN
