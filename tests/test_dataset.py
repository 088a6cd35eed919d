"""Samples of runs: what they hold, how they are stored, which ones are drawn."""

import json

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.inference import factorised_neighbours as fn
from dnatrace.inference.exposures import exposures_of
from dnatrace.networks.architecture import WINDOW
from dnatrace.networks.inputs import quantise
from dnatrace.records import DayContacts
from dnatrace.rng import Stream
from dnatrace.simulators.base import N_STATES, SEIR_OF_COURSE
from dnatrace.training import generate as training_data
from dnatrace.training.dataset import (
    SPLITS,
    DatasetWriter,
    read_info,
    read_samples,
    replacing_dataset,
)
from dnatrace.training.samples import GRID_ANCHORS, collect, concatenate, cubic_grid
from dnatrace.training.scores import fn_scores
from tests import reference_neural
from tests.command_line import run
from tests.strategies import errors_of_tests, seir_parameters, usual_shares

GRID = cubic_grid()
MODEL = {"parameters": dt.SeirParameters(), "test_errors": dt.TestErrors()}


def make_samples(contacts, messages, *, people=None, outcomes=None, day=None, states=None):
    """Samples of a window given as pairs by day; messages [days, people]."""
    messages = np.asarray(messages, dtype=np.float32)
    n_days, n = messages.shape
    rows = np.asarray(contacts, dtype=np.int64).reshape(-1, 3)
    days = [
        DayContacts.from_pairs(rows[rows[:, 2] == d, 0], rows[rows[:, 2] == d, 1], n_people=n)
        for d in range(n_days)
    ]
    window = dt.ContactWindow(n_people=n, n_days=n_days)
    for met in days:
        window.push(met)
    if outcomes is None:
        outcomes = np.full((n_days, n), -1, dtype=np.int8)
    exposures = exposures_of(window, messages, p1=MODEL["parameters"].p1)
    return collect(
        np.arange(n) if people is None else np.asarray(people),
        grid=GRID,
        contacts=days,
        messages=messages,
        outcomes=outcomes,
        age_groups=np.arange(n, dtype=np.uint8) % 9,
        isolated=np.arange(n) % 3 == 0,
        states=np.zeros(n, dtype=np.uint8) if states is None else states,
        fn=fn.last_day_beliefs(exposures, outcomes, **MODEL)[:, 2],
        day=n_days if day is None else day,
        seed=5,
    )


@st.composite
def windows(draw, most_contacts=30):
    n, n_days = draw(st.integers(2, 4)), draw(st.integers(1, WINDOW))
    person, day = st.integers(0, n - 1), st.integers(0, n_days - 1)
    rows = st.tuples(person, person, day).filter(lambda row: row[0] != row[1])
    contacts = draw(st.lists(rows, max_size=most_contacts))
    said = st.one_of(
        st.sampled_from([0.0, 1.0, 1e-7, 0.05, 0.2, 0.7, *map(float, GRID[:9])]),
        st.floats(0.0, 1.0, width=32),
    )
    messages = draw(st.lists(said, min_size=n * n_days, max_size=n * n_days))
    tests = draw(
        st.lists(st.sampled_from([-1, -1, 0, 1]), min_size=n * n_days, max_size=n * n_days)
    )
    return (
        contacts,
        np.array(messages, dtype=np.float32).reshape(n_days, n),
        np.array(tests, dtype=np.int8).reshape(n_days, n),
    )


def same(a, b):
    assert all(np.array_equal(getattr(a, f), getattr(b, f)) for f in type(a).__dataclass_fields__)


# The grid


def test_grid():
    assert GRID.dtype == np.float32
    assert (GRID[0], GRID[-1], GRID.size) == (0.0, 1.0, 128)
    assert (np.diff(GRID) > 0).all()
    assert set(np.float32(GRID_ANCHORS)) <= set(GRID)
    messages = np.linspace(0.0, 1.0, 200_001, dtype=np.float32)[None]
    moved = np.abs(GRID[quantise(messages, GRID)] - messages)
    assert (moved <= 0.02 * messages ** (2 / 3) + 1e-6).all()
    assert (moved > 0.005 * messages ** (2 / 3)).any()
    for n_levels in (1, 129):
        with pytest.raises(InputError, match="levels must be at"):
            cubic_grid(n_levels)


