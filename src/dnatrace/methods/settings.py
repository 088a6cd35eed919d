"""Settings that private methods share, checked on construction."""

from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.methods.base import DayFacts, Score
from dnatrace.privacy.accounting import Lifetime
from dnatrace.privacy.sensitivity import first_age

Choice = TypeVar("Choice", bound=StrEnum)


def choose(name: str, value: Any, choices: type[Choice]) -> Choice:
    """Return the member of an enum that `value` names, or raise with the names that exist."""
    try:
        return choices(value)
    except ValueError:
        raise InputError(f"unknown {name} {value!r}: {', '.join(choices)}") from None


def require_messages(facts: DayFacts, window_days: int) -> NDArray[np.float32]:
    """Return the messages of the window, or raise when the loop did not compute them."""
    require_window(facts, window_days)
    if facts.messages is None:
        raise InputError("this method needs messages, and the day has none")
    return facts.messages


def require_window(facts: DayFacts, window_days: int) -> None:
    """Raise when contacts stay longer than their cost was computed for."""
    if len(facts.window) > window_days:
        raise InputError(
            f"a window of {len(facts.window)} days for a method set up for {window_days}"
        )


def counts_exposed(score: Score) -> bool:
    """Return whether the score is P(E) + P(I) rather than P(I)."""
    return score is Score.EXPOSED_OR_INFECTED


def renewed_lifetime(*, window: int, with_exposed: bool, joint: bool) -> Lifetime:
    """Return the spending of a contact whose message is noised afresh in every release it reaches.

    That is one release for every age from the first that matters to the end of the window.
    """
    first = first_age(with_exposed)
    return Lifetime(shares=(0.0,) * first + (1.0,) * (window - first), joint=joint)
