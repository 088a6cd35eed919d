"""`dnatrace sweep` and `dnatrace reproduce`."""

import json
import logging
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dnatrace.cli.options import Json, Quiet, print_json, print_table, start

if TYPE_CHECKING:
    from dnatrace.paper.verdicts import Claim
    from dnatrace.sweeps.sweep import SweepReport

Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes; one a core by default, cores shared out.")
]
Cluster = Annotated[
    str | None, typer.Option(help="Dask scheduler to use instead, as tcp://host:port.")
]


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Tell in one line that no worker is left (exit code 1) or that the user ended it (130)."""
    from dnatrace.sweeps.attempts import WorkersLostError

    try:
        yield
    except WorkersLostError as error:
        print(f"dnatrace: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print("dnatrace: interrupted; the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None


def _let_us_tell(cluster: str | None) -> None:
    """Silence what Dask logs about lost workers and schedulers: we say it in one line."""
    if cluster is None:
        return
    with suppress(ImportError):
        import_module("distributed")  # sets its own levels when it is imported
    for name in ("distributed", "distributed.client", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def sweep(
    config: Annotated[Path, typer.Argument(help="TOML: settings of a run, seeds and grid.")],
    store: Annotated[
        Path, typer.Option("--store", "--out", help="Directory of the runs, one in each.")
    ] = Path("runs"),
    workers: Workers = None,
    cluster: Cluster = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a grid of settings times seeds, and keep every run in a store.

    Runs that the store has are not done again, so an interrupted sweep goes on where it stopped. A
    run that fails is reported and the rest go on; the exit code is then 1. Ctrl-C ends with 130.

    Example: dnatrace sweep grid.toml --store runs --workers 2

    where grid.toml has: seeds = { first = 1, count = 10 }, a table `grid`, and in it lists such
    as method.name = ["fn", "dpfn-s"] and privacy.epsilon = [0.1, 1.0].
    """
    start(quiet)
    _let_us_tell(cluster)
    from dnatrace.runs.progress import track
    from dnatrace.sweeps import sweep as sweeps

    configs = sweeps.read_sweep(config)
    with told_in_one_line():
        report = sweeps.sweep(
            configs,
            store,
            workers=workers,
            cluster=cluster,
            track=lambda runs, n: track(runs, n, "runs"),
        )
    print_json(report.as_json()) if as_json else _show_sweep(report)
    if report.failed:
        raise typer.Exit(1)


def _show_sweep(report: "SweepReport") -> None:
    print(
        f"{report.complete} runs done, {report.skipped} were there already, "
        f"{len(report.failed)} failed. Stored in {report.store}"
    )
    for failure in report.failed:
        print(f"  {failure.config.digest} (seed {failure.config.seed}): {failure.error}")


class Target(StrEnum):
    """What can be reproduced."""

    FIGURE = "figure"
    TABLE = "table"
    AUC = "auc"
    THEOREMS = "theorems"
    GAMMA = "gamma"


