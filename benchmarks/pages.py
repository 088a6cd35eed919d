"""The blocks of docs/performance.md that are made from figures: `python -m benchmarks.pages`.

A block stands between `<!-- benchmark: NAME -->` and `<!-- end -->`. No figure in one is typed by
hand: a test renders benchmarks/figures.json and compares.
"""

import json
import re
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.closed_loop import PHASES

FIGURES = Path(__file__).with_name("figures.json")
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
_BLOCK = re.compile(r"(<!-- benchmark: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_COLUMNS = 100
Sections = dict[str, Any]


def read(path: Path = FIGURES) -> Sections:
    """Return the committed figures by section; none when there is no file."""
    found: Sections = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def write(sections: Sections, path: Path = FIGURES) -> None:
    """Write figures to be committed, with six digits."""
    path.write_text(json.dumps(_rounded(sections), indent=1, ensure_ascii=False) + "\n", "utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def refresh(sections: Sections, page: Path = PAGE) -> None:
    """Write the blocks of a page anew."""
    page.write_text(refreshed(page.read_text("utf-8"), sections), "utf-8")


def refreshed(text: str, sections: Sections) -> str:
    """Return a page with its blocks made from figures; those without figures stay as they are."""
    known = _rounded(sections)

    def made(found: re.Match[str]) -> str:
        source, render = BLOCKS[found[2]]
        if source not in known:
            return found[0]
        body = render(known[source]["figures"]).strip("\n")
        return f"{found[1]}\n{body}\n\n{_measured(known[source])}\n{found[3]}"

    return _BLOCK.sub(made, text)


def _measured(section: dict[str, Any]) -> str:
    before, after = section["load"]
    commit = (section["commit"] or "none")[:10]
    return f"*Load of the machine {before:.1f} before, {after:.1f} after; commit {commit}.*"


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), _COLUMNS, break_on_hyphens=False)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"|{'|'.join(line)}|" if line[0] == "---" else _line(line) for line in lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def seconds(value: float | None) -> str:
    """Return a time with two digits, in milliseconds below a tenth of a second."""
    if value is None:
        return "–"
    if value < 0.0995:
        return f"{two_digits(1e3 * value)} ms"
    return f"{two_digits(value)} s"


def two_digits(value: float) -> str:
    """Return a number with two digits, or all that stand before its point."""
    digits = f"{float(f'{value:.2g}'):,.12f}".rstrip("0").rstrip(".")
    return digits if abs(value) < 99.5 else f"{value:,.0f}"


def _whole(value: float, digits: int) -> str:
    """Return a large number of which so many digits are not 0."""
    return f"{float(f'{value:.{digits}g}'):,.0f}"


def _start(rows: list[dict[str, Any]]) -> str:
    alone, library, help_ = (f"{row['ms']:.0f} ms" for row in rows)
    return _filled(
        f"`import dnatrace` takes {library} and `dnatrace --help` {help_}, where starting Python "
        f"alone takes {alone} (the shortest of ten each, by turns)."
    )


def _first_run(rows: list[dict[str, Any]]) -> str:
    first, second = rows
    return _filled(
        f"A run of 10,000 people and 100 days takes {seconds(first['wall_s'])} with an empty "
        f"cache, {seconds(first['compiling_s'])} of processor time of it to compile "
        f"{first['kernels']} kernels of ours, and {seconds(second['wall_s'])} afterwards."
    )


def _loops(rows: list[dict[str, Any]]) -> str:
    names = ("people", "days", "method", "time", "person-days/s", "peak memory")
    return _table(
        names,
        [
            (
                f"{row['people']:,}",
                f"{row['days']}",
                "simulator alone" if row["method"] == "simulator" else f"`{row['method']}`",
                seconds(row["total_s"]),
                _whole(row["person_days_per_s"], 3),
                f"{row['peak_gb']:.2f} GB",
            )
            for row in rows
        ],
    )


def _phases(rows: list[dict[str, Any]]) -> str:
    names = ("people", "method", *(f"`{phase}`" for phase in PHASES), "rest")
    shown = [row for row in rows if row["method"] != "simulator"]
    return _table(
        names,
        [
            (
                f"{row['people']:,}",
                f"`{row['method']}`",
                *(f"{1e9 * row[f'{p}_s'] / _person_days(row):.0f}" for p in (*PHASES, "rest")),
            )
            for row in shown
        ],
    )


