"""The linear statistic with a budget for every contact: a privacy filter.

A filter lets later releases depend on earlier ones, through tests that were chosen by scores, and
still keeps a bound fixed beforehand: it stops a contact's spending when the budget is used up
(Rogers et al. 2016, "Privacy odometers and filters"; Smith and Thakurta 2022 for Gaussian privacy).
All contacts of a person on one day have the same weight in a linear statistic, so the budget is
kept by contact day and receiver.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dnatrace.privacy import _kernels
from dnatrace.privacy.release import Bounded, TrustBoundaryError
from dnatrace.privacy.sensitivity import LinearForm

Floats = NDArray[np.float64]

_NO_LIMIT = 1e30  # finite, so that nothing times it is undefined
_LEAST = 2.0**-20  # smaller effects on a score are left out: rounding could exceed them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spent:
    """What every contact of the window has spent: squared μ by contact day and receiver.

    Attributes:
        first_day: the contact day of the first row.
        squares: float64 [days, people]; None before the first day.
    """

    first_day: int = 0
    squares: Floats | None = None

    def aligned(self, *, first_day: int, n_days: int, n_people: int) -> Floats:
        """Return a copy for a window: days that left are dropped, new ones have spent nothing."""
        squares = np.zeros((n_days, n_people))
        if self.squares is not None:
            kept = self.squares[max(0, first_day - self.first_day) :]
            squares[: len(kept)] = kept
        return squares


def linear_statistic(
    form: LinearForm,
    moved: Floats,
    counts: NDArray[np.int32],
    squares: Floats,
    *,
    reach: float,
    mu: float,
    budget: float | None,
) -> Bounded:
    """Return F(x_ref) + Σ w_t·(x_t - x_ref,t) with its sensitivity, within the budget of each day.

    Guarantee: one message is in one day and moves it by at most `reach`, so it moves the statistic
    by at most reach·max|w|, which is the stated sensitivity. With noise of the sensitivity divided
    by `mu`, a contact of day t spends (mu·|w_t|/max|w|)², which is added to `squares`; squares
    never exceed budget². Weights, squares and hence the sensitivity are public: own tests and
    counts determine them. Edge cases: days without contacts have weight 0. The weight of a day
    falls when its budget runs out, to 0 when it is spent; when all days have weight 0, the
    sensitivity is 0 and F(x_ref) is released. The same happens when no message moves F by 2⁻²⁰: F
    is a number of about 1 in float64, and rounding it by 2⁻⁵³ must stay below the margin of 1e-9 in
    `reach`.

    Args:
        form: F and its derivatives at the reference.
        moved: x - x_ref, float64 [days, people].
        counts: the numbers of contacts, [days, people].
        squares: what contacts have spent, [days, people]; this release is added to it.
        reach: the most one message moves an exposure.
        mu: the parameter of this release.
        budget: μ of a contact over its life; None tracks spending without a limit.
    """
    shape = form.weights.shape
    if not moved.shape == counts.shape == squares.shape == shape:
        raise TrustBoundaryError("weights, exposures, counts and spending must have one shape")
    totals, largest = np.empty(shape[1]), np.empty(shape[1])
    limit = _NO_LIMIT if budget is None else budget
    least = _LEAST / reach if reach > 0.0 else 0.0
    _kernels.spend(form.weights, counts, moved, squares, mu, limit, least, totals, largest)
    return Bounded(values=form.scores + totals, sensitivity=reach * largest)
