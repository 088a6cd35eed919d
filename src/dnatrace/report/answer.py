"""What runs show, in a few plain sentences: what was done, what it achieved, what it cost.

The same words are at the top of the report and of the live page.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.privacy.attack import guessing_limit, in_a_hundred
from dnatrace.runs.guarantees import scores_noised
from dnatrace.runs.quantities import shown, shown_difference, still_rising, whole
from dnatrace.sweeps.spread import Spread

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The parts of a run that sentences need.

    Attributes:
        seed: the seed of the run.
        summary: the summary, as `dnatrace run --json` prints it.
        most_isolated: the share of people in isolation on the worst day.
    """

    seed: int
    summary: Mapping[str, Any]
    most_isolated: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The runs of one setting, one per seed.

    Attributes:
        name: what sentences call it.
        runs: the runs in order of their seeds.
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

    @property
    def seeds(self) -> set[int]:
        """The seeds of its runs."""
        return {run.seed for run in self.runs}

    def on(self, seeds: Collection[int]) -> "Side":
        """Return the runs on some seeds alone."""
        return replace(self, runs=[run for run in self.runs if run.seed in seeds])

    def on_seeds_of(self, other: "Side") -> "Side | None":
        """Return the runs on the seeds of another side; None if one of them is missing.

        Guarantee: the two means then differ for no other reason than their settings.
        """
        return self.on(other.seeds) if self.runs and other.seeds <= self.seeds else None


def on_common_seeds(main: Side, other: Side) -> tuple[Side, Side]:
    """Return two sides on the seeds that both have; as they are if there is none."""
    common = main.seeds & other.seeds
    return (main.on(common), other.on(common)) if common else (main, other)


def ever_infected(run: Told) -> float:
    """Return how many people were infected."""
    return float(run.summary["attack_rate"] * run.summary["people"])


def share_infected(run: Told) -> float:
    """Return which share of people was infected."""
    return float(run.summary["attack_rate"])


def _infected_percent(run: Told) -> float:
    return 100.0 * share_infected(run)


def listed(values: Sequence[object]) -> str:
    """Return values as a sentence lists them: 1, 2 and 3."""
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}" if first else last


def _per_person(key: str) -> Callable[[Told], float]:
    return lambda run: float(run.summary[key] / run.summary["people"])


def answer(
    main: Side, *, nothing: Side | None = None, floor: Side | None = None, other: Side | None = None
) -> list[str]:
    """Return the sentences of `by_topic` alone."""
    return [text for _, text in by_topic(main, nothing=nothing, floor=floor, other=other)]


def by_topic(
    main: Side, *, nothing: Side | None = None, floor: Side | None = None, other: Side | None = None
) -> list[tuple[str, str]]:
    """Return sentences that compare a setting with doing nothing, the floor and another setting.

    Each comes with a word for its topic. The floor and doing nothing are those of the setting; when
    there is another setting, every sentence says whose numbers it reports. Numbers are compared on
    the same seeds alone: of two settings those that both have, and the floor or doing nothing is
    mentioned if it has all of these.
    """
    beside = other if other is not None and other.runs else None
    if beside is not None:
        main, beside = on_common_seeds(main, beside)
    nothing, floor = (side and side.on_seeds_of(main) for side in (nothing, floor))
    named = beside is not None
    both = [side for side in (main, beside) if side is not None]
    told = [("Outcome", _outcome(main, nothing, beside))]
    told += [("Not over", _rising(side, named=named)) for side in both]
    if beside is not None:
        told.append((f"{beside.name} or {main.name}", _against(beside, main)))
    told += [("Messages", _beside_floor(main, floor, named=named))]
    told += [("Cost", _cost(side, named=named)) for side in both]
    told += [("Privacy", text) for text in _promises(main, beside)]
    return [(topic, sentence) for topic, sentence in told if sentence]


def _promises(main: Side, beside: Side | None) -> list[str]:
    """Return what is promised; a promise of both settings is stated once."""
    scores, besides = _of_scores(main.first["privacy"]), _besides(main.first["privacy"])
    if beside is None:
        return [" ".join((scores, *besides))]
    theirs, more = _of_scores(beside.first["privacy"]), _besides(beside.first["privacy"])
    if theirs != scores:
        both = ((main.name, [scores, *besides]), (beside.name, [theirs, *more]))
        return [f"With {name}: {_small(' '.join(told))}" for name, told in both]
    if besides == more:
        return [" ".join((scores, *besides))]
    apart = ((main.name, besides), (beside.name, more))
    return [scores, *(f"With {name}: {_small(' '.join(told))}" for name, told in apart if told)]


def _small(sentence: str) -> str:
    """Return a sentence as it continues after a colon."""
    return sentence[:1].lower() + sentence[1:]


def _people(number: float) -> str:
    return f"{whole(number):,}"


