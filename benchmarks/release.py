"""Measure what privacy costs in time: `python -m benchmarks.release`.

Milliseconds to release the scores of 10,000 people on a full window of 14 days, by method and
release, next to the inference that precedes it (the baseline of the ratios); milliseconds to count
distinct people met, by the share of people who alarm, next to adding up contacts as `tally` does;
and microseconds per draw of the secure back end. State of earlier days (frozen values, spent
budgets) is carried along.
"""

import argparse
import json
from dataclasses import replace
from functools import partial
from typing import Any

import numba
import numpy as np

from benchmarks.inference import PARAMETERS, ROUNDS, TEST_ERRORS, pushed_window, tested_log
from benchmarks.measure import print_table, seconds
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.inference.heads import Closeness, head_counts
from dnatrace.methods.base import PublicFacts, SecretFacts, Setup
from dnatrace.methods.catalogue import METHODS
from dnatrace.methods.tally import tallies
from dnatrace.networks.decoder import Alarm
from dnatrace.privacy.accounting import Target
from dnatrace.privacy.noise import FastNoise, SecureNoise

SECURE_DRAWS = 2_000
TIMED = (
    *("public-only", "fn", "traditional", "per-message"),
    *("dpfn", "dpfn-s", "dna", "tally", "headcount"),
)
ALARM, CLOSENESS = Alarm(low=0.3, high=0.9), Closeness(bounds=(0.0, 2.0, 6.0))
# People found positive within 14 days alarm: below 1 % of people while an epidemic is contained.
SHARES_ALARMING = (0.002, 0.02, 0.1, 0.3, 1.0)


Facts = tuple[PublicFacts, SecretFacts]


def facts_of(n_people: int) -> Facts:
    window, log = pushed_window(n_people, 14), tested_log(n_people, 14)
    model: dict[str, Any] = {"parameters": PARAMETERS, "test_errors": TEST_ERRORS}
    exposures = fn.message_rounds(window, log.outcomes, rounds=ROUNDS, **model)
    messages = fn.infected(exposures, log.outcomes, **model)
    public = PublicFacts(day=13, first_day=0, counts=window.counts, outcomes=log.outcomes, **model)
    return public, SecretFacts(
        window=window, exposures=exposures, messages=messages, own_tests=True
    )


def release_seconds(name: str, release: str | None, facts: Facts) -> float:
    settings = METHODS[name](**({} if release is None else {"release": release}))
    method = settings.build(Setup(target=Target(epsilon=1.0), noise=FastNoise(seed=1)))
    _, state = method.release(*facts, method.start(facts[0].n_people))
    return seconds(lambda: method.release(*facts, state), repeats=15)


def head_count_rows(facts: Facts) -> list[dict[str, Any]]:
    """Time one day of head counts, including the sort of the new day's contacts by sender."""
    window, newest = facts[1].window, facts[1].window[-1]
    n_people, rng = window.n_people, np.random.default_rng(2)
    messages = rng.random((14, n_people)).astype(np.float32)
    tally = seconds(lambda: tallies(window, messages, ALARM), repeats=15)
    turn = seconds(lambda: replace(newest).by_sender(), repeats=15)
    rows: list[dict[str, Any]] = [{"statistic": "tally", "ms": 1e3 * tally, "over_tally": 1.0}]
    for share in SHARES_ALARMING:
        alarms = np.where(rng.random(n_people) < share, ALARM(messages), 0.0)
        time = turn + seconds(partial(head_counts, window, alarms, CLOSENESS), repeats=15)
        name = f"head counts, {100 * share:g} % alarm"
        rows.append({"statistic": name, "ms": 1e3 * time, "over_tally": time / tally})
    return rows


def secure_microseconds() -> float:
    noise = SecureNoise()
    values, scale = np.zeros(SECURE_DRAWS), np.full(SECURE_DRAWS, 0.006)
    draw = seconds(
        lambda: noise.perturb(values, scale, multiplier=2.57, purpose="benchmark", day=0),
        repeats=3,
    )
    return 1e6 * draw / SECURE_DRAWS


def releases(facts: Facts) -> list[dict[str, Any]]:
    """Time one release of every method and variant, beside the inference before it."""
    public, secret = facts
    model: dict[str, Any] = {"parameters": PARAMETERS, "test_errors": TEST_ERRORS}

    def infer() -> None:
        exposures = fn.message_rounds(secret.window, public.outcomes, rounds=ROUNDS, **model)
        fn.infected(exposures, public.outcomes, **model)

    baseline = seconds(infer, repeats=15)
    rows = [{"method": "inference (baseline)", "ms": 1e3 * baseline, "over_inference": 1.0}]
    for name in TIMED:
        for release in METHODS[name].releases() or (None,):
            time = release_seconds(name, release, facts)
            label = f"{name} {release or ''}".strip()
            rows.append({"method": label, "ms": 1e3 * time, "over_inference": time / baseline})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--json", action="store_true", help="all figures as one JSON object")
    options = parser.parse_args()
    numba.set_num_threads(min(2, numba.get_num_threads()))
    facts = facts_of(options.people)
    found = {
        "people": options.people,
        "releases": releases(facts),
        "statistics": head_count_rows(facts),
        "secure_us": secure_microseconds(),
    }
    if options.json:
        print(json.dumps(found))
        return
    print_table(f"one release to {options.people:,} people, 2 threads", found["releases"])
    print_table("the statistic alone: distinct people against contacts", found["statistics"])
    print(f"\nsecure back end: {found['secure_us']:.0f} µs per draw")


if __name__ == "__main__":
    main()
