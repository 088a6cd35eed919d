"""Claims of the paper beside what we find, and the rules by which they are judged.

Three rules, stated with every claim:

- **number**: a published number is reproduced when its interval overlaps ours. Its interval is the
  published one, or 15 % either way when it was read off a plot.
- **order**: "A is lower than B" is reproduced when the 90 % interval of the difference over common
  seeds lies below 0, reversed when it lies above, and not reproduced when it holds 0.
- **bound**: a stated bound is reproduced when nothing found exceeds it, and reversed when something
  does.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dnatrace.sweeps.study import Spread

READING_ERROR = 0.15  # relative, of a number read by eye off a plot on a logarithmic axis


class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    REVERSED = "reversed"
    NOT_TESTED = "not tested"


class Rule(StrEnum):
    """How a claim is judged."""

    NUMBER = "number"
    ORDER = "order"
    BOUND = "bound"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim and its verdict.

    Attributes:
        claim: what the paper says, in words.
        published: the number or bound it gives; None when it gives none.
        ours: what we find; None when it was not tested.
        interval: 90 % interval of `ours`; None when it has none.
        verdict: by `rule`.
        rule: how it is judged.
        note: what a reader must know besides.
    """

    claim: str
    published: float | None
    ours: float | None
    interval: tuple[float, float] | None
    verdict: Verdict
    rule: Rule
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return plain values; what is not finite is null."""
        return {
            "claim": self.claim,
            "published": _finite(self.published),
            "ours": _finite(self.ours),
            "interval": _finite_pair(self.interval),
            "verdict": self.verdict.value,
            "rule": self.rule.value,
            "note": self.note,
        }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _finite_pair(pair: tuple[float, float] | None) -> list[float] | None:
    return list(pair) if pair is not None and all(map(math.isfinite, pair)) else None


def judge_number(
    claim: str, spread: Spread, *, published: float, half_width: float | None, note: str = ""
) -> Claim:
    """Return a claim about a number: do the two intervals overlap?

    Edge cases: with one seed we have no interval, and the claim is not tested.
    """
    low, high = spread.interval
    reach = READING_ERROR * published if half_width is None else half_width
    if math.isnan(low):
        verdict = Verdict.NOT_TESTED
    elif low <= published + reach and high >= published - reach:
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.NOT_REPRODUCED
    return _measured(spread, claim, published, verdict, Rule.NUMBER, note)


def judge_order(
    claim: str, lower: Spread, higher: Spread, *, published: float | None, note: str = ""
) -> Claim:
    """Return a claim that one is lower than another on the same seeds.

    Edge cases: with one seed there is no interval, and the claim is not tested.
    """
    difference = Spread(values=lower.values - higher.values)
    low, high = difference.interval
    if math.isnan(low):
        verdict = Verdict.NOT_TESTED
    elif high < 0.0:
        verdict = Verdict.REPRODUCED
    elif low > 0.0:
        verdict = Verdict.REVERSED
    else:
        verdict = Verdict.NOT_REPRODUCED
    return _measured(difference, claim, published, verdict, Rule.ORDER, note)


def _measured(
    ours: Spread, claim: str, published: float | None, verdict: Verdict, rule: Rule, note: str
) -> Claim:
    return Claim(
        claim=claim,
        published=published,
        ours=ours.mean,
        interval=ours.interval,
        verdict=verdict,
        rule=rule,
        note=note,
    )


def judge_bound(claim: str, found: float, bound: float, *, note: str = "") -> Claim:
    """Return a claim that nothing exceeds a bound."""
    verdict = Verdict.REPRODUCED if found <= bound else Verdict.REVERSED
    return Claim(
        claim=claim,
        published=bound,
        ours=found,
        interval=None,
        verdict=verdict,
        rule=Rule.BOUND,
        note=note,
    )


def untested(claim: str, *, published: float | None, rule: Rule, note: str) -> Claim:
    """Return a claim that could not be tested, with the reason."""
    return Claim(
        claim=claim,
        published=published,
        ours=None,
        interval=None,
        verdict=Verdict.NOT_TESTED,
        rule=rule,
        note=note,
    )


def judge_value(
    claim: str,
    value: float,
    interval: tuple[float, float],
    *,
    published: float,
    tolerance: float,
    note: str = "",
) -> Claim:
    """Return a claim about a number published without an interval, given a tolerance for it."""
    low, high = interval
    near = low <= published + tolerance and high >= published - tolerance
    return Claim(
        claim=claim,
        published=published,
        ours=value,
        interval=interval,
        verdict=Verdict.REPRODUCED if near else Verdict.NOT_REPRODUCED,
        rule=Rule.NUMBER,
        note=note,
    )


def judge_gain(
    claim: str, gain: float, interval: tuple[float, float], *, published: float, note: str = ""
) -> Claim:
    """Return a claim that a difference is positive, given its interval."""
    low, high = interval
    if low > 0.0:
        verdict = Verdict.REPRODUCED
    elif high < 0.0:
        verdict = Verdict.REVERSED
    else:
        verdict = Verdict.NOT_REPRODUCED
    return Claim(
        claim=claim,
        published=published,
        ours=gain,
        interval=interval,
        verdict=verdict,
        rule=Rule.ORDER,
        note=note,
    )
