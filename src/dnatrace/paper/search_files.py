"""What `dnatrace reproduce readings` writes: trials, the reading, both columns of verdicts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from dnatrace.paper.areas import AreaTrial, area_trials
from dnatrace.paper.claims import words_of
from dnatrace.paper.files import verdict_files
from dnatrace.paper.places import AREAS, PLACES
from dnatrace.paper.search import (
    SCREENING_SEEDS,
    Final,
    Number,
    Score,
    Search,
    Trial,
    compare,
    search,
)
from dnatrace.paper.setting import Size, with_fresh_seeds
from dnatrace.paper.verdicts import Claim
from dnatrace.sweeps.results import as_csv, as_json, as_text, markdown_table, origin, page_head
from dnatrace.sweeps.sweep import Where

STEM = "readings-search"


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the search for a reading gave.

    Attributes:
        search: what was tried.
        final: two readings on fresh seeds; None when it was not asked for.
        areas: under the curve, by dataset; empty without datasets.
        notes: what a reader must know.
    """

    search: Search
    final: Final | None
    areas: tuple[AreaTrial, ...]
    notes: tuple[str, ...]

    @property
    def failures(self) -> tuple[str, ...]:
        """Why something is missing, one line each."""
        tried = [f"FAILED: {t.place}, {t.option}: {t.error}" for t in self.search.trials if t.error]
        return (*tried, *(f"FAILED: {e}" for e in (self.final.failures if self.final else ())))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims about the numbers of the table, on fresh seeds; none without them."""
        return self.final.claims if self.final else ()

    def as_json(self) -> dict[str, Any]:
        """Return plain values: the best reading, trials, verdicts, areas."""
        return {
            "best_reading": self.search.reading.differences(),
            "trials": trial_rows(self.search),
            "score": self.final
            and {"ours": _plain(self.final.ours), "best": _plain(self.final.best)},
            "claims": [claim.as_json() for claim in self.claims],
            "areas": [trial.as_json() for trial in self.areas],
            "notes": list(self.notes),
        }


def find(
    size: Size,
    *,
    store: Path,
    fresh: bool = False,
    data: Path | None = None,
    **where: Unpack[Where],
) -> Findings:
    """Search on the screening seeds, judge on fresh ones, and compare areas on datasets.

    Args:
        size: how much to run; its own seeds are used for neither.
        fresh: whether to judge the outcome and our reading on fresh seeds.
        store: of the runs; those it has are not done again.
        data: a dataset or a directory of some, for the areas under the curve.
        where: the runs are done, as for `sweep`.
    """
    few = SCREENING_SEEDS[:2] if size.is_small else SCREENING_SEEDS
    areas = tuple(area_trials(data)) if data is not None else ()
    screening, others = replace(size, seeds=few), with_fresh_seeds(size)
    found = search(screening, store=store, **where)
    notes = [f"Search: {screening.describe()}"]
    final = None
    if fresh:
        final = compare(found.reading, others, store=store, **where)
        notes.append(f"Verdicts: {others.describe()}")
    return Findings(search=found, final=final, areas=areas, notes=tuple(notes))


def findings_files(found: Findings, command: str) -> dict[str, bytes]:
    """Return rows as CSV, everything as JSON, and a page of Markdown, by name."""
    title = "Which reading gives the paper's numbers"
    page = [
        *page_head(title, command, found.notes),
        *_score_lines(found),
        *_trial_table(found.search),
        *_area_table(found.areas),
        *_place_table(),
    ]
    verdicts = {}
    if found.final:
        named = f"{title}: fresh seeds"
        verdicts = verdict_files(f"{STEM}-verdicts", found.claims, found.notes, command, named)
    return {
        f"{STEM}.csv": as_csv(trial_rows(found.search)),
        f"{STEM}.json": as_json({"command": command, "provenance": origin()} | found.as_json()),
        f"{STEM}.md": as_text(page),
        **verdicts,
    }


def trial_rows(search: Search) -> list[dict[str, Any]]:
    """Return one row per trial."""
    return [
        {
            "place": trial.place,
            "option": trial.option,
            "chosen": trial.chosen,
            **_plain(trial.score),
            "means": "; ".join(_mean(number, *found) for number, found in trial.means.items()),
            "error": trial.error,
        }
        for trial in search.trials
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
    interval = "" if math.isnan(half_width) else f" ± {half_width:.1f}"
    return f"{method} at {words_of('table', scenario)}: {mean:.1f}{interval}"


def _score_lines(found: Findings) -> list[str]:
    differences = found.search.reading.differences()
    best = ", ".join(f"{place}: {option}" for place, option in differences.items())
    lines = [f"Best reading: {best or 'ours'}; elsewhere ours.", ""]
    if found.final is None:
        return lines
    seeds = len(found.final.seeds)
    for name, score in (("Our reading", found.final.ours), ("Best reading", found.final.best)):
        plain = _plain(score)
        lines.append(
            f"- {name}, {seeds} fresh seeds: {score.hits} of {score.numbers} numbers, rank "
            f"correlation {plain['rank_correlation']}, mean |log ratio| {plain['distance']}."
        )
    return [*lines, ""]


def _trial_table(search: Search) -> list[str]:
    heads = ["place", "option", "numbers met", "rank correlation", "mean |log ratio|", "peaks, ‰"]
    rows = []
    for row in trial_rows(search):
        name = f"**{row['option']}**" if row["chosen"] else row["option"]
        rank = "" if row["rank_correlation"] is None else f"{row['rank_correlation']:.2f}"
        distance = "" if row["distance"] is None else f"{row['distance']:.2f}"
        met = f"{row['hits']} of {row['numbers']}"
        rows.append([row["place"], name, met, rank, distance, row["means"] or row["error"]])
    seeds = f"{len(search.seeds)} seeds from {search.seeds[0]}"
    told = f"Place by place on {seeds}, everything else as chosen so far; the choice in bold."
    return [told, "", *markdown_table(heads, rows), ""]


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
    told = f"Every place, its options (ours first) and what speaks for them; `{AREAS}` needs data."
    return [told, "", *markdown_table(["place", "option", "evidence"], rows)]


def trial_lines(trials: Sequence[Trial]) -> list[dict[str, str]]:
    """Return what a terminal shows of trials."""
    return [
        {
            "place": trial.place,
            "option": trial.option + (" *" if trial.chosen else ""),
            "met": f"{trial.score.hits} of {trial.score.numbers}",
            "distance": f"{trial.score.distance:.2f}",
            "peaks": " ".join(f"{mean:.1f}" for mean, _ in trial.means.values()),
        }
        for trial in trials
    ]