@given(st.lists(st.floats(0.0, 1.0, width=32), min_size=1, max_size=20))
def test_levels_are_the_nearest(messages):
    said = np.array([messages], dtype=np.float32)
    levels = quantise(said, GRID)[0]
    for message, level in zip(messages, levels, strict=True):
        best = GRID[reference_neural.nearest_level(message, GRID)]
        assert abs(GRID[level] - message) <= abs(best - message) + 1e-7


# One sample


@given(windows())
def test_samples_hold_what_the_twin_counts(window):
    contacts, messages, outcomes = window
    rounded = GRID[quantise(messages, GRID)]  # ties between levels are tested above
    samples = make_samples(contacts, rounded, outcomes=outcomes)
    n_days, n = messages.shape
    for person in range(n):
        mine = reference_neural.histogram(person, contacts, rounded, GRID)
        assert reference_neural.samples_histogram(samples, person) == mine
        cells = samples.cells[samples.offsets[person] : samples.offsets[person + 1]]
        assert (np.diff(cells.astype(int)) > 0).all()
        for age in range(WINDOW):
            total = sum(count for (a, _), count in mine.items() if a == age)
            assert samples.contacts[person, age] == total
            expected = outcomes[n_days - 1 - age, person] if age < n_days else -1
            assert samples.outcomes[person, age] == expected
    assert samples.n_messages.sum() == len(contacts)


@given(windows(), st.randoms(use_true_random=False))
def test_the_order_of_contacts_does_not_matter(window, random):
    contacts, messages, outcomes = window
    shuffled = list(contacts)
    random.shuffle(shuffled)
    same(
        make_samples(contacts, messages, outcomes=outcomes),
        make_samples(shuffled, messages, outcomes=outcomes),
    )


def test_nobody_met_and_two_thousand_met():
    messages = np.full((3, 2), 0.3)
    samples = make_samples([(1, 0, 2)] * 2000 + [(1, 0, 0)], messages)
    assert reference_neural.samples_histogram(samples, 1) == {}
    counted = reference_neural.samples_histogram(samples, 0)
    assert {age: count for (age, _), count in counted.items()} == {0: 2000, 2: 1}
    assert samples.n_messages.tolist() == [2001, 0]
    np.testing.assert_allclose(fn_scores(samples, 1.0, **MODEL), samples.fn, atol=2e-3)


def test_cells_cannot_overflow():
    messages = np.full((1, 2), 0.3)
    most = make_samples([(1, 0, 0)] * 65_535, messages)
    assert most.repeats.tolist() == [65_535]
    with pytest.raises(InputError, match="more than 65,535 contacts"):
        make_samples([(1, 0, 0)] * 65_536, messages)


def test_windows_that_are_too_long_are_refused():
    with pytest.raises(InputError, match="a window of 15 days"):
        make_samples([], np.zeros((15, 2)))


@given(windows(most_contacts=12), seir_parameters(usual_shares), errors_of_tests(usual_shares))
def test_f_is_that_of_the_twin(window, parameters, errors):
    contacts, messages, outcomes = window
    samples = make_samples(contacts, messages, outcomes=outcomes)
    for gamma, with_exposed in ((1.0, False), (0.2, True)):
        scores = fn_scores(samples, gamma, parameters, errors, with_exposed)
        expected = [
            reference_neural.fn_score(samples, i, gamma, parameters, errors, with_exposed)
            for i in range(2)
        ]
        np.testing.assert_allclose(scores[:2], expected, atol=1e-9)


