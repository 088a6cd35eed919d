"""What a person reads on the terminal."""

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from dnatrace.runs.run import RunResult

_BARS = "▁▂▃▄▅▆▇█"

# Key, what it is called, how it is written.
_ROWS = (
    ("peak_infected", "Peak of infected people (I)", "per_mille"),
    ("day_of_peak", "  on day", "whole"),
    ("peak_exposed_or_infected", "Peak of exposed or infected (E + I)", "per_mille"),
    ("attack_rate", "Ever infected", "percent"),
    ("deaths", "Died", "per_mille"),
    ("tests_used", "Tests used", "whole"),
    ("positivity", "  positive", "percent"),
    ("tests_per_infection_found", "  tests per infection found", "one"),
    ("isolation_person_days", "Person-days in isolation", "whole"),
    ("isolation_precision", "  of them in E or I", "percent"),
    ("isolation_recall", "Share of E and I person-days isolated", "percent"),
    ("days_infection_to_isolation", "Days from infection to isolation", "one"),
    ("auroc", "AUROC of the score, mean over days", "three"),
)

_FORMATS = {
    "per_mille": lambda v: f"{1000 * v:.2f} ‰ of people",
    "percent": lambda v: f"{100 * v:.1f} %",
    "whole": lambda v: f"{v:,.0f}",
    "one": lambda v: f"{v:.1f}",
    "three": lambda v: f"{v:.3f}",
}


def show_run(result: RunResult) -> None:
    """Print the summary of a run as a table, with its epidemic curve in one line."""
    s = result.summary
    title = (
        f"{s['method']} on {s['simulator']}: {s['people']:,} people, {s['days']} days, "
        f"seed {s['seed']}, p1 {s['p1']}"
    )
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for key, label, how in _ROWS:
        value = s[key]
        table.add_row(label, "none" if value is None else _FORMATS[how](value))
    console = Console()
    console.print(table)
    console.print(f"Infected by day  {sparkline(result.daily['infected'].to_numpy())}")
    console.print(privacy_line(s["privacy"]), highlight=False)
    t = result.seconds
    console.print(
        f"{t['total']:.1f} s: simulate {t['simulate']:.1f}, infer {t['infer']:.1f}, "
        f"release {t['release']:.1f}",
        highlight=False,
    )


def privacy_line(privacy: dict[str, Any]) -> str:
    """Return what the run cost in privacy, in one sentence."""
    release, true = privacy["per_release_epsilon"], privacy["true_epsilon"]
    if release is None:
        return "Privacy: none, scores are shown as they are."
    if release == 0.0:
        return "Privacy: no message is used (ε = 0)."
    if true is not None:
        return (
            f"Privacy: NOT SOUND. Stated ε = {privacy['nominal_epsilon']:.3g} a release at "
            f"δ = {privacy['delta']:g}; true over person-days: median {true['median']:.3g}, worst "
            f"{true['worst']:.3g}, at most {true['bound']:.3g}."
        )
    score, contact = privacy["per_score_epsilon"], privacy["per_contact_epsilon"]
    alone = f", {score:.3g} one score alone" if score > release else ""
    return (
        f"Privacy: ε = {release:.3g} a release{alone}, {contact:.3g} a contact over its life, "
        f"{privacy['per_pair_epsilon']:.3g} a pair (δ = {privacy['delta']:g}); proved."
    )


def sparkline(values: np.ndarray, width: int = 50) -> str:
    """Return a curve drawn with eighth blocks, at most `width` characters."""
    chunks = np.array_split(values, min(width, values.size))
    means = np.array([chunk.mean() for chunk in chunks])
    top = means.max()
    heights = np.zeros(means.size, dtype=int) if top == 0 else (means / top * 7).round().astype(int)
    return "".join(_BARS[h] for h in heights) + f"  (top {top:,.0f})"
