"""Noise back ends: keyed and repeatable for simulation, unrepeatable for protection."""

import math
import sys

import numpy as np
import pytest
from scipy import stats

from dnatrace.errors import InputError
from dnatrace.privacy.noise import GRID, SCORE_GRID, FastNoise, SecureNoise, round_scores


def draw(noise, n=1000, *, multiplier=1.0, purpose="noise/test", day=0, first=0, rows=None):
    shape = n if rows is None else (rows, n)
    return noise.perturb(
        np.zeros(shape), np.ones(shape), multiplier=multiplier, purpose=purpose, day=day, draw=first
    )


def test_fast_noise_is_keyed():
    noise = FastNoise(seed=7)
    base = draw(noise)
    assert np.array_equal(base, draw(noise))
    assert np.array_equal(base[:10], draw(noise, 10))  # more people do not shift anybody
    for other in (
        draw(noise, day=1),
        draw(noise, first=1),
        draw(noise, purpose="noise/other"),
        draw(FastNoise(seed=8)),
    ):
        assert not np.isin(other, base).any()
        assert abs(np.corrcoef(base, other)[0, 1]) < 5 / math.sqrt(1000)


def test_epsilon_changes_the_size_and_nothing_else():
    assert np.allclose(draw(FastNoise(seed=3), multiplier=8.0), 8.0 * draw(FastNoise(seed=3)))


def test_rows_have_noise_of_their_own():
    rows = draw(FastNoise(seed=1), rows=3)
    assert np.array_equal(rows[1], draw(FastNoise(seed=1), first=1))
    assert stats.kstest(rows.ravel(), "norm").pvalue > 1e-4


def test_zero_sensitivity_gets_no_noise():
    noisy = FastNoise(seed=0).perturb(
        np.array([0.5, 0.5]), np.array([0.0, 1.0]), multiplier=1.0, purpose="p", day=0
    )
    assert noisy[0] == 0.5
    assert noisy[1] != 0.5


def test_secure_noise_is_a_normal_on_the_grid():
    """KS at n = 4,000 accepts σ and rejects 2/3 σ and 3/2 σ (false alarm 1e-4)."""
    noise = SecureNoise()
    values = np.full(4000, 0.3)
    noisy = noise.perturb(values, np.full(4000, 0.02), multiplier=2.5, purpose="p", day=0)
    assert np.array_equal(noisy / GRID, np.rint(noisy / GRID))
    for factor, accepted in ((1.01, True), (2 / 3, False), (3 / 2, False)):
        normal = stats.norm(0.3, factor * 0.05)
        assert (stats.kstest(noisy, normal.cdf).pvalue > 1e-4) == accepted
    again = noise.perturb(values, np.full(4000, 0.02), multiplier=2.5, purpose="p", day=0)
    assert not np.array_equal(noisy, again)


def test_secure_noise_never_has_less_than_asked(monkeypatch):
    scales = []

    def record(values, scale):
        scales.extend([scale] * values.size)
        return values.astype(float)

    monkeypatch.setattr("dnatrace.privacy.noise._discrete_gaussian", record)
    sensitivity = np.geomspace(1e-5, 1.0, 300)
    SecureNoise().perturb(np.zeros(300), sensitivity, multiplier=2.0, purpose="p", day=0)
    asked = 2.0 * (sensitivity + GRID) / GRID
    assert (np.sort(scales) >= asked * (1 - 1e-9)).all()
    assert (np.sort(scales) <= asked * 1.0225).all()


def test_secure_noise_leaves_public_values_and_never_falls_below_the_grid():
    noise = SecureNoise()
    assert noise.perturb(np.array([0.1]), np.zeros(1), multiplier=1.0, purpose="p", day=0)[0] == 0.1
    tiny = noise.perturb(np.zeros(400), np.full(400, 1e-12), multiplier=1.0, purpose="p", day=0)
    # 64 steps of the grid; 400 draws know a standard deviation to 3.5 %, five of them.
    assert 0.8 * 64 * GRID < tiny.std() < 1.25 * 64 * GRID


def test_secure_noise_without_the_extra_is_one_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(InputError, match=r"dnatrace\[secure\]"):
        SecureNoise()


def test_scores_are_rounded_only_when_asked():
    scores = np.array([0.12345, 0.5])
    assert np.array_equal(round_scores(scores, None), scores)
    rounded = round_scores(scores, SCORE_GRID)
    assert np.array_equal(rounded / SCORE_GRID, np.rint(rounded / SCORE_GRID))
    assert "simulation" in FastNoise(seed=0).name
    assert FastNoise(seed=0).score_grid is None
    assert SecureNoise().score_grid == SCORE_GRID
    assert "OpenDP" in SecureNoise().name


def test_secure_noise_does_not_wrap():
    noise = SecureNoise()
    values = np.array([2.0**33, 2.0**40, -(2.0**34), 2.0**31])
    noisy = noise.perturb(values, np.ones(4), multiplier=2.0, purpose="p", day=0)
    assert np.abs(noisy - np.array([2.0**32, 2.0**32, -(2.0**32), 2.0**31])).max() < 100.0


def test_secure_noise_refuses_what_its_integers_cannot_hold():
    with pytest.raises(InputError, match="standard deviation"):
        SecureNoise().perturb(np.zeros(1), np.ones(1), multiplier=1e9, purpose="p", day=0)
