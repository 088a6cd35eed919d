"""The compiled half of head counts: distinct people met in a window."""

from typing import Any

import numpy as np
from numba import njit, prange

_PARTS = 8  # of the receivers; each has tables of its own, so results do not depend on threads


@njit(cache=True)
def _gather(begin: Any, end: Any, senders: Any, alarming: Any, found: Any) -> Any:
    """Put the alarming senders of one day into `found` and return how many; no branches."""
    n = np.uint32(0)
    for i in range(begin, end):
        found[n] = senders[i]
        n += alarming[senders[i]]
    return n


@njit(cache=True)
def _channel(close: Any, bounds: Any) -> Any:
    """Return the last channel whose bound is not above a closeness; -1 for none."""
    channel = -1
    while channel + 1 < bounds.size and bounds[channel + 1] <= close:
        channel += 1
    return channel


@njit(cache=True, parallel=True)
def count_heads(
    offsets: Any, senders: Any, alarming: Any, alarms: Any, weights: Any, bounds: Any, counts: Any
) -> None:
    """Fill counts, float64 [channels, people], with the alarms of distinct people by closeness.

    A sender counts once per receiver, by their largest alarm on the days they met. Closeness is the
    sum of `weights` over the contacts of the two; it chooses the channel: the last one whose bound
    is not above it. Who is below the first bound does not count.

    Args:
        offsets: a tuple of one array per day, and so
        senders: as in `DayContacts`, unsigned.
        alarming: uint32 [people], 1 if any alarm of a person is above 0, else 0.
        alarms: float64 [people, days].
        weights: float64 [days], of a contact on that day.
        bounds: float64 [channels], rising.
        counts: the result.

    Cost: one look-up per contact, and some 20 operations per contact with somebody who alarms;
    memory 28 bytes × people × 8.
    """
    n_people = alarming.size
    for part in prange(_PARTS):
        place = np.zeros(n_people, dtype=np.int32)  # of a sender in the list, from 1 on; 0 if not
        listed = np.empty(n_people + 1, dtype=np.uint32)
        largest, close = np.empty(n_people + 1), np.empty(n_people + 1)
        longest: Any = 1
        for t in range(weights.size):
            for r in range(part * n_people // _PARTS, (part + 1) * n_people // _PARTS):
                longest = max(longest, np.int64(offsets[t][r + 1] - offsets[t][r]))
        found = np.empty(longest + 1, dtype=np.uint32)
        for r in range(part * n_people // _PARTS, (part + 1) * n_people // _PARTS):
            n = 0
            for t in range(weights.size):
                for i in range(
                    _gather(offsets[t][r], offsets[t][r + 1], senders[t], alarming, found)
                ):
                    s = found[i]
                    if place[s] == 0:
                        n += 1
                        place[s] = n
                        listed[n], largest[n], close[n] = s, 0.0, 0.0
                    k = place[s]
                    largest[k] = max(largest[k], alarms[s, t])
                    close[k] += weights[t]
            counts[:, r] = 0.0
            for k in range(1, n + 1):
                place[listed[k]] = 0
                channel = _channel(close[k], bounds)
                if channel >= 0:
                    counts[channel, r] += largest[k]
