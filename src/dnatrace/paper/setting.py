"""The paper's figure and table as configurations: methods, scenarios, settings, sizes.

Every method runs at the published setting (preset `paper`: variant as published, γ = 0.7, P(I)),
under the reading of the paper that matches its numbers best (preset `paper-best-reading`), and with
its sound variant at its own best γ (preset `standard`). `fn` without privacy, `public-only` without
messages and `random` accompany the first and the last: the reading in between exchanges error rates
and changes who isolates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from dnatrace import reference_data
from dnatrace.errors import InputError
from dnatrace.methods.catalogue import METHODS
from dnatrace.networks.architecture import Kind, Variant
from dnatrace.networks.runtime import load_model, model_names
from dnatrace.paper.reading import best_reading
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.simulators.catalogue import SIMULATORS
from dnatrace.simulators.city import CitySettings

PUBLISHED_METHODS = ("traditional", "per-message", "dpfn", "dpfn-s", "dna")
OUR_BEST = "tally"  # our best sound method, next to the published ones
CITY = CitySettings.title()  # the simulator where no other is named
BOUNDS = ("fn", "public-only", "random")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
ADHERENCES = (1.0, 0.8, 0.5)
TEST_ERRORS = ((0.01, 0.001), (0.1, 0.01), (0.25, 0.03))
PAPER_SEEDS = tuple(range(1, 11))  # as many as in the paper
FRESH_SEEDS = tuple(range(3001, 3021))
VALIDATION_SEEDS = (501, 502, 503)
GAMMAS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)


class Setting(StrEnum):
    """Under which settings a method runs."""

    PUBLISHED = "published"
    READING = "best reading"
    BEST = "best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What varies apart from the method."""

    epsilon: float = 1.0
    adherence: float = 1.0
    false_positive_rate: float = 0.01
    false_negative_rate: float = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A method in a scenario under a setting: one row of the results."""

    setting: Setting
    method: str
    scenario: Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is run.

    Attributes:
        seeds: the seeds, common to all points.
        epsilons: the values of ε in the figure.
        overrides: changes to every configuration.
        is_small: whether the numbers say little about a city of 10,000.
    """

    seeds: tuple[int, ...] = PAPER_SEEDS
    epsilons: tuple[float, ...] = EPSILONS
    overrides: dict[str, Any] = field(default_factory=dict)
    is_small: bool = False

    def describe(self) -> str:
        """Return one sentence."""
        o = self.overrides
        where = f", simulator {o['simulator']}" if "simulator" in o else ""
        n = len(self.seeds)
        if not self.is_small:
            return f"10,000 people, 100 days, {n} seeds from {self.seeds[0]}{where}."
        return (
            f"SMALL VERSION: {o['people']:,} people, {o['days']} days, {n} seeds{where}. Its "
            "numbers must not be compared with published ones."
        )


FULL = Size()
QUICK = Size(
    seeds=(1, 2, 3, 4, 5),
    epsilons=(0.1, 1.0, 10.0),
    overrides={"people": 2000, "days": 60, "initially_infected": 10},
    is_small=True,
)


def with_fresh_seeds(size: Size, *, most: int | None = None) -> Size:
    """Return the size on seeds other than the paper's: twenty, or as many as a small size has."""
    n = len(size.seeds) if size.is_small else len(FRESH_SEEDS)
    return with_fewer_seeds(replace(size, seeds=FRESH_SEEDS[:n]), most)


def with_fewer_seeds(size: Size, most: int | None) -> Size:
    """Return the size with only the first `most` of its seeds; None takes all.

    Raises:
        InputError: fewer than two seeds, which give no interval, or more than there are.
    """
    if most is None:
        return size
    if not 2 <= most <= len(size.seeds):
        raise InputError(f"seeds must be from 2 to {len(size.seeds)}, not {most}")
    return replace(size, seeds=size.seeds[:most])


def on_simulator(size: Size, name: str | None) -> Size:
    """Return the size on another simulator; the default one is not mentioned.

    Raises:
        InputError: there is no simulator of this name, or it cannot be used here.
    """
    if name is None or name == CITY:
        return size
    usable, why = SIMULATORS[name].availability()
    if not usable:
        raise InputError(f"simulator {name}: {why}")
    if SIMULATORS[name].knows_people:
        raise InputError(f"simulator {name} has people of its own: the paper's city has 10,000")
    return replace(size, overrides=dict(size.overrides) | {"simulator": name})


