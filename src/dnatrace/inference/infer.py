"""From your own contacts and tests to beliefs: `dt.infer`, with any of the inferences."""

from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace import parquet, tables
from dnatrace.errors import InputError, require_between, require_kind, require_whole
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.inference import infection_times as times
from dnatrace.inference.belief_propagation import propagate_window
from dnatrace.inference.course import CourseParameters
from dnatrace.records import ContactWindow, TestLog
from dnatrace.seir import SeirParameters, TestErrors
from dnatrace.settings import choose

MOST_PROPAGATION_ROUNDS = 100


class Inference(StrEnum):
    """How beliefs follow from contacts and tests."""

    FN = "fn"
    ONE_ROUND = "one-round"
    BP = "bp"


def infer(
    contacts: Any,
    tests: Any,
    *,
    n_people: int | None = None,
    n_days: int | None = None,
    parameters: SeirParameters | None = None,
    test_errors: TestErrors | None = None,
    rounds: int | None = None,
    clip: float | None = None,
    levels: int | None = None,
    inference: str = Inference.FN,
    course: CourseParameters | None = None,
) -> NDArray[np.float32]:
    """Return the beliefs of everybody on every day: float32 [people, days, 4], order S, E, I, R.

    Args:
        contacts: integer array [contacts, 3] (sender, receiver, day), a table with those columns,
            the path of a CSV or Parquet file, or a `ContactWindow`, of which the days that it holds
            are inferred. Directed; a repeated row is a second contact. Parquet of whole numbers is
            read batch by batch.
        tests: integer array [tests, 3] (person, day, positive), a table, a path, or a `TestLog` of
            the same days. Beside a window, days have its numbers: the oldest is its `first_day`.
        n_people: ids are 0 … n_people-1; one more than the largest id when None.
        n_days: days are 0 … n_days-1; one more than the largest day when None.
        parameters: the parameters of the statistical model of `fn`.
        test_errors: how often tests err.
        rounds: updates of everybody, starting from zero messages; 5 by default for `fn`. For `bp`
            the largest number, 100 by default; it ends earlier when messages settle.
        clip: if given, messages of `fn` after the last round are clipped to [0, clip] and one more
            update is made from them: the starting point of a private release.
        levels: if given, those messages are also rounded to the nearest of this many values.
        inference: `fn` (Factorised Neighbours), `one-round` (own-test messages heard once) or `bp`
            (belief propagation), the last two over days of infection.
        course: the course of the infection, for `one-round` and `bp`.
    """
    require_whole(n_people=n_people, n_days=n_days, rounds=rounds, levels=levels)
    require_kind("parameters", parameters, SeirParameters)
    require_kind("test_errors", test_errors, TestErrors)
    require_kind("course", course, CourseParameters)
    chosen = choose("inference", inference, Inference)
    fn_alone = {"parameters": parameters, "clip": clip, "levels": levels}
    _refuse(chosen, fn_alone if chosen is not Inference.FN else {"course": course})
    _refuse(chosen, {"rounds": rounds} if chosen is Inference.ONE_ROUND else {})
    window, log = _read(contacts, tests, n_people, n_days)
    test_errors = test_errors or TestErrors()
    if chosen is not Inference.FN:
        return _by_day_of_infection(chosen, window, log, course, test_errors, rounds)
    parameters = parameters or SeirParameters()
    fn.warn_if_contradictory(log.outcomes, parameters, test_errors)
    return fn.infer_window(
        window,
        log,
        parameters=parameters,
        test_errors=test_errors,
        rounds=fn.DEFAULT_ROUNDS if rounds is None else rounds,
        clip=clip,
        levels=levels,
    ).values


def _refuse(chosen: Inference, meant_for_others: dict[str, Any]) -> None:
    """Raise for an argument that has no effect."""
    for name, value in meant_for_others.items():
        if value is not None:
            raise InputError(f"{name}: inference '{chosen}' has none")


