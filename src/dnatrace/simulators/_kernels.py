"""Compiled array functions that list the contacts of a day.

Every draw is addressed by a counter, and every output element is written by one iteration that
reads in a fixed order, so that results do not depend on the number of threads. Indices in inner
loops are unsigned: numba then omits the test for negative ones, which would take a third of the
time.
"""

from typing import Any

import numpy as np
from numba import njit, prange

from dnatrace.rng import ONE, ZERO, philox, uniform_at
from dnatrace.simulators.base import ContactKind

_HOUSEHOLD = int(ContactKind.HOUSEHOLD)
_OCCUPATION = int(ContactKind.OCCUPATION)
_RANDOM = int(ContactKind.RANDOM)

# Where a person can be met on a day.
EVERYWHERE = 0
AT_HOME_ONLY = 1
NOWHERE = 2

_PLACES_PER_BUCKET = 2048  # so that a bucket of the shuffle fits into the first-level cache
_MOST_BUCKETS = 2**16  # bits of a draw


@njit(cache=True)
def _below(word: Any, n: Any) -> Any:
    """Scale a 32-bit word to 0 … n-1; the bias is n / 2^32."""
    return np.int64((word * np.uint64(n)) >> np.uint64(32))


@njit(cache=True, parallel=True)
def active_edges(key: Any, day: Any, n_edges: Any, threshold: Any) -> Any:
    """Flip the coin of every occupation edge: bit e % 8 of byte e // 8 is that of edge e.

    A bit is 1 with probability threshold / 2^16. Cost: one Philox call per eight edges, parallel.
    """
    active = np.empty((n_edges + 7) >> 3, dtype=np.uint8)
    low, half = np.uint64(0xFFFF), np.uint64(16)
    limit = np.uint64(threshold)
    for block in prange(active.size):
        w0, w1, w2, w3 = philox(key, np.uint64(block), np.uint64(day), ZERO, ZERO)
        bits = np.uint8(0)
        bits |= (w0 & low < limit) | (w0 >> half < limit) << 1
        bits |= (w1 & low < limit) << 2 | (w1 >> half < limit) << 3
        bits |= (w2 & low < limit) << 4 | (w2 >> half < limit) << 5
        bits |= (w3 & low < limit) << 6 | (w3 >> half < limit) << 7
        active[block] = bits
    return active


@njit(cache=True, parallel=True)
def active_edges_by_network(key: Any, day: Any, networks: Any, thresholds: Any) -> Any:
    """Flip the same coins as `active_edges`, each edge with the threshold of its network.

    `networks` is uint8 [edges], `thresholds` uint64 [networks]. A lower threshold keeps a subset of
    the edges that a higher one keeps. Cost: one Philox call per eight edges, parallel.
    """
    active = np.zeros((networks.size + 7) >> 3, dtype=np.uint8)
    low, half = np.uint64(0xFFFF), np.uint64(16)
    for block in prange(active.size):
        words = philox(key, np.uint64(block), np.uint64(day), ZERO, ZERO)
        for i in range(min(8, networks.size - 8 * block)):
            word = words[i >> 1]
            coin = word >> half if i & 1 else word & low
            if coin < thresholds[networks[8 * block + i]]:
                active[block] |= np.uint8(1 << i)
    return active


@njit(cache=True)
def _coin(key: Any, one: Any, other: Any, day: Any) -> Any:
    """Draw the number of two people on a day, the same from either side."""
    first, second = np.uint64(min(one, other)), np.uint64(max(one, other))
    return uniform_at(key, first, np.uint64(day), second)


@njit(cache=True, parallel=True)
def thin_partners(key: Any, day: Any, owners: Any, partners: Any, share: Any) -> None:
    """Cancel all but a share of the random meetings, in place: both people draw the same number.

    Cost: one Philox call per place, parallel.
    """
    for place in prange(partners.size):
        one, other = owners[place], partners[place]
        if other >= 0 and _coin(key, one, other, day) >= share:
            partners[place] = -1


@njit(cache=True, parallel=True)
def _random_buckets(key: Any, day: Any, n_places: Any, n_buckets: Any) -> Any:
    """Draw a bucket for every place: uint16 [places]; the number of buckets is a power of two."""
    buckets = np.empty(n_places, dtype=np.uint16)
    mask = np.uint64(n_buckets - 1)
    half = np.uint64(16)
    for block in prange((n_places + 7) >> 3):
        w0, w1, w2, w3 = philox(key, np.uint64(block), np.uint64(day), ZERO, ZERO)
        begin = block << 3
        if begin + 8 <= n_places:
            buckets[begin] = w0 & mask
            buckets[begin + 1] = w0 >> half & mask
            buckets[begin + 2] = w1 & mask
            buckets[begin + 3] = w1 >> half & mask
            buckets[begin + 4] = w2 & mask
            buckets[begin + 5] = w2 >> half & mask
            buckets[begin + 6] = w3 & mask
            buckets[begin + 7] = w3 >> half & mask
        else:
            words = (w0, w0 >> half, w1, w1 >> half, w2, w2 >> half, w3, w3 >> half)
            for i in range(n_places - begin):
                buckets[begin + i] = words[i] & mask
    return buckets


@njit(cache=True)
def _sort_by_bucket(buckets: Any, n_buckets: Any) -> Any:
    """Return the places in the order of their buckets, and where each bucket begins.

    A stable counting sort on one thread: two passes over the places, a hundredth of the time of a
    day; a parallel one takes a second to compile.
    """
    begins = np.zeros(n_buckets + 1, dtype=np.int32)
    for i in range(buckets.size):
        begins[buckets[i] + 1] += 1
    for b in range(n_buckets):
        begins[b + 1] += begins[b]
    cursor = begins.copy()
    order = np.empty(buckets.size, dtype=np.int32)
    for i in range(buckets.size):
        b = buckets[i]
        order[cursor[b]] = i
        cursor[b] += 1
    return order, begins