def _outcome(main: Side, nothing: Side | None, beside: Side | None) -> str:
    first, infected = main.first, _people(main.mean(ever_infected))
    of = f"{first['people']:,} people"
    if beside is None:
        text = f"Of {of} {infected} were infected in {first['days']} days"
    elif _alike(main, beside) and main.seeds == beside.seeds:
        theirs = _people(beside.mean(ever_infected))
        both = f"With {main.name} {infected} and with {beside.name} {theirs}"
        text = f"{both} of {of} were infected in {first['days']} days"
    else:
        text = f"With {main.name} {infected} of {of} were infected in {first['days']} days"
    if nothing is None or _is_same(main, nothing):
        return f"{text}."
    where = "" if beside is None else f" in the situation of {main.name}"
    instead = _people(nothing.mean(ever_infected))
    return f"{text} instead of {instead} with nothing done{where}."


def _alike(one: Side, other: Side) -> bool:
    """Whether two settings have the same numbers of people and days."""
    return all(one.first[key] == other.first[key] for key in ("people", "days"))


def _rising(main: Side, *, named: bool) -> str:
    """Say that the number of infected people is still rising."""
    rising = sum(run.summary.get("peak_reached") is False for run in main.runs)
    text = still_rising(rising, len(main.runs))
    return f"With {main.name} {_small(text)}" if named and text else text


def _beside_floor(main: Side, floor: Side | None, *, named: bool) -> str:
    """Say what messages between phones add to what people know about themselves."""
    if floor is None or floor.first["method"] == main.first["method"]:
        return ""
    infected = _people(floor.mean(ever_infected))
    whose = f"With {main.name} but without" if named else "Without"
    text = f"{whose} any message between phones (the floor) {infected} would have been infected"
    averted = floor.minus(main, ever_infected)
    if averted is None or averted.values.size < 2:
        return f"{text}."
    if _is_chance(averted):
        return f"{text}: {_chance(averted)}, so nothing shows that messages help here."
    kind = "fewer" if averted.mean > 0.0 else "more"
    size = _pair(abs(averted.mean), averted.half_width)
    return f"{text}: messages make it {size} {kind}."


def _is_chance(apart: Spread) -> bool:
    """Whether the interval of a difference contains 0."""
    low, high = apart.interval
    return low <= 0.0 <= high


def _chance(apart: Spread) -> str:
    return f"no more than chance apart in {apart.values.size} runs"


def _pair(mean: float, half: float) -> str:
    return f"{shown(mean)} ± {shown(half)}"


def _cost(main: Side, *, named: bool) -> str:
    whose = f"With {main.name}: " if named else ""
    worst = main.mean(lambda run: run.most_isolated)
    days = main.mean(_per_person("isolation_person_days"))
    tests = main.mean(_per_person("tests_used"))
    if worst == 0.0 and tests == 0.0:
        return f"{whose}{'n' if named else 'N'}obody was tested and nobody stayed at home."
    nobody = "nobody" if named else "Nobody"
    isolated = f"1 in {_people(1 / worst)} was" if worst > 0.0 else f"{nobody} was"
    return (
        f"{whose}{isolated} at home on the worst day; on average a person had {shown(tests)} tests "
        f"and {shown(days)} days at home."
    )


def _besides(privacy: Mapping[str, Any]) -> list[str]:
    """Say what the promise about scores does not cover."""
    told = []
    if privacy.get("selection_epsilon") is not None:
        told.append("The threshold that chooses tests is published and reveals more.")
    if privacy.get("policy_tells_of_cases"):
        told.append(
            "In addition, the policy tells people of a case without noise; no ε covers that."
        )
    return told


def _of_scores(privacy: Mapping[str, Any]) -> str:
    """Say what one test reveals to somebody else through scores, over all time."""
    what = "What one of your tests reveals to a housemate over all time"
    person = privacy.get("per_person_epsilon")
    if not scores_noised(privacy):
        if privacy.get("per_release_epsilon") == 0.0:
            return f"{what}: nothing, because phones tell each other nothing (ε = 0)."
        return f"{what}: nothing is promised, scores are shown as they are."
    if privacy.get("sound") is not True:
        return f"{what}: NOT SOUND, the stated ε does not hold."
    if person is None:
        return (
            f"{what}: no bound is proved; ε = {shown(privacy['per_release_epsilon'])} per release."
        )
    share = guessing_limit(person, privacy["delta"])
    so_far = " so far" if privacy.get("person_unfinished") else ""
    simulated = "" if privacy.get("protects") else " (proved for ideal noise; this is a simulation)"
    return (
        f"{what}{so_far}: ε = {shown(person)}, so that anybody who guesses your result is right at "
        f"most {in_a_hundred(share)} times in 100, odds of {_odds(share)}; a coin is right 50 "
        f"times, odds of 1 to 1{simulated}."
    )