def test_f_of_messages_on_the_grid_is_exact_and_zeroing_removes_them():
    rng = np.random.default_rng(3)
    contacts = np.column_stack([rng.integers(0, 9, 900), np.full(900, 9), rng.integers(0, 14, 900)])
    messages = GRID[rng.integers(0, 100, (14, 10))]
    samples = make_samples(contacts, messages)
    np.testing.assert_allclose(fn_scores(samples, 1.0, **MODEL), samples.fn, rtol=1e-6)
    nothing = make_samples([], messages)
    zeroed = fn_scores(samples, 0.2, **MODEL, zeroed=True)
    np.testing.assert_array_equal(zeroed, fn_scores(nothing, 0.2, **MODEL))
    assert fn_scores(samples, 0.2, **MODEL)[9] > 2 * zeroed[9]
    for gamma in (0.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="gamma"):
            fn_scores(samples, gamma, **MODEL)


def test_clipping_merges_levels():
    """Messages clipped before rounding give the F of messages clipped afterwards."""
    rng = np.random.default_rng(4)
    contacts = np.column_stack([rng.integers(1, 9, 400), np.zeros(400), rng.integers(0, 5, 400)])
    messages = rng.random((5, 9)).astype(np.float32)
    for gamma in GRID_ANCHORS:
        before = make_samples(contacts, np.minimum(messages, np.float32(gamma)))
        after = make_samples(contacts, messages)
        np.testing.assert_allclose(
            fn_scores(before, 1.0, **MODEL), fn_scores(after, gamma, **MODEL), rtol=1e-6
        )


def test_states_are_grouped_as_the_simulators_do():
    states = np.arange(N_STATES, dtype=np.uint8)
    samples = make_samples([], np.zeros((1, N_STATES)), states=states)
    np.testing.assert_array_equal(samples.seir, SEIR_OF_COURSE)
    np.testing.assert_array_equal(samples.infected, SEIR_OF_COURSE == 2)
    np.testing.assert_array_equal(
        samples.exposed_or_infected, (SEIR_OF_COURSE == 1) | (SEIR_OF_COURSE == 2)
    )


# Many samples


@given(windows(), st.lists(st.integers(0, 1), max_size=6))
def test_batches_and_parts(window, index):
    contacts, messages, outcomes = window
    samples = make_samples(contacts, messages, outcomes=outcomes)
    dense = np.zeros((len(index), WINDOW * samples.grid.size), dtype=np.float32)
    for row, i in enumerate(index):
        for (age, level), count in reference_neural.samples_histogram(samples, i).items():
            dense[row, age * samples.grid.size + level] = count
    np.testing.assert_array_equal(samples.batch(index), dense)
    taken = samples.take(index)
    np.testing.assert_array_equal(taken.batch(np.arange(len(index))), dense)
    np.testing.assert_array_equal(taken.person, samples.person[index])
    same(concatenate([samples.take([0]), samples.take(np.arange(1, len(samples)))]), samples)


def test_wrong_indices_and_grids():
    samples = make_samples([(0, 1, 0)], np.zeros((1, 2)))
    for index in ([-1], [2]):
        with pytest.raises(InputError, match="outside"):
            samples.batch(index)
    other = type(samples)(
        **{f: getattr(samples, f) for f in type(samples).__dataclass_fields__ if f != "grid"},
        grid=cubic_grid(64),
    )
    with pytest.raises(InputError, match="different grids"):
        concatenate([samples, other])


def test_kernels_do_not_depend_on_threads(threads):
    rng = np.random.default_rng(6)
    contacts = np.column_stack(
        [rng.integers(0, 50, 4000), rng.integers(50, 100, 4000), rng.integers(0, 14, 4000)]
    )
    messages = rng.random((14, 100)).astype(np.float32)
    made = []
    for n in (1, 2):
        threads(min(n, numba.config.NUMBA_NUM_THREADS))
        samples = make_samples(contacts, messages)
        made.append((samples, fn_scores(samples, 0.2, **MODEL)))
    same(made[0][0], made[1][0])
    np.testing.assert_array_equal(made[0][1], made[1][1])


# Stored datasets


def write(directory, samples):
    writer = DatasetWriter(directory=directory, grid=GRID, **MODEL)
    for split in SPLITS:
        writer.add(split, samples)
    return writer


