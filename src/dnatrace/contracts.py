"""What simulators, policies and methods return on a day, checked before it is used.

They may come from other packages: an answer of the wrong kind or shape, or people who do not exist,
is one line that names who gave it, instead of an error somewhere else or a silent one. Cost: a few
comparisons per day and one pass over the people who are tested.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.methods.answers import kind, name_of, pair
from dnatrace.policy.base import FollowsUp, Ids, Policy, Situation
from dnatrace.privacy.release import Released, require_released
from dnatrace.records import DayContacts
from dnatrace.simulators.base import Simulator


def contacts_of(simulator: Simulator) -> DayContacts:
    """Advance a simulator by a day and return the contacts of the day."""
    contacts: Any = simulator.advance()
    who = f"{name_of(simulator)}.advance"
    if not isinstance(contacts, DayContacts):
        raise InputError(f"{who} must return DayContacts, not {kind(contacts)}")
    if contacts.n_people != simulator.n_people:
        told = f"contacts of {contacts.n_people} people"
        raise InputError(f"{who} returned {told}, and there are {simulator.n_people}")
    return contacts


def isolated_by(
    policy: Policy, day: int, state: Any, n_people: int
) -> tuple[NDArray[np.bool_], Any]:
    """Return who stays at home on a day, bool [people], and the next state."""
    who = f"{name_of(policy)}.isolate"
    isolated, after = pair(policy.isolate(day, state), who, "who stays at home, and the state")
    if not (isinstance(isolated, np.ndarray) and isolated.dtype == np.bool_):
        raise InputError(f"{who} must return who stays at home as bool, not {kind(isolated)}")
    if isolated.shape != (n_people,):
        shape = list(isolated.shape)
        raise InputError(f"{who} must return one value per person, {n_people}, not shape {shape}")
    return isolated, after


def chosen_by(
    policy: Policy, released: Released, situation: Situation, state: Any
) -> tuple[Ids, Any]:
    """Return whom to test, and the next state.

    A policy that follows up, or says that it goes `beyond_capacity`, gives tests for other reasons
    than scores, and has its own limits.
    """
    who, day = f"{name_of(policy)}.choose", situation.day
    chosen, after = pair(
        policy.choose(released, situation, state), who, "whom to test, and the state"
    )
    if not (isinstance(chosen, np.ndarray) and chosen.ndim == 1 and chosen.dtype.kind in "iu"):
        raise InputError(f"{who} must return ids of people as whole numbers, not {kind(chosen)}")
    n_people = situation.eligible.size
    if chosen.size and not 0 <= int(chosen.min()) <= int(chosen.max()) < n_people:
        raise InputError(f"{who} chose a person outside 0 … {n_people - 1} on day {day}")
    if np.unique(chosen).size < chosen.size:
        raise InputError(f"{who} chose a person twice on day {day}")
    free = isinstance(policy, FollowsUp) or getattr(policy, "beyond_capacity", False)
    if chosen.size > situation.most_tests and not free:
        most = f"{situation.most_tests} can be tested"
        raise InputError(f"{who} chose {chosen.size} people on day {day}, and {most}")
    return chosen, after


def check_released(released: Any, method: Any, n_people: int) -> None:
    """Raise unless scores were properly released, one per person."""
    require_released(released)
    shape = list(released.scores.shape)
    if shape != [n_people]:
        raise InputError(
            f"{name_of(method)} released scores of shape {shape} for {n_people} people"
        )
