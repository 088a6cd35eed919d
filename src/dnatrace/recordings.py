"""Runs on disk as training needs them: messages, own tests, contacts and true states, day by day.

A recording is a directory with one file a day, `day-0001.npz` and so on, each written whole or not
at all. A file holds the contacts of its day and, for all days of the window that ends with it, the
messages and the own tests as they were known then: messages are estimated anew every day.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.files import replacing
from dnatrace.records import DayContacts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedDay:
    """What was known at the end of a day, and what was true.

    Attributes:
        day: from 1.
        contacts: the days of the window, oldest first.
        messages: P(I) after the last round, float32 [days, people].
        outcomes: own tests, int8 [days, people].
        states: course states at the end of the day, uint8 [people].
        age_groups: decade of age, uint8 [people].
        isolated: who was in isolation, bool [people].
    """

    day: int
    contacts: tuple[DayContacts, ...]
    messages: NDArray[np.float32]
    outcomes: NDArray[np.int8]
    states: NDArray[np.uint8]
    age_groups: NDArray[np.uint8]
    isolated: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Recorder:
    """Writes a recording."""

    directory: Path

    @classmethod
    def create(cls, directory: Path) -> Self:
        """Start a recording in a directory that is new or empty."""
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise InputError(f"{directory}: is not a new or empty directory")
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{directory}: cannot be made: {error.strerror}") from error
        return cls(directory)

    def write_day(
        self,
        *,
        day: int,
        contacts: DayContacts,
        messages: NDArray[np.float32] | None,
        outcomes: NDArray[np.int8],
        states: NDArray[np.uint8],
        age_groups: NDArray[np.uint8] | None,
        isolated: NDArray[np.bool_],
    ) -> None:
        """Write one day. Cost: 4 bytes a contact, 5 bytes a person and day of the window."""
        if messages is None or age_groups is None:
            raise InputError("a recording needs the messages and the age groups")
        with replacing(self.directory / f"day-{day:04d}.npz") as temporary:
            np.savez(
                temporary,
                offsets=contacts.offsets,
                senders=contacts.senders,
                messages=messages,
                outcomes=outcomes,
                states=states,
                age_groups=age_groups,
                isolated=isolated,
            )


def read_recording(directory: Path) -> Iterator[RecordedDay]:
    """Yield the days of a recording, oldest first, holding one window of contacts in memory."""
    files = sorted(directory.glob("day-*.npz"))
    if not files:
        raise InputError(f"{directory}: holds no recorded days")
    window: deque[DayContacts] = deque()
    for number, path in enumerate(files, start=1):
        if path.stem != f"day-{number:04d}":
            raise InputError(f"{directory}: day {number} is missing")
        with np.load(path) as stored:
            if "isolated" not in stored:
                raise InputError(f"{path}: was recorded by an older version, without isolation")
            window.append(DayContacts(offsets=stored["offsets"], senders=stored["senders"]))
            messages = stored["messages"]
            while len(window) > messages.shape[0]:
                window.popleft()
            yield RecordedDay(
                day=number,
                contacts=tuple(window),
                messages=messages,
                outcomes=stored["outcomes"],
                states=stored["states"],
                age_groups=stored["age_groups"],
                isolated=stored["isolated"],
            )
