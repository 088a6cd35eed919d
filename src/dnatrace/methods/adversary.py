"""Play neighbouring windows with a real method: what audits and attacks sample from.

Many copies of one encounter run side by side in one population: attackers who meet a victim, and
perhaps other people, on given days. The copies share nothing, so one call of `Method.release` makes
as many independent draws as there are copies.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError, require_at_least
from dnatrace.methods.base import Method, PublicFacts, SecretFacts
from dnatrace.privacy.accounting import Event, GaussianEvent, PublicEvent, UnprovenEvent
from dnatrace.records import NOT_TESTED, ContactWindow, DayContacts
from dnatrace.seir import SeirParameters, TestErrors

_COPIES = 32_768  # encounters in one population
_PEOPLE = 2**20  # at most, in one population
_WINDOW_DAYS = 14
_AGE_OF_INFECTED = 2  # days after which a contact affects P(I)
_MET_OFTEN = 15  # contacts per day with the other person of a crowded encounter


class OwnTests(StrEnum):
    """The attacker's own tests, on the last days of the window."""

    NONE = "none"
    NEGATIVE = "negative"
    POSITIVE = "positive"
    NEGATIVE_POSITIVE = "negative-positive"

    def outcomes(self, n_days: int) -> tuple[int, ...]:
        """Return the results by day: 1, 0, or -1 without a test."""
        last = {
            OwnTests.NONE: (),
            OwnTests.NEGATIVE: (0,),
            OwnTests.POSITIVE: (1,),
            OwnTests.NEGATIVE_POSITIVE: (0, 1),
        }[self][-n_days:]
        return (NOT_TESTED,) * (n_days - len(last)) + last


@dataclass(frozen=True, slots=True, kw_only=True)
class Encounter:
    """One attack in two neighbouring worlds: who meets whom, what is said, what is seen.

    Days count from 0; the first release is at the end of day `window_days` - 1.

    Attributes:
        own_tests: the results of the attackers' tests by day, for window_days + releases - 1 days.
        met_on: the days on which every attacker meets the victim once.
        message: what an infectious victim says; a healthy one says 0. An infectious victim has
            also tested positive, which is the message of `traditional`.
        later_message: the re-estimated message in all releases but the first; None for no change.
        others: how many other people each attacker meets every day; they say 0.
        meetings: contacts with each of the others per day.
        attackers: how many people meet the same victim.
        releases: on how many consecutive days the attackers look at their scores.
        window_days: the length of the window.
        parameters: the parameters of the statistical model.
        test_errors: how often tests err.
    """

    own_tests: tuple[int, ...]
    met_on: tuple[int, ...]
    message: float = 1.0
    later_message: float | None = None
    others: int = 0
    meetings: int = 1
    attackers: int = 1
    releases: int = 1
    window_days: int = _WINDOW_DAYS
    parameters: SeirParameters = field(default_factory=SeirParameters)
    test_errors: TestErrors = field(default_factory=TestErrors)

    def __post_init__(self) -> None:
        require_at_least("attackers", self.attackers, 1)
        require_at_least("meetings", self.meetings, 1)
        require_at_least("releases", self.releases, 1)
        if len(self.own_tests) != self.n_days:
            raise InputError(f"own tests of {len(self.own_tests)} days for {self.n_days} days")

    @property
    def n_days(self) -> int:
        """The number of days from the first day of the window to the last release."""
        return self.window_days + self.releases - 1

    @property
    def age(self) -> int:
        """The number of days from the last meeting with the victim to the first release."""
        return self.window_days - 1 - self.met_on[-1]


def audit_encounters(
    own_tests: OwnTests, *, releases: int = 1, by_contacts: bool = False, **settings: Any
) -> tuple[Encounter, ...]:
    """Return the encounters of an audit: the victim was met two days ago, or yesterday.

    In the first, own tests weigh messages most; in the second, a release that leaves out messages
    from before a test still counts them. `settings` are fields of `Encounter`. With `by_contacts`,
    for sensitivities that depend on the number of contacts, there are three more: the same two with
    15 other contacts per day, where the part that shrinks with their number no longer hides what
    the rest can do; and the victim met only on the day of the release, where that part alone counts
    the message. The 15 contacts are with one person, which is as good and costs less. With several
    releases, an older contact may leave the window before the last one; so there is also an
    encounter in which the victim is met on the day of the first release, and is in as many releases
    as a contact can be.
    """
    n_days = settings.get("window_days", _WINDOW_DAYS)
    outcomes = own_tests.outcomes(n_days) + (NOT_TESTED,) * (releases - 1)

    def met(age: int, **more: Any) -> Encounter:
        about = settings | more
        return Encounter(own_tests=outcomes, met_on=(n_days - 1 - age,), releases=releases, **about)

    encounters: tuple[Encounter, ...] = (met(2), met(1))
    if by_contacts:
        crowd = {"others": 1, "meetings": _MET_OFTEN}
        encounters += (met(2, **crowd), met(1, **crowd))
    if by_contacts or releases > 1:
        encounters += (met(0),)
    return encounters


def attack_encounter(
    *,
    co_attackers: int = 1,
    days: int = 1,
    first_age: int = _AGE_OF_INFECTED,
    last_age: int | None = None,
    **settings: Any,
) -> Encounter:
    """Return the encounter of the paper's adversary, who meets only the victim.

    They meet on the last `days` days that already affect P(I), or later if there are not enough of
    them and scores show later contacts, from `first_age` on, or none older than `last_age`;
    `settings` as for audits.
    """
    n_days = settings.get("window_days", _WINDOW_DAYS)
    require_at_least("days", days, 1)
    if days > n_days - first_age:
        why = f": those of the last {first_age} do not affect scores yet" if first_age else ""
        most = n_days - first_age
        raise InputError(f"a window of {n_days} days shows at most {most} days of contacts{why}")
    newest = _AGE_OF_INFECTED if last_age is None else min(_AGE_OF_INFECTED, last_age)
    end = max(n_days - newest, days)
    return Encounter(
        own_tests=OwnTests.NONE.outcomes(n_days),
        met_on=tuple(range(end - days, end)),
        attackers=co_attackers,
        **settings,
    )


