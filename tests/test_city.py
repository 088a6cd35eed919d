import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dnatrace.errors import InputError
from dnatrace.rng import Stream
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import build_simulator
from dnatrace.simulators import _kernels
from dnatrace.simulators.base import (
    MEETS_NOBODY,
    SEIR_OF_COURSE,
    ContactKind,
    CourseState,
    Simulator,
)
from dnatrace.simulators.city import City, CityParameters
from dnatrace.simulators.disease import DiseaseParameters
from dnatrace.simulators.population import Population, PopulationParameters

from .reference_city import ReferenceCity, meetings, with_hermit


def rows(contacts):
    """Sorted (receiver, sender, kind) of a day."""
    table = np.stack([contacts.receivers(), contacts.senders, contacts.kinds], axis=1)
    return table[np.lexsort(table.T[::-1])]


def run(city, days):
    return [city.advance() for _ in range(days)]


def assert_same_days(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert np.array_equal(a.offsets, b.offsets)
        assert np.array_equal(a.senders, b.senders)
        assert np.array_equal(a.kinds, b.kinds)


def ill(**changes):
    """Figures under which many people reach hospital and die."""
    severe = {"asymptomatic_fractions": (0.1,) * 9, "mild_fractions": (0.1,) * 9}
    worst = {"hospitalised_fractions": (0.7,) * 9, "critical_fractions": (0.6,) * 9}
    disease = DiseaseParameters(**{**severe, **worst, **changes})
    return CityParameters(disease=disease)


def test_states_are_mapped_to_seir_once_each():
    groups = [np.flatnonzero(state == SEIR_OF_COURSE).tolist() for state in range(4)]
    assert groups == [[0], [1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]


def test_protocol_shapes_and_days():
    city: Simulator = City(n_people=500, seed=1)
    assert (city.n_people, city.day) == (500, 0)
    assert city.age_groups.dtype == np.uint8
    assert city.households.dtype == np.int32
    assert np.sum(city.infected_on == 0) == 5
    assert np.all((city.states > 0) == (city.infected_on == 0))
    for day in range(1, 4):
        contacts = city.advance()
        assert city.day == day
        assert contacts.n_people == 500
        assert contacts.offsets.dtype == contacts.senders.dtype == np.int32
        assert contacts.kinds is not None
        assert contacts.kinds.dtype == np.uint8


def test_contacts_are_symmetric_without_loops_and_inside_their_networks():
    city = City(n_people=2000, seed=2, initially_infected=50)
    for contacts in run(city, 20):
        table = rows(contacts)
        receivers, senders, kinds = table.T
        assert np.all(receivers != senders)
        assert np.array_equal(table, table_sorted(np.stack([senders, receivers, kinds], axis=1)))
        at_home = kinds == ContactKind.HOUSEHOLD
        same = city.households[receivers] == city.households[senders]
        assert np.all(same[at_home])
        at_work = kinds == ContactKind.OCCUPATION
        networks = city.population.networks
        assert np.all(networks[receivers[at_work]] == networks[senders[at_work]])


def table_sorted(table):
    return table[np.lexsort(table.T[::-1])]


@given(seed=st.integers(0, 99), adopted=st.floats(0.2, 1.0))
@settings(max_examples=10, deadline=None)
def test_contacts_are_mutual_as_they_say(seed, adopted):
    """What `by_sender` takes the rows for, also when some people are left out."""
    city = City(n_people=150, seed=seed)
    kept = np.random.default_rng(seed).random(150) < adopted
    for day in run(city, 3):
        for contacts in (day, day.among(kept)):
            assert contacts.mutual
            offsets, receivers = contacts.by_sender()
            turned = replace(contacts, mutual=False).by_sender()
            assert np.array_equal(offsets, turned[0])
            for person in range(150):
                mine = receivers[offsets[person] : offsets[person + 1]]
                theirs = turned[1][offsets[person] : offsets[person + 1]]
                assert np.array_equal(np.sort(mine), np.sort(theirs))


def test_states_only_move_along_the_course():
    follows = {0: {1, 2, 3}, 1: {4}, 2: {5}, 3: {9}, 4: {6, 9}, 5: {9}, 6: {7, 9, 10},
               7: {8, 10}, 8: {9}, 9: set(), 10: set()}  # fmt: skip
    city = City(n_people=3000, seed=3, initially_infected=300, parameters=ill())
    before, seen = city.states, set()
    for _ in range(80):
        city.advance()
        after = city.states
        moved = after != before
        steps = set(zip(before[moved].tolist(), after[moved].tolist(), strict=True))
        assert all(b in follows[a] for a, b in steps)
        newly = (before == 0) & (after > 0)
        assert np.all(city.infected_on[newly] == city.day)
        seen |= steps
        before = after
    assert seen == {(a, b) for a, after in follows.items() for b in after}


def test_hospitalised_and_dead_people_meet_nobody():
    city = City(n_people=2000, seed=4, initially_infected=500, parameters=ill())
    absent_ever = 0
    for _ in range(40):
        absent = MEETS_NOBODY[city.states]
        contacts = city.advance()
        assert np.all(contacts.counts[absent] == 0)
        assert not absent[contacts.senders].any()
        absent_ever += absent.sum()
    assert absent_ever > 1000
    assert np.any(city.states == CourseState.DEATH)


def test_isolation_drops_pairs_and_never_pairs_anew():
    free, held = (City(n_people=3000, seed=5) for _ in range(2))
    isolated = np.random.default_rng(1).random(3000) < 0.3
    held.isolate(isolated)
    table = rows(free.advance())
    kept = ~isolated[table[:, 0]] & ~isolated[table[:, 1]]
    assert np.array_equal(rows(held.advance()), table[kept])
    # Only the mask given last counts.
    held.isolate(np.zeros(3000, dtype=bool))
    assert np.array_equal(rows(held.advance()), rows(free.advance()))


def test_isolation_that_keeps_the_household():
    free = City(n_people=3000, seed=5)
    held = City(n_people=3000, seed=5, isolation_keeps_household=True)
    isolated = np.random.default_rng(1).random(3000) < 0.3
    held.isolate(isolated)
    table = rows(free.advance())
    touched = isolated[table[:, 0]] | isolated[table[:, 1]]
    kept = ~touched | (table[:, 2] == ContactKind.HOUSEHOLD)
    assert np.array_equal(rows(held.advance()), table[kept])


def test_everyone_isolated_ends_the_epidemic():
    city = City(n_people=1000, seed=6, initially_infected=200)
    city.isolate(np.ones(1000, dtype=bool))
    assert all(day.senders.size == 0 for day in run(city, 60))
    assert np.sum(city.infected_on >= 0) == 200
    assert np.all((city.states == 0) | (city.states >= 8))


def test_same_seed_same_bits_and_other_seed_other_bits():
    one, two, other = (City(n_people=1500, seed=s, initially_infected=30) for s in (7, 7, 8))
    assert_same_days(run(one, 25), run(two, 25))
    assert np.array_equal(one.states, two.states)
    run(other, 25)
    assert not np.array_equal(one.states, other.states)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_number_of_threads_does_not_matter():
    # Enough places for several buckets of the parallel shuffle.
    before = numba.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            city = City(n_people=6000, seed=9, initially_infected=100)
            results.append((run(city, 15), city.states))
    finally:
        numba.set_num_threads(before)
    assert_same_days(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])


def test_a_person_without_contacts_changes_nobody_else():
    population = Population.build(n_people=1200, seed=10)
    infected = [3, 500, 900, 1100]
    small = City(population=population, seed=10, initially_infected=infected)
    large = City(population=with_hermit(population, 8), seed=10, initially_infected=infected)
    for a, b in zip(run(small, 40), run(large, 40), strict=True):
        assert np.array_equal(a.offsets, b.offsets[:-1])
        assert np.array_equal(a.senders, b.senders)
    assert np.array_equal(small.infected_on, large.infected_on[:-1])
    assert np.array_equal(small.states, large.states[:-1])
    assert np.sum(small.infected_on >= 0) > 100
    assert large.infected_on[-1] == -1


def test_course_of_a_person_does_not_depend_on_the_day_of_infection():
    free = City(n_people=400, seed=11, initially_infected=400)
    late = City(n_people=400, seed=11, initially_infected=20)
    histories = []
    for city in (free, late):
        states = [city.states]
        for _ in range(150):
            city.advance()
            states.append(city.states)
        histories.append(np.array(states))
    for p in np.flatnonzero(late.infected_on > 0):
        start = late.infected_on[p]
        length = 151 - start
        assert np.array_equal(histories[1][start:, p], histories[0][:length, p])


@pytest.mark.parametrize("keeps_household", [False, True])
def test_city_agrees_with_its_slow_twin(keeps_household):
    population = Population.build(n_people=250, seed=12)
    infected = list(range(0, 250, 10))
    fast = City(
        population=population,
        seed=12,
        initially_infected=infected,
        isolation_keeps_household=keeps_household,
    )
    slow = ReferenceCity(population, 12, infected, keeps_household)
    generator = np.random.default_rng(1)
    for day in range(25):
        if day % 5 == 0:
            isolated = generator.random(250) < 0.1
            fast.isolate(isolated)
            slow.isolated = isolated.tolist()
        contacts, expected = fast.advance(), slow.advance()
        listed = zip(contacts.receivers(), contacts.senders, contacts.kinds, strict=True)
        assert [tuple(map(int, row)) for row in listed] == expected
        assert fast.states.tolist() == slow.states
        assert fast.infected_on.tolist() == slow.infected_on
    assert sum(day > 0 for day in slow.infected_on) > 20


def test_course_agrees_with_its_slow_twin():
    population = Population.build(n_people=600, seed=13)
    fast = City(population=population, seed=13, initially_infected=600)
    slow = ReferenceCity(population, 13, range(600))
    slow.contacts = list
    for _ in range(60):
        fast.advance()
        slow.advance()
        assert fast.states.tolist() == slow.states


@given(places=st.integers(0, 200), people=st.integers(1, 50), day=st.integers(0, 10**6))
@example(places=5001, people=2000, day=4)  # several buckets
def test_random_meetings_agree_with_their_slow_twin(places, people, day):
    owners = np.sort(np.random.default_rng(day).integers(0, people, places)).astype(np.int32)
    key = Stream(1, "meetings").key
    partners = _kernels.random_partners(key, day, owners)
    met = meetings(key, day, owners.tolist())
    assert partners.tolist() == [met.get(place, -1) for place in range(places)]


def test_random_meetings_are_a_uniform_matching():
    # Six places of six people have 15 matchings. Chi-squared with 14 degrees of freedom stays
    # below 48 with a false-alarm rate of 1e-5; a shuffle that never moves the last place fails.
    key, owners = Stream(1, "meetings").key, np.arange(6, dtype=np.int32)
    tally: dict[tuple[int, ...], int] = {}
    for day in range(6000):
        matching = tuple(_kernels.random_partners(key, day, owners).tolist())
        tally[matching] = tally.get(matching, 0) + 1
    assert len(tally) == 15
    counts = np.array(list(tally.values()))
    assert ((counts - 400) ** 2 / 400).sum() < 48


def test_shuffle_over_many_buckets_pairs_far_and_near_alike():
    # Distances of partners in a list of n places: uniform matching has mean n/3, variance n²/18.
    n = 40_000
    owners = np.arange(n, dtype=np.int32)
    partners = _kernels.random_partners(Stream(2, "meetings").key, 1, owners)
    assert np.array_equal(np.sort(partners), owners)
    distance = np.abs(partners - owners)[partners > owners]
    assert abs(distance.mean() - n / 3) < 5 * n / np.sqrt(18 * distance.size)


def test_coins_of_edges():
    key = Stream(1, "coins").key
    for share in (0.0, 0.25, 0.5, 1.0):
        packed = _kernels.active_edges(key, 3, 40_001, round(share * 2**16))
        bits = np.unpackbits(packed, bitorder="little")[:40_001]
        assert abs(bits.mean() - share) <= 5 * np.sqrt(share * (1 - share) / 40_001)


def test_infection_follows_the_hazard():
    """A household of two: the chance of infection is 1 - exp(-total hazard)."""
    n_pairs = 20_000
    lonely = np.zeros(2 * n_pairs, dtype=np.int32)
    means = np.zeros((3, 3))
    means[:, ContactKind.HOUSEHOLD] = 2.5
    population = Population(
        age_groups=np.full(2 * n_pairs, 4, dtype=np.uint8),
        households=np.repeat(np.arange(n_pairs, dtype=np.int32), 2),
        networks=np.full(2 * n_pairs, 2, dtype=np.uint8),
        neighbour_offsets=np.zeros(2 * n_pairs + 1, dtype=np.int32),
        neighbours=np.empty(0, dtype=np.int32),
        edges=np.empty(0, dtype=np.int32),
        meetings=lonely,
        mean_contacts=means,
    )
    # Without symptoms and for a long time: all of the infectious curve is used.
    disease = DiseaseParameters(
        asymptomatic_fractions=(1.0,) * 9,
        mild_fractions=(0.0,) * 9,
        asymptomatic_to_recovery=(60.0, 1.0),
    )
    first = np.arange(0, 2 * n_pairs, 2)
    parameters = CityParameters(disease=disease)
    city = City(population=population, seed=3, initially_infected=first, parameters=parameters)
    run(city, 40)
    infected = np.mean(city.infected_on[1::2] >= 0)
    hazard = 5.75 * 0.98 * 0.29 * 2.0 / (2 * 2.5)
    expected = 1 - np.exp(-hazard)
    error = np.sqrt(expected * (1 - expected) / n_pairs)
    assert abs(infected - expected) < 5 * error
    assert abs(infected - (1 - np.exp(-1.1 * hazard))) > 5 * error  # the test can tell 10 %


def test_deaths_by_age_are_the_product_of_the_published_fractions():
    n_people, disease = 100_000, DiseaseParameters()
    city = City(n_people=n_people, seed=77, initially_infected=n_people)
    city.isolate(np.ones(n_people, dtype=bool))
    run(city, 110)
    assert np.all(city.states >= CourseState.RECOVERED)
    severe = 1 - np.array(disease.asymptomatic_fractions) - np.array(disease.mild_fractions)
    cared_for = np.array(disease.intensive_care_fractions)
    dying = cared_for * np.array(disease.fatality_fractions) + 1 - cared_for
    critical = np.array(disease.hospitalised_fractions) * np.array(disease.critical_fractions)
    expected = (severe * critical * dying)[city.age_groups]
    dead = city.states == CourseState.DEATH
    for groups in ([5], [6], [7], [8], range(9)):
        chosen = np.isin(city.age_groups, groups)
        mean, variance = expected[chosen].sum(), (expected * (1 - expected))[chosen].sum()
        assert abs(dead[chosen].sum() - mean) < 4.5 * np.sqrt(variance)  # false alarms: 3e-5


@pytest.mark.parametrize("n_people", [1, 2, 10, 100])
def test_small_cities_run(n_people):
    city = City(n_people=n_people, seed=14, initially_infected=1)
    for contacts in run(city, 30):
        assert contacts.n_people == n_people
    assert np.sum(city.infected_on >= 0) >= 1


def test_nobody_infected_stays_so():
    city = City(n_people=300, seed=15, initially_infected=0)
    run(city, 30)
    assert not city.states.any()
    assert np.all(city.infected_on == -1)


def test_everyone_infected_leaves_nobody_to_infect():
    city = City(n_people=300, seed=16, initially_infected=300)
    assert np.all(city.infected_on == 0)
    run(city, 100)
    assert np.all(city.infected_on == 0)
    assert np.all(city.states >= 9)


def test_returned_states_are_copies():
    city = City(n_people=100, seed=17)
    city.states[:] = 10
    city.infected_on[:] = 99
    assert city.states.max() < 10
    assert city.infected_on.max() == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_people": 0},
        {"n_people": 10, "initially_infected": 11},
        {"n_people": 10, "initially_infected": [10]},
        {"n_people": 10, "seed": -1},
    ],
)
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(InputError):
        City(**wrong)


