"""Show the summary of a run on the terminal."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from dnatrace.privacy.accounting import SCORES, THRESHOLD, Kept
from dnatrace.runs.config import RunConfig
from dnatrace.runs.console import print_table
from dnatrace.runs.quantities import shown, still_rising, whole, written_summary
from dnatrace.runs.run import RunResult

_BARS = "▁▂▃▄▅▆▇█"
_MANY_AT_FIRST = 0.05  # of the people: docs/limitations.md
_PARTS = {SCORES: "scores", THRESHOLD: "the threshold"}
_SECURE = {
    SCORES: "`--noise secure` draws one that protects",
    THRESHOLD: "`--set policy.noise=secure` draws one that protects",
}


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
    console.print(f"Infected (I) by day  {sparkline(result.daily['infected'].to_numpy())}")
    if rising := still_rising(int(not s["peak_reached"]), 1):
        console.print(rising, highlight=False)
    if (line := first_infections_line(result.config, s["people"])) is not None:
        console.print(line, highlight=False)
    console.print(privacy_line(s["privacy"]), highlight=False)
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
    if first <= _MANY_AT_FIRST * people or not config.method.hears_contacts:
        return None
    return (
        f"{first:,} of {people:,} people are infected at first, more than phones expect: what they "
        "tell each other may not pay here (`--set initially_infected`)."
    )


def privacy_line(privacy: dict[str, Any]) -> str:
    """Return what the run cost in privacy, and what no ε of it covers."""
    line = _scores_line(privacy)
    if privacy.get("selection_epsilon") is not None:
        line += (
            " The threshold that chooses tests is published and reveals more; see the statement."
        )
        line += "" if "SIMULATION" in line else _threshold_simulated(privacy)
    return "".join(
        [line, *(f" {told}" for told in (target_words(privacy), _of_cases(privacy)) if told)]
    )


def beyond_units(privacy: Mapping[str, Any]) -> list[str]:
    """Return what the costs by unit leave out: the threshold, the target, what policies tell."""
    threshold = privacy.get("selection_epsilon")
    chosen = None
    if threshold is not None:
        chosen = (
            "In addition, the threshold that chooses tests is published: "
            f"ε = {shown(threshold['day'])} per day for the score of one person, "
            f"{shown(threshold['run'])} over all days."
        )
    return [told for told in (target_words(privacy), chosen, _of_cases(privacy)) if told]


def target_words(privacy: Mapping[str, Any]) -> str | None:
    """Return that the target is not met, or so far alone; None where it is, or is not stored."""
    kept, asked = privacy.get("target_kept"), f"ε = {shown(privacy.get('epsilon'))}"
    asked += f" per {privacy.get('unit')}"
    if kept == Kept.NOT:
        return f"TARGET NOT MET: {asked} was asked for."
    if kept == Kept.SO_FAR:
        life = shown(privacy["target_life_epsilon"])
        return f"TARGET MET SO FAR ALONE: {asked} was asked for, a whole life costs up to {life}."
    return None


def _of_cases(privacy: Mapping[str, Any]) -> str | None:
    """Return that people are told of cases, where the policy does that."""
    if not privacy.get("policy_tells_of_cases"):
        return None
    return "The policy tells people of a case without noise; no ε covers that."


def noise_that_protects_nobody(privacy: Mapping[str, Any]) -> str:
    """Return which noise of a run protects nobody, by part; "" where all of it protects."""
    parts = (privacy.get("simulated") or {}).items()
    return " and ".join(f"that of {_PARTS[part]} ({noise})" for part, noise in parts)


def _threshold_simulated(privacy: dict[str, Any]) -> str:
    """Return that the noise of the threshold protects nobody, where it does not."""
    if (noise := privacy["simulated"].get(THRESHOLD)) is None:
        return ""
    return f" SIMULATION: its {noise} noise protects nobody; {_SECURE[THRESHOLD]}."


def _scores_line(privacy: dict[str, Any]) -> str:
    release, true = privacy["per_release_epsilon"], privacy["true_epsilon"]
    if release is None:
        return "Privacy: none, scores are shown as they are."
    if not privacy["scores_noised"]:  # ε is 0 also for noise so large that δ covers everything
        return "Privacy: no message is used (ε = 0)."
    if true is not None:
        return (
            f"Privacy: NOT SOUND. Stated ε = {shown(privacy['nominal_epsilon'])} per release at "
            f"δ = {privacy['delta']:g}; true over person-days: median {shown(true['median'])}, "
            f"worst {shown(true['worst'])}, at most {shown(true['bound'])}."
        )
    score, contact = privacy["per_score_epsilon"], privacy["per_contact_epsilon"]
    so_far = dict.fromkeys(privacy["unfinished"], " so far")
    one = f", {shown(score)} for one score alone{so_far.get('score', '')}"
    return (
        f"Privacy: {_person(privacy)}; {_of_messages(privacy)}ε = {shown(release)} per release"
        f"{one if score > release else ''}, {shown(contact)} per contact"
        f"{so_far.get('contact', ' over its life')}{_person_day(privacy)}, "
        f"{shown(privacy['per_pair_epsilon'])} per pair{so_far.get('pair', '')} "
        f"(δ = {privacy['delta']:g}); {_kept(privacy)}"
    )


def _of_messages(privacy: dict[str, Any]) -> str:
    """Return whose costs follow, where they are above that of a person and seem to contradict it.

    A message may change every day, whatever tests say; one test changes it less often.
    """
    person, contact = privacy["per_person_epsilon"], privacy["per_contact_epsilon"]
    above = person is not None and contact is not None and contact > person
    return "for anything else that a contact's messages say: " if above else ""


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
    weak = privacy["simulated"]
    if privacy["noise"] in weak.values():  # that of every part
        return f"SIMULATION: proved for ideal noise, but {privacy['noise']} noise protects nobody."
    parts = "; ".join(f"that of {_PARTS[p]} is {noise}, {_SECURE[p]}" for p, noise in weak.items())
    return f"SIMULATION: proved for ideal noise, but not all of it protects: {parts}."


def sparkline(values: np.ndarray, width: int = 50) -> str:
    """Return a curve drawn with eighth blocks, at most `width` characters, and its largest value.

    A character is the mean of its days.
    """
    chunks = np.array_split(values, min(width, values.size))
    means = np.array([chunk.mean() for chunk in chunks])
    top = means.max()
    heights = np.zeros(means.size, dtype=int) if top == 0 else (means / top * 7).round().astype(int)
    return "".join(_BARS[h] for h in heights) + f"  (top {whole(values.max()):,})"
