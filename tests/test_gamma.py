"""Gamma laws are those of scipy.stats, bit by bit."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import special, stats

from dnatrace.gamma import Gamma


@pytest.mark.parametrize(("mean", "sd"), [(6.0, 2.5), (17.5, 5.5), (0.7, 3.0), (12.0, 5.0)])
def test_laws_are_those_of_scipy(mean, sd):
    ours, theirs = Gamma.of(mean, sd), stats.gamma((mean / sd) ** 2, scale=sd**2 / mean)
    days = np.arange(60) + 0.5
    np.testing.assert_array_equal(ours.cdf(days), theirs.cdf(days))
    np.testing.assert_array_equal(ours.sf(days), theirs.sf(days))
    assert ours.isf(1e-4) == theirs.isf(1e-4)
    assert (theirs.mean(), theirs.std()) == pytest.approx((mean, sd))


def test_quantiles_of_intervals_are_those_of_scipy():
    for n in range(1, 100):
        assert special.stdtrit(n, 0.95) == stats.t.ppf(0.95, n)


def test_runs_and_the_live_page_do_without_the_slow_import():
    code = "import sys, dnatrace.app.desk; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
