"""The values that flow through the program: contacts and tests."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnatrace import _csr, tables
from dnatrace.errors import InputError, require_at_least, require_whole, require_whole_given, shown

Day = TypeVar("Day")

NOT_TESTED = -1
MOST_PEOPLE = 2**31 - 2  # ids are stored in 32 bits
MOST_DAYS = 10_000  # 27 years: more is a date or a slip


class Diary(IntFlag):
    """What a person knows about a day besides tests and contacts, where the policy has levers.

    ASKED: asked for a test because of symptoms. TOLD: was told, since the day before, that a
    housemate or somebody they met is a case. AT_HOME: stayed at home, for whatever reason. IMMUNE:
    had learned of a positive result of their own before the day.
    """

    ASKED = 1
    TOLD = 2
    AT_HOME = 4
    IMMUNE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DayContacts:
    """The directed contacts of one day, grouped by receiver.

    The messages that reach person r come from `senders[offsets[r]:offsets[r + 1]]`. A sender that
    appears there twice is two contacts. There is no padding and no cap: 4 bytes per contact plus
    the offsets. The order within a row is the simulator's (`from_pairs` sorts by sender); sums are
    taken in it. Kernels do not look whether ids are in range, so that is checked here, once, and
    the arrays are copied, so that what is done to the given ones later does not change the day:
    one pass over offsets and senders, and as much memory again until the given ones are gone.

    Attributes:
        offsets: int32 [people + 1].
        senders: int32 [contacts].
        kinds: uint8 [contacts], the `ContactKind` of each contact, or None when unknown.
        mutual: whether every contact is known to appear in the rows of both people, equally often;
            then `by_sender` needs no sorting and no memory.
    """

    offsets: NDArray[np.int32]
    senders: NDArray[np.int32]
    kinds: NDArray[np.uint8] | None = None
    mutual: bool = False
    _by_sender: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("offsets", "senders", "kinds"):
            if isinstance(given := getattr(self, name), np.ndarray):
                object.__setattr__(self, name, given.copy())
        _csr.require_rows(self.offsets, self.senders)
        if self.kinds is not None:
            _csr.require_array("kinds", self.kinds, np.uint8, self.senders.size)

    @classmethod
    def _made(
        cls, offsets: NDArray[np.int32], senders: NDArray[np.int32], *, mutual: bool = False
    ) -> Self:
        """Return the day that a kernel of `_csr` made: in range, so it is not checked again."""
        day = object.__new__(cls)
        values = {"offsets": offsets, "senders": senders, "kinds": None, "mutual": mutual}
        for name, value in (values | {"_by_sender": None}).items():
            object.__setattr__(day, name, value)
        return day

    @classmethod
    def from_pairs(cls, senders: ArrayLike, receivers: ArrayLike, *, n_people: int) -> Self:
        """Group contacts by receiver, then by sender; the order of the pairs does not matter.

        Cost: two counting sorts, O(people + contacts).
        """
        _require_people(n_people)
        sender_ids, receiver_ids = np.asarray(senders), np.asarray(receivers)
        if sender_ids.shape != receiver_ids.shape or sender_ids.ndim != 1:
            raise InputError("senders and receivers must be two arrays of one length")
        if sender_ids.size and not {sender_ids.dtype.kind, receiver_ids.dtype.kind} <= {"i", "u"}:
            raise InputError("senders and receivers must be whole numbers")
        days = np.broadcast_to(np.int64(0), sender_ids.shape)
        columns = {"sender": sender_ids, "receiver": receiver_ids, "day": days}
        rows = tables.Rows("contacts", columns)
        ((offsets, sorted_senders),) = _sorted_days(rows, n_people, n_days=1)
        return cls._made(offsets, sorted_senders)

    @classmethod
    def empty(cls, n_people: int) -> Self:
        """Return a day on which nobody met."""
        _require_people(n_people)
        return cls._made(np.zeros(n_people + 1, dtype=np.int32), np.empty(0, dtype=np.int32))

    @property
    def n_people(self) -> int:
        """The number of people, with contacts or without."""
        return self.offsets.size - 1

    @property
    def counts(self) -> NDArray[np.int32]:
        """The number of contacts of each person, that is messages received: int32 [people]."""
        return np.diff(self.offsets)

    def receivers(self) -> NDArray[np.int32]:
        """Return the receiver of every contact, in the order of `senders`."""
        return np.repeat(np.arange(self.n_people, dtype=np.int32), self.counts)

    def by_sender(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return offsets [people + 1] and receivers [contacts] of the same contacts by sender.

        Cost: one counting sort at the first call; the result is kept, 4 bytes per contact. Nothing
        when contacts are mutual: the rows by receiver are also the rows by sender.
        """
        offsets, senders = self.offsets.view(np.uint32), self.senders.view(np.uint32)
        if self.mutual:
            return offsets, senders
        if self._by_sender is None:
            turned = _csr.turned(offsets, senders)
            object.__setattr__(self, "_by_sender", turned)
        kept: tuple[NDArray[np.uint32], NDArray[np.uint32]] = self._by_sender
        return kept

    def most_meetings(self) -> int:
        """Return how often any two people met on the day, at most; 0 if nobody met.

        Cost: one look-up per contact.
        """
        return int(_csr.most_meetings(self.offsets.view(np.uint32), self.senders.view(np.uint32)))

    def among(self, kept: NDArray[np.bool_]) -> Self:
        """Return the contacts between people who are kept, bool [people]; kinds are dropped."""
        _csr.require_array("kept", kept, np.bool_, self.n_people)
        offsets, senders = _csr.among(self.offsets, self.senders, kept)
        return type(self)._made(offsets, senders, mutual=self.mutual)


