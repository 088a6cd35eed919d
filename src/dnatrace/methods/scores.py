"""What the methods share: the score of a day from exposures and own tests."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.inference import factorised_neighbours as fn
from dnatrace.methods.base import DayFacts, Score
from dnatrace.seir import State


def last_day_score(facts: DayFacts, heard: NDArray[Any], score: Score) -> NDArray[np.float64]:
    """Return the score of everybody on the last day, given exposures [days, people]."""
    beliefs = fn.last_day_beliefs(
        heard, facts.outcomes, parameters=facts.parameters, test_errors=facts.test_errors
    )
    infected = beliefs[:, State.I]
    return infected if score is Score.INFECTED else infected + beliefs[:, State.E]
