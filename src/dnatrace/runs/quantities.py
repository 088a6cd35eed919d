"""The numbers of a run: what they are called, in which unit and how they are rounded.

The terminal, the report and the figures all take names, units and rounding from here.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

PER_THOUSAND, PERCENT = "‰ of people", "%"
_THREE_DIGITS = Context(prec=3, rounding=ROUND_HALF_UP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number of a run.

    Attributes:
        key: its name in the files.
        label: its name for readers.
        unit: the unit to write after the number; empty for a plain number.
        scale: the factor from the stored number to the unit.
        per_person: whether the stored number is a count, to be divided by the population first.
        columns: the columns of the daily table that add up to it.
    """

    key: str
    label: str
    unit: str = ""
    scale: float = 1.0
    per_person: bool = False
    columns: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The label with the unit, for axes and columns."""
        return f"{self.label}, {self.unit}" if self.unit else self.label

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible stored number: no number of a run is negative."""
        is_share = self.unit in (PER_THOUSAND, PERCENT) and not self.per_person
        return 0.0, 1.0 if is_share or self.key == "auroc" else math.inf

    def in_unit(self, stored: Any, people: Any) -> Any:
        """Return a stored number of a run with `people` people in the unit; also for arrays."""
        return self.scale * stored / (people if self.per_person else 1)


def rounded(value: float | None) -> float | None:
    """Return a value to three significant digits, to whole numbers from 1,000 on; None for None.

    Halves are rounded away from zero, so that a share reads the same in % and in ‰.
    """
    if value is None or not math.isfinite(value):
        return None
    decimal = Decimal(f"{value:.12g}")  # 72.35 in any unit, whatever its binary approximation
    if abs(decimal) >= 1000:
        return int(decimal.to_integral_value(ROUND_HALF_UP))
    short = float(_THREE_DIGITS.create_decimal(decimal))
    return int(short) if short.is_integer() else short


def whole(value: float) -> int:
    """Return a value as a whole number, with halves rounded as in `rounded`."""
    return int(Decimal(f"{value:.12g}").to_integral_value(ROUND_HALF_UP))


def shown(value: float | None) -> str:
    """Return a number rounded for readers, with a minus sign if negative; a dash for None.

    `shown` of `report/templates/scales.js` is its twin: the page has the digits of the terminal.
    """
    short = rounded(value)
    if short is None:
        return "–"
    text = f"{abs(short):,}" if abs(short) >= 1000 else f"{abs(short):g}"
    return f"−{text}" if short < 0 else text


def shown_spread(mean: float | None, half: float | None) -> str:
    """Return a mean ± the half-width of its interval; the mean alone without an interval."""
    return shown(mean) if half is None else f"{shown(mean)} ± {shown(half)}"


def shown_difference(mean: float, half: float | None) -> str:
    """Return a difference with its sign, as pages write it: a minus sign, not a hyphen."""
    sign = "+" if mean > 0.0 else "−" if mean < 0.0 else ""
    return sign + shown_spread(abs(mean), half)


def still_rising(rising: int, runs: int) -> str:
    """Say that the number of infected people is still rising at the end of runs; empty if not."""
    if not rising:
        return ""
    text = "The number of infected people (I) is still rising on the last day"
    if rising == runs:
        return f"{text}: the peak is yet to come."
    which = "that run" if rising == 1 else "these runs"
    return f"{text} in {rising} of {runs} runs: the peak of {which} is yet to come."


def _share(key: str, label: str) -> Quantity:
    return Quantity(key=key, label=label, unit=PER_THOUSAND, scale=1000.0)


def _percentage(key: str, label: str) -> Quantity:
    return Quantity(key=key, label=label, unit=PERCENT, scale=100.0)


def _count(key: str, label: str, unit: str) -> Quantity:
    return Quantity(key=key, label=label, unit=unit, per_person=True)


def _daily(key: str, label: str, *columns: str) -> Quantity:
    return replace(_share(key, label), per_person=True, columns=columns or (key,))