@dataclass(slots=True)
class AdversaryGame:
    """Samples what attackers see: in world 0 the victim is healthy, in world 1 infectious.

    Every call uses seeds that no earlier call used.

    Attributes:
        encounter: the encounter to play.
        method: makes the method, given a seed for its noise.
        next_seed: the seed of the next population.
        events: what the releases of the last population cost.
    """

    encounter: Encounter
    method: Callable[[int], Method]
    next_seed: int = 0
    events: tuple[Event, ...] = ()

    def __call__(self, world: int, draws: int) -> NDArray[np.float64]:
        """Return the scores that attackers see, [draws, attackers × releases]."""
        batches = []
        people = 1 + self.encounter.attackers + self.encounter.others
        most = min(_COPIES, max(1, _PEOPLE // people))
        for start in range(0, draws, most):
            copies = min(most, draws - start)
            method = self.method(self.next_seed)
            scores, self.events = _release_in(self.encounter, method, world, copies)
            batches.append(scores)
            self.next_seed += 1
        return np.concatenate(batches)

    def ages(self) -> tuple[int, int | None]:
        """Return from which age and up to which a contact affects releases, by the events."""
        self(0, 1)
        lives = [e.lifetime for e in self.events if isinstance(e, GaussianEvent | UnprovenEvent)]
        ages = [age for life in lives for age, share in enumerate(life.shares) if share > 0.0]
        return min(ages, default=_AGE_OF_INFECTED), max(ages, default=None)

    def pooled_mu(self) -> float:
        """Return μ of everything that the attackers of an encounter see; infinite if unproved.

        Guarantee: all messages of the victim may change at once (`Lifetime.square`); when each
        attacker has noise of their own, μ² is multiplied by their number.
        """
        self(0, 1)
        return math.sqrt(sum(event_square(event, self.encounter) for event in self.events))


def event_square(event: Event, encounter: Encounter) -> float:
    """Return the squared μ of one release to all attackers of an encounter."""
    if isinstance(event, PublicEvent):
        return 0.0
    if not isinstance(event, GaussianEvent):
        return math.inf
    shares = event.lifetime.shares
    reached = [
        shares[event.day - met] for met in encounter.met_on if 0 <= event.day - met < len(shares)
    ]
    receivers = 1 if event.same_for_all else encounter.attackers
    return event.mu**2 * event.lifetime.square(reached) * receivers


def _release_in(
    encounter: Encounter, method: Method, world: int, copies: int
) -> tuple[NDArray[np.float64], tuple[Event, ...]]:
    """Return the scores that the attackers see, [copies, attackers × releases], and the events."""
    n_attackers = encounter.attackers * copies
    n_people = n_attackers + copies * (1 + encounter.others)
    window = ContactWindow(n_people=n_people, n_days=encounter.window_days)
    state = method.start(n_people)
    seen, events = [], []
    for day in range(encounter.n_days):
        window.push(_contacts(encounter, copies, day in encounter.met_on))
        if day >= encounter.window_days - 1:
            facts = _facts(encounter, window, world, copies, day)
            released, state = method.release(*facts, state)
            seen.append(released.scores[:n_attackers].reshape(copies, encounter.attackers))
            events.append(released.event)
    return np.concatenate(seen, axis=1), tuple(events)


def _contacts(encounter: Encounter, copies: int, met: bool) -> DayContacts:
    """Return one day: attackers receive from their victim, if met that day, and from the others."""
    n_attackers = encounter.attackers * copies
    received = encounter.others * encounter.meetings + met
    copy_of = np.repeat(np.arange(copies, dtype=np.int32), encounter.attackers)
    victims = n_attackers + copy_of
    others = n_attackers + copies + copy_of[:, None] * encounter.others
    others = others + np.arange(encounter.others)
    others = np.repeat(others, encounter.meetings, axis=1)
    senders = np.column_stack([victims, others]) if met else others
    per_person = np.zeros(n_attackers + copies * (1 + encounter.others), dtype=np.int32)
    per_person[:n_attackers] = received
    offsets = np.concatenate([[0], np.cumsum(per_person)])
    return DayContacts(offsets=offsets.astype(np.int32), senders=senders.ravel().astype(np.int32))


def _facts(
    encounter: Encounter, window: ContactWindow, world: int, copies: int, day: int
) -> tuple[PublicFacts, SecretFacts]:
    n_attackers = encounter.attackers * copies
    shape = (len(window), window.n_people)
    messages = np.zeros(shape, dtype=np.float32)
    said = encounter.message
    if encounter.later_message is not None and day >= encounter.window_days:
        said = encounter.later_message
    messages[:, n_attackers : n_attackers + copies] = said * world
    outcomes = np.full(shape, NOT_TESTED, dtype=np.int8)
    own = encounter.own_tests[window.first_day : day + 1]
    outcomes[:, :n_attackers] = np.array(own, dtype=np.int8)[:, None]
    if world:  # what `traditional` learns about the victim
        outcomes[:, n_attackers : n_attackers + copies] = 1
    public = PublicFacts(
        day=day,
        first_day=window.first_day,
        counts=window.counts,
        outcomes=outcomes,
        parameters=encounter.parameters,
        test_errors=encounter.test_errors,
    )
    # A message is what the victim says; nobody else contributes to it.
    return public, SecretFacts(window=window, messages=messages, own_tests=True)
