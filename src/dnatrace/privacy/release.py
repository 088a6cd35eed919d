"""What may cross the trust boundary, as types.

`Bounded` is a statistic together with the largest change that one message can cause. `Protected` is
a statistic after noise: what is computed from it and from public facts costs nothing more.
`Released` is what leaves the enclave. Only `dnatrace.privacy.mechanisms` turns one into the next,
and `dnatrace.policy` accepts nothing but a `Released`, so a score that was not accounted for cannot
decide a test.
"""

from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import shown
from dnatrace.privacy.accounting import Event


class TrustBoundaryError(TypeError):
    """Something tried to pass for a released score."""


_SEAL = object()  # known to this package alone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounded:
    """A statistic of messages with known sensitivity; holds read-only copies of its arguments.

    Attributes:
        values: float64 [people] or [rows, people]; the method defines what a row is. A message
            changes at most one row.
        sensitivity: float64 of the same shape, the most that replacing one message changes each
            value, given the public facts (own tests, days and counts of contacts).
    """

    values: NDArray[np.float64]
    sensitivity: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("values", "sensitivity"):
            if not isinstance(given := getattr(self, name), np.ndarray):
                raise TrustBoundaryError(f"{name} must be an array, not {shown(given)}")
        if self.values.shape != self.sensitivity.shape:
            shapes = f"values {list(self.values.shape)}, {list(self.sensitivity.shape)}"
            raise TrustBoundaryError(f"every value needs its sensitivity: {shapes}")
        if not (np.isfinite(self.values).all() and np.isfinite(self.sensitivity).all()):
            raise TrustBoundaryError("a bounded statistic must be finite")
        if (self.sensitivity < 0).any():
            raise TrustBoundaryError("a sensitivity cannot be negative")
        for name in ("values", "sensitivity"):  # what was checked is what gets noise
            fixed = np.array(getattr(self, name), dtype=np.float64)
            fixed.flags.writeable = False
            object.__setattr__(self, name, fixed)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Protected:
    """A statistic after noise; anything may be computed from it.

    Attributes:
        values: float64 (evidence of head counts float32); from `protect` in the shape of the
            `Bounded`, from `processed` in that of its function, from `rows` [people].
        event: what was done, for the ledger.
    """

    values: NDArray[np.float64]
    event: Event
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise TrustBoundaryError("only dnatrace.privacy.mechanisms can protect a statistic")

    def rows(self) -> "list[Protected]":
        """Return the rows of a statistic [rows, people] one by one, each with the same event."""
        return [Protected(values=row, event=self.event, seal=_SEAL) for row in self.values]

    def processed(
        self, function: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> "Protected":
        """Return a function of the noisy values, which costs nothing more."""
        return Protected(values=function(self.values), event=self.event, seal=_SEAL)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Released:
    """Scores that left the enclave, with what their release cost.

    Attributes:
        scores: float64 [people], read-only; NaN for people without a score.
        event: what was done, for the ledger.
    """

    scores: NDArray[np.float64]
    event: Event
    seal: InitVar[object]  # given to the constructor and not stored, so that no copy can be forged

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise TrustBoundaryError("only dnatrace.privacy.mechanisms can release scores")
        fixed = np.array(self.scores, dtype=np.float64)
        fixed.flags.writeable = False
        object.__setattr__(self, "scores", fixed)

    def without(self, people: NDArray[np.bool_]) -> Self:
        """Return the release without a score for some people, bool [people]: post-processing."""
        scores = np.where(people, np.nan, self.scores)
        return type(self)(scores=scores, event=self.event, seal=_SEAL)


def require_released(scores: object) -> None:
    """Raise unless scores were properly released from the enclave."""
    if not isinstance(scores, Released):
        raise TrustBoundaryError(f"scores must be Released, not {type(scores).__name__}")
