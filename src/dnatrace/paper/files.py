"""What `dnatrace reproduce` writes: rows as CSV, verdicts as JSON, a figure, a page of Markdown."""

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dnatrace.errors import InputError
from dnatrace.files import replacing
from dnatrace.methods.catalogue import release_of
from dnatrace.paper.claims import Claim, Verdict
from dnatrace.paper.paper_claims import published_rows, published_value
from dnatrace.paper.reproduce import GammaChoices, Reproduction
from dnatrace.paper.setting import BOUNDS, WITHOUT_CLIP, Row, Setting, gamma_origin
from dnatrace.runs import figures
from dnatrace.runs.config import RunConfig
from dnatrace.runs.provenance import provenance
from dnatrace.sweeps.study import CONFIDENCE

_COLOURS = {
    "traditional": figures.GREY,
    "per-message": figures.ORANGE,
    "dpfn": figures.GREEN,
    "dpfn-s": figures.BLUE,
    "dna": figures.VERMILION,
}
_OTHER = "#CC79A7"  # the sixth of Okabe and Ito
_TITLES = ("as published, γ = 0.7", "sound releases at their best γ")  # in the order of `Setting`
_LINES = {"fn": ":", "public-only": "--", "random": "-."}


def origin() -> dict[str, Any]:
    """Return version, commit and libraries."""
    values = provenance(RunConfig())
    return {k: v for k, v in values.items() if k not in ("config_digest", "seed")}


def row_values(row: Row, target: str) -> dict[str, Any]:
    """Return a row by column; per mille, with what was published beside it."""
    s, m = row.point.scenario, row.config.method
    low, high = row.peak.interval
    published, half_width = (
        published_value(target, row.point.method, s)
        if row.point.setting is Setting.PUBLISHED
        else (math.nan, None)
    )
    is_bound = row.point.method in BOUNDS
    return {
        "setting": row.point.setting.value,
        "method": row.point.method,
        "release": release_of(m.name, m.release) or "",
        "sound": row.sound,
        "gamma": "" if row.point.method in WITHOUT_CLIP else m.gamma,
        "gamma_from": gamma_origin(row.point),
        "score": m.score.value,
        "epsilon": "" if is_bound else s.epsilon,
        "adherence": s.adherence,
        "false_positive_rate": s.false_positive_rate,
        "false_negative_rate": s.false_negative_rate,
        "runs": row.peak.values.size,
        "mean": _rounded(row.peak.mean),
        "median": _rounded(row.peak.median),
        "low": _rounded(low),
        "high": _rounded(high),
        "p95": _rounded(row.peak.p95),
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
        command: that made it.
        stem: of the files' names; the target if absent.
    """
    rows = [row_values(row, done.target) for row in done.rows]
    stem = stem or done.target
    title = f"Peak infection rate, {done.target} of the paper"
    if done.size.is_small:
        title = f"SMALL VERSION: {title}"
    figure = draw_figure(done) if done.target == "figure" else draw_table(done)
    files = {
        f"{stem}.csv": _csv(rows).encode(),
        **verdict_files(stem, done.claims, done.notes, command, title, rows),
        **figures.rendered(figure, stem, ("svg", "pdf")),
    }
    return write_all(files, out)


def verdict_files(
    stem: str,
    claims: Sequence[Claim],
    notes: Sequence[str],
    command: str,
    title: str,
    rows: Sequence[dict[str, Any]] = (),
) -> dict[str, bytes]:
    """Return the verdicts as JSON and a page of Markdown, with command and provenance."""
    where = origin()
    verdicts = {
        "command": command,
        "notes": list(notes),
        "provenance": where,
        "claims": [claim.as_json() for claim in claims],
    }
    page = _page(title, claims, notes, command, where, rows)
    return {
        f"{stem}.json": (json.dumps(verdicts, indent=1, allow_nan=False) + "\n").encode(),
        f"{stem}.md": page.encode(),
    }


def write_all(files: dict[str, bytes], out: Path) -> list[Path]:
    """Write files whole into a directory, which is made if it does not exist."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror or error}") from error
    for name, content in files.items():
        with replacing(out / name) as temporary:
            temporary.write_bytes(content)
    return [out / name for name in files]


