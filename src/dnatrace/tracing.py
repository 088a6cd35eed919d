"""The loop: an epidemic, a tracing method and a policy, one day at a time.

`trace` is a generator: it yields a `DayLog` a day, and whoever consumes it measures, records or
shows progress. The phases of a day are listed in its docstring, and the code is that list.
"""

import time
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dnatrace import policy
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.methods.base import DayFacts, Method, Needs
from dnatrace.policy import Ids, IsolationRules, TestRules
from dnatrace.privacy import mechanisms
from dnatrace.privacy.release import Released
from dnatrace.records import ContactWindow, DayContacts, TestLog
from dnatrace.rng import Stream
from dnatrace.seir import SeirParameters, State
from dnatrace.simulators.base import N_AGE_GROUPS, SEIR_OF_COURSE, CourseState, Simulator


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRules:
    """Everything the loop needs to know besides the simulator and the method.

    Attributes:
        parameters: of the statistical model that phones use.
        window: how many days of contacts and tests are kept.
        rounds: updates of everybody a day.
        tests: how tests are given.
        isolation: how positives isolate.
        adoption: the share with the app by age group, nine numbers.
    """

    parameters: SeirParameters = field(default_factory=SeirParameters)
    window: int = 14
    rounds: int = fn.DEFAULT_ROUNDS
    tests: TestRules = field(default_factory=TestRules)
    isolation: IsolationRules = field(default_factory=IsolationRules)
    adoption: tuple[float, ...] = (1.0,) * N_AGE_GROUPS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DayLog:
    """What happened on a day.

    Attributes:
        day: from 1.
        states: course state at the end of the day, uint8 [people].
        contacts: everybody's contacts of the day, with the app or without.
        isolated: who was in isolation, bool [people].
        tested: who was tested today, ids.
        results: their results, known today or after the delay, bool [tested].
        informed: who learned of a positive result today, ids.
        facts: what the enclave knew at the end of the day.
        released: the scores of the day; they choose tomorrow's tests.
        seconds: by phase: simulate, infer, release.
    """

    day: int
    states: NDArray[np.uint8]
    contacts: DayContacts
    isolated: NDArray[np.bool_]
    tested: Ids
    results: NDArray[np.bool_]
    informed: Ids
    facts: DayFacts
    released: Released
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sample:
    """Tests taken on a day, waiting for their results."""

    day: int
    people: Ids
    results: NDArray[np.bool_]


