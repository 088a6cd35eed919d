"""The search for the reading of the paper that gives its numbers.

Place by place, on common seeds, around the best reading known: every option of a place is run with
everything else as it stands. A reading is scored by how many published numbers fall into our 90 %
interval (their own interval counts) and by the rank correlation of our means with the published
ones; where no number is met, by the mean distance of logarithms. An option that is no better than
the one that stands does not replace it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from scipy.stats import spearmanr

from dnatrace.paper.claims import published_rows, words_of
from dnatrace.paper.places import ADHERENCE, AREAS, BASE, PLACES, TESTS, Place
from dnatrace.paper.reading import Reading, best_reading
from dnatrace.paper.setting import Scenario, Size
from dnatrace.paper.verdicts import Claim, Rule, Verdict, judge_number
from dnatrace.sweeps.study import PER_MILLE, Study, run_study
from dnatrace.sweeps.sweep import Where

SCREENING_SEEDS = (601, 602, 603, 604)  # used for nothing else
_FEW = 4  # numbers; among fewer a rank correlation says nothing

Number = tuple[str, Scenario]  # a method in a scenario, of which a number is published


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How well a reading gives published numbers.

    Attributes:
        hits: how many fall into our 90 % interval, their own interval counted.
        numbers: how many were compared.
        rank_correlation: of our means with the published numbers (Spearman); NaN for few numbers.
        distance: mean of |log(ours / published)|.
    """

    hits: int
    numbers: int
    rank_correlation: float
    distance: float

    @property
    def order(self) -> tuple[float, float, float]:
        """What readings are compared by: higher is better."""
        rank = 0.0 if math.isnan(self.rank_correlation) else self.rank_correlation
        return float(self.hits), round(rank, 3), 0.0 if self.hits else -self.distance


