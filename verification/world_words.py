"""Draw conclusions from the runs of `verification.world`, each sentence by a rule."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dnatrace.plans.comparison import named_interval
from dnatrace.plans.intervals import fewer, more
from dnatrace.runs.quantities import shown
from dnatrace.sweeps.results import markdown_table
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.study import Study

NOTHING, STATUS_QUO, FLOOR = "nothing", "status quo", "public-facts"
# Counts of positive tests that became known: with a proof for a person, and nearly exact, which is
# the best that any noise could achieve.
PRIVATE, EXACT = "headcount, news, ε = 5", "own tests counted, exact"
APP_RULE = "app rule"
PEAK, EVER = "peak_infected", "attack_rate"
_AT_HOME = "isolation_person_days"
Floats = NDArray[np.float64]
SCALES = {PEAK: 1000.0, EVER: 100.0}
UNITS = {PEAK: "‰", EVER: "%"}

Label = tuple[str, str]

# What messages gain: more infections averted by the one than by the other, paired by seed.
QUESTIONS = {
    "tracing by public facts, against the status quo": (FLOOR, STATUS_QUO),
    "the default (`headcount`), against the status quo": ("headcount", STATUS_QUO),
    "beliefs passed on (`fn`, not private), against public facts": ("fn (two rounds)", FLOOR),
    "exact counts of own tests (not private), against public facts": (EXACT, FLOOR),
    "`headcount`, `news` at ε = 5 per person, against public facts": (PRIVATE, FLOOR),
    "the default (`daily`, ε = 5.02 per person), against public facts": ("headcount", FLOOR),
    "`tally` (no bound for a person), against public facts": ("tally", FLOOR),
    "the app rule (not private), against public facts": (APP_RULE, FLOOR),
}
CONTAINED = 0.05  # largest share of people ever infected


def gain(study: Study[Label], cell: str, better: str, worse: str) -> Spread | None:
    """Return how many more infections one averts than the other, per 10,000 people."""
    if not {(cell, better), (cell, worse)} <= set(study.summaries):
        return None
    return study.difference((cell, worse), (cell, better), EVER, scale=10_000.0)


def gain_table(study: Study[Label]) -> list[str]:
    """Return, for every scenario, what each step towards more messages gains."""
    rows = []
    for cell in dict.fromkeys(cell for cell, _ in study.summaries):
        found = [gain(study, cell, *pair) for pair in QUESTIONS.values()]
        rows.append([cell, *("–" if one is None else _told(one) for one in found)])
    return markdown_table(["scenario", *QUESTIONS], rows)


def _told(found: Spread) -> str:
    """Return a gain with its interval, in bold when it differs significantly from 0."""
    low, high = found.interval
    text = f"{shown(found.mean)} ({shown(low)} to {shown(high)})"
    return f"**{text}**" if low > 0.0 or high < 0.0 else text


def advice(study: Study[Label]) -> list[str]:
    """Return sentences that follow from the runs, each by a rule and with its scenarios."""
    cells = list(dict.fromkeys(cell for cell, _ in study.summaries))

    def where(better: str, worse: str, sign: float) -> list[str]:
        found = {cell: gain(study, cell, better, worse) for cell in cells}
        return [
            cell
            for cell, one in found.items()
            if one is not None and (one.interval[0] > 0.0 if sign > 0 else one.interval[1] < 0.0)
        ]

    def contained(name: str) -> list[str]:
        return [
            cell
            for cell in cells
            if (cell, name) in study.summaries
            and max(study.spread((cell, name), EVER).values) <= CONTAINED
        ]

    says = {
        "Tracing by public facts alone, without any message, averts infections against the status "
        "quo in": where(FLOOR, STATUS_QUO, 1),
        "The default (`headcount`) averts more than the status quo in": where(
            "headcount", STATUS_QUO, 1
        ),
        "The default averts fewer than the status quo in": where("headcount", STATUS_QUO, -1),
        "Exact counts of own tests (not private) avert more than public facts in": where(
            EXACT, FLOOR, 1
        ),
        "Exact counts avert fewer in": where(EXACT, FLOOR, -1),
        "Beliefs passed on exactly (`fn`, not private) avert more than public facts in": where(
            "fn (two rounds)", FLOOR, 1
        ),
        "They avert fewer in": where("fn (two rounds)", FLOOR, -1),
        "Private counts with a proof (`headcount`, `news`, ε = 5 per person) avert more than "
        "public facts in": where(PRIVATE, FLOOR, 1),
        "Private ones avert fewer in": where(PRIVATE, FLOOR, -1),
        "The default (`daily`, ε = 5.02 per person) averts more than public facts in": where(
            "headcount", FLOOR, 1
        ),
        "The default averts fewer than public facts in": where("headcount", FLOOR, -1),
        "`tally`, private for a release but without a bound for a person, averts more than public "
        "facts in": where("tally", FLOOR, 1),
        "The app rule (not private) averts more than public facts in": where(APP_RULE, FLOOR, 1),
        f"Every run stays below {CONTAINED:.0%} infected with public facts in": contained(FLOOR),
        f"Every run stays below {CONTAINED:.0%} infected with private counts in": contained(
            PRIVATE
        ),
        f"Every run stays below {CONTAINED:.0%} infected with exact counts in": contained(EXACT),
        f"Every run stays below {CONTAINED:.0%} infected with the truth in": contained("oracle"),
    }
    return [f"- {text}: {'; '.join(found) or 'none of them'}." for text, found in says.items()]


# Aims that were set before anything was measured: a scenario, the aim in words, and whether the
# runs of a method reach it (given values of its metric, and those of the status quo).
AIMS: tuple[tuple[str, str, str, Callable[[Floats, Floats], bool]], ...] = (
    ("paper", "mean peak at most 1.0 ‰", PEAK, lambda got, _: got.mean() <= 1e-3),
    ("tests-4", "mean peak at most 5 ‰", PEAK, lambda got, _: got.mean() <= 5e-3),
    ("scarce", "peak below 10 ‰ in 8 of 10 runs", PEAK, lambda got, _: (got < 0.01).mean() >= 0.8),
    ("household", "mean peak below 10 ‰", PEAK, lambda got, _: got.mean() < 0.01),
    ("quarantine", "mean peak at most 5 ‰", PEAK, lambda got, _: got.mean() <= 5e-3),
    *(
        (
            cell,
            "20 % fewer infected than by the status quo",
            EVER,
            lambda got, quo: _fewer(got, quo) >= 0.2,
        )
        for cell in ("uk-2020-autumn", "uk-2020-autumn, 0.5 % sent home per day")
    ),
    *(
        (
            cell,
            "half as many infected as by the status quo",
            EVER,
            lambda got, quo: _fewer(got, quo) >= 0.5,
        )
        for cell in ("adoption-60", "adoption-60, 0.5 % sent home per day")
    ),
)
OF_THE_APP = ("uk-2020-autumn", "adoption-60")  # scenarios in which few have the app
HALF = 0.5  # of the gap between public facts and exact counts


def _fewer(got: Floats, quo: Floats) -> float:
    return 1.0 - float(got.mean() / quo.mean())


def aim_table(study: Study[Label]) -> list[str]:
    """Return the aims, who reaches them, and how much of the gap is recovered."""
    cells = []
    for cell, words, metric, reached in AIMS:
        quo = study.spread((cell, STATUS_QUO), metric).values if _ran(study, cell) else None
        if quo is None:
            continue
        scale, verdicts = SCALES[metric], []
        for name in (FLOOR, "headcount", PRIVATE, EXACT, "fn (two rounds)", "oracle"):
            if (cell, name) not in study.summaries:
                verdicts.append("–")
                continue
            got = study.spread((cell, name), metric).values
            value = f"{shown(scale * float(got.mean()))} {UNITS[metric]}"
            verdicts.append(f"**{value}**" if reached(got, quo) else value)
        cells.append([cell, words, *verdicts])
    head = ["scenario", "would be good", "public facts", "default", "`news`, ε = 5"]
    head += ["exact counts", "`fn`", "truth"]
    lines = ["## What would be good", "", "Bold: reached.", "", *markdown_table(head, cells)]
    return [*lines, "", *gap_lines(study)]


def _ran(study: Study[Label], cell: str) -> bool:
    return (cell, STATUS_QUO) in study.summaries


def gap_lines(study: Study[Label]) -> list[str]:
    """Return how much of what exact counts gain over public facts is left with ε = 5 per person."""
    lines = []
    cells = dict.fromkeys(cell for cell, _ in study.summaries if cell.startswith(OF_THE_APP))
    for cell in cells:
        exact, private = (gain(study, cell, name, FLOOR) for name in (EXACT, PRIVATE))
        if exact is None or private is None:
            continue
        told = f"against public facts exact counts have {_in_words(exact)}, private ones "
        told += f"{_in_words(private)}"
        if exact.interval[0] > 0.0:
            share = private.mean / exact.mean
            word = "reached" if share >= HALF else "missed"
            told += f": {100 * share:.0f} % of the gap (aim: half; {word})"
        else:
            told += ": there is no gap that could be told, and nothing to recover"
        days = study.difference((cell, PRIVATE), (cell, EXACT), _AT_HOME).values
        home = more(named_interval("n", days), "n", "person-days at home")
        lines.append(f"- {cell}: {told}. Private ones beside exact ones: {home}.")
    return lines


def _in_words(found: Spread) -> str:
    """Return infections averted as a difference."""
    return fewer(named_interval("n", found.values), "n", "infections")
