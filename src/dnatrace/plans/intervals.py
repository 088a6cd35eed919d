"""Numbers of a plan in words: no more digits than intervals allow, no differences from noise.

Rows have a mean under a name and the ends of its 90 % interval under `…_low` and `…_high`; both are
None when there is one seed.
"""

import math
from collections.abc import Mapping
from typing import Any

from dnatrace.runs.quantities import shown

Row = Mapping[str, Any]
_AS_GOOD_AS_NOTHING = 5e-4
_DIGITS, _DIGITS_OF_THE_LARGEST = 2, 3  # of the half-width, and of the larger end


def interval(row: Row, name: str, scale: float = 1.0) -> str:
    """Return a mean with its interval, to two digits of the half-width and three of the rest.

    Where the interval excludes 0, an end that would be rounded to 0 has a digit of its own. Edge
    cases: for one seed the text says that there is no interval; where all seeds agree there is only
    the number.
    """
    mean, low, high = _scaled(row, name, scale)
    if low is None or high is None:
        return f"{_number(mean, None)} (one seed: no interval)"
    if high - low < _AS_GOOD_AS_NOTHING:
        differs = is_told(row, name) and not is_nothing(row, name, scale)
        return shown(mean) if differs else _number(mean, None)
    step = max(
        _step((high - low) / 2, _DIGITS), _step(max(abs(low), abs(high)), _DIGITS_OF_THE_LARGEST)
    )
    end = bound if is_told(row, name) else _number
    told, lowest, highest = _number(mean, step), end(low, step), end(high, step)
    return told if lowest == highest else f"{told} ({lowest} to {highest})"


def bound(value: float, step: float) -> str:
    """Return the end of an interval, rounded to a step, or to one digit if that would be 0."""
    rounds_to_0 = value != 0.0 and round(value / step) == 0
    return _number(value, _step(abs(value), 1) if rounds_to_0 else step)


def more(row: Row, name: str, what: str, scale: float = 1.0) -> str:
    """Return a difference in words: how many more or fewer, or that none was found."""
    if is_nothing(row, name, scale):
        return f"as many {what}"
    if is_told(row, name) is False:
        return f"no detectable difference in {what} ({ends(row, name, scale)})"
    if row[name] < 0.0:
        return f"{interval(_turned(row, name), name, scale)} fewer {what}"
    return f"{interval(row, name, scale)} more {what}"


def fewer(row: Row, name: str, what: str, scale: float = 1.0) -> str:
    """Return what is averted as a difference: how many fewer."""
    return more(_turned(row, name), name, what, scale)


def ends(row: Row, name: str, scale: float = 1.0) -> str:
    """Return the ends of an interval."""
    return interval(row, name, scale).partition("(")[2].rstrip(")")


def is_nothing(row: Row, name: str, scale: float = 1.0) -> bool:
    """Return whether a number and its interval are 0, up to negligible amounts."""
    values = [abs(value) for value in _scaled(row, name, scale) if value is not None]
    return max(values) < _AS_GOOD_AS_NOTHING


def is_told(row: Row, name: str) -> bool | None:
    """Return whether an interval excludes 0; None for one seed, which says nothing."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return None if low is None or high is None else bool(low > 0.0 or high < 0.0)


def is_gain(row: Row, name: str) -> bool:
    """Return whether a number is above 0 with its whole interval, which one seed cannot show."""
    low = row[f"{name}_low"]
    return low is not None and bool(low > 0.0)


def is_loss(row: Row, name: str) -> bool:
    """Return whether a number exists and is below 0 with its whole interval."""
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
    """Return the power of ten that leaves a positive number this many digits."""
    return float(10.0 ** (math.floor(math.log10(value)) + 1 - digits))


def _number(value: float, step: float | None) -> str:
    """Return a number rounded to a power of ten, or to three digits without one; 0 has no sign."""
    if step is None:
        return shown(0.0 if abs(value) < _AS_GOOD_AS_NOTHING else value).replace("-", "−")
    decimals = max(0, -round(math.log10(step)))
    text = f"{round(value / step) * step:,.{decimals}f}"
    if not any(digit in text for digit in "123456789"):
        text = text.removeprefix("-")
    return text.replace("-", "−")