def score(study: Study[Any], labels: Mapping[Number, Any], metric: str) -> Score:
    """Score the labels of a study that stand for published numbers of the table."""
    published = {(m, s): (value, half) for m, s, value, half in published_rows("table")}
    ours, theirs, hits = [], [], 0
    for number, label in labels.items():
        if label not in study.summaries:
            continue
        value, half_width = published[number]
        peak = study.spread(label, metric, scale=PER_MILLE)
        claim = judge_number("", peak.mean, peak.interval, published=value, half_width=half_width)
        hits += claim.verdict is Verdict.REPRODUCED
        ours.append(peak.mean)
        theirs.append(value)
    few = len(ours) < _FEW or len(set(ours)) == 1
    logs = [abs(math.log(max(a, 1e-3) / b)) for a, b in zip(ours, theirs, strict=True)]
    return Score(
        hits=hits,
        numbers=len(ours),
        rank_correlation=math.nan if few else float(spearmanr(ours, theirs).statistic),
        distance=sum(logs) / len(logs) if logs else math.inf,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """Two readings on seeds that the search has not seen.

    Attributes:
        claims: about the numbers of the table, under our reading and the other.
        ours: score of our reading.
        best: score of the other.
        seeds: common to both.
        failures: why numbers are missing.
    """

    claims: tuple[Claim, ...]
    ours: Score
    best: Score
    seeds: tuple[int, ...]
    failures: tuple[str, ...] = ()


def compare(reading: Reading, size: Size, *, store: Path, **where: Unpack[Where]) -> Final:
    """Run the table under our reading and another, and judge both.

    Args:
        reading: the other.
        size: how much to run, on seeds that chose nothing.
        store: of the runs; those it has are not done again.
        where: the runs are done, as for `sweep`.
    """
    readings, numbers = {"ours": Reading(), "best": reading}, numbers_of("all")
    labels = {name: {n: (name, *n) for n in numbers} for name in readings}
    configs = {
        labels[name][n]: other.configuration(*n, size)
        for name, other in readings.items()
        for n in numbers
    }
    study = run_study(configs, seeds=size.seeds, store=store, **where)
    scores = {name: score(study, labels[name], readings[name].metric) for name in readings}
    claims = []
    for method, scenario, value, half_width in published_rows("table"):
        both = [
            _judged(study, labels[name][method, scenario], other.metric, value, half_width, size)
            for name, other in readings.items()
        ]
        text = f"{method} at {words_of('table', scenario)} has a peak of {value:g} ‰"
        claims.append(replace(both[0], claim=text, best_reading=replace(both[1], claim=text)))
    return Final(
        claims=tuple(claims),
        ours=scores["ours"],
        best=scores["best"],
        seeds=tuple(size.seeds),
        failures=tuple(dict.fromkeys(f.error for f in study.failures.values())),
    )


def _judged(
    study: Study[Any], label: Any, metric: str, value: float, half_width: float | None, size: Size
) -> Claim:
    """Return the claim about a number; not tested when its runs failed or are small."""
    if label in study.failures or size.is_small:
        failed = study.failures.get(label)
        note = f"failed: {failed.error}" if failed else "the small version cannot tell"
        return Claim(claim="", published=value, rule=Rule.NUMBER, note=note)
    peak = study.spread(label, metric, scale=PER_MILLE)
    return judge_number(
        "",
        peak.mean,
        peak.interval,
        published=value,
        half_width=half_width,
        note=f"± {half_width:g}",
    )


def numbers_of(seen_in: str, methods: Sequence[str] = ("dpfn-s", "dna")) -> list[Number]:
    """Return the published numbers of the table on which a place is screened."""
    usual = Scenario()
    shown = []
    for method, scenario, _, _ in published_rows("table"):
        by_adherence = scenario.adherence != usual.adherence
        by_tests = scenario.false_positive_rate != usual.false_positive_rate
        kind = ADHERENCE if by_adherence else TESTS if by_tests else BASE
        if seen_in in (kind, "all") and method in methods:
            shown.append((method, scenario))
    return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One option that was tried.

    Attributes:
        place: where.
        option: which.
        score: on the numbers of the place.
        means: peak in ‰ by (method, scenario), with the half-width of its 90 % interval.
        chosen: whether it became part of the best reading.
        error: why there is no score; empty when there is one.
    """

    place: str
    option: str
    score: Score
    means: Mapping[Number, tuple[float, float]]
    chosen: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What was tried, in order, and the reading that came out."""

    trials: tuple[Trial, ...]
    reading: Reading
    seeds: tuple[int, ...]


def search(
    size: Size,
    *,
    store: Path,
    start: Reading | None = None,
    places: Sequence[Place] = PLACES,
    rounds: int = 1,
    **where: Unpack[Where],
) -> Search:
    """Search place by place around a reading, moving to what is better.

    Args:
        size: how much to run; its seeds are common to all trials.
        store: of the runs; those it has are not done again.
        start: the reading to begin with; the best one known if absent.
        places: in this order.
        rounds: how often to go through them; the second time places meet the choices at others.
        where: the runs are done, as for `sweep`.
    """
    reading, trials = start or best_reading(), list[Trial]()
    for _ in range(rounds):
        for place in (place for place in places if place.seen_in != AREAS):
            tried = _try(place, reading, size, store, where)
            ended = [trial for trial in tried if not trial.error]
            if ended:  # of equals the one that stands
                stands = reading.chosen[place.name]
                best = max(ended, key=lambda t: (t.score.order, t.option == stands))
                reading = reading.at(place.name, best.option)
                tried = [replace(trial, chosen=trial is best) for trial in tried]
            trials += tried
    return Search(trials=tuple(trials), reading=reading, seeds=tuple(size.seeds))


def _try(
    place: Place, reading: Reading, size: Size, store: Path, where: Mapping[str, Any]
) -> list[Trial]:
    """Run every option of a place, everything else as in the reading."""
    numbers = numbers_of(place.seen_in, place.methods)
    readings = {option.name: reading.at(place.name, option.name) for option in place.options}
    configs = {
        (name, *number): other.configuration(*number, size)
        for name, other in readings.items()
        for number in numbers
    }
    study = run_study(configs, seeds=size.seeds, store=store, **where)
    trials = []
    for name, other in readings.items():
        labels: dict[Number, Any] = {number: (name, *number) for number in numbers}
        spreads = {
            n: study.spread(label, other.metric, scale=PER_MILLE)
            for n, label in labels.items()
            if label in study.summaries
        }
        failed = [
            study.failures[label].error for label in labels.values() if label in study.failures
        ]
        trials.append(
            Trial(
                place=place.name,
                option=name,
                score=score(study, labels, other.metric),
                means={n: (s.mean, s.half_width) for n, s in spreads.items()},
                error=failed[0] if failed else "",
            )
        )
    return trials
