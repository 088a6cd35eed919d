"""Sweeps on a cluster, whole and broken: `python -m verification.cluster`.

400 runs on a real Dask scheduler with four workers of two threads on loopback, twice. Once nothing
breaks, and blocks of runs alternate with the same blocks done by as many processes of one machine
with as many threads, so that a noisy minute hits both: what the cluster adds to a run is the time
between two runs while all workers are busy, beyond that of one machine. Once a worker is killed,
another joins late, and the scheduler is killed and a new one resumes the sweep. All stores must be
the same, byte for byte. `--out` writes a page, with the blocks as CSV and JSON beside it; `--quick`
takes a minute.
"""

import argparse
import multiprocessing
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from dnatrace.runs import store as store_files
from dnatrace.runs.config import RunConfig
from dnatrace.runs.provenance import libraries, provenance
from dnatrace.sweeps.attempts import Finished, attempt
from dnatrace.sweeps.cluster import run_on_cluster
from dnatrace.sweeps.processes import run_locally, thread_settings, usable_cores
from dnatrace.sweeps.sweep import read_sweep
from verification.closed_loop import write_page

GRID = """
people = {people}
days = {days}
initially_infected = 20
seeds = {{ first = 1, count = {count} }}

[grid]
method.name = ["headcount", "fn"]
"""
WORKERS, THREADS = 4, 2
HERE, THERE = "one machine", "cluster"
# As docs/clusters.md advises: Dask's profiler and its clock of 20 ms off, which nobody reads here.
SETTINGS = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
}
DEFAULT_OUT = Path("docs/results/cluster.md")


