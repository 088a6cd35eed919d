import math
from dataclasses import replace

import numpy as np
import pytest

from dnatrace import reference_data
from dnatrace.errors import InputError
from dnatrace.rng import Stream
from dnatrace.simulators import _network_kernels
from dnatrace.simulators.disease import DiseaseParameters
from dnatrace.simulators.population import (
    NETWORK_AGE_TYPES,
    Population,
    PopulationParameters,
    _round_balanced,
    household_weights,
    small_world,
)

ARRAYS = ("age_groups", "households", "networks", "neighbour_offsets", "neighbours", "edges",
          "meetings", "mean_contacts")  # fmt: skip


@pytest.fixture(scope="module")
def city_sized():
    return Population.build(n_people=10_000, seed=3)


def shares(weights):
    return np.array(weights) / np.sum(weights)


def pairs_of(first, second):
    ends = np.sort(np.stack([first, second], axis=1), axis=1)
    return {tuple(pair) for pair in ends.tolist()}


@pytest.mark.parametrize("n_people", [1, 2, 3, 7, 100, 1001])
def test_exactly_as_many_people_as_asked_for(n_people):
    people = Population.build(n_people=n_people, seed=5)
    assert people.n_people == people.households.size == people.meetings.size == n_people
    assert people.neighbour_offsets.size == n_people + 1
    assert np.all(np.diff(people.households) >= 0)
    assert np.bincount(people.households).min() >= 1
    assert np.bincount(people.households).max() <= 6
    assert people.age_groups.max() <= 8


def test_age_and_household_shares_hold_for_every_seed(city_sized):
    parameters = PopulationParameters()
    for people in (city_sized, Population.build(n_people=10_000, seed=4)):
        ages = np.bincount(people.age_groups, minlength=9)
        # The rounding gives up margins only for the last few households.
        assert np.abs(ages - 10_000 * shares(parameters.age_weights)).max() <= 12
        sizes = np.bincount(np.bincount(people.households), minlength=7)[1:]
        expected = sizes.sum() * shares(parameters.household_size_weights)
        assert np.abs(sizes - expected).max() <= 6


def test_raked_weights_meet_both_margins():
    parameters = PopulationParameters()
    members, _, weights = household_weights(parameters)
    sizes = members.sum(axis=1)
    assert weights.min() > 0
    by_size = np.bincount(sizes, weights, minlength=7)[1:]
    np.testing.assert_allclose(by_size, shares(parameters.household_size_weights), atol=1e-10)
    ages = weights @ members
    np.testing.assert_allclose(ages / ages.sum(), shares(parameters.age_weights), atol=1e-10)


def test_balanced_rounding_keeps_expectations_and_margins():
    members, margins, weights = household_weights(PopulationParameters())
    expected = 40.0 * weights
    drawn = [
        _round_balanced(expected, margins, Stream(seed, "test").generator()) for seed in range(200)
    ]
    for counts in drawn:
        assert np.all((counts == np.floor(expected)) | (counts == np.floor(expected) + 1))
    # Unbiased: Bernoulli parts, 603 cells, |z| < 5 has a false-alarm rate of 4e-4 over all.
    rest = expected - np.floor(expected)
    error = np.sqrt(rest * (1 - rest) / len(drawn))
    z = (np.mean(drawn, axis=0) - expected) / error
    assert np.abs(z[rest > 0.05]).max() < 5
    # Balanced: independent rounding would leave an sd of about five people a margin.
    people = np.array([counts @ members for counts in drawn])
    assert np.abs(people - expected @ members).std() < 1.5


