"""What runs say, in a few plain sentences: what was done, what it brought, what it cost.

The same words stand on top of the report and of the live page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.privacy.attack import guessing_limit, in_a_hundred
from dnatrace.runs.quantities import shown
from dnatrace.sweeps.spread import Spread

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One run, as far as sentences need it.

    Attributes:
        seed: of the run.
        summary: as `dnatrace run --json` prints it.
        most_isolated: share of people in isolation on the worst day.
    """

    seed: int
    summary: Mapping[str, Any]
    most_isolated: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Runs of one setting, one per seed.

    Attributes:
        name: what sentences call it.
        runs: in order of their seeds.
    """

    name: str
    runs: Sequence[Told]

    @property
    def first(self) -> Mapping[str, Any]:
        """The summary of the first seed."""
        return self.runs[0].summary

    def by_seed(self, value: Callable[[Told], float]) -> dict[int, float]:
        """Return a number of every run that has it, by seed."""
        return {run.seed: value(run) for run in self.runs}

    def mean(self, value: Callable[[Told], float]) -> float:
        """Return the mean of a number over seeds."""
        return float(np.mean(list(self.by_seed(value).values())))

    def minus(self, other: "Side", value: Callable[[Told], float]) -> Spread | None:
        """Return by how much a number exceeds that of another side on common seeds."""
        ours, theirs = self.by_seed(value), other.by_seed(value)
        gains = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
        return Spread(values=np.array(gains)) if gains else None


def ever_infected(run: Told) -> float:
    """Return how many people were infected."""
    return float(run.summary["attack_rate"] * run.summary["people"])


def _per_person(key: str) -> Callable[[Told], float]:
    return lambda run: float(run.summary[key] / run.summary["people"])


def answer(
    main: Side, *, nothing: Side | None = None, floor: Side | None = None, other: Side | None = None
) -> list[str]:
    """Return sentences about a setting, beside nothing done, the floor and another setting."""
    beside = other if other is not None and other.runs else None
    told = [_outcome(main, nothing, named=beside is not None), _rising(main)]
    told += [_against(beside, main)] if beside is not None else []
    promise = _promise(main.first["privacy"])
    told += [_beside_floor(main, floor), _cost(main), promise]
    if beside is not None and _promise(beside.first["privacy"]) != promise:
        told.append(f"With {beside.name}: {_promise(beside.first['privacy'])}")
    return [sentence for sentence in told if sentence]


def _people(number: float) -> str:
    return f"{number:.0f}" if number < 1000 else f"{number:,.0f}"


def _outcome(main: Side, nothing: Side | None, *, named: bool) -> str:
    first, infected = main.first, _people(main.mean(ever_infected))
    text = (
        f"With {main.name} {infected} of {first['people']:,} people were infected"
        if named
        else f"Of {first['people']:,} people {infected} were infected"
    )
    if nothing is not None and nothing.runs and nothing.first["method"] != first["method"]:
        instead = _people(nothing.mean(ever_infected))
        return f"{text} in {first['days']} days instead of {instead} with nothing done."
    return f"{text} in {first['days']} days."


def _rising(main: Side) -> str:
    """Say that the numbers are not the end of it."""
    rising = sum(run.summary.get("peak_reached") is False for run in main.runs)
    if not rising:
        return ""
    where = "" if rising == len(main.runs) else f" in {rising} of {len(main.runs)} runs"
    return f"Infections still rise on the last day{where}: the worst is yet to come."


def _beside_floor(main: Side, floor: Side | None) -> str:
    """Say what messages between phones bring beyond what everybody knows of themselves."""
    if floor is None or not floor.runs or floor.first["method"] == main.first["method"]:
        return ""
    infected = _people(floor.mean(ever_infected))
    text = f"Without any message between phones {infected} would have been infected"
    averted = floor.minus(main, ever_infected)
    if averted is None or averted.values.size < 2:
        return f"{text}."
    if _is_chance(averted):
        return f"{text}: {_chance(averted)}, so nothing shows that messages pay here."
    kind = "fewer" if averted.mean > 0.0 else "more"
    size = _pair(abs(averted.mean), averted.half_width)
    return f"{text}: messages make it {size} {kind}."


def _is_chance(apart: Spread) -> bool:
    """Whether the interval of a difference holds 0."""
    low, high = apart.interval
    return low <= 0.0 <= high


def _chance(apart: Spread) -> str:
    return f"no more than chance apart in {apart.values.size} runs"


def _pair(mean: float, half: float) -> str:
    return f"{shown(mean)} ± {shown(half)}"


def _cost(main: Side) -> str:
    worst = main.mean(lambda run: run.most_isolated)
    days = main.mean(_per_person("isolation_person_days"))
    tests = main.mean(_per_person("tests_used"))
    if worst == 0.0 and tests == 0.0:
        return "Nobody was tested and nobody stayed at home."
    isolated = f"1 in {shown(round(1 / worst))} was" if worst > 0.0 else "Nobody was"
    return (
        f"{isolated} in isolation on the worst day; each person had {shown(tests)} tests and "
        f"{shown(days)} days at home."
    )


def _promise(privacy: Mapping[str, Any]) -> str:
    """Say what one test tells somebody else over all time, and what no promise covers."""
    told = _of_scores(privacy)
    if privacy.get("selection_epsilon") is not None:
        told += " The threshold that chooses tests is published and tells more."
    if privacy.get("policy_tells_of_cases"):
        told += " Besides, the policy tells people of a case without noise; no ε covers that."
    return told


def _of_scores(privacy: Mapping[str, Any]) -> str:
    what = "What one test of yours tells a housemate over all time"
    person = privacy.get("per_person_epsilon")
    if privacy.get("noise") is None:
        if privacy.get("per_release_epsilon") == 0.0:
            return f"{what}: nothing, because phones tell each other nothing (ε = 0)."
        return f"{what}: nothing is promised, scores are shown as they are."
    if privacy.get("sound") is not True:
        return f"{what}: NOT SOUND, the stated ε does not hold."
    if person is None:
        return (
            f"{what}: no bound is proved; ε = {shown(privacy['per_release_epsilon'])} per release."
        )
    limit = in_a_hundred(guessing_limit(person, privacy["delta"]))
    so_far = " so far" if privacy.get("person_unfinished") else ""
    simulated = "" if privacy.get("protects") else " (proved for ideal noise; this is a simulation)"
    return (
        f"{what}{so_far}: ε = {shown(person)}, so that whoever guesses your result is right at "
        f"most {limit} times in 100; a coin is right 50 times{simulated}."
    )


def _against(other: Side, main: Side) -> str:
    """Say how another setting compares on the same seeds."""
    text = f"{other.name}: {_people(other.mean(ever_infected))} were infected"
    apart = other.minus(main, ever_infected)
    if apart is None or apart.values.size < 2:
        return f"{text}."
    if _is_chance(apart):
        sign = "+" if apart.mean > 0.0 else ""
        size = _pair(apart.mean, apart.half_width)
        return f"{text}: {_chance(apart)} from {main.name} ({sign}{size})."
    kind = "more" if apart.mean > 0 else "fewer"
    size = _pair(abs(apart.mean), apart.half_width)
    return f"{text}, {size} {kind} than with {main.name} on the same seeds."


def how_sure(main: Side, nothing: Side | None, *, asked: int | None = None) -> str:
    """Say what the numbers rest on."""
    n = len(main.runs)
    to_come = f" of {asked}" if asked is not None and asked > n else ""
    if n == 1:
        more = "; more are on their way" if to_come else ""
        return f"One run{to_come}: another seed may come out quite differently{more}."
    text = f"Means of {n}{to_come} runs"
    averted = nothing.minus(main, ever_infected) if nothing is not None and nothing.runs else None
    if averted is None or averted.values.size < 2:
        return f"{text}."
    size = _pair(averted.mean, averted.half_width)
    doubt = "; that may be chance, and more runs would tell" if _is_chance(averted) else ""
    return f"{text}; {size} infections averted, seed by seed (90 % interval){doubt}."