def _odds(share: float) -> str:
    """Return a share of right guesses as odds, rounded like the share itself."""
    return "over 999 to 1" if share > 0.999 else f"{shown(share / (1.0 - share))} to 1"


def in_odds(privacy: Mapping[str, Any]) -> str:
    """Say what ε of one test of a person means for the odds; empty where none is proved.

    Guarantee: this is the definition of (ε, δ) in words. Beyond an e^ε of a million the number is
    not given.
    """
    person = privacy.get("per_person_epsilon")
    if not scores_noised(privacy) or privacy.get("sound") is not True or person is None:
        return ""
    most = f"{shown(math.exp(person))} times" if person < math.log(1e6) else "over a million times"
    share = in_a_hundred(guessing_limit(person, privacy["delta"]))
    return (
        f"In odds: whatever a housemate can see over all time is at most {most} (e to the power of "
        f"ε = {shown(person)}) as likely with a positive test of yours as with a negative one, "
        f"plus a chance of {privacy['delta']:g} (δ), and vice versa. Somebody who considers both "
        f"equally likely beforehand and then guesses is right at most {share} of 100 times."
    )


_APART = "The two have no seed in common, so chance alone may explain the difference."


def _against(other: Side, main: Side) -> str:
    """Say how another setting compares on the same seeds; by shares if sizes differ.

    Runs of different length are not compared.
    """
    alike, paired = _alike(main, other), main.seeds == other.seeds
    size = f"{other.first['people']:,} people were infected in {other.first['days']} days"
    text = f"With {other.name} {_people(other.mean(ever_infected))} of {size}. "
    ours, theirs = main.first["days"], other.first["days"]
    if ours != theirs:
        lasted = f"{main.name} lasted {ours} days and {other.name} {theirs}"
        return f"{text}{lasted}, so these numbers do not compare policies."
    if not paired:
        return f"{text}{_APART}"
    text = "" if alike else text
    apart = other.minus(main, ever_infected if alike else _infected_percent)
    if apart is None or apart.values.size < 2:
        return text.strip()
    unit = "infections" if alike else "percentage points"
    if _is_chance(apart):
        gap = f"{shown_difference(apart.mean, apart.half_width)} {unit}"
        return f"{text}{other.name} is {_chance(apart)} from {main.name} ({gap}); more may show."
    kind = "more" if apart.mean > 0 else "fewer"
    gap = f"{_pair(abs(apart.mean), apart.half_width)} {kind} {unit}"
    return f"{text}{other.name} has {gap} than {main.name}, seed by seed."


def how_sure(
    main: Side, nothing: Side | None, *, other: Side | None = None, asked: int | None = None
) -> str:
    """Say what the numbers are based on, and how uncertain they are; on the seeds of `by_topic`."""
    if other is not None:
        main, other = on_common_seeds(main, other)
    nothing = nothing and nothing.on_seeds_of(main)
    n = len(main.runs)
    to_come = f" of {asked}" if asked is not None and asked > n else ""
    if n == 1:
        more = "; more are on their way" if to_come else ""
        return f"One run{to_come}: another seed may come out quite differently{more}."
    both = [main] if other is None else [main, other]
    sized = other is not None and not _alike(main, other)
    several = [side for side in both if len(side.runs) > 1]
    counts = [_count(side, named=other is not None, sized=sized) for side in several]
    theirs = f" and {len(other.runs)}" if other is not None and len(other.runs) != n else ""
    text = f"Means of {n}{to_come}{theirs} runs, with 90 % intervals: {' and '.join(counts)}"
    compared = None if nothing is None or _is_same(main, nothing) else nothing
    averted = None if compared is None else compared.minus(main, ever_infected)
    if averted is None or averted.values.size < 2:
        return f"{text}."
    size = _pair(averted.mean, averted.half_width)
    doubt = "; that may be chance, and more runs would show" if _is_chance(averted) else ""
    whose = "" if other is None else f" with {main.name}"
    return f"{text}; {size} infections averted{whose}, seed by seed{doubt}."


def _is_same(main: Side, nothing: Side) -> bool:
    """Whether a setting is itself one in which nothing is done."""
    return bool(main.first["method"] == nothing.first["method"])


def _count(side: Side, *, named: bool, sized: bool) -> str:
    """Return how many were infected, rounded as in the outcome, with the interval of the mean.

    It is said of how many people and in how many days if it is `sized`.
    """
    infected = Spread(values=np.array(list(side.by_seed(ever_infected).values())))
    whose = f" with {side.name}" if named else ""
    count = f"{_people(infected.mean)} ± {_people(infected.half_width)}"
    if not sized:
        return f"{count} infected{whose}"
    return f"{count} of {side.first['people']:,} infected in {side.first['days']} days{whose}"
