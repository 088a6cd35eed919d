"""Sweeps on a cluster that breaks: `python -m verification.cluster`.

400 small runs on a real Dask scheduler with four workers of two threads on loopback: a worker is
killed, another joins late, the scheduler is killed and a new one resumes the sweep. The store must
equal that of one process, byte for byte; what the cluster adds to a run is the wall time beyond
that of one process with as many threads, divided by the number of runs. `--quick` takes half a
minute.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from dnatrace.runs import store as store_files

GRID = """
people = {people}
days = {days}
initially_infected = 20
seeds = {{ first = 1, count = {count} }}

[grid]
method.name = ["headcount", "fn"]
"""
WORKERS, THREADS = 4, 2


def _started(what: str, *arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments, "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, start_new_session=True, **quiet)  # type: ignore[call-overload]


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
    """Return every file by name, except for the times that runs took."""
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


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int, default=400)
    options = parser.parse_args(arguments)
    people, days, n_runs = (300, 12, 24) if options.quick else (5_000, 60, options.runs)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        grid = place / "grid.toml"
        grid.write_text(GRID.format(people=people, days=days, count=n_runs // 2), "utf-8")
        start = time.perf_counter()
        if sweep(grid, place / "here", "--workers", str(WORKERS)).wait() != 0:
            raise SystemExit("the sweep of one machine failed")
        alone = time.perf_counter() - start
        there = broken_sweep(grid, place / "there", place / "dask", n_runs)
        same = contents(place / "here") == contents(place / "there")
    print(f"{n_runs} runs of {people:,} people and {days} days, {WORKERS} workers")
    print(f"one machine {alone:.1f} s, a cluster that breaks twice {there:.1f} s")
    print(f"added per run {1000 * (there - alone) / n_runs:.0f} ms, {there / alone - 1:.1%}")
    print("the same store, byte for byte" if same else "THE STORES DIFFER")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
