"""Contacts in one direction and in both: which lack the other one, and adding it."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dnatrace.tables import CONTACT_COLUMNS, Rows


def lacks_reverse(rows: Rows) -> NDArray[np.bool_]:
    """Return which contacts have no row in the other direction on their day: bool [rows].

    Rows of two people on a day are paired off one by one, in their order. Cost: a sort of the rows.
    """
    senders, receivers, days = (rows.columns[c] for c in CONTACT_COLUMNS)
    low, high = np.minimum(senders, receivers), np.maximum(senders, receivers)
    order = np.lexsort((senders > receivers, high, low, days))
    pair_begins = np.zeros(order.size, dtype=np.bool_)
    for values in (days, low, high):
        pair_begins[1:] |= np.diff(values[order]) != 0
    # Two places for each pair, day by day: one per direction.
    place = 2 * np.cumsum(pair_begins) + (senders > receivers)[order]
    counts = np.bincount(place, minlength=2 * (int(place[-1]) // 2 + 1) if place.size else 0)
    begins = np.cumsum(counts) - counts
    found = np.zeros(order.size, dtype=np.bool_)
    found[order] = np.arange(order.size) - begins[place] >= counts[place ^ 1]
    return found & (senders != receivers)


def both_ways(rows: Rows) -> Rows:
    """Return contacts in both directions; rows that are added come last.

    If A to B has m rows on a day and B to A has n, both have the larger of m and n afterwards: a
    list with one row per meeting is doubled, and one that has both directions stays as it is.
    """
    lacking = lacks_reverse(rows)
    turned = {"sender": "receiver", "receiver": "sender", "day": "day"}
    columns = {
        ours: np.concatenate([rows.columns[ours], rows.columns[theirs][lacking]])
        for ours, theirs in turned.items()
    }
    return replace(rows, columns=columns)
