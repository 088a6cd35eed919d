"""How long it takes until something happens: `python -m benchmarks.start`.

Starting Python alone, `import dnatrace` and `dnatrace --help`, each in a process of its own and by
turns, so that a noisy moment hits all; the shortest of ten each.
"""

import subprocess
import sys
import time

from benchmarks.measure import print_table

COMMANDS = {
    "python": ["-c", "pass"],
    "import dnatrace": ["-c", "import dnatrace"],
    "dnatrace --help": ["-m", "dnatrace", "--help"],
}
REPETITIONS = 10


def seconds_to_start(repetitions: int = REPETITIONS) -> list[dict[str, object]]:
    """Return the shortest time of each, and how many times that of Python alone it is."""
    found: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(1 + repetitions):  # the first compiles modules
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *command], stdout=subprocess.DEVNULL, check=True)
            found[name].append(time.perf_counter() - start)
    best = {name: min(times[1:]) for name, times in found.items()}
    return [
        {"what": name, "ms": 1e3 * spent, "times_python": spent / best["python"]}
        for name, spent in best.items()
    ]


if __name__ == "__main__":
    print_table("milliseconds to start", seconds_to_start())
