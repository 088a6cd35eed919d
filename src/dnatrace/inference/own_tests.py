"""P(I) given a person's own tests alone.

People with the same tests on the same days of a window have the same column, and there are few such
patterns: most people have no test or one. So the chain is run once per pattern, and everybody takes
the column of their pattern. Columns computed on earlier days are kept, as patterns recur every day.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dnatrace.records import NOT_TESTED
from dnatrace.seir import RESCALE_EVERY, SeirParameters, TestErrors, leaving, pack_model

_DAYS_BEFORE = 14  # days without tests with which the chain begins
_MOST_DIGITS = 39  # base 3, in 63 bits: windows of more days are computed person by person
_MOST_KEPT = 2**16  # patterns

Floats = NDArray[np.float64]
Messages = NDArray[np.float32]
Codes = NDArray[np.int64]


@dataclass(slots=True, kw_only=True, eq=False)
class TestPatterns:
    """The columns of the test patterns seen so far, for windows of one length.

    Attributes:
        parameters: the parameters of the statistical model.
        test_errors: what phones believe about tests.
    """

    __test__ = False  # the name does not make it a test case

    parameters: SeirParameters
    test_errors: TestErrors
    _n_days: int = 0
    _codes: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _columns: Messages = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))

    def messages(self, outcomes: NDArray[np.int8]) -> Messages:
        """Return P(I) on the days of own tests, int8 [days, people]: float32 of that shape.

        Cost: O(days × people) look-ups, and the chain for patterns not seen before.
        """
        n_days, n_people = outcomes.shape
        if n_days > _MOST_DIGITS:
            return infected_given_tests(outcomes, self.parameters, self.test_errors)
        codes = np.zeros(n_people, dtype=np.int64)
        for results in outcomes:
            codes *= 3
            codes += results
            codes += 1
        patterns, whose = np.unique(codes, return_inverse=True)
        self._meet(patterns, n_days)
        places = np.searchsorted(self._codes, patterns)[whose]
        found = np.empty(outcomes.shape, dtype=np.float32)
        for row, values in zip(found, self._columns, strict=True):
            np.take(values, places, out=row)
        return found

    def _meet(self, patterns: Codes, n_days: int) -> None:
        """Compute the columns of new patterns and insert them in order."""
        forget = n_days != self._n_days or self._codes.size > _MOST_KEPT
        if forget:
            self._n_days, self._codes = n_days, np.empty(0, dtype=np.int64)
            self._columns = np.empty((n_days, 0), dtype=np.float32)
        new = patterns[~np.isin(patterns, self._codes, assume_unique=True)]
        if new.size == 0:
            return
        digits = new // 3 ** np.arange(n_days - 1, -1, -1)[:, None] % 3
        tests = (digits - 1).astype(np.int8)
        columns = infected_given_tests(tests, self.parameters, self.test_errors)
        codes = np.concatenate([self._codes, new])
        order = np.argsort(codes)
        self._codes = codes[order]
        self._columns = np.concatenate([self._columns, columns], axis=1)[:, order]


def infected_given_tests(
    outcomes: NDArray[np.int8], parameters: SeirParameters, test_errors: TestErrors
) -> Messages:
    """Return P(I) on the days of own tests of every column, int8 [days, people], without contacts.

    The chain begins 14 days before the first day. The bits are those of
    `factorised_neighbours.infected` with exposures of 0: the same operations in the same order, in
    numpy, which needs no compiler.

    Cost: about 50 operations per person-day.
    """
    p0, g, h, background, negative, positive = (
        float(x) for x in pack_model(parameters, test_errors)
    )
    n_days, n_people = outcomes.shape
    likelihood = np.where(outcomes > 0, positive, np.where(outcomes == NOT_TESTED, 1.0, negative))
    ratio = np.concatenate([np.ones((_DAYS_BEFORE, n_people)), likelihood])
    leave, stay = leaving(background)
    alpha = np.empty((len(ratio), 4, n_people))
    alpha[0] = np.array([1.0 - p0, p0, 0.0, 0.0])[:, None]
    for t in range(1, len(ratio)):
        S, E, I, R = alpha[t - 1]
        alpha[t, 0] = S * stay
        alpha[t, 1] = S * leave + E * (1.0 - g)
        alpha[t, 2] = (E * g + I * (1.0 - h)) * ratio[t]
        alpha[t, 3] = I * h + R
        if t % RESCALE_EVERY == 0:
            alpha[t] *= 1.0 / _total(alpha[t])
    found = np.empty((n_days, n_people), dtype=np.float32)
    beta = np.ones((4, n_people))
    for t in range(len(ratio) - 1, _DAYS_BEFORE - 1, -1):
        joint = alpha[t] * beta
        found[t - _DAYS_BEFORE] = joint[2] * (1.0 / _total(joint))
        S, E, I, R = beta[0], beta[1], beta[2] * ratio[t], beta[3]
        beta = np.stack([stay * S + leave * E, (1.0 - g) * E + g * I, (1.0 - h) * I + h * R, R])
        if t % RESCALE_EVERY == 0:
            beta *= 1.0 / _total(beta)
    return found


def _total(weights: Floats) -> Floats:
    """Return the sum over states, in the order of the compiled chain."""
    return weights[0] + weights[1] + weights[2] + weights[3]