def reproduce(
    target: Annotated[Target, typer.Argument(help="Which result; gamma chooses the best γ.")],
    method: Annotated[
        str | None, typer.Option(help="Only this method, beside fn, public-only and random.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version that says so.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Twenty fresh seeds instead of the ten.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Directory for CSV, JSON, SVG, PDF, MD.")] = None,
    store: Annotated[
        Path | None, typer.Option(help="Directory of the runs; OUT/runs by default.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="auc: dataset; its test split is used. Absent: a small run.")
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a result of the paper again and judge its claims: reproduced, not reproduced, reversed.

    Runs are kept in the store, so that an interrupted call goes on; with neither --out nor --store
    they are not kept. The published setting and each method at its best γ stand side by side. A run
    that fails is reported, the claims that need it are not tested, and the exit code is 1.

    Example: dnatrace reproduce figure --quick --out reproduced
    """
    start(quiet)
    _let_us_tell(cluster)
    from dnatrace.runs.progress import track

    kept = store or (out / "runs" if out is not None else None)
    command = _command(target, method, quick, fresh, data)
    failures: Sequence[str] = ()
    small = quick
    with told_in_one_line(), _a_store(kept) as runs:
        if target in (Target.AUC, Target.THEOREMS):
            small = quick or (target is Target.AUC and data is None)
            claims = _without_runs(target, quick, data, out, command)
        elif target is Target.GAMMA:
            _tell(_choose_gammas(runs, method, quick, out, workers, cluster, as_json))
            return
        else:
            from dnatrace.paper import files as reproduction_files
            from dnatrace.paper import reproduce
            from dnatrace.paper import setting as paper_setting

            size = paper_setting.QUICK if quick else paper_setting.FULL
            done = reproduce.reproduce(
                target.value,
                store=runs,
                size=paper_setting.with_fresh_seeds(size) if fresh else size,
                method=method,
                workers=workers,
                cluster=cluster,
                track=lambda items, n: track(items, n, "runs"),
            )
            claims, failures = list(done.claims), done.failures
            if out is not None:
                stem = f"{target.value}-fresh" if fresh else target.value
                reproduction_files.write_reproduction(done, out, command, stem=stem)
    if as_json:
        print(json.dumps([claim.as_json() for claim in claims], allow_nan=False))
    else:
        _show_claims(claims, target, small, out)
    _tell(failures)


def _tell(failures: Sequence[str]) -> None:
    """Tell on standard error what failed, also when quiet, and end with exit code 1 if any did."""
    for failure in failures:
        print(f"dnatrace: {failure}", file=sys.stderr)
    if failures:
        raise typer.Exit(1)


def _command(
    target: Target, method: str | None, quick: bool, fresh: bool, data: Path | None
) -> str:
    parts = ["dnatrace reproduce", target.value]
    parts += [f"--method {method}"] if method else []
    parts += ["--quick"] if quick else []
    parts += ["--fresh"] if fresh else []
    parts += [f"--data {data.name}"] if data is not None else []
    return " ".join(parts)


@contextmanager
def _a_store(kept: Path | None) -> Iterator[Path]:
    """Yield the store to use; one that vanishes when none is asked for."""
    if kept is not None:
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="dnatrace-") as directory:
        yield Path(directory)


def _without_runs(
    target: Target, quick: bool, data: Path | None, out: Path | None, command: str
) -> "list[Claim]":
    """Judge the claims that need no closed-loop runs, and write them."""
    from dnatrace.paper import files as reproduction_files
    from dnatrace.paper import theorems
    from dnatrace.runs.progress import track
    from dnatrace.sweeps.results import write_all
    from dnatrace.training import auc_table

    notes, title = [], f"The paper's {target.value}"
    if target is Target.THEOREMS:
        claims = theorems.theorem_claims(
            quick=quick, track=lambda items, n: track(items, n, "days")
        )
        notes.append("SMALL VERSION: few audit draws." if quick else "Audits of 1,000,000 draws.")
        notes.append(f"Claims about projection are a {theorems.SMALL}.")
        title += " (SMALL VERSION)" if quick else " (claims about projection: SMALL VERSION)"
    else:
        held = (
            auc_table.read_test_data(data)
            if data is not None and not quick
            else auc_table.small_test_data(track=lambda items, n: track(items, n, "days"))
        )
        tables = theorems.auc_tables(held)
        claims = [claim for table in tables for claim in theorems.auc_claims(table)]
        notes.append(f"Data: {held.description}.")
        title += " (SMALL VERSION)" if held.is_small else ""
    if out is not None:
        files = reproduction_files.verdict_files(target.value, claims, notes, command, title)
        files[f"{target.value}.csv"] = reproduction_files.claims_csv(claims)
        write_all(files, out)
    return claims


def _choose_gammas(
    runs: Path,
    method: str | None,
    quick: bool,
    out: Path | None,
    workers: int | None,
    cluster: str | None,
    as_json: bool,
) -> Sequence[str]:
    """Choose the best γ on validation seeds and return what failed.

    OUT/best_gamma.csv has the form of the package's.
    """
    from dnatrace.paper import files as reproduction_files
    from dnatrace.paper import reproduce
    from dnatrace.paper import setting as paper_setting
    from dnatrace.runs.progress import track
    from dnatrace.sweeps.results import write_all

    choices = reproduce.choose_gammas(
        store=runs,
        size=paper_setting.QUICK if quick else paper_setting.FULL,
        method=method,
        workers=workers,
        cluster=cluster,
        track=lambda items, n: track(items, n, "runs"),
    )
    if out is not None:
        write_all(reproduction_files.gamma_files(choices), out)
    if as_json:
        print_json({"best_gamma": list(choices.rows), "notes": list(choices.notes)})
    else:
        shown = ("method", "release", "epsilon", "gamma")
        rows = [{k: str(row[k]) for k in shown} for row in choices.rows]
        print_table("Best γ on validation seeds", rows)
    return choices.failures


def _show_claims(claims: "list[Claim]", target: Target, small: bool, out: Path | None) -> None:
    rows = []
    for claim in claims:
        values = claim.as_json()
        interval = values["interval"]
        rows.append(
            {
                "claim": claim.claim,
                "published": "" if values["published"] is None else f"{values['published']:.4g}",
                "ours": "" if values["ours"] is None else f"{values['ours']:.4g}",
                "interval": "" if interval is None else f"{interval[0]:.4g} … {interval[1]:.4g}",
                "verdict": claim.verdict.value,
            }
        )
    print_table(f"{'SMALL VERSION of the' if small else 'The'} paper's {target.value}", rows)
    if out is not None:
        print(f"Written to {out}")
