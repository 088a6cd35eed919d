"""What methods return, checked before it is used.

They may come from other packages: an answer of the wrong kind or shape is one line that names who
gave it. Cost: a few comparisons per day.
"""

from typing import Any

import numpy as np

from dnatrace.errors import InputError


def pair(answer: Any, method: Any) -> tuple[Any, Any]:
    """Return the scores and the next state that `scores` must return."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise InputError(
            f"{_name(method)}.scores must return two values: scores, and the next state; not "
            f"{kind(answer)}"
        )
    return answer[0], answer[1]


def check_query(query: Any, wanted: type, statistic: type, method: Any, n_people: int) -> None:
    """Raise unless `query` returned a query whose statistic has a value for everybody."""
    who = f"{_name(method)}.query"
    if not isinstance(query, wanted):
        raise InputError(f"{who} must return a {wanted.__name__}, not {kind(query)}")
    held = query.statistic  # type: ignore[attr-defined]
    if held is None:
        return
    if not isinstance(held, statistic):
        told = f"a {statistic.__name__} or None"
        raise InputError(f"{who} returned a statistic that must be {told}, not {kind(held)}")
    shape = list(held.values.shape)  # type: ignore[attr-defined]
    if len(shape) not in (1, 2) or shape[-1] != n_people:
        raise InputError(f"{who} returned a statistic of shape {shape} for {n_people} people")


def check_rows(rows: Any, step: str, method: Any, n_people: int) -> None:
    """Raise unless a step after the noise returned rows with a number for everybody."""
    if not _is_numbers(rows) or rows.ndim != 2 or rows.shape[1] != n_people:
        told = f"numbers [rows, people], {n_people} per row, not {kind(rows)}"
        raise InputError(f"{_name(method)}.{step} must return {told}")


def check_decoded(scores: Any, method: Any, day: int, n_people: int) -> None:
    """Raise unless `decode` returned a number for everybody, and not NaN for all."""
    who = f"{_name(method)}.decode"
    if not _is_numbers(scores) or scores.shape != (n_people,):
        raise InputError(f"{who} must return one number per person, {n_people}, not {kind(scores)}")
    if np.isnan(scores).all():
        raise InputError(f"{who} returned NaN for everybody on day {day}")


def kind(value: Any) -> str:
    """Return what a value is, for messages."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {list(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"


def _is_numbers(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in "biuf"


def _name(method: Any) -> str:
    return type(method).__name__