def test_stored_samples_come_back(tmp_path, monkeypatch):
    monkeypatch.setattr("dnatrace.training.dataset.SHARD_ROWS", 3)
    rng = np.random.default_rng(7)
    contacts = np.column_stack(
        [rng.integers(0, 5, 90), rng.integers(5, 10, 90), rng.integers(0, 14, 90)]
    )
    samples = make_samples(contacts, rng.random((14, 10)), states=np.arange(10, dtype=np.uint8))
    writer = write(tmp_path / "data", samples.take([0, 1, 2, 3]))
    writer.add("train", samples.take([4]))
    writer.add("train", samples.take([]))
    writer.add("train", samples.take(np.arange(5, 10)))
    info = writer.finish({"about": "nothing"})
    same(read_samples(tmp_path / "data", "train"), samples)
    assert len(info.splits["train"].shards) > 1
    again = read_info(tmp_path / "data")
    assert again.as_dict() == info.as_dict()
    assert again.splits["train"].positives == samples.infected.sum() == 4
    error = np.abs(fn_scores(samples, 1.0, **MODEL) - samples.fn)
    assert again.splits["train"].f_error_most == pytest.approx(error.max())
    assert again.others_kept("train") == 1.0
    with pytest.raises(InputError, match="split 'tests' does not exist"):
        read_samples(tmp_path / "data", "tests")


def test_unfinished_and_damaged_datasets_are_refused(tmp_path):
    data = tmp_path / "data"
    samples = make_samples([(0, 1, 0)], np.full((1, 2), 0.5))
    with pytest.raises(InputError, match="no such dataset"):
        read_samples(data, "test")
    writer = write(data, samples)
    writer._splits["train"].flush()
    with pytest.raises(InputError, match=r"not a complete dataset: dataset\.json is missing"):
        read_samples(data, "train")
    with pytest.raises(InputError, match="holds an unfinished dataset already"):
        write(data, samples)
    writer.finish({})
    with pytest.raises(InputError, match="holds a dataset already"):
        write(data, samples)
    shard = data / "train-00000.parquet"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-20])
    with pytest.raises(InputError, match="is damaged"):
        read_samples(data, "train")
    shard.unlink()
    with pytest.raises(InputError, match="is missing"):
        read_samples(data, "train")
    assert len(read_samples(data, "test")) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("grid"), "is damaged"),
        (lambda d: d.update(schema=99), "another version"),
        (lambda d: d["parameters"].update(p0=7), "p0: input should be less than"),
        (lambda d: d["splits"]["test"].update(samples=1), "more samples of 'test'"),
        (lambda d: d["splits"]["test"].update(samples=9), "fewer samples of 'test'"),
        (lambda d: d["splits"].pop("test"), "is damaged"),
        (
            lambda d: d["origin"].update(runs={"test": {"seeds": [1]}}),
            "damaged: test.person_days: field",
        ),
        (lambda d: d["origin"].update(people="many"), "is damaged"),
        (lambda d: d.update(origin=None), "is damaged"),
    ],
)
def test_damaged_descriptions_are_refused(tmp_path, change, message):
    data = tmp_path / "data"
    write(data, make_samples([(0, 1, 0)], np.full((1, 2), 0.5))).finish({})
    stored = json.loads((data / "dataset.json").read_text())
    change(stored)
    (data / "dataset.json").write_text(json.dumps(stored))
    with pytest.raises(InputError, match=message) as raised:
        read_samples(data, "test")
    assert "\n" not in str(raised.value)


def test_directories_that_are_not_new(tmp_path):
    (tmp_path / "notes.txt").touch()
    for directory in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(InputError, match="not a new or empty directory"):
            DatasetWriter(directory=directory, grid=GRID, **MODEL)


# Which samples are drawn


