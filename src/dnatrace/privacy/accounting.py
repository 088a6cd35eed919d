"""Differential privacy as data: what was released, and what it cost."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One release to everybody on one day."""

    day: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicEvent(Event):
    """The scores depend on public facts alone: nothing is spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprotectedEvent(Event):
    """The scores show messages as they are: the cost is without bound."""
