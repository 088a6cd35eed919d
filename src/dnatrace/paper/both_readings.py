"""The claims of the table under our reading and another, on seeds used to choose neither.

Claims of the figure have both columns in `dnatrace reproduce figure`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from dnatrace.paper.claims import judge, metric_of, published_rows
from dnatrace.paper.reading import Reading
from dnatrace.paper.reproduce import describe_failures
from dnatrace.paper.scores import Score, score
from dnatrace.paper.setting import Point, Setting, Size
from dnatrace.paper.verdicts import Claim
from dnatrace.sweeps.study import PER_MILLE, Study, run_study
from dnatrace.sweeps.sweep import Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """Two readings on seeds that the search has not seen.

    Attributes:
        claims: the claims of the table, under our reading and the other.
        ours: the score of our reading on the peaks of the table.
        best: the score of the other reading.
        failures: why numbers are missing.
    """

    claims: tuple[Claim, ...]
    ours: Score
    best: Score
    failures: tuple[str, ...] = ()


def compare(reading: Reading, size: Size, *, store: Path, **where: Unpack[Where]) -> Final:
    """Run the table under our reading and another, and judge both.

    Args:
        reading: the other reading.
        size: how much to run, on seeds that were not used for any choice.
        store: the store of the runs; those it has are not repeated.
        where: where the runs are done, as for `sweep`.
    """
    readings = {Setting.READING: reading, Setting.PUBLISHED: Reading()}
    both: Study[Point] = Study(seeds=tuple(size.seeds), summaries={})
    for setting, other in readings.items():
        configs = {
            Point(setting=setting, method=m, scenario=s): other.configuration(m, s, size)
            for m, s, _, _ in published_rows("table")
        }
        study = run_study(configs, seeds=size.seeds, store=store, **where)
        both.summaries.update(study.summaries)
        both.failures.update(study.failures)
    return Final(
        claims=tuple(judge("table", both, size, reading)),
        ours=_score(both, Setting.PUBLISHED, reading),
        best=_score(both, Setting.READING, reading),
        failures=describe_failures(both),
    )


def _score(study: Study[Point], setting: Setting, reading: Reading) -> Score:
    """Score a setting on the peaks of the table."""
    metric = metric_of(setting, reading)
    return score(
        {
            (point.method, point.scenario): study.spread(point, metric, scale=PER_MILLE)
            for point in study.summaries
            if point.setting is setting
        }
    )
