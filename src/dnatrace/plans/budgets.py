"""What a plan may use, and what runs used: tests per day, people in quarantine, ε of a person."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import pyarrow.parquet as pq

from dnatrace.errors import InputError
from dnatrace.policy.stays import most_of
from dnatrace.runs import store as stores

_ROUNDING = 1e-9  # noise is calibrated to ε by root finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """Limits that hold on every day of every run.

    Attributes:
        tests: the largest share of people tested on a day, for whatever reason.
        quarantine: the largest share of people in quarantine on a day: at home for a reason other
            than their own positive result.
        epsilon: ε of one test result of a person, over everything that one receiver ever sees; 0
            leaves only methods that use no messages.
    """

    tests: float
    quarantine: float
    epsilon: float

    def __post_init__(self) -> None:
        for name in ("tests", "quarantine"):
            share = getattr(self, name)
            if not 0.0 <= share <= 1.0:
                raise InputError(f"--{name} {share:g}: give a share of the people from 0 to 1")
        if not (self.epsilon >= 0.0 and math.isfinite(self.epsilon)):
            raise InputError(f"--epsilon {self.epsilon:g}: give a number from 0 on")

    def with_more(self, *, tests: float = 0.0, quarantine: float = 0.0) -> Self:
        """Return larger budgets, at most everybody."""
        return replace(
            self,
            tests=min(1.0, self.tests + tests),
            quarantine=min(1.0, self.quarantine + quarantine),
        )

    def too_small(self, people: int | None) -> list[str]:
        """Return which budgets are less than one person, in words, if the number is known."""
        lines = []
        for name, what in (("tests", "tested per day"), ("quarantine", "in quarantine")):
            share = getattr(self, name)
            if people is not None and share > 0.0 and most_of(share, people) == 0:
                lines.append(
                    f"--{name} {share:g} of {people:,} people is less than one person: nobody "
                    f"can be {what}"
                )
        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one run.

    Attributes:
        infected: the share of people ever infected.
        days_at_home: days at home per person, for whatever reason.
        tests: tests per person.
        most_tests: the share of people tested on the day with the most tests.
        most_quarantined: the share of people in quarantine on the fullest day.
        epsilon: the ε spent per person; None when there is no bound.
    """

    infected: float
    days_at_home: float
    tests: float
    most_tests: float
    most_quarantined: float
    epsilon: float | None

    @property
    def goals(self) -> tuple[float, float, float]:
        """What should be small: infections, days at home, tests."""
        return self.infected, self.days_at_home, self.tests

    def within(self, budgets: Budgets) -> bool:
        """Return whether the run kept within the budgets."""
        return (
            self.most_tests <= budgets.tests + _ROUNDING
            and self.most_quarantined <= budgets.quarantine + _ROUNDING
            and self.epsilon is not None
            and self.epsilon <= budgets.epsilon * (1.0 + _ROUNDING)
        )


def outcome_of(run: Path) -> Outcome:
    """Return the outcome of a stored run."""
    summary = stores.read_json(run, "summary.json")
    daily = pq.read_table(run / "daily.parquet", columns=["tests", "quarantined"])
    people, privacy = summary["people"], summary["privacy"]
    return Outcome(
        infected=summary["attack_rate"],
        days_at_home=summary["isolation_person_days"] / people,
        tests=summary["tests_used"] / people,
        most_tests=max(daily["tests"].to_pylist()) / people,
        most_quarantined=max(daily["quarantined"].to_pylist()) / people,
        epsilon=privacy["per_person_epsilon"] if privacy["sound"] else None,
    )
