"""Who met whom in the window, by pair instead of by day: compressed rows that a day is added to.

A person has one entry per other person they met, ordered by id; an entry holds the days on which
the person heard the other, and where the other's entry of the same pair stands. A day twice is two
contacts.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

NONE = -1
CHUNK = 64  # people that one thread takes at a time
_NOBODY = 2**31  # more than any id


class Pairs(NamedTuple):
    """All entries; arrays by entry [entries] unless said otherwise.

    Attributes:
        offsets: first entry of each person, int64 [people + 1].
        others: the other person, int32.
        reverse: the entry of the other person for the same pair, int32.
        starts: first of the days of each entry, int64 [entries + 1].
        days: on which the person heard the other, ascending, int32 [contacts].
        slots: where the vectors of a pair that met more than once stand, int32; `NONE` for pairs
            that met once, each hearing the other.
    """

    offsets: Any
    others: Any
    reverse: Any
    starts: Any
    days: Any
    slots: Any


def no_pairs(n_people: int) -> Pairs:
    """Return the pairs of a window in which nobody met."""
    empty = np.empty(0, dtype=np.int32)
    return Pairs(
        offsets=np.zeros(n_people + 1, dtype=np.int64),
        others=empty,
        reverse=empty,
        starts=np.zeros(1, dtype=np.int64),
        days=empty,
        slots=empty,
    )


@njit(cache=True)
def _kept(starts: Any, days: Any, e: Any, first: Any) -> Any:
    """Return how many days of an entry, which ascend, are not before `first`."""
    c, end = starts[e], starts[e + 1]
    while c < end and days[c] < first:
        c += 1
    return end - c


@njit(cache=True)
def _run_end(people: Any, at: Any, end: Any, other: Any) -> Any:
    """Return where an ordered list that has `other` from a place on has somebody else."""
    while at < end and people[at] == other:
        at += 1
    return at


@njit(cache=True)
def _next(heard: Any, h: Any, h_end: Any, told: Any, g: Any, g_end: Any) -> Any:
    """Return the first person of two ordered lists."""
    other = np.int64(heard[h]) if h < h_end else np.int64(_NOBODY)
    return min(other, np.int64(told[g])) if g < g_end else other


@njit(cache=True)
def _size(
    row: Any,
    others: Any,
    reverse: Any,
    starts: Any,
    days: Any,
    heard: Any,
    told: Any,
    met: Any,
    first: Any,
) -> tuple[Any, Any]:
    """Return how many entries and contacts a person has with today's.

    `row` is their first entry and the end; `met` says where those stand whom they heard and told
    today: first and end, first and end.
    """
    h, h_end, g, g_end = met
    e, end = row
    entries, contacts = end - e, starts[end] - starts[e] + h_end - h
    other = _next(heard, h, h_end, told, g, g_end)
    while e < end or other != _NOBODY:
        if e == end or others[e] > other:
            entries += 1
        elif starts[e] == starts[e + 1] or days[starts[e]] < first:
            kept = _kept(starts, days, e, first)
            contacts -= starts[e + 1] - starts[e] - kept
            leaves = kept == 0 and _kept(starts, days, reverse[e], first) == 0
            entries -= leaves and others[e] != other
        if e < end and others[e] <= other:
            met_today = others[e] == other
            e += 1
            if not met_today:
                continue
        h, g = _run_end(heard, h, h_end, other), _run_end(told, g, g_end, other)
        other = _next(heard, h, h_end, told, g, g_end)
    return entries, contacts


@njit(cache=True)
def _merge(
    row: Any,
    others: Any,
    reverse: Any,
    starts: Any,
    days: Any,
    heard: Any,
    told: Any,
    met: Any,
    day: Any,
    first: Any,
    place: Any,
    new_others: Any,
    origins: Any,
    new_starts: Any,
    new_days: Any,
    only: Any,
) -> None:
    """Write a person's entries with whom they met today from `place` on: first entry, first day.

    Else as `_size`; arrays one by one, because those of a tuple would count references.
    """
    h, h_end, g, g_end = met
    e, end = row
    at, c = place
    other = _next(heard, h, h_end, told, g, g_end)
    while e < end or other != _NOBODY:
        old = e < end and others[e] <= other
        today = not old or others[e] == other
        kept = _kept(starts, days, e, first) if old else 0
        if not today and kept == 0 and _kept(starts, days, reverse[e], first) == 0:
            e += 1
            continue
        new_others[at] = others[e] if old else other
        origins[at] = e if old else NONE
        new_starts[at] = c
        begin = starts[e + 1] - kept if old else 0
        if kept == 1:  # most; a copy of many would be set up first
            new_days[c] = days[begin]
        else:
            for k in range(kept):
                new_days[c + k] = days[begin + k]
        now = c + kept
        e += old
        if today:
            after = _run_end(heard, h, h_end, other)
            for _ in range(after - h):
                new_days[now] = day
                now += 1
            h, g = after, _run_end(told, g, g_end, other)
            other = _next(heard, h, h_end, told, g, g_end)
        only[at] = new_days[c] - first if now == c + 1 else NONE
        at += 1
        c = now


@njit(cache=True)
def _sizes_of(
    pairs: Any, heard: Any, told: Any, first: Any, people: Any, end: Any, sizes: Any
) -> None:
    """Fill the sizes of people up to `end`."""
    offsets, others, reverse, starts, days, _ = pairs
    heard_from, senders = heard
    told_from, receivers = told
    for i in range(people, end):
        row = offsets[i], offsets[i + 1]
        met = heard_from[i], heard_from[i + 1], told_from[i], told_from[i + 1]
        entries, contacts = _size(
            row, others, reverse, starts, days, senders, receivers, met, first
        )
        sizes[i + 1, 0], sizes[i + 1, 1] = entries, contacts


@njit(cache=True, parallel=True)
def _sizes(pairs: Any, heard: Any, told: Any, first: Any) -> Any:
    """Return the numbers of entries and of contacts of everybody, int64 [people + 1, 2]."""
    n_people = pairs.offsets.size - 1
    sizes = np.zeros((n_people + 1, 2), dtype=np.int64)
    for chunk in prange((n_people + CHUNK - 1) // CHUNK):
        end = min((chunk + 1) * CHUNK, n_people)
        _sizes_of(pairs, heard, told, first, chunk * CHUNK, end, sizes)
    return sizes


@njit(cache=True)
def _fill_of(
    pairs: Any,
    heard: Any,
    told: Any,
    day: Any,
    first: Any,
    places: Any,
    into: Any,
    people: Any,
    end: Any,
) -> None:
    """Fill the entries of people up to `end`."""
    offsets, others, reverse, starts, days, _ = pairs
    heard_from, senders = heard
    told_from, receivers = told
    new_others, origins, new_starts, new_days, only = into
    for i in range(people, end):
        row, place = (offsets[i], offsets[i + 1]), (places[i, 0], places[i, 1])
        met = heard_from[i], heard_from[i + 1], told_from[i], told_from[i + 1]
        _merge(
            row,
            others,
            reverse,
            starts,
            days,
            senders,
            receivers,
            met,
            day,
            first,
            place,
            new_others,
            origins,
            new_starts,
            new_days,
            only,
        )


@njit(cache=True, parallel=True)
def _fill(pairs: Any, heard: Any, told: Any, day: Any, first: Any, places: Any, into: Any) -> None:
    """Fill `into`, others, origins, starts, days and the day of who met once, from `places` on."""
    n_people = pairs.offsets.size - 1
    for chunk in prange((n_people + CHUNK - 1) // CHUNK):
        end = min((chunk + 1) * CHUNK, n_people)
        _fill_of(pairs, heard, told, day, first, places, into, chunk * CHUNK, end)


@njit(cache=True)
def _reverse(offsets: Any, others: Any) -> Any:
    """Return where the other's entry of each pair stands.

    People are passed in order, so that they fill the ordered entries of each other from the front.
    """
    place = offsets[:-1].copy()
    reverse = np.empty(others.size, dtype=np.int32)
    for e in range(others.size):
        other = others[e]
        reverse[e] = place[other]
        place[other] += 1
    return reverse


@njit(cache=True, parallel=True)
def _slots(offsets: Any, reverse: Any, only: Any) -> Any:
    """Return a number for every entry that needs vectors, in order.

    `only` is the day of an entry with one, else `NONE`: int16 [entries].
    """
    n_people = offsets.size - 1
    slots = np.empty(reverse.size, dtype=np.int32)
    firsts = np.zeros(n_people + 1, dtype=np.int64)
    for i in prange(n_people):
        n = 0
        for e in range(offsets[i], offsets[i + 1]):
            often = only[e] == NONE or only[e] != only[reverse[e]]
            slots[e] = n if often else NONE
            n += often
        firsts[i + 1] = n
    for i in range(n_people):
        firsts[i + 1] += firsts[i]
    for i in prange(n_people):
        for e in range(offsets[i], offsets[i + 1]):
            slots[e] += firsts[i] if slots[e] != NONE else 0
    return slots


@njit(cache=True)
def transpose(offsets: Any, senders: Any) -> Any:
    """Return (offsets, receivers) by sender of contacts by receiver, ordered by receiver."""
    starts = np.zeros(offsets.size, dtype=offsets.dtype)
    for s in senders:
        starts[s + 1] += 1
    for i in range(starts.size - 1):
        starts[i + 1] += starts[i]
    place = starts[:-1].copy()
    receivers = np.empty(senders.size, dtype=senders.dtype)
    for r in range(offsets.size - 1):
        for c in range(offsets[r], offsets[r + 1]):
            s = senders[c]
            receivers[place[s]] = r
            place[s] += 1
    return starts, receivers


def add_day(pairs: Pairs, offsets: Any, senders: Any, *, day: int, first: int) -> tuple[Pairs, Any]:
    """Return the pairs with the contacts of `day`, without days before `first`, and the origins.

    Contacts are compressed rows by receiver. The origin of an entry is the entry it
    had before, `NONE` if it is new: int32 [entries].
    Cost: O(people + entries + contacts).
    """
    told = transpose(offsets, senders)
    heard = transpose(*told)  # as given, but ordered by sender within each receiver
    sizes = np.cumsum(_sizes(pairs, heard, told, first), axis=0)
    n_entries, n_contacts = int(sizes[-1, 0]), int(sizes[-1, 1])
    others, origins = np.empty((2, n_entries), dtype=np.int32)
    starts = np.empty(n_entries + 1, dtype=np.int64)
    starts[-1] = n_contacts
    days = np.empty(n_contacts, dtype=np.int32)
    only = np.empty(n_entries, dtype=np.int16)
    _fill(pairs, heard, told, day, first, sizes, (others, origins, starts, days, only))
    entry_offsets = np.ascontiguousarray(sizes[:, 0])
    reverse = _reverse(entry_offsets, others)
    slots = _slots(entry_offsets, reverse, only)
    return Pairs(entry_offsets, others, reverse, starts, days, slots), origins