def test_networks_have_no_loops_and_no_double_edges(city_sized):
    people = city_sized
    receivers = np.repeat(np.arange(people.n_people), np.diff(people.neighbour_offsets))
    assert np.all(receivers != people.neighbours)
    assert np.all(people.networks[receivers] == people.networks[people.neighbours])
    directed = receivers.astype(np.int64) * people.n_people + people.neighbours
    assert np.unique(directed).size == directed.size
    backwards = people.neighbours.astype(np.int64) * people.n_people + receivers
    assert np.array_equal(np.sort(directed), np.sort(backwards))
    # An edge has one id, the same from both ends.
    assert np.array_equal(np.sort(people.edges), np.repeat(np.arange(people.n_edges), 2))
    lower, upper = (
        np.minimum(receivers, people.neighbours),
        np.maximum(receivers, people.neighbours),
    )
    ends = np.full((people.n_edges, 2), -1)
    ends[people.edges, 0], ends[people.edges, 1] = lower, upper
    assert np.array_equal(ends[people.edges], np.stack([lower, upper], axis=1))


def test_mean_degree_of_each_network_and_adults_who_join(city_sized):
    people, parameters = city_sized, PopulationParameters()
    degrees = np.diff(people.neighbour_offsets)
    for network, age_type in enumerate(NETWORK_AGE_TYPES):
        mean = degrees[people.networks == network].mean()
        assert mean == pytest.approx(2 * parameters.occupation_contacts[age_type])
    for network, age in ((0, 0), (1, 1), (3, 7), (4, 8)):
        members, own = np.sum(people.networks == network), np.sum(people.age_groups == age)
        assert members == own + round(0.2 * own)
    assert np.all(people.networks[people.age_groups == 0] == 0)


@pytest.mark.parametrize("n", range(27))
@pytest.mark.parametrize("degree", [0.0, 3.0, 6.0, 20.0])
def test_tiny_networks(n, degree):
    first, second = small_world(n, degree, 0.1, Stream(n, "tiny"))
    assert np.all(first != second)
    assert len(pairs_of(first, second)) == first.size
    if n:
        mean = 2 * first.size / n
        assert mean <= n - 1
        if n - 1 <= degree:
            assert first.size == n * (n - 1) // 2
        elif degree % 2 == 0:
            assert mean == pytest.approx(degree)


@pytest.mark.parametrize("rewiring", [0.0, 0.1, 1.0])
def test_share_of_rewired_edges(rewiring):
    n, degree = 4000, 10
    first, second = small_world(n, degree, rewiring, Stream(2, "ring"))
    distance = np.abs(first - second)
    on_ring = np.minimum(distance, n - distance) <= degree // 2
    expected = 1 - (1 - rewiring) ** 2  # an edge is met from both ends
    error = math.sqrt(expected * (1 - expected) / first.size)
    assert abs(1 - on_ring.mean() - expected) <= 5 * error  # false alarms: 6e-7
    assert len(pairs_of(first, second)) == first.size == n * degree // 2


def test_degree_that_is_not_whole():
    first, _ = small_world(20_000, 5.0, 0.1, Stream(3, "ring"))
    # Two neighbours ahead and a third with probability one half.
    assert abs(first.size / 20_000 - 2.5) < 5 * 0.5 / math.sqrt(20_000)


def test_null_vector_is_orthogonal():
    generator = np.random.default_rng(1)
    for m in range(1, 12):
        rows = generator.integers(0, 3, (m + 1, m)).astype(np.float64)
        vector = _network_kernels.null_vector(rows)
        assert np.abs(vector).max() >= 1
        np.testing.assert_allclose(vector @ rows, 0, atol=1e-9)


def test_random_meetings_have_the_published_mean_and_sd():
    people = Population.build(n_people=40_000, seed=8)
    for groups, mean in (([0, 1], 2.0), ([2, 3, 4, 5, 6], 4.0), ([7, 8], 3.0)):
        drawn = people.meetings[np.isin(people.age_groups, groups)]
        # mean = sd; the negative binomial has kurtosis below 12 here. False alarms below 1e-5.
        assert abs(drawn.mean() - mean) < 5 * mean / math.sqrt(drawn.size)
        assert abs(drawn.std() - mean) < 5 * mean * math.sqrt(12 / 4 / drawn.size)


def test_same_seed_same_bits_and_other_seed_other_bits(city_sized):
    again = Population.build(n_people=10_000, seed=3)
    other = Population.build(n_people=10_000, seed=4)
    for name in ARRAYS:
        assert np.array_equal(getattr(again, name), getattr(city_sized, name)), name
    assert not np.array_equal(other.age_groups, city_sized.age_groups)
    assert not np.array_equal(other.meetings, city_sized.meetings)


