"""Numbers of a plan in words: no more digits than the interval allows, no difference out of noise.

Rows have a mean under a name and the ends of its 90 % interval under `…_low` and `…_high`; both are
None when there is one seed.
"""

import math
from collections.abc import Mapping
from typing import Any

from dnatrace.runs.quantities import shown

Row = Mapping[str, Any]
_AS_GOOD_AS_NOTHING = 5e-4
_DIGITS, _DIGITS_OF_THE_LARGEST = 2, 3  # of half an interval, and of its larger end


def interval(row: Row, name: str, scale: float = 1.0) -> str:
    """Return a mean with its interval, to two digits of half the interval and three of the rest.

    Edge cases: one seed has no interval, and says so; where all seeds agree there is the number
    alone.
    """
    mean, low, high = _scaled(row, name, scale)
    if low is None or high is None:
        return f"{_number(mean, None)} (one seed: no interval)"
    if high - low < _AS_GOOD_AS_NOTHING:
        return _number(mean, None)
    step = max(
        _step((high - low) / 2, _DIGITS), _step(max(abs(low), abs(high)), _DIGITS_OF_THE_LARGEST)
    )
    told, lowest, highest = (_number(value, step) for value in (mean, low, high))
    return told if lowest == highest else f"{told} ({lowest} to {highest})"


def more(row: Row, name: str, what: str, scale: float = 1.0) -> str:
    """Return a difference: so many more or fewer, or that none could be told."""
    if is_nothing(row, name, scale):
        return f"as many {what}"
    if is_told(row, name) is False:
        return f"no difference in {what} that could be told ({ends(row, name, scale)})"
    if row[name] < 0.0:
        return f"{interval(_turned(row, name), name, scale)} fewer {what}"
    return f"{interval(row, name, scale)} more {what}"


def fewer(row: Row, name: str, what: str, scale: float = 1.0) -> str:
    """Return what is averted as a difference: so many fewer."""
    return more(_turned(row, name), name, what, scale)


def ends(row: Row, name: str, scale: float = 1.0) -> str:
    """Return the ends of an interval."""
    return interval(row, name, scale).partition("(")[2].rstrip(")")


def is_nothing(row: Row, name: str, scale: float = 1.0) -> bool:
    """Return whether a number and its interval are 0, but for what nobody would count."""
    values = [abs(value) for value in _scaled(row, name, scale) if value is not None]
    return max(values) < _AS_GOOD_AS_NOTHING


def is_told(row: Row, name: str) -> bool | None:
    """Return whether an interval leaves out 0; None for one seed, which tells nothing."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return None if low is None or high is None else bool(low > 0.0 or high < 0.0)


def is_gain(row: Row, name: str) -> bool:
    """Return whether a number is above 0 by its interval; by itself for one seed."""
    low = row[f"{name}_low"]
    return bool((row[name] if low is None else low) > 0.0)


def is_loss(row: Row, name: str) -> bool:
    """Return whether a number is there and below 0 by its interval."""
    high = row.get(f"{name}_high")
    return high is not None and bool(high < 0.0)


def _scaled(row: Row, name: str, scale: float) -> tuple[float, float | None, float | None]:
    low, high = (
        None if row[f"{name}_{end}"] is None else scale * row[f"{name}_{end}"]
        for end in ("low", "high")
    )
    return scale * row[name], low, high


def _turned(row: Row, name: str) -> dict[str, float | None]:
    """Return the same number with the other sign."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return {
        name: -row[name],
        f"{name}_low": None if high is None else -high,
        f"{name}_high": None if low is None else -low,
    }


def _step(value: float, digits: int) -> float:
    """Return the power of ten that leaves a number above 0 so many digits."""
    return float(10.0 ** (math.floor(math.log10(value)) + 1 - digits))


def _number(value: float, step: float | None) -> str:
    """Return a number in steps, a power of ten; to three digits without; 0 has no sign."""
    if step is None:
        return shown(0.0 if abs(value) < _AS_GOOD_AS_NOTHING else value).replace("-", "−")
    decimals = max(0, -round(math.log10(step)))
    text = f"{round(value / step) * step:,.{decimals}f}"
    if not any(digit in text for digit in "123456789"):
        text = text.removeprefix("-")
    return text.replace("-", "−")