def _person_days(row: dict[str, Any]) -> float:
    return float(row["people"] * row["days"])


def _memory(found: dict[str, Any]) -> str:
    return _filled(
        f"Bytes per person, the slope of peak memory between {found['few']:,} and "
        f"{found['many']:,} people on {found['days']} days: {found['headcount']:,.0f} for "
        f"`headcount`, {found['fn']:,.0f} for `fn`."
    )


def _inference(found: dict[str, Any]) -> str:
    table = _table(
        (
            *("people", "1 thread", "2 threads", "peak memory", "push one day", "build from rows"),
            *("rows over inference", "against enumeration"),
        ),
        [
            (
                f"{row['people']:,.0f}",
                seconds(row["infer_1_thread_s"]),
                seconds(row["infer_2_thread_s"]),
                f"{row['peak_gb']:.2f} GB",
                seconds(row["push_day_s"]),
                seconds(row["from_rows_s"]),
                "–" if row["rows_over_infer"] is None else f"{row['rows_over_infer']:.2f}",
                f"{_whole(row['times_faster_than_enumeration'], 2)} × faster",
            )
            for row in found["people"]
        ],
    )
    days = ", ".join(f"{row['days']:.0f}" for row in found["length"])
    ratios = ", ".join(f"{row['ratio_to_14_days']:.2f}" for row in found["length"])
    return f"{table}\n\n" + _filled(f"Windows of {days} days cost {ratios} of that of 14.")


def _plain_loops(rows: list[dict[str, Any]]) -> str:
    names = ("method", "time, 2 threads", "processor time", "times `fn`", "peak memory")
    return _table(
        names,
        [
            (
                f"`{row['method']}`",
                seconds(row["wall_s"]),
                seconds(row["processor_s"]),
                f"{row['times_fn']:.2f}",
                f"{row['peak_gb']:.2f} GB",
            )
            for row in rows
        ],
    )


def _peers(rows: list[dict[str, Any]]) -> str:
    return _table(
        ("race", "people", "ours over theirs", "range", "ours", "theirs"),
        [
            (
                row["race"],
                f"{row['people']:,}",
                f"{row['ratio']:.3f}",
                f"{row['least']:.3f} to {row['most']:.3f}",
                seconds(row["ours_s"]),
                seconds(row["theirs_s"]),
            )
            for row in rows
        ],
    )


def _release(found: dict[str, Any]) -> str:
    names = ("method and variant", "ms", "over inference")
    releases = [
        (r["method"], f"{r['ms']:.1f}", f"{r['over_inference']:.2f}") for r in found["releases"]
    ]
    names_of_statistics = ("statistic", "ms", "over `tally`")
    statistics = [
        (r["statistic"], f"{r['ms']:.1f}", f"{r['over_tally']:.2f}") for r in found["statistics"]
    ]
    secure = f"The secure back end takes {found['secure_us']:.0f} µs per draw."
    return "\n\n".join((_table(names, releases), _table(names_of_statistics, statistics), secure))


def _sweep(found: dict[str, Any]) -> str:
    one, two = found["rows"]
    return _filled(
        f"{one['runs']} closed-loop runs of `{found['method']}`, {found['people']:,} people and "
        f"{found['days']} days, with starting the workers and writing the store: one worker with "
        f"one thread {seconds(one['total_s'])} ({seconds(one['s_per_run'])} per run), two workers "
        f"{seconds(two['total_s'])} ({seconds(two['s_per_run'])} per run), "
        f"{two['times_faster']:.2f} times faster."
    )


# By name: the section of the figures, and what makes the block of it.
BLOCKS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "start": ("start", _start),
    "first_run": ("first_run", _first_run),
    "loops": ("loops", _loops),
    "phases": ("loops", _phases),
    "memory": ("memory", _memory),
    "inference": ("inference", _inference),
    "plain_loops": ("plain_loops", _plain_loops),
    "peers": ("peers", _peers),
    "release": ("release", _release),
    "sweep": ("sweep", _sweep),
}


if __name__ == "__main__":
    refresh(read())
