"""Values that get noise once: each contact day is protected when it first matters, then kept.

A day's value first matters at age 1 (score P(E) + P(I)) or 2 (P(I)); until then nothing is stored,
so the value may still take up tests of the day after. Afterwards only the noisy value exists.
"""

from dataclasses import dataclass

from dnatrace.methods.base import PublicFacts
from dnatrace.privacy.accounting import Lifetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenDays:
    """Which contact days have noise already: consecutive ones, none older than the window.

    Attributes:
        first_day: the oldest of them.
        n_days: how many there are.
    """

    first_day: int = 0
    n_days: int = 0

    def kept(self, public: PublicFacts) -> int:
        """Return how many of them are in today's window."""
        return max(0, self.n_days - max(0, public.first_day - self.first_day))

    def new_rows(self, public: PublicFacts, age: int) -> slice:
        """Return the rows of the window that get noise today, those of at least that age."""
        start = self.kept(public)
        return slice(start, max(start, public.n_days - age))


def frozen_lifetime(age: int, n_rows: int = 1) -> Lifetime:
    """Return the spending of contacts that get noise once, `n_rows` contact days on one day."""
    return Lifetime(shares=(0.0,) * age + (1.0,) * n_rows, joint=False)
