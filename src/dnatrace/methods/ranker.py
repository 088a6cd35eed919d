"""Run another project's ranking of people in our loop beside our methods. Not private.

Two interfaces are accepted:

- `rank(day, contacts, tests)`, and
- `rank(t_day, daily_contacts, daily_obs, data)` with `init(N, T)`, as in the epidemic_mitigation
  project (Baker et al. 2021, github.com/sibyl-team/epidemic_mitigation).

Both return pairs (person, score), or one score per person. Days count from 0, as in `init(N, T)`:
the loop's day 1 is day 0 here.
"""

import copy
import inspect
import logging
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.methods.base import Method, MethodSettings, Needs, PublicFacts, SecretFacts, Setup
from dnatrace.methods.kinds import OpenMethod
from dnatrace.records import NOT_TESTED

# (sender, receiver, day, weight): the weight is 1 for every contact, as the window keeps no kinds.
ContactRow = tuple[int, int, int, float]
TestRow = tuple[int, int, int]  # (person, 1 or 0, day of the test)

_LOG = logging.getLogger(__name__)
# Of `rank`: here, and as in epidemic_mitigation.
_PARAMETERS = (
    ("day", "contacts", "tests"),
    ("t_day", "daily_contacts", "daily_obs", "data"),
)


@runtime_checkable
class Ranker(Protocol):
    """Anything that ranks people by how likely they are to be infected.

    `rank` is called once per day with the contacts of that day, in both directions, and the results
    that became known on it, both as rows; it keeps what it wants to remember. An optional `init(N,
    T)` is called before the first day with the numbers of people and days.
    """

    def rank(self, day: int, contacts: list[ContactRow], tests: list[TestRow], /) -> Any:
        """Return pairs (person, score), or an array of one score per person; highest are tested."""
        ...


@dataclass(slots=True, kw_only=True, eq=False)
class _Memory:
    """The ranker of one run and what it has been told.

    Attributes:
        ranker: a copy, so that two runs share no memory.
        known: the results it has been or will be told, by day of the window: int8 [days, people].
        first_day: the day of the first row.
        held_back: results that it will be told a day later.
        data: a dictionary that the ranker may write into.
        told: whether a warning was given that nobody was ranked on some day.
    """

    ranker: Any
    known: NDArray[np.int8]
    first_day: int = 1
    held_back: list[TestRow] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedByOthers(OpenMethod):
    """A method around a `Ranker`.

    A ranker as in epidemic_mitigation is told results a day after they are known, as in its own
    loop: there `daily_obs` belong to the day before `t_day`, and rankers check that.

    Attributes:
        ranker: the object; a copy of it runs.
        n_days: the length of the run, for `init`.
    """

    ranker: Any
    n_days: int

    def __post_init__(self) -> None:
        if not callable(getattr(self.ranker, "rank", None)):
            raise InputError(
                f"{type(self.ranker).__name__} is neither a method nor a ranker: it has no rank()"
            )
        signature = inspect.signature(self.ranker.rank)
        given = _PARAMETERS[self.takes_data]
        try:
            signature.bind(*given)
        except TypeError:
            raise InputError(
                f"{type(self.ranker).__name__}.rank takes {signature}; it gets "
                f"{' or '.join(_listed(names) for names in _PARAMETERS)}"
            ) from None

    @property
    def needs(self) -> Needs:
        """What the loop must compute."""
        return Needs.NOTHING

    @property
    def takes_data(self) -> bool:
        """Whether `rank` has a fourth parameter, as in epidemic_mitigation."""
        return len(inspect.signature(self.ranker.rank).parameters) >= len(_PARAMETERS[1])

    def start(self, n_people: int) -> _Memory:
        """Copy the ranker and tell it the numbers of people and days."""
        ranker = _copied(self.ranker)
        if hasattr(ranker, "init"):
            ranker.init(n_people, self.n_days)
        return _Memory(
            ranker=ranker,
            known=np.empty((0, n_people), dtype=np.int8),
            data={"logger": logging.getLogger(__name__)},
        )

    def scores(
        self, public: PublicFacts, secret: SecretFacts, state: _Memory
    ) -> tuple[NDArray[np.float64], _Memory]:
        """Show the day to the ranker and return its scores as they are.

        Guarantee: none; the ranker sees contacts and results, and the release is recorded as
        unprotected.
        Cost: one tuple per contact.
        """
        day = public.day - 1
        new = _new_results(public, state)
        contacts = _rows(secret, day)
        if self.takes_data:
            ranked = state.ranker.rank(day, contacts, state.held_back, state.data)
            state.held_back = new
        else:
            ranked = state.ranker.rank(day, contacts, new)
        state.known, state.first_day = public.outcomes, public.first_day
        scores = _scores(ranked, public, type(self.ranker).__name__)
        self._tell_if_empty(scores, day, state)
        return scores, state

    def _tell_if_empty(self, scores: NDArray[np.float64], day: int, state: _Memory) -> None:
        """Warn once per run that nobody was ranked: it may be intended, but wastes all tests."""
        if not state.told and np.isnan(scores).all():
            name = type(self.ranker).__name__
            _LOG.warning(
                "warning: %s.rank ranked nobody on day %d (the first is 0): it chooses no tests of "
                "the next day; later days like this are not reported",
                name,
                day,
            )
            state.told = True


