"""What scripts that run closed loops share: options, studies, files."""

import argparse
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

from dnatrace.runs import store
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.progress import track
from dnatrace.sweeps.results import (
    as_csv,
    as_json,
    as_text,
    markdown_table,
    origin,
    page_head,
    write_all,
)
from dnatrace.sweeps.spread import CONFIDENCE
from dnatrace.sweeps.study import Label, Study, run_study

PEAK = "peak_infected"
VALIDATION = (501, 502, 503)  # seeds on which settings are chosen, used for nothing else
QUICK: dict[str, Any] = {"people": 150, "days": 10, "initially_infected": 10}
WARNING = "QUICK: a tiny city on two seeds. These numbers mean nothing; the script works."
DOCS = Path(__file__).parents[1] / "docs"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a script.

    Attributes:
        module: the module of the script.
        command: the command that repeats the call, without the folders of this machine.
        options: the options as given.
        seeds: the seeds of what is reported.
    """

    module: str
    command: str
    options: argparse.Namespace
    seeds: tuple[int, ...]

    @property
    def quick(self) -> bool:
        """Whether the call only shows that the script works."""
        return bool(self.options.quick)

    @property
    def validation(self) -> tuple[int, ...]:
        """The seeds on which settings are chosen."""
        return VALIDATION[:2] if self.quick else VALIDATION

    def some(self, items: Sequence[Item], n: int = 1) -> Sequence[Item]:
        """Return all of the items, or the first few in a quick call."""
        return items[:n] if self.quick else items

    def configuration(self, *, preset: str = "standard", **settings: Any) -> RunConfig:
        """Return a configuration, tiny in a quick call."""
        return load_config(preset=preset, overrides=settings | (QUICK if self.quick else {}))

    def study(
        self,
        configs: Mapping[Label, RunConfig],
        seeds: Sequence[int] | None = None,
        *,
        store: Path | None = None,
    ) -> Study[Label]:
        """Run configurations on the seeds of the call; a store resumes what was interrupted.

        A failed run raises, unless a store is given here for a script to read afterwards.
        """
        return run_study(
            configs,
            seeds=self.seeds if seeds is None else seeds,
            store=store or self.options.store,
            strict=store is None,
            workers=self.options.workers,
            track=lambda runs, n: track(runs, n, "runs"),
        )

    def report(
        self, rows: Sequence[dict[str, Any]], *, title: str, notes: Sequence[str], **more: Any
    ) -> None:
        """Print the rows as Markdown and write them to `--out`, with CSV and JSON next to it.

        `more` is as for `study_files`.
        """
        seeds = f"{len(self.seeds)} seeds ({self.seeds[0]} to {self.seeds[-1]})."
        meaning = f"Half width: of the {CONFIDENCE:.0%} Student-t interval of the mean."
        told = [*([WARNING] if self.quick else []), seeds, *notes, meaning]
        out = self.options.out or Path("results.md")
        files = study_files(
            out.stem,
            rows,
            title=title,
            command=self.command,
            notes=told,
            seeds=list(self.seeds),
            **more,
        )
        if self.options.out is not None:
            write_all(files, out.parent)
        print(files[f"{out.stem}.md"].decode())


def parser(
    description: str | None, *, seeds: int, first_seed: int, may_be_unfinished: bool = False
) -> argparse.ArgumentParser:
    """Return the options that all scripts have."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--out", type=Path, help="a Markdown file; CSV and JSON go next to it")
    made.add_argument("--store", type=Path, help="a directory of finished runs; resumes a call")
    made.add_argument("--seeds", type=int, default=seeds)
    made.add_argument("--first-seed", type=int, default=first_seed)
    made.add_argument("--workers", type=int)
    if may_be_unfinished:
        made.add_argument("--finished", action="store_true", help="report the store, run nothing")
    made.add_argument("--quick", action="store_true", help="show in seconds that it works")
    return made


