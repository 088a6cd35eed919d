"""Readings of the paper: places, configurations, the search, both columns of verdicts."""

import csv
import json
import math
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import typer

from dnatrace.cli import reproduce as commands
from dnatrace.errors import InputError
from dnatrace.paper import areas, both_readings, claims, scores, search, search_files
from dnatrace.paper import setting as paper_setting
from dnatrace.paper.claims import published_rows
from dnatrace.paper.places import BY_NAME, PLACES, Option, Place
from dnatrace.paper.reading import Reading, best_reading
from dnatrace.paper.setting import FULL, Point, Scenario, Setting, Size
from dnatrace.paper.verdicts import Rule, Verdict
from dnatrace.runs.config import load_config
from dnatrace.runs.nesting import flatten
from dnatrace.sweeps import attempts
from dnatrace.sweeps import sweep as sweeps
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.study import Study
from dnatrace.training import auc_table, generate
from tests.forked_sweeps import in_process

TINY = Size(
    seeds=(1, 2),
    epsilons=(0.1, 1.0),
    overrides={"people": 60, "days": 3, "initially_infected": 8},
    is_small=True,
)
RESULTS = Path(__file__).parents[1] / "docs" / "results"
PEAKS = [option.metric for option in BY_NAME["peak"].options]
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
            seen = option.metric or place.of_areas or changed(place.name, option.name, "dna")
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


def test_what_a_release_costs_under_a_reading():
    """Known values: the classical formula at ε = 1 and δ = 1/1000 has noise enough for 0.63."""
    assert Reading().cost("dna") == pytest.approx(1.0, abs=1e-6)
    classical = Reading().at("calibration", "classical")
    assert classical.cost("dpfn-s") == pytest.approx(0.63, abs=0.005)
    third = classical.at("noise of dna", "0.01 beside 0.03")
    assert third.cost("dpfn-s") == classical.cost("dpfn-s")
    assert third.cost("dna") == pytest.approx(classical.cost("dna", epsilon=3.0), abs=1e-6)
    assert third.cost("dna") > 2.0


def test_keys_of_other_methods_are_left_out():
    reading = Reading().at("gamma", "0.2").at("network", "own tests and age too, E or I")
    assert reading.configuration("traditional", NOISY, FULL).method.name == "traditional"
    assert reading.configuration("dna", NOISY, FULL).method.gamma == 0.2


def test_an_option_that_does_not_exist():
    with pytest.raises(InputError, match=r"place 'gamma' has no option '0\.3'; there are 0\.7"):
        Reading(chosen={"gamma": "0.3"})


# --- scores ---


def peaks_of(values, *, spread=0.1):
    """Return three peaks around each value in ‰, by number."""
    around = np.array([-spread, 0.0, spread])
    return {number: Spread(values=value + around) for number, value in values.items()}


def test_numbers_are_those_of_table_and_figure_each_once():
    numbers = scores.published_numbers()
    assert sum(known.target == "table" for known in numbers.values()) == 10
    assert sum(known.target == "figure" for known in numbers.values()) == 18
    first = numbers["dna", Scenario()]  # the figure has it, too, without an interval
    assert (first.value, first.half_width) == (6.4, 2.6)
    assert numbers["traditional", Scenario(epsilon=10.0)].half_width is None


def test_a_score_counts_numbers_and_knows_their_order():
    published = {n: known.value for n, known in scores.published_numbers().items()}
    found = scores.score(peaks_of(published))
    assert (found.hits, found.numbers) == (28, 28)
    assert found.rank_correlation == pytest.approx(1.0)
    assert found.distance == pytest.approx(0.0, abs=1e-3)
    # Twice as high everywhere: the same order, no number; upside down: the opposite order.
    found = scores.score(peaks_of({n: 2 * p for n, p in published.items()}))
    assert (found.hits, found.rank_correlation) == (0, pytest.approx(1.0))
    assert found.distance == pytest.approx(math.log(2.0), abs=0.01)
    below = scores.score(peaks_of({n: 300 - p for n, p in published.items()}))
    assert below.rank_correlation == pytest.approx(-1.0)


def test_a_number_off_the_plot_counts_fifteen_per_cent():
    number = "dpfn", Scenario(epsilon=1.0)  # 105 in the figure, not in the table
    for value, met in ((105 * 1.14, 1), (105 * 1.17, 0), (105 * 0.86, 1), (105 * 0.83, 0)):
        assert scores.score(peaks_of({number: value})).hits == met


