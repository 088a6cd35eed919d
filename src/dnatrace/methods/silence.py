"""Check that a release called public is the same in a world without secrets.

A release without noise costs nothing only if it depends on public facts alone. The method that
publishes it says so, but nothing in the type of an array can show that this is true. So the loop
lets the method release the day once more from the same public facts with nobody saying anything: no
contacts, no messages, no true states. Different scores mean that something secret was called
public.

As long as every release of a run was public, the second run has heard nothing since its first day,
so that secrets kept from an earlier day are found, too. After a release with noise, which the state
may legitimately remember, only the secrets of the day itself are silenced.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dnatrace.methods.base import Method, PublicFacts, SecretFacts
from dnatrace.methods.kinds import PublicMethod
from dnatrace.privacy.accounting import PublicEvent
from dnatrace.privacy.release import Released, TrustBoundaryError
from dnatrace.records import ContactWindow, DayContacts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Silence:
    """A run of the same method in which nobody ever said anything.

    Attributes:
        state: the state of the method in that run.
        begun: whether the first day has been run.
        ended: whether the run released something with noise, so that the two may differ.
    """

    state: Any = None
    begun: bool = False
    ended: bool = False

    def after(
        self,
        method: Method,
        released: Released,
        public: PublicFacts,
        secret: SecretFacts,
        state: Any,
    ) -> "Silence":
        """Return the silent run after a day, or raise if a public release needed a secret.

        Cost: that of another release, if it is called public and the method saw secrets; nothing
        otherwise.

        Args:
            method: the method that released them.
            released: the scores of the day.
            public: the public facts of the day.
            secret: what the method was shown.
            state: the state of the method before the release.
        """
        if _is_blind(method):
            return self
        if not isinstance(released.event, PublicEvent):
            return Silence(ended=True)
        before = state if self.ended else self._state(method, public)
        again, silent_state = method.release(public, silenced(secret), before)
        if not np.array_equal(again.scores, released.scores, equal_nan=True):
            raise TrustBoundaryError(
                f"the scores of day {public.day} are called public, and change when nobody says "
                "anything: publish them with noise, or as unprotected"
            )
        return self if self.ended else Silence(state=silent_state, begun=True)

    def _state(self, method: Method, public: PublicFacts) -> Any:
        return self.state if self.begun else method.start(public.n_people)


def silenced(secret: SecretFacts) -> SecretFacts:
    """Return secrets of the same shapes without content: nobody met, nobody is infected."""
    n_people = secret.window.n_people
    window = ContactWindow(
        n_people=n_people, n_days=secret.window.n_days, first_day=secret.window.first_day
    )
    for _ in range(len(secret.window)):
        window.push(DayContacts.empty(n_people))
    return SecretFacts(
        window=window,
        exposures=None if secret.exposures is None else np.zeros_like(secret.exposures),
        messages=None if secret.messages is None else np.zeros_like(secret.messages),
        own_tests=secret.own_tests,
        states=None if secret.states is None else np.zeros_like(secret.states),
    )


def _is_blind(method: Method) -> bool:
    """Return whether a method is never shown a secret, by its kind."""
    return isinstance(method, PublicMethod) and type(method).release is PublicMethod.release
