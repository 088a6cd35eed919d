"""Compressed rows of contacts by receiver: counting sorts that build them, filters that cut them.

Ids are read as unsigned numbers, which saves a check for negative indices at every access; callers
have made sure that ids are in range (`split_by_day` finds the first one that is not, `require_rows`
checks rows that somebody else built).
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange

from dnatrace.errors import InputError

_WORTH_THREADS = 50_000  # contacts; below, starting threads costs more than they save
_CHUNK_ROWS = 16_384  # rows sorted by day together: they fit into the second-level cache


def require_rows(offsets: Any, senders: Any) -> None:
    """Raise unless offsets [people + 1] and senders [contacts], int32, are rows by receiver.

    Cost: one pass over both.
    """
    require_array("offsets", offsets, np.int32)
    require_array("senders", senders, np.int32)
    n_people, n_contacts = offsets.size - 1, senders.size
    if n_people < 0 or offsets[0] != 0 or offsets[-1] != n_contacts:
        raise InputError(f"offsets must begin with 0 and end with {n_contacts}, as many as senders")
    if (offsets[1:] < offsets[:-1]).any():
        raise InputError("offsets must not fall")
    # As unsigned numbers, negative ids are too large as well.
    if n_contacts and senders.view(np.uint32).max() >= n_people:
        outside = senders[int(np.argmax(senders.view(np.uint32) >= n_people))]
        raise InputError(f"sender {outside} is outside the ids 0 … {n_people - 1}")


def require_array(name: str, value: Any, dtype: Any, size: int | None = None) -> None:
    """Raise unless a value is an array of that type in one dimension, and of that size."""
    kind = np.dtype(dtype).name
    if not isinstance(value, np.ndarray):
        raise InputError(f"{name} must be an array of {kind}, not a {type(value).__name__}")
    if value.dtype != dtype or value.ndim != 1:
        found = f"{value.dtype} of shape {list(value.shape)}"
        raise InputError(f"{name} must be an array of {kind} in one dimension, not {found}")
    if size is not None and value.size != size:
        raise InputError(f"{name} must have {size} values, not {value.size}")


@njit(cache=True, nogil=True)
def sort_by_receiver(senders: Any, receivers: Any, starts: Any, ends: Any, n_people: int) -> Any:
    """Return (offsets [people + 1], senders [contacts]) by receiver, then by sender.

    Two stable counting sorts, first by sender and then by receiver: the result does not depend on
    the order of the rows, so neither does any sum over a receiver's contacts.
    The contacts are the entries starts[k] to ends[k] of `senders` and `receivers`, uint32, for
    every k.
    Cost: O(people + contacts) time, 4 bytes per contact and 12 bytes per person of working memory.
    """
    one = np.uint32(1)
    sender_starts = np.zeros(n_people + 1, dtype=np.uint32)
    offsets = np.zeros(n_people + 1, dtype=np.uint32)
    for k in range(starts.size):
        for i in range(starts[k], ends[k]):
            sender_starts[senders[i] + one] += one
            offsets[receivers[i] + one] += one
    for person in range(n_people):
        sender_starts[person + 1] += sender_starts[person]
        offsets[person + 1] += offsets[person]
    place = sender_starts[:-1].copy()
    receivers_by_sender = np.empty(offsets[n_people], dtype=np.uint32)
    for k in range(starts.size):
        for i in range(starts[k], ends[k]):
            s = senders[i]
            receivers_by_sender[place[s]] = receivers[i]
            place[s] += one
    place[:] = offsets[:-1]
    sorted_senders = np.empty(offsets[n_people], dtype=np.int32)
    for s in range(n_people):
        for i in range(sender_starts[s], sender_starts[s + 1]):
            r = receivers_by_sender[i]
            sorted_senders[place[r]] = s
            place[r] += one
    return offsets.view(np.int32), sorted_senders


def split_by_day(senders: Any, receivers: Any, days: Any, n_people: int, n_days: int) -> Any:
    """Check rows and group every chunk of them by day.

    Returns (first bad row or the number of rows, senders, receivers as uint32, starts [days + 1,
    chunks]): the rows of day d in chunk k are from starts[d, k] to starts[d + 1, k]. A row is bad
    when an id or a day is out of range or when a person meets themselves.
    Cost: one read and one write of the rows, chunks in parallel; 8 bytes per contact.
    """
    n = senders.size
    # numpy asks the system for large pages, which the compiled allocator does not.
    day_senders = np.empty(n, dtype=np.uint32)
    day_receivers = np.empty(n, dtype=np.uint32)
    starts = np.empty((n_days + 1, -(-n // _CHUNK_ROWS)), dtype=np.uint64)
    first_bad = _split_chunks(
        senders, receivers, days, n_people, day_senders, day_receivers, starts
    )
    return first_bad, day_senders, day_receivers, starts


@njit(cache=True, parallel=True)
def _split_chunks(
    senders: Any,
    receivers: Any,
    days: Any,
    n_people: int,
    day_senders: Any,
    day_receivers: Any,
    starts: Any,
) -> Any:
    n, n_chunks, n_days = senders.size, starts.shape[1], starts.shape[0] - 1
    most_id, most_day = np.uint64(n_people), np.uint64(n_days)
    first_bad = np.full(n_chunks + 1, n, dtype=np.int64)
    for k in prange(n_chunks):
        first, end = k * _CHUNK_ROWS, min((k + 1) * _CHUNK_ROWS, n)
        counts = np.zeros(n_days, dtype=np.uint32)
        for i in range(first, end):
            # As unsigned numbers, negative ones are too large as well.
            s, r, d = np.uint64(senders[i]), np.uint64(receivers[i]), np.uint64(days[i])
            if (s >= most_id) | (r >= most_id) | (d >= most_day) | (s == r):
                first_bad[k] = i
                break
            counts[d] += np.uint32(1)
        if first_bad[k] == n:
            place = np.empty(n_days, dtype=np.uint64)
            starts[0, k] = first
            for t in range(n_days):
                place[t] = starts[t, k]
                starts[t + 1, k] = starts[t, k] + counts[t]
            for i in range(first, end):
                d = np.uint64(days[i])
                p = place[d]
                place[d] = p + np.uint64(1)
                day_senders[p] = senders[i]
                day_receivers[p] = receivers[i]
    return first_bad.min()


def sort_days_by_receiver(senders: Any, receivers: Any, starts: Any, n_people: int) -> Any:
    """Return (offsets, senders) of every day by receiver, each day in memory of its own.

    The arguments are what `split_by_day` returns. Days run in parallel: the compiled sort releases
    the interpreter.
    """

    def sort_day(d: int) -> Any:
        return sort_by_receiver(senders, receivers, starts[d], starts[d + 1], n_people)

    days = range(len(starts) - 1)
    if senders.size < _WORTH_THREADS:
        return [sort_day(d) for d in days]
    with ThreadPoolExecutor(max_workers=get_num_threads()) as threads:
        return list(threads.map(sort_day, days))


@njit(cache=True, parallel=True)
def among(offsets: Any, senders: Any, kept: Any) -> Any:
    """Return (offsets, senders) of the contacts between people who are both kept, bool [people].

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