def _read(
    contacts: Any, tests: Any, n_people: int | None, n_days: int | None
) -> tuple[ContactWindow, TestLog]:
    if isinstance(tests, TestLog):
        n_people, n_days = _agreed("the log of tests", tests, n_people, n_days)
        return _beside(tests, contacts, n_people, n_days), tests
    test_rows = tables.read_tests(tests)
    if isinstance(contacts, str | Path) and parquet.can_stream(Path(contacts)):
        n_people, n_days = parquet.sizes(
            Path(contacts), test_rows, n_people=n_people, n_days=n_days
        )
        contacts = parquet.window_of(Path(contacts), n_people=n_people, n_days=n_days)
    if isinstance(contacts, ContactWindow):
        n_people, n_days = _agreed("the window of contacts", contacts, n_people, n_days)
        size = {"n_people": n_people, "n_days": n_days, "first_day": contacts.first_day}
        return contacts, TestLog.from_rows(test_rows, **size)
    contact_rows = tables.read_contacts(contacts)
    if n_people is None and not (contact_rows.size or test_rows.size):
        raise InputError("contacts, tests: neither has a row; n_people says how many there are")
    if n_people is None:
        ids = [contact_rows.columns["sender"], contact_rows.columns["receiver"]]
        n_people = tables.infer_people(*ids, test_rows.columns["person"])
    if n_days is None:
        n_days = tables.days_of(contact_rows, test_rows)
    n_people, n_days = int(n_people), int(n_days)
    window = ContactWindow.from_rows(contact_rows, n_people=n_people, n_days=n_days)
    return window, TestLog.from_rows(test_rows, n_people=n_people, n_days=n_days)


def _agreed(
    what: str, held: ContactWindow | TestLog, n_people: int | None, n_days: int | None
) -> tuple[int, int]:
    """Return how many people and days are held, or raise if others are asked for."""
    days = len(held) or held.n_days
    for name, given, has in (("n_people", n_people, held.n_people), ("n_days", n_days, days)):
        if given is not None and given != has:
            raise InputError(f"{name}: {what} has {has}, not {given}")
    if not len(held):
        raise InputError(f"{what} holds no day yet")
    return held.n_people, days


def _beside(log: TestLog, contacts: Any, n_people: int, n_days: int) -> ContactWindow:
    """Return the contacts of the people and days of a log, or raise if theirs are others."""
    if isinstance(contacts, ContactWindow):
        window = contacts
    elif log.first_day != 0:
        raise InputError(f"tests: beside a log of {_days(log)} contacts must be a ContactWindow")
    elif isinstance(contacts, str | Path) and parquet.can_stream(Path(contacts)):
        window = parquet.window_of(Path(contacts), n_people=n_people, n_days=n_days)
    else:
        window = ContactWindow.from_rows(contacts, n_people=n_people, n_days=n_days)
    if window.n_people != n_people:
        raise InputError(f"tests: a log of {n_people} people for contacts of {window.n_people}")
    if (window.first_day, len(window)) != (log.first_day, n_days):
        raise InputError(f"tests: a log of {_days(log)} for contacts of {_days(window)}")
    return window


def _days(held: ContactWindow | TestLog) -> str:
    if not len(held):
        return "no day yet"
    return f"days {held.first_day} … {held.first_day + len(held) - 1}"


def _by_day_of_infection(
    chosen: Inference,
    window: ContactWindow,
    log: TestLog,
    course: CourseParameters | None,
    test_errors: TestErrors,
    rounds: int | None,
) -> NDArray[np.float32]:
    course = course or CourseParameters()
    model: dict[str, Any] = {"parameters": course, "test_errors": test_errors}
    if chosen is Inference.BP:
        rounds = MOST_PROPAGATION_ROUNDS if rounds is None else rounds
        require_between("rounds", rounds, 1, fn.MOST_ROUNDS)
        posterior = propagate_window(window, log.outcomes, rounds=rounds, **model)
    else:
        posterior = times.one_round_window(window, log.outcomes, **model)
    return times.states_by_day(posterior, course, n_days=len(window))
