"""What privacy costs: `python -m benchmarks.release`.

Milliseconds to release the scores of 10,000 people on a full window of 14 days, by method and
release, beside the inference that comes before it (the baseline of the ratios); and microseconds a
draw of the secure back end. State of earlier days (frozen values, spent budgets) is carried along.
"""

import argparse
from typing import Any

import numba
import numpy as np

from benchmarks.inference import PARAMETERS, ROUNDS, TEST_ERRORS, pushed_window, tested_log
from benchmarks.measure import print_table, seconds
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.methods.base import DayFacts, Score
from dnatrace.methods.catalogue import CATALOGUE, MethodOptions, build_method
from dnatrace.privacy.accounting import Target
from dnatrace.privacy.noise import FastNoise, SecureNoise

SECURE_DRAWS = 2_000


def facts_of(n_people: int) -> DayFacts:
    window, log = pushed_window(n_people, 14), tested_log(n_people, 14)
    outcomes = log.outcomes
    model: dict[str, Any] = {"parameters": PARAMETERS, "test_errors": TEST_ERRORS}
    heard = fn.converse(window, outcomes, rounds=ROUNDS, **model)
    messages = fn.infected(heard, outcomes, **model)
    return DayFacts(
        day=13, window=window, outcomes=outcomes, heard=heard, messages=messages, **model
    )


def release_seconds(name: str, release: str | None, facts: DayFacts) -> float:
    options = MethodOptions(
        release=release,
        score=Score.EXPOSED_OR_INFECTED,
        gamma=0.2,
        mu_ref=0.005,
        rho=0.05,
        target=Target(epsilon=1.0),
        window=14,
        noise=FastNoise(seed=1),
    )
    method = build_method(name, options)
    _, state = method.release(facts, method.start(facts.window.n_people))
    return seconds(lambda: method.release(facts, state), repeats=15)


def secure_microseconds() -> float:
    noise = SecureNoise()
    values, scale = np.zeros(SECURE_DRAWS), np.full(SECURE_DRAWS, 0.006)
    draw = seconds(
        lambda: noise.perturb(values, scale, multiplier=2.57, purpose="benchmark", day=0),
        repeats=3,
    )
    return 1e6 * draw / SECURE_DRAWS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=10_000)
    options = parser.parse_args()
    numba.set_num_threads(min(2, numba.get_num_threads()))
    facts = facts_of(options.people)

    def infer() -> None:
        heard = fn.converse(
            facts.window,
            facts.outcomes,
            rounds=ROUNDS,
            parameters=PARAMETERS,
            test_errors=TEST_ERRORS,
        )
        fn.infected(heard, facts.outcomes, parameters=PARAMETERS, test_errors=TEST_ERRORS)

    baseline = seconds(infer, repeats=15)
    rows = [{"method": "inference (baseline)", "ms": 1e3 * baseline, "over_inference": 1.0}]
    for name in (
        "public-only",
        "fn",
        "traditional",
        "per-message",
        "dpfn",
        "dpfn-s",
        "dna",
        "tally",
    ):
        for release in CATALOGUE[name].releases or (None,):
            time = release_seconds(name, release, facts)
            label = f"{name} {release or ''}".strip()
            rows.append({"method": label, "ms": 1e3 * time, "over_inference": time / baseline})
    print_table(f"one release to {options.people:,} people, 2 threads", rows)
    print(f"\nsecure back end: {secure_microseconds():.0f} µs a draw")


if __name__ == "__main__":
    main()
