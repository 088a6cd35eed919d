"""Areas under the ROC curve, their intervals, and the table of networks."""

import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnatrace.errors import InputError
from dnatrace.networks.decoder import decoder_path
from dnatrace.networks.runtime import load_model
from dnatrace.privacy.gaussian import gaussian_sigma
from dnatrace.runs.metrics import area_under_roc
from dnatrace.seir import SeirParameters, TestErrors
from dnatrace.training import auc_table, evaluation
from dnatrace.training import generate as training_data
from dnatrace.training.scores import fn_scores, network_scores
from tests import reference, reference_neural
from tests.command_line import run as run_command

KINDS, VARIANTS = ("tight", "paper"), ("combined", "alone", "public")


# Areas


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.booleans()), max_size=14))
def test_area_is_the_share_of_pairs(rows):
    """One draw of everybody gives the area that a run's metrics have, to the last bit."""
    scores = np.array([score for score, _ in rows], dtype=np.float64)
    positive = np.array([p for _, p in rows], dtype=np.bool_)
    (area,) = areas_of_everybody(scores, positive)
    expected = reference.area_under_roc(scores, positive)
    assert math.isnan(area) if expected is None else area == pytest.approx(expected, abs=1e-15)
    assert math.isnan(area) if expected is None else area == area_under_roc(scores, positive)


def areas_of_everybody(scores, positive):
    once = np.ones((1, 1), dtype=np.uint8)
    person = np.zeros(scores.size, dtype=np.int64)
    return evaluation.resampled_areas(scores, positive, person, once)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.5]), st.booleans(), st.integers(0, 3)),
        min_size=1,
        max_size=12,
    ),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_resampled_area_repeats_people(rows, times):
    scores = np.array([row[0] for row in rows])
    positive = np.array([row[1] for row in rows])
    person = np.array([row[2] for row in rows], dtype=np.int64)
    drawn = np.array([times], dtype=np.uint8)
    (area,) = evaluation.resampled_areas(scores, positive, person, drawn)
    expected = reference_neural.resampled_area(scores, positive, person, drawn[0])
    assert math.isnan(area) if expected is None else area == pytest.approx(expected, abs=1e-12)


def test_weights_count_samples():
    scores = np.array([0.1, 0.4, 0.3, 0.2])
    positive = np.array([False, True, True, False])
    person = np.arange(4)
    once = np.ones((1, 4), dtype=np.uint8)
    doubled = np.array([[1, 1, 2, 1]], dtype=np.uint8)
    weighted = evaluation.resampled_areas(
        scores, positive, person, once, np.array([1.0, 1.0, 2.0, 1.0])
    )
    assert weighted == evaluation.resampled_areas(scores, positive, person, doubled)


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(InputError, match="not a number"):
        areas_of_everybody(np.array([0.1, np.nan]), np.array([True, False]))


# Samples of a small run


@pytest.fixture(scope="module")
def data():
    seeds = {"train": (1,), "validation": (2,), "test": (3,)}
    settings = ("initially_infected=20", "method=random")
    plan = training_data.plan_dataset(people=500, days=25, seeds=seeds, settings=settings)
    samples, kept = training_data.collect_split(plan, "test")
    return evaluation.TestData(
        samples=samples,
        parameters=SeirParameters(),
        test_errors=TestErrors(),
        others_kept=kept,
        description="a test",
        digest=None,
        seeds=(3,),
    )


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for kind in KINDS:
        for variant in VARIANTS:
            path = folder / f"{kind}-{variant}.safetensors"
            reference_neural.write_random_model(path, kind=kind, variant=variant, seed=len(kind))
    return folder


@pytest.fixture(scope="module")
def table(data, directory):
    models = auc_table.choose_models(str(directory / "tight-combined.safetensors"))
    return auc_table.make_table(models, data, resamplings=20)


def find(table, **wanted):
    wanted = {"group": "everybody", "detail": ""} | wanted
    rows = [r for r in table.rows if all(getattr(r, k) == v for k, v in wanted.items())]
    assert len(rows) == 1, rows
    return rows[0]


