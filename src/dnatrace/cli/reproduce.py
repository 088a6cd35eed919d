"""`dnatrace reproduce`."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from dnatrace.cli._command import Answer, command, table
from dnatrace.cli.sweep import Cluster, Workers, start, told_in_one_line
from dnatrace.errors import InputError
from dnatrace.files import check_directory

if TYPE_CHECKING:
    from rich.table import Table

    from dnatrace.paper.verdicts import Claim


class Target(StrEnum):
    """What can be reproduced."""

    FIGURE = "figure"
    TABLE = "table"
    AUC = "auc"
    THEOREMS = "theorems"
    GAMMA = "gamma"
    READINGS = "readings"


Forced = Annotated[bool, Option("--force", help="Replace files in OUT that another command made.")]
Quick = Annotated[bool, Option("--quick", help="Make a small version, marked as such.")]
Fresh = Annotated[bool, Option("--fresh", help="Use twenty fresh seeds instead of the ten.")]


@command(kernels=True)
def reproduce(
    target: Annotated[
        Target, Argument(help="Which result; gamma: the best γ; readings: ways to read the paper.")
    ],
    method: Annotated[
        str | None, Option(help="Only this method, next to fn, public-only and random.")
    ] = None,
    quick: Quick = False,
    fresh: Fresh = False,
    seeds: Annotated[
        int | None, Option(help="Only this many of the seeds; readings: of the fresh ones.")
    ] = None,
    simulator: Annotated[
        str | None, Option(help="figure, table, readings: on this simulator instead of the city.")
    ] = None,
    out: Annotated[Path | None, Option(help="Directory for CSV, JSON, SVG, PDF, MD.")] = None,
    store: Annotated[
        Path | None, Option(help="Directory of the runs; OUT/runs by default.")
    ] = None,
    data: Annotated[
        Path | None,
        Option(help="auc: dataset, test split; if absent, a small run. readings: datasets."),
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    force: Forced = False,
) -> Answer:
    """Run a result of the paper again and judge its claims: reproduced, not reproduced, reversed.

    `readings` searches the places where the paper leaves room for the reading that matches its
    numbers; with --fresh, that reading and ours are judged on twenty fresh seeds.

    Runs are kept in the store, so that an interrupted call resumes; with neither --out nor --store
    they are not kept. The published setting and each method at its best γ are shown side by side. A
    run that fails is reported, the claims that need it are not tested, and the exit code is 1.
    Files in OUT that another command made are replaced only by --force.

    Example: dnatrace reproduce figure --quick --out reproduced
    """
    start(cluster)
    from dnatrace.runs.progress import tracker
    from dnatrace.sweeps.study import kept_in

    given = {"method": method, "fresh": fresh, "seeds": seeds, "simulator": simulator}
    kept = store or (out / "runs" if out is not None else None)
    _check(target, given | {"data": data}, quick, (out, kept))
    command_line = _command_line(target, method, quick, fresh, seeds, simulator, data)
    _keep_files(target, fresh, simulator, out, command_line, force)
    with told_in_one_line(), kept_in(kept) as runs:
        if target in (Target.AUC, Target.THEOREMS):
            small = quick or (target is Target.AUC and data is None)
            found = _without_runs(target, quick, data, out, command_line)
            return _verdicts(found, target, small, out)
        how: dict[str, Any] = {"store": runs, "method": method, "track": tracker("runs")}
        how |= {"workers": workers, "cluster": cluster}
        if target is Target.GAMMA:
            return _choose_gammas(quick, out, command_line, how)
        if target is Target.READINGS:
            return _search_readings(quick, fresh, seeds, simulator, out, data, command_line, how)
        return _with_runs(target, quick, fresh, seeds, simulator, out, command_line, how)


_TAKES = {  # the seeds of the search for a reading are fixed, those of its verdicts are not
    Target.FIGURE: {"method", "fresh", "seeds", "simulator"},
    Target.TABLE: {"method", "fresh", "seeds", "simulator"},
    Target.AUC: {"data"},
    Target.THEOREMS: set[str](),
    Target.GAMMA: {"method"},
    Target.READINGS: {"fresh", "simulator", "data"},
}


def _check(
    target: Target, options: dict[str, Any], quick: bool, places: Sequence[Path | None]
) -> None:
    """Raise for an option that would have no effect, or a directory that cannot be written."""
    takes = _TAKES[target]
    if target is Target.READINGS and options["fresh"]:
        takes = takes | {"seeds"}
    for name, value in options.items():
        if value not in (None, False) and name not in takes:
            raise InputError(f"--{name} has no meaning for {target.value} here")
    _check_claims(target, options["method"], places[0])
    if target is Target.AUC and quick and options["data"] is not None:
        raise InputError("--quick makes a small run of its own: leave out --data, or --quick")
    for directory in places:
        if directory is not None:
            check_directory(directory)


def _check_claims(target: Target, method: str | None, out: Path | None) -> None:
    """Raise if there would be nothing to tell: no claim about a method, and no file of its rows."""
    from dnatrace.methods.catalogue import METHODS
    from dnatrace.paper.claims import has_claims

    if out is not None or method is None or target not in (Target.FIGURE, Target.TABLE):
        return
    if not has_claims(target.value, METHODS[method].title()):
        raise InputError(
            f"no claim of the paper's {target.value} concerns method '{method}'; "
            "--out DIR writes its peaks beside the bounds"
        )


def _command_line(
    target: Target,
    method: str | None,
    quick: bool,
    fresh: bool,
    seeds: int | None,
    simulator: str | None,
    data: Path | None,
) -> str:
    """Return the command without the folders of this machine, as a shell reads it."""
    parts = ["dnatrace reproduce", target.value]
    parts += [f"--method {quote(method)}"] if method else []
    parts += ["--quick"] if quick else []
    parts += ["--fresh"] if fresh else []
    parts += [f"--seeds {seeds}"] if seeds is not None else []
    parts += [f"--simulator {quote(simulator)}"] if simulator is not None else []
    if data is not None:
        parts += [f"--data {quote(data.name if data.is_absolute() else data.as_posix())}"]
    return " ".join(parts)


def _stems(target: Target, fresh: bool, simulator: str | None) -> list[str]:
    """Return the stems of the names of the files that a command writes."""
    from dnatrace.paper.files import GAMMA_STEM
    from dnatrace.paper.search_files import STEM, VERDICTS

    if target is Target.GAMMA:
        return [GAMMA_STEM]
    if target is Target.READINGS:
        return [STEM, VERDICTS] if fresh else [STEM]
    return ["-".join([target.value, *["fresh"] * fresh, *([simulator] if simulator else [])])]


def _keep_files(
    target: Target,
    fresh: bool,
    simulator: str | None,
    out: Path | None,
    command_line: str,
    force: bool,
) -> None:
    """Raise if files of another command would be replaced."""
    from dnatrace.paper.files import keep_others

    if out is not None:
        keep_others(out, _stems(target, fresh, simulator), command_line, force=force)


def _with_runs(
    target: Target,
    quick: bool,
    fresh: bool,
    seeds: int | None,
    simulator: str | None,
    out: Path | None,
    command_line: str,
    how: dict[str, Any],
) -> Answer:
    """Judge the claims about closed-loop runs, and write them."""
    from dnatrace.paper import files, reproduce, setting

    size = setting.QUICK if quick else setting.FULL
    size = setting.with_fresh_seeds(size) if fresh else size
    size = setting.on_simulator(setting.with_fewer_seeds(size, seeds), simulator)
    done = reproduce.reproduce(target.value, size=size, **how)
    if out is not None:
        (stem,) = _stems(target, fresh, simulator)
        files.write_reproduction(done, out, command_line, stem=stem)
    return _verdicts(done.claims, target, quick, out, done.failures)


def _without_runs(
    target: Target, quick: bool, data: Path | None, out: Path | None, command_line: str
) -> "list[Claim]":
    """Judge the claims that need no closed-loop runs, and write them."""
    from dnatrace.paper import files as reproduction_files
    from dnatrace.paper import theorems
    from dnatrace.runs.progress import tracker
    from dnatrace.sweeps.results import write_all
    from dnatrace.training import auc_table

    notes, title = [], f"The paper's {target.value}"
    if target is Target.THEOREMS:
        claims = theorems.theorem_claims(quick=quick, track=tracker("days"))
        notes.append("SMALL VERSION: few audit draws." if quick else "Audits of 1,000,000 draws.")
        notes.append(f"Claims about projection are a {theorems.SMALL}.")
        title += " (SMALL VERSION)" if quick else " (claims about projection: SMALL VERSION)"
    else:
        held = (
            auc_table.read_test_data(data)
            if data is not None and not quick
            else auc_table.small_test_data(track=tracker("days"))
        )
        claims = [c for made in theorems.auc_tables(held) for c in theorems.auc_claims(made)]
        notes.append(f"Data: {held.description}.")
        title += " (SMALL VERSION)" if held.is_small else ""
    if out is not None:
        files = reproduction_files.verdict_files(target.value, claims, notes, command_line, title)
        files[f"{target.value}.csv"] = reproduction_files.claims_csv(claims)
        write_all(files, out)
    return claims


def _choose_gammas(quick: bool, out: Path | None, command_line: str, how: dict[str, Any]) -> Answer:
    """Choose the best γ on validation seeds; OUT/best_gamma.csv has the package's format."""
    from dnatrace.paper import files, reproduce, setting
    from dnatrace.sweeps.results import write_all

    choices = reproduce.choose_gammas(size=setting.QUICK if quick else setting.FULL, **how)
    if out is not None:
        write_all(files.gamma_files(choices, command_line), out)
    columns = ("method", "release", "epsilon", "gamma")
    rows = [{column: str(row[column]) for column in columns} for row in choices.rows]
    return Answer(
        values={"best_gamma": list(choices.rows), "notes": list(choices.notes)},
        shown=[f"Best γ on validation seeds{' (SMALL VERSION)' if quick else ''}", table(rows)],
        failures=choices.failures,
    )


