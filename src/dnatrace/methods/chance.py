"""`random` and `none`: random tests, and no tests at all. The lower bounds of every plot."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dnatrace.methods.base import Method, MethodSettings, PublicFacts, Setup
from dnatrace.methods.kinds import Floats, PublicMethod
from dnatrace.methods.settings import NAME
from dnatrace.settings import setting


class RandomSettings(MethodSettings):
    """Tests at random."""

    hears_contacts: ClassVar[bool] = False
    reads_transmission: ClassVar[bool] = False
    reads_model: ClassVar[bool] = False
    reads_test_errors: ClassVar[bool] = False
    name: Literal["random"] = setting("random", NAME)

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return Chance()


class NoneSettings(MethodSettings):
    """No tests; scores do not matter."""

    hears_contacts: ClassVar[bool] = False
    reads_transmission: ClassVar[bool] = False
    reads_model: ClassVar[bool] = False
    reads_test_errors: ClassVar[bool] = False
    gives_tests: ClassVar[bool] = False
    name: Literal["none"] = setting("none", NAME)

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return Chance()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance(PublicMethod):
    """Give everybody the same score, so that the policy's tie-break decides."""

    def scores(self, public: PublicFacts, state: Any) -> tuple[Floats, Any]:
        """Return zeros."""
        return np.zeros(public.n_people), state