def test_defaults_are_the_published_parameters():
    published = {
        row["name"]: float(row["value"]) for row in reference_data.read_table("parameters.csv")
    }

    def by_age(name):
        return tuple(v for k, v in published.items() if k.startswith(f"{name}_"))

    def by_type(name):
        return tuple(published[f"{name}_{kind}"] for kind in ("child", "adult", "elderly"))

    def mean_and_sd(mean, sd):
        return published[mean], published[sd]

    people, disease = PopulationParameters(), DiseaseParameters()
    assert people.age_weights == by_age("population")
    assert people.household_size_weights == by_age("household_size")
    assert people.occupation_contacts == by_type("mean_work_interactions")
    assert people.random_means == by_type("mean_random_interactions")
    assert people.random_sds == by_type("sd_random_interactions")
    assert people.daily_fraction == published["daily_fraction_work"]
    assert people.adults_per_child == published["child_network_adults"]
    assert people.adults_per_elderly == published["elderly_network_adults"]
    assert disease.infectious_rate == published["infectious_rate"]
    assert disease.mild_factor == published["mild_infectious_factor"]
    assert disease.asymptomatic_factor == published["asymptomatic_infectious_factor"]
    assert disease.susceptibilities == by_age("relative_susceptibility")
    assert disease.kind_weights == by_age("relative_transmission")
    assert disease.asymptomatic_fractions == by_age("fraction_asymptomatic")
    assert disease.mild_fractions == by_age("mild_fraction")
    assert disease.hospitalised_fractions == by_age("hospitalised_fraction")
    assert disease.critical_fractions == by_age("critical_fraction")
    assert disease.fatality_fractions == by_age("fatality_fraction")
    assert disease.intensive_care_fractions == by_age("icu_allocation")
    assert disease.time_to_hospital == published["mean_time_to_hospital"]
    assert disease.time_to_critical == published["mean_time_to_critical"]
    for ours, mean, sd in (
        ("infectious_period", "mean_infectious_period", "sd_infectious_period"),
        ("time_to_symptoms", "mean_time_to_symptoms", "sd_time_to_symptoms"),
        ("time_to_death", "mean_time_to_death", "sd_time_to_death"),
        ("time_to_recovery", "mean_time_to_recover", "sd_time_to_recover"),
        ("asymptomatic_to_recovery", "mean_asymptomatic_to_recovery",
         "sd_asymptomatic_to_recovery"),
        ("hospital_to_recovery", "mean_time_hospitalised_recovery",
         "sd_time_hospitalised_recovery"),
        ("critical_to_survival", "mean_time_critical_survive", "sd_time_critical_survive"),
    ):  # fmt: skip
        assert getattr(disease, ours) == mean_and_sd(mean, sd), ours


@pytest.mark.parametrize(
    "wrong",
    [
        {"age_weights": (1.0,)},
        {"household_size_weights": (1.0, 1.0)},
        {"rewiring": 1.5},
        {"daily_fraction": 0.0},
        {"random_sds": (1.0, 1.0, 1.0)},
        {"adults_per_child": -1.0},
    ],
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError):
        PopulationParameters(**wrong)


def test_shares_that_no_households_can_have_are_refused():
    # Only children, but nobody lives alone with a child's age in the reference table.
    impossible = PopulationParameters(
        age_weights=(1, 0, 0, 0, 0, 0, 0, 0, 0), household_size_weights=(1, 1, 1, 1, 1, 1)
    )
    with pytest.raises(InputError, match="no mixture"):
        Population.build(n_people=100, seed=1, parameters=impossible)


def test_scattered_households_are_refused(city_sized):
    with pytest.raises(InputError, match="consecutive"):
        replace(city_sized, households=city_sized.households[::-1])
    with pytest.raises(InputError, match="one entry per person"):
        replace(city_sized, meetings=city_sized.meetings[:-1])


def test_no_people_are_refused():
    with pytest.raises(InputError):
        Population.build(n_people=0, seed=1)