PLAN = {
    "people": 300,
    "days": 18,
    "seeds": {"train": (1, 2), "validation": (3,), "test": (4,)},
    "settings": ("initially_infected=12", "method=random", "app.adoption=0.8"),
}


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    directory = tmp_path_factory.mktemp("dataset") / "data"
    plan = training_data.plan_dataset(**PLAN)
    return plan, directory, training_data.generate(plan, directory)


def test_every_infected_person_day_and_as_many_others(generated):
    plan, directory, info = generated
    for split in SPLITS:
        samples = read_samples(directory, split)
        configs = [plan.of_seed(seed) for seed in plan.seeds[split]]
        days = [d for c in configs for d in training_data.days_of(c, with_messages=False)]
        infected = {(d.seed, d.log.day, p) for d in days for p in np.flatnonzero(d.infected)}
        held = set(zip(samples.seed, samples.day, samples.person, strict=True))
        assert infected == {
            key
            for key, positive in zip(
                zip(samples.seed, samples.day, samples.person, strict=True),
                samples.infected,
                strict=True,
            )
            if positive
        }
        assert len(samples) == len(held) == 2 * len(infected)
        runs = info.origin["runs"][split]
        assert runs["infected_person_days"] == len(infected) > 50
        assert runs["person_days"] == len(infected) + sum(d.others.size for d in days)
        assert 0 < info.others_kept(split) < 1


def test_others_are_the_ones_with_the_smallest_keys(generated):
    plan, directory, _ = generated
    samples = read_samples(directory, "test")
    keys = []
    for day in training_data.days_of(plan.of_seed(4), with_messages=False):
        uniforms = Stream(4, "dataset/negatives").uniform(day.others, day.log.day)
        keys += zip(uniforms, [day.log.day] * day.others.size, day.others, strict=True)
    keys.sort()
    n = int((~samples.infected).sum())
    expected = {(day, person) for _, day, person in keys[:n]}
    others = samples.take(~samples.infected)
    assert set(zip(others.day, others.person, strict=True)) == expected


def test_samples_are_those_of_the_run(generated):
    """A second run in the loop has the same messages, tests, ages and isolation."""
    plan, directory, info = generated
    samples = read_samples(directory, "test")
    for day in training_data.days_of(plan.of_seed(4), with_messages=True):
        here = np.flatnonzero(samples.day == day.log.day)
        public, secret = day.log.public, day.log.secret
        mine = collect(
            samples.person[here].astype(np.int64),
            grid=info.grid,
            contacts=tuple(secret.window),
            messages=secret.messages,
            outcomes=public.outcomes,
            age_groups=public.age_groups,
            isolated=day.log.isolated,
            states=day.log.states,
            fn=np.zeros(300),
            day=day.log.day,
            seed=4,
        )
        stored = samples.take(here)
        for name in ("cells", "repeats", "outcomes", "contacts", "age_group", "isolated", "state"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(stored, name))
    assert samples.isolated.any()
    assert (samples.outcomes == 1).any()


def test_rounding_messages_hardly_changes_f(generated):
    _, _, info = generated
    for split in info.splits.values():
        assert 0.0 < split.f_error_rms < 1e-3
        assert split.f_error_most < 1e-2


def test_generated_twice_is_the_same(generated, tmp_path, threads):
    plan, directory, info = generated
    threads(1)
    again = training_data.generate(plan, tmp_path / "again")
    assert again.digest == info.digest
    assert (tmp_path / "again" / "dataset.json").read_bytes() == (
        directory / "dataset.json"
    ).read_bytes()
    same(training_data.collect_split(plan, "test")[0], read_samples(directory, "test"))
    assert training_data.collect_split(plan, "test")[1] == info.others_kept("test")


def test_people_without_the_app_are_left_out(generated):
    plan, directory, _ = generated
    samples = read_samples(directory, "test")
    assert np.unique(samples.person).size < 0.85 * 300
    assert plan.config.app.adoption == 0.8


