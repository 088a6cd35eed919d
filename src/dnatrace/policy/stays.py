"""Staying at home when told to: who complies, for how long, and what ends it early."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dnatrace.policy.base import Evening, Ids
from dnatrace.policy.isolation import NEVER, AdherenceUnit
from dnatrace.records import DayContacts
from dnatrace.rng import Stream
from dnatrace.settings import Days, Settings, Share, setting

Until = NDArray[np.int32]  # everybody's last day at home
EXEMPT = (
    "chosen; close to UK guidance, 2020 to 2022: no other PCR test within 90 days of a positive "
    "one without new symptoms"
)


class StayRules(Settings):
    """How people stay at home when they are told to."""

    days: Days = setting(
        10,
        "length of the stay, from the day after the notice",
        source="UK chief medical officers, 11 December 2020: contacts stay at home for 10 days "
        "from 14 December on",
    )
    adherence: Share = setting(1.0, "share of those told who stay at home")
    adherence_unit: AdherenceUnit = setting(
        AdherenceUnit.EVENT, "drawn once per `person` or at each notice (`event`)"
    )
    dropout: Share = setting(0.0, "probability per day of giving up")
    negative_ends: bool = setting(False, "whether a negative result during the stay ends it")
    exempt_days: Days = setting(
        90, "days after a positive result in which a person is not told", source=EXEMPT
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """What levers share; arrays are [people], days are -1 for never.

    Attributes:
        at_home: who is at home today, bool.
        until: the last day at home by reason, int32; includes stays that begin tomorrow.
        since: the first day of the current stay, int32.
        releasable: who would be released by a negative result, bool.
        positive_on: the day of the last positive result, int32.
        tested_on: the day of the last ordered test, int32.
        days: everybody's contacts of the last days, the oldest first; empty unless a lever needs
            them.
        room: how many more people may be sent home.
    """

    at_home: NDArray[np.bool_]
    until: dict[str, Until]
    since: NDArray[np.int32]
    releasable: NDArray[np.bool_]
    positive_on: NDArray[np.int32]
    tested_on: NDArray[np.int32]
    days: tuple[DayContacts, ...]
    room: int

    def stays(self, day: int) -> NDArray[np.bool_]:
        """Return who is known to be at home on a day, bool [people]."""
        staying = np.zeros(self.at_home.size, dtype=np.bool_)
        for until in self.until.values():
            staying |= until >= day
        return staying

    def exempt(self, day: int, rules: StayRules) -> NDArray[np.bool_]:
        """Return who was found positive too recently to be told: bool [people]."""
        return (self.positive_on != NEVER) & (day - self.positive_on < rules.exempt_days)


class SendsHome(Protocol):
    """A lever that tells people to stay at home."""

    @property
    def name(self) -> str:
        """The name of the stays it causes; also part of the names of its streams."""

    @property
    def rules(self) -> StayRules:
        """How long stays last and who complies."""

    def start(self) -> Any:
        """Return what it remembers before the first day."""

    def tell(self, evening: Evening, known: Known, memory: Any) -> tuple[Ids, Any]:
        """Return whom it tells to stay at home from tomorrow on, and what it remembers."""


def nobody(n_people: int) -> NDArray[np.int32]:
    """Return `NEVER` for everybody: int32 [people]."""
    return np.full(n_people, NEVER, dtype=np.int32)


def mask_of(people: Ids, n_people: int) -> NDArray[np.bool_]:
    """Return ids as a mask: bool [people]."""
    mask = np.zeros(n_people, dtype=np.bool_)
    mask[people] = True
    return mask


def by_lot(people: Ids, room: int, *, day: int, stream: Stream) -> Ids:
    """Return as many people as there is room for, drawn by lot: ids."""
    if people.size <= room:
        return people
    return np.sort(people[np.argsort(stream.uniform(people, day), kind="stable")[: max(0, room)]])


def most_of(share: float, n_people: int) -> int:
    """Return a share of the people as a whole number, rounded down."""
    return int(share * n_people + 1e-9)


def begin(until: Until, people: Ids, *, day: int, rules: StayRules, stream: Stream) -> Until:
    """Return the last days at home after `people` were told on `day`; not all of them comply.

    A longer stay is not shortened.
    """
    drawn_on = 0 if rules.adherence_unit is AdherenceUnit.PERSON else day
    followers = people[stream.uniform(people, drawn_on) < rules.adherence]
    begun = until.copy()
    begun[followers] = np.maximum(begun[followers], day + rules.days)
    return begun


def end(until: Until, people: Ids, *, day: int) -> Until:
    """Return the last days at home when `day` is the last one for these people."""
    ended = until.copy()
    ended[people] = np.minimum(ended[people], day)
    return ended


def drop_out(until: Until, *, day: int, dropout: float, stream: Stream) -> Until:
    """Return the last days at home after those who give up before `day` have left."""
    if dropout == 0.0:
        return until
    staying = np.flatnonzero(until >= day)
    return end(until, staying[stream.uniform(staying, day) < dropout], day=day - 1)