def test_people_are_drawn_with_replacement(data):
    person, drawn = evaluation.draw_people(data.samples, resamplings=30, seed=0)
    assert (drawn[0] == 1).all()
    assert (drawn.sum(axis=1) == drawn.shape[1]).all()
    assert 0.30 < (drawn[1:] == 0).mean() < 0.44  # 1/e
    keys = list(zip(data.samples.seed, data.samples.person, strict=True))
    assert len(set(keys)) == drawn.shape[1] == len(set(person))
    assert len(set(zip(keys, person, strict=True))) == drawn.shape[1]


def test_intervals_know_that_days_of_a_person_resemble_each_other():
    """Sixteen copies of a day say no more than one; resampling days would claim a quarter."""
    rng = np.random.default_rng(1)
    positive = rng.random(300) < 0.5
    scores = rng.normal(size=300) + positive
    widths = []
    for by_person in (True, False):
        person = np.repeat(np.arange(300), 16) if by_person else np.arange(4800)
        n = int(person.max()) + 1
        drawn = np.stack([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(200)])
        areas = evaluation.resampled_areas(
            np.repeat(scores, 16), np.repeat(positive, 16), person, drawn.astype(np.uint8)
        )
        widths.append(np.subtract(*np.quantile(areas, [0.95, 0.05])))
    assert 3.0 < widths[0] / widths[1] < 5.0


def test_table_has_every_row(table):
    for group in evaluation.GROUPS:
        for kind in KINDS:
            for prediction in ("network", "combined", "public_only"):
                for projection in ("before", "after"):
                    find(
                        table,
                        group=group,
                        network=kind,
                        prediction=prediction,
                        projection=projection,
                    )
            find(table, group=group, network=kind, prediction="combined", detail="messages zeroed")
            find(table, group=group, network=kind, prediction="combined", detail="noise")
        for detail in ("", "messages zeroed", "noise", "unclipped, unrounded"):
            find(table, group=group, prediction="fn", detail=detail)
    published = {r.prediction: r.published for r in table.rows if r.published is not None}
    assert published == {"fn": 0.770, "network": 0.803, "combined": 0.831}


def test_rows_are_what_they_say(table, data):
    samples = data.samples
    free = ~samples.isolated
    assert 0 < free.sum() < free.size
    model = table.model
    scores = reference_scores(model, data)
    for group, chosen in (("everybody", free | True), ("not isolated", free)):
        row = find(table, group=group, network="tight", prediction="combined", projection="after")
        expected = reference.area_under_roc(scores[chosen], samples.infected[chosen])
        assert row.area.value == pytest.approx(expected, abs=1e-12)
        assert row.area.low <= row.area.value <= row.area.high
        fn = find(table, group=group, prediction="fn")
        assert row.gain.value == pytest.approx(row.area.value - fn.area.value)
    before = find(table, network="tight", prediction="combined", projection="before")
    unprojected = reference_scores(model.before_projection(), data)
    assert before.area.value == pytest.approx(
        reference.area_under_roc(unprojected, samples.infected)
    )
    assert model.before_projection().lipschitz > model.lipschitz


def reference_scores(model, data):
    belief = fn_scores(data.samples, model.gamma, data.parameters, data.test_errors)
    return belief + data.parameters.p1 * network_scores(model, data.samples)


def test_a_network_without_messages_does_not_change_when_they_vanish(data, directory):
    model = load_model(directory / "tight-public.safetensors")
    np.testing.assert_array_equal(
        network_scores(model, data.samples), network_scores(model, data.samples, zeroed=True)
    )
    other = load_model(directory / "tight-alone.safetensors")
    assert (
        network_scores(other, data.samples) != network_scores(other, data.samples, zeroed=True)
    ).any()


