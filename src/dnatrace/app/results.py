"""Finished runs, from a worker or from the store, and what the page says about them."""

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dnatrace.app.asked import ARMS
from dnatrace.app.work import COLUMNS, as_row
from dnatrace.errors import InputError
from dnatrace.report.answer import Side, Told, by_topic, how_sure, in_odds
from dnatrace.runs import store as stores
from dnatrace.runs.config import RunConfig
from dnatrace.runs.nesting import flatten
from dnatrace.runs.provenance import provenance
from dnatrace.runs.quantities import RESULTS, SUMMARY, Quantity, shown_difference, shown_spread
from dnatrace.sweeps.spread import Spread

_READ = ("summary.json", "daily.parquet", "statement.txt", "provenance.json")
_SHOWN = (*RESULTS[:1], SUMMARY["day_of_peak"], *RESULTS[1:])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """A finished run.

    Attributes:
        summary: the summary, as `dnatrace run --json` prints it.
        rows: one row per day, with the columns `work.COLUMNS`.
        statement: the guarantee in words.
    """

    summary: dict[str, Any]
    rows: list[list[Any]]
    statement: str

    @property
    def numbers(self) -> dict[str, str]:
        """Every number of the summary, digit for digit as JSON writes it."""
        flat = flatten(self.summary)
        return {key: json.dumps(value, ensure_ascii=False) for key, value in flat.items()}

    @property
    def most_isolated(self) -> float:
        """The share of people in isolation on the worst day."""
        place = COLUMNS.index("isolated")
        return float(max(row[place] or 0 for row in self.rows) / self.summary["people"])


def of_files(files: Mapping[str, bytes]) -> Found:
    """Return a run from its files; raise InputError if they have another form."""
    try:
        table = pq.read_table(io.BytesIO(files["daily.parquet"]))
        return Found(
            summary=json.loads(files["summary.json"]),
            rows=[as_row(row) for row in table.to_pylist()],
            statement=files["statement.txt"].decode(),
        )
    except (ValueError, KeyError, pa.ArrowException) as error:
        raise InputError(f"a stored run cannot be read: {error}") from error


def stored(run: Path) -> Found:
    """Return a run of a store."""
    try:
        return of_files({name: (run / name).read_bytes() for name in _READ})
    except OSError as error:
        raise InputError(f"{run}: cannot be read: {error}") from error


def is_stored(run: Path, config: RunConfig) -> bool:
    """Whether a store has a run of this configuration made by exactly this code."""
    if not stores.is_complete(run):
        return False
    ours = provenance(config)
    try:
        theirs = stores.read_json(run, "provenance.json")
    except InputError:
        return False
    return all(theirs.get(key) == ours[key] for key in ("dnatrace", "commit", "libraries"))


# ---- In words and numbers -----------------------------------------------------------------------

ByArm = Mapping[str, Sequence[tuple[int, Found]]]


def answer(found: ByArm, *, n_asked: int) -> dict[str, Any]:
    """Return sentences and a table about the results so far.

    As soon as all arms have a common seed, only common seeds count: otherwise means would also
    differ because of their seeds.
    """
    common = set.intersection(*({seed for seed, _ in runs} for runs in found.values()))
    if common:
        found = {arm: [one for one in runs if one[0] in common] for arm, runs in found.items()}
    sides = {
        arm: Side(
            name=ARMS[arm],
            runs=[
                Told(seed=seed, summary=one.summary, most_isolated=one.most_isolated)
                for seed, one in runs
            ],
        )
        for arm, runs in found.items()
        if runs
    }
    main, nothing = sides.get("a"), sides.get("nothing")
    if main is None:
        return {"sentences": [], "topics": [], "sure": "", "table": [], "statements": {}}
    told = by_topic(main, nothing=nothing, floor=sides.get("floor"), other=sides.get("b"))
    return {
        "sentences": [text for _, text in told],
        "topics": [topic for topic, _ in told],
        "sure": how_sure(main, nothing, other=sides.get("b"), asked=n_asked),
        "table": [row for quantity in _SHOWN if (row := _row(quantity, found))],
        "statements": {arm: _promised(runs[0][1]) for arm, runs in found.items() if runs},
    }


def _promised(one: Found) -> str:
    """Return the full guarantee, preceded by what its ε means in odds."""
    return "\n\n".join(filter(None, (in_odds(one.summary["privacy"]), one.statement)))


def _row(quantity: Quantity, found: ByArm) -> dict[str, Any] | None:
    """Return a number of every arm, and differences from A on common seeds; None if all are 0.

    An arm that lasts longer or shorter than A has no difference.
    """
    values = {arm: _values(quantity, runs) for arm, runs in found.items()}
    if not any(any(by_seed.values()) for by_seed in values.values()):
        return None
    return {
        "label": quantity.name,
        "cells": {arm: _spread(list(by_seed.values())) for arm, by_seed in values.items()},
        "differences": {
            arm: _difference(
                values[arm] if _days(found[arm]) == _days(found["a"]) else {}, values["a"]
            )
            for arm in values
            if arm != "a"
        },
    }


def _days(runs: Sequence[tuple[int, Found]]) -> int | None:
    """Return how long the runs of an arm last; None if there is none yet."""
    return runs[0][1].summary["days"] if runs else None


def _values(quantity: Quantity, runs: Sequence[tuple[int, Found]]) -> dict[int, float]:
    """Return a number by seed, in its unit; seeds without it are left out."""
    stored = {seed: one.summary for seed, one in runs}
    return {
        seed: quantity.in_unit(summary[quantity.key], summary["people"])
        for seed, summary in stored.items()
        if summary.get(quantity.key) is not None
    }


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    spread = Spread(values=np.array(values, dtype=np.float64))
    return shown_spread(spread.mean, None if len(values) < 2 else spread.half_width)


def _difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> dict[str, Any]:
    """Return a paired difference in words, and whether it is more than chance."""
    gains = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
    if not gains:
        return {"text": "", "clear": False}
    spread = Spread(values=np.array(gains, dtype=np.float64))
    if math.isnan(spread.half_width):
        return {"text": shown_difference(spread.mean, None), "clear": False}
    low, high = spread.interval
    text = shown_difference(spread.mean, spread.half_width)
    return {"text": text, "clear": low > 0.0 or high < 0.0}