def _search_readings(
    quick: bool,
    fresh: bool,
    seeds: int | None,
    simulator: str | None,
    out: Path | None,
    data: Path | None,
    command_line: str,
    how: dict[str, Any],
) -> Answer:
    """Search for the reading that matches the paper's numbers; judge it on any fresh seeds."""
    from dnatrace.paper import search_files, setting
    from dnatrace.sweeps.results import write_all

    del how["method"]  # dpfn-s and dna are compared
    size = setting.QUICK if quick else setting.FULL
    found = search_files.find(size, fresh=fresh, most=seeds, simulator=simulator, data=data, **how)
    if out is not None:
        write_all(search_files.findings_files(found, command_line), out)
    trials = [told for world in found.worlds for told in search_files.trials_told(world)]
    claims = [claim.as_json() for claim in found.claims]
    return Answer(
        values=found.as_json(),
        shown=[
            *found.notes,
            *(shown for heading, rows in trials for shown in (heading, table(rows))),
            found.conclusion,
            *([_claim_table(claims)] if claims else []),
            *([f"Written to {out}"] if out is not None else []),
        ],
        failures=found.failures,
    )


def _verdicts(
    claims: "Sequence[Claim]",
    target: Target,
    small: bool,
    out: Path | None,
    failures: Sequence[str] = (),
) -> Answer:
    values = [claim.as_json() for claim in claims]
    title = f"{'SMALL VERSION of the' if small else 'The'} paper's {target.value}"
    places = [f"Written to {out}"] if out is not None else []
    told = _claim_table(values) if values else "No claim concerns this method."
    return Answer(values=values, shown=[title, told, *places], failures=failures)