def test_better_is_more_numbers_then_their_order_then_nearer():
    def order(hits, rank, distance):
        return scores.Score(hits=hits, numbers=5, rank_correlation=rank, distance=distance).order

    assert order(3, 0.5, 1.0) > order(2, 1.0, 0.1)
    assert order(3, 0.9, 1.0) > order(3, 0.7, 0.1)
    assert order(3, 0.92, 1.0) == order(3, 0.88, 0.1)  # chance
    assert order(0, math.nan, 0.5) > order(0, math.nan, 0.6)


def test_readings_are_tried_on_both_results_and_on_seeds_of_their_own():
    for method in ("dpfn-s", "dna"):
        targets = [scores.published_numbers()[n].target for n in scores.screened_numbers((method,))]
        assert (targets.count("table"), targets.count("figure")) == (3, 2)
    assert not set(search.SCREENING_SEEDS) & {
        *paper_setting.PAPER_SEEDS,
        *paper_setting.FRESH_SEEDS,
        *paper_setting.VALIDATION_SEEDS,
    }


# --- the search ---


def planted(monkeypatch, peak_of):
    """Let runs have the peak that a function of their configuration says, in ‰."""
    asked = []

    def run_study(configs, *, seeds, store, **where):
        asked.extend(configs.values())
        return Study(
            seeds=tuple(seeds),
            summaries={
                label: [
                    dict.fromkeys(PEAKS, (peak_of(config) + 0.1 * i) / 1000)
                    for i in range(len(seeds))
                ]
                for label, config in configs.items()
            },
        )

    for module in (search, both_readings):
        monkeypatch.setattr(module, "run_study", run_study)
    return asked


def published(config):
    """Return the published peak of a run whose rates are as written."""
    scenario = Scenario(
        epsilon=config.privacy.epsilon,
        adherence=config.isolation.adherence,
        false_positive_rate=config.tests.false_positive_rate,
        false_negative_rate=config.tests.false_negative_rate,
    )
    return scores.published_numbers()[config.method.name, scenario].value


def test_the_search_finds_a_planted_reading(monkeypatch, tmp_path):
    def peak(config):
        if config.method.gamma != 0.2:
            return 300.0
        return published(config) if config.isolation.days == 11 else 200.0

    planted(monkeypatch, peak)
    places = [BY_NAME["gamma"], BY_NAME["isolation"], BY_NAME["calibration"], BY_NAME["areas"]]
    size = replace(FULL, seeds=(1, 2, 3))
    found = search.search(size, store=tmp_path, start=Reading(), places=places)
    assert found.reading.differences() == {"gamma": "0.2", "isolation": "programs"}
    assert {t.place for t in found.trials} >= {"gamma", "isolation", "calibration"}
    chosen = [t.option for t in found.trials if t.chosen]
    assert chosen[:3] == ["0.2", "programs", "exact"]  # of equals the one that stands
    assert set(chosen[3:]) <= {"as it stands"}
    (best,) = [t for t in found.trials if t.changes == (("isolation", "programs"),)]
    assert (best.score.hits, best.score.numbers) == (5, 5)


def test_two_places_at_a_time_find_what_neither_finds_alone(monkeypatch, tmp_path):
    """Each change alone is as bad as none; a search of one place at a time stops there."""

    def peak(config):
        both = config.method.gamma == 0.2 and config.isolation.days == 11
        return published(config) if both else 500.0

    planted(monkeypatch, peak)
    places = [BY_NAME["gamma"], BY_NAME["isolation"]]
    size = replace(FULL, seeds=(1, 2, 3))
    found = search.search(size, store=tmp_path, start=Reading(), places=places)
    assert [t.option for t in found.trials if t.chosen and len(t.changes) == 1] == ["0.7", "text"]
    (pair,) = [t for t in found.trials if t.chosen and len(t.changes) == 2]
    assert (pair.place, pair.score.hits) == ("gamma + isolation", 5)
    assert found.reading.differences() == {"gamma": "0.2", "isolation": "programs"}


