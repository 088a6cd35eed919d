"""What the parts of a method return, checked before it is used.

They may come from other packages: an answer of the wrong kind or shape is one line that names who
gave it. `contracts.py` checks what leaves a method, a simulator or a policy. Cost: a few
comparisons per day, and one pass over scores.
"""

from typing import Any

import numpy as np

from dnatrace.errors import InputError
from dnatrace.privacy.release import Bounded


def pair(answer: Any, who: str, what: str) -> tuple[Any, Any]:
    """Return the two values that somebody must return."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise InputError(f"{who} must return two values: {what}; not {kind(answer)}")
    return answer[0], answer[1]


def scores_and_state(answer: Any, method: Any) -> tuple[Any, Any]:
    """Return what `scores` must return."""
    return pair(answer, f"{name_of(method)}.scores", "scores, and the next state")


def check_query(query: Any, wanted: type, method: Any) -> None:
    """Raise unless `query` returned a query."""
    if not isinstance(query, wanted):
        told = f"a {wanted.__name__}, not {kind(query)}"
        raise InputError(f"{name_of(method)}.query must return {told}")


def check_statistic(statistic: Any, method: Any, n_people: int) -> None:
    """Raise unless the statistic of a query has a value for everybody; None is for nobody."""
    if statistic is None:
        return
    returned = f"{name_of(method)}.query returned a statistic"
    if not isinstance(statistic, Bounded):
        raise InputError(f"{returned} that must be a Bounded or None, not {kind(statistic)}")
    shape = list(statistic.values.shape)
    if len(shape) not in (1, 2) or shape[-1] != n_people:
        raise InputError(f"{returned} of shape {shape} for {n_people} people")


def check_rows(rows: Any, step: str, method: Any, n_people: int) -> None:
    """Raise unless a step after the noise returned rows with a number for everybody."""
    if not _is_numbers(rows) or rows.ndim != 2 or rows.shape[1] != n_people:
        told = f"numbers [rows, people], {n_people} per row, not {kind(rows)}"
        raise InputError(f"{name_of(method)}.{step} must return {told}")


def check_decoded(scores: Any, method: Any, day: int, n_people: int) -> None:
    """Raise unless `decode` returned a number for everybody, and not NaN for all."""
    who = f"{name_of(method)}.decode"
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


def name_of(plugin: Any) -> str:
    """Return what an object is called in messages."""
    return type(plugin).__name__