@njit(cache=True)
def _shuffle(key: Any, day: Any, bucket: Any, order: Any) -> None:
    """Shuffle one bucket in place (Fisher and Yates 1948)."""
    words = np.empty(4, dtype=np.uint64)
    used = 4
    call = 0
    for last in range(order.size - 1, 0, -1):
        if used == 4:
            words[0], words[1], words[2], words[3] = philox(
                key, np.uint64(call), np.uint64(day), np.uint64(bucket), ONE
            )
            call += 1
            used = 0
        chosen = _below(words[used], last + 1)
        used += 1
        order[last], order[chosen] = order[chosen], order[last]


@njit(cache=True, parallel=True)
def random_partners(key: Any, day: Any, owners: Any) -> Any:
    """Shuffle the places of the random meetings and let neighbours meet: int32 [places].

    Returns, for each place, the person met there or -1: a person next to themselves meets nobody,
    and neither does the last of an odd number of places. The shuffle is uniform and parallel: every
    place draws a bucket, and every bucket is shuffled by itself (Sanders 1998).

    Args:
        key: the key of the stream of random meetings.
        day: the day.
        owners: int32 [places], each person as often as they meet someone.

    Cost: O(places), three eighths of a Philox call per place; the shuffles stay in cache.
    """
    n_buckets = 1
    while n_buckets < _MOST_BUCKETS and n_buckets * _PLACES_PER_BUCKET < owners.size:
        n_buckets *= 2
    order, begins = _sort_by_bucket(_random_buckets(key, day, owners.size, n_buckets), n_buckets)
    for b in prange(n_buckets):
        _shuffle(key, day, np.int64(b), order[begins[b] : begins[b + 1]])
    partners = np.empty(owners.size, dtype=np.int32)
    for pair in prange(owners.size >> 1):
        one, other = np.uint32(order[2 * pair]), np.uint32(order[2 * pair + 1])
        same = owners[one] == owners[other]
        partners[one] = -1 if same else owners[other]
        partners[other] = -1 if same else owners[one]
    if owners.size & 1:
        partners[order[owners.size - 1]] = -1
    return partners


@njit(cache=True, parallel=True)
def gather_contacts(
    presence: Any,
    home_first: Any,
    home_end: Any,
    neighbour_offsets: Any,
    neighbours: Any,
    edges: Any,
    active: Any,
    place_offsets: Any,
    partners: Any,
    room: Any,
    scratch: Any,
    counts: Any,
) -> None:
    """List whom each person meets today, each list at a fixed place with enough room.

    Person p's list starts at `scratch[room[p]]`; `counts` int32 [people, 3] receives its length by
    kind, in the order household, occupation, random. Pairs with an absent person are left out.

    Cost: one pass over housemates, occupation neighbours and meetings; parallel over people.
    """
    one, three, seven = np.uint8(1), np.uint32(3), np.uint32(7)
    for p in prange(presence.size):
        k = np.uint64(room[p])
        begin = k
        if presence[p] != NOWHERE:
            for mate in range(np.uint32(home_first[p]), np.uint32(home_end[p])):
                # Always written, and kept by advancing: no branch to mispredict.
                scratch[k] = mate
                k += np.uint64((presence[mate] != NOWHERE) & (mate != p))
        counts[p, _HOUSEHOLD] = k - begin
        begin = k
        if presence[p] == EVERYWHERE:
            for i in range(np.uint32(neighbour_offsets[p]), np.uint32(neighbour_offsets[p + 1])):
                q, e = np.uint32(neighbours[i]), np.uint32(edges[i])
                scratch[k] = q
                coin = active[e >> three] >> np.uint8(e & seven) & one
                k += np.uint64(coin & np.uint8(presence[q] == EVERYWHERE))
        counts[p, _OCCUPATION] = k - begin
        begin = k
        if presence[p] == EVERYWHERE:
            for i in range(np.uint32(place_offsets[p]), np.uint32(place_offsets[p + 1])):
                scratch[k] = partners[i]
                if partners[i] >= 0:
                    k += np.uint64(presence[np.uint32(partners[i])] == EVERYWHERE)
        counts[p, _RANDOM] = k - begin


@njit(cache=True, parallel=True)
def pack_contacts(room: Any, scratch: Any, counts: Any) -> Any:
    """Close the gaps between the lists of `gather_contacts`: (offsets, senders, kinds).

    The owner of a list is the receiver, the people they meet are senders. A meeting is in both
    lists, so both directions are present.

    Cost: one sequential pass over people, then contiguous copies, parallel over people.
    """
    n_people = counts.shape[0]
    offsets = np.empty(n_people + 1, dtype=np.int32)
    offsets[0] = 0
    for p in range(n_people):
        offsets[p + 1] = offsets[p] + counts[p, 0] + counts[p, 1] + counts[p, 2]
    senders = np.empty(offsets[n_people], dtype=np.int32)
    kinds = np.empty(offsets[n_people], dtype=np.uint8)
    for p in prange(n_people):
        first_occupation = np.uint64(counts[p, _HOUSEHOLD])
        first_random = first_occupation + np.uint64(counts[p, _OCCUPATION])
        begin, source = np.uint64(offsets[p]), np.uint64(room[p])
        for i in range(np.uint64(offsets[p + 1]) - begin):
            senders[begin + i] = scratch[source + i]
            kinds[begin + i] = np.uint8(i >= first_occupation) + np.uint8(i >= first_random)
    return offsets, senders, kinds