class _Clock:
    """Seconds by phase."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def lap(self, phase: str) -> None:
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now


def trace(
    simulator: Simulator,
    method: Method,
    rules: LoopRules,
    *,
    days: int,
    seed: int,
    with_messages: bool = False,
) -> Generator[DayLog]:
    """Run the closed loop and yield a log a day.

    With `with_messages` the messages are computed even if the method does not look at them, for
    those who record them; nothing else changes.

    The phases of a day:

    1. Isolation: those whose time is over or who give up are free; the others meet nobody.
    2. The simulator advances one day and yields its contacts; those between people with the app
       enter the window, and the oldest day leaves it.
    3. The policy chooses whom to test: the highest scores that were released yesterday, as many as
       the capacity allows, nobody in isolation, dead, or waiting for a test or a result. Before the
       first release everybody with the app has the same score. Ties are broken by chance.
    4. Those chosen `order_delay` days ago are tested; errors are drawn.
    5. The results of tests taken `result_delay` days ago become known and enter the log.
    6. Factorised Neighbours runs on the window. This part a deployment runs encrypted.
    7. The method releases one score a person. Only this leaves the enclave.
    8. Positives isolate from tomorrow on.

    Every draw comes from a stream of its own, keyed by person and day: two methods on one seed see
    the same epidemic until their decisions differ.
    """
    n = simulator.n_people
    streams = {
        purpose: Stream(seed, purpose)
        for purpose in ("app", "tests/ties", "tests/results", "isolation/adherence", "dropout")
    }
    has_app = policy.adopters(np.array(rules.adoption), simulator.age_groups, streams["app"])
    everybody_has = bool(has_app.all())
    window = ContactWindow(n_people=n, n_days=rules.window, first_day=1)
    log = TestLog(n_people=n, n_days=rules.window, first_day=1)
    released = mechanisms.publish_public(np.zeros(n), day=0)
    state = method.start(n)
    until = np.full(n, policy.NEVER, dtype=np.int32)
    waiting = np.zeros(n, dtype=np.bool_)
    orders: deque[Ids] = deque()
    samples: deque[_Sample] = deque()
    everyone = np.arange(n)

    for day in range(1, days + 1):
        clock = _Clock()
        until = policy.drop_out(until, day=day, rules=rules.isolation, stream=streams["dropout"])
        isolated = (until >= day) & (simulator.states != CourseState.DEATH)
        simulator.isolate(isolated)
        contacts = simulator.advance()
        states = simulator.states
        met = contacts if everybody_has else contacts.among(has_app)
        window.push(DayContacts(offsets=met.offsets, senders=met.senders))
        log.push_day()
        clock.lap("simulate")

        alive = states != CourseState.DEATH
        chosen = policy.choose_tests(
            released,
            eligible=has_app & alive & ~isolated & ~waiting,
            most=rules.tests.most_tests(n),
            ties=streams["tests/ties"].uniform(everyone, day),
        )
        waiting[chosen] = True
        orders.append(chosen)
        sample = _take(orders, states, isolated, waiting, rules.tests, streams, day)
        samples.append(sample)
        informed = _learn(samples, log, waiting, rules.tests, day)
        clock.lap("test")

        needs = {method.needs, Needs.MESSAGES} if with_messages else {method.needs}
        facts = replace(
            _facts(needs, window, log, states, rules, day),
            age_groups=simulator.age_groups,
            isolated=isolated,
        )
        clock.lap("infer")
        released, state = method.release(facts, state)
        if not everybody_has:
            released = released.without(~has_app)
        clock.lap("release")

        until = policy.admit(
            until,
            informed,
            day=day,
            rules=rules.isolation,
            stream=streams["isolation/adherence"],
        )
        yield DayLog(
            day=day,
            states=states,
            contacts=contacts,
            isolated=isolated,
            tested=sample.people,
            results=sample.results,
            informed=informed,
            facts=facts,
            released=released,
            seconds=clock.seconds,
        )


def _take(
    orders: deque[Ids],
    states: NDArray[np.uint8],
    isolated: NDArray[np.bool_],
    waiting: NDArray[np.bool_],
    rules: TestRules,
    streams: dict[str, Stream],
    day: int,
) -> _Sample:
    """Test those whose order is due, except who has died or isolates meanwhile."""
    if len(orders) <= rules.order_delay:
        people = np.empty(0, dtype=np.int64)
    else:
        due = orders.popleft()
        possible = ~isolated[due] & (states[due] != CourseState.DEATH)
        waiting[due[~possible]] = False
        people = due[possible]
    seir = SEIR_OF_COURSE[states[people]]
    positive = (seir == State.E) | (seir == State.I)
    results = policy.draw_results(
        people, positive, day=day, errors=rules.errors, stream=streams["tests/results"]
    )
    return _Sample(day=day, people=people, results=results)


def _learn(
    samples: deque[_Sample],
    log: TestLog,
    waiting: NDArray[np.bool_],
    rules: TestRules,
    day: int,
) -> Ids:
    """Enter the results that are due and return who is positive."""
    if day - samples[0].day < rules.result_delay:
        return np.empty(0, dtype=np.int64)
    sample = samples.popleft()
    waiting[sample.people] = False
    log.record(sample.day, sample.people, sample.results)
    return sample.people[sample.results]


def _facts(
    needs: set[Needs],
    window: ContactWindow,
    log: TestLog,
    states: NDArray[np.uint8],
    rules: LoopRules,
    day: int,
) -> DayFacts:
    """Gather what the method needs, and run the inference if it is needed."""
    outcomes = log.outcomes
    heard = messages = None
    if needs & {Needs.EXPOSURES, Needs.MESSAGES}:
        heard = fn.converse(
            window,
            outcomes,
            rounds=rules.rounds,
            parameters=rules.parameters,
            test_errors=rules.tests.errors,
        )
        if Needs.MESSAGES in needs:
            messages = fn.infected(
                heard, outcomes, parameters=rules.parameters, test_errors=rules.tests.errors
            )
    return DayFacts(
        day=day,
        window=window.snapshot(),
        outcomes=outcomes,
        parameters=rules.parameters,
        test_errors=rules.tests.errors,
        heard=heard,
        messages=messages,
        states=SEIR_OF_COURSE[states] if Needs.TRUTH in needs else None,
    )
