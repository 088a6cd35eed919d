"""Compressed rows of contacts by receiver: counting sorts that build them, filters that cut them.

Ids are read as unsigned numbers, which spares a check for negative indices at every access; callers
have made sure that they are in range (`scan_rows` finds the first that is not).
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange

_WORTH_THREADS = 50_000  # contacts; below, starting threads costs more than they save
_CHUNKS = 16  # of rows that are scanned and split in parallel; the result does not depend on it


@njit(cache=True)
def _starts(keys: Any, n_keys: int) -> Any:
    """Return where the group of each key begins, [n_keys + 1], the last being the end."""
    starts = np.zeros(n_keys + 1, dtype=np.uint32)
    for i in range(keys.size):
        starts[keys[i] + np.uint32(1)] += np.uint32(1)
    for k in range(n_keys):
        starts[k + 1] += starts[k]
    return starts


@njit(cache=True, nogil=True)
def sort_by_receiver(senders: Any, receivers: Any, n_people: int) -> Any:
    """Return (offsets [people + 1], senders [contacts]) by receiver, then by sender.

    Two stable counting sorts, first by sender and then by receiver: the result does not depend on
    the order of the rows, so neither does any sum over a receiver's contacts.
    Arguments are uint32 arrays [contacts].
    Cost: O(people + contacts) time, 4 bytes a contact and 8 bytes a person of working memory.
    """
    sender_starts = _starts(senders, n_people)
    place = sender_starts[:-1].copy()
    receivers_by_sender = np.empty(receivers.size, dtype=np.uint32)
    for i in range(senders.size):
        s = senders[i]
        receivers_by_sender[place[s]] = receivers[i]
        place[s] += np.uint32(1)
    offsets = _starts(receivers, n_people)
    place[:] = offsets[:-1]
    sorted_senders = np.empty(senders.size, dtype=np.int32)
    for s in range(n_people):
        for i in range(sender_starts[s], sender_starts[s + 1]):
            r = receivers_by_sender[i]
            sorted_senders[place[r]] = s
            place[r] += np.uint32(1)
    return offsets.view(np.int32), sorted_senders


@njit(cache=True, parallel=True)
def scan_rows(senders: Any, receivers: Any, days: Any, n_people: int, n_days: int) -> Any:
    """Return (first bad row or the number of rows, rows by chunk and day [chunks, days]).

    A row is bad when an id or a day is out of range or when a person meets themselves.
    Cost: one read of the rows, chunks in parallel.
    """
    n = senders.size
    counts = np.zeros((_CHUNKS, n_days), dtype=np.int64)
    first_bad = np.full(_CHUNKS, n, dtype=np.int64)
    for chunk in prange(_CHUNKS):
        mine = np.zeros(n_days, dtype=np.int64)
        for i in range(chunk * n // _CHUNKS, (chunk + 1) * n // _CHUNKS):
            s, r, d = senders[i], receivers[i], days[i]
            in_range = 0 <= s < n_people and 0 <= r < n_people and 0 <= d < n_days
            if not in_range or s == r:
                first_bad[chunk] = i
                break
            mine[d] += 1
        counts[chunk] = mine
    return first_bad.min(), counts


def split_by_day(senders: Any, receivers: Any, days: Any, counts: Any) -> Any:
    """Return (starts [days + 1], senders, receivers as uint32) grouped by day, stably.

    `counts` is that of `scan_rows`.
    Cost: one read and one write of the rows, chunks in parallel; 8 bytes a contact.
    """
    starts = np.concatenate(([0], np.cumsum(counts.sum(axis=0))))
    place = starts[:-1] + np.cumsum(counts, axis=0) - counts
    # numpy asks the system for large pages, which the compiled allocator does not.
    day_senders = np.empty(senders.size, dtype=np.uint32)
    day_receivers = np.empty(senders.size, dtype=np.uint32)
    _scatter_chunks(senders, receivers, days, place, day_senders, day_receivers)
    return starts, day_senders, day_receivers


@njit(cache=True, parallel=True)
def _scatter_chunks(
    senders: Any, receivers: Any, days: Any, place: Any, day_senders: Any, day_receivers: Any
) -> None:
    n = senders.size
    for chunk in prange(_CHUNKS):
        mine = place[chunk].copy()
        for i in range(chunk * n // _CHUNKS, (chunk + 1) * n // _CHUNKS):
            p = mine[days[i]]
            mine[days[i]] = p + 1
            day_senders[p] = senders[i]
            day_receivers[p] = receivers[i]


def sort_days_by_receiver(starts: Any, senders: Any, receivers: Any, n_people: int) -> Any:
    """Return (offsets, senders) of every day by receiver, each in memory of its own.

    Days run in parallel: the compiled sort releases the interpreter.
    """

    def sort_day(d: int) -> Any:
        day = slice(starts[d], starts[d + 1])
        return sort_by_receiver(senders[day], receivers[day], n_people)

    days = range(starts.size - 1)
    if senders.size < _WORTH_THREADS:
        return [sort_day(d) for d in days]
    with ThreadPoolExecutor(max_workers=get_num_threads()) as threads:
        return list(threads.map(sort_day, days))


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