def test_noise_is_that_of_algorithm_1(data, directory):
    model = load_model(directory / "tight-combined.safetensors")
    samples = data.samples
    reach = evaluation.network_reach(samples, model, 0.03)
    counts = samples.n_messages
    expected = 0.03 * 0.2 * (1 + model.lipschitz / counts[counts > 0])
    np.testing.assert_allclose(reach[counts > 0], expected)
    assert (reach[counts == 0] == 0.03 * 0.2).all()
    multiplier = gaussian_sigma(epsilon=1.0, delta=1e-3, sensitivity=1.0)
    middle = np.full(len(samples), 0.1)
    noisy = evaluation._released(samples, middle, reach, 0.2)
    draws = (noisy - 0.1) / (multiplier * reach)
    # 4 standard errors: a false alarm in 16,000 runs; the seed is fixed.
    assert abs(draws.mean()) < 4 / math.sqrt(draws.size)
    assert abs(draws.std() - 1.0) < 4 / math.sqrt(2 * draws.size)
    assert (evaluation._released(samples, middle, 1e3 * reach, 0.2) <= 0.2).all()


def test_zeroed_and_noisy_rows(table, data):
    plain = find(table, prediction="fn").area.value
    assert find(table, prediction="fn", detail="noise").area.value < plain
    zeroed = fn_scores(data.samples, 0.2, data.parameters, data.test_errors, zeroed=True)
    expected = reference.area_under_roc(zeroed, data.samples.infected)
    row = find(table, prediction="fn", detail="messages zeroed")
    assert row.area.value == pytest.approx(expected)
    assert row.area.value != plain


def test_the_share_of_exposed_is_restored(data):
    """With E among the targets, weights undo that I was kept in full and E only in part."""
    samples, kept = data.samples, data.others_kept
    weights = np.where(samples.infected, kept, 1.0)
    n_exposed = (samples.exposed_or_infected & ~samples.infected).sum()
    share = weights[samples.infected].sum() / (weights[samples.infected].sum() + n_exposed)
    plain = samples.infected.sum() / (samples.infected.sum() + n_exposed)
    assert share < 0.75 < plain


def test_json_keeps_the_contract(table):
    answer = json.loads(json.dumps(table.as_json(), allow_nan=False))
    auc = answer["auc"]
    for name in ("fn", "network", "combined", "public_only"):
        low, high = auc["intervals"][name]
        assert low <= auc[name] <= high
    for projection in ("before_projection", "after_projection"):
        assert set(auc[projection]) == {"network", "combined", "public_only"}
    assert auc["after_projection"]["combined"] == auc["combined"]
    assert auc["before_projection"]["combined"] != auc["combined"]
    assert answer["published"]["combined"] == 0.831
    page = auc_table.as_markdown(table).decode()
    assert page.count("| FN + network |") == 8
    assert "noise, ε = 1" in page


def test_a_group_without_positives_has_no_area(data, directory):
    healthy = data.samples.take(~data.samples.infected)
    held = replace(data, samples=healthy)
    models = (load_model(directory / "tight-public.safetensors"),)
    answer = auc_table.make_table(models, held, resamplings=2).as_json()
    assert answer["auc"]["fn"] is None
    empty = replace(data, samples=healthy.take([]))
    with pytest.raises(InputError, match="no samples"):
        auc_table.make_table(models, empty)


# Which models


def test_models_beside_the_one_asked_for(directory, tmp_path, caplog):
    path = str(directory / "paper-alone.safetensors")
    models = auc_table.choose_models(path)
    found = [(str(m.architecture.kind), str(m.architecture.variant)) for m in models]
    assert found[0] == ("paper", "alone")
    assert {kind for kind, _ in found[:3]} == {"paper"}
    assert sorted(found) == sorted((k, v) for k in KINDS for v in VARIANTS)
    mine = reference_neural.write_random_model(
        tmp_path / "mine.safetensors", kind="tight", variant="combined"
    )
    for name, gamma in (("another", 0.2), ("wider", 0.7)):
        reference_neural.write_random_model(
            tmp_path / f"{name}.safetensors", kind="tight", variant="combined", gamma=gamma, seed=1
        )
    (tmp_path / "broken.safetensors").write_bytes(b"no model")
    shutil.copy(decoder_path("tally"), tmp_path / "tally.safetensors")
    beside = auc_table.choose_models(str(mine))
    assert [record.message for record in caplog.records if "passed over" in record.message] == [
        f"passed over: {tmp_path / 'broken.safetensors'}: not a whole model file of this version"
    ]
    assert [(m.gamma, m.name.endswith("mine.safetensors")) for m in beside[:1]] == [(0.2, True)]
    assert [m.gamma for m in beside[1:]] == [0.7]
    with pytest.raises(InputError, match="not a whole model file"):
        auc_table.choose_models(str(tmp_path / "broken.safetensors"))
    with pytest.raises(InputError, match=r"tally.safetensors: is a decoder, not a network of dna"):
        load_model(str(tmp_path / "tally.safetensors"))


