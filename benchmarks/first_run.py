"""Measure what the first run compiles: `python -m benchmarks.first_run`.

Runs `dnatrace run` with an empty cache of compiled kernels and once more with a full one, each in a
process of its own, and lists the kernels with their seconds. Processor time hardly depends on what
else the machine does; `--method fn` measures another method, `--quick` a small city.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from numba.core import event

from benchmarks.measure import print_table
from dnatrace.cli import main as command

_OURS = "dnatrace."


class _Counter(event.Listener):
    """Listens to the compiler; what a kernel calls is not counted as its own time."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._open: list[tuple[float, float]] = []  # start, and time spent in other kernels since

    def on_start(self, event: event.Event) -> None:
        self._open.append((time.process_time(), 0.0))

    def on_end(self, event: event.Event) -> None:
        start, inner = self._open.pop()
        whole = time.process_time() - start
        if self._open:
            self._open[-1] = (self._open[-1][0], self._open[-1][1] + whole)
        dispatcher = event.data["dispatcher"]
        function = dispatcher.py_func
        self.rows.append(
            {
                "kernel": f"{function.__module__}.{function.__name__}",
                "parallel": str(bool(dispatcher.targetoptions.get("parallel", False))),
                "signature": str(event.data["args"]),
                "own_s": whole - inner,
            }
        )


def inside(arguments: list[str]) -> None:
    """Run the command in this process and print what was compiled as the last line."""
    counter = _Counter()
    event.register("numba:compile", counter)  # type: ignore[no-untyped-call]
    sys.argv = ["dnatrace", *arguments]
    try:
        command()
    except SystemExit as exit_:
        if exit_.code:
            raise
    print(json.dumps({"compiled": counter.rows, "processor_s": time.process_time()}))


def measured(arguments: list[str], cache: str) -> dict[str, Any]:
    """Return what a run with a cache directory compiled, and how long it took."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_run", "--inside", *arguments],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found | {"wall_s": time.perf_counter() - start}


def first_and_second(arguments: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the run takes with an empty cache and with a full one."""
    with tempfile.TemporaryDirectory() as cache:
        return measured(arguments, cache), measured(arguments, cache)


def summary(name: str, found: dict[str, Any]) -> dict[str, Any]:
    ours = [row for row in found["compiled"] if row["kernel"].startswith(_OURS)]
    return {
        "run": name,
        "wall_s": found["wall_s"],
        "processor_s": found["processor_s"],
        "kernels": len({row["kernel"] for row in ours}),
        "signatures": len(ours),
        "compiling_s": sum(row["own_s"] for row in found["compiled"]),
    }


def main() -> None:
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="headcount")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    size = ["--people", "500", "--days", "16"] if options.quick else []
    first, second = first_and_second(["run", "--method", options.method, "--quiet", *size])
    ours = [row for row in first["compiled"] if row["kernel"].startswith(_OURS)]
    by_time = sorted(ours, key=lambda row: -float(row["own_s"]))
    shown = [{k: row[k] for k in ("kernel", "parallel", "own_s")} for row in by_time[:20]]
    print_table("kernels that take longest to compile", shown)
    title = f"dnatrace run --method {options.method}, empty cache and full"
    print_table(title, [summary("first", first), summary("second", second)])


if __name__ == "__main__":
    main()
