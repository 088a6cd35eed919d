"""Measure what reading an external simulator costs: `python -m benchmarks.simulators`.

With 10,000 people, in milliseconds per day, by phase: the simulator's own step; reading its
contacts and states from its memory (for OpenABM-Covid19 also sending them from its process to
ours), as a share of that step, which should be at most half; and grouping the contacts by receiver
for our window, which every simulator needs, timed separately. Times are processor times, so that
other programs count less. Memory is the growth of the process that holds the model, over the second
half of the days. Simulators that are not installed are left out.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import in_own_process, print_table
from dnatrace.simulators import covasim, openabm
from dnatrace.simulators._external import both_directions
from dnatrace.simulators._openabm_model import Model
from dnatrace.simulators.covasim import Covasim
from dnatrace.simulators.openabm import OpenABM

N_PEOPLE, DAYS, INFECTED = 10_000, 100, 100
_NOBODY = np.zeros(N_PEOPLE, dtype=np.bool_)


def held_megabytes() -> float:
    """Return the memory this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_seconds(process: int) -> float:
    """Return the processor time that another process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Phases:
    """Seconds by phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.process_time()

    def begin(self) -> None:
        self._last = time.process_time()

    def end(self, phase: str) -> None:
        now = time.process_time()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now


def _row(name: str, phases: _Phases, grown: float) -> dict[str, Any]:
    ms = {phase: 1000 * seconds / DAYS for phase, seconds in phases.seconds.items()}
    return {
        "simulator": name,
        "step_ms": ms["step"],
        "read_ms": ms["read"],
        "read_share": ms["read"] / ms["step"],
        "group_ms": ms["group"],
        "grown_mb": grown,
    }


def measure_covasim() -> dict[str, Any]:
    simulator = Covasim(n_people=N_PEOPLE, initially_infected=INFECTED, n_days=DAYS + 5)
    everywhere = np.zeros(N_PEOPLE, dtype=np.uint8)
    for _ in range(5):  # compiles
        simulator.advance()
    phases, half = _Phases(), 0.0
    for day in range(DAYS):
        phases.begin()
        first, second, kinds = simulator.read_pairs()
        phases.end("read")
        both_directions(first, second, kinds, everywhere)
        phases.end("group")
        simulator.step()
        phases.end("step")
        simulator.read_states()
        phases.end("read")
        if day == DAYS // 2:
            half = held_megabytes()
    return _row(simulator.source, phases, held_megabytes() - half)


def measure_openabm_in_process() -> dict[str, Any]:
    """Measure step and views without a process in between: the cost of reading its memory."""
    model = Model(n_people=N_PEOPLE, seed=1, initially_infected=INFECTED, keeps_household=False)
    phases, half = _Phases(), 0.0
    everywhere = np.zeros(N_PEOPLE, dtype=np.uint8)
    both_directions(*model.pairs(), everywhere)
    for day in range(DAYS):
        phases.begin()
        model.isolate(_NOBODY, _NOBODY)
        phases.end("read")
        model.step()
        phases.end("step")
        first, second, kinds = model.pairs()
        model.states()
        phases.end("read")
        both_directions(first, second, kinds, everywhere)
        phases.end("group")
        if day == DAYS // 2:
            half = held_megabytes()
    return _row(f"OpenABM-Covid19 ({model.variant})", phases, held_megabytes() - half)


def measure_openabm_process() -> float:
    """Return seconds of a day of the adapter, both processes together, grouping included."""
    simulator = OpenABM(n_people=N_PEOPLE, initially_infected=INFECTED)
    simulator.advance()
    child = simulator._line._process.pid
    start = time.process_time() + processor_seconds(child)
    for _ in range(DAYS):
        simulator.advance()
    return (time.process_time() + processor_seconds(child) - start) / DAYS


def measure(name: str) -> dict[str, Any]:
    if name == "covasim":
        return measure_covasim()
    row = measure_openabm_in_process()
    whole = 1000 * measure_openabm_process()
    # What the process in between adds counts as reading.
    row["read_ms"] = whole - row["step_ms"] - row["group_ms"]
    row["read_share"] = row["read_ms"] / row["step_ms"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", choices=("covasim", "openabm"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    names = []
    if covasim.installed_version() is not None:
        names.append("covasim")
    if openabm.is_installed():
        names.append("openabm")
    if not names:
        print("neither Covasim nor OpenABM-Covid19 is installed")
        return
    rows = [in_own_process("benchmarks.simulators", "--one", name) for name in names]
    print_table(f"{N_PEOPLE:,} people, {DAYS} days, milliseconds per day", rows)


if __name__ == "__main__":
    main()
