"""The search for the reading of the paper that gives its numbers.

Place by place, on common seeds, around the best reading known: every option of a place is run with
everything else as it stands. Then two places at a time: options that alone were nearly as good as
what stands. A reading is scored by how many published numbers of the table and the figure fall into
our 90 % interval (their own interval counts) and by the rank correlation of our means with the
published ones; where no number is met, by the mean distance of logarithms. What is no better than
the reading that stands does not replace it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Unpack

from dnatrace.paper.places import PLACES, Place
from dnatrace.paper.reading import Reading, best_reading
from dnatrace.paper.scores import Number, Score, score, screened_numbers
from dnatrace.paper.setting import Size
from dnatrace.sweeps.study import PER_MILLE, run_study
from dnatrace.sweeps.sweep import Where

SCREENING_SEEDS = (601, 602, 603, 604)  # used for nothing else
NEARLY = 1  # numbers that an option may lack to be tried together with another
MOST_PAIRED = 3  # options of the places of a method, the best first: at most three pairs

Change = tuple[str, str]  # a place and the option that is tried there


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was tried.

    Attributes:
        changes: one place or two, with their options; none for the reading as it stands.
        methods: on whose numbers.
        score: on those.
        means: peak in ‰ by (method, scenario), with the half-width of its 90 % interval.
        chosen: whether it became part of the best reading.
        error: why there is no score; empty when there is one.
    """

    changes: tuple[Change, ...]
    methods: tuple[str, ...]
    score: Score
    means: Mapping[Number, tuple[float, float]]
    chosen: bool = False
    error: str = ""

    @property
    def place(self) -> str:
        """Where, in words."""
        return " + ".join(place for place, _ in self.changes) or "two places"

    @property
    def option(self) -> str:
        """Which, in words."""
        return " + ".join(option for _, option in self.changes) or "as it stands"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What was tried, in order, and the reading that came out."""

    trials: tuple[Trial, ...]
    reading: Reading
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """How the runs of trials are done, and where they are kept."""

    size: Size
    store: Path
    where: Mapping[str, Any] = field(default_factory=dict)


def search(
    size: Size,
    *,
    store: Path,
    start: Reading | None = None,
    places: Sequence[Place] = PLACES,
    **where: Unpack[Where],
) -> Search:
    """Search around a reading, one place at a time and then two, moving to what is better.

    Args:
        size: how much to run; its seeds are common to all trials.
        store: of the runs; those it has are not done again.
        start: the reading to begin with; the best one known if absent.
        places: in this order; those of areas under the curve are not about runs.
        where: the runs are done, as for `sweep`.
    """
    runs = _Runs(size=size, store=store, where=where)
    reading, trials = start or best_reading(), list[Trial]()
    about_runs = [place for place in places if not place.of_areas]
    for place in about_runs:
        alone = [((place.name, option.name),) for option in place.options]
        reading, tried = _step(reading, alone, place.methods, runs)
        trials += tried
    for methods in dict.fromkeys(place.methods for place in about_runs):
        pairs = nearly_as_good(trials, methods)
        if pairs:
            reading, tried = _step(reading, [(), *pairs], methods, runs)
            trials += tried
    return Search(trials=tuple(trials), reading=reading, seeds=tuple(size.seeds))


def nearly_as_good(
    trials: Sequence[Trial], methods: tuple[str, ...]
) -> list[tuple[Change, Change]]:
    """Return pairs of options, of different places, that alone were nearly as good as the choice.

    An option counts if it met at most `NEARLY` numbers less than the choice; of these the
    `MOST_PAIRED` best, the first of equals.
    """
    chosen = {trial.place: trial for trial in trials if trial.chosen}
    near = [
        trial
        for trial in trials
        if trial.methods == methods
        and not (trial.chosen or trial.error)
        and trial.place in chosen
        and trial.score.hits >= chosen[trial.place].score.hits - NEARLY
    ]
    ranked = sorted(near, key=lambda trial: trial.score.order, reverse=True)
    pairs = combinations(ranked[:MOST_PAIRED], 2)
    return [(a.changes[0], b.changes[0]) for a, b in pairs if a.place != b.place]


def _step(
    reading: Reading,
    proposed: Sequence[tuple[Change, ...]],
    methods: tuple[str, ...],
    runs: _Runs,
) -> tuple[Reading, list[Trial]]:
    """Return where the reading goes from here, and what was tried; of equals what stands."""
    tried = _try(reading, proposed, methods, runs)
    ended = [trial for trial in tried if not trial.error]
    if not ended:
        return reading, tried
    best = max(ended, key=lambda t: (t.score.order, reading.with_changes(t.changes) == reading))
    return (
        reading.with_changes(best.changes),
        [replace(trial, chosen=trial is best) for trial in tried],
    )


def _try(
    reading: Reading,
    proposed: Sequence[tuple[Change, ...]],
    methods: tuple[str, ...],
    runs: _Runs,
) -> list[Trial]:
    """Run every proposal on the numbers of some methods, everything else as in the reading."""
    numbers = screened_numbers(methods)
    readings = {changes: reading.with_changes(changes) for changes in proposed}
    configs = {
        (changes, number): other.configuration(*number, runs.size)
        for changes, other in readings.items()
        for number in numbers
    }
    study = run_study(configs, seeds=runs.size.seeds, store=runs.store, **runs.where)
    trials = []
    for changes, other in readings.items():
        peaks = {
            number: study.spread((changes, number), other.metric, scale=PER_MILLE)
            for number in numbers
            if (changes, number) in study.summaries
        }
        failed = [f.error for label, f in study.failures.items() if label[0] == changes]
        trials.append(
            Trial(
                changes=changes,
                methods=methods,
                score=score(peaks),
                means={n: (peak.mean, peak.half_width) for n, peak in peaks.items()},
                error=failed[0] if failed else "",
            )
        )
    return trials
