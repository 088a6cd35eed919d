"""Values that are noised once: each contact day is protected when it first matters, then kept.

A day's value first matters at age 1 (score P(E) + P(I)) or 2 (P(I)); until then nothing is stored,
so the value may still learn from tests of the day after. Afterwards only the noisy value exists.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dnatrace.methods.base import DayFacts
from dnatrace.privacy.accounting import Lifetime
from dnatrace.privacy.release import Protected


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenDays:
    """Protected values of consecutive contact days, none older than the window.

    Attributes:
        first_day: the contact day of the first row.
        rows: one protected value [people] a contact day.
    """

    first_day: int = 0
    rows: tuple[Protected, ...] = ()

    def advance(
        self, facts: DayFacts, age: int, protect: Callable[[int, int], list[Protected]]
    ) -> "FrozenDays":
        """Return the rows of this day's window: old ones dropped, new ones protected.

        Args:
            facts: of the day.
            age: from which a contact day matters.
            protect: called with the window rows [start, end) that are new; returns them protected.
        """
        first = facts.window.first_day
        kept = self.rows[max(0, first - self.first_day) :]
        end = max(0, len(facts.window) - age)
        new = protect(len(kept), end) if end > len(kept) else []
        return FrozenDays(first_day=first, rows=(*kept, *new))


def frozen_lifetime(age: int, n_rows: int = 1) -> Lifetime:
    """Return the spending of contacts that are noised once, `n_rows` contact days on one day."""
    return Lifetime(shares=(0.0,) * age + (1.0,) * n_rows, joint=False)