def methods_of(target: str, only: str | None) -> tuple[list[str], list[str]]:
    """Return the private methods of a target that exist here, and notes on those that do not."""
    published = PUBLISHED_METHODS if target == "figure" else ("dpfn-s", "dna")
    wanted = list(dict.fromkeys((*published, OUR_BEST)))
    if only is not None:
        wanted = [METHODS[only].title()]  # raises for a wrong name
    notes = [f"{name} is not part of this version" for name in wanted if name not in METHODS]
    return [name for name in wanted if name in METHODS and name not in BOUNDS], notes


def scenarios_of(target: str, size: Size) -> list[Scenario]:
    """Return the scenarios of a target; those of the table are at ε = 1."""
    if target == "figure":
        return [Scenario(epsilon=epsilon) for epsilon in size.epsilons]
    varied = [Scenario(adherence=a) for a in ADHERENCES]
    varied += [
        Scenario(false_positive_rate=fpr, false_negative_rate=fnr) for fpr, fnr in TEST_ERRORS[1:]
    ]
    return varied


def points_of(target: str, methods: Sequence[str], size: Size) -> list[Point]:
    """Return every point of a target; the bounds do not depend on ε and appear once."""
    scenarios = scenarios_of(target, size)
    once = list(dict.fromkeys(replace(s, epsilon=Scenario().epsilon) for s in scenarios))
    points = []
    for setting in Setting:
        for method in methods:
            if setting is Setting.BEST or method in PUBLISHED_METHODS:
                points += [Point(setting=setting, method=method, scenario=s) for s in scenarios]
        bounds = () if setting is Setting.READING else BOUNDS
        points += [Point(setting=setting, method=m, scenario=s) for s in once for m in bounds]
    return points


def configuration(point: Point, size: Size) -> RunConfig:
    """Return the configuration of a point; its seed is replaced later."""
    s = point.scenario
    if point.setting is Setting.READING:
        return best_reading().configuration(point.method, s, size)
    overrides: dict[str, Any] = size.overrides | {
        "method": point.method,
        "epsilon": s.epsilon,
        "isolation.adherence": s.adherence,
        "tests.false_positive_rate": s.false_positive_rate,
        "tests.false_negative_rate": s.false_negative_rate,
    }
    if point.setting is Setting.PUBLISHED:
        releases = METHODS[point.method].releases()
        overrides["release"] = "as_published" if "as_published" in releases else None
        if point.method == "dna":
            overrides["method.model"] = published_model()
        return load_config(preset="paper", overrides=overrides)
    if clips(point.method):
        overrides["gamma"] = best_gamma(point.method, s.epsilon)
    return load_config(preset="standard", overrides=overrides)


def clips(method: str) -> bool:
    """Return whether a method clips messages, so that its γ has an effect."""
    return "gamma" in METHODS[method].names_in_files()


def published_model() -> str | None:
    """Return the shipped network of the published architecture, trained with F; None without one.

    If there are several, the one for the published γ and target comes first.
    """
    published = getattr(load_config(preset="paper").method, "gamma", 1.0)
    models = [load_model(name) for name in model_names()]
    fitting = [
        m
        for m in models
        if (m.architecture.kind, m.architecture.variant) == (Kind.PAPER, Variant.COMBINED)
    ]
    fitting.sort(key=lambda m: (m.with_exposed, abs(m.gamma - published)))
    return fitting[0].name if fitting else None


def best_gamma(method: str, epsilon: float) -> float:
    """Return the γ chosen on validation seeds for the nearest ε (on a log scale).

    A method without its own choice takes that of `dpfn-s`, on whose statistic it is based.
    """
    return float(_choice(method, epsilon)["gamma"])


def gamma_origin(point: Point) -> str:
    """Return whose γ a point has: its own choice, that of the nearest ε, or that of `dpfn-s`."""
    if not clips(point.method):
        return ""
    if point.setting is Setting.PUBLISHED:
        return "preset paper"
    if point.setting is Setting.READING:
        return "preset paper-best-reading"
    choice = _choice(point.method, point.scenario.epsilon)
    borrowed = ["dpfn-s"] if choice["method"] != point.method else []
    if float(choice["epsilon"]) != point.scenario.epsilon:
        borrowed.append(f"nearest ε, {choice['epsilon']}")
    return ", ".join(borrowed) or "chosen"


def _choice(method: str, epsilon: float) -> dict[str, str]:
    """Return the row of `best_gamma.csv` that a method uses at ε."""
    rows = reference_data.read_table("best_gamma.csv")
    mine = [r for r in rows if r["method"] == method] or [
        r for r in rows if r["method"] == "dpfn-s"
    ]
    return min(mine, key=lambda r: abs(math.log(float(r["epsilon"]) / epsilon)))
