"""What decoders read: scaled noisy numbers, what people know, what is common to all."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.networks.architecture import WINDOW
from dnatrace.networks.inputs import groups_or_unknown, newest_first_by_person
from dnatrace.records import NOT_TESTED
from dnatrace.seir import TestErrors

N_COMMON = 3
_SPREAD = 4.0  # of tallies between people, roughly
# For head counts: roughly how many people alarm in a release; how many times more likely an alarm
# makes an infection; the variance of a count that is not a whole number; and where counting ends.
_USUAL_ALARMS, _RISK, _ROUNDING, _MOST_HEADS = 0.02, 30.0, 0.02, 3
LEAST_NOISE, MOST_NOISE = 0.1, 1000.0  # the range that decoders are trained for
_LEAST_ERROR = 1e-3

Floats = NDArray[np.float32]  # in networks; in methods, inference and privacy it is float64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecoderInputs:
    """What a decoder reads in addition to noisy tallies: what a person knows without messages.

    Attributes:
        outcomes: own tests, int8 [days, people], oldest day first: 1, 0 or -1 without a test.
        mean_contacts: average contacts per day, float64 [people].
        age_groups: decade of age, uint8 [people]; None when unknown.
        test_errors: what phones believe about tests.
        diary: flags of `records.Diary`, uint8 [days, people], oldest day first; None without.
    """

    outcomes: NDArray[np.int8]
    mean_contacts: NDArray[np.float64]
    age_groups: NDArray[np.uint8] | None
    test_errors: TestErrors
    diary: NDArray[np.uint8] | None = None

    def flags(self) -> NDArray[np.uint8]:
        """Return the diary [people, 14], newest first; blank where there is none."""
        if self.diary is None:
            return np.zeros((self.outcomes.shape[1], WINDOW), dtype=np.uint8)
        return newest_first_by_person(self.diary, 0)

    def diary_by_day(self) -> NDArray[np.uint8]:
        """Return the diary [days, people], oldest day first; one blank day where there is none."""
        if self.diary is None:
            return np.zeros((1, self.outcomes.shape[1]), dtype=np.uint8)
        return np.ascontiguousarray(self.diary)

    def by_day(self) -> tuple[NDArray[np.int8], Floats, NDArray[np.uint8]]:
        """Return own tests [days, people], oldest first, log(1 + contacts) and age groups."""
        n_days, n_people = self.outcomes.shape
        if n_days > WINDOW:
            raise InputError(f"a window of {n_days} days; decoders read {WINDOW}")
        log_contacts = np.log1p(self.mean_contacts).astype(np.float32)
        groups = groups_or_unknown(self.age_groups, n_people)
        return np.ascontiguousarray(self.outcomes), log_contacts, groups

    def personal(self) -> tuple[NDArray[np.int8], Floats, NDArray[np.uint8]]:
        """Return own tests [people, 14], newest first, log(1 + contacts) and age groups."""
        own = newest_first_by_person(self.outcomes, NOT_TESTED)
        log_contacts = np.log1p(self.mean_contacts).astype(np.float32)
        return own, log_contacts, groups_or_unknown(self.age_groups, len(own))


def scaled_tallies(tallies: NDArray[Any], noise: Any) -> Floats:
    """Return noisy tallies on the scale of the network: float32, in the given shape."""
    return (tallies / np.sqrt(noise * noise + _SPREAD * _SPREAD)).astype(np.float32)


def head_evidence(numbers: NDArray[Any], noise: Any) -> Floats:
    """Return the evidence of noisy head counts for an infection: float32, in the given shape.

    Heads are rare and whole numbers. So with little noise a number is either close to 0, and says
    nothing, or it is somebody; with much noise the evidence is the number divided by the variance,
    and vanishes by itself. Bayes' rule covers the range between: the expected number of heads h
    given the noisy one, up to 3, and from it log(1 + 30·h), minus that of a number of 0, so that 0
    is no evidence. `noise` is the standard deviation in heads: the multiplier of the mechanism, as
    the sensitivity is 1.

    Cost: four exponentials and logarithms per number.
    """
    variance = noise * noise + _ROUNDING
    nothing = 1.0 + _RISK * _expected_heads(np.zeros_like(variance), variance)
    evidence = np.log((1.0 + _RISK * _expected_heads(numbers, variance)) / nothing)
    return np.asarray(evidence, dtype=np.float32)


def _expected_heads(numbers: Any, variance: Any) -> Any:
    """Return roughly the expected heads of a noisy number: k or more against k - 1, for every k."""
    total = 0.0
    for k in range(1, _MOST_HEADS + 1):
        odds = (numbers - (k - 0.5)) / variance + math.log(_USUAL_ALARMS / k)
        total = total + 0.5 * (1.0 + np.tanh(0.5 * odds))
    return total


def common_inputs(noise: Any, error_rates: Any) -> Floats:
    """Return the inputs that are the same for everybody: float32 [..., 3].

    Error rates are [..., 2], false positive first.
    """
    noise = np.clip(np.asarray(noise, dtype=np.float64), LEAST_NOISE, MOST_NOISE)
    rates = np.log(np.asarray(error_rates, dtype=np.float64) + _LEAST_ERROR)
    return np.concatenate([0.5 * np.log(noise)[..., None], rates], axis=-1).astype(np.float32)
