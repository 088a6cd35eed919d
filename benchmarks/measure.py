"""Time calls, isolate measurements in processes of their own, print tables."""

import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def seconds(call: Callable[[], object], *, repeats: int) -> float:
    """Return the shortest of several timings, after one call to warm up."""
    call()
    timings = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        timings.append(time.perf_counter() - start)
    return min(timings)


def peak_gigabytes() -> float:
    """Return the most memory this process has held.

    On Linux `ru_maxrss` includes what the parent held when it started this process; where the
    kernel reports the peak of the process alone, that is used.
    """
    status = Path("/proc/self/status")
    text = status.read_text("ascii") if status.exists() else ""
    told = re.search(r"^VmHWM:\s+(\d+) kB", text, re.M)
    if told:
        return int(told[1]) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def in_own_process(module: str, *arguments: object) -> dict[str, Any]:
    """Run `python -m module arguments` and return the JSON object it prints."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def print_table(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print rows under their column names, numbers with four digits, what is None as a dash."""
    texts = [{k: _shown(v) for k, v in r.items()} for r in rows]
    widths = {k: max(len(k), *(len(t[k]) for t in texts)) for k in texts[0]}
    print(f"\n{title}")
    print("  ".join(k.rjust(w) for k, w in widths.items()))
    for t in texts:
        print("  ".join(t[k].rjust(w) for k, w in widths.items()), flush=True)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:,.4g}"