def finished_or_run(
    options: argparse.ArgumentParser,
    call: Call,
    configs: Mapping[Label, RunConfig],
    seeds_of: Mapping[Label, tuple[int, ...]] | None = None,
) -> dict[Label, Study[Label]]:
    """Return the study of each label: labels with the same seeds share one.

    With `--finished` nothing is run: a label has the first of its seeds, up to the first one whose
    run the store does not have.

    Args:
        options: the parser of the script, for error messages.
        call: the call of the script.
        configs: the configurations by label.
        seeds_of: the seeds by label; those of the call unless given.
    """
    if call.options.finished and call.options.store is None:
        options.error("--finished reads a --store")
    together: dict[tuple[int, ...], dict[Label, RunConfig]] = {}
    for label, config in configs.items():
        seeds = call.seeds if seeds_of is None else seeds_of[label]
        if call.options.finished:
            seeds = _finished(call, config, seeds)
        together.setdefault(seeds, {})[label] = config
    found = [call.study(some, seeds) for seeds, some in together.items() if seeds]
    if not found:
        options.error("the store has none of the runs")
    by_label = {label: study for study in found for label in study.summaries}
    return {label: by_label[label] for label in configs if label in by_label}


def _finished(call: Call, config: RunConfig, seeds: tuple[int, ...]) -> tuple[int, ...]:
    def kept(seed: int) -> bool:
        run = config.model_copy(update={"seed": seed}).digest
        return store.is_complete(call.options.store / run)

    return tuple(takewhile(kept, seeds))


def read_call(
    options: argparse.ArgumentParser, module: str, arguments: Sequence[str] | None
) -> Call:
    """Return what was asked for; a quick call has two seeds and writes nothing into docs/."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    chosen = options.parse_args(words)
    if chosen.quick and chosen.out is not None and DOCS in chosen.out.resolve().parents:
        options.error("a quick call writes nothing into docs/")
    if chosen.seeds < 1:
        options.error("there is nothing to run")
    n_seeds = 2 if chosen.quick else chosen.seeds
    told = [re.sub(r"(^|=)/[^,]*", r"\1…", word) for word in words]
    return Call(
        module=module,
        command=" ".join(["python", "-m", module, *map(_quoted, told)]),
        options=chosen,
        seeds=tuple(range(chosen.first_seed, chosen.first_seed + n_seeds)),
    )


def _quoted(word: str) -> str:
    """Return a word as a shell needs it; a letter of any alphabet, and our …, need no quotes."""
    return word if re.fullmatch(r"[\w@%+=:,./…-]+", word) else shlex.quote(word)


def study_files(
    stem: str,
    rows: Sequence[dict[str, Any]],
    *,
    title: str,
    command: str,
    notes: Sequence[str],
    first: Sequence[str] = (),
    tables: Sequence[str] | None = None,
    **record: Any,
) -> dict[str, bytes]:
    """Return rows of a study as CSV, Markdown and JSON by name.

    Args:
        stem: the stem of the names.
        rows: rows with common columns; lists and mappings appear only in the JSON.
        title: the title of the page.
        command: the command that made them.
        notes: what a reader must know.
        first: lines that a reader wants to see first, before how it was made.
        tables: lines for the page, where one table of all rows would be unreadable.
        record: what else the JSON has, for instance the seeds.
    """
    shown = [{k: v for k, v in r.items() if not isinstance(v, list | dict)} for r in rows]
    cells = [[_cell(value) for value in row.values()] for row in shown]
    head = [name.replace("_", " ") for name in shown[0]] if shown else []
    top, *how = page_head(title, command, notes)
    lead = ["", *first, "## How this was made"] if first else []
    page = [top, *lead, *how, *(tables or markdown_table(head, cells))]
    values = {"command": command, "notes": list(notes), "provenance": origin(), **record}
    return {
        f"{stem}.csv": as_csv(shown),
        f"{stem}.json": as_json(values | {"rows": list(rows)}),
        f"{stem}.md": as_text(page),
    }


def write_page(
    out: Path, text: str, rows: Sequence[dict[str, Any]], record: Mapping[str, Any]
) -> None:
    """Write a page of its own making, its rows as CSV and a record as JSON beside it."""
    stem = out.stem
    contents = {f"{stem}.md": text.encode(), f"{stem}.csv": as_csv(rows)}
    write_all(contents | {f"{stem}.json": as_json(record)}, out.parent)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