class OutsideSettings(MethodSettings):
    """A method given as an object: a name that its user answers for, and no settings."""

    name: str
    outside: Literal[True] = True

    def build(self, setup: Setup) -> Method:
        """Raise, since the name alone does not say how to make the object."""
        raise InputError(f"method '{self.name}' was given as an object: give it again")

    @property
    def training(self) -> str:
        """Say that it is unknown."""
        return "unknown: the method was given as an object, and its user answers for it."

    def fingerprint(self) -> str:
        """Return what distinguishes the run from that of a plug-in of the same name."""
        return "outside"


def as_method(thing: Any, *, n_days: int) -> Method:
    """Return a method as it is, or a ranker wrapped in a method."""
    if isinstance(thing, type):
        raise InputError(f"{thing.__name__} is a class: give an object of it")
    if hasattr(thing, "release") and hasattr(thing, "start"):
        return thing
    return RankedByOthers(ranker=thing, n_days=n_days)


def _listed(names: tuple[str, ...]) -> str:
    return f"({', '.join(names)})"


def _copied(ranker: Any) -> Any:
    """Return a copy of an object with all that it holds, or raise saying why there must be one."""
    try:
        return copy.deepcopy(ranker)
    except (TypeError, copy.Error, pickle.PickleError) as error:
        why = " ".join(str(error).split())
        raise InputError(
            f"{type(ranker).__name__} cannot be copied, and every run works on a copy of the "
            f"object: {why}"
        ) from error


def _rows(secret: SecretFacts, day: int) -> list[ContactRow]:
    contacts = secret.window[-1]
    senders, receivers = contacts.senders.tolist(), contacts.receivers().tolist()
    return list(zip(senders, receivers, repeat(day), repeat(1.0)))


def _new_results(public: PublicFacts, state: _Memory) -> list[TestRow]:
    """Return the results that were not known yesterday, including those of earlier tests."""
    before = np.full(public.outcomes.shape, NOT_TESTED, dtype=np.int8)
    shift = public.first_day - state.first_day
    kept = state.known[shift:]
    before[: len(kept)] = kept
    days, people = np.nonzero((public.outcomes != NOT_TESTED) & (before == NOT_TESTED))
    results = public.outcomes[days, people].tolist()
    taken = (days + public.first_day - 1).tolist()
    return list(zip(people.tolist(), results, taken, strict=True))


def _scores(ranked: Any, public: PublicFacts, name: str) -> NDArray[np.float64]:
    """Return one score per person; NaN, which is never tested, for people not ranked."""
    n_people = public.n_people
    rows = ranked.items() if isinstance(ranked, Mapping) else ranked
    try:
        values = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
        if values.dtype.kind == "c":
            raise TypeError("complex scores have no order")
        values = values.astype(float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}.rank must return numbers: {error}") from error
    if values.shape == (n_people,):
        _require_number(values, np.arange(n_people), public, name)
        return values
    scores = np.full(n_people, np.nan)
    if values.size == 0:
        return scores
    if values.ndim != 2 or values.shape[1] != 2:
        raise InputError(
            f"{name}.rank must return pairs (person, score) or {n_people} scores, "
            f"not an array of shape {list(values.shape)}"
        )
    named = values[:, 0]
    if not ((named >= 0) & (named < n_people)).all():
        raise InputError(f"{name}.rank named a person outside 0 … {n_people - 1}")
    people = named.astype(np.int64)
    for person in named[named != people][:1]:
        raise InputError(f"{name}.rank named person {person:g}; people are whole numbers")
    if np.unique(people).size < people.size:
        raise InputError(f"{name}.rank named a person twice")
    _require_number(values[:, 1], people, public, name)
    scores[people] = values[:, 1]
    return scores


def _require_number(
    given: NDArray[np.float64], people: NDArray[np.int64], public: PublicFacts, name: str
) -> None:
    """Raise when nobody who was ranked and is not in isolation has a number.

    Ranking nobody is a valid answer; NaN for everybody is a mistake that would waste all tests.
    """
    free = given if public.isolated is None else given[~public.isolated[people]]
    if np.isnan(free if free.size else given).all():
        raise InputError(
            f"{name}.rank returned NaN for everybody who can be tested on day {public.day - 1} "
            "(the first is 0)"
        )