@pytest.mark.parametrize(
    ("provenance", "message"),
    [
        ({"dataset": {"origin": {"runs": {"train": {"seeds": [3]}}}}}, "trained on seed 3"),
        ({"parameters": {"p1": 0.05}}, "trained with p1 = 0.05"),
    ],
)
def test_models_that_do_not_fit_the_data(data, tmp_path, provenance, message):
    path = tmp_path / "m.safetensors"
    reference_neural.write_random_model(
        path, kind="tight", variant="combined", provenance=provenance
    )
    with pytest.raises(InputError, match=message):
        auc_table.make_table((load_model(path),), data)


def test_a_small_run_stands_in_for_a_dataset(directory):
    data = auc_table.small_test_data(people=400, days=16)
    assert set(data.samples.seed) == {auc_table.SMALL_SEED} == set(data.seeds)
    assert "made for the occasion" in data.description
    seeds = [s for split in training_data.DEFAULT_SEEDS.values() for s in split]
    assert auc_table.SMALL_SEED not in seeds
    models = (load_model(directory / "tight-public.safetensors"),)
    answer = auc_table.make_table(models, data, resamplings=2).as_json()
    assert answer["samples"] == len(data.samples) > 0
    assert answer["auc"]["combined"] is None


# The command line


def test_dataset_and_evaluate_from_an_empty_directory(tmp_path, directory):
    data, page = tmp_path / "data", tmp_path / "auc.md"
    small = ("--people", 400, "--days", 20, "--policy", "random", "--set", "initially_infected=20")
    made = run_command("dataset", "--out", data, *small, "--json", "-q")
    assert made.returncode == 0, made.stderr
    answer = json.loads(made.stdout)
    assert answer["origin"]["policy"] == "random"
    assert answer["splits"]["train"]["samples"] == 2 * answer["splits"]["train"]["positives"] > 0
    model = directory / "tight-combined.safetensors"
    options = ("--data", data, "--resamplings", 5)
    done = run_command("evaluate", model, *options, "--out", page, "--json", "-q")
    assert done.returncode == 0, done.stderr
    assert (
        json.loads(done.stdout)["auc"] == json.loads(page.with_suffix(".json").read_text())["auc"]
    )
    assert "Over people not isolated" in page.read_text()
    page.write_text("mine")
    again = run_command("evaluate", model, *options, "--out", page, "-q")
    assert (again.returncode, page.read_text()) == (2, "mine")
    assert again.stderr == f"dnatrace: {page}: exists already; --force replaces it\n"
    assert run_command("evaluate", model, *options, "--out", page, "-q", "--force").returncode == 0
    assert "Over people not isolated" in page.read_text()
    (data / "dataset.json").unlink()
    half = run_command("evaluate", model, *options)
    assert (half.returncode, half.stderr.count("\n")) == (2, 1)
    assert "not a complete dataset" in half.stderr
    clash = run_command("dataset", "--out", tmp_path / "new", *small, "--test-seeds", "7000-7001")
    assert (clash.returncode, clash.stderr.count("\n")) == (2, 1)
    assert "seed 7001" in clash.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("given", ["headcount", decoder_path("headcount")])
def test_a_decoder_is_not_evaluated(given):
    done = run_command("evaluate", given)
    wanted = f"dnatrace: '{given}' is a decoder; only networks of dna can be evaluated\n"
    assert (done.returncode, done.stderr) == (2, wanted)