def test_pairs_are_of_options_that_alone_were_nearly_as_good():
    def trial(place, option, hits, *, chosen=False, methods=("dpfn-s",), error=""):
        found = scores.Score(hits=hits, numbers=5, rank_correlation=0.9, distance=0.1)
        return search.Trial(
            changes=((place, option),), methods=methods, score=found, means={}, chosen=chosen,
            error=error,
        )  # fmt: skip

    trials = [
        trial("gamma", "0.7", 4, chosen=True), trial("gamma", "1", 2), trial("gamma", "0.2", 3),
        trial("score", "E+I", 4, chosen=True), trial("score", "I", 4),
        trial("rates", "swapped", 4, chosen=True), trial("rates", "as written", 2),
        trial("swabs", "E or I", 4, chosen=True), trial("swabs", "I", 4, error="broken"),
        trial("weight", "p1", 4, chosen=True, methods=("dna",)),
        trial("weight", "1", 4, methods=("dna",)),
    ]  # fmt: skip
    assert search.nearly_as_good(trials, ("dpfn-s",)) == [(("score", "I"), ("gamma", "0.2"))]
    assert search.nearly_as_good(trials, ("dna",)) == []


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

    def of_one(target):
        return [row for row in published_rows(target) if row[0] == "dpfn-s"][:2]

    for module in (scores, both_readings, claims):
        monkeypatch.setattr(module, "published_rows", of_one)
    monkeypatch.setattr(scores, "SCREENED", (Scenario(), Scenario(epsilon=0.1)))
    few = [BY_NAME[name] for name in ("score", "adherence", "areas")]
    monkeypatch.setattr(search_files, "search", partial(search.search, places=few))
    arguments = {"quick": True, "fresh": True, "out": tmp_path, "as_json": True}
    commands.reproduce(commands.Target.READINGS, **arguments)
    told = json.loads(capsys.readouterr().out)
    assert {t["place"] for t in told["trials"]} >= {"score", "adherence"}
    assert told["notes"][-1] == "OpenABM-Covid19 is not installed: the city alone."
    numbers = [claim for claim in told["claims"] if claim["rule"] == "number"]
    assert len(numbers) == 2
    for claim in numbers:  # a small version says nothing about numbers, in either column
        assert claim["verdict"] == claim["best_reading"]["verdict"] == "not tested"
    orders = [claim for claim in told["claims"] if claim["rule"] == "order"]
    assert {claim["best_reading"]["verdict"] for claim in orders} <= set(Verdict)
    rows = list(csv.DictReader((tmp_path / "readings-search.csv").read_text().splitlines()))
    assert [r["option"] for r in rows] == [t["option"] for t in told["trials"]]
    page = (tmp_path / "readings-search.md").read_text()
    assert "SMALL VERSION: 60 people, 3 days, 2 seeds" in page
    assert "no datasets were given" in page
    for said in (page, told["conclusion"]):
        assert "which says nothing about the paper" in said
        assert "Best reading: " not in said
    assert "`dnatrace reproduce readings --quick --fresh`" in page
    assert all(option.evidence in page for place in PLACES for option in place.options)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    monkeypatch.setattr(sweeps, "execute", None)  # everything is in the store
    commands.reproduce(commands.Target.READINGS, **arguments)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def test_readings_are_tried_on_the_authors_simulator_where_it_is_installed(monkeypatch, tmp_path):
    asked = planted(monkeypatch, lambda config: 50.0)
    monkeypatch.setattr(search_files.openabm, "is_installed", lambda: True)
    there = classmethod(lambda cls: (True, "a stand-in"))
    monkeypatch.setattr(search_files.openabm.OpenABMSettings, "availability", there)
    found = search_files.find(FULL, store=tmp_path, fresh=True)
    assert [world.simulator for world in found.worlds] == ["city", "openabm"]
    named = [config.simulator.name for config in asked]
    assert named.count("openabm") == named.count("city") > 0
    rows = search_files.trial_rows(found.worlds)
    assert {row["simulator"] for row in rows} == {"city", "openabm"}
    told = [claim.claim for claim in found.claims if claim.claim.endswith("[openabm]")]
    assert len(told) == len(found.claims) / 2
    page = search_files.findings_files(found, "x")["readings-search.md"].decode()
    assert "Best reading: " in page
    assert "On the simulator `openabm`, 4 seeds from 601" in page
    for heading, rows in search_files.trials_told(found.worlds[0]):
        peaks = rows[0]["peaks"].split(", ")
        assert len(peaks) == heading.count("dpfn-s ") + heading.count("dna ")
        assert len(peaks) in (5, 10)  # of places that concern one method, or both
        assert all(" ± " in peak for peak in peaks)
    assert "not installed" not in page
    asked.clear()
    alone = search_files.find(FULL, store=tmp_path, simulator="openabm")
    assert [world.simulator for world in alone.worlds] == ["openabm"]
    assert {config.simulator.name for config in asked} == {"openabm"}


def test_readings_have_no_method_to_choose(capsys, monkeypatch):
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    with pytest.raises((InputError, SystemExit, typer.Exit)) as raised:
        commands.reproduce(commands.Target.READINGS, method="fn", quick=True)
    text = capsys.readouterr().err + str(raised.value)
    assert "--method has no meaning" in text


def test_seeds_have_a_meaning_where_there_are_some(capsys, monkeypatch):
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    for target in ("auc", "gamma", "readings"):
        with pytest.raises((InputError, SystemExit, typer.Exit)) as raised:
            commands.reproduce(commands.Target(target), seeds=3, quick=True)
        text = capsys.readouterr().err + str(raised.value)
        assert f"--seeds has no meaning for {target} here" in text


