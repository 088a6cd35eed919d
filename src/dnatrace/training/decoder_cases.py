"""What a decoder learns from: a closed-loop run as training sees it, and the cases of its days."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.methods.base import Method
from dnatrace.methods.tally import ContactRate, tallies
from dnatrace.networks.architecture import WINDOW
from dnatrace.networks.decoder import Alarm
from dnatrace.networks.decoder_inputs import DecoderInputs
from dnatrace.networks.inputs import newest_first, newest_first_by_person
from dnatrace.policy import isolation
from dnatrace.records import NOT_TESTED
from dnatrace.rng import Stream
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import build_loop
from dnatrace.seir import State, TestErrors
from dnatrace.simulators.base import SEIR_OF_COURSE, CourseState
from dnatrace.tracing import DayLog
from dnatrace.training.decoder import Cases, personal_inputs

ALARM = Alarm(low=0.02, high=0.1)
FIRST_DAY = 4  # before this there is too little to learn from
MOST_INFECTED, OTHERS = 40, 240  # people kept per day
_DAYS_AT_HOME = 10  # for which somebody who is found stays at home
_WORTH_OF_CONTACTS = 0.5  # exponent: finding people with many contacts prevents more

Watch = Callable[[DayLog], NDArray[np.float32]]  # a day's release without noise


def tally_of(log: DayLog) -> NDArray[np.float32]:
    """Return the tallies of a day, without noise."""
    assert log.secret.messages is not None  # asked for
    return tallies(log.secret.window, log.secret.messages, ALARM).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Record:
    """A run as training sees it; arrays are [days, people] or [people].

    Attributes:
        tallies: tallies without noise, float32; [days, numbers, people] for several numbers per
            release.
        met: whether anybody was met in the window, bool.
        results: own tests of the day, int8: 1, 0, or -1 without a test.
        mean_contacts: the running average of contacts at the end of the day, float32.
        seir: the true state at the end of the day, uint8.
        free: whether alive and not in isolation, bool.
        age_groups: decade of age, uint8.
        follows: the share that would isolate after a positive result, float32.
        test_errors: the test errors of the run.
        diary: flags of the day, uint8; None for runs without levers.
        has_app: who has the app, bool.
        order_delay: the number of days from being chosen to the test.
        result_delay: the number of days from the test to its result.
        by_score_home: whether scores also decide who stays at home without a test.
    """

    tallies: NDArray[np.float32]
    met: NDArray[np.bool_]
    results: NDArray[np.int8]
    mean_contacts: NDArray[np.float32]
    seir: NDArray[np.uint8]
    free: NDArray[np.bool_]
    age_groups: NDArray[np.uint8]
    follows: NDArray[np.float32]
    test_errors: TestErrors
    diary: NDArray[np.uint8] | None
    has_app: NDArray[np.bool_]
    order_delay: int
    result_delay: int
    by_score_home: bool

    def able(self, day: int) -> NDArray[np.bool_]:
        """Return for whom a score may matter at the end of a day: bool [people].

        These are people with the app who are free on the next day. Those who wait for a test or a
        result cannot be tested again, but may be sent home.
        """
        able = self.free[day + 1] & self.has_app
        waits = slice(day + 1 - self.result_delay, day + 1 + self.order_delay)
        return able if self.by_score_home else able & ~(self.results[waits] >= 0).any(axis=0)

    def known(self, past: slice) -> NDArray[np.int8]:
        """Return the results of some days that are known at the end of the last of them."""
        known = self.results[past].copy()
        known[len(known) - min(self.result_delay, len(known)) :] = NOT_TESTED
        return known


def record(config: RunConfig, method: Method, watch: Watch = tally_of) -> Record:
    """Run the closed loop and return what training needs."""
    loop = build_loop(config, method=method, with_messages=True)
    rate = ContactRate.start(loop.simulator.n_people)
    rows: dict[str, list[NDArray[Any]]] = {
        name: [] for name in ("tallies", "met", "results", "mean_contacts", "seir", "free")
    }
    levers = config.policy.keeps_diary
    rows |= {"diary": []} if levers else {}
    for log in loop.run(config.days):
        rate = rate.after(log.public.counts[-1], log.isolated)
        of_day = _of_day(log, rate) | {"tallies": watch(log)}
        for name in rows:
            rows[name].append(of_day[name])
    everyone, rules = np.arange(loop.simulator.n_people), config.isolation
    follows = np.full(everyone.size, rules.adherence)
    if rules.adherence_unit is isolation.AdherenceUnit.PERSON:
        stream = Stream(config.seed, "isolation/adherence")
        follows = isolation.follows(everyone, day=0, rules=rules, stream=stream)
    by_day: dict[str, Any] = {"diary": None} | {name: np.stack(v) for name, v in rows.items()}
    return Record(
        **by_day,
        has_app=loop.has_app,
        order_delay=config.tests.order_delay,
        result_delay=config.tests.result_delay,
        by_score_home=config.policy.sends_home_by_score,
        age_groups=loop.simulator.age_groups.copy(),
        follows=follows.astype(np.float32),
        test_errors=config.tests.believed,
    )


def _of_day(log: DayLog, rate: ContactRate) -> dict[str, NDArray[Any]]:
    results = np.full(log.public.n_people, -1, dtype=np.int8)
    results[log.tested] = log.results
    return {
        "met": log.public.counts.any(axis=0),
        "results": results,
        "mean_contacts": rate.mean.astype(np.float32),
        "seir": SEIR_OF_COURSE[log.states],
        "free": ~log.isolated & (log.states != CourseState.DEATH),
        "diary": np.zeros(0) if log.public.diary is None else log.public.diary[-1],
    }


def cases_of(run: Record, *, seed: int, most_infected: float = 1.0) -> list[Cases]:
    """Return people to learn from: for every day, those whom a test the next day would find.

    A day has at most 40 infected people and 240 others, who may be infected, too, of those who can
    be tested on the next day; days on which nobody would be found are left out. Finding somebody is
    worth the square root of how many people they meet, and nothing if they would not isolate. Days
    on which more than a share `most_infected` is in E or I are left out.
    """
    rng = Stream(seed, "decoder/cases").generator()
    share = ((run.seir == State.E) | (run.seir == State.I)).mean(axis=1)
    days = [
        _day_cases(run, day, rng)
        for day in range(FIRST_DAY, len(run.seir) - (1 if run.diary is None else _DAYS_AT_HOME))
        if share[day + 1] <= most_infected
    ]
    return [day for day in days if day is not None]


def _found(run: Record, day: int) -> NDArray[np.float32]:
    """Return what testing somebody chosen on the next day would gain: float32 [people].

    Without levers, it is 1 for infected people. With levers, where results come late and other
    tests find people as well, it is the number of days that they would be infectious at home,
    counted over `_DAYS_AT_HOME` days from the first possible one, if the test would find them.
    """
    taken = min(day + 1 + run.order_delay, len(run.seir) - 1)
    found = (run.seir[taken] == State.E) | (run.seir[taken] == State.I)
    if run.diary is None:
        return found.astype(np.float32)
    at_home = taken + run.result_delay + 1
    days = run.seir[at_home : at_home + _DAYS_AT_HOME] == State.I
    return (found * days.sum(axis=0)).astype(np.float32)


def _day_cases(run: Record, day: int, rng: np.random.Generator) -> Cases | None:
    able = run.able(day)
    contacts = (run.mean_contacts[day] + 0.5) ** _WORTH_OF_CONTACTS
    worth = np.where(able, run.follows * contacts * _found(run, day), 0.0)
    infected = np.flatnonzero(worth > 0.0)
    candidates = np.flatnonzero(able)
    if infected.size == 0 or candidates.size < OTHERS:
        return None
    infected = rng.permutation(infected)[:MOST_INFECTED]
    others = rng.choice(candidates, OTHERS, replace=False)
    people = np.concatenate([infected, others])
    past = slice(max(0, day - WINDOW + 1), day + 1)
    inputs = DecoderInputs(
        outcomes=run.known(past)[:, people],
        mean_contacts=run.mean_contacts[day, people].astype(np.float64),
        age_groups=run.age_groups[people],
        test_errors=run.test_errors,
        diary=None if run.diary is None else run.diary[past, people],
    )
    errors, watched = run.test_errors, run.tallies[past][..., people]
    by_age = newest_first(watched.reshape(len(watched), -1), 0)  # [14, numbers × people]
    return Cases(
        tallies=np.ascontiguousarray(by_age.reshape(-1, people.size).T),
        noisy=newest_first_by_person(run.met[past, people], 0),
        personal=personal_inputs(inputs),
        worth=np.concatenate([worth[infected], np.zeros(OTHERS)]).astype(np.float32),
        rates=np.array([[errors.false_positive_rate, errors.false_negative_rate]], np.float32),
        first=np.zeros(1, dtype=np.int64),
        infected=np.array([infected.size]),
        others=np.array([OTHERS]),
    )
