"""`oracle`: the true state. What perfect knowledge would achieve within the test capacity."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dnatrace.methods.base import Method, MethodSettings, Needs, PublicFacts, SecretFacts, Setup
from dnatrace.methods.kinds import OpenMethod
from dnatrace.methods.settings import NAME
from dnatrace.seir import State
from dnatrace.settings import setting


class OracleSettings(MethodSettings):
    """Perfect knowledge."""

    hears_contacts: ClassVar[bool] = False
    reads_transmission: ClassVar[bool] = False
    reads_model: ClassVar[bool] = False
    reads_test_errors: ClassVar[bool] = False
    name: Literal["oracle"] = setting("oracle", NAME)

    def build(self, setup: Setup) -> Method:
        """Return the method of these settings."""
        return Oracle()


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle(OpenMethod):
    """Score everybody in E or I as 1, everybody else as 0."""

    @property
    def needs(self) -> Needs:
        """The true states."""
        return Needs.TRUTH

    def scores(
        self, public: PublicFacts, secret: SecretFacts, state: Any
    ) -> tuple[NDArray[np.bool_], Any]:
        """Return the truth."""
        assert secret.states is not None  # `needs` asked for them
        return (secret.states == State.E) | (secret.states == State.I), state
