"""Readings of the paper: places, configurations, the search, both columns of verdicts."""

import csv
import json
import math
from dataclasses import replace
from functools import partial

import pytest
import typer

from dnatrace.cli import reproduce as commands
from dnatrace.errors import InputError
from dnatrace.paper import areas, search, search_files
from dnatrace.paper import setting as paper_setting
from dnatrace.paper.claims import published_rows
from dnatrace.paper.places import AREAS, BY_NAME, PLACES, Option, Place
from dnatrace.paper.reading import Reading
from dnatrace.paper.setting import FULL, Point, Scenario, Setting, Size
from dnatrace.paper.verdicts import Verdict
from dnatrace.runs.config import load_config
from dnatrace.runs.nesting import flatten
from dnatrace.sweeps import attempts
from dnatrace.sweeps import sweep as sweeps
from dnatrace.sweeps.study import Study
from dnatrace.training import auc_table, generate
from tests.forked_sweeps import in_process

TINY = Size(
    seeds=(1, 2),
    epsilons=(0.1, 1.0),
    overrides={"people": 60, "days": 3, "initially_infected": 8},
    is_small=True,
)
NOISY = Scenario(false_positive_rate=0.25, false_negative_rate=0.03)


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(sweeps, "execute", in_process)


def changed(place, option, method, scenario=NOISY):
    """Return what an option changes in a configuration, by dotted key."""
    ours, other = (
        flatten(reading.configuration(method, scenario, FULL).as_dict())
        for reading in (Reading(), Reading().at(place, option))
    )
    return {key: value for key, value in other.items() if ours.get(key) != value}


# --- readings as configurations ---


def test_our_reading_is_the_preset_paper():
    point = Point(setting=Setting.PUBLISHED, method="dna", scenario=NOISY)
    for method in paper_setting.PUBLISHED_METHODS:
        point = replace(point, method=method)
        ours = Reading().configuration(method, NOISY, FULL)
        assert ours.digest == paper_setting.configuration(point, FULL).digest


@pytest.mark.parametrize(("method", "epsilon"), [("dpfn-s", 1.0), ("dna", 3.0), ("dpfn", 1.0)])
def test_the_preset_is_the_best_reading(method, epsilon):
    """Dna has a third of the noise, which the classical formula gives for three times ε."""
    point = Point(setting=Setting.READING, method=method, scenario=Scenario())
    config = paper_setting.configuration(point, FULL)
    assert config.privacy.epsilon == pytest.approx(epsilon)
    overrides = {"method": method, "epsilon": config.privacy.epsilon}
    assert config.digest == load_config(preset="paper-best-reading", overrides=overrides).digest


def test_every_option_but_ours_changes_something_and_has_evidence():
    for place in PLACES:
        assert len({option.name for option in place.options}) == len(place.options) > 1
        assert all(option.evidence for option in place.options)
        for option in place.options[1:]:
            other = Reading().at(place.name, option.name)
            seen = option.metric or option.group or changed(place.name, option.name, "dna")
            assert seen, (place.name, option.name)
            assert other.differences() == {place.name: option.name}


def test_swapped_rates():
    swapped = changed("rates", "swapped", "dpfn-s")
    assert swapped == {"tests.false_positive_rate": 0.03, "tests.false_negative_rate": 0.25}
    config = Reading().at("rates", "swapped in the model").configuration("dpfn-s", NOISY, FULL)
    assert (config.tests.false_positive_rate, config.tests.false_negative_rate) == (0.25, 0.03)
    believed = config.tests.believed
    assert (believed.false_positive_rate, believed.false_negative_rate) == (0.03, 0.25)


@pytest.mark.parametrize("calibration", ["exact", "classical", "renyi"])
def test_noise_for_a_third_of_the_sensitivity_is_a_larger_epsilon_of_dna_alone(calibration):
    ours = Reading().at("calibration", calibration)
    third = ours.at("noise of dna", "0.01 beside 0.03")
    noise = {
        (name, method): 1.0 / reading.configuration(method, NOISY, FULL).privacy.target.mu
        for name, reading in (("ours", ours), ("third", third))
        for method in ("dpfn-s", "dna")
    }
    assert noise["third", "dna"] == pytest.approx(noise["ours", "dna"] / 3.0)
    assert noise["third", "dpfn-s"] == noise["ours", "dpfn-s"]


def test_keys_of_other_methods_are_left_out():
    reading = Reading().at("gamma", "0.2").at("network", "own tests and age too, E or I")
    assert reading.configuration("traditional", NOISY, FULL).method.name == "traditional"
    assert reading.configuration("dna", NOISY, FULL).method.gamma == 0.2


