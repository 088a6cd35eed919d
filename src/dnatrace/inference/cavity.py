"""Factorised Neighbours without echo: nobody is told what came from themselves.

A message is the sender's P(I) on the day of the contact given that the sender was not infected by
the receiver. That is the cavity of belief propagation to first order: an infection on a day is
divided among the people met by what they add to the day's hazard. Exact in what tests say about the
sender; what is left out is that the sender's escape from the receiver on other days is evidence,
too, which is of the second order in transmission per contact.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dnatrace.inference import _cavity_kernels, _pair_kernels
from dnatrace.inference._pair_kernels import Pairs
from dnatrace.records import ContactWindow
from dnatrace.seir import SeirParameters, TestErrors, pack_model

Exposures = NDArray[np.float32]  # [days, people]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Met:
    """Who met whom on which days of a window.

    Attributes:
        pairs: with numbers of days.
        day: number of the last day; the first window begins with day 1.
    """

    pairs: Pairs
    day: int

    @classmethod
    def nobody(cls, n_people: int) -> Self:
        """Return what is known before the first day."""
        return cls(pairs=_pair_kernels.no_pairs(n_people), day=0)

    def with_newest(self, window: ContactWindow) -> "Met":
        """Return the pairs of a window whose last day is new; all days are on the first call."""
        new = list(window) if self.day == 0 else [window[-1]]
        day = self.day + len(new)
        pairs, first = self.pairs, day - len(window) + 1
        for t, contacts in enumerate(new):
            pairs, _ = _pair_kernels.add_day(
                pairs, contacts.offsets, contacts.senders, day=self.day + t + 1, first=first
            )
        return Met(pairs=pairs, day=day)


def cavity_rounds(
    met: Met,
    outcomes: NDArray[np.int8],
    *,
    parameters: SeirParameters,
    test_errors: TestErrors,
    rounds: int,
    susceptible: NDArray[np.float32] | None = None,
    silent: NDArray[np.bool_] | None = None,
) -> Exposures:
    """Return everybody's exposures when the last round begins, as `message_rounds` does.

    With two rounds nothing can come back, and the result is that of `message_rounds`, to rounding.
    Cost: O(rounds × (pairs that met once + other pairs × days + people × days)), people in
    parallel.
    """
    n_days, n_people = outcomes.shape
    exposures = np.zeros(outcomes.shape, dtype=np.float32)
    if rounds == 1:
        return exposures
    model = pack_model(parameters, test_errors)
    factors = np.ones(n_people, dtype=np.float32) if susceptible is None else susceptible
    mute = np.zeros(n_people, dtype=np.bool_) if silent is None else silent
    lines = _cavity_kernels.lines_of(met.pairs, met.day - n_days + 1, n_days)
    heard, told = _cavity_kernels.silence(lines), _cavity_kernels.silence(lines)
    for _ in range(rounds - 1):
        _cavity_kernels.exchange(
            lines, heard, outcomes, model, parameters.p1, factors, mute, exposures, told
        )
        heard, told = told, heard
    _cavity_kernels.listen(lines, heard, factors, exposures)
    return exposures
