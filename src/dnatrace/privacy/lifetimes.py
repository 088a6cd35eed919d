"""What an ε is stated for, and how one such unit spends over the releases it reaches."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dnatrace.errors import InputError, shown
from dnatrace.privacy.gaussian import (
    classical_multiplier,
    mu_of_budget,
    renyi_multiplier,
    require_budget,
)

PAIR_DAYS = 14  # consecutive days on which a pair meets
NO_PERSON = (
    "unit person: this method has no bound for a person, whose test also changes what others say "
    "or counts once per contact; headcount has one, with seir.exchange = own-tests"
)


class Unit(StrEnum):
    """What an ε is stated or calibrated for."""

    PERSON = "person"
    RELEASE = "release"
    CONTACT = "contact"
    PAIR = "pair"


class Calibration(StrEnum):
    """How noise follows from ε and δ."""

    EXACT = "exact"
    CLASSICAL = "classical"
    RENYI = "renyi"


def _checked_shares(name: str, given: Any) -> tuple[float, ...]:
    """Return shares of μ by day as a tuple, or raise: nan would make any noise look like none."""
    try:
        shares = tuple(float(share) for share in given)
    except (TypeError, ValueError):
        raise InputError(f"{name} of a lifetime must be numbers, not {shown(given)}") from None
    if not shares:
        raise InputError(f"{name} of a lifetime must be one number per day, and there is none")
    for share in shares:
        if not 0.0 <= share < math.inf:
            raise InputError(f"{name} of a lifetime must be finite and not below 0, not {share}")
    return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """How much of a release's μ one contact can spend, by the age of the contact.

    Attributes:
        shares: the shares by age in days (release day minus contact day).
        joint: whether one draw of noise covers all contact days of a release; then the days of a
            pair add up before they are squared; otherwise each day has noise of its own.
        person: how much of a release's μ one test result of a person can spend, by days since the
            first release it can reach: the release on the day of the test or, for releases of news,
            on the day the result becomes known. None when nothing is proved about a person.
        once: whether a person counts once however often they are met, so that a contact and a pair
            move a release by no more than a single message does.
    """

    shares: tuple[float, ...]
    joint: bool
    person: tuple[float, ...] | None = None
    once: bool = False

    def __post_init__(self) -> None:
        for name in ("shares", "person"):
            given = getattr(self, name)
            if given is not None or name == "shares":
                object.__setattr__(self, name, _checked_shares(name, given))

    @property
    def contact_factor(self) -> float:
        """μ of a contact over its life, as a multiple of the μ of one release."""
        return math.sqrt(sum(share * share for share in self.shares))

    @property
    def pair_factor(self) -> float:
        """μ of a pair over all releases, as a multiple of the μ of one release."""
        return math.sqrt(
            sum(pair_squares(self, dict.fromkeys(range(PAIR_DAYS + len(self.shares)), 1.0), 0))
        )

    @property
    def person_factor(self) -> float:
        """μ of one test result of a person, as a multiple of the μ of one release."""
        if self.person is None:
            return math.inf
        return math.sqrt(sum(share * share for share in self.person))

    def life(self, unit: Unit) -> int:
        """Return over how many days of releases a unit spends, from the first to the last."""
        if unit is Unit.RELEASE:
            return 1
        spent: Iterable[float] = self.shares
        if unit is not Unit.CONTACT:
            spent = (self.person or ()) if unit is Unit.PERSON else long_pair(self, PAIR_DAYS)
        days = [day for day, share in enumerate(spent) if share > 0.0]
        return days[-1] - days[0] + 1 if days else 0

    def square(self, reached: Sequence[float]) -> float:
        """Return the squared μ of a release for several contacts with one person, over its own μ².

        Guarantee: all their messages may change at once. Under one draw of noise for all days their
        effects add up, unless a person counts once; otherwise their squares do.

        Args:
            reached: the shares of the contacts that the release reaches.
        """
        if not self.joint:
            return sum(share * share for share in reached)
        together = max(reached, default=0.0) if self.once else sum(reached)
        return together**2

    def factor(self, unit: Unit) -> float:
        """Return μ of a unit as a multiple of the μ of one release, at least 1."""
        if unit is Unit.RELEASE:
            return 1.0
        if unit is Unit.PERSON:
            return max(1.0, self.person_factor)
        return max(1.0, self.contact_factor if unit is Unit.CONTACT else self.pair_factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The guarantee for which noise is calibrated.

    Attributes:
        epsilon: the ε to be met.
        delta: the δ to be met.
        unit: the unit for which they are stated.
        calibration: how noise follows from ε and δ. All but `classical` meet the target; ledgers
            state what was really spent in any case.
    """

    epsilon: float
    delta: float = 1e-3
    unit: Unit = Unit.RELEASE
    calibration: Calibration = Calibration.EXACT

    def __post_init__(self) -> None:
        require_budget(self.epsilon, self.delta)
        for name, kind in (("unit", Unit), ("calibration", Calibration)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in tuple(kind):
                raise InputError(f"unknown {name} {shown(value)}: {', '.join(kind)}")
            object.__setattr__(self, name, kind(value))

    @property
    def mu(self) -> float:
        """The largest μ that meets the target; smaller or too large for other calibrations."""
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
        the calibration is `classical` and ε is above 1.
        """
        if self.unit is Unit.PERSON and lifetime.person is None:
            raise InputError(NO_PERSON)
        return lifetime.factor(self.unit) / self.mu


def pair_squares(lifetime: Lifetime, mu_by_day: dict[int, float], start: int) -> Iterable[float]:
    """Yield the squared μ of each release for a pair that first meets on day `start`."""
    for day, total in enumerate(long_pair(lifetime, PAIR_DAYS), start):
        mu = mu_by_day.get(day, 0.0)
        yield mu * mu * total


def long_pair(lifetime: Lifetime, days: int) -> Iterable[float]:
    """Yield the squared μ of each release, over its own μ², of a pair that meets on `days` days."""
    shares = lifetime.shares
    for day in range(days + len(shares)):
        reached = shares[max(0, day - days + 1) : day + 1][::-1]  # in the order of meetings
        yield lifetime.square(reached)
