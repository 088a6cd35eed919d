"""The times: distancing, season, imports, vaccines, a variant; each against a hand calculation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.runs.run import build_simulator
from dnatrace.simulators import _kernels
from dnatrace.simulators.base import ContactKind
from dnatrace.simulators.city import City
from dnatrace.simulators.replay import Replay
from dnatrace.simulators.times import (
    Distancing,
    Season,
    Times,
    TimesSettings,
    Vaccination,
    Variant,
    in_force,
)


def city(*, people=1500, **simulator):
    config = {"people": people, "seed": 3, "initially_infected": 20}
    return build_simulator(dt.RunConfig(**config, simulator={"name": "city", **simulator}))


def bits(active, n):
    return np.unpackbits(active, bitorder="little")[:n]


@given(st.data())
def test_edges_by_network_equal_edges_one_threshold_at_a_time(data):
    networks = np.array(data.draw(st.lists(st.integers(0, 4), max_size=70)), dtype=np.uint8)
    limits = st.lists(st.integers(0, 2**16), min_size=5, max_size=5)
    thresholds = np.array(data.draw(limits), dtype=np.uint64)
    key, day = dt.Stream(data.draw(st.integers(0, 9)), "edges").key, data.draw(st.integers(1, 9))
    found = _kernels.active_edges_by_network(key, day, networks, thresholds)
    n = networks.size
    for network, threshold in enumerate(thresholds):
        alone = bits(_kernels.active_edges(key, day, n, int(threshold)), n)
        of_it = networks == network
        np.testing.assert_array_equal(bits(found, n)[of_it], alone[of_it])


def thinned(owners, partners, share):
    left = partners.copy()
    _kernels.thin_partners(dt.Stream(1, "thin").key, 4, owners, left, share)
    return left


def test_random_meetings_are_called_off_for_both_ends_and_fewer_are_a_part_of_more():
    owners = np.repeat(np.arange(3000, dtype=np.int32), 4)
    partners = _kernels.random_partners(dt.Stream(1, "random").key, 4, owners)
    before = partners.copy()
    few, many = thinned(owners, partners, 0.3), thinned(owners, partners, 0.6)
    np.testing.assert_array_equal(partners, before)
    for left in (few, many):
        ends = sorted(zip(owners.tolist(), left.tolist(), strict=True))
        met = [(a, b) for a, b in ends if b >= 0]
        assert sorted((b, a) for a, b in met) == met
    assert (many[few >= 0] >= 0).all()
    # 6,000 meetings, each with a coin: standard deviation 36; 5 of them.
    assert abs((few >= 0).sum() / 2 - 0.3 * (partners >= 0).sum() / 2) < 180
    np.testing.assert_array_equal(thinned(owners, partners, 1.0), partners)
    assert (thinned(owners, partners, 0.0) < 0).all()


def by_kind(contacts, networks):
    """The pairs of a day: at home, at school, at work, by chance."""
    receivers = contacts.receivers()
    school = np.isin(networks[receivers], (0, 1)) & (contacts.kinds == ContactKind.OCCUPATION)
    work = ~school & (contacts.kinds == ContactKind.OCCUPATION)
    home, chance = contacts.kinds == ContactKind.HOUSEHOLD, contacts.kinds == ContactKind.RANDOM
    return {
        name: set(zip(contacts.senders[m].tolist(), receivers[m].tolist(), strict=True))
        for name, m in {"home": home, "school": school, "work": work, "chance": chance}.items()
    }


def test_a_schedule_closes_schools_and_leaves_the_rest():
    usual = city(transmissibility=0.0)
    closed = city(
        transmissibility=0.0,
        distancing=[{"from_day": 3, "school": 0.0, "random": 0.5}, {"from_day": 5}],
    )
    for day in range(1, 7):
        one = by_kind(usual.advance(), usual.population.networks)
        other = by_kind(closed.advance(), closed.population.networks)
        assert one["home"] == other["home"]
        assert one["work"] == other["work"]
        assert len(one["school"]) > 1000
        if day in (3, 4):
            assert other["school"] == set()
            assert other["chance"] < one["chance"]
            assert 0.4 < len(other["chance"]) / len(one["chance"]) < 0.6
        else:
            assert one == other


def test_a_share_of_edges_has_its_rate():
    usual, half = city(transmissibility=0.0), city(distancing=[{"work": 0.5, "school": 0.25}])
    one = by_kind(usual.advance(), usual.population.networks)
    other = by_kind(half.advance(), half.population.networks)
    assert other["work"] <= one["work"]
    # About 2,600 and 2,000 meetings: standard deviations 26 and 20 of them; 5 each.
    assert abs(len(other["work"]) / len(one["work"]) - 0.5) < 0.05
    assert abs(len(other["school"]) / len(one["school"]) - 0.25) < 0.05


def test_the_entry_in_force_is_the_last_that_began():
    schedule = (Distancing(from_day=3, work=0.5), Distancing(from_day=6))
    found = [in_force(schedule, day) for day in (2, 3, 5, 6)]
    assert found == [None, schedule[0], schedule[0], None]


def test_nothing_changes_the_disease_by_default():
    assert TimesSettings().build(np.zeros(5, dtype=np.uint8), 1) is None
    assert city()._disease.times is None
    assert city(season={"amplitude": 0.1})._disease.times is not None


def test_the_season_is_a_cosine():
    season = Season(amplitude=0.2, peak_day=30)
    assert season.factor(30) == pytest.approx(1.2)
    assert season.factor(30 + 365) == pytest.approx(1.2)
    assert season.factor(30 + 365 // 2) == pytest.approx(0.8, abs=1e-3)
    assert Season().factor(30) == 1.0


def ever(simulator, days):
    for _ in range(days):
        simulator.advance()
    return simulator.infected_on >= 0


def test_a_season_acts_on_transmission():
    low, usual, high = (
        ever(city(**more), 25).sum()
        for more in (
            {"season": {"amplitude": 0.5, "peak_day": 183}},
            {},
            {"season": {"amplitude": 0.5, "peak_day": 0}},
        )
    )
    assert low < usual < high


def test_imports_have_their_rate():
    config = dt.RunConfig(
        people=1500,
        initially_infected=0,
        simulator={"name": "city", "transmissibility": 0.0, "imports_per_day": 5.0},
    )
    infected = ever(build_simulator(config), 40).sum()
    # Each of 1,500 escapes 40 days with (1 - 5/1500)^40: mean 187.6, standard deviation 12.8.
    assert abs(infected - 187.6) < 64


def test_vaccines_protect_whom_they_should():
    shares = [0, 0, 1, 1, 1, 1, 1, 0, 0]
    protected = city(vaccination={"share": shares, "against_infection": 1.0})
    first = protected.infected_on >= 0
    infected = ever(protected, 40) & ~first
    adults = (protected.age_groups >= 2) & (protected.age_groups <= 6)
    assert infected[~adults].sum() > 30
    assert not infected[adults].any()
    silent = city(vaccination={"share": 1.0, "against_transmission": 1.0})
    assert ever(silent, 20).sum() == 20  # nobody passes it on


def test_a_vaccine_lowers_the_hazard():
    ages = np.zeros(20_000, dtype=np.uint8)
    settings = TimesSettings(vaccination=Vaccination(share=0.4, against_infection=0.75))
    found = Times(settings, ages, 1).tolerances(np.ones(ages.size))
    assert set(found.tolist()) == {1.0, 4.0}
    assert abs((found == 4.0).mean() - 0.4) < 0.02  # standard deviation 0.0035


CHAIN = [(a, a + 1, 0) for a in range(29)]  # the disease passes from each to the next


def chain(variant, **more):
    return Replay(
        contacts=np.array(CHAIN),
        initially_infected=[],
        times=TimesSettings(variant=Variant(**variant), **more),
        seed=4,
    )


def test_a_variant_arrives_on_its_day_and_is_inherited():
    world = chain({"first": 2, "from_day": 3, "transmissibility": 50.0})
    for _ in range(2):
        world.advance()
    assert (world.infected_on >= 0).sum() == 0
    world.advance()
    first = np.flatnonzero(world.infected_on == 3)
    assert first.size == 2
    for _ in range(40):
        world.advance()
    infected = world.infected_on >= 0
    assert infected.sum() > 4
    np.testing.assert_array_equal(world._disease.times.has_variant, infected)
    assert infected[: first.min()].sum() == 0  # nobody before the first in the chain


def test_what_spreads_twice_as_fast_takes_over():
    settings = {"people": 1500, "seed": 3, "initially_infected": 20}
    variant = {"first": 20, "from_day": 1, "transmissibility": 2.0}
    simulator = build_simulator(
        dt.RunConfig(**settings, simulator={"name": "city", "variant": variant})
    )
    late = ever(simulator, 30) & (simulator.infected_on > 20)
    share = simulator._disease.times.has_variant[late].mean()
    assert share > 0.8
    same = build_simulator(
        dt.RunConfig(
            **settings, simulator={"name": "city", "variant": variant | {"transmissibility": 1.0}}
        )
    )
    late = ever(same, 30) & (same.infected_on > 20)
    assert 0.25 < same._disease.times.has_variant[late].mean() < 0.75


def test_the_variant_is_given_by_its_share_of_the_hazard():
    times = Times(TimesSettings(variant=Variant(first=1)), np.zeros(20_000, dtype=np.uint8), 1)
    times.inherit(np.arange(20_000), np.full(20_000, 0.3), 5)
    assert abs(times.has_variant.mean() - 0.3) < 0.02  # standard deviation 0.0032


def test_times_are_the_same_on_any_number_of_threads(threads):
    more = {
        "distancing": [{"from_day": 2, "work": 0.6, "school": 0.3, "random": 0.5}],
        "imports_per_day": 2.0,
        "vaccination": {"share": 0.3, "against_infection": 0.5, "against_transmission": 0.3},
        "variant": {"first": 5, "from_day": 4, "transmissibility": 1.5},
        "season": {"amplitude": 0.2},
    }
    found = []
    for n in (1, 2):
        threads(n)
        simulator = city(people=600, **more)
        ever(simulator, 15)
        found.append((simulator.states, simulator._disease.times.has_variant))
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize(
    ("simulator", "message"),
    [
        ({"distancing": [{"from_day": 5}, {"from_day": 5}]}, "simulator.distancing: every entry"),
        ({"distancing": [{"from_day": 5, "work": 2}]}, "simulator.distancing.work: input should"),
        ({"vaccination": {"share": [0.1, 0.2]}}, "give one share or 9"),
        ({"variant": {"from_day": 0}}, "simulator.variant.from_day: input should be"),
        ({"imports_per_day": -1}, "simulator.imports_per_day: input should be"),
    ],
)
def test_bad_times(simulator, message):
    with pytest.raises(InputError, match=message):
        dt.RunConfig(simulator=simulator)


def test_a_city_takes_times_directly():
    settings = TimesSettings(variant=Variant(first=3))
    assert ever(City(n_people=500, initially_infected=0, times=settings), 1).sum() == 3
