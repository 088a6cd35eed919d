import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dnatrace as dt
from dnatrace import rng
from dnatrace.errors import InputError

from . import reference

words = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [  # known answers of the Random123 library, philox4x32 with 10 rounds
        (0, (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (2**64 - 1, (2**32 - 1,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            0x299F31D0A4093822,
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_known_answers(key, counter, expected):
    assert tuple(map(int, rng.philox(np.uint64(key), *counter))) == expected


@given(st.integers(0, 2**64 - 1), st.tuples(words, words, words, words))
def test_philox_equals_twin(key, counter):
    assert tuple(map(int, rng.philox(np.uint64(key), *counter))) == reference.philox4x32(
        key, counter
    )


def test_a_draw_depends_on_its_address_alone(threads):
    stream = dt.Stream(7, "infection")
    people = np.arange(5000)
    whole = stream.uniform(people, day=3)
    shuffled = np.random.default_rng(0).permutation(people)
    assert np.array_equal(stream.uniform(shuffled, day=3), whole[shuffled])
    threads(1)
    assert np.array_equal(stream.uniform(people, day=3), whole)
    assert np.array_equal(dt.Stream(7, "infection").uniform([17], day=3), whole[17:18])
    assert rng.uniform_at(stream.key, 17, 3, 0) == whole[17]
    assert rng.normal_at(stream.key, 17, 3, 0) == stream.normal([17], day=3)[0]


@pytest.mark.parametrize(
    "other",
    [
        dt.Stream(8, "infection").uniform(range(1000), day=3),
        dt.Stream(7, "tests").uniform(range(1000), day=3),
        dt.Stream(7, "infection").uniform(range(1000), day=4),
        dt.Stream(7, "infection").uniform(range(1000), day=3, draw=1),
        dt.Stream(7, "infection").uniform(range(1, 1001), day=3),
    ],
)
def test_every_part_of_the_address_matters(other):
    mine = dt.Stream(7, "infection").uniform(range(1000), day=3)
    # Under independence the correlation has standard deviation 1/√1000 = 0.032; 5 of them.
    assert abs(np.corrcoef(mine, other)[0, 1]) < 0.16


def test_distributions():
    people = np.arange(200_000)
    stream = dt.Stream(1, "check")
    uniform, normal = stream.uniform(people), stream.normal(people)
    # Fixed seed; under the right law each p-value is below 1e-4 once in ten thousand seeds.
    assert stats.kstest(uniform, "uniform").pvalue > 1e-4
    assert stats.kstest(normal, "norm").pvalue > 1e-4
    assert stats.kstest(normal * 1.02, "norm").pvalue < 1e-4  # the test can fail
    assert 0 < uniform.min() < uniform.max() < 1


def test_generators_are_reproducible_and_apart():
    stream = dt.Stream(1, "population")
    first = stream.generator(person=3).random(4)
    assert np.array_equal(first, stream.generator(person=3).random(4))
    assert not np.array_equal(first, stream.generator(person=4).random(4))
    assert not np.array_equal(first, stream.generator(person=3, day=1).random(4))


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_bad_seed(seed):
    with pytest.raises(InputError, match="seed"):
        dt.Stream(seed, "x")


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ([0, 2**32], "person must be a whole number from 0 to 2^32-1, not 4294967296"),
        ([5, -1], "person must be a whole number from 0 to 2^32-1, not -1"),
        (np.array([-1], dtype=np.int8), "person must be a whole number from 0 to 2^32-1, not -1"),
        (np.array([2**63], dtype=np.uint64), "not 9223372036854775808"),
        ([1.9], "people must be whole numbers in one dimension, not float64 of shape [1]"),
        ([True, False], "people must be whole numbers in one dimension, not bool"),
        (3, "people must be whole numbers in one dimension, not int64 of shape []"),
        ([[1, 2]], "people must be whole numbers in one dimension"),
    ],
)
def test_people_without_an_address(people, message):
    """Otherwise two people would share their draws."""
    for draw in (dt.Stream(1, "x").uniform, dt.Stream(1, "x").normal):
        with pytest.raises(InputError, match=re.escape(message)):
            draw(people)


@pytest.mark.parametrize("bad", [-1, 2**32, 1.5, None, True])
def test_days_draws_and_generators_without_an_address(bad):
    stream = dt.Stream(1, "x")
    for name, draw in [
        ("day", lambda: stream.uniform([1], day=bad)),
        ("draw", lambda: stream.normal([1], draw=bad)),
        ("person", lambda: stream.generator(bad)),
        ("day", lambda: stream.generator(day=bad)),
    ]:
        with pytest.raises(InputError, match=f"{name} must be a whole number"):
            draw()


def test_the_largest_address_and_no_people():
    stream, most = dt.Stream(1, "x"), 2**32 - 1
    assert 0 < stream.uniform([most], day=np.int64(most), draw=most)[0] < 1
    assert stream.uniform([]).size == 0
    assert stream.generator(most, most).random() != stream.generator().random()
