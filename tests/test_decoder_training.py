"""Training of decoders: what it learns from, that it learns, that it repeats itself."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dnatrace.errors import InputError
from dnatrace.methods.base import Setup
from dnatrace.methods.fn import FnSettings
from dnatrace.methods.tally import Tally
from dnatrace.networks.decoder import Decoder, load_decoder, shapes
from dnatrace.networks.decoder_inputs import DecoderInputs
from dnatrace.privacy import mechanisms
from dnatrace.privacy.accounting import Target
from dnatrace.records import Diary
from dnatrace.runs.config import load_config
from dnatrace.seir import TestErrors
from dnatrace.training import decoder as training
from dnatrace.training import decoder_cases, largest_rounds, person_rounds, world_rounds
from dnatrace.training import decoder_rounds as rounds
from dnatrace.training.decoder import Cases, Settings

from .reference_privacy import SilentNoise

SMALL = Settings(steps=60, infected=16, others=16, width=8)


def toy_cases(rng, days=20, infected=5, others=60):
    """Infected people have three alarms more on each of the last days."""
    parts = []
    for _ in range(days):
        n = infected + others
        tallies = rng.gamma(2.0, 1.0, (n, 14)).astype(np.float32)
        tallies[:infected] += 3.0
        inputs = DecoderInputs(
            outcomes=np.full((14, n), -1, dtype=np.int8),
            mean_contacts=rng.gamma(2.0, 5.0, n),
            age_groups=rng.integers(0, 9, n).astype(np.uint8),
            test_errors=TestErrors(),
        )
        parts.append(
            Cases(
                tallies=tallies,
                noisy=np.ones((n, 14), dtype=bool),
                personal=training.personal_inputs(inputs),
                worth=np.repeat([1.0, 0.0], [infected, others]).astype(np.float32),
                rates=np.array([[0.01, 0.001]], dtype=np.float32),
                first=np.zeros(1, dtype=np.int64),
                infected=np.array([infected]),
                others=np.array([others]),
            )
        )
    return training.join(parts), inputs


def auc_of_alarms(weights, rng, noise=2.0, people=400):
    decoder = Decoder(name="x", alarm=decoder_cases.ALARM, weights=weights, provenance={})
    inputs = DecoderInputs(
        outcomes=np.full((14, people), -1, dtype=np.int8),
        mean_contacts=rng.gamma(2.0, 5.0, people),
        age_groups=rng.integers(0, 9, people).astype(np.uint8),
        test_errors=TestErrors(),
    )
    tallies = rng.gamma(2.0, 1.0, (14, people)) + noise * rng.normal(size=(14, people))
    tallies[:, : people // 2] += 3.0
    scores = decoder.scores(tallies, noise, inputs)
    return float(np.mean(scores[: people // 2, None] > scores[None, people // 2 :]))


def test_channels_are_merged_where_the_noise_says_so():
    rng = np.random.default_rng(0)
    exact, noisy = rng.random((2, 3, 14 * 2)), rng.random((2, 3, 14 * 2)) < 0.5
    which = np.array([True, False])[:, None, None]
    merged, with_noise = training._merged(exact, noisy, which, channels=2)
    assert np.array_equal(merged[1], exact[1])
    assert np.array_equal(with_noise[1], noisy[1])
    assert np.allclose(merged[0, :, ::2], exact[0, :, ::2] + exact[0, :, 1::2])
    assert np.array_equal(with_noise[0, :, ::2], noisy[0, :, ::2])
    assert not merged[0, :, 1::2].any()
    assert not with_noise[0, :, 1::2].any()


def test_it_learns_to_read_alarms_and_not_when_they_are_kept_from_it():
    rng = np.random.default_rng(1)
    cases, _ = toy_cases(rng)
    full = training.train(cases, replace(SMALL, steps=300))
    assert auc_of_alarms(full, rng) > 0.9
    blind = training.train(cases, replace(SMALL, tallies=0))
    assert not blind["0.weight"][:14].any()
    assert not blind["0.weight"][-3].any()  # nor how noisy they are
    assert 0.4 < auc_of_alarms(blind, rng) < 0.6
    today = training.train(cases, replace(SMALL, steps=300, tallies=1))
    assert today["0.weight"][0].any()
    assert not today["0.weight"][1:14].any()
    assert 0.6 < auc_of_alarms(today, rng) < auc_of_alarms(full, rng)


def test_training_twice_gives_the_same_bits_and_another_seed_others():
    cases, _ = toy_cases(np.random.default_rng(2))
    first, second = training.train(cases, SMALL), training.train(cases, SMALL)
    assert all(np.array_equal(first[k], second[k]) for k in first)
    other = training.train(cases, replace(SMALL, seed=2))
    assert not np.array_equal(first["1.weight"], other["1.weight"])


def test_rows_drawn_are_of_one_day_and_the_infected_comes_first():
    cases, _ = toy_cases(np.random.default_rng(3), days=6)
    marked = replace(cases, personal=cases.personal.copy())
    column = 28  # average contacts, as log(1 + …): mark the day there
    day_of_row = np.repeat(np.arange(6), 65)
    marked.personal[:, column] = day_of_row
    drawn = training._Rows(marked).draw(np.random.default_rng(0), SMALL)
    assert drawn.shape == (16, 17, 55)
    days = drawn[:, :, 14 + column]
    assert (days == days[:, :1]).all()


@pytest.fixture(scope="module")
def late_run():
    """With levers, a day until the test, another until the result, and some without the app."""
    changed = {"people": 800, "days": 24, "seed": 6, "initially_infected": 40}
    changed |= {"policy.household.days": 10, "policy.quarantine.capacity": 0.0, "method": "fn"}
    config = load_config(scenario="adoption-60", overrides=changed)
    seen = {}

    class Watching:
        needs = FnSettings().build(config.method_setup()).needs

        def start(self, n_people):
            return None

        def release(self, public, secret, state):
            seen[public.day] = replace(public, outcomes=public.outcomes.copy())
            return mechanisms.publish_public(np.zeros(public.n_people), day=public.day), None

    return decoder_cases.record(config, Watching()), seen


def test_late_results_and_diaries_are_seen_as_phones_see_them(late_run):
    run, seen = late_run
    assert (run.diary & Diary.TOLD).any()
    assert (run.diary & Diary.ASKED).any()
    for day, public in enumerate(seen.values()):
        past = slice(max(0, day - 13), day + 1)
        assert np.array_equal(run.known(past), public.outcomes)
        assert np.array_equal(run.diary[past], public.diary)


def test_finding_somebody_is_worth_their_infectious_days_at_home(late_run):
    run, _ = late_run
    day = 10
    worth = decoder_cases._found(run, day)
    for person in range(run.seir.shape[1]):
        found = run.seir[day + 2, person] in (1, 2)  # chosen on day + 1, tested a day later
        at_home = run.seir[day + 4 : day + 14, person]  # known on day + 3, at home from then on
        assert worth[person] == (sum(at_home == 2) if found else 0)
    assert worth.any()


def test_who_waits_for_a_result_is_not_to_be_chosen_unless_they_may_be_sent_home(late_run):
    run, _ = late_run
    day = 12
    able = run.able(day)
    waiting = (run.results[day : day + 2] >= 0).any(axis=0)  # tested on these days, known later
    assert waiting.any()
    assert np.array_equal(able, run.free[day + 1] & run.has_app & ~waiting)
    home = replace(run, by_score_home=True).able(day)
    assert np.array_equal(home, run.free[day + 1] & run.has_app)


def test_training_and_running_read_the_same_diary():
    rng = np.random.default_rng(8)
    people = 40
    inputs = DecoderInputs(
        outcomes=rng.integers(-1, 2, (9, people)).astype(np.int8),
        mean_contacts=rng.gamma(2.0, 5.0, people),
        age_groups=rng.integers(0, 9, people).astype(np.uint8),
        test_errors=TestErrors(),
        diary=rng.integers(0, 16, (9, people)).astype(np.uint8),
    )
    drawn = shapes(5, diary=True)
    weights = {k: rng.normal(size=s).astype(np.float32) for k, s in drawn.items()}
    about = {"alarm": decoder_cases.ALARM, "provenance": {}, "diary": True}
    decoder = Decoder(name="x", weights=weights, **about)
    errors = inputs.test_errors
    rates = [errors.false_positive_rate, errors.false_negative_rate]
    dense = [np.zeros((people, 14)), training.personal_inputs(inputs)]
    dense += [np.tile(training.common_inputs(3.0, rates), (people, 1))]
    by_jax = np.asarray(training.forward(weights, np.concatenate(dense, axis=1)))
    mine = decoder.scores(np.zeros((14, people)), 3.0, inputs)
    assert mine == pytest.approx(by_jax, rel=1e-3, abs=1e-3)


def test_plans_of_all_networks_have_runs_that_can_be_made():
    for plan in (rounds.TALLY, largest_rounds.LARGEST, person_rounds.PERSON, world_rounds.WORLD):
        for i in range(len(plan.scenarios)):
            config = plan.config(i, seed=plan.first_seed, people=2000, days=60)
            diaries = {student.diary for student in plan.students}
            assert diaries == {config.policy.keeps_diary}


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"infected": 0}, {"least_noise": 2000.0}])
def test_wrong_settings_are_refused_before_any_run(wrong):
    with pytest.raises(InputError):
        Settings(**wrong)
    with pytest.raises(InputError, match="people"):
        rounds.Order(out=None, people=100)


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(InputError, match="somebody infected"):
        training.join([])
    cases, _ = toy_cases(np.random.default_rng(4), days=1)
    with pytest.raises(InputError, match="somebody infected"):
        training.train(replace(cases, infected=np.zeros(1, dtype=np.int64)), SMALL)
    with pytest.raises(InputError, match="from 0 to 14"):
        Settings(tallies=15)


@pytest.fixture(scope="module")
def short_run():
    config = load_config(
        overrides={
            "method": "fn",
            "people": 600,
            "days": 20,
            "seed": 5,
            "initially_infected": 30,
            "isolation.adherence": 0.6,
        }
    )
    return config, decoder_cases.record(config, FnSettings().build(config.method_setup()))


def test_cases_are_those_whom_a_test_on_the_next_day_would_find(short_run):
    _, run = short_run
    cases = training.join(decoder_cases.cases_of(run, seed=5))
    assert len(cases) > 20
    assert (cases.infected <= 40).all()
    assert (cases.others == 240).all()
    worth = np.split(cases.worth, cases.first[1:])
    for of_day, infected in zip(worth, cases.infected, strict=True):
        assert (of_day[:infected] > 0).all()
        assert not of_day[infected:].any()
    # Nobody who would not isolate is worth finding.
    day = int(np.argmax(((run.seir == 1) | (run.seir == 2)).sum(axis=1)[5:-2])) + 5
    able = run.free[day + 1] & np.isin(run.seir[day + 1], (1, 2)) & (run.follows > 0)
    one_day = decoder_cases._day_cases(run, day, np.random.default_rng(0))
    assert one_day.infected[0] == min(40, able.sum())


def test_training_sees_what_the_method_sees(short_run):
    """Tallies, own tests and average contacts, day by day, from the real method in the loop."""
    config, _ = short_run
    seen = []

    class Watching:
        alarm, reads = decoder_cases.ALARM, 14

        def scores(self, noisy, noise, inputs):
            seen.append((noisy[0], inputs.outcomes[-1].copy(), inputs.mean_contacts))
            return np.zeros(noisy.shape[1])

    setup = Setup(target=Target(epsilon=1.0), noise=SilentNoise())
    tally = Tally(setup=setup, decoder=Watching())
    watched = decoder_cases.record(config, tally)
    assert len(seen) == config.days
    for day, (tallies, outcomes, contacts) in enumerate(seen):
        assert watched.tallies[day] == pytest.approx(tallies, rel=1e-6)
        assert np.array_equal(watched.results[day], outcomes)
        assert watched.mean_contacts[day] == pytest.approx(contacts, rel=1e-6)


def test_a_record_is_complete_and_repeats_itself(short_run):
    config, run = short_run
    assert set(np.unique(run.follows)) == {0.0, 1.0}
    assert run.tallies.shape == (20, 600)
    assert (run.tallies[run.met == 0] == 0).all()
    assert run.tallies.max() > 1.0
    again = decoder_cases.record(config, FnSettings().build(config.method_setup()))
    assert np.array_equal(run.tallies, again.tallies)


def test_a_decoder_from_nothing_is_the_same_with_one_worker_and_two(tmp_path):
    """Two rounds, so that the second runs under what the first has learned."""
    rows = []
    for workers in (1, 2):
        order = rounds.Order(
            out=tmp_path / str(workers),
            rounds=2,
            runs=2,
            people=400,
            days=14,
            workers=workers,
            settings=SMALL,
        )
        order.out.mkdir()
        rows += rounds.train_decoders(order)
    first, second = ((tmp_path / str(w) / "tally.safetensors").read_bytes() for w in (1, 2))
    assert first == second
    decoder = load_decoder(tmp_path / "1" / "tally.safetensors")
    assert decoder.digest == rows[0]["digest"]
    assert decoder.provenance["runs"]["count"] == 4
    assert "--rounds 2 --runs 2 --people 400 --days 14 --steps 60" in decoder.provenance["command"]


def test_the_person_has_three_decoders_of_the_same_runs(tmp_path):
    settings = replace(person_rounds.PERSON.settings, steps=5)
    order = rounds.Order(
        out=tmp_path,
        rounds=2,
        runs=3,
        people=1500,  # of whom few are infected: a lost epidemic is not learned from
        days=8,
        workers=1,
        settings=settings,
        plan=person_rounds.PERSON,
    )
    rows = rounds.train_decoders(order)
    assert len({row["cases"] for row in rows}) == 1
    daily, news, floor = (load_decoder(Path(row["decoder"])) for row in rows)
    assert (daily.heads.release, news.heads.release, floor.heads) == ("daily", "news", None)
    assert [d.reads_releases for d in (daily, news, floor)] == [True, True, False]
    assert all(d.provenance["runs"]["seeds"] == [11_001, 11_006] for d in (daily, news, floor))
    assert "--network headcount --rounds 2 --runs 3" in floor.provenance["command"]


def test_students_are_shown_their_own_numbers():
    """Columns of all students side by side come apart again as they were put together."""
    rows, total = 5, sum(s.channels for s in person_rounds.STUDENTS)
    numbers = np.arange(rows * 14 * total, dtype=np.float32).reshape(rows, 14, total)
    everything = Cases(
        tallies=numbers.reshape(rows, -1),
        **{name: np.zeros(rows) for name in ("noisy", "personal", "worth", "rates")},
        **{name: np.zeros(rows) for name in ("first", "infected", "others")},
    )
    first = 0
    for student in person_rounds.STUDENTS:
        own = student.cases(everything, first).tallies
        if student.heads is None:
            assert not own.any()
        else:
            expected = numbers[:, :, first : first + student.channels]
            assert np.array_equal(own, expected.reshape(rows, -1))
        first += student.channels
