"""What was released on a day, as immutable data: the entries of a ledger."""

from dataclasses import dataclass

from dnatrace.privacy.lifetimes import Lifetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One release to everybody on one day."""

    day: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicEvent(Event):
    """Nothing is spent: scores depend on public facts and on what earlier releases paid for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprotectedEvent(Event):
    """The scores show messages as they are: the cost is unbounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianEvent(Event):
    """Gaussian noise on a statistic of proved sensitivity.

    Attributes:
        mechanism: what got noise, in words.
        mu: sensitivity divided by the standard deviation of the noise, for the worst person.
        lifetime: how one contact spends over the releases it reaches.
        budget: μ of a contact that a filter fixed beforehand; None without a filter.
        spent: the largest μ any contact has actually spent so far; None when not tracked.
        same_for_all: whether everybody a person met gets the same noise about them, so that pooling
            scores does not average it out.
        reads: from how many releases with the same message, including this one, the score of the
            day is computed.
        noise: the back end that drew the noise, as it calls itself; empty when nobody said.
    """

    mechanism: str
    mu: float
    lifetime: Lifetime
    budget: float | None = None
    spent: float | None = None
    same_for_all: bool = False
    reads: int = 1
    noise: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprovenEvent(Event):
    """Gaussian noise for a sensitivity that does not hold.

    The ratios are true sensitivities as multiples of the one for which the noise was calibrated.
    `attained` is reached by windows in which all other messages are zero (a lower bound on the
    truth); `bound` holds for every window with the person's tests and counts (an upper bound).

    Attributes:
        mechanism: what was noised, in words.
        mu: the nominal parameter.
        lifetime: how one contact spends over the releases it reaches.
        attained: people by attained ratio, as (ratio rounded up to two digits, people).
        attained_worst: the largest attained ratio of the day.
        bound_worst: the largest bound of the day.
        noise: the back end that drew the noise, as it calls itself; empty when nobody said.
    """

    mechanism: str
    mu: float
    lifetime: Lifetime
    attained: tuple[tuple[float, int], ...]
    attained_worst: float
    bound_worst: float
    noise: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionEvent(Event):
    """Something computed from everybody's scores was published, with noise, to choose tests.

    Its unit is the score of one person on the day, not a message: it comes in addition to releases.

    Attributes:
        mu: the parameter of Gaussian privacy with respect to one person's score.
        noise: the back end that drew the noise, as it calls itself; empty when nobody said.
    """

    mu: float
    noise: str = ""
