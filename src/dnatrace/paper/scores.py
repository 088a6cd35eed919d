"""How well a reading of the paper matches its published numbers: how many, and their order."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.stats import spearmanr

from dnatrace.paper.claims import published_rows
from dnatrace.paper.setting import Scenario
from dnatrace.paper.verdicts import Verdict, judge_number
from dnatrace.sweeps.spread import Spread

SCREENED = (  # scenarios on which readings are tried: three of the table, two more of the figure
    Scenario(),
    Scenario(adherence=0.5),
    Scenario(false_positive_rate=0.25, false_negative_rate=0.03),
    Scenario(epsilon=0.1),
    Scenario(epsilon=10.0),
)
_FEW = 4  # numbers; among fewer a rank correlation says nothing

Number = tuple[str, Scenario]  # a method in a scenario for which a peak is published


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A published peak.

    Attributes:
        target: `table`, or `figure` when the table does not have it.
        value: the peak in ‰.
        half_width: the half-width of its 90 % interval; None when it was read off the plot.
    """

    target: str
    value: float
    half_width: float | None


def published_numbers() -> dict[Number, Published]:
    """Return every number of the table, and those of the figure that the table does not have."""
    found: dict[Number, Published] = {}
    for target in ("table", "figure"):
        for method, scenario, value, half_width in published_rows(target):
            number = Published(target=target, value=value, half_width=half_width)
            found.setdefault((method, scenario), number)
    return found


def screened_numbers(methods: Sequence[str]) -> list[Number]:
    """Return the numbers of some methods on which readings are tried."""
    return [n for n in published_numbers() if n[0] in methods and n[1] in SCREENED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How well a reading matches published numbers.

    Attributes:
        hits: how many have an interval that overlaps our 90 % interval.
        numbers: how many were compared.
        rank_correlation: Spearman's, of our means with the published numbers; NaN for few numbers.
        distance: the mean of |log(ours / published)|.
    """

    hits: int
    numbers: int
    rank_correlation: float
    distance: float

    @property
    def order(self) -> tuple[float, float, float]:
        """The key by which readings are compared: higher is better.

        Only one decimal of the rank correlation counts: two neighbours changing places may be
        chance.
        """
        rank = 0.0 if math.isnan(self.rank_correlation) else self.rank_correlation
        return float(self.hits), round(rank, 1), 0.0 if self.hits else -self.distance


def score(peaks: Mapping[Number, Spread]) -> Score:
    """Score peaks in ‰ that stand for published numbers."""
    published = published_numbers()
    ours, theirs, hits = [], [], 0
    for number, peak in peaks.items():
        known = published[number]
        claim = judge_number(
            "", peak.mean, peak.interval, published=known.value, half_width=known.half_width
        )
        hits += claim.verdict is Verdict.REPRODUCED
        ours.append(peak.mean)
        theirs.append(known.value)
    few = len(ours) < _FEW or len(set(ours)) == 1
    logs = [abs(math.log(max(a, 1e-3) / b)) for a, b in zip(ours, theirs, strict=True)]
    return Score(
        hits=hits,
        numbers=len(ours),
        rank_correlation=math.nan if few else float(spearmanr(ours, theirs).statistic),
        distance=sum(logs) / len(logs) if logs else math.inf,
    )
