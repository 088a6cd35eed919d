"""Three kinds of methods, distinguished by what they may look at.

- A `PublicMethod` never sees a secret; its scores are published as public.
- An `OpenMethod` sees everything and promises nothing; its scores are on record as unprotected.
- A `PrivateMethod` sees secrets only in `query`, which says what gets noise. What comes after the
  noise (`sent`, `settle`, `decode`) gets noisy values and public facts, and nothing else: secrets
  are not among its arguments, and those that were lent to `query` have been closed. Noisy messages
  are delivered over contacts by this module; after the noise no method sees who met whom. This
  guards against mistakes: Python cannot hide an array that somebody put aside on purpose.

Methods of all kinds are built from their settings; only this module and the loop publish scores.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.inference.exposures import add_up_day
from dnatrace.methods import answers
from dnatrace.methods.base import Needs, PublicFacts, SecretFacts, Setup
from dnatrace.privacy import mechanisms
from dnatrace.privacy.accounting import NO_PERSON, Event, Unit
from dnatrace.privacy.mechanisms import GaussianMechanism
from dnatrace.privacy.release import Bounded, Protected, Released, TrustBoundaryError
from dnatrace.records import DayContacts
from dnatrace.seir import SeirParameters

Floats = NDArray[np.float64]
PASSED_THROUGH_OTHERS = (
    "the method promises something about a person only if messages come from own tests alone; "
    "those it was given pass through others: set seir.exchange = 'own-tests'"
)


class PublicMethod(ABC):
    """Scores from public facts alone.

    Guarantee: ε = 0 with respect to messages, because the method cannot look at any.
    """

    __slots__ = ()

    @property
    def needs(self) -> Needs:
        """Nothing beyond public facts."""
        return Needs.NOTHING

    def start(self, n_people: int) -> Any:
        """Return no state."""
        del n_people

    @abstractmethod
    def scores(self, public: PublicFacts, state: Any) -> tuple[NDArray[Any], Any]:
        """Return one score per person, and the next state."""

    @final
    def release(self, public: PublicFacts, secret: SecretFacts, state: Any) -> tuple[Released, Any]:
        """Publish the scores."""
        del secret
        scores, state = answers.scores_and_state(self.scores(public, state), self)
        return mechanisms.publish_public(scores, day=public.day), state


class OpenMethod(ABC):
    """Scores that show secrets as they are: no privacy, on purpose and on record."""

    __slots__ = ()

    @property
    @abstractmethod
    def needs(self) -> Needs:
        """What the loop must compute."""

    def start(self, n_people: int) -> Any:
        """Return no state."""
        del n_people

    @abstractmethod
    def scores(
        self, public: PublicFacts, secret: SecretFacts, state: Any
    ) -> tuple[NDArray[Any], Any]:
        """Return one score per person, and the next state."""

    @final
    def release(self, public: PublicFacts, secret: SecretFacts, state: Any) -> tuple[Released, Any]:
        """Publish the scores as unprotected."""
        scores, state = answers.scores_and_state(self.scores(public, secret, state), self)
        return mechanisms.publish_unprotected(scores, day=public.day), state


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """What a private method wants to release with noise today.

    Attributes:
        mechanism: the noise.
        statistic: what gets noise, [people] or one row per value kept; None for nothing today.
        memory: what tomorrow's `query` is given; it may be secret, as nothing else sees it.
        keep: how many of the newest noisy rows of earlier days are read again: releases times rows
            of a release.
        contacts: the contacts over which noisy values are delivered, one day per row: each receiver
            gets the sum of what `sent` makes of the senders' values.
        spent: the largest μ that any contact has spent, when a filter keeps track of it.
        unproven: the event to record instead of the mechanism's, for a sensitivity that does not
            hold.
    """

    mechanism: GaussianMechanism
    statistic: Bounded | None
    memory: Any = None
    keep: int = 0
    contacts: Sequence[DayContacts] = ()
    spent: float | None = None
    unproven: Event | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Memory:
    """What a private method keeps from day to day.

    Attributes:
        public: what `remember` returned the day before.
        secret: `Query.memory` of the day before.
        history: noisy rows after `sent` and `settle`, [people] each (float64; evidence of head
            counts float32), the newest last; a release may have several rows.
    """

    public: Any = None
    secret: Any = None
    history: tuple[Protected, ...] = ()


class PrivateMethod(ABC):
    """Noise on a statistic of known sensitivity, then any computation at all.

    The order of a day: `prepare` from public facts, `query` with secrets, noise, `sent` and
    delivery over contacts for queries that have them, `settle`, `decode`. Subclasses add their
    settings.

    Attributes:
        setup: target, window and noise.
    """

    __slots__ = ()
    setup: Setup

    @property
    def needs(self) -> Needs:
        """Messages as the exchange leaves them."""
        return Needs.MESSAGES

    def prepare(self, public: PublicFacts, remembered: Any) -> Any:
        """Return what both `query` and `decode` use, from public facts alone."""
        del public, remembered

    def remember(self, prepared: Any) -> Any:
        """Return what tomorrow's `prepare` is given."""
        del prepared

    @abstractmethod
    def query(self, prepared: Any, public: PublicFacts, secret: SecretFacts, memory: Any) -> Query:
        """Return what gets noise; the only place where secrets are seen."""

    def sent(self, noisy: Floats, parameters: SeirParameters) -> Floats:
        """Return what every sender of a noisy value sends, [rows, senders] of the same shape."""
        del parameters
        return noisy

    def settle(self, noisy: Floats, past: Sequence[Floats], public: PublicFacts) -> NDArray[Any]:
        """Return the rows of today's noisy values as they are kept, [rows, people]."""
        del past, public
        return noisy

    @abstractmethod
    def decode(self, noisy: Floats, prepared: Any, public: PublicFacts) -> Floats:
        """Return one score per person from noisy values [rows, people], the newest row last."""

    @final
    def start(self, n_people: int) -> Memory:
        """Return an empty memory."""
        return Memory()

    @final
    def release(
        self, public: PublicFacts, secret: SecretFacts, state: Memory
    ) -> tuple[Released, Memory]:
        """Add noise to what `query` returns and publish what `decode` makes of it."""
        if self.setup.own_tests and secret.messages is not None and not secret.own_tests:
            raise InputError(PASSED_THROUGH_OTHERS)
        prepared = self.prepare(public, state.public)
        lent = secret.lend()
        query = self._asked(prepared, public, lent, state.secret)
        lent.close()
        if self.setup.target.unit is Unit.PERSON and query.mechanism.lifetime.person is None:
            raise InputError(NO_PERSON)
        past = state.history[-query.keep :] if query.keep else ()
        history = (*past, *self._protect(query, past, public))
        released = mechanisms.publish_processed(
            history,
            lambda noisy: self._decoded(noisy, prepared, public),
            day=public.day,
            n_people=public.n_people,
            noise=self.setup.noise,
            unproven=query.unproven,
        )
        remembered = self.remember(prepared)
        return released, Memory(public=remembered, secret=query.memory, history=history)

    def _decoded(self, noisy: Floats, prepared: Any, public: PublicFacts) -> Floats:
        """Return the scores of `decode`; raise if there is none for anybody."""
        scores = self.decode(noisy, prepared, public)
        answers.check_decoded(scores, self, public.day, public.n_people)
        return scores

    def _asked(self, prepared: Any, public: PublicFacts, secret: SecretFacts, memory: Any) -> Query:
        """Return what `query` returns; an error names the method."""
        try:
            query = self.query(prepared, public, secret, memory)
        except TrustBoundaryError as error:
            raise TrustBoundaryError(f"{type(self).__name__}.query: {error}") from error
        answers.check_query(query, Query, self)
        answers.check_statistic(query.statistic, self, public.n_people)
        return query

    def _protect(
        self, query: Query, past: Sequence[Protected], public: PublicFacts
    ) -> list[Protected]:
        """Return the rows of today's statistic after noise."""
        if query.statistic is None:
            return []
        noisy = query.mechanism.protect(query.statistic, day=public.day, spent=query.spent)
        before = [row.values for row in past]

        def kept(rows: Floats) -> Floats:
            rows = np.atleast_2d(rows)
            if query.contacts:
                sent = self.sent(rows, public.parameters)
                answers.check_rows(sent, "sent", self, public.n_people)
                rows = _delivered(sent, query.contacts)
            settled = self.settle(rows, before, public)
            answers.check_rows(settled, "settle", self, public.n_people)
            return settled

        return noisy.processed(kept).rows()


def _delivered(sent: Floats, contacts: Sequence[DayContacts]) -> Floats:
    """Return what every receiver gets: [rows, senders] → [rows, receivers], one day per row."""
    received = np.empty(sent.shape)
    for row, values, day in zip(received, sent, contacts, strict=True):
        add_up_day(day, values, row)
    return received
