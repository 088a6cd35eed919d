"""`dnatrace sweep`, and what it shares with `dnatrace reproduce`."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from dnatrace.cli._command import Answer, command, table
from dnatrace.cli._configuration import Yes

if TYPE_CHECKING:
    from rich.table import Table

    from dnatrace.sweeps.study import Study

Workers = Annotated[
    int | None, Option(min=1, help="Processes; one per core by default; they share the cores.")
]
Cluster = Annotated[
    str | None, Option(help="Address of a Dask scheduler to use instead: tcp://host:port.")
]


def start(cluster: str | None) -> None:
    """Silence Dask's logs about lost workers and schedulers: we report them in one line."""
    if cluster is None:
        return
    with suppress(ImportError):
        import_module("distributed")  # sets its own levels when it is imported
    for name in ("distributed", "distributed.client", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Report in one line that no worker is left (exit code 1) or that the user ended it (130)."""
    from dnatrace.sweeps.attempts import WorkersLostError

    try:
        yield
    except WorkersLostError as error:
        print(f"dnatrace: {error}", file=sys.stderr)
        raise Exit(1) from None
    except KeyboardInterrupt:
        print("dnatrace: interrupted; the same command resumes", file=sys.stderr)
        raise Exit(130) from None


@command()
def sweep(
    config: Annotated[Path, Argument(help="TOML: settings of a run, seeds and grid.")],
    store: Annotated[
        Path, Option("--store", "--out", help="Directory of the runs, one subdirectory each.")
    ] = Path("runs"),
    workers: Workers = None,
    cluster: Cluster = None,
    baseline: Annotated[
        str | None,
        Option(help="Label of the setting to compare the others with, seed by seed."),
    ] = None,
    yes: Yes = False,
) -> Answer:
    """Run a grid of settings times seeds, and keep every run in a store.

    Runs in the store are not repeated, so an interrupted sweep resumes where it stopped. A run that
    fails is reported and the rest continue; the exit code is then 1. Ctrl-C ends with 130.

    Example: dnatrace sweep grid.toml --store runs --workers 2

    where grid.toml has: seeds = { first = 1, count = 10 }, a table `grid`, and in it lists such
    as method.name = ["fn", "dpfn-s"] and privacy.epsilon = [0.1, 1.0].
    """
    start(cluster)
    from dnatrace.runs import needs
    from dnatrace.runs.progress import tracker
    from dnatrace.runs.quantities import SUMMARY
    from dnatrace.sweeps import by_setting
    from dnatrace.sweeps import sweep as sweeps
    from dnatrace.sweeps.entries import meant, unsaid
    from dnatrace.sweeps.processes import usable_cores

    configs, worlds = sweeps.read_worlds(config)
    if baseline is not None:
        baseline = meant(baseline, by_setting.first_by_label(configs, worlds))
    if cluster is None:  # the memory of its machines is unknown here
        missing = sweeps.missing_runs(configs, store)
        needs.check(missing, at_once=workers or usable_cores(), yes=yes)
    with told_in_one_line():
        report = sweeps.sweep(
            configs, store, workers=workers, cluster=cluster, track=tracker("runs")
        )
    counts = (
        f"{report.complete} runs done, {report.skipped} were there already, "
        f"{len(report.failed)} failed. Stored in {report.store}"
    )
    failures = [f"  {f.config.digest} (seed {f.config.seed}): {f.error}" for f in report.failed]
    found = by_setting.stored_study(configs, store, worlds)
    rising = [found.n_rising(label) for label in found.summaries]
    peak = SUMMARY["peak_infected"]
    results = [
        {"metric": peak.key, "unit": peak.unit} | row | {"runs_still_rising": n}
        for row, n in zip(_rows(found, baseline), rising, strict=True)
    ]
    usual, apart = unsaid(configs), _apart(found, baseline)
    return Answer(
        values=report.as_json() | {"results": results},
        shown=[counts, *failures, *_shown(results, store, usual, baseline), *apart],
        failed=bool(report.failed),
    )


def _rows(found: "Study[str]", baseline: str | None) -> "list[dict[str, Any]]":
    """Return the peak of every setting; with a baseline also the paired differences from it.

    Settings of other length have none.
    """
    if baseline is None or baseline not in found.summaries:
        return found.rows(("setting",))
    others = {x: baseline for x in found.summaries if found.is_comparable(x, baseline)}
    absent = {"difference": None, "difference_half_width": None}
    rows = found.rows(("setting",), baselines=others)
    return [row if others else row | absent for row in rows]


def _apart(found: "Study[str]", baseline: str | None) -> list[str]:
    """Return lines that name the settings of other length or size than the baseline."""
    from dnatrace.sweeps.extent import told_apart

    if baseline is None or baseline not in found.summaries:
        return []
    return told_apart(found.extents(), baseline)


def _rising(rising: int | None, runs: int) -> str:
    """Return how many runs ended before their peak, as a remark on its mean."""
    if not rising:
        return ""
    return " (still rising)" if runs == 1 else f" (still rising in {rising} of {runs})"


def _difference(row: "dict[str, Any]") -> str:
    from dnatrace.runs.quantities import shown_difference

    if row["difference"] is None:  # the baseline itself, or a setting of other length
        return "–"
    return shown_difference(row["difference"], row["difference_half_width"])


def _shown(
    results: "list[dict[str, Any]]", store: Path, usual: str, baseline: str | None
) -> "list[str | Table]":
    """Return the peaks of a sweep, and where the rest of its results can be read."""
    from dnatrace.runs.quantities import SUMMARY, shown_spread

    name = SUMMARY["peak_infected"].name
    rows = [
        {
            "setting": row["setting"],
            "runs": row["runs"],
            name: shown_spread(row["mean"], row["half_width"])
            + _rising(row["runs_still_rising"], row["runs"]),
        }
        | ({f"from {baseline}": _difference(row)} if "difference" in row else {})
        for row in results
    ]
    note = "Mean ± half of the 90 % interval."
    note += " Differences are seed by seed." if baseline is not None else ""
    note += f" Unless a label says otherwise: {usual}." if usual and len(rows) > 1 else ""
    return [table(rows), f"{note} All results on one page: dnatrace report {store}"] if rows else []