def _started(what: str, *arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments, "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with thread_settings(THREADS):
        environment = os.environ | SETTINGS
        return subprocess.Popen(command, start_new_session=True, env=environment, **quiet)  # type: ignore[call-overload]


class Cluster:
    """A scheduler and its workers, in processes of their own."""

    def __init__(self, directory: Path, *, size: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        self.address, self._directory = f"tcp://127.0.0.1:{port}", directory
        self.scheduler = _started("scheduler", "--host", "127.0.0.1", "--port", port)
        self.workers = [self.join() for _ in range(size)]

    def join(self) -> "subprocess.Popen[bytes]":
        """Start another worker."""
        options = ("--no-nanny", "--nthreads", str(THREADS))
        return _started("worker", self.address, *options, "--local-directory", str(self._directory))

    @property
    def processes(self) -> list[int]:
        """The ids of scheduler and workers."""
        return [self.scheduler.pid, *(worker.pid for worker in self.workers)]

    def end(self) -> None:
        """Kill what is left."""
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()


def sweep(grid: Path, store: Path, *more: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "dnatrace", "sweep", str(grid), "--store", str(store), "-q"]
    return subprocess.Popen([*command, *more], stdout=subprocess.DEVNULL, text=True)


def stored(store: Path) -> int:
    return len(list(store.glob("*/summary.json")))


def contents(store: Path) -> dict[str, bytes]:
    """Return every file by its name, but for the times that runs took."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in sorted(store.rglob("*"))
        if path.is_file() and path.name not in store_files.NOT_REPRODUCIBLE
    }


def broken_sweep(grid: Path, store: Path, directory: Path, n_runs: int) -> float:
    """Sweep while things break; return the seconds in which the sweep was under way."""
    start = time.perf_counter()
    cluster = Cluster(directory, size=WORKERS - 1)
    try:
        process = sweep(grid, store, "--cluster", cluster.address)
        while process.poll() is None and stored(store) < n_runs // 4:
            time.sleep(0.05)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        cluster.workers.append(cluster.join())
        while process.poll() is None and stored(store) < n_runs // 2:
            time.sleep(0.05)
        cluster.scheduler.kill()
        if process.wait() == 0:
            raise SystemExit("the sweep was over before the scheduler died: more runs")
    finally:
        cluster.end()
    cluster = Cluster(directory, size=WORKERS)
    try:
        if sweep(grid, store, "--cluster", cluster.address).wait() != 0:
            raise SystemExit("the sweep did not resume")
    finally:
        cluster.end()
    return time.perf_counter() - start


def processor_seconds(processes: Sequence[int]) -> float:
    """Return the processor time that processes have taken so far; 0 where nobody says."""
    ticks = 0
    for process in processes:
        try:
            line = Path(f"/proc/{process}/stat").read_text("utf-8")
        except OSError:
            return 0.0
        ticks += sum(map(int, line.rpartition(")")[2].split()[11:13]))  # of user and system
    return ticks / os.sysconf("SC_CLK_TCK")


def kept(
    finished: Generator[Finished, None, None], store: Path, processes: Callable[[], Sequence[int]]
) -> dict[str, float]:
    """Keep the runs of a block; return its seconds, and those between runs while all are busy.

    Busy are all from the second run of every worker on until the last but one.
    """
    start, marks = time.perf_counter(), []
    with closing(finished):
        for run in finished:
            if run.files is None:
                raise SystemExit(f"a run failed: {run.error}")
            store_files.write_files(run.files, store, run.config.digest)
            marks.append((time.perf_counter() - start, processor_seconds(processes())))
    first, last = 2 * WORKERS, len(marks) - WORKERS - 1
    wall, processor = (
        (after - before) / (last - first)
        for before, after in zip(marks[first], marks[last], strict=True)
    )
    return {
        "runs": len(marks),
        "seconds": marks[-1][0],
        "s_per_run": wall,
        "processor_s_per_run": processor,
    }


def alternating(grid: Path, place: Path, n_blocks: int) -> list[dict[str, Any]]:
    """Do the runs here and on a cluster, block by block, each block by both; return the blocks."""
    configs = read_sweep(grid)
    for method in {config.method.name for config in configs}:
        attempt(RunConfig(people=300, days=16, method=method))  # compiles, for all
    size = len(configs) // n_blocks
    cluster = Cluster(place / "dask", size=WORKERS)

    def here(block: list[RunConfig]) -> dict[str, Any]:
        runs = run_locally(block, workers=WORKERS, threads=THREADS, done=lambda _: False)
        children, before = multiprocessing.active_children, processor_seconds(cluster.processes)
        row = kept(runs, place / HERE, lambda: [os.getpid(), *(c.pid or 0 for c in children())])
        idle = processor_seconds(cluster.processes) - before
        return row | {"idle_cluster_cores": idle / row["seconds"]}

    def there(block: list[RunConfig]) -> dict[str, Any]:
        runs = run_on_cluster(block, address=cluster.address, done=lambda _: False)
        row = kept(runs, place / THERE, lambda: [os.getpid(), *cluster.processes])
        return row | {"idle_cluster_cores": None}

    rows = []
    try:
        for number in range(n_blocks):
            block = configs[number * size : (number + 1) * size]
            sides = [(HERE, here), (THERE, there)]
            for side, do in sides if number % 2 == 0 else sides[::-1]:
                row = {"block": number + 1, "side": side} | do(block)
                print(*row.values(), flush=True, file=sys.stderr)
                rows.append(row)
    finally:
        cluster.end()
    return rows


def added(rows: Sequence[dict[str, Any]], column: str) -> list[float]:
    """Return by how much the cluster exceeds one machine, as a share, block by block."""
    by_side = {
        side: [r[column] for r in sorted(rows, key=lambda r: r["block"]) if r["side"] == side]
        for side in (HERE, THERE)
    }
    return [b / a - 1 if a else 0.0 for a, b in zip(by_side[HERE], by_side[THERE], strict=True)]


def without_idle(rows: Sequence[dict[str, Any]]) -> tuple[float, list[dict[str, Any]]]:
    """Return how many cores an idle cluster takes, and the blocks with processor time less that.

    In the first block its processes may still start.
    """
    told = [(r["block"], r["idle_cluster_cores"]) for r in rows if r["side"] == HERE]
    idle = statistics.median([cores for block, cores in told if block > 1 or len(told) == 1])

    def own(row: dict[str, Any]) -> float:
        taken = idle * row["s_per_run"] if row["side"] == THERE else 0.0
        return float(row["processor_s_per_run"]) - taken

    return idle, [row | {"own_processor_s_per_run": own(row)} for row in rows]


def _spread(values: Sequence[float], form: str) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


def page(rows: Sequence[dict[str, Any]], about: dict[str, Any]) -> str:
    """Return what to read."""

    def column(side: str, name: str) -> list[float]:
        return [row[name] for row in rows if row["side"] == side]

    def line(name: str, title: str) -> str:
        sides = (_spread(column(side, name), ".3f") for side in (HERE, THERE))
        return f"| {title} | {' | '.join(sides)} | {_spread(added(rows, name), '+.1%')} |"

    idle, rows = without_idle(rows)
    alone, whole = (sum(column(side, "seconds")) for side in (HERE, THERE))
    same = "the same in all three stores, byte for byte" if about["same"] else "DIFFERENT"
    return f"""# A sweep on a cluster

`python -m verification.cluster --runs {about["runs"]}`: {about["runs"]} runs of {about["people"]:,}
people and {about["days"]} days, half with `headcount` and half with `fn`, on a Dask scheduler with
{WORKERS} workers of {THREADS} threads on loopback, beside {WORKERS} processes of {THREADS} threads.
All on one machine with {os.cpu_count()} cores, distributed {about["distributed"]}, commit
{about["provenance"]["commit"]}. Load of the machine {about["load"][0]:.1f} before,
{about["load"][1]:.1f} after; the {WORKERS} workers are part of the latter. Where others use the
machine, too, processor time says more than the clock.

| per run, while all workers are busy | {HERE} | {THERE} | the cluster adds |
|---|---|---|---|
{line("s_per_run", "seconds")}
{line("processor_s_per_run", "processor seconds of all processes")}
{line("own_processor_s_per_run", "the same, without what an idle cluster takes")}

Median and range over {len(rows) // 2} blocks of runs, which the two sides did by turns.
Scheduler and workers that have nothing to do take {idle:.3f} of one core, all together, and did so
while the other side was at work, too. With
the start of processes, which one machine paid in every block, all runs took {alone:.0f} s on one
machine and {whole:.0f} s on the cluster.

The same runs with one of three workers killed after a quarter of them, a fourth that joined then,
and the scheduler killed after half of them, whereupon the same command resumed on a new one:
{about["broken_s"]:.0f} s. Files are {same}.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--days", type=int, default=100)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--out", type=Path, default=None, help=f"for instance {DEFAULT_OUT}")
    options = parser.parse_args(arguments)
    given = (options.people, options.days, options.runs, options.blocks)
    people, days, n_runs, n_blocks = (300, 12, 24, 1) if options.quick else given
    load = os.getloadavg()[0]
    if usable_cores() < WORKERS * THREADS:
        # Threads that wait spin, and take the time of those that work. In a Dask worker, which runs
        # in two threads by turns, OpenMP notices that by itself; both sides shall do the same.
        os.environ["GOMP_SPINCOUNT"] = "0"
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        grid = place / "grid.toml"
        grid.write_text(GRID.format(people=people, days=days, count=n_runs // 2), "utf-8")
        rows = alternating(grid, place, n_blocks)
        broken_s = broken_sweep(grid, place / "broken", place / "dask", n_runs)
        found = [contents(place / store) for store in (HERE, THERE, "broken")]
    about = {
        "provenance": provenance(RunConfig()),
        "distributed": libraries("distributed")["distributed"],
        "load": (load, os.getloadavg()[0]),
        "runs": n_runs,
        "people": people,
        "days": days,
        "broken_s": broken_s,
        "same": len(found[0]) > n_runs and found[0] == found[1] == found[2],
    }
    text = page(rows, about)
    if options.out:
        write_page(options.out, text, rows, about | {"blocks": rows})
    print(text)
    return 0 if about["same"] else 1


if __name__ == "__main__":
    sys.exit(main())
