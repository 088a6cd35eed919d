"""Differential privacy as data: what was released, what it cost, and how costs add up.

Every release is an immutable event with a parameter μ of Gaussian differential privacy. Gaussian
events compose exactly, μ² = Σ μᵢ² (Dong, Roth and Su 2022), also when later ones are
chosen by looking at earlier ones as long as a bound on the sum is fixed beforehand (a privacy
filter: Smith and Thakurta 2022, "Fully adaptive composition for Gaussian differential privacy").

Costs are stated for three units. A *release* is one day's noise on what one person's score is made
of: what that day adds to everything made before. A score that reads earlier releases again may tell
as much as all of them; `Ledger.score_epsilon` says how much one score alone can. A *contact* is one
contact on one day, over all releases its message reaches, whatever values the message takes. A
*pair* is the same two people meeting once per day on `PAIR_DAYS` consecutive days.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dnatrace.errors import InputError
from dnatrace.privacy.gaussian import (
    classical_multiplier,
    epsilon_of_mu,
    mu_of_budget,
    renyi_multiplier,
    require_budget,
)

PAIR_DAYS = 14  # consecutive days on which a pair meets


class Unit(StrEnum):
    """What an ε is stated or calibrated for."""

    RELEASE = "release"
    CONTACT = "contact"
    PAIR = "pair"


class Calibration(StrEnum):
    """How noise follows from ε and δ."""

    EXACT = "exact"
    CLASSICAL = "classical"
    RENYI = "renyi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """How much of a release's μ one contact can spend, by the age of the contact.

    Attributes:
        shares: by age in days (release day minus contact day).
        joint: whether one draw of noise covers all contact days of a release; then the days of a
            pair add up before they are squared, otherwise each day has noise of its own.
    """

    shares: tuple[float, ...]
    joint: bool

    @property
    def contact_factor(self) -> float:
        """μ of a contact over its life, as a multiple of the μ of one release."""
        return math.sqrt(sum(share * share for share in self.shares))

    @property
    def pair_factor(self) -> float:
        """μ of a pair over all releases, as a multiple of the μ of one release."""
        return math.sqrt(
            sum(_pair_squares(self, dict.fromkeys(range(PAIR_DAYS + len(self.shares)), 1.0), 0))
        )

    def factor(self, unit: Unit) -> float:
        """Return μ of a unit as a multiple of the μ of one release, at least 1."""
        if unit is Unit.RELEASE:
            return 1.0
        return max(1.0, self.contact_factor if unit is Unit.CONTACT else self.pair_factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the noise is calibrated for.

    Attributes:
        epsilon: the ε to be met.
        delta: the δ to be met.
        unit: for what.
        calibration: how noise follows from ε and δ. All but `classical` meet the target; ledgers
            state what was spent, whichever it is.
    """

    epsilon: float
    delta: float = 1e-3
    unit: Unit = Unit.RELEASE
    calibration: Calibration = Calibration.EXACT

    def __post_init__(self) -> None:
        require_budget(self.epsilon, self.delta)
        if self.unit not in tuple(Unit):
            raise InputError(f"unknown unit {self.unit!r}: {', '.join(Unit)}")
        object.__setattr__(self, "unit", Unit(self.unit))

    @property
    def mu(self) -> float:
        """The largest μ that meets the target; less, or too much, when calibrated otherwise."""
        multipliers = {
            Calibration.CLASSICAL: classical_multiplier,
            Calibration.RENYI: renyi_multiplier,
        }
        if self.calibration in multipliers:
            return 1.0 / multipliers[self.calibration](self.epsilon, self.delta)
        return mu_of_budget(self.epsilon, self.delta)

    def multiplier(self, lifetime: Lifetime) -> float:
        """Return the noise of one release, in multiples of its sensitivity.

        Guarantee: under the releases that `lifetime` describes, the unit is (ε, δ)-private, unless
        the calibration is `classical` and ε above 1.
        """
        return lifetime.factor(self.unit) / self.mu


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One release to everybody on one day."""

    day: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicEvent(Event):
    """Nothing is spent: scores depend on public facts and on what earlier releases paid for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprotectedEvent(Event):
    """The scores show messages as they are: the cost is without bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianEvent(Event):
    """Gaussian noise on a statistic of proved sensitivity.

    Attributes:
        mechanism: what was noised, in words.
        mu: sensitivity divided by the standard deviation of the noise, the worst of all people.
        lifetime: how one contact spends over the releases it reaches.
        budget: μ of a contact that a filter fixed beforehand; None without a filter.
        spent: the largest μ any contact has spent so far, as realised; None when not followed.
        same_for_all: whether everybody a person met gets the same noise about them, so that pooling
            scores does not wear it down.
        reads: from how many releases with the same message, this one among them, the score of the
            day is computed.
    """

    mechanism: str
    mu: float
    lifetime: Lifetime
    budget: float | None = None
    spent: float | None = None
    same_for_all: bool = False
    reads: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprovenEvent(Event):
    """Gaussian noise for a sensitivity that does not hold.

    The ratios are true sensitivities as multiples of the one the noise was made for. `attained` is
    reached by windows in which all other messages are zero (a lower bound on the truth), `bound`
    holds for every window with the person's tests and counts (an upper bound).

    Attributes:
        mechanism: what was noised, in words.
        mu: the nominal parameter.
        lifetime: how one contact spends over the releases it reaches.
        attained: people by attained ratio, as (ratio rounded up to two digits, people).
        attained_worst: the largest attained ratio of the day.
        bound_worst: the largest bound of the day.
    """

    mechanism: str
    mu: float
    lifetime: Lifetime
    attained: tuple[tuple[float, int], ...]
    attained_worst: float
    bound_worst: float


@dataclass(slots=True)
class Ledger:
    """What a run has spent, event by event."""

    _events: list[Event] = field(default_factory=list)

    def record(self, event: Event) -> None:
        """Add the event of one day's release."""
        if not isinstance(event, Event):
            raise InputError(f"a ledger records events, not {type(event).__name__}")
        self._events.append(event)

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, in the order they were recorded."""
        return tuple(self._events)

    @property
    def sound(self) -> bool:
        """Whether every release has a proved and finite cost."""
        return not any(isinstance(e, UnprotectedEvent | UnprovenEvent) for e in self._events)

    def mu(self, unit: Unit) -> float:
        """Return μ of a unit, the worst over people, contacts and pairs; infinite when unbounded.

        Guarantee: holds for every value of the messages, given the public facts. For a release
        whose stated sensitivity fails, the bound for the tests and counts of the run stands in.
        Edge cases: 0 for an empty ledger and for public releases.
        """
        if any(isinstance(e, UnprotectedEvent) for e in self._events):
            return math.inf
        return _compose([e for e in self._events if not isinstance(e, PublicEvent)], unit)

    def epsilon(self, unit: Unit, delta: float) -> float:
        """Return ε of a unit at δ; infinite when unbounded."""
        return epsilon_of_mu(self.mu(unit), delta)

    def score_epsilon(self, delta: float) -> float:
        """Return ε of a single score, for somebody who sees no other; infinite when unbounded.

        More than a release costs when scores are computed from several releases with the same
        message, and never more than a contact costs over its life.
        """
        mus = {e.day: e.mu for e in self._events if isinstance(e, GaussianEvent)}
        alone = [
            math.hypot(*(mus.get(day, 0.0) for day in range(e.day - e.reads + 1, e.day + 1)))
            for e in self._events
            if isinstance(e, GaussianEvent) and e.reads > 1
        ]
        return epsilon_of_mu(max([self.mu(Unit.RELEASE), *alone]), delta)

    def nominal_epsilon(self, delta: float) -> float:
        """Return the ε per release that the noise was made for, whether or not it holds."""
        mus = [e.mu for e in self._events if isinstance(e, GaussianEvent | UnprovenEvent)]
        unprotected = any(isinstance(e, UnprotectedEvent) for e in self._events)
        return epsilon_of_mu(math.inf if unprotected else max(mus, default=0.0), delta)

    def true_epsilon(self, delta: float) -> dict[str, float] | None:
        """Return ε per release over person-days of a method whose stated sensitivity fails.

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
        """Return the costs as plain values for JSON; unbounded is None."""
        true = self.true_epsilon(delta)
        spent = [e.spent for e in self._events if isinstance(e, GaussianEvent) and e.spent]
        return {
            "releases": len(self._events),
            "sound": self.sound,
            "delta": delta,
            "nominal_epsilon": _finite(self.nominal_epsilon(delta)),
            "per_release_epsilon": _finite(self.epsilon(Unit.RELEASE, delta)),
            "per_score_epsilon": _finite(self.score_epsilon(delta)),
            "per_contact_epsilon": _finite(self.epsilon(Unit.CONTACT, delta)),
            "per_pair_epsilon": _finite(self.epsilon(Unit.PAIR, delta)),
            "true_epsilon": true,
            "realised_per_contact_epsilon": epsilon_of_mu(max(spent), delta) if spent else None,
        }


