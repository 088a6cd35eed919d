"""Counter-based random streams: a draw depends on (seed, purpose, person, day) and nothing else.

Every decision of a run has its own named stream. A draw is a pure function of the stream's key and
of a counter (person, day, draw), so it does not depend on threads, on the order of calls or on
which other draws were made: two methods on one seed face the same epidemic until they decide
differently.

The generator is Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"),
which passes BigCrush. It is meant for simulation; for noise that protects, see
`dnatrace.privacy.noise`.
"""

import hashlib
import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import ArrayLike, NDArray

from dnatrace.errors import InputError, require_whole

# Multipliers and Weyl constants of Philox4x32 (Salmon et al. 2011, section 4 and Random123).
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_MASK = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_ROUNDS = 10
_TWO_TO_MINUS_52 = 2.0**-52

# A draw counter that no caller of `uniform` or `normal` uses, so that generators never share draws
# with them.
_GENERATOR_MARK = 0x67656E65726174

# Kernels pass unsigned counters and these constants, not literals: one compiled version of `philox`
# and `uniform_at` then serves all, whereas each combination of types would be compiled separately.
ZERO, ONE = np.uint64(0), np.uint64(1)


@dataclass(frozen=True, slots=True)
class Stream:
    """A named, seeded source of draws addressed by person, day and draw number.

    Each of the three is a whole number of 32 bits, so that no two addresses share a draw.
    """

    seed: int
    purpose: str

    def __post_init__(self) -> None:
        require_whole(seed=self.seed)
        if not 0 <= self.seed < 2**63:
            raise InputError(f"seed must be between 0 and 2^63-1, not {self.seed}")

    @property
    def key(self) -> np.uint64:
        """The 64-bit Philox key; pass it to the `*_at` functions inside kernels."""
        text = f"{self.seed}/{self.purpose}".encode()
        return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little"))

    def uniform(self, people: ArrayLike, day: int = 0, draw: int = 0) -> NDArray[np.float64]:
        """Draw from the open interval (0, 1), one value per person."""
        _require_word(day=day, draw=draw)
        return _uniforms(self.key, _ids_of(people), day, draw)

    def normal(self, people: ArrayLike, day: int = 0, draw: int = 0) -> NDArray[np.float64]:
        """Draw from the standard normal distribution, one value per person."""
        _require_word(day=day, draw=draw)
        return _normals(self.key, _ids_of(people), day, draw)

    def generator(self, person: int = 0, day: int = 0) -> np.random.Generator:
        """Return a numpy generator of this (person, day), for draws that need a distribution."""
        _require_word(person=person, day=day)
        address = np.array([self.key, int(person) << 32 | int(day)], dtype=np.uint64)
        counter = np.array([0, 0, 0, _GENERATOR_MARK], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=address, counter=counter))


def _ids_of(people: ArrayLike) -> NDArray[np.int64]:
    """Return ids for a kernel, or raise unless all are whole numbers of 32 bits.

    Cost: one pass, a sixth of the time of the draws or less.
    """
    ids = np.asarray(people)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        found = f"{ids.dtype} of shape {list(ids.shape)}"
        raise InputError(f"people must be whole numbers in one dimension, not {found}")
    wide = ids.astype(np.int64, copy=False)
    # As unsigned numbers, negative ids are too large as well.
    if wide.size and wide.view(np.uint64).max() > _MASK:
        _require_word(person=ids[int(np.argmax(wide.view(np.uint64) > _MASK))])
    return wide


def _require_word(**values: Any) -> None:
    """Raise unless every value is a whole number of 32 bits."""
    for name, value in values.items():
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not 0 <= int(value) < 2**32:
            raise InputError(f"{name} must be a whole number from 0 to 2^32-1, not {value}")


@njit(cache=True)
def philox(key: Any, c0: Any, c1: Any, c2: Any, c3: Any) -> Any:
    """Return the four 32-bit words of Philox4x32-10 at a counter, as uint64.

    Cost: twenty multiplications, a few nanoseconds; no state.
    """
    k0 = np.uint64(key) & _MASK
    k1 = np.uint64(key) >> _SHIFT
    x0, x1, x2, x3 = (
        np.uint64(c0) & _MASK,
        np.uint64(c1) & _MASK,
        np.uint64(c2) & _MASK,
        np.uint64(c3) & _MASK,
    )
    for _ in range(_ROUNDS):
        product_0 = _MULTIPLIER_0 * x0
        product_1 = _MULTIPLIER_1 * x2
        x0 = (product_1 >> _SHIFT) ^ x1 ^ k0
        x1 = product_1 & _MASK
        x2 = (product_0 >> _SHIFT) ^ x3 ^ k1
        x3 = product_0 & _MASK
        k0 = (k0 + _WEYL_0) & _MASK
        k1 = (k1 + _WEYL_1) & _MASK
    return x0, x1, x2, x3


@njit(cache=True)
def open_unit(high: Any, low: Any) -> Any:
    """Turn two 32-bit words into a float64 strictly between 0 and 1 (52 random bits)."""
    bits = (high << np.uint64(20)) | (low >> np.uint64(12))
    return (np.float64(bits) + 0.5) * _TWO_TO_MINUS_52


@njit(cache=True)
def uniform_at(key: Any, person: Any, day: Any, draw: Any) -> Any:
    """Draw one uniform number from (0, 1) at a counter."""
    w0, w1, _, _ = philox(key, person, day, draw, ZERO)
    return open_unit(w0, w1)


@njit(cache=True)
def normal_at(key: Any, person: Any, day: Any, draw: Any) -> Any:
    """Draw one standard normal at a counter (Box and Muller 1958)."""
    w0, w1, w2, w3 = philox(key, person, day, draw, ONE)
    radius = math.sqrt(-2.0 * math.log(open_unit(w0, w1)))
    return radius * math.cos(2.0 * math.pi * open_unit(w2, w3))


@njit(cache=True, parallel=True)
def _uniforms(key: Any, people: Any, day: Any, draw: Any) -> Any:
    out = np.empty(people.size)
    for i in prange(people.size):
        out[i] = uniform_at(key, np.uint64(people[i]), np.uint64(day), np.uint64(draw))
    return out


@njit(cache=True, parallel=True)
def _normals(key: Any, people: Any, day: Any, draw: Any) -> Any:
    out = np.empty(people.size)
    for i in prange(people.size):
        out[i] = normal_at(key, np.uint64(people[i]), np.uint64(day), np.uint64(draw))
    return out