_WIDTH = 80  # columns that everybody has


def _claim_table(claims: list[dict[str, Any]]) -> "Table":
    """Return claims as a table for 80 columns: cells have several lines, claims are wrapped.

    A wider terminal leaves more room to the claims; numbers are never cut.
    """
    made = table(_rows(claims))
    made.show_lines = True
    claim, *others = made.columns
    claim.justify, claim.min_width = "left", None
    for column in others:
        lines = [line for cell in (column.header, *column.cells) for line in str(cell).split("\n")]
        column.min_width = max(map(len, lines))
    if not sys.stdout.isatty():
        taken = sum(column.min_width or 0 for column in others) + 3 * len(made.columns) + 1
        claim.max_width = _WIDTH - taken
    return made


def _rows(claims: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return what the table shows about claims; a column of the best reading if some have one."""
    both = any(values["best_reading"] for values in claims)
    return [_row(values) | (_best_reading(values) if both else {}) for values in claims]


def _row(values: dict[str, Any]) -> dict[str, str]:
    """Return what the table shows about a claim; absent numbers are empty."""
    ends = [_number(end) for end in values["interval"] or ()]
    interval = [" … ".join(ends)]
    if len(interval[0]) > len("100.0 … 100.0"):
        interval = [f"{ends[0]} …", ends[1]]
    return {
        "claim": values["claim"],
        "published": _number(values["published"]),
        "ours": "\n".join([_number(values["ours"]), *interval]),
        "verdict": values["verdict"].replace(" ", "\n"),
    }


def _best_reading(values: dict[str, Any]) -> dict[str, str]:
    found = values["best_reading"] or {}
    verdict = found.get("verdict", "").replace(" ", "\n")
    return {"best\nreading": f"{_number(found.get('ours'))}\n{verdict}"}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
