"""Differential privacy as data: what was released, what it cost, and how costs add up.

Every release is an immutable event with a parameter μ of Gaussian differential privacy. Gaussian
events compose exactly, μ² = Σ μᵢ² (Dong, Roth and Su 2022), even when later ones are chosen by
looking at earlier ones, as long as a bound on the sum is fixed beforehand (a privacy filter: Smith
and Thakurta 2022, "Fully adaptive composition for Gaussian differential privacy").

Costs are stated for four units. A *person* is one test result of one person, against one receiver
who keeps every score for ever, given everybody else's tests and who met whom: this is what people
ask about. It is bounded only where a bound is proved, which requires messages that depend on nobody
else's tests and a statistic in which a person counts once. The other units are about messages. A
*release* is one day's noise on the statistic behind one person's score: what that day adds to
everything released before. A score that reads earlier releases again may reveal as much as all of
them; `Ledger.score_epsilon` says how much one score alone can reveal. A *contact* is one meeting on
one day, over all releases its message reaches, whatever values the message takes; somebody met k
times on a day is k contacts, which `Ledger.person_day_epsilon` counts. A *pair* is the same two
people meeting once per day on `PAIR_DAYS` consecutive days.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dnatrace.errors import InputError
from dnatrace.privacy.events import (
    Event,
    GaussianEvent,
    PublicEvent,
    SelectionEvent,
    UnprotectedEvent,
    UnprovenEvent,
)
from dnatrace.privacy.gaussian import epsilon_of_mu
from dnatrace.privacy.lifetimes import (
    NO_PERSON,
    PAIR_DAYS,
    Calibration,
    Lifetime,
    Target,
    Unit,
    long_pair,
    pair_squares,
)

__all__ = [
    "NO_PERSON",
    "PAIR_DAYS",
    "SCORES",
    "SIMULATION_ONLY",
    "THRESHOLD",
    "Calibration",
    "Event",
    "GaussianEvent",
    "Kept",
    "Ledger",
    "Lifetime",
    "PublicEvent",
    "SelectionEvent",
    "Target",
    "Unit",
    "UnprotectedEvent",
    "UnprovenEvent",
]

SIMULATION_ONLY = "for simulation only"  # in the name of every back end that protects nobody
SCORES, THRESHOLD = "scores", "threshold"  # what gets noise
_ROUNDING = 1e-9  # relative: noise is calibrated by root finding


class Kept(StrEnum):
    """Whether what a run spent is within its target."""

    MET = "met"
    SO_FAR = "met so far"
    NOT = "not met"


@dataclass(slots=True)
class Ledger:
    """What a run has spent, event by event.

    Attributes:
        meetings_per_day: how often two people met on one day, at most in the run.
    """

    _events: list[Event] = field(default_factory=list)
    _selections: list[SelectionEvent] = field(default_factory=list)
    meetings_per_day: int = 1

    def record(self, event: Event) -> None:
        """Add the event of one day's release."""
        if not isinstance(event, Event):
            raise InputError(f"a ledger records events, not {type(event).__name__}")
        if isinstance(event, SelectionEvent):
            self._selections.append(event)
        else:
            self._events.append(event)

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, in the order they were recorded."""
        return tuple(self._events)

    @property
    def selections(self) -> tuple[SelectionEvent, ...]:
        """What was published to choose whom to test, day by day."""
        return tuple(self._selections)

    def selection_epsilon(self, delta: float) -> dict[str, float] | None:
        """Return ε for one person's score from what was published on one day, and on all days.

        None when tests were chosen centrally from all scores.
        """
        if not self._selections:
            return None
        mus = [event.mu for event in self._selections]
        return {
            "day": epsilon_of_mu(max(mus), delta),
            "run": epsilon_of_mu(math.hypot(*mus), delta),
        }

    @property
    def sound(self) -> bool:
        """Whether every cost is finite and proved for ideal noise; `protects` requires more."""
        return not any(isinstance(e, UnprotectedEvent | UnprovenEvent) for e in self._events)

    @property
    def noised(self) -> list[GaussianEvent | UnprovenEvent]:
        """The releases that got noise."""
        return [e for e in self._events if isinstance(e, GaussianEvent | UnprovenEvent)]

    @property
    def noises(self) -> tuple[str, ...]:
        """The back ends that drew noise, by name."""
        return tuple(sorted({name for names in self.noises_by_part.values() for name in names}))

    @property
    def noises_by_part(self) -> dict[str, tuple[str, ...]]:
        """The back ends that drew the noise of scores and of published thresholds, by name."""
        drawn = {
            SCORES: {event.noise for event in self.noised},
            THRESHOLD: {event.noise for event in self._selections},
        }
        return {part: tuple(sorted(names)) for part, names in drawn.items()}

    @property
    def simulated(self) -> dict[str, tuple[str, ...]]:
        """The parts with noise that protects nobody, and the back ends that drew it.

        Noise that is for simulation only, or of unknown origin, protects nobody.
        """
        weak = {
            part: tuple(name for name in names if not name or SIMULATION_ONLY in name)
            for part, names in self.noises_by_part.items()
        }
        return {part: names for part, names in weak.items() if names}

    @property
    def protects(self) -> bool:
        """Whether every cost is proved and finite, and no noise can be reproduced."""
        return self.sound and not self.simulated

    def mu(self, unit: Unit) -> float:
        """Return μ of a unit, the worst over people, contacts or pairs; infinite when unbounded.

        Guarantee: it holds for every value of the messages, given the public facts. For a release
        whose stated sensitivity fails, the bound for the tests and counts of the run is used. Edge
        cases: 0 for an empty ledger and for public releases.
        """
        if any(isinstance(e, UnprotectedEvent) for e in self._events):
            return math.inf
        return _compose([e for e in self._events if not isinstance(e, PublicEvent)], unit)

    def epsilon(self, unit: Unit, delta: float, *, receivers: int = 1) -> float:
        """Return ε of a unit at δ; infinite when unbounded.

        When receivers pool all their scores about the same unit, each adds its cost: μ·√receivers,
        as their noise is independent.
        """
        return epsilon_of_mu(self.mu(unit) * math.sqrt(receivers), delta)

    def person_day_epsilon(self, delta: float) -> float:
        """Return ε of everything one person says to another on one day, over all releases.

        A contact is one meeting. A person met k times on a day is k contacts that change together,
        so at most k times as far apart, unless people count once however often they are met.
        """
        once = all(event.lifetime.once for event in self.noised)
        times = 1 if once else self.meetings_per_day
        return epsilon_of_mu(times * self.mu(Unit.CONTACT), delta)

    def pair_epsilon(self, delta: float, days: int) -> float:
        """Return ε of a pair that meets once per day on `days` consecutive days, at δ.

        It assumes the noise of the costliest release for every release from the first to the last
        that the pair reaches; infinite when unbounded.
        """
        if any(isinstance(e, UnprotectedEvent) for e in self._events):
            return math.inf
        long = (math.sqrt(sum(long_pair(e.lifetime, days))) * _true_mu(e) for e in self.noised)
        return epsilon_of_mu(max(long, default=0.0), delta)

    def life_epsilon(self, unit: Unit, delta: float) -> float:
        """Return ε of a unit over its whole life, had the run gone on; infinite when unbounded.

        It assumes the noise of the costliest release for every release that the unit reaches, and
        the budget of a filter where there is one.
        """
        proved = unit is not Unit.PERSON or all(e.lifetime.person is not None for e in self.noised)
        if not proved or any(isinstance(e, UnprotectedEvent) for e in self._events):
            return math.inf
        lives = (_true_mu(e) * e.lifetime.factor(unit) for e in self.noised)
        return epsilon_of_mu(_filtered(self.noised, max(lives, default=0.0), unit), delta)

    def kept(self, target: Target) -> Kept:
        """Return whether a target is met: for the whole life of its unit, so far, or not."""
        most = target.epsilon * (1.0 + _ROUNDING)
        if self.epsilon(target.unit, target.delta) > most:
            return Kept.NOT
        unfinished = target.unit.value in self.unfinished
        if unfinished and self.life_epsilon(target.unit, target.delta) > most:
            return Kept.SO_FAR
        return Kept.MET

    @property
    def person_unfinished(self) -> bool:
        """Whether the run ended before a test of its first day had left all releases."""
        return Unit.PERSON.value in self.unfinished

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The units, and "score", that outlive the run: what they cost is the cost so far."""
        days = self.noised[-1].day - self.noised[0].day + 1 if self.noised else 0
        lives = {unit.value: self.life(unit) for unit in (Unit.PERSON, Unit.CONTACT, Unit.PAIR)}
        reads = max((getattr(e, "reads", 1) for e in self.noised), default=0)
        lives["score"] = min(reads, lives[Unit.CONTACT.value])
        return tuple(name for name, life in lives.items() if days < life)

    def life(self, unit: Unit) -> int:
        """Return how many days of releases a unit lives in, at most; 0 without noise."""
        return max((event.lifetime.life(unit) for event in self.noised), default=0)

    def score_epsilon(self, delta: float) -> float:
        """Return ε of a single score, for somebody who sees no other; infinite when unbounded.

        It exceeds the cost of a release when scores are computed from several releases with the
        same message, and never exceeds the cost of a contact over its life.
        """
        noised = {e.day: e for e in self._events if isinstance(e, GaussianEvent)}
        alone = [_score_mu(noised, e) for e in noised.values() if e.reads > 1]
        return epsilon_of_mu(max([self.mu(Unit.RELEASE), *alone]), delta)

    def nominal_epsilon(self, delta: float) -> float:
        """Return the ε per release for which the noise was calibrated, whether or not it holds."""
        largest = max((e.mu for e in self.noised), default=0.0)
        unprotected = any(isinstance(e, UnprotectedEvent) for e in self._events)
        return epsilon_of_mu(math.inf if unprotected else largest, delta)

    def true_epsilon(self, delta: float) -> dict[str, float] | None:
        """Return ε per release over person-days, for a method whose stated sensitivity fails.

        `median` and `worst` are attained by real windows, `bound` cannot be exceeded. None when
        every release is proved.
        """
        flawed = [e for e in self._events if isinstance(e, UnprovenEvent)]
        if not flawed:
            return None
        people = Counter[float]()
        for event in flawed:
            for ratio, count in event.attained:
                people[ratio * event.mu] += count
        return {
            "median": epsilon_of_mu(_weighted_median(people), delta),
            "worst": epsilon_of_mu(max(e.attained_worst * e.mu for e in flawed), delta),
            "bound": epsilon_of_mu(max(e.bound_worst * e.mu for e in flawed), delta),
        }

    def summary(self, delta: float) -> dict[str, Any]:
        """Return the costs as plain values for JSON; an unbounded cost is None."""
        true = self.true_epsilon(delta)
        spent = [e.spent for e in self._events if isinstance(e, GaussianEvent) and e.spent]
        return {
            "releases": len(self._events),
            "sound": self.sound,
            "protects": self.protects,
            "noise": list(self.noises),
            "delta": delta,
            "per_person_epsilon": _finite(self.epsilon(Unit.PERSON, delta)),
            "nominal_epsilon": _finite(self.nominal_epsilon(delta)),
            "per_release_epsilon": _finite(self.epsilon(Unit.RELEASE, delta)),
            "per_score_epsilon": _finite(self.score_epsilon(delta)),
            "per_contact_epsilon": _finite(self.epsilon(Unit.CONTACT, delta)),
            "per_person_day_epsilon": _finite(self.person_day_epsilon(delta)),
            "meetings_per_day": self.meetings_per_day,
            "per_pair_epsilon": _finite(self.epsilon(Unit.PAIR, delta)),
            "unfinished": list(self.unfinished),
            "true_epsilon": true,
            "selection_epsilon": self.selection_epsilon(delta),
            "realised_per_contact_epsilon": epsilon_of_mu(max(spent), delta) if spent else None,
        }


