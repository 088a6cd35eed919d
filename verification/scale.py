"""One large city on one machine: `python -m verification.scale --people 10000000`.

Runs the default method with a checkpoint every ten days and writes memory and time by day: a page
(--out), the days as CSV, and a figure as SVG next to it. If it is killed at any moment, the same
command resumes; days that were run before keep their rows. `--quick` takes seconds.
"""

import argparse
import csv
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dnatrace import files
from dnatrace.runs.config import RunConfig
from dnatrace.runs.progress import tracker
from dnatrace.runs.provenance import provenance
from dnatrace.runs.run import run

COLUMNS = ("day", "seconds", "resident_gb", "peak_gb")
DEFAULT_OUT = Path("docs/results/scale.md")


def resident_gigabytes() -> float:
    """Return the memory this process holds now; its maximum so far where that is unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return peak_gigabytes()
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


def peak_gigabytes() -> float:
    """Return the most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


class Curve:
    """Memory and time by day, written after every day, so that nothing is lost with the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: list[dict[str, float]] = []
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                self.rows = [{k: float(r[k]) for k in COLUMNS} for r in csv.DictReader(file)]
        self._last = time.perf_counter()

    def observe(self, row: dict[str, Any]) -> None:
        """Take in a day; rows of days that are run again are replaced."""
        now = time.perf_counter()
        before = [r for r in self.rows if r["day"] < row["day"]]
        values = (row["day"], now - self._last, resident_gigabytes(), peak_gigabytes())
        self.rows = [*before, dict(zip(COLUMNS, map(float, values), strict=True))]
        self._last = now
        with files.replacing(self._path) as path, path.open("w", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)


def page(config: RunConfig, curve: Curve, summary: dict[str, Any]) -> str:
    """Return the page to read."""
    people, days = summary["people"], summary["days"]
    seconds = sum(row["seconds"] for row in curve.rows)
    most = max(row["peak_gb"] for row in curve.rows)
    about = provenance(config)
    return f"""# One large city

`python -m verification.scale --people {people} --days {days}`, method `{summary["method"]}`, seed
{summary["seed"]}, on {os.cpu_count()} cores, commit {about["commit"]}. Load of the machine at the
end: {os.getloadavg()[0]:.1f}.

| people | days | time of the days | person-days/s | most memory | bytes per person |
|---|---|---|---|---|---|
| {people:,} | {days} | {seconds:,.0f} s | {people * days / seconds:,.0f} | {most:.2f} GB | \
{1e9 * most / people:,.0f} |

Peak of infected people {1000 * summary["peak_infected"]:.2f} ‰, ever infected
{100 * summary["attack_rate"]:.2f} %. Memory by day is in the figure and the CSV file beside this
page; bytes per person have the libraries in them, about 0.3 GB. Time has the checkpoints in it.

![Memory by day: what was held then, and the most so far](scale.svg)
"""


def draw(curve: Curve, path: Path) -> None:
    """Draw memory by day."""
    import matplotlib as mpl  # noqa: PLC0415  (slow to import)

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    days = [row["day"] for row in curve.rows]
    for column, label in (
        ("resident_gb", "held then"),
        ("peak_gb", "most so far"),
    ):
        axes.plot(days, [row[column] for row in curve.rows], label=label)
    axes.set(xlabel="day", ylabel="memory, GB", ylim=(0, None))
    axes.legend()
    with files.replacing(path) as temporary:
        figure.savefig(temporary)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=100)
    parser.add_argument("--every", type=int, default=10, help="days between two checkpoints")
    parser.add_argument("--method", default="headcount")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    people, days = (500, 6) if options.quick else (options.people, options.days)
    config = RunConfig(people=people, days=days, method=options.method)
    checkpoint = options.out.with_suffix(".checkpoint")
    table = options.out.with_suffix(".csv")
    if not checkpoint.exists():
        table.unlink(missing_ok=True)  # from another run
    curve = Curve(table)
    result = run(
        config,
        track=tracker("days"),
        watch=curve.observe,
        checkpoint=checkpoint,
        checkpoint_every=options.every,
    )
    draw(curve, options.out.with_suffix(".svg"))
    text = page(config, curve, result.summary)
    with files.replacing(options.out) as path:
        path.write_text(text, "utf-8")
    record = {"provenance": provenance(config), "summary": result.as_json()}
    with files.replacing(options.out.with_suffix(".json")) as path:
        path.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