def test_no_epidemic_gives_no_samples_and_says_so(tmp_path, caplog):
    settings = ("initially_infected=0", "method=none")
    plan = training_data.plan_dataset(people=100, days=3, settings=settings)
    training_data.generate(plan, tmp_path / "data")
    assert len(read_samples(tmp_path / "data", "train")) == 0
    wanted = "no sample of somebody in state I in train, validation, test: more people or days"
    assert [record.getMessage() for record in caplog.records] == [wanted]
    with pytest.raises(InputError, match="holds a dataset already; --force replaces it"):
        training_data.generate(plan, tmp_path / "data")


def test_defaults_are_the_papers_size():
    config = training_data.plan_dataset().config
    assert (config.people, config.days, config.method.name) == (100_000, 100, "dpfn-s")
    assert config.initially_infected == 500
    assert training_data.plan_dataset(settings=["people=2000"]).config.initially_infected == 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": {"train": (1,), "validation": (2,), "test": (1,)}}, "seed 1 is in 'train'"),
        ({"seeds": {"train": (1, 1), "validation": (2,), "test": (3,)}}, "seed 1 is in 'train'"),
        ({"seeds": {"train": (1,), "validation": (), "test": (3,)}}, "validation split has no"),
        ({"seeds": {"train": (1,), "test": (3,)}}, "seeds are needed for"),
        ({"settings": ["seir.window=7"]}, "needs 14 days"),
        ({"settings": ["privacy.noise=secure"]}, "noise that can be repeated"),
        ({"settings": ["days=40000"]}, "at most 32,767"),
    ],
)
def test_wrong_plans(changes, message):
    with pytest.raises(InputError, match=message):
        training_data.plan_dataset(**changes)


def test_seeds_are_read():
    assert training_data.parse_seeds("7, 9-11") == (7, 9, 10, 11)
    for text in ("", "a", "1-", "5-3", "1,,2", "-4", "1-99999999"):
        with pytest.raises(InputError, match="seeds"):
            training_data.parse_seeds(text)


def test_a_dataset_is_replaced_whole_or_not_at_all(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "dataset.json").write_text("old")
    (data / "train-00000.parquet").touch()

    def fail():
        with replacing_dataset(data) as new:
            new.mkdir()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert (data / "dataset.json").read_text() == "old"
    with replacing_dataset(data) as new:
        new.mkdir()
        (new / "dataset.json").write_text("new")
    assert [path.name for path in data.iterdir()] == ["dataset.json"]
    assert (data / "dataset.json").read_text() == "new"
    (data / "notes.txt").touch()
    with pytest.raises(InputError, match="not part of a dataset and would be lost"):
        replacing_dataset(data).__enter__()


def test_the_command_replaces_a_dataset_by_force(tmp_path):
    small = ("dataset", "--out", tmp_path / "data", "--people", 300, "--days", 15)
    small += ("--policy", "random", "--set", "initially_infected=20", "-q")
    assert run(*small).returncode == 0
    again = run(*small)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "holds a dataset already; --force replaces it" in again.stderr
    before = json.loads((tmp_path / "data/dataset.json").read_text())["digest"]
    assert run(*small, "--force", "--train-seeds", "8001").returncode == 0
    assert json.loads((tmp_path / "data/dataset.json").read_text())["digest"] != before
    page = run("evaluate", "--data", tmp_path / "data", "--out", tmp_path / "data/dataset.md")
    assert page.returncode == 2
    assert "dataset.json: is read by this command and would be overwritten" in page.stderr


@pytest.mark.parametrize(
    ("option", "setting", "told"),
    [
        (("--people", 300), "people=500", "--people 300, --set people=500: choose one of them"),
        (("--days", 20), "days=30", "--days 20, --set days=30: choose one of them"),
        (
            ("--method", "fn"),
            "method.name=random",
            "--method fn, --set method.name=random: choose one of them",
        ),
    ],
)
def test_an_option_and_a_setting_of_a_dataset_that_disagree(tmp_path, option, setting, told):
    """The setting was dropped without a word."""
    done = run("dataset", "--out", tmp_path / "data", *option, "--set", setting)
    assert (done.returncode, done.stderr) == (2, f"dnatrace: {told}\n")
    assert not (tmp_path / "data").exists()
