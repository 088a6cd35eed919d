"""Time Factorised Neighbours on windows like the city's: `python -m benchmarks.inference`.

There are 12.6 contacts per person-day in both directions, with partners drawn from everybody, the
worst case for caches; 8 % of people are tested per day. Every size runs in a process of its own.
The baseline is the enumeration of monotone sequences in tests/reference.py, which is what the
published codes compute. Before that come closed loops of the methods without privacy, next to `fn`
in the same process: `fn` as in the paper, the same without echo, `one-round`, `bp`. Processor time
depends little on what else runs on the machine. `--linear` measures the processor time of `bp` per
contact against the number of people, alone.
"""

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import in_own_process, peak_gigabytes, print_table, seconds
from dnatrace import ContactWindow, DayContacts, SeirParameters, TestErrors, TestLog
from dnatrace.inference.factorised_neighbours import infer_window
from dnatrace.runs.config import load_config
from dnatrace.runs.run import run
from tests import reference

CONTACTS_PER_PERSON_DAY = (
    12.6  # of the reference city: 2.03 household, 7.18 occupation, 3.38 random
)
TESTED_PER_DAY = 0.08
ROUNDS = 5
LOOP_DAYS = 100
LINEAR_PEOPLE, LINEAR_DAYS = (2_000, 10_000, 30_000), 24
INFECTED_AT_FIRST = 0.005  # share, in cities of different size
PAPER = {"method": "fn", "method.own_rounds": ROUNDS, "method.susceptibility_by_age": [1.0] * 9}
LOOPS: dict[str, dict[str, Any]] = {
    "fn": PAPER,
    "without-echo": PAPER | {"method.cavity": True},
    "one-round": {"method": "one-round"},
    "bp": {"method": "bp"},
}
PARAMETERS, TEST_ERRORS = SeirParameters(), TestErrors()
MOST_PEOPLE_FROM_ROWS = 100_000  # beyond, rows of three 64-bit numbers would be most of the memory


