"""Show the summary of a run on the terminal."""

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from dnatrace.runs.config import RunConfig
from dnatrace.runs.console import print_table
from dnatrace.runs.quantities import shown, written_summary
from dnatrace.runs.run import RunResult

_BARS = "▁▂▃▄▅▆▇█"
_MANY_AT_FIRST = 0.05  # of the people: docs/limitations.md


def show_run(result: RunResult) -> None:
    """Print the summary of a run as a table, with its epidemic curve in one line."""
    s = result.summary
    title = (
        f"{s['method']} on {s['simulator']}: {s['people']:,} people, {s['days']} days, "
        f"seed {s['seed']}"
    )
    if s["p1"] is not None:
        title += f", phones believe p1 {s['p1']}"
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for label, text in written_summary(s):
        table.add_row(label, text)
    print_table(table)
    console = Console()
    console.print(f"Infected by day  {sparkline(result.daily['infected'].to_numpy())}")
    if not s["peak_reached"]:
        console.print("Infections are still rising on the last day: the peak is yet to come.")
    if (line := first_infections_line(result.config, s["people"])) is not None:
        console.print(line, highlight=False)
    short = s["days"] < result.config.seir.window
    console.print(privacy_line(s["privacy"], so_far=short), highlight=False)
    if s["privacy"]["floor"] is not None:
        console.print(s["privacy"]["floor"], highlight=False)
    t = result.seconds
    console.print(
        f"{t['total']:.1f} s: simulate {t['simulate']:.1f}, infer {t['infer']:.1f}, "
        f"release {t['release']:.1f}",
        highlight=False,
    )


def first_infections_line(config: RunConfig, people: int) -> str | None:
    """Return that more are infected at first than phones expect, if so; None else."""
    first = min(config.n_initially_infected, people)
    if first <= _MANY_AT_FIRST * people:
        return None
    return (
        f"{first:,} of {people:,} people are infected at first, more than phones expect: what they "
        "tell each other may not pay here (`--set initially_infected`)."
    )


def privacy_line(privacy: dict[str, Any], *, so_far: bool = False) -> str:
    """Return what the run cost in privacy, and what no ε of it covers.

    `so_far` says that the run was shorter than the life of a contact.
    """
    line = _scores_line(privacy, "so far" if so_far else "over its life")
    if privacy.get("selection_epsilon") is not None:
        line += (
            " The threshold that chooses tests is published and reveals more; see the statement."
        )
    if privacy.get("policy_tells_of_cases"):
        line += " The policy tells people of a case without noise; no ε covers that."
    return line


def _scores_line(privacy: dict[str, Any], life: str) -> str:
    release, true = privacy["per_release_epsilon"], privacy["true_epsilon"]
    if release is None:
        return "Privacy: none, scores are shown as they are."
    if release == 0.0:
        return "Privacy: no message is used (ε = 0)."
    if true is not None:
        return (
            f"Privacy: NOT SOUND. Stated ε = {shown(privacy['nominal_epsilon'])} per release at "
            f"δ = {privacy['delta']:g}; true over person-days: median {shown(true['median'])}, "
            f"worst {shown(true['worst'])}, at most {shown(true['bound'])}."
        )
    score, contact = privacy["per_score_epsilon"], privacy["per_contact_epsilon"]
    alone = f", {shown(score)} for one score alone" if score > release else ""
    return (
        f"Privacy: {_person(privacy)}; ε = {shown(release)} per release"
        f"{alone}, {shown(contact)} per contact {life}{_person_day(privacy)}, "
        f"{shown(privacy['per_pair_epsilon'])} per pair (δ = {privacy['delta']:g}); "
        f"{_kept(privacy)}"
    )


def _person_day(privacy: dict[str, Any]) -> str:
    """Return the ε for a person who was met more than once on a day, if there was one."""
    day, contact = privacy.get("per_person_day_epsilon"), privacy["per_contact_epsilon"]
    if day is None or day <= contact:
        return ""
    return f" ({shown(day)} for a person met {privacy['meetings_per_day']} times on a day)"


def _person(privacy: dict[str, Any]) -> str:
    """Return the ε of one test, up to the end of the run if that comes first."""
    epsilon = privacy["per_person_epsilon"]
    if epsilon is None:
        measured = privacy.get("person_measured")
        return "no bound for one test of a person" + (f" ({measured})" if measured else "")
    how_long = "so far" if privacy["person_unfinished"] else "for ever"
    return f"ε = {shown(epsilon)} for one test of a person, {how_long}, against one receiver"


def _kept(privacy: dict[str, Any]) -> str:
    """Return what the promise is worth, given the noise of the run."""
    if privacy["protects"]:
        return "proved."
    return f"SIMULATION: proved for ideal noise, but {privacy['noise']} noise protects nobody."


def sparkline(values: np.ndarray, width: int = 50) -> str:
    """Return a curve drawn with eighth blocks, at most `width` characters."""
    chunks = np.array_split(values, min(width, values.size))
    means = np.array([chunk.mean() for chunk in chunks])
    top = means.max()
    heights = np.zeros(means.size, dtype=int) if top == 0 else (means / top * 7).round().astype(int)
    return "".join(_BARS[h] for h in heights) + f"  (top {top:,.0f})"