def _compose(events: list[Any], unit: Unit) -> float:
    mus: dict[Lifetime, dict[int, float]] = {}
    for event in events:
        ratio = event.bound_worst if isinstance(event, UnprovenEvent) else 1.0
        days = mus.setdefault(event.lifetime, {})
        days[event.day] = math.hypot(days.get(event.day, 0.0), ratio * event.mu)
    if unit is Unit.RELEASE:
        spent = (max(life.shares) * mu for life, days in mus.items() for mu in days.values())
        return max(spent, default=0.0)
    return _filtered(events, _worst_start(mus, unit), unit)


def _worst_start(mus: dict[Lifetime, dict[int, float]], unit: Unit) -> float:
    """Return the largest μ of a contact, or of a pair, over the day on which it begins."""
    days = [day for by_day in mus.values() for day in by_day]
    longest = max((len(lifetime.shares) for lifetime in mus), default=0)
    worst = 0.0
    for start in range(min(days, default=0) - PAIR_DAYS - longest, max(days, default=-1) + 1):
        total = 0.0
        for lifetime, by_day in mus.items():
            if unit is Unit.CONTACT:
                ages = enumerate(lifetime.shares)
                total += sum((share * by_day.get(start + a, 0.0)) ** 2 for a, share in ages)
            else:
                total += sum(_pair_squares(lifetime, by_day, start))
        worst = max(worst, total)
    return math.sqrt(worst)


def _filtered(events: list[Any], mu: float, unit: Unit) -> float:
    """Apply the budget of a filter, when every event was under the same one."""
    budgets = {getattr(event, "budget", None) for event in events}
    budget = budgets.pop() if len(budgets) == 1 else None
    if budget is None:
        return mu
    # A pair is PAIR_DAYS contacts; by Minkowski's inequality their μ add up at most.
    return min(mu, budget if unit is Unit.CONTACT else PAIR_DAYS * budget)


def _pair_squares(lifetime: Lifetime, mu_by_day: dict[int, float], start: int) -> Iterable[float]:
    """Yield the squared μ of each release for a pair that first meets on day `start`."""
    shares = lifetime.shares
    for day in range(start, start + PAIR_DAYS + len(shares)):
        mu = mu_by_day.get(day, 0.0)
        reached = [
            shares[day - met]
            for met in range(start, start + PAIR_DAYS)
            if 0 <= day - met < len(shares)
        ]
        total = sum(reached) ** 2 if lifetime.joint else sum(s * s for s in reached)
        yield mu * mu * total


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
