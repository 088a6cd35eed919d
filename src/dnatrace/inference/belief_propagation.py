"""Belief propagation over days of infection: what I told you does not come back to me as news.

Messages between two people leave out what came from the other (the cavity), so that on a graph
without loops the posteriors are exact. Everybody sends at once; messages start from those of
yesterday, are damped, and stop when they change by less than a tolerance or after a number of
rounds. On graphs with loops the result is approximate.

References: Altarelli et al. 2014, "Bayesian inference of epidemics on networks via belief
propagation"; Baker et al. 2021, "Epidemic mitigation by statistical inference from contact tracing
data". Written from their equations; recovery is summed out of own tests.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dnatrace.inference import _carry_kernels, _pair_kernels, _propagation_kernels
from dnatrace.inference._message_kernels import Heard, Inbox, Model
from dnatrace.inference._pair_kernels import Pairs
from dnatrace.inference.course import OLD_DAYS, REACH, CourseParameters, Tables, tables
from dnatrace.inference.infection_times import (
    AgeGroups,
    Carried,
    Floats,
    first_prior,
    own_likelihoods,
)
from dnatrace.records import NOT_TESTED, ContactWindow
from dnatrace.seir import TestErrors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Propagated:
    """What tomorrow starts from.

    Attributes:
        carried: what is known from before the window.
        pairs: who met whom in it.
        inbox: the last messages.
        awake: who had something to say, bool [people].
        day: the last day of the window.
    """

    carried: Carried
    pairs: Pairs
    inbox: Inbox
    awake: NDArray[np.bool_]
    day: int


def nothing_sent(n_people: int, n_days: int, at_first: float | None = None) -> Propagated:
    """Return what is known before the first day of windows of so many days.

    `at_first` as for `Carried.nothing`.
    """
    pairs = _pair_kernels.no_pairs(n_people)
    carried = Carried.nothing(n_people, n_days, at_first)
    return Propagated(
        carried=carried,
        pairs=pairs,
        inbox=silence(pairs, n_days),
        awake=np.zeros(n_people, dtype=np.bool_),
        day=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefPropagation:
    """Rounds of cavity messages.

    Attributes:
        parameters: of the course.
        test_errors: how often tests err.
        n_days: of the window; days before the first count as days without contacts.
        rounds: the most updates of everybody per day.
        damping: share of the old message in the new one.
        tolerance: rounds end when no probability of infection by a pair changes by more.
        warm: whether messages start from those of yesterday, else from silence.
        quiet: who was infected lately with less probability repeats what they said before, unless
            they have a new test or meet somebody for the first time; 0 for nobody.
    """

    parameters: CourseParameters
    test_errors: TestErrors
    n_days: int = 14
    rounds: int = 4
    damping: float = 0.0
    tolerance: float = 1e-4
    warm: bool = True
    quiet: float = 0.0

    def step(
        self,
        state: Propagated,
        window: ContactWindow,
        outcomes: NDArray[np.int8],
        age_groups: AgeGroups | None,
    ) -> tuple[Floats, Propagated]:
        """Return posteriors [people, places] on the day that ends, and what tomorrow starts from.

        The last day of the window is new, the others were there yesterday; all are on the first
        call.
        Cost: O(rounds × (reach + days) × contacts), people in parallel.
        """
        read = tables(self.parameters, self.test_errors, most_age=OLD_DAYS + self.n_days)
        carried = state.carried.moved(outcomes, read)
        new = list(window) if state.day == 0 else [window[-1]]
        day = state.day + len(new)
        first = day - self.n_days + 1
        pairs, origins = state.pairs, np.empty(0, dtype=np.int32)
        for t, contacts in enumerate(new):
            pairs, origins = _pair_kernels.add_day(
                pairs, contacts.offsets, contacts.senders, day=state.day + t + 1, first=first
            )
        if state.day == 0:
            origins = np.full(pairs.others.size, _pair_kernels.NONE, dtype=np.int32)
        before, after = state.carried.outcomes, carried.outcomes
        news = (after[:-1] != before[1:]).any(axis=0) | (after[-1] != NOT_TESTED)
        model = model_of(read, age_groups, carried.prior, after, carried.outside(read), first=first)
        model = model._replace(news=news, quiet=self.quiet)
        inbox = silence(pairs, self.n_days)
        if self.warm:
            _carry_kernels.carry_messages(
                pairs, origins, state.inbox, state.pairs.slots, model, 1, inbox
            )
        awake = state.awake.copy()
        fresh = np.logical_or(origins == _pair_kernels.NONE, not self.warm)
        posterior, stays = self.settle(pairs, fresh, inbox, model, awake)
        carried = replace(carried, stays=stays)
        return posterior, Propagated(
            carried=carried, pairs=pairs, inbox=inbox, awake=awake, day=day
        )

    def settle(
        self,
        pairs: Pairs,
        fresh: NDArray[np.bool_],
        inbox: Inbox,
        model: Model,
        awake: NDArray[np.bool_],
    ) -> tuple[Floats, Floats]:
        """Bring messages and `awake` up to date; return what `conclude` returns.

        `fresh`, bool [entries], says which pairs met for the first time.
        """
        heard = silent_sums(len(model.prior), model.n_days)
        speaks = np.zeros(len(awake), dtype=np.bool_)
        _propagation_kernels.gather_all(pairs, inbox, model, OLD_DAYS, heard)
        for _ in range(self.rounds):
            _propagation_kernels.wake(model, heard, awake, speaks)
            change = _propagation_kernels.send_all(
                pairs, fresh, inbox, model, self.damping, speaks, heard
            )
            _propagation_kernels.gather_all(pairs, inbox, model, OLD_DAYS, heard)
            if change < self.tolerance:
                break
        posterior = np.empty(model.likelihood.shape)
        stays = np.empty(len(posterior))
        _propagation_kernels.conclude(pairs, inbox, model, heard, posterior, stays)
        return posterior, stays


def propagate_window(
    window: ContactWindow,
    outcomes: NDArray[np.int8],
    *,
    parameters: CourseParameters,
    test_errors: TestErrors,
    age_groups: AgeGroups | None = None,
    rounds: int = 100,
    damping: float = 0.0,
    tolerance: float = 1e-9,
) -> Floats:
    """Return posteriors [people, places] over a whole window, from silence.

    On the day before the window everybody was infected with probability p0, as in Factorised
    Neighbours, and nobody before that.
    """
    n_days = len(window)
    read = tables(parameters, test_errors, most_age=OLD_DAYS + n_days)
    pairs = _pair_kernels.no_pairs(window.n_people)
    for t, day in enumerate(window):
        pairs, _ = _pair_kernels.add_day(pairs, day.offsets, day.senders, day=t, first=0)
    prior, outside = first_prior(window.n_people, read.p0), np.full(n_days, read.p0)
    model = model_of(read, age_groups, prior, outcomes, outside, first=0)
    engine = BeliefPropagation(
        parameters=parameters,
        test_errors=test_errors,
        n_days=n_days,
        rounds=rounds,
        damping=damping,
        tolerance=tolerance,
    )
    awake = np.ones(window.n_people, dtype=np.bool_)
    fresh = np.ones(pairs.others.size, dtype=np.bool_)
    return engine.settle(pairs, fresh, silence(pairs, n_days), model, awake)[0]


def model_of(
    read: Tables,
    age_groups: AgeGroups | None,
    prior: Floats,
    outcomes: NDArray[np.int8],
    outside: Floats,
    *,
    first: int,
) -> Model:
    """Return what everybody's factor needs."""
    groups = np.zeros(len(prior), dtype=np.uint8) if age_groups is None else age_groups
    transmissions = np.ascontiguousarray(read.transmissions[:, :0:-1])
    return Model(
        transmissions=transmissions,
        spread=np.pad(transmissions, ((0, 0), (len(outcomes), len(outcomes)))),
        most_transmission=float(transmissions.max()),
        groups=groups,
        prior=prior,
        likelihood=own_likelihoods(outcomes, read),
        outside=outside,
        first=first,
        n_days=len(outcomes),
        news=np.ones(len(prior), dtype=np.bool_),
        quiet=0.0,
    )


def silence(pairs: Pairs, n_days: int) -> Inbox:
    """Return messages that say nothing."""
    n_entries = pairs.others.size
    n_slots = int(pairs.slots.max(initial=-1)) + 1
    q, b = np.zeros((2, n_entries), dtype=np.float32)
    return Inbox(q=q, b=b, vectors=np.zeros((n_slots, REACH + 2 * n_days + 1), dtype=np.float32))


def silent_sums(n_people: int, n_days: int) -> Heard:
    """Return room for what everybody's messages come to."""
    places = OLD_DAYS + n_days
    return Heard(
        first=np.empty((n_people, places)),
        through=np.empty((n_people, n_days)),
        ends=np.empty((n_people, 2)),
        infected=np.empty((n_people, places)),
        sums=np.empty((n_people, places + 1)),
    )