def test_an_option_that_does_not_exist():
    with pytest.raises(InputError, match=r"place 'gamma' has no option '0\.3'; there are 0\.7"):
        Reading(chosen={"gamma": "0.3"})


# --- scores ---


def study_of(peaks):
    """Return a study of peaks in ‰, one list per number of the table."""
    return Study(
        seeds=(1, 2, 3),
        summaries={
            number: [{"peak_infected": value / 1000} for value in values]
            for number, values in peaks.items()
        },
    )


def test_a_score_counts_numbers_and_knows_their_order():
    numbers = search.numbers_of("all")
    assert len(numbers) == 10
    published = [52.7, 6.4, 60.4, 6.4, 100.1, 27.2, 81.3, 19.5, 130.4, 81.3]
    right = study_of({n: [p - 0.1, p, p + 0.1] for n, p in zip(numbers, published, strict=True)})
    same = {n: n for n in numbers}
    found = search.score(right, same, "peak_infected")
    assert (found.hits, found.numbers) == (10, 10)
    assert found.rank_correlation == pytest.approx(1.0)
    assert found.distance == pytest.approx(0.0, abs=1e-3)
    # Twice as high everywhere: the same order, no number; upside down: the opposite order.
    twice = study_of({n: [2 * p, 2 * p + 0.1] for n, p in zip(numbers, published, strict=True)})
    found = search.score(twice, same, "peak_infected")
    assert (found.hits, found.rank_correlation) == (0, pytest.approx(1.0))
    assert found.distance == pytest.approx(math.log(2.0), abs=0.01)
    below = study_of({n: [300 - p, 300 - p] for n, p in zip(numbers, published, strict=True)})
    assert search.score(below, same, "peak_infected").rank_correlation == pytest.approx(-1.0)


def test_places_are_screened_on_the_rows_they_change():
    assert {s.adherence for _, s in search.numbers_of("adherence")} == {0.8, 0.5}
    assert {s.false_positive_rate for _, s in search.numbers_of("tests")} == {0.1, 0.25}
    assert search.numbers_of("base", ("dna",)) == [("dna", Scenario())]
    assert search.numbers_of(AREAS) == []
    assert not set(search.SCREENING_SEEDS) & {
        *paper_setting.PAPER_SEEDS,
        *paper_setting.FRESH_SEEDS,
        *paper_setting.VALIDATION_SEEDS,
    }


# --- the search ---


def planted(monkeypatch, peak_of):
    """Let runs have the peak that a function of their configuration says, in ‰."""

    def run_study(configs, *, seeds, store, **where):
        return Study(
            seeds=tuple(seeds),
            summaries={
                label: [
                    {"peak_infected": (peak_of(config) + 0.1 * i) / 1000} for i in range(len(seeds))
                ]
                for label, config in configs.items()
            },
        )

    monkeypatch.setattr(search, "run_study", run_study)


PUBLISHED = {(method, scenario): value for method, scenario, value, _ in published_rows("table")}


def published(config):
    """Return the published peak of a run whose rates are as written."""
    scenario = Scenario(
        adherence=config.isolation.adherence,
        false_positive_rate=config.tests.false_positive_rate,
        false_negative_rate=config.tests.false_negative_rate,
    )
    return PUBLISHED[config.method.name, scenario]


def test_the_search_finds_a_planted_reading(monkeypatch, tmp_path):
    def peak(config):
        if config.method.gamma != 0.2:
            return 10.0
        return published(config) if config.isolation.days == 11 else 20.0

    planted(monkeypatch, peak)
    places = [BY_NAME["gamma"], BY_NAME["isolation"], BY_NAME["calibration"]]
    size = replace(FULL, seeds=(1, 2, 3))
    found = search.search(size, store=tmp_path, start=Reading(), places=places)
    assert found.reading.differences() == {"gamma": "0.2", "isolation": "programs"}
    assert [t.option for t in found.trials if t.chosen] == ["0.2", "programs", "exact"]
    (best,) = [t for t in found.trials if t.option == "programs"]
    assert (best.score.hits, best.score.numbers) == (2, 2)
    # A second round meets the choices of the first; of equals the one that stands is kept.
    again = search.search(size, store=tmp_path, start=Reading(), places=places, rounds=2)
    assert again.reading == found.reading
    assert len(again.trials) == 2 * len(found.trials)