def claims_csv(claims: Sequence[Claim]) -> bytes:
    """Return claims as CSV, one a line."""
    return _csv([claim.as_json() for claim in claims]).encode()


def gamma_files(choices: GammaChoices) -> dict[str, bytes]:
    """Return chosen γ in the form of `reference_data/best_gamma.csv`, and all means as JSON."""
    rows = [{k: v for k, v in row.items() if k != "means"} for row in choices.rows]
    means = {
        "notes": list(choices.notes),
        "provenance": origin(),
        "chosen": list(choices.rows),
    }
    return {
        "best_gamma.csv": _csv(rows).encode(),
        "best_gamma.json": (json.dumps(means, indent=1, allow_nan=False) + "\n").encode(),
    }


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _page(
    title: str,
    claims: Sequence[Claim],
    notes: Sequence[str],
    command: str,
    where: dict[str, Any],
    rows: Sequence[dict[str, Any]],
) -> str:
    counts = [f"{sum(c.verdict is v for c in claims)} {v.value}" for v in Verdict]
    lines = [
        f"# {title}",
        "",
        f"`{command}`, dnatrace {where['dnatrace']}, commit {where['commit'] or 'unknown'}, "
        f"Python {where['python']}.",
        "",
        *[f"- {note}" for note in notes],
        "",
        f"Verdicts: {', '.join(counts)}.",
        "",
        "| claim | published | ours | 90 % interval | verdict | note |",
        "|---|---|---|---|---|---|",
        *[_claim_line(claim) for claim in claims],
    ]
    if rows:
        lines += ["", *_side_by_side(rows), *_row_lines(rows)]
    return "\n".join(lines) + "\n"


