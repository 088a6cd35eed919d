"""Reproduce the paper's figure and table, and choose the best γ."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from dnatrace.errors import InputError
from dnatrace.methods.base import release_of
from dnatrace.paper.claims import PEAK, judge
from dnatrace.paper.setting import (
    FULL,
    GAMMAS,
    VALIDATION_SEEDS,
    Point,
    Size,
    clips,
    configuration,
    methods_of,
    points_of,
)
from dnatrace.paper.verdicts import Claim
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.sweeps.study import PER_MILLE, Study, best_settings, run_study
from dnatrace.sweeps.sweep import Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What was reproduced.

    Attributes:
        target: `figure` or `table`.
        configs: the configurations to run, by point.
        study: the results.
        claims: the claims with their verdicts.
        notes: what a reader must know, failures included.
        size: how much was run.
        failures: points without a row, and why; empty when all runs succeeded.
    """

    target: str
    configs: dict[Point, RunConfig]
    study: Study[Point]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    size: Size
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GammaChoices:
    """The best γ of each method.

    Attributes:
        rows: one per method and ε, as in `reference_data/best_gamma.csv`, with the means of all γ.
        notes: what a reader must know, failures included.
        failures: methods and ε for which there is no choice because runs failed, and why.
    """

    rows: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    failures: tuple[str, ...]


def reproduce(
    target: str,
    *,
    store: Path,
    size: Size = FULL,
    method: str | None = None,
    **where: Unpack[Where],
) -> Reproduction:
    """Run the figure or the table and judge its claims; runs in the store are not repeated.

    A failed run invalidates its point: claims about the point are not tested, and say why.

    Args:
        target: `figure` or `table`.
        store: the store of the runs.
        size: how much to run.
        method: only this method, in addition to the bounds.
        where: where the runs are done, as for `sweep`.
    """
    methods, notes = methods_of(target, method)
    configs = {point: configuration(point, size) for point in points_of(target, methods, size)}
    study = run_study(configs, seeds=size.seeds, store=store, **where)
    failures = describe_failures(study)
    return Reproduction(
        target=target,
        configs=configs,
        study=study,
        claims=tuple(judge(target, study, size)),
        notes=(size.describe(), *notes, *failures),
        size=size,
        failures=failures,
    )


def describe_failures(study: Study[Point]) -> tuple[str, ...]:
    """Return one line per method, setting and error, for points without a row."""
    counts = Counter((p.method, str(p.setting), f.error) for p, f in study.failures.items())
    return tuple(
        f"FAILED: {method} ({setting}) has no row in {n} scenario{'s' * (n > 1)}: {error}"
        for (method, setting, error), n in counts.items()
    )


def choose_gammas(
    *, store: Path, size: Size = FULL, method: str | None = None, **where: Unpack[Where]
) -> GammaChoices:
    """Return the best γ per method and ε by mean peak on validation seeds, with all means.

    The rows have the form of `reference_data/best_gamma.csv`; the seeds are not used for anything
    else. With a failed run there is no choice: the best of the others might not be the best.

    Raises:
        InputError: the method has no γ to choose.
    """
    methods, _ = methods_of("figure", method)
    if not any(map(clips, methods)):
        raise InputError(f"method '{method}' clips no messages: it has no γ to choose")
    configs: dict[tuple[str, float, float], RunConfig] = {
        (name, epsilon, gamma): load_config(
            overrides=size.overrides | {"method": name, "epsilon": epsilon, "gamma": gamma}
        )
        for name in methods
        if clips(name)
        for epsilon in size.epsilons
        for gamma in GAMMAS
    }
    study = run_study(configs, seeds=VALIDATION_SEEDS, store=store, **where)
    origin = "dnatrace reproduce gamma" + (" --quick" if size.is_small else "")
    best = best_settings(study, PEAK)
    chosen, failures = [], dict[tuple[str, float], str]()
    for name, epsilon, gamma in study.failures:
        error = study.failures[name, epsilon, gamma].error
        failures.setdefault((name, epsilon), f"FAILED: {name} has no γ at ε = {epsilon:g}: {error}")
    for name, epsilon in (key for key in dict.fromkeys(k[:2] for k in configs) if key in best):
        means = {g: PER_MILLE * study.spread((name, epsilon, g), PEAK).mean for g in GAMMAS}
        row = {
            "method": name,
            "release": release_of(configs[name, epsilon, GAMMAS[0]].method),
            "epsilon": epsilon,
        }
        chosen.append(row | {"gamma": best[name, epsilon], "origin": origin, "means": means})
    return GammaChoices(
        rows=tuple(chosen),
        notes=(replace(size, seeds=VALIDATION_SEEDS).describe(), *failures.values()),
        failures=tuple(failures.values()),
    )