def _compose(events: list[Any], unit: Unit) -> float:
    mus: dict[Lifetime, dict[int, float]] = {}
    for event in events:
        days = mus.setdefault(event.lifetime, {})
        days[event.day] = math.hypot(days.get(event.day, 0.0), _true_mu(event))
    if unit is Unit.RELEASE:
        spent = (max(life.shares) * mu for life, days in mus.items() for mu in days.values())
        return max(spent, default=0.0)
    if unit is Unit.PERSON:
        proved = all(lifetime.person is not None for lifetime in mus)
        return _worst_start(mus, unit) if proved else math.inf
    return _filtered(events, _worst_start(mus, unit), unit)


def _worst_start(mus: dict[Lifetime, dict[int, float]], unit: Unit) -> float:
    """Return the largest μ of a test, a contact, or a pair, over the day on which it begins."""
    days = [day for by_day in mus.values() for day in by_day]
    longest = max((len(lifetime.shares) for lifetime in mus), default=0)
    worst = 0.0
    for start in range(min(days, default=0) - PAIR_DAYS - longest, max(days, default=-1) + 1):
        total = 0.0
        for lifetime, by_day in mus.items():
            if unit is not Unit.PAIR:
                shares = lifetime.shares if unit is Unit.CONTACT else lifetime.person or ()
                ages = enumerate(shares)
                total += sum((share * by_day.get(start + a, 0.0)) ** 2 for a, share in ages)
            else:
                total += sum(pair_squares(lifetime, by_day, start))
        worst = max(worst, total)
    return math.sqrt(worst)