def _claim_line(claim: Claim) -> str:
    values = claim.as_json()
    interval = values["interval"]
    cells = [
        claim.claim,
        _number(values["published"]),
        _number(values["ours"]),
        "" if interval is None else f"{interval[0]:.4g} to {interval[1]:.4g}",
        claim.verdict.value,
        claim.note,
    ]
    return "| " + " | ".join(cells) + " |"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _side_by_side(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return every method at its best beside the paper's two columns; nothing for the figure."""
    keys = ("adherence", "false_positive_rate", "false_negative_rate")
    ours = {
        (tuple(r[k] for k in keys), r["method"]): r
        for r in rows
        if r["setting"] == Setting.BEST.value
    }
    scenarios = list(dict.fromkeys(scenario for scenario, _ in ours))
    if len(scenarios) < 2:
        return []
    methods = list(dict.fromkeys(method for _, method in ours))
    published = {
        (tuple(getattr(s, k) for k in keys), method): (value, half)
        for method, s, value, half in published_rows("table")
    }
    names = list(dict.fromkeys(method for _, method in published))
    head = ["adherence", "FPR / FNR", *methods, *(f"{name} in the paper" for name in names)]
    lines = [
        "Sound releases at their best γ beside the paper's columns, peak in ‰ at ε = 1 (`fn`: no "
        "privacy; `public-only`, `random`: no messages):",
        "",
    ]
    lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for scenario in scenarios:
        cells = [f"{scenario[0]:.0%}", f"{scenario[1]:.0%} / {scenario[2]:.1%}"]
        for method in methods:
            r = ours.get((scenario, method))
            cells.append("" if r is None else _with_half(r["mean"], r["high"]))
        for name in names:
            value, half = published.get((scenario, name), (None, None))
            cells.append("" if value is None else f"{value:g}" + (f" ± {half:g}" if half else ""))
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _with_half(mean: Any, high: Any) -> str:
    return f"{mean:.1f}" + ("" if high == "" else f" ± {high - mean:.1f}")


def _row_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the rows as a table: per mille, mean with its interval, median, p95, published."""
    lines = [
        f"Peak of infected people in ‰: mean ± half of the {CONFIDENCE:.0%} Student-t interval.",
        "",
        "| setting | method, release | sound | γ | γ from | ε | adherence | FPR / FNR | mean "
        "| median | p95 | published |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        published = "" if r["published"] == "" else f"{r['published']:g}"
        if r["published_half_width"] != "":
            published += f" ± {r['published_half_width']:g}"
        cells = [
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
            published,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


# --- figures -------------------------------------------------------------------------------------


def draw_figure(done: Reproduction) -> Figure:
    """Draw the peak against ε, at the published setting and at each method's best γ."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, setting in zip(panels, Setting, strict=True):
        rows = [row for row in done.rows if row.point.setting is setting]
        methods = dict.fromkeys(r.point.method for r in rows if r.point.method not in BOUNDS)
        for i, method in enumerate(methods):
            _draw_method(
                axes, method, [r for r in rows if r.point.method == method], 1.04 ** (i - 2)
            )
        for row in rows:
            if row.point.method in BOUNDS:
                axes.axhline(
                    row.peak.mean,
                    color="black",
                    linewidth=0.8,
                    linestyle=_LINES[row.point.method],
                    label=row.point.method,
                )
        if setting is Setting.PUBLISHED and not done.size.is_small:
            for method, scenario, value, _ in published_rows("figure"):
                colour = _COLOURS.get(method, _OTHER)
                axes.plot(scenario.epsilon, value, "o", mfc="none", color=colour)
            axes.plot([], [], "o", mfc="none", color="black", label="as published")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(done.size.epsilons, [f"{e:g}" for e in done.size.epsilons])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("ε per release")
    return _dressed(figure, panels, done)


def _draw_method(axes: Axes, method: str, rows: Sequence[Row], aside: float) -> None:
    """Draw a line; `aside` moves it a little, so that intervals do not hide each other."""
    ordered = sorted(rows, key=lambda row: row.point.scenario.epsilon)
    epsilons = [aside * row.point.scenario.epsilon for row in ordered]
    means = [row.peak.mean for row in ordered]
    # On a log axis the lower end must stay above 0.
    below = [min(row.peak.half_width, 0.9 * row.peak.mean) for row in ordered]
    above = [row.peak.half_width for row in ordered]
    axes.errorbar(
        epsilons,
        means,
        yerr=(below, above),
        marker=".",
        capsize=2,
        label=method,
        color=_COLOURS.get(method, _OTHER),
    )


def draw_table(done: Reproduction) -> Figure:
    """Draw the peak of every method in every scenario, as points with intervals."""
    scenarios = list(dict.fromkeys(row.point.scenario for row in done.rows))
    figure = Figure(figsize=(11, 5), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, setting in zip(panels, Setting, strict=True):
        rows = [row for row in done.rows if row.point.setting is setting]
        methods = list(dict.fromkeys(row.point.method for row in rows))
        for i, method in enumerate(methods):
            mine = [row for row in rows if row.point.method == method]
            places = [scenarios.index(row.point.scenario) + 0.1 * i for row in mine]
            axes.errorbar(
                places,
                [row.peak.mean for row in mine],
                yerr=(
                    [min(row.peak.half_width, 0.9 * row.peak.mean) for row in mine],
                    [row.peak.half_width for row in mine],
                ),
                marker="." if method not in BOUNDS else "_",
                linestyle="none",
                capsize=2,
                label=method,
                color=_COLOURS.get(method, "black" if method in BOUNDS else _OTHER),
            )
        labels = [
            f"adherence {s.adherence:.0%}\nFPR {s.false_positive_rate:.0%}" for s in scenarios
        ]
        axes.set_xticks(range(len(scenarios)), labels, fontsize="small")
        axes.set_yscale("log")
    return _dressed(figure, panels, done)


def _dressed(figure: Figure, panels: Sequence[Axes], done: Reproduction) -> Figure:
    """Return a figure of one panel a setting with titles, legends and, if small, its size."""
    for axes, title in zip(panels, _TITLES, strict=True):
        axes.set_title(title, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small")
    panels[0].set_ylabel("peak infection rate, ‰ (mean, 90 % interval)")
    if done.size.is_small:
        figure.suptitle(done.size.describe())
    return figure