SUMMARY = {
    quantity.key: quantity
    for quantity in (
        _share("peak_infected", "Peak of infected people (I)"),
        Quantity(key="day_of_peak", label="Day of the peak"),
        _share("peak_exposed_or_infected", "Peak of exposed or infected (E + I)"),
        _percentage("attack_rate", "Ever infected"),
        _share("deaths", "Died"),
        _share("peak_hospitalised", "Peak in hospital, not critical"),
        _count("isolation_person_days", "Days at home", "days per person"),
        _count(
            "isolation_person_days_uninfected",
            "Days at home while not in E or I",
            "days per person",
        ),
        _count("quarantine_person_days", "Days at home in quarantine", "days per person"),
        _count(
            "quarantine_person_days_uninfected",
            "Days at home in quarantine, not in E or I",
            "days per person",
        ),
        _count("notices", "Notices to be tested or to stay at home", "notices per person"),
        _count("tests_used", "Tests", "tests per person"),
        _percentage("positivity", "Share of tests that are positive"),
        Quantity(key="tests_per_infection_found", label="Tests per positive test in E or I"),
        _percentage("isolation_precision", "Share of days at home in E or I"),
        _percentage("isolation_recall", "Share of days in E or I spent at home"),
        Quantity(key="days_infection_to_isolation", label="Days from infection to staying at home"),
        Quantity(key="auroc", label="AUROC, mean over days"),
    )
}
_OUTCOMES = (
    *("peak_infected", "peak_exposed_or_infected", "attack_rate", "deaths"),
    "peak_hospitalised",
)
_BURDENS = (
    *("isolation_person_days", "isolation_person_days_uninfected"),
    *("quarantine_person_days", "quarantine_person_days_uninfected", "notices", "tests_used"),
)
OUTCOMES = tuple(SUMMARY[key] for key in _OUTCOMES)
BURDENS = tuple(SUMMARY[key] for key in _BURDENS)
RESULTS = (*OUTCOMES, *BURDENS, SUMMARY["isolation_precision"], SUMMARY["auroc"])

DAILY = (
    _daily("infected", "Infected (I)"),
    _daily("exposed_or_infected", "Exposed or infected (E + I)", "exposed", "infected"),
    _daily("new_infections", "New infections per day"),
    replace(_daily("ever_infected", "Ever infected"), unit=PERCENT, scale=100.0),
    _daily("hospitalised", "In hospital, not critical"),
    _daily("isolated", "At home"),
    _daily("isolated_exposed_or_infected", "At home and in E or I"),
    _daily("quarantined", "At home in quarantine"),
    _daily("notices", "Notices per day"),
    _daily("tests", "Tests per day"),
    _daily("positives", "Positive tests per day"),
    Quantity(key="auroc", label="AUROC of the day's scores", columns=("auroc",)),
)
EXPOSED = _daily("exposed", "Exposed (E)")


def _mean_of(key: str, summary_key: str) -> Quantity:
    """Return a number of the summary as in the table of groups: already divided by people."""
    return replace(SUMMARY[summary_key], key=key, per_person=False)


GROUPED = (
    SUMMARY["attack_rate"],
    SUMMARY["deaths"],
    _mean_of("isolation_days_per_person", "isolation_person_days"),
    _mean_of("isolation_days_uninfected_per_person", "isolation_person_days_uninfected"),
    _mean_of("quarantine_days_per_person", "quarantine_person_days"),
    _mean_of("quarantine_days_uninfected_per_person", "quarantine_person_days_uninfected"),
    _mean_of("tests_per_person", "tests_used"),
)

# The privacy of a run: six readings of its ε.
EPSILONS = (
    Quantity(key="per_person_epsilon", label="ε of one test of a person"),
    Quantity(key="epsilon", label="ε asked for"),
    Quantity(key="per_release_epsilon", label="ε of one release"),
    Quantity(key="per_score_epsilon", label="ε of one score alone"),
    Quantity(key="per_contact_epsilon", label="ε of one contact over its life"),
    Quantity(key="per_pair_epsilon", label="ε of a pair"),
)


def written_summary(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return label and text of every number of a run's summary that is shown to readers."""
    people = summary["people"]
    return [(q.label, _written(q, summary[key], people)) for key, q in SUMMARY.items()]


def _written(quantity: Quantity, value: float | None, people: int) -> str:
    """Return a number with its unit; for a count also the total."""
    if value is None:
        return shown(None)
    text = f"{shown(quantity.in_unit(value, people))} {quantity.unit}".rstrip()
    return f"{text}, {value:,} in all" if quantity.per_person else text