@dataclass(slots=True, kw_only=True, eq=False)
class _LastDays(Generic[Day]):
    """One value per day for the last days: a ring that forgets what is older.

    Days are in order, the oldest first: index i is day `first_day` + i. Rings built from rows begin
    with day 0, those of the loop with day 1, or 0 when contacts are dated a day earlier
    (`Loop.contacts_before_tests`).

    Attributes:
        n_people: how many people there are, with contacts and tests or without.
        n_days: the largest number of days it holds.
        first_day: the number of the oldest day held.
    """

    n_people: int
    n_days: int
    first_day: int = 0
    _ring: deque[Day] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _require_people(self.n_people)
        require_whole(n_days=self.n_days, first_day=self.first_day)
        require_at_least("the number of days", self.n_days, 1)
        if self.n_days > MOST_DAYS:
            raise InputError(f"{self.n_days} days are more than {MOST_DAYS}")
        self._ring = deque(maxlen=self.n_days)

    def _append(self, day: Day) -> None:
        """Add the next day; when the ring is full the oldest day leaves memory."""
        if len(self._ring) == self.n_days:
            self.first_day += 1
        self._ring.append(day)

    def __len__(self) -> int:
        """The number of days held."""
        return len(self._ring)


class ContactWindow(_LastDays[DayContacts]):
    """The contacts of the last `n_days` days.

    `push` costs the new day alone; the other days are not touched or copied.
    """

    __slots__ = ()

    @classmethod
    def from_rows(
        cls, rows: Any, *, n_people: int | None = None, n_days: int | None = None
    ) -> Self:
        """Build a window of days 0 … n_days-1 from rows (sender, receiver, day).

        Args:
            rows: an integer array [contacts, 3], a table with columns sender, receiver, day (kind
                is allowed and ignored), or the path of a CSV or Parquet file.
            n_people: ids are 0 … n_people-1; one more than the largest id when None.
            n_days: one more than the largest day when None.

        Cost: three counting sorts, O(contacts + days × people), days in parallel.
        """
        read = tables.read_contacts(rows)
        senders, receivers = read.columns["sender"], read.columns["receiver"]
        n_people = tables.infer_people(senders, receivers) if n_people is None else n_people
        n_days = tables.days_of(read) if n_days is None else n_days
        window = cls(n_people=n_people, n_days=n_days)
        for offsets, day_senders in _sorted_days(read, n_people, n_days):
            window._ring.append(DayContacts._made(offsets, day_senders))
        return window

    def push(self, day: DayContacts) -> None:
        """Add the next day; when the window is full the oldest day leaves memory."""
        self._check(day)
        self._append(day)

    def push_after(self, day: DayContacts) -> None:
        """Put contacts in the newest day, so far empty, and add an empty day after it."""
        self._check(day)
        if not self._ring or self._ring[-1].senders.size:
            raise InputError("the newest day of the window is not an empty one")
        self._ring.pop()
        self._ring.append(day)
        self.push(DayContacts.empty(self.n_people))

    def _check(self, day: DayContacts) -> None:
        """Raise unless a day is one of the people of this window."""
        if not isinstance(day, DayContacts):
            raise InputError(f"a day must be a DayContacts, not {shown(day)}")
        if day.n_people != self.n_people:
            raise InputError(f"a day of {day.n_people} people in a window of {self.n_people}")

    def snapshot(self) -> Self:
        """Return the window as it is now; later pushes do not change it. The days are shared."""
        held = type(self)(n_people=self.n_people, n_days=self.n_days, first_day=self.first_day)
        held._ring.extend(self._ring)
        return held

    def forget(self, person: int) -> None:
        """Remove every contact in which `person` sent or received (the right to withdraw).

        Afterwards the window is what it would be had they never met anybody.
        Cost: one pass over the contacts of the window.
        """
        require_whole_given(person=person)
        if not 0 <= person < self.n_people:
            raise InputError(f"person {person} is outside the ids 0 … {self.n_people - 1}")
        others = np.ones(self.n_people, dtype=np.bool_)
        others[person] = False
        self._ring = deque((day.among(others) for day in self._ring), maxlen=self.n_days)

    def __iter__(self) -> Iterator[DayContacts]:
        return iter(self._ring)

    def __getitem__(self, index: int) -> DayContacts:
        return self._ring[index]

    @property
    def counts(self) -> NDArray[np.int32]:
        """Contacts by day and person: int32 [days held, people], the oldest day first."""
        if not self._ring:
            return np.empty((0, self.n_people), dtype=np.int32)
        return np.stack([day.counts for day in self._ring])

    @property
    def n_contacts(self) -> int:
        """The number of contacts in the window, over all receivers."""
        return sum(day.senders.size for day in self._ring)


