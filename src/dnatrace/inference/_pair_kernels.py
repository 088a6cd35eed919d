"""Who met whom in the window, by pair instead of by day: compressed rows that a day is added to.

A person has one entry per other person they met, ordered by id; an entry holds the days on which
the person heard the other, and where the other's entry of the same pair stands. A day twice is two
contacts.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

NONE = -1
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
def _copy_days(source: Any, first: Any, n: Any, target: Any, place: Any) -> None:
    for k in range(n):
        target[place + k] = source[first + k]


@njit(cache=True)
def _run_length(people: Any, at: Any, other: Any) -> Any:
    """Return how often `other` stands in an ordered list from a place on."""
    n = 0
    while at + n < people.size and people[at + n] == other:
        n += 1
    return n


@njit(cache=True)
def _merge(
    pairs: Any, person: Any, heard: Any, told: Any, day: Any, first: Any, place: Any, into: Any
) -> Any:
    """Merge a person's entries with whom they heard and told on `day`; return where they end.

    `place` is the first entry and the first day to write in `into` (others, origins, starts, days),
    which is written when it is not empty. Arrays are taken out of their tuples once: in the loop
    each access would count references.
    """
    _, others, reverse, starts, days, _ = pairs
    new_others, origins, new_starts, new_days = into
    writes = new_starts.size > 0
    e, end = pairs.offsets[person], pairs.offsets[person + 1]
    h, g = 0, 0
    at, c = place
    while True:
        other = np.int64(heard[h]) if h < heard.size else np.int64(_NOBODY)
        if g < told.size:
            other = min(other, np.int64(told[g]))
        while e < end and others[e] < other:  # did not meet today
            kept = _kept(starts, days, e, first)
            if kept > 0 or _kept(starts, days, reverse[e], first) > 0:
                if writes:
                    new_others[at], origins[at], new_starts[at] = others[e], e, c
                    _copy_days(days, starts[e + 1] - kept, kept, new_days, c)
                at += 1
                c += kept
            e += 1
        if other == _NOBODY:
            return at, c
        new = _run_length(heard, h, other)
        h += new
        g += _run_length(told, g, other)
        met = e < end and others[e] == other
        kept = _kept(starts, days, e, first) if met else 0
        if writes:
            new_others[at], origins[at], new_starts[at] = other, e if met else NONE, c
            if met:
                _copy_days(days, starts[e + 1] - kept, kept, new_days, c)
            new_days[c + kept : c + kept + new] = day
        e += met
        at += 1
        c += kept + new


@njit(cache=True, parallel=True)
def _sizes(pairs: Any, heard: Any, told: Any, day: Any, first: Any, into: Any) -> Any:
    n_people = pairs.offsets.size - 1
    sizes = np.zeros((n_people + 1, 2), dtype=np.int64)
    start = np.zeros(2, dtype=np.int64)
    for i in prange(n_people):
        mine = heard[1][heard[0][i] : heard[0][i + 1]]
        theirs = told[1][told[0][i] : told[0][i + 1]]
        entries, contacts = _merge(pairs, i, mine, theirs, day, first, start, into)
        sizes[i + 1, 0], sizes[i + 1, 1] = entries, contacts
    return sizes


@njit(cache=True, parallel=True)
def _fill(pairs: Any, heard: Any, told: Any, day: Any, first: Any, places: Any, into: Any) -> None:
    for i in prange(pairs.offsets.size - 1):
        mine = heard[1][heard[0][i] : heard[0][i + 1]]
        theirs = told[1][told[0][i] : told[0][i + 1]]
        _merge(pairs, i, mine, theirs, day, first, places[i], into)


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


@njit(cache=True)
def _slots(starts: Any, days: Any, reverse: Any) -> Any:
    """Return a number for every entry that needs vectors, in order."""
    slots = np.full(reverse.size, NONE, dtype=np.int32)
    n = 0
    for e in range(reverse.size):
        r = reverse[e]
        once = starts[e + 1] - starts[e] == 1 and starts[r + 1] - starts[r] == 1
        if not once or days[starts[e]] != days[starts[r]]:
            slots[e] = n
            n += 1
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
    nothing = np.empty(0, dtype=np.int32)
    nowhere = (nothing, nothing, np.empty(0, dtype=np.int64), nothing)
    sizes = np.cumsum(_sizes(pairs, heard, told, day, first, nowhere), axis=0)
    n_entries, n_contacts = int(sizes[-1, 0]), int(sizes[-1, 1])
    others, origins = np.empty((2, n_entries), dtype=np.int32)
    starts = np.empty(n_entries + 1, dtype=np.int64)
    starts[-1] = n_contacts
    days = np.empty(n_contacts, dtype=np.int32)
    _fill(pairs, heard, told, day, first, sizes, (others, origins, starts, days))
    entry_offsets = np.ascontiguousarray(sizes[:, 0])
    reverse = _reverse(entry_offsets, others)
    slots = _slots(starts, days, reverse)
    return Pairs(entry_offsets, others, reverse, starts, days, slots), origins
