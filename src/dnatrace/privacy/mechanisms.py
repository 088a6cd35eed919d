"""The only place where a statistic becomes a released score."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.privacy.accounting import PublicEvent, UnprotectedEvent
from dnatrace.privacy.release import _SEAL, Released


def publish_public(scores: NDArray[Any], *, day: int) -> Released:
    """Release scores that do not depend on any message.

    Guarantee: ε = 0 with respect to messages, because they were not used.
    """
    return Released(scores=scores.astype(np.float64), event=PublicEvent(day=day), seal=_SEAL)


def publish_unprotected(scores: NDArray[Any], *, day: int) -> Released:
    """Release scores as they are: no privacy, on purpose and on record."""
    return Released(scores=scores.astype(np.float64), event=UnprotectedEvent(day=day), seal=_SEAL)
