"""What `dnatrace reproduce` writes: rows as CSV, verdicts as JSON, a figure, a page of Markdown."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.files import check_place, parse_json
from dnatrace.methods.base import release_of
from dnatrace.paper.claims import metric_of, published_rows, published_value
from dnatrace.paper.drawing import draw
from dnatrace.paper.reproduce import GammaChoices, Reproduction
from dnatrace.paper.setting import BOUNDS, Point, Setting, gamma_origin
from dnatrace.paper.verdicts import Claim, Verdict
from dnatrace.runs import figures
from dnatrace.sweeps.results import (
    as_csv,
    as_json,
    as_text,
    markdown_table,
    origin,
    page_head,
    write_all,
)
from dnatrace.sweeps.spread import CONFIDENCE
from dnatrace.sweeps.study import PER_MILLE

BEST_READING = ("best reading", "its interval", "its verdict")  # columns next to our own
GAMMA_STEM = "best_gamma"
SCENARIO = ("adherence", "false_positive_rate", "false_negative_rate")


_EXCHANGED = (
    "Error rates of tests are those of the paper's scenarios; the best reading exchanges them."
)


def row_values(done: Reproduction, point: Point) -> dict[str, Any]:
    """Return a point by column, in per mille, next to what was published."""
    s, m = point.scenario, done.configs[point].method
    peak = done.study.spread(point, metric_of(point.setting), scale=PER_MILLE)
    low, high = peak.interval
    published, half_width = (
        (math.nan, None)
        if point.setting is Setting.BEST
        else published_value(done.target, point.method, s)
    )
    return {
        "setting": point.setting.value,
        "method": point.method,
        "release": release_of(m) or "",
        "sound": bool(done.study.summaries[point][0]["privacy"]["sound"]),
        "gamma": getattr(m, "gamma", ""),
        "gamma_from": gamma_origin(point),
        "score": str(getattr(m, "score", "")),
        "epsilon": "" if point.method in BOUNDS else s.epsilon,
        **{name: getattr(s, name) for name in SCENARIO},
        "runs": peak.values.size,
        "mean": _rounded(peak.mean),
        "median": _rounded(peak.median),
        "low": _rounded(low),
        "high": _rounded(high),
        "p95": _rounded(peak.p95),
        "published": "" if math.isnan(published) else published,
        "published_half_width": "" if half_width is None else half_width,
    }


def _rounded(value: float) -> float | str:
    return "" if math.isnan(value) else round(value, 3)


def write_reproduction(
    done: Reproduction, out: Path, command: str, *, stem: str | None = None
) -> list[Path]:
    """Write the files of a figure or table and return their paths.

    Args:
        done: what to write.
        out: the directory.
        command: the command that made it.
        stem: the stem of the file names; the target if absent.
    """
    rows = [row_values(done, point) for point in done.study.summaries]
    stem = stem or done.target
    small = "SMALL VERSION: " if done.size.is_small else ""
    title = f"{small}Peak infection rate, {done.target} of the paper"
    files = {
        f"{stem}.csv": as_csv(rows),
        **verdict_files(stem, done.claims, done.notes, command, title, rows),
        **figures.rendered(draw(done), stem, ("svg", "pdf")),
    }
    return write_all(files, out)


KINDS = ("csv", "json", "md", "svg", "pdf")  # of the files of a result


def keep_others(out: Path, stems: Sequence[str], command: str, *, force: bool) -> None:
    """Raise, before the work is done, if files that another command made would be replaced.

    The JSON file beside them names the command; the same command may write its own files again.
    """
    for stem in stems:
        made_by = _command_in(out / f"{stem}.json")
        for path in (out / f"{stem}.{kind}" for kind in KINDS):
            if not path.exists():
                continue
            check_place(path)
            if not force and made_by != command:
                why = f"was made by `{made_by}`" if made_by else "exists already"
                raise InputError(f"{path}: {why}; --force replaces it, another --out keeps it")


def _command_in(path: Path) -> str | None:
    """Return the command that a JSON file names; None if it names none, or is not there."""
    try:
        command = parse_json(path.read_bytes())["command"]
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
    return command if isinstance(command, str) else None


def verdict_files(
    stem: str,
    claims: Sequence[Claim],
    notes: Sequence[str],
    command: str,
    title: str,
    rows: Sequence[dict[str, Any]] = (),
) -> dict[str, bytes]:
    """Return the verdicts as JSON and a page of Markdown, with command and provenance."""
    listed = [claim.as_json() for claim in claims]
    verdicts = {"command": command, "notes": list(notes), "provenance": origin(), "claims": listed}
    page = [
        *page_head(title, command, notes),
        f"Verdicts: {_counted([claim.verdict for claim in claims])}.",
        "",
        *_under_best_reading(claims),
        *_claim_table(listed),
    ]
    if rows:
        page += ["", *_side_by_side(rows), *_all_rows(rows)]
    return {f"{stem}.json": as_json(verdicts), f"{stem}.md": as_text(page)}


def _counted(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(
        f"{sum(v is verdict for v in verdicts)} {verdict.value}" for verdict in Verdict
    )


def _under_best_reading(claims: Sequence[Claim]) -> list[str]:
    """Return the verdicts under the best reading, of the claims that have two."""
    both = [claim for claim in claims if claim.best_reading is not None]
    if not both:
        return []
    best = [claim.best_reading.verdict for claim in both if claim.best_reading]
    ours = _counted([claim.verdict for claim in both])
    return [
        f"Of them {len(both)} have a verdict under our reading ({ours}) and one under the best "
        f"reading ({_counted(best)}); docs/results/readings.md says which that is.",
        "",
    ]


def claims_csv(claims: Sequence[Claim]) -> bytes:
    """Return claims as CSV, one per line."""
    return as_csv([_flat(claim.as_json()) for claim in claims])


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """Return a claim with the columns of the best reading next to its own."""
    other = values.pop("best_reading") or dict.fromkeys(("ours", "interval", "verdict"), "")
    return values | {f"best_reading_{key}": value for key, value in other.items()}


def gamma_files(choices: GammaChoices, command: str) -> dict[str, bytes]:
    """Return the chosen γ in the form of `reference_data/best_gamma.csv`, and all means as JSON."""
    rows = [{k: v for k, v in row.items() if k != "means"} for row in choices.rows]
    made = {"command": command, "notes": list(choices.notes), "provenance": origin()}
    means = as_json(made | {"chosen": list(choices.rows)})
    return {f"{GAMMA_STEM}.csv": as_csv(rows), f"{GAMMA_STEM}.json": means}


def _claim_table(listed: Sequence[dict[str, Any]]) -> list[str]:
    """Return claims as a table, with columns of the best reading where some have one."""
    both = any(values["best_reading"] for values in listed)
    heads = ["claim", "published", "ours", "90 % interval", "verdict"]
    heads += [*BEST_READING, "note"] if both else ["note"]
    return markdown_table(heads, [_claim_cells(values, both) for values in listed])


def _claim_cells(values: dict[str, Any], both: bool) -> list[str]:
    published = "" if values["published"] is None else f"{values['published']:.4g}"
    other = values["best_reading"]
    best = [] if not both else _found(other) if other else ["", "", ""]
    return [values["claim"], published, *_found(values), *best, values["note"]]


def _found(values: dict[str, Any]) -> list[str]:
    """Return what we found, its interval, and the verdict."""
    ours, ends = values["ours"], values["interval"]
    interval = "" if ends is None else f"{ends[0]:.4g} to {ends[1]:.4g}"
    return ["" if ours is None else f"{ours:.4g}", interval, values["verdict"]]


def _side_by_side(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return every method at its best next to the paper's two columns; nothing for the figure."""
    ours = {
        (tuple(r[name] for name in SCENARIO), r["method"]): _with_half(r["mean"], r["high"])
        for r in rows
        if r["setting"] == Setting.BEST.value
    }
    published = {
        (tuple(getattr(s, name) for name in SCENARIO), f"{method} in the paper"): f"{value:g}"
        + (f" ± {half:g}" if half else "")
        for method, s, value, half in published_rows("table")
    }
    scenarios = list(dict.fromkeys(scenario for scenario, _ in ours))
    if len(scenarios) < 2:
        return []
    columns = list(dict.fromkeys(name for _, name in (*ours, *published)))
    cells = ours | published
    lines = [
        [f"{s[0]:.0%}", f"{s[1]:.0%} / {s[2]:.1%}", *(cells.get((s, name), "") for name in columns)]
        for s in scenarios
    ]
    return [
        "Sound releases at their best γ beside the paper's columns, peak in ‰ at ε = 1 (`fn`: no "
        "privacy; `public-only`, `random`: no messages):",
        "",
        *markdown_table(["adherence", "FPR / FNR", *columns], lines),
        "",
    ]


