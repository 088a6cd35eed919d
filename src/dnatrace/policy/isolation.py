"""How people with a positive result isolate."""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dnatrace.rng import Stream
from dnatrace.settings import Days, Settings, Share, setting

Ids = NDArray[np.int64]
NEVER = -1


class AdherenceUnit(StrEnum):
    """Whether adherence to isolation is drawn once per person or at each positive test."""

    PERSON = "person"
    EVENT = "event"


class IsolationRules(Settings):
    """How people with a positive result isolate."""

    days: Days = setting(
        10,
        "length of isolation, from the day after the result",
        source="DNA paper; 11 in the authors' programs",
    )
    start_day: Days = setting(
        3, "results before this day have no consequence", source="authors' programs"
    )
    adherence: Share = setting(1.0, "share that follows the rule")
    adherence_unit: AdherenceUnit = setting(
        AdherenceUnit.PERSON, "drawn once per `person` or at each positive result (`event`)"
    )
    keeps_household: bool = setting(False, "whether isolated people meet housemates")
    dropout: Share = setting(0.0, "probability per day of giving up")


def admit(
    until: NDArray[np.int32], positives: Ids, *, day: int, rules: IsolationRules, stream: Stream
) -> NDArray[np.int32]:
    """Return the last day of isolation of everybody after the results of `day`: int32 [people]."""
    if day < rules.start_day or rules.days == 0:
        return until
    admitted = until.copy()
    admitted[positives[follows(positives, day=day, rules=rules, stream=stream)]] = day + rules.days
    return admitted


def follows(people: Ids, *, day: int, rules: IsolationRules, stream: Stream) -> NDArray[np.bool_]:
    """Return who isolates after a positive result on that day: bool, one per entry of `people`."""
    drawn_on = 0 if rules.adherence_unit is AdherenceUnit.PERSON else day
    return stream.uniform(people, drawn_on) < rules.adherence


def drop_out(
    until: NDArray[np.int32], *, day: int, rules: IsolationRules, stream: Stream
) -> NDArray[np.int32]:
    """Return the last day of isolation after those who give up before `day` have left."""
    if rules.dropout == 0.0:
        return until
    isolated = np.flatnonzero(until >= day)
    leaves = isolated[stream.uniform(isolated, day) < rules.dropout]
    left = until.copy()
    left[leaves] = day - 1
    return left