def day_pairs(n_people: int, day: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    rng = np.random.default_rng(day)
    n_pairs = int(n_people * CONTACTS_PER_PERSON_DAY / 2)
    one = rng.integers(0, n_people, n_pairs, dtype=np.int32)
    other = (one + rng.integers(1, n_people, n_pairs, dtype=np.int32)) % n_people
    return np.concatenate([one, other]), np.concatenate([other, one])


def pushed_window(n_people: int, n_days: int) -> ContactWindow:
    window = ContactWindow(n_people=n_people, n_days=n_days)
    for day in range(n_days):
        window.push(DayContacts.from_pairs(*day_pairs(n_people, day), n_people=n_people))
    return window


def tested_log(n_people: int, n_days: int) -> TestLog:
    log = TestLog(n_people=n_people, n_days=n_days)
    rng = np.random.default_rng(1)
    for day in range(n_days):
        people = np.flatnonzero(rng.random(n_people) < TESTED_PER_DAY)
        log.push_day()
        log.record(day, people, rng.random(people.size) < 0.05)
    return log


def window_rows(window: ContactWindow) -> NDArray[np.int64]:
    days = [
        np.stack([d.senders, d.receivers(), np.full(d.senders.size, t)], axis=1)
        for t, d in enumerate(window)
    ]
    rows = np.concatenate(days).astype(np.int64)
    return rows[np.random.default_rng(0).permutation(len(rows))]


def measure(n_people: int, n_days: int) -> dict[str, float | None]:
    window, log = pushed_window(n_people, n_days), tested_log(n_people, n_days)
    repeats = 20 if n_people <= 10_000 else 3
    row: dict[str, float | None] = {"people": n_people, "days": n_days}
    for threads in (1, 2):
        numba.set_num_threads(threads)
        row[f"infer_{threads}_thread_s"] = seconds(
            lambda: infer_window(
                window, log, parameters=PARAMETERS, test_errors=TEST_ERRORS, rounds=ROUNDS
            ),
            repeats=repeats,
        )
    row["peak_gb"] = peak_gigabytes()
    senders, receivers = day_pairs(n_people, n_days)
    row["push_day_s"] = seconds(
        lambda: window.push(DayContacts.from_pairs(senders, receivers, n_people=n_people)),
        repeats=repeats,
    )
    row["from_rows_s"] = None
    if n_people <= MOST_PEOPLE_FROM_ROWS:
        rows = window_rows(window)
        row["from_rows_s"] = seconds(
            lambda: ContactWindow.from_rows(rows, n_people=n_people, n_days=n_days),
            repeats=repeats,
        )
    return row


def loop_seconds(
    n_people: int, settings: dict[str, Any], n_days: int = LOOP_DAYS
) -> tuple[float, float, float]:
    """Return wall and processor seconds of a closed loop, and the contacts of its days."""
    start = time.process_time()
    done = run(load_config(overrides={"people": n_people, "days": n_days} | settings))
    spent = time.process_time() - start
    return done.seconds["total"], spent, sum(done.daily["contacts"].to_pylist())


def measure_loop(n_people: int, method: str) -> dict[str, Any]:
    """Time a closed loop of 100 days with 4 % tests on two threads, after short ones to compile."""
    numba.set_num_threads(min(2, numba.get_num_threads()))
    few = {"tests.capacity": 0.04}
    fn, asked = few | PAPER, few | LOOPS[method]
    for settings in (fn, asked):
        run(load_config(overrides={"people": 500, "days": 16} | settings))
    _, fn_processor, _ = loop_seconds(n_people, fn)
    wall, processor, contacts = loop_seconds(n_people, asked)
    return {
        "people": n_people,
        "method": method,
        "wall_s": wall,
        "processor_s": processor,
        "times_fn": processor / fn_processor,
        "processor_us_per_contact": 1e6 * processor / contacts,
        "peak_gb": peak_gigabytes(),
    }


def linear(sizes: tuple[int, ...] = LINEAR_PEOPLE) -> list[dict[str, float]]:
    """Time short loops of `bp` on one thread, minus those of the oracle, per contact."""
    numba.set_num_threads(1)
    rows = []
    for n_people in (500, *sizes):  # the first to compile
        few = {"tests.capacity": 0.04, "initially_infected": int(INFECTED_AT_FIRST * n_people)}
        _, without, contacts = loop_seconds(n_people, few | {"method": "oracle"}, LINEAR_DAYS)
        _, spent, _ = loop_seconds(n_people, few | {"method": "bp"}, LINEAR_DAYS)
        own = spent - without
        rows.append(
            {
                "people": n_people,
                "contacts": contacts,
                "bp_processor_s": own,
                "processor_us_per_contact": 1e6 * own / contacts,
            }
        )
    return rows[1:]


def loops(most_people: int) -> list[dict[str, Any]]:
    """Measure the methods that promise no privacy, each size in a process of its own."""
    sizes = [n for n in (10_000, 100_000) if n <= most_people]
    return [
        in_own_process("benchmarks.inference", "--loop", n, method)
        for n in sizes
        for method in LOOPS
    ]


def enumeration_seconds_per_person(n_days: int) -> float:
    """Time the twin on a few people and five rounds; its cost is linear in people."""
    sequences = reference.monotone_sequences(n_days)
    log_stays, outcomes = [-0.01] * n_days, [-1] * n_days

    def one_person() -> None:
        reference.posterior(log_stays, outcomes, PARAMETERS, TEST_ERRORS, sequences)

    return ROUNDS * seconds(one_person, repeats=3)


def by_people(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Measure 14 days, and tell how many times faster than enumeration that is."""
    rows = [in_own_process("benchmarks.inference", "--one", n, 14) for n in sizes]
    for row in rows:
        twin = enumeration_seconds_per_person(14) * row["people"]
        row["times_faster_than_enumeration"] = twin / row["infer_1_thread_s"]
        from_rows = row["from_rows_s"]
        row["rows_over_infer"] = from_rows and from_rows / row["infer_2_thread_s"]
    return rows


def by_length(n_people: int) -> list[dict[str, Any]]:
    """Measure windows of other lengths against that of 14 days."""
    rows = [in_own_process("benchmarks.inference", "--one", n_people, d) for d in (7, 14, 28)]
    return [
        {
            "people": n_people,
            "days": row["days"],
            "infer_1_thread_s": row["infer_1_thread_s"],
            "ratio_to_14_days": row["infer_1_thread_s"] / rows[1]["infer_1_thread_s"],
        }
        for row in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, type=int, metavar=("PEOPLE", "DAYS"))
    parser.add_argument("--loop", nargs=2, metavar=("PEOPLE", "METHOD"))
    parser.add_argument("--most-people", type=int, default=1_000_000)
    parser.add_argument("--loops", action="store_true", help="closed loops alone")
    parser.add_argument("--linear", action="store_true", help="bp by number of people alone")
    options = parser.parse_args()
    if options.linear:
        print_table(f"bp, {LINEAR_DAYS} days, 1 thread", linear())
        return
    if options.loop:
        print(json.dumps(measure_loop(int(options.loop[0]), options.loop[1])))
        return
    if options.one:
        print(json.dumps(measure(*options.one)))
        return
    print_table("closed loop, 100 days, 2 threads", loops(options.most_people))
    if options.loops:
        return
    sizes = [n for n in (10_000, 100_000, 1_000_000) if n <= options.most_people]
    print_table("14 days, 5 rounds, by number of people", by_people(sizes))
    print_table("10,000 people, by length of the window", by_length(10_000))


if __name__ == "__main__":
    main()