@njit(cache=True, nogil=True)
def turned(offsets: Any, senders: Any) -> Any:
    """Return (offsets, receivers), uint32, of the same contacts by sender, then by receiver.

    Arguments are uint32. Cost: one counting sort, O(people + contacts).
    """
    one, n_people = np.uint32(1), offsets.size - 1
    starts = np.zeros(n_people + 1, dtype=np.uint32)
    for i in range(senders.size):
        starts[senders[i] + one] += one
    for person in range(n_people):
        starts[person + 1] += starts[person]
    place = starts[:-1].copy()
    receivers = np.empty(senders.size, dtype=np.uint32)
    for r in range(n_people):
        for i in range(offsets[r], offsets[r + 1]):
            s = senders[i]
            receivers[place[s]] = r
            place[s] += one
    return starts, receivers


@njit(cache=True, nogil=True)
def most_meetings(offsets: Any, senders: Any) -> Any:
    """Return the most contacts that one receiver has with one sender; 0 without contacts.

    Arguments are uint32. Cost: one look-up per contact; memory 8 bytes per person.
    """
    n_people, most = offsets.size - 1, 0
    last = np.full(n_people, n_people, dtype=np.uint32)  # who met a sender last; nobody yet
    times = np.zeros(n_people, dtype=np.int32)
    for r in range(n_people):
        for i in range(offsets[r], offsets[r + 1]):
            s = senders[i]
            times[s] = times[s] + 1 if last[s] == r else 1
            last[s] = r
            most = max(most, times[s])
    return most
