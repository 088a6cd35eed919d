"""What `dnatrace reproduce readings` finds and writes: trials, the reading, both columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from dnatrace.paper.areas import AreaTrial, area_trials, with_areas
from dnatrace.paper.both_readings import Final, compare
from dnatrace.paper.claims import words_of
from dnatrace.paper.files import verdict_files
from dnatrace.paper.places import PLACES
from dnatrace.paper.reading import Reading
from dnatrace.paper.scores import Number, Score, published_numbers
from dnatrace.paper.search import SCREENING_SEEDS, Search, Trial, search
from dnatrace.paper.setting import (
    CITY,
    Scenario,
    Setting,
    Size,
    on_simulator,
    with_fresh_seeds,
)
from dnatrace.paper.verdicts import Claim
from dnatrace.simulators import openabm
from dnatrace.sweeps.results import as_csv, as_json, as_text, markdown_table, origin, page_head
from dnatrace.sweeps.sweep import Where

STEM = "readings-search"
VERDICTS = f"{STEM}-verdicts"
WORDS = {Setting.PUBLISHED: "our reading", Setting.READING: "the best reading"}
THEIRS = "openabm"  # the simulator of the authors: OpenABM-Covid19


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The results on one simulator.

    Attributes:
        simulator: its name.
        search: what was tried.
        final: two readings on fresh seeds; None when not asked for.
    """

    simulator: str
    search: Search
    final: Final | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The results of the search for a reading.

    Attributes:
        worlds: the city, and the authors' simulator where it is installed.
        areas: the areas under the curve, by dataset; empty without datasets.
        notes: what a reader must know.
        is_small: whether the runs were small: what they choose says nothing about the paper.
    """

    worlds: tuple[World, ...]
    areas: tuple[AreaTrial, ...]
    notes: tuple[str, ...]
    is_small: bool = False

    @property
    def reading(self) -> Reading:
        """The outcome: the reading found on the city, with the options that the areas decide."""
        return with_areas(self.worlds[0].search.reading, self.areas)

    @property
    def conclusion(self) -> str:
        """Which reading was found, in a sentence, and what that says about the paper."""
        differences = self.reading.differences()
        best = ", ".join(f"{place}: {option}" for place, option in differences.items())
        named = f"{best or 'ours'}; elsewhere ours."
        if self.is_small:
            return f"Where this small search ends, which says nothing about the paper: {named}"
        return f"Best reading: {named}"

    @property
    def failures(self) -> tuple[str, ...]:
        """Why something is missing, one line each."""
        tried = [
            f"FAILED: {t.place}, {t.option}, {world.simulator}: {t.error}"
            for world in self.worlds
            for t in world.search.trials
            if t.error
        ]
        return (
            *tried,
            *(line for world in self.worlds if world.final for line in world.final.failures),
        )

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims about peaks on fresh seeds; none without fresh seeds."""
        return tuple(
            claim if world.simulator == CITY else _elsewhere(claim, world.simulator)
            for world in self.worlds
            if world.final
            for claim in world.final.claims
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain values: the best reading, trials, verdicts, areas."""
        return {
            "is_small": self.is_small,
            "conclusion": self.conclusion,
            "best_reading": self.reading.differences(),
            "cost_of_a_release_at_epsilon_1": _costs(self.reading),
            "trials": trial_rows(self.worlds),
            "score": {
                world.simulator: {
                    "ours": _plain(world.final.ours),
                    "best": _plain(world.final.best),
                }
                for world in self.worlds
                if world.final
            },
            "claims": [claim.as_json() for claim in self.claims],
            "areas": [trial.as_json() for trial in self.areas],
            "notes": list(self.notes),
        }


def _elsewhere(claim: Claim, simulator: str) -> Claim:
    return replace(claim, claim=f"{claim.claim} [{simulator}]")


def find(
    size: Size,
    *,
    store: Path,
    fresh: bool = False,
    most: int | None = None,
    simulator: str | None = None,
    data: Path | None = None,
    **where: Unpack[Where],
) -> Findings:
    """Search on the screening seeds, judge on fresh ones, and compare areas on datasets.

    All of this is done on the city and, where it is installed, on the authors' simulator as well;
    or on the simulator named.

    Args:
        size: how much to run; its own seeds are used for neither purpose.
        fresh: whether to judge the outcome and our reading on fresh seeds.
        most: how many fresh seeds; all when None.
        simulator: the only one to use; the city and the authors' when None.
        store: the store of the runs; those it has are not repeated.
        data: a dataset or a directory of datasets, for the areas under the curve.
        where: where the runs are done, as for `sweep`.
    """
    few = SCREENING_SEEDS[:2] if size.is_small else SCREENING_SEEDS
    areas = tuple(area_trials(data)) if data is not None else ()
    screening, others = replace(size, seeds=few), with_fresh_seeds(size, most=most)
    notes = [f"Search: {screening.describe()}"]
    if fresh:
        notes.append(f"Verdicts on the table, both readings: {others.describe()}")
    installed = [CITY, *([THEIRS] if openabm.is_installed() else [])]
    names = installed if simulator is None else [simulator]
    notes += (
        []
        if THEIRS in names or simulator is not None
        else ["OpenABM-Covid19 is not installed: the city alone."]
    )
    worlds = []
    for name in names:
        found = search(on_simulator(screening, name), store=store, **where)
        final = (
            compare(found.reading, on_simulator(others, name), store=store, **where)
            if fresh
            else None
        )
        worlds.append(World(simulator=name, search=found, final=final))
    return Findings(worlds=tuple(worlds), areas=areas, notes=tuple(notes), is_small=size.is_small)


def findings_files(found: Findings, command: str) -> dict[str, bytes]:
    """Return rows as CSV, everything as JSON, and a page of Markdown, by name."""
    title = "Which reading gives the paper's numbers"
    page = [*page_head(title, command, found.notes), *_score_lines(found)]
    for world in found.worlds:
        page += _trial_table(world)
    page += [*_area_table(found.areas), *_place_table()]
    verdicts = {}
    if found.claims:
        named = f"{title}: fresh seeds"
        verdicts = verdict_files(VERDICTS, found.claims, found.notes, command, named)
    return {
        f"{STEM}.csv": as_csv(trial_rows(found.worlds)),
        f"{STEM}.json": as_json({"command": command, "provenance": origin()} | found.as_json()),
        f"{STEM}.md": as_text(page),
        **verdicts,
    }


def trial_rows(worlds: Sequence[World]) -> list[dict[str, Any]]:
    """Return one row per trial."""
    return [
        {
            "simulator": world.simulator,
            "place": trial.place,
            "option": trial.option,
            "chosen": trial.chosen,
            **_plain(trial.score),
            "means": "; ".join(_mean(number, *found) for number, found in trial.means.items()),
            "error": trial.error,
        }
        for world in worlds
        for trial in world.search.trials
    ]


def _plain(score: Score) -> dict[str, Any]:
    def finite(value: float) -> float | None:
        return round(value, 3) if math.isfinite(value) else None

    return {
        "hits": score.hits,
        "numbers": score.numbers,
        "rank_correlation": finite(score.rank_correlation),
        "distance": finite(score.distance),
    }


def _mean(number: Number, mean: float, half_width: float) -> str:
    method, scenario = number
    target = published_numbers()[number].target
    interval = "" if math.isnan(half_width) else f" ± {half_width:.1f}"
    return f"{method} at {words_of(target, scenario)}: {mean:.1f}{interval}"


def _costs(reading: Reading) -> dict[str, float]:
    """Return the true cost of a release at ε = 1 by method, ignoring own tests."""
    return {method: reading.cost(method) for method in ("dpfn-s", "dna")}


def _score_lines(found: Findings) -> list[str]:
    lines = [found.conclusion, ""]
    costs = ", ".join(f"`{m}` ε = {cost:.2f}" for m, cost in _costs(found.reading).items())
    lines += [f"- What a release that states ε = 1 costs then, own tests aside: {costs}."]
    for world in found.worlds:
        if world.final is None:
            continue
        seeds = f"{world.simulator}, fresh seeds"
        for name, score in (("Our reading", world.final.ours), ("Best reading", world.final.best)):
            plain = _plain(score)
            lines.append(
                f"- {name}, {seeds}: {score.hits} of {score.numbers} peaks, rank correlation "
                f"{plain['rank_correlation']}, distance {plain['distance']}."
            )
    return [*lines, ""]


def _trial_table(world: World) -> list[str]:
    """Return the trials on a simulator: peaks in a column per number, published ones first."""
    seeds = world.search.seeds
    parts = [
        f"On the simulator `{world.simulator}`, {len(seeds)} seeds from {seeds[0]}, everything "
        "else as chosen so far; the choice in bold. Peaks in ‰ ± half of the 90 % interval; "
        "distance: mean of |log(ours / published)|."
    ]
    for methods in dict.fromkeys(trial.methods for trial in world.search.trials):
        trials = [trial for trial in world.search.trials if trial.methods == methods]
        numbers = list(dict.fromkeys(number for trial in trials for number in trial.means))
        parts += ["", *_trials_of(trials, numbers)]
    return [*parts, ""]


def _trials_of(trials: Sequence[Trial], numbers: Sequence[Number]) -> list[str]:
    published = published_numbers()
    heads = ["place", "option", "met", "rank correlation", "distance"]
    heads += [f"{method}, {_short(scenario)}" for method, scenario in numbers]
    rows = [["published", "", "", "", "", *(f"{published[n].value:g}" for n in numbers)]]
    for trial in trials:
        plain = _plain(trial.score)
        rank, distance = (
            "" if plain[name] is None else f"{plain[name]:.2f}"
            for name in ("rank_correlation", "distance")
        )
        name = f"**{trial.option}**" if trial.chosen else trial.option
        cells = [_cell(trial.means.get(number)) for number in numbers]
        met = trial.error or f"{trial.score.hits} of {trial.score.numbers}"
        rows.append([trial.place, name, met, rank, distance, *cells])
    return markdown_table(heads, rows)


def _cell(found: tuple[float, float] | None) -> str:
    if found is None:
        return ""
    return f"{found[0]:.1f}" + ("" if math.isnan(found[1]) else f" ± {found[1]:.1f}")


def _short(s: Scenario) -> str:
    """Return what differs from the usual scenario, for the head of a column."""
    usual = Scenario()
    if s.epsilon != usual.epsilon:
        return f"ε = {s.epsilon:g}"
    if s.adherence != usual.adherence:
        return f"adherence {100 * s.adherence:g} %"
    if s.false_positive_rate != usual.false_positive_rate:
        return f"errors {100 * s.false_positive_rate:g} / {100 * s.false_negative_rate:g} %"
    return "first row"


def _area_table(areas: Sequence[AreaTrial]) -> list[str]:
    if not areas:
        return ["Areas under the curve: no datasets were given (`--data`).", ""]
    heads = ["runs of", "over", "networks", "FN", "network alone", "both", "within a point"]
    published = list(areas[0].published.values())
    rows = [["paper", "", "", *(f"{100 * value:.1f}" for value in published), ""]]
    for trial in areas:
        values = ["" if a is None else f"{100 * a:.1f}" for a in trial.areas.values()]
        rows.append([trial.policy, trial.group, trial.networks, *values, f"{trial.hits} of 3"])
    return ["Areas under the curve, in percent:", "", *markdown_table(heads, rows), ""]


def _place_table() -> list[str]:
    rows = [
        [place.name if option is place.options[0] else "", option.name, option.evidence]
        for place in PLACES
        for option in place.options
    ]
    told = "Every place, its options (ours first) and what speaks for them:"
    return [told, "", *markdown_table(["place", "option", "evidence"], rows)]


def trials_told(world: World) -> list[tuple[str, list[dict[str, str]]]]:
    """Return what a terminal shows of the trials of each method: a heading, and rows."""
    told = []
    for methods in dict.fromkeys(trial.methods for trial in world.search.trials):
        trials = [trial for trial in world.search.trials if trial.methods == methods]
        numbers = dict.fromkeys(number for trial in trials for number in trial.means)
        columns = ", ".join(f"{method} {_short(scenario)}" for method, scenario in numbers)
        told.append(
            (
                f"{world.simulator}. met: our interval overlaps the published one; peaks in ‰ ± "
                f"half of the 90 % interval: {columns}",
                _trial_rows(trials),
            )
        )
    return told


def _trial_rows(trials: Sequence[Trial]) -> list[dict[str, str]]:
    return [
        {
            "place": trial.place,
            "option": trial.option + (" *" if trial.chosen else ""),
            "met": f"{trial.score.hits} of {trial.score.numbers}",
            "rank": f"{trial.score.rank_correlation:.2f}",
            "distance": f"{trial.score.distance:.2f}",
            "peaks": ", ".join(map(_cell, trial.means.values())),
        }
        for trial in trials
    ]
