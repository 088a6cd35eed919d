"""The loop: an epidemic, a tracing method and a policy, one day at a time.

`Loop.start` gives the state before the first day and `Loop.step` takes one day; `Loop.run` is a
generator over days. Its consumers measure, record or show progress: the loop knows none of them.
The phases of a day are listed in the docstring of `step`, and the code is that list.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.contracts import check_released, chosen_by, contacts_of, isolated_by
from dnatrace.inference.exchange import Exchange
from dnatrace.methods.base import Method, Needs, PublicFacts, SecretFacts
from dnatrace.methods.silence import Silence
from dnatrace.policy import app
from dnatrace.policy.base import (
    Evening,
    FollowsUp,
    Ids,
    KeepsDiary,
    Measures,
    Policy,
    Publishes,
    Severity,
    Situation,
)
from dnatrace.policy.laboratory import Laboratory, Queue, Sample
from dnatrace.privacy import mechanisms
from dnatrace.privacy.accounting import SelectionEvent
from dnatrace.privacy.release import Released
from dnatrace.records import ContactWindow, DayContacts, TestLog
from dnatrace.rng import Stream
from dnatrace.seir import SeirParameters
from dnatrace.simulators.base import N_AGE_GROUPS, N_STATES, SEIR_OF_COURSE, CourseState, Simulator

# How ill people feel in each course state; those recovering from hospital felt ill before.
_SEVERITY = np.zeros(N_STATES, dtype=np.uint8)
_SEVERITY[CourseState.SYMPTOMATIC_MILD] = Severity.MILD
_SEVERITY[[CourseState.SYMPTOMATIC, CourseState.HOSPITALISED, CourseState.CRITICAL]] = (
    Severity.SEVERE
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DayLog:
    """What happened on one day.

    Attributes:
        day: counted from 1.
        states: course state at the end of the day, uint8 [people].
        contacts: everybody's contacts of the day, with the app or without.
        isolated: who stayed at home, bool [people], because of a positive result or for another
            reason (`measures.quarantined`).
        tested: who was tested today, ids.
        results: their results, known today or after the delay, bool [tested].
        informed: who learned of a positive result today, ids.
        public: what each person knew of themselves at the end of the day.
        secret: what the enclave knew in addition.
        released: the scores of the day; they choose tomorrow's tests.
        selection: what the policy spent to choose today's tests; None when it published nothing.
        measures: what the policy did apart from testing and isolating positives.
        seconds: by phase: simulate, window, test, infer, release, respond.
    """

    day: int
    states: NDArray[np.uint8]
    contacts: DayContacts
    isolated: NDArray[np.bool_]
    tested: Ids
    results: NDArray[np.bool_]
    informed: Ids
    public: PublicFacts
    secret: SecretFacts
    released: Released
    selection: SelectionEvent | None
    measures: Measures
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoopState:
    """What the next day needs.

    The simulator, the window and the log of tests advance in place: a state can be stepped once.

    Attributes:
        day: the last day that ended; 0 before the first.
        has_app: bool [people].
        window: contacts of the last days between people with the app.
        log: results of the last days.
        queue: the queue of the laboratory.
        released: the last scores.
        method: the state of the method.
        policy: the state of the policy.
        silence: the same method in a world without secrets, against which public releases are
            checked.
    """

    day: int
    has_app: NDArray[np.bool_]
    window: ContactWindow
    log: TestLog
    queue: Queue
    released: Released
    method: Any
    policy: Any
    silence: Silence


class _Clock:
    """Seconds by phase."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def lap(self, phase: str) -> None:
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Loop:
    """Everything that takes part in a run.

    Attributes:
        simulator: decides who meets whom and who gets infected; on day 0.
        exchange: what phones receive from each other.
        method: what is released.
        policy: who is tested and who isolates.
        laboratory: capacity, delays and errors of tests.
        parameters: the parameters of the statistical model that phones use.
        seed: decides who has the app; the parts have their own seeds.
        window_days: how many days of contacts and tests are kept.
        adoption: the share with the app by age group, nine numbers.
        with_messages: whether messages are computed even if the method does not look at them, for
            training; nothing else changes.
        contacts_before_tests: whether the contacts of a day are dated one day before its tests, so
            that they change beliefs on the day itself; otherwise on the next day. Methods that
            count contacts (`tally`, `headcount`) count them from their own day on and refuse this.
        tests_at_home: whether people who stay at home can be tested there.
        tells_contacts: whether the policy learns who met whom; no ε covers that.
    """

    simulator: Simulator
    exchange: Exchange
    method: Method
    policy: Policy
    laboratory: Laboratory
    parameters: SeirParameters = field(default_factory=SeirParameters)
    seed: int = 1
    window_days: int = 14
    adoption: tuple[float, ...] = (1.0,) * N_AGE_GROUPS
    with_messages: bool = False
    contacts_before_tests: bool = False
    tests_at_home: bool = False
    tells_contacts: bool = False

    @property
    def most_tests(self) -> int:
        """How many people can be tested per day."""
        return self.laboratory.rules.most_tests(self.simulator.n_people)

    @property
    def has_app(self) -> NDArray[np.bool_]:
        """Who has the app: bool [people]."""
        stream = Stream(self.seed, "app")
        return app.adopters(np.array(self.adoption), self.simulator.age_groups, stream)

    def start(self) -> LoopState:
        """Return the state before the first day, in which everybody has the same score."""
        n, days = self.simulator.n_people, self.window_days
        first = 0 if self.contacts_before_tests else 1
        window = ContactWindow(n_people=n, n_days=days, first_day=first)
        log = TestLog(n_people=n, n_days=days, first_day=first)
        if self.contacts_before_tests:
            window.push(DayContacts.empty(n))
            log.push_day()
        return LoopState(
            day=0,
            has_app=self.has_app,
            window=window,
            log=log,
            queue=self.laboratory.start(n),
            released=mechanisms.publish_public(np.zeros(n), day=0),
            method=self.method.start(n),
            policy=self.policy.start(n),
            silence=Silence(),
        )

    def run(self, days: int) -> Iterator[DayLog]:
        """Yield the log of each of the first `days` days."""
        state = self.start()
        for _ in range(days):
            state, log = self.step(state)
            yield log

    def step(self, state: LoopState) -> tuple[LoopState, DayLog]:
        """Take one day.

        1. Isolation: people whose time is over or who give up are free; the others meet nobody.
        2. The simulator advances one day and yields its contacts; those between people with the
           app enter the window, and the oldest day leaves it.
        3. The policy chooses whom to test from the scores that were released yesterday: nobody in
           isolation, dead, without the app, or waiting for a test or a result.
        4. Those chosen `order_delay` days ago are tested; errors are drawn.
        5. Results of tests taken `result_delay` days ago become known and enter the log.
        6. Phones exchange messages over the window. A deployment runs this part encrypted.
        7. The method releases one score per person. Nothing else leaves the enclave. What it
           declares public must be the same in the world without secrets.
        8. The policy responds to results and to whatever else it follows up, effective tomorrow.

        Every draw comes from its own stream, keyed by person and day: two methods on one seed see
        the same epidemic until their decisions differ.
        """
        day, clock = state.day + 1, _Clock()
        isolated, policy_state = self._isolate(state, day)
        before = self.simulator.states
        contacts, states = contacts_of(self.simulator), self.simulator.states
        clock.lap("simulate")
        self._enter(state, contacts)
        clock.lap("window")

        situation = self._situation(state, isolated, before, states)
        chosen, policy_state = chosen_by(self.policy, state.released, situation, policy_state)
        selection = self._selection(policy_state)
        sample, told, queue = self._test(state, chosen, states, isolated)
        clock.lap("test")

        public = self._public(state, isolated, policy_state)
        secret = self._exchange(state.window, public, states)
        clock.lap("infer")
        released, method_state, silence = self._release(state, public, secret)
        clock.lap("release")

        policy_state = self.policy.respond(told.positives, day, policy_state)
        evening = self._evening(state, situation, told, contacts, released)
        policy_state, measures = self._follow_up(evening, policy_state, n_asked=chosen.size)
        clock.lap("respond")
        after = replace(state, day=day, queue=queue, released=released)
        after = replace(after, method=method_state, policy=policy_state, silence=silence)
        log = DayLog(
            day=day,
            states=states,
            contacts=contacts,
            isolated=isolated,
            tested=sample.people,
            results=sample.results,
            informed=told.positives,
            public=public,
            secret=secret,
            released=released,
            selection=selection,
            measures=measures,
            seconds=clock.seconds,
        )
        return after, log

    def _release(
        self, state: LoopState, public: PublicFacts, secret: SecretFacts
    ) -> tuple[Released, Any, Silence]:
        """Let the method release scores; people without the app have none."""
        released, method_state = self.method.release(public, secret, state.method)
        check_released(released, self.method, public.n_people)
        silence = state.silence.after(self.method, released, public, secret, state.method)
        if not state.has_app.all():
            released = released.without(~state.has_app)
        return released, method_state, silence

    def _isolate(self, state: LoopState, day: int) -> tuple[NDArray[np.bool_], Any]:
        """Tell the simulator which of the living stay at home."""
        isolated, policy_state = isolated_by(self.policy, day, state.policy, state.has_app.size)
        isolated = isolated & (self.simulator.states != CourseState.DEATH)
        self.simulator.isolate(isolated)
        return isolated, policy_state

    def _enter(self, state: LoopState, contacts: DayContacts) -> None:
        """Let the contacts of the day enter the window, and begin a new day without results.

        Only contacts between people with the app enter, without their kinds.
        """
        met = contacts if state.has_app.all() else contacts.among(state.has_app)
        enter = state.window.push_after if self.contacts_before_tests else state.window.push
        enter(replace(met, kinds=None))
        state.log.push_day()

    def _situation(
        self,
        state: LoopState,
        isolated: NDArray[np.bool_],
        before: NDArray[np.uint8],
        states: NDArray[np.uint8],
    ) -> Situation:
        reachable = ~state.queue.waiting & (states != CourseState.DEATH)
        return Situation(
            day=state.day + 1,
            eligible=state.has_app & ~isolated & reachable,
            most_tests=self.most_tests,
            reachable=reachable,
            onsets=_onsets(before, states),
        )

    def _selection(self, policy_state: Any) -> SelectionEvent | None:
        """Return what the policy spent on its choice; None when it published nothing."""
        policy = self.policy
        return policy.selection(policy_state) if isinstance(policy, Publishes) else None

    def _test(
        self,
        state: LoopState,
        chosen: Ids,
        states: NDArray[np.uint8],
        isolated: NDArray[np.bool_],
    ) -> tuple[Sample, Sample, Queue]:
        """Take the tests that are due and report the results that are due."""
        away, day = isolated & (not self.tests_at_home), state.day + 1
        taken, queue = self.laboratory.take(
            state.queue, chosen, states=states, isolated=away, day=day
        )
        told, queue = self.laboratory.tell(queue, state.log, day)
        return taken, told, queue

    def _evening(
        self,
        state: LoopState,
        situation: Situation,
        told: Sample,
        contacts: DayContacts,
        released: Released,
    ) -> Evening:
        return Evening(
            day=situation.day,
            released=released,
            positives=told.positives,
            negatives=told.people[~told.results],
            onsets=situation.onsets,
            households=self.simulator.households,
            has_app=state.has_app,
            alive=self.simulator.states != CourseState.DEATH,
            contacts=contacts if self.tells_contacts else None,
        )

    def _follow_up(
        self, evening: Evening, policy_state: Any, *, n_asked: int
    ) -> tuple[Any, Measures]:
        """Let the policy follow up, and ask what it did."""
        if isinstance(self.policy, FollowsUp):
            after = self.policy.follow_up(evening, policy_state)
            return after, self.policy.measures(after)
        nobody = np.zeros(self.simulator.n_people, dtype=np.bool_)
        return policy_state, Measures(quarantined=nobody, notices=n_asked)

    def _public(
        self, state: LoopState, isolated: NDArray[np.bool_], policy_state: Any
    ) -> PublicFacts:
        policy = self.policy
        return PublicFacts(
            day=state.day + 1,
            first_day=state.window.first_day,
            counts=state.window.counts,
            outcomes=state.log.outcomes,
            parameters=self.parameters,
            test_errors=self.laboratory.rules.believed,
            age_groups=self.simulator.age_groups,
            isolated=isolated,
            diary=policy.diary(policy_state) if isinstance(policy, KeepsDiary) else None,
        )

    def _exchange(
        self, window: ContactWindow, public: PublicFacts, states: NDArray[np.uint8]
    ) -> SecretFacts:
        """Gather what the method may look at, and let phones exchange messages if it does."""
        needs = self.method.needs
        with_messages = self.with_messages or needs is Needs.MESSAGES
        received = None
        if with_messages or needs is Needs.EXPOSURES:
            received = self.exchange.receive(
                window,
                public.outcomes,
                with_messages=with_messages,
                with_exposures=needs is Needs.EXPOSURES,
            )
        return SecretFacts(
            window=window.snapshot(),
            exposures=received.exposures if received else None,
            messages=received.messages if received else None,
            own_tests=received.own_tests if received else False,
            states=SEIR_OF_COURSE[states] if needs is Needs.TRUTH else None,
        )


def _onsets(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the `Severity` of symptoms that began between two days: uint8 [people]."""
    return np.where(_SEVERITY[before] == Severity.NONE, _SEVERITY[after], np.uint8(Severity.NONE))