def _score_mu(noised: dict[int, GaussianEvent], last: GaussianEvent) -> float:
    """Return μ of the score of one day, the worst over contacts, from the releases it reads."""
    read = [noised[d] for d in range(last.day - last.reads + 1, last.day + 1) if d in noised]
    longest = max(len(event.lifetime.shares) for event in read)
    return max(
        math.hypot(*(_share(event, event.day - met) * event.mu for event in read))
        for met in range(last.day - longest - last.reads + 1, last.day + 1)
    )


def _share(event: GaussianEvent, age: int) -> float:
    shares = event.lifetime.shares
    return shares[age] if 0 <= age < len(shares) else 0.0


def _filtered(events: list[Any], mu: float, unit: Unit) -> float:
    """Apply the budget of a filter, when every event was under the same one."""
    budgets = {getattr(event, "budget", None) for event in events}
    budget = budgets.pop() if len(budgets) == 1 else None
    if budget is None:
        return mu
    # A pair is PAIR_DAYS contacts; by Minkowski's inequality its μ is at most the sum of theirs.
    return min(mu, budget if unit is Unit.CONTACT else PAIR_DAYS * budget)


def _true_mu(event: "GaussianEvent | UnprovenEvent") -> float:
    return event.mu * (event.bound_worst if isinstance(event, UnprovenEvent) else 1.0)


def _weighted_median(counts: Counter[float]) -> float:
    half = sum(counts.values()) / 2.0
    seen = 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= half:
            return value
    return 0.0


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