def test_an_option_that_fails_is_told_and_not_chosen(here, monkeypatch, tmp_path):
    broken = Place(
        name="gamma",
        question="?",
        options=(BY_NAME["gamma"].options[0], Option(name="0.2", evidence="x")),
    )
    monkeypatch.setattr(attempts, "attempt", lambda config: (None, "broken"))
    found = search.search(TINY, store=tmp_path, start=Reading(), places=[broken])
    assert {t.error for t in found.trials} == {"broken"}
    assert found.reading == Reading()


def test_files_of_the_search(here, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paper_setting, "QUICK", TINY)
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    of_one = [row for row in published_rows("table") if row[0] == "dpfn-s"][:2]
    monkeypatch.setattr(search, "published_rows", lambda target: of_one)
    few = [BY_NAME[name] for name in ("gamma", "adherence", "areas")]
    monkeypatch.setattr(search_files, "search", partial(search.search, places=few))
    arguments = {"quick": True, "fresh": True, "out": tmp_path, "as_json": True}
    commands.reproduce(commands.Target.READINGS, **arguments)
    told = json.loads(capsys.readouterr().out)
    assert {t["place"] for t in told["trials"]} == {"gamma", "adherence"}
    assert [t["chosen"] for t in told["trials"]].count(True) == 2
    assert len(told["claims"]) == 2
    for claim in told["claims"]:  # a small version says nothing about numbers, in either column
        assert claim["verdict"] == claim["best_reading"]["verdict"] == "not tested"
    rows = list(csv.DictReader((tmp_path / "readings-search.csv").read_text().splitlines()))
    assert [r["option"] for r in rows] == [t["option"] for t in told["trials"]]
    page = (tmp_path / "readings-search.md").read_text()
    assert "SMALL VERSION: 60 people, 3 days, 2 seeds" in page
    assert "no datasets were given" in page
    assert "`dnatrace reproduce readings --quick --fresh`" in page
    assert all(option.evidence in page for place in PLACES for option in place.options)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    monkeypatch.setattr(sweeps, "execute", None)  # everything is in the store
    commands.reproduce(commands.Target.READINGS, **arguments)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def test_readings_have_no_method_to_choose(capsys, monkeypatch):
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    with pytest.raises((InputError, SystemExit, typer.Exit)) as raised:
        commands.reproduce(commands.Target.READINGS, method="fn", quick=True)
    text = capsys.readouterr().err + str(raised.value)
    assert "--method has no meaning" in text


def test_verdicts_of_both_readings(monkeypatch, tmp_path):
    """Our reading misses everything, the other one meets everything."""

    def peak(config):
        return (1.0 if config.method.gamma == 0.2 else 3.0) * published(config)

    planted(monkeypatch, peak)
    size = replace(FULL, seeds=(1, 2, 3))
    final = search.compare(Reading().at("gamma", "0.2"), size, store=tmp_path)
    assert {c.verdict for c in final.claims} == {Verdict.NOT_REPRODUCED}
    assert {c.best_reading.verdict for c in final.claims} == {Verdict.REPRODUCED}
    assert (final.ours.hits, final.best.hits) == (0, 10)


# --- areas under the curve ---


def test_areas_by_dataset_and_group(tmp_path, monkeypatch):
    seeds = {"train": (7901,), "validation": (7902,), "test": (7903,)}
    plan = generate.plan_dataset(people=150, days=14, method="none", seeds=seeds)
    generate.generate(plan, tmp_path / "none")
    monkeypatch.setattr(areas.auc_table, "make_table", partial(auc_table.make_table, resamplings=2))
    trials = areas.area_trials(tmp_path)
    assert [(t.policy, t.group) for t in trials] == [
        ("none", "everybody"), ("none", "not isolated")
    ]  # fmt: skip
    assert areas.area_trials(tmp_path / "none") == trials
    assert trials[0].areas == trials[1].areas  # without tests nobody isolates
    assert all(0.0 <= area <= 1.0 for area in trials[0].areas.values())
    right = replace(trials[0], areas={k: v + 0.009 for k, v in trials[0].published.items()})
    wrong = replace(trials[0], areas={k: v + 0.011 for k, v in trials[0].published.items()})
    assert (right.hits, wrong.hits) == (3, 0)
    with pytest.raises(InputError, match="neither a dataset nor a directory of some"):
        areas.datasets_in(_empty(tmp_path))
    with pytest.raises(InputError, match="no such directory of datasets"):
        areas.datasets_in(tmp_path / "missing")


def _empty(path):
    (path / "empty").mkdir()
    return path / "empty"