def test_population_and_number_together_are_refused():
    population = Population.build(n_people=10, seed=1)
    with pytest.raises(InputError, match="not both"):
        City(n_people=10, population=population)


@pytest.mark.parametrize("mask", [np.zeros(9, dtype=bool), np.zeros(10), np.zeros((10, 1), bool)])
def test_wrong_masks_are_refused(mask):
    with pytest.raises(InputError, match="isolated must be"):
        City(n_people=10).isolate(mask)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mild_fractions": (0.5,)},
        {"fatality_fractions": (1.5,) * 9},
        {"infectious_rate": -1.0},
        {"time_to_hospital": 0.5},
        {"time_to_symptoms": (0.5, 1.0)},
        {"time_to_symptoms": (5.0, 0.0)},
        {"kind_weights": (-1.0, 1.0, 1.0)},
        {"asymptomatic_fractions": (0.5,) * 9},
    ],
)
def test_wrong_disease_parameters_are_refused(wrong):
    with pytest.raises(InputError):
        DiseaseParameters(**wrong)


def test_long_times_are_not_cut_off():
    times = DiseaseParameters(time_to_recovery=(300.0, 50.0)).times()
    days = np.arange(1, times.shape[1] + 1)
    mean = np.diff(times, axis=1, prepend=0.0) @ days
    assert mean[4] == pytest.approx(300.0, rel=1e-6)
    assert mean[1] == pytest.approx(5.14)
    assert np.all(np.diff(times, axis=1) >= 0)
    assert np.all(times[:, -1] == 1)


