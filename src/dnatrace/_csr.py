"""Compressed rows of contacts by receiver: counting sorts that build them, filters that cut them.

Ids are read as unsigned numbers, which spares a check for negative indices at every access; callers
have made sure that they are in range (`sort_days` finds the first that is not).
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange

_WORTH_THREADS = 50_000  # contacts; below, starting threads costs more than they save


def sort_days(senders: Any, receivers: Any, days: Any, n_people: int, n_days: int) -> Any:
    """Check rows and sort the contacts of every day by receiver, then by sender.

    Returns (first bad row or the number of rows, a list of (offsets [people + 1], senders) by day,
    each in memory of its own). A row is bad when an id or a day is out of range or when a person
    meets themselves; then the list is empty.

    Two stable counting sorts, first by day and sender, then by receiver: the result does not depend
    on the order of the rows, so neither does any sum over a receiver's contacts.
    Cost: O(contacts + days × people) time; two reads of the rows; 4 bytes a contact and 4 bytes a
    person, day and thread of working memory. Rows and days run in parallel.
    """
    n_chunks = get_num_threads() if senders.size >= _WORTH_THREADS else 1
    places = np.zeros((n_chunks, n_days * n_people), dtype=np.uint32)
    first_bad = _count(senders, receivers, days, n_people, n_days, places)
    if first_bad < senders.size:
        return first_bad, []
    starts = _places(places)
    receivers_by_sender = np.empty(senders.size, dtype=np.uint32)
    _scatter(senders, receivers, days, n_people, places, receivers_by_sender)

    def sort_day(d: int) -> Any:
        return _sort_day(receivers_by_sender, starts[d * n_people : (d + 1) * n_people + 1])

    if n_chunks == 1:
        return first_bad, [sort_day(d) for d in range(n_days)]
    with ThreadPoolExecutor(max_workers=n_chunks) as threads:  # the compiled sort frees Python
        return first_bad, list(threads.map(sort_day, range(n_days)))


@njit(cache=True, parallel=True)
def _count(senders: Any, receivers: Any, days: Any, n_people: int, n_days: int, counts: Any) -> Any:
    """Count the rows of every chunk by day and sender; return the first bad row."""
    n, n_chunks = senders.size, counts.shape[0]
    first_bad = np.full(n_chunks, n, dtype=np.int64)
    for k in prange(n_chunks):
        for i in range(k * n // n_chunks, (k + 1) * n // n_chunks):
            s, r, d = senders[i], receivers[i], days[i]
            in_range = 0 <= s < n_people and 0 <= r < n_people and 0 <= d < n_days
            if not in_range or s == r:
                first_bad[k] = i
                break
            counts[k, np.uint64(d * n_people + s)] += np.uint32(1)
    return first_bad.min()


@njit(cache=True)
def _places(places: Any) -> Any:
    """Turn counts [chunks, keys] into where each chunk's group begins; return group starts."""
    n_chunks, n_keys = places.shape
    starts = np.empty(n_keys + 1, dtype=np.uint32)
    total = np.uint32(0)
    for key in range(n_keys):
        starts[key] = total
        for k in range(n_chunks):
            count = places[k, key]
            places[k, key] = total
            total += count
    starts[n_keys] = total
    return starts


@njit(cache=True, parallel=True)
def _scatter(
    senders: Any, receivers: Any, days: Any, n_people: int, places: Any, receivers_by_sender: Any
) -> None:
    """Write the receivers in the order of day and sender."""
    n, n_chunks = senders.size, places.shape[0]
    for k in prange(n_chunks):
        for i in range(k * n // n_chunks, (k + 1) * n // n_chunks):
            key = np.uint64(days[i] * n_people + senders[i])
            receivers_by_sender[places[k, key]] = receivers[i]
            places[k, key] += np.uint32(1)


@njit(cache=True, nogil=True)
def _sort_day(receivers_by_sender: Any, starts: Any) -> Any:
    """Return (offsets, senders) by receiver of one day whose rows are sorted by sender."""
    n_people = starts.size - 1
    one = np.uint32(1)
    offsets = np.zeros(n_people + 1, dtype=np.uint32)
    for i in range(starts[0], starts[n_people]):
        offsets[receivers_by_sender[i] + one] += one
    for person in range(n_people):
        offsets[person + 1] += offsets[person]
    place = offsets[:-1].copy()
    senders = np.empty(offsets[n_people], dtype=np.int32)
    for s in range(n_people):
        for i in range(starts[s], starts[s + 1]):
            r = receivers_by_sender[i]
            senders[place[r]] = s
            place[r] += one
    return offsets.view(np.int32), senders


@njit(cache=True, parallel=True)
def among(offsets: Any, senders: Any, kept: Any) -> Any:
    """Return (offsets, senders) of the contacts whose both ends are kept, bool [people].

    Cost: two passes, O(people + contacts), receivers in parallel.
    """
    n_people = offsets.size - 1
    counts = np.zeros(n_people + 1, dtype=offsets.dtype)
    for r in prange(n_people):
        if kept[r]:
            n_kept = 0
            for c in range(offsets[r], offsets[r + 1]):
                n_kept += kept[senders[c]]
            counts[r + 1] = n_kept
    kept_offsets = np.cumsum(counts).astype(offsets.dtype)
    kept_senders = np.empty(kept_offsets[-1], dtype=senders.dtype)
    for r in prange(n_people):
        if kept[r]:
            place = kept_offsets[r]
            for c in range(offsets[r], offsets[r + 1]):
                if kept[senders[c]]:
                    kept_senders[place] = senders[c]
                    place += 1
    return kept_offsets, kept_senders
