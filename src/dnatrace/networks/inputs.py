"""What networks and decoders read about a person, in the form that their kernels take.

Days of the loop come as [days, people], oldest first. Networks read [14, people] by age: row 0 is
the day of the release, and days before the first are missing.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.networks import _runtime_kernels as kernels
from dnatrace.networks.architecture import WINDOW

_UNKNOWN_GROUP = 255  # beyond all decades of age

Scalar = TypeVar("Scalar", bound=np.generic)


def newest_first(rows: NDArray[Scalar], missing: int) -> NDArray[Scalar]:
    """Return rows [14, people] by age from rows [days, people] of at most 14 days."""
    n_days, n_people = rows.shape
    if n_days > WINDOW:
        raise InputError(f"a window of {n_days} days; networks are trained for {WINDOW}")
    by_age = np.full((WINDOW, n_people), missing, dtype=rows.dtype)
    by_age[:n_days] = rows[::-1]
    return by_age


def newest_first_by_person(rows: NDArray[Scalar], missing: int) -> NDArray[Scalar]:
    """Return the same as `newest_first`, one row per person: [people, 14]."""
    return np.ascontiguousarray(newest_first(rows, missing).T)


def groups_or_unknown(age_groups: NDArray[np.uint8] | None, n_people: int) -> NDArray[np.uint8]:
    """Return age groups, with a number beyond all of them where they are unknown."""
    if age_groups is None:
        return np.full(n_people, _UNKNOWN_GROUP, dtype=np.uint8)
    return age_groups


def quantise(messages: NDArray[np.float32], grid: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return the index of the nearest level of every message: uint8 [days, people]."""
    midpoints = (grid[1:] + grid[:-1]) / np.float32(2.0)
    levels = np.empty(messages.shape, dtype=np.uint8)
    kernels.nearest_levels(messages, midpoints, levels)
    return levels