class TestLog(_LastDays[NDArray[np.int8]]):
    """People's own test results over the last `n_days` days, at most one per person and day."""

    __slots__ = ()
    __test__ = False  # the name does not make it a test case

    @classmethod
    def from_rows(
        cls,
        rows: Any,
        *,
        n_people: int | None = None,
        n_days: int | None = None,
        first_day: int = 0,
    ) -> Self:
        """Build a log of n_days days from `first_day` on, from rows (person, day, positive).

        The same result twice for one person and day counts once; two different results are an
        error. `rows` is an integer array [tests, 3], a table with those columns, or a path.
        """
        read = tables.read_tests(rows)
        people, days = read.columns["person"], read.columns["day"]
        n_people = tables.infer_people(people) if n_people is None else n_people
        n_days = tables.days_of(read, first=first_day) if n_days is None else n_days
        log = cls(n_people=n_people, n_days=n_days, first_day=first_day)
        tables.check_ids(read, "person", n_people)
        tables.check_days(read, n_days, first=first_day)
        tables.check_range(read, "positive", end=2, meaning="0 and 1")
        dense = np.full((log.n_days, log.n_people), NOT_TESTED, dtype=np.int8)
        _enter(read, dense, (days - first_day, people))
        log._ring.extend(dense)
        return log

    def push_day(self) -> None:
        """Begin the next day without results; when the log is full the oldest day leaves it."""
        self._append(np.full(self.n_people, NOT_TESTED, dtype=np.int8))

    def record(self, day: int, people: ArrayLike, positive: ArrayLike) -> None:
        """Enter the results of tests taken on `day`; a day that has left the log is ignored.

        `people` are ids [tests], `positive` is bool, or 0 and 1 [tests]. The same result twice for
        one person counts once, two different ones are an error; a later call replaces a result.
        """
        require_whole_given(day=day)
        ids = tables.column(people, "tests", "person")
        found = tables.column(positive, "tests", "positive", kinds="biuf")
        if ids.size != found.size:
            raise InputError("people and positive must be two arrays of one length")
        days = np.broadcast_to(np.int64(day), ids.shape)
        rows = tables.Rows("tests", {"person": ids, "positive": found, "day": days})
        tables.check_ids(rows, "person", self.n_people)
        tables.check_range(rows, "positive", end=2, meaning="0 and 1")
        index = day - self.first_day
        if index >= len(self._ring):
            raise InputError(f"day {day} has not begun in this log")
        if index < 0 and len(self._ring) < self.n_days:  # none has left it
            raise InputError(f"day {day} is before the first of this log, {self.first_day}")
        if index >= 0:
            _enter(rows, self._ring[index], ids)

    @property
    def outcomes(self) -> NDArray[np.int8]:
        """Results by day and person: int8 [days held, people], 1, 0 or `NOT_TESTED`."""
        if not self._ring:
            return np.empty((0, self.n_people), dtype=np.int8)
        return np.stack(list(self._ring))


def _enter(rows: tables.Rows, results: NDArray[np.int8], places: Any) -> None:
    """Enter the results of tests at their places, or none if two contradict each other."""
    positive, before = rows.columns["positive"], results[places]
    results[places] = positive
    conflict = results[places] != positive
    if conflict.any():
        results[places] = before
        row = int(np.argmax(conflict))
        who, day = rows.person(rows.columns["person"][row]), rows.columns["day"][row]
        raise rows.refuse(row, "positive", f"{who} has two different results on day {day}")


def _require_people(n_people: int) -> None:
    """Raise unless so many people can have ids."""
    require_whole_given(n_people=n_people)
    require_at_least("the number of people", n_people, 1)
    if n_people > MOST_PEOPLE:
        raise InputError(f"{n_people} people are more than 32-bit ids can number")


def _sorted_days(
    rows: tables.Rows, n_people: int, n_days: int
) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Return (offsets, senders) of every day, or raise for the first bad row."""
    senders, receivers, days = (rows.columns[c] for c in tables.CONTACT_COLUMNS)
    first_bad, day_senders, day_receivers, starts = _csr.split_by_day(
        senders, receivers, days, n_people, n_days
    )
    if first_bad < senders.size:
        tables.check_ids(rows, "sender", n_people)
        tables.check_ids(rows, "receiver", n_people)
        tables.check_days(rows, n_days)
        who = rows.person(senders[first_bad])
        raise rows.refuse(first_bad, "receiver", f"{who} meets themselves")
    return _csr.sort_days_by_receiver(day_senders, day_receivers, starts, n_people)
