"""The names that users and scripts rely on."""

import subprocess
import sys

import numpy as np
import pytest

import dnatrace as dt


def test_the_example_of_the_readme_runs():
    contacts = np.array([[0, 1, 2], [1, 0, 2], [1, 2, 3], [2, 1, 3]])
    beliefs = dt.infer(
        contacts,
        np.array([[0, 4, 1]]),
        n_people=3,
        n_days=7,
        parameters=dt.SeirParameters(p1=0.03),
        test_errors=dt.TestErrors(false_positive_rate=0.01, false_negative_rate=0.001),
        rounds=5,
        clip=None,
        levels=None,
    )
    assert beliefs.shape == (3, 7, 4)
    assert beliefs.dtype == np.float32
    result = dt.run(dt.RunConfig(method="dpfn-s", epsilon=1.0, people=200, days=5, seed=1))
    assert 0 <= result.summary["peak_infected"] <= 1
    assert result.daily.num_rows == 5


def test_privacy_is_reachable_from_the_package():
    sigma = dt.privacy.gaussian_sigma(epsilon=1.0, delta=1e-3, sensitivity=0.02)
    assert sigma == pytest.approx(0.02 * 2.574657, rel=1e-6)


def test_every_public_name_loads_and_importing_is_light():
    code = (
        "import sys, dnatrace\n"
        "assert not {'numpy', 'numba', 'pyarrow'} & set(sys.modules)\n"
        "for name in dir(dnatrace): getattr(dnatrace, name)\n"
        "try: dnatrace.no_such_name\n"
        "except AttributeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "no_such_name" in done.stdout
