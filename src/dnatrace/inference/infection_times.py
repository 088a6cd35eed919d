"""The receiver's model of the day of infection: own tests, heard messages, one round.

A person's unknown is the day of infection: one of `OLD_DAYS` days before the window, a day of the
window, never, or longer ago (removed). What is known when a day leaves the window is carried over:
the probability of each, from what left with the day. A message is the sender's expected
infectiousness on the day of the contact, from own tests and what was carried over, and from nothing
heard within the window: it is heard once and passed on by nobody, so nothing comes back as news.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dnatrace.inference import _time_kernels
from dnatrace.inference.course import OLD_DAYS, CourseParameters, Tables, tables
from dnatrace.inference.exposures import add_up_day
from dnatrace.records import NOT_TESTED, ContactWindow
from dnatrace.seir import N_STATES, State, TestErrors

Floats = NDArray[np.float64]
AgeGroups = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Carried:
    """What is known about everybody from before the window.

    Attributes:
        prior: float64 [people, OLD_DAYS + 2]: days of infection, susceptible, removed.
        stays: P(no contact of the window's first day infects), float64 [people].
        outcomes: own tests of the window, int8 [days, people].
        exceptions: P(infected from outside) on days of the window that differ from others, float64
            [days]; NaN for the others.
    """

    prior: Floats
    stays: Floats
    outcomes: NDArray[np.int8]
    exceptions: Floats

    @classmethod
    def nothing(cls, n_people: int, n_days: int, at_first: float | None = None) -> Self:
        """Return what is known before the first day: nobody was infected before the window.

        `at_first` is the share of people infected on the day before the first; None: as on others.
        """
        exceptions = np.full(n_days, np.nan)
        exceptions[-1] = np.nan if at_first is None else at_first
        prior = np.zeros((n_people, OLD_DAYS + 2))
        prior[:, OLD_DAYS] = 1.0
        return cls(
            prior=prior,
            stays=np.ones(n_people),
            outcomes=np.full((n_days, n_people), NOT_TESTED, dtype=np.int8),
            exceptions=exceptions,
        )

    def outside(self, read: Tables) -> Floats:
        """Return P(infected from outside) on the days of the window: float64 [days]."""
        return np.where(np.isnan(self.exceptions), read.p0, self.exceptions)

    def moved(self, outcomes: NDArray[np.int8], read: Tables) -> "Carried":
        """Return what is known after the window has moved by one day."""
        prior = np.empty_like(self.prior)
        lik, found = read.likelihoods, read.found
        leaves, stays = self.outcomes[0], self.stays
        p0 = self.outside(read)[0]
        _time_kernels.carry_over(self.prior, leaves, stays, OLD_DAYS, p0, found, lik, prior)
        return replace(
            self,
            prior=prior,
            outcomes=full_window(outcomes, len(self.outcomes)),
            exceptions=np.append(self.exceptions[1:], np.nan),
        )


def first_prior(n_people: int, p0: float) -> Floats:
    """Return what is known before a stand-alone window: P(infected the day before) = p0."""
    prior = np.zeros((n_people, OLD_DAYS + 2))
    prior[:, OLD_DAYS - 1] = p0
    prior[:, OLD_DAYS] = 1.0 - p0
    return prior


def full_window(outcomes: NDArray[np.int8], n_days: int) -> NDArray[np.int8]:
    """Return outcomes [n_days, people], padded with days without tests at the beginning."""
    missing = n_days - len(outcomes)
    if missing == 0:
        return outcomes
    before = np.full((missing, outcomes.shape[1]), NOT_TESTED, dtype=np.int8)
    return np.concatenate([before, outcomes])


def own_likelihoods(outcomes: NDArray[np.int8], read: Tables) -> Floats:
    """Return P(own tests | day of infection): float64 [people, places]."""
    n_days, n_people = outcomes.shape
    out = np.empty((n_people, OLD_DAYS + n_days + 2))
    _time_kernels.own_likelihoods(outcomes, OLD_DAYS, read.found, read.likelihoods, out)
    return out


def infected_within(posterior: Floats, days: int) -> Floats:
    """Return P(infected within the last `days` days, including the last one): [people]."""
    last = posterior.shape[1] - 2
    return np.asarray(posterior[:, max(last - days, 0) : last].sum(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRound:
    """Own-test messages, heard once.

    Attributes:
        parameters: the parameters of the course.
        test_errors: how often tests err.
        n_days: the length of the window; days before the first count as days without contacts.
        exchanges: exchanges of messages per day. After the first, messages are marginals that
            include what was heard, so what somebody said comes back as news.
    """

    parameters: CourseParameters
    test_errors: TestErrors
    n_days: int = 14
    exchanges: int = 1

    def step(
        self,
        carried: Carried,
        window: ContactWindow,
        outcomes: NDArray[np.int8],
        age_groups: AgeGroups | None,
    ) -> tuple[Floats, Carried]:
        """Return posteriors [people, places] on the day that ends, and what to carry over.

        Cost: one gather per contact, O(days × reach) per person: the same as one round of
        Factorised Neighbours.
        """
        read = tables(self.parameters, self.test_errors, most_age=OLD_DAYS + self.n_days)
        return self.hear(carried.moved(outcomes, read), window, age_groups, read)

    def hear(
        self, known: Carried, window: ContactWindow, age_groups: AgeGroups | None, read: Tables
    ) -> tuple[Floats, Carried]:
        """Return posteriors, given what is known from before the window."""
        likelihood = own_likelihoods(known.outcomes, read)
        susceptible = susceptibilities(self.parameters, age_groups, window.n_people)
        posterior = np.empty_like(likelihood)
        messages = np.empty((self.n_days, window.n_people))
        curve, outside = self.parameters.infectiousness, known.outside(read)
        _time_kernels.own_messages(known.prior, likelihood, OLD_DAYS, outside, curve, messages)
        for exchange in range(self.exchanges):
            if exchange > 0:
                _time_kernels.marginal_messages(posterior, OLD_DAYS, curve, messages)
            exposures = self._exposures(window, messages)
            _time_kernels.posteriors(
                known.prior, likelihood, OLD_DAYS, outside, exposures, susceptible, posterior
            )
        return posterior, replace(known, stays=np.exp(-susceptible * exposures[0]))

    def _exposures(self, window: ContactWindow, messages: Floats) -> Floats:
        """Return the hazards that everybody heard of: float64 [days, people]."""
        exposures = np.zeros(messages.shape)
        first = self.n_days - len(window)
        for t, day in enumerate(window):
            add_up_day(day, messages[first + t], exposures[first + t])
        return exposures


def susceptibilities(
    parameters: CourseParameters, age_groups: AgeGroups | None, n_people: int
) -> Floats:
    """Return everybody's factor on the hazard of a contact; 1 when ages are unknown."""
    if age_groups is None:
        return np.ones(n_people)
    return np.array(parameters.susceptibility)[age_groups]


def one_round_window(
    window: ContactWindow,
    outcomes: NDArray[np.int8],
    *,
    parameters: CourseParameters,
    test_errors: TestErrors,
    age_groups: AgeGroups | None = None,
    exchanges: int = 1,
) -> Floats:
    """Return posteriors [people, places] over a stand-alone window.

    On the day before it everybody was infected with probability p0, and nobody before that.
    """
    read = tables(parameters, test_errors, most_age=OLD_DAYS + len(window))
    known = Carried(
        prior=first_prior(window.n_people, read.p0),
        stays=np.ones(window.n_people),
        outcomes=outcomes,
        exceptions=np.full(len(window), np.nan),
    )
    engine = OneRound(
        parameters=parameters, test_errors=test_errors, n_days=len(window), exchanges=exchanges
    )
    return engine.hear(known, window, age_groups, read)[0]


def states_by_day(
    posterior: Floats, parameters: CourseParameters, *, n_days: int
) -> NDArray[np.float32]:
    """Return P(S, E, I, R) at the end of every day: float32 [people, days, 4].

    E lasts from infection to symptoms and I from then to recovery, by the course.
    """
    latest = OLD_DAYS + n_days
    early = parameters.before_onset(latest)
    over = np.minimum(1.0 - parameters.still_found(latest), 1.0 - early)
    beliefs = np.empty((len(posterior), n_days, N_STATES))
    for t in range(n_days):
        infected = posterior[:, : OLD_DAYS + t + 1]
        ages = np.arange(OLD_DAYS + t, -1, -1)
        beliefs[:, t, State.E] = infected @ early[ages]
        beliefs[:, t, State.R] = infected @ over[ages] + posterior[:, -1]
        beliefs[:, t, State.I] = infected @ (1.0 - early - over)[ages]
        beliefs[:, t, State.S] = posterior[:, OLD_DAYS + t + 1 : -1].sum(axis=1)
    return np.clip(beliefs, 0.0, 1.0).astype(np.float32)