def _with_half(mean: Any, high: Any) -> str:
    return f"{mean:.1f}" + ("" if high == "" else f" ± {high - mean:.1f}")


def _all_rows(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the rows as a table: mean with interval, median, p95, published, all in per mille."""
    columns = (
        "setting", "method, release", "sound", "γ", "γ from", "ε", "adherence", "FPR / FNR",
        "mean", "median", "p95", "published",
    )  # fmt: skip
    return [
        f"Peak of infected people in ‰: mean ± half of the {CONFIDENCE:.0%} Student-t interval."
        + (f" {_EXCHANGED}" if any(r["setting"] == Setting.READING for r in rows) else ""),
        "",
        *markdown_table(columns, [_row_cells(r) for r in rows]),
    ]


def _row_cells(r: dict[str, Any]) -> list[str]:
    published = "" if r["published"] == "" else f"{r['published']:g}"
    half = r["published_half_width"]
    return [
        r["setting"],
        f"{r['method']}, {r['release']}" if r["release"] else r["method"],
        "yes" if r["sound"] else "no",
        f"{r['gamma']}",
        r["gamma_from"],
        f"{r['epsilon']}",
        f"{r['adherence']:g}",
        f"{r['false_positive_rate']:g} / {r['false_negative_rate']:g}",
        _with_half(r["mean"], r["high"]),
        f"{r['median']:.1f}",
        f"{r['p95']:.1f}",
        published + ("" if half == "" else f" ± {half:g}"),
    ]