def test_daily_fraction_scales_activity_not_the_mean():
    for fraction in (0.25, 1.0):
        people = PopulationParameters(daily_fraction=fraction)
        city = City(n_people=4000, seed=18, parameters=CityParameters(population=people))
        contacts = city.advance()
        mean = np.sum(contacts.kinds == ContactKind.OCCUPATION) / 4000
        assert mean == pytest.approx(7.2, rel=0.03)


@pytest.fixture(scope="module")
def verification():
    path = Path(__file__).parents[1] / "verification" / "city.py"
    if not path.exists():
        pytest.skip("the verification suite is not in this distribution")
    spec = importlib.util.spec_from_file_location("city_verification", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_statistics_agree_with_the_reference(verification):
    comparisons = verification.compare_all([verification.measure(seed) for seed in (1, 2)])
    assert len(comparisons) > 300
    assert [c.quantity for c in comparisons if not c.ok] == []


def test_statistics_of_another_disease_do_not_agree(verification):
    other = CityParameters(
        disease=DiseaseParameters(infectious_rate=4.6, time_to_symptoms=(7.0, 2.5)),
        population=PopulationParameters(random_means=(2.2, 4.4, 3.3)),
    )
    runs = [verification.measure(seed, other) for seed in (1, 2)]
    for compare, least in (
        (verification.compare_epidemic, 2),
        (verification.compare_times, 2),
        (verification.compare_contacts, 2),
    ):
        assert sum(not c.ok for c in compare(runs)) >= least


def test_transmissibility_is_that_of_the_disease(tmp_path):
    rows = np.random.default_rng(1).integers(0, 600, (6000, 2))
    rows = rows[rows[:, 0] != rows[:, 1]]
    path = tmp_path / "contacts.csv"
    lines = [f"{a},{b},{i % 5}" for i, (a, b) in enumerate(rows.tolist())]
    path.write_text("\n".join(["sender,receiver,day", *lines]) + "\n")
    for simulator in ({"name": "city"}, {"name": "replay", "contacts": str(path)}):
        new = {}
        for factor in (None, 0.0, 0.5, 1.0, 1.5):
            given = simulator | ({} if factor is None else {"transmissibility": factor})
            config = RunConfig(people=600, initially_infected=30, seed=4, simulator=given)
            held = build_simulator(config)
            for _ in range(20):
                held.advance()
            new[factor] = held.infected_on
        counts = {factor: int((days > 0).sum()) for factor, days in new.items()}
        assert np.array_equal(new[None], new[1.0])
        assert counts[0.0] == 0 < counts[0.5] < 0.8 * counts[1.0]
        assert counts[1.0] < counts[1.5]