def test_verdicts_of_both_readings(monkeypatch, tmp_path):
    """Our reading misses everything, the other one meets everything."""

    def peak(config):
        return (1.0 if config.method.gamma == 0.2 else 3.0) * published(config)

    planted(monkeypatch, peak)
    size = replace(FULL, seeds=(1, 2, 3, 4))
    final = both_readings.compare(Reading().at("gamma", "0.2"), size, store=tmp_path)

    numbers = [c for c in final.claims if c.rule is Rule.NUMBER]
    assert len(numbers) == 10
    assert {c.verdict for c in numbers} == {Verdict.NOT_REPRODUCED}
    assert {c.best_reading.verdict for c in numbers} == {Verdict.REPRODUCED}
    assert (final.ours.hits, final.best.hits, final.best.numbers) == (0, 10, 10)
    assert final.best.rank_correlation == pytest.approx(1.0)
    orders = [c for c in final.claims if c.rule is Rule.ORDER]
    assert {c.best_reading.verdict for c in orders} == {Verdict.REPRODUCED}
    assert len(orders) == 5


def test_fewer_seeds_are_the_first_ones():
    few = paper_setting.with_fresh_seeds(FULL, most=3)
    assert few.seeds == (3001, 3002, 3003)
    for wrong in (1, 21):
        with pytest.raises(InputError, match=f"seeds must be from 2 to 20, not {wrong}"):
            paper_setting.with_fresh_seeds(FULL, most=wrong)


# --- areas under the curve ---


def test_areas_by_dataset_and_group(tmp_path, monkeypatch):
    seeds = {"train": (7901,), "validation": (7902,), "test": (7903,)}
    plan = generate.plan_dataset(people=150, days=14, method="none", seeds=seeds)
    generate.generate(plan, tmp_path / "none")
    monkeypatch.setattr(areas.auc_table, "make_table", partial(auc_table.make_table, resamplings=2))
    trials = areas.area_trials(tmp_path)
    assert [(t.policy, t.group) for t in trials] == 2 * [
        ("none", "everybody"), ("none", "not isolated")
    ]  # fmt: skip
    assert [t.networks.split(", trained")[0] for t in trials[::2]] == [
        "dna-paper, target I", "dna, target E or I"
    ]  # fmt: skip
    assert areas.area_trials(tmp_path / "none") == trials
    assert trials[0].areas == trials[1].areas  # without tests nobody isolates
    assert all(0.0 <= area <= 1.0 for area in trials[0].areas.values())
    right = replace(trials[0], areas={k: v + 0.009 for k, v in trials[0].published.items()})
    wrong = replace(trials[0], areas={k: v + 0.011 for k, v in trials[0].published.items()})
    assert (right.hits, wrong.hits) == (3, 0)
    # The outcome takes the data and the people whose areas are nearest.
    assert areas.with_areas(Reading(), ()) == Reading()
    near = areas.with_areas(Reading(), [wrong, replace(right, group="not isolated")])
    assert near.differences() == {"training": "none", "areas": "not isolated"}
    with pytest.raises(InputError, match="neither a dataset nor a directory of some"):
        areas.datasets_in(_empty(tmp_path))
    with pytest.raises(InputError, match="no such directory of datasets"):
        areas.datasets_in(tmp_path / "missing")


def _empty(path):
    (path / "empty").mkdir()
    return path / "empty"


# --- the page ---


def _rows_of(page, columns):
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return [row for row in rows if len(row) == columns]


def test_the_page_tells_what_the_command_wrote():
    """Every peak in the tables of the story stands in the files of the search and the verdicts."""
    page = (RESULTS / "readings.md").read_text()
    searched = json.loads((RESULTS / "readings-search.json").read_text())
    means = [re.findall(r": ([\d.]+ ± [\d.]+)", trial["means"]) for trial in searched["trials"]]
    tried = [row for row in _rows_of(page, 7) if "±" in row[-1]]
    assert len(tried) == 21
    assert [row[0] for row in tried if row[2:] not in means] == []
    judged = json.loads((RESULTS / "readings-search-verdicts.json").read_text())
    numbers = [claim for claim in judged["claims"] if claim["rule"] == "number"]
    cells = [[_cell(claim), _cell(claim["best_reading"])] for claim in numbers]
    assert [row[-2:] for row in _rows_of(page, 5) if row[1] in ("`dpfn-s`", "`dna`")] == cells
    assert searched["best_reading"] == best_reading().differences()


def _cell(found):
    low, high = found["interval"]
    met = " ✓" if found["verdict"] == "reproduced" else ""
    return f"{found['ours']:.1f} ({low:.1f} to {high:.1f}){met}"
