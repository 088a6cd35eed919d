"""Claims of the paper next to what we find, and the rules by which they are judged.

There are three rules, and each claim states its own:

- **number**: a published number is reproduced when its interval overlaps ours. Its interval is the
  published one, or 15 % either way when it was read off a plot.
- **order**: "A is lower than B" is reproduced when the 90 % interval of the difference over common
  seeds lies below 0, reversed when it lies above, and not reproduced when it contains 0.
- **bound**: a stated bound is reproduced when nothing found exceeds it, and reversed when something
  does.
"""

import math
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

READING_ERROR = 0.15  # relative, of a number read by eye off a plot on a logarithmic axis

Interval = tuple[float, float]


class Verdict(StrEnum):
    """The outcome for a claim."""

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
        interval: the 90 % interval of `ours`; None when it has none.
        verdict: the verdict by `rule`.
        rule: how it is judged.
        note: what else a reader must know.
        best_reading: the same claim under the reading of the paper that matches its numbers best;
            None where a reading makes no difference.
    """

    claim: str
    published: float | None
    ours: float | None = None
    interval: Interval | None = None
    verdict: Verdict = Verdict.NOT_TESTED
    rule: Rule
    note: str = ""
    best_reading: "Claim | None" = None

    def as_json(self) -> dict[str, Any]:
        """Return plain values; numbers that are not finite are null."""
        other = self.best_reading
        values = asdict(replace(self, best_reading=None))
        values |= {"verdict": self.verdict.value, "rule": self.rule.value}
        shown = None if other is None else other.as_json()
        values["best_reading"] = shown and {k: shown[k] for k in ("ours", "interval", "verdict")}
        for name in ("published", "ours"):
            if values[name] is not None and not math.isfinite(values[name]):
                values[name] = None
        finite = self.interval is not None and all(map(math.isfinite, self.interval))
        return values | {"interval": list(self.interval or ()) if finite else None}


def judge_number(
    claim: str,
    ours: float,
    interval: Interval | None,
    *,
    published: float,
    half_width: float | None,
    note: str = "",
) -> Claim:
    """Return a claim about a number: do the two intervals overlap?

    Args:
        claim: the claim in words.
        ours: what we find.
        interval: the interval of ours; None without sampling error, NaN for a single seed.
        published: the published number.
        half_width: the half-width of its interval; None when it was read off a plot.
        note: what a reader must know besides.
    """
    low, high = interval or (ours, ours)
    reach = READING_ERROR * published if half_width is None else half_width
    overlap = low <= published + reach and high >= published - reach
    verdict = Verdict.REPRODUCED if overlap else Verdict.NOT_REPRODUCED
    return _measured(claim, ours, interval, published, Rule.NUMBER, verdict, note)


def judge_order(
    claim: str,
    difference: float,
    interval: Interval,
    *,
    published: float | None,
    sign: int = -1,
    note: str = "",
) -> Claim:
    """Return a claim that a difference is negative, or positive with `sign` 1.

    Edge cases: with one seed there is no interval, and the claim is not tested.
    """
    low, high = sorted(sign * end for end in interval)
    if low > 0.0:
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.REVERSED if high < 0.0 else Verdict.NOT_REPRODUCED
    return _measured(claim, difference, interval, published, Rule.ORDER, verdict, note)


def judge_bound(claim: str, found: float, bound: float, *, note: str = "") -> Claim:
    """Return a claim that nothing exceeds a bound."""
    verdict = Verdict.REPRODUCED if found <= bound else Verdict.REVERSED
    return _measured(claim, found, None, bound, Rule.BOUND, verdict, note)


def _measured(
    claim: str,
    ours: float,
    interval: Interval | None,
    published: float | None,
    rule: Rule,
    verdict: Verdict,
    note: str,
) -> Claim:
    """Return a claim; one whose interval is unknown, for lack of seeds, is not tested."""
    unknown = interval is not None and any(map(math.isnan, interval))
    return Claim(
        claim=claim,
        published=published,
        ours=ours,
        interval=interval,
        verdict=Verdict.NOT_TESTED if unknown else verdict,
        rule=rule,
        note=note,
    )
