"""Race against other programs within one run: `python -m benchmarks.peers`.

The simulator alone against Covasim and Starsim (those of them that are installed), and inference
against a plain forward–backward in numba, as a first version would be written. Repetitions
alternate, so that a noisy minute hits both; a ratio is the median over repetitions of our time
divided by theirs (smaller is better), its spread the smallest and largest of them. Simulators model
different things at different depth: what is compared is the time for a city of given size and
length, not its results. Other programs, such as OpenABM-Covid19 or published tracing codes, are
timed by `--program NAME=COMMAND`: wall time of the whole command, once per repetition.
"""

import argparse
import math
import shlex
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from importlib import import_module, util
from typing import Any

import numpy as np
from numba import njit

from benchmarks.inference import PARAMETERS, ROUNDS, TEST_ERRORS, pushed_window, tested_log
from benchmarks.measure import print_table
from dnatrace.inference.factorised_neighbours import infer_window
from dnatrace.seir import pack_model
from dnatrace.simulators.city import City

DAYS, REPETITIONS = 100, 5
Call = Callable[[], object]


@njit(cache=True)
def plain_rounds(  # type: ignore[no-untyped-def]
    offsets, senders, outcomes, model, p1, rounds
):
    """Return P(I) [days, people] after rounds of forward–backward, person by person.

    `offsets` [days, people + 1] and `senders` are the contacts of all days, one after another.
    """
    n_days, n_people = outcomes.shape
    p0, g, h, background, negative, positive = model
    infected = np.zeros((n_days, n_people))
    for _ in range(rounds):
        after = np.zeros((n_days, n_people))
        for p in range(n_people):
            stay = np.ones(n_days)
            for t in range(n_days):
                total = background
                for i in range(offsets[t, p], offsets[t, p + 1]):
                    total += -math.log1p(-p1 * infected[t, senders[i]])
                stay[t] = math.exp(-total)
            alpha = np.zeros((n_days, 4))
            alpha[0, 0], alpha[0, 1] = 1.0 - p0, p0
            for t in range(1, n_days):
                S, E, I, R = alpha[t - 1]
                ratio = 1.0
                if outcomes[t, p] >= 0:
                    ratio = positive if outcomes[t, p] > 0 else negative
                alpha[t, 0] = S * stay[t - 1]
                alpha[t, 1] = S * (1.0 - stay[t - 1]) + E * (1.0 - g)
                alpha[t, 2] = (E * g + I * (1.0 - h)) * ratio
                alpha[t, 3] = I * h + R
                alpha[t] /= alpha[t].sum()
            beta = np.ones(4)
            for t in range(n_days - 1, -1, -1):
                joint = alpha[t] * beta
                after[t, p] = joint[2] / joint.sum()
                if t > 0:
                    ratio = 1.0
                    if outcomes[t, p] >= 0:
                        ratio = positive if outcomes[t, p] > 0 else negative
                    S, E, I, R = beta[0], beta[1], beta[2] * ratio, beta[3]
                    beta[0] = stay[t - 1] * S + (1.0 - stay[t - 1]) * E
                    beta[1] = (1.0 - g) * E + g * I
                    beta[2] = (1.0 - h) * I + h * R
                    beta[3] = R
                    beta /= beta.sum()
        infected = after
    return infected


def _inference(n_people: int) -> tuple[Call, Call]:
    """Return ours and the plain one on the same window."""
    window, log = pushed_window(n_people, 14), tested_log(n_people, 14)
    starts = np.cumsum([0, *(day.senders.size for day in window)])[:-1]
    offsets = np.stack([day.offsets + s for day, s in zip(window, starts, strict=True)])
    senders = np.concatenate([day.senders for day in window])
    model, outcomes = pack_model(PARAMETERS, TEST_ERRORS), log.outcomes
    return (
        lambda: infer_window(
            window, log, parameters=PARAMETERS, test_errors=TEST_ERRORS, rounds=ROUNDS
        ),
        lambda: plain_rounds(offsets, senders, outcomes, tuple(model), PARAMETERS.p1, ROUNDS),
    )


def _city(n_people: int, days: int) -> Call:
    def run() -> None:
        city = City(n_people=n_people, seed=1, initially_infected=max(5, n_people // 2000))
        for _ in range(days):
            city.advance()

    return run


def _covasim(n_people: int, days: int) -> Call:
    covasim = import_module("covasim")
    settings = {"pop_size": n_people, "n_days": days, "pop_type": "hybrid", "verbose": 0}
    return lambda: covasim.Sim(**settings).run()


def _starsim(n_people: int, days: int) -> Call:
    starsim = import_module("starsim")
    settings = {"n_agents": n_people, "start": 0, "stop": days, "dt": 1, "verbose": 0}
    return lambda: starsim.Sim(diseases="sir", networks="random", **settings).run()


def _program(command: str) -> Call:
    return lambda: subprocess.run(shlex.split(command), check=True, capture_output=True)


def race(name: str, n_people: int, ours: Call, theirs: Call, repetitions: int) -> dict[str, Any]:
    """Time the two in turn, after one call each to compile."""
    ours()
    theirs()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        theirs()
        times.append((middle - start, time.perf_counter() - middle))
    ratios = [mine / other for mine, other in times]
    return {
        "race": name,
        "people": n_people,
        "ours_s": statistics.median(mine for mine, _ in times),
        "theirs_s": statistics.median(other for _, other in times),
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "most": max(ratios),
    }


def races(
    sizes: Sequence[int], *, quick: bool = False, programs: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return all races; those with packages that are not installed are left out."""
    days, repetitions = (5, 2) if quick else (DAYS, REPETITIONS)
    others = {"covasim": _covasim, "starsim": _starsim}
    rows = []
    for n in sizes:
        rows.append(race("inference over plain", n, *_inference(n), repetitions))
        for name, of in others.items():
            if util.find_spec(name) is not None:
                ours, theirs = _city(n, days), of(n, days)
                rows.append(race(f"city over {name}", n, ours, theirs, repetitions))
        for named in programs:
            name, _, command = named.partition("=")
            ours, theirs = _city(n, days), _program(command)
            rows.append(race(f"city over {name}", n, ours, theirs, repetitions))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--people", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--program", action="append", default=[], metavar="NAME=COMMAND")
    options = parser.parse_args()
    sizes = [300] if options.quick else options.people
    print_table("races", races(sizes, quick=options.quick, programs=options.program))


if __name__ == "__main__":
    main()
