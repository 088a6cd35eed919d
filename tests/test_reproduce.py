"""The paper's results run again: settings, verdicts, files."""

import csv
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer

from dnatrace.cli import reproduce as commands
from dnatrace.errors import InputError
from dnatrace.paper import files as reproduction_files
from dnatrace.paper import reproduce as reproductions
from dnatrace.paper import setting as paper_setting
from dnatrace.paper import theorems
from dnatrace.paper.claims import published_rows, published_value
from dnatrace.paper.setting import FULL, Point, Scenario, Setting, Size
from dnatrace.paper.verdicts import Verdict, judge_bound, judge_number, judge_order
from dnatrace.runs.config import load_config
from dnatrace.runs.console import print_table
from dnatrace.sweeps import attempts
from dnatrace.sweeps import sweep as sweeps
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.study import run_study
from dnatrace.training import auc_table
from tests.forked_sweeps import in_process

from .command_line import run

TINY = Size(
    seeds=(1, 2),
    epsilons=(0.1, 1.0),
    overrides={"people": 60, "days": 3, "initially_infected": 8},
    is_small=True,
)


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(sweeps, "execute", in_process)


def spread(*values):
    return Spread(values=np.array(values, dtype=float))


# --- verdicts ---


@pytest.mark.parametrize(
    ("published", "half_width", "verdict"),
    [
        (11.0, None, Verdict.REPRODUCED),
        (30.0, 19.5, Verdict.REPRODUCED),
        (30.0, 5.0, Verdict.NOT_REPRODUCED),
        (3.0, None, Verdict.NOT_REPRODUCED),
    ],
)
def test_a_number_is_reproduced_when_intervals_overlap(published, half_width, verdict):
    ours = spread(9, 10, 11, 10)
    claim = judge_number("x", ours.mean, ours.interval, published=published, half_width=half_width)
    assert claim.verdict is verdict
    assert claim.ours == 10.0
    assert claim.interval == ours.interval


@pytest.mark.parametrize(
    ("lower", "higher", "verdict"),
    [
        ((1, 2, 3), (2, 3.1, 4.1), Verdict.REPRODUCED),  # below on every seed, though they overlap
        ((2, 3.1, 4.1), (1, 2, 3), Verdict.REVERSED),
        ((1, 3, 2), (2, 1, 3), Verdict.NOT_REPRODUCED),
        ((1,), (2,), Verdict.NOT_TESTED),
    ],
)
def test_an_order_is_judged_on_common_seeds(lower, higher, verdict):
    difference = spread(*np.subtract(lower, higher))
    claim = judge_order("x", difference.mean, difference.interval, published=None)
    assert claim.verdict is verdict
    json.dumps(claim.as_json(), allow_nan=False)


def test_bounds_values_and_gains():
    assert judge_bound("x", 1.0, 1.0).verdict is Verdict.REPRODUCED
    assert judge_bound("x", 1.1, 1.0).verdict is Verdict.REVERSED
    near = judge_number("x", 0.5, (0.4, 0.6), published=0.61, half_width=0.02)
    far = judge_number("x", 0.5, (0.4, 0.6), published=0.63, half_width=0.02)
    assert (near.verdict, far.verdict) == (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED)
    exact = [judge_number("x", v, None, published=0.0, half_width=0.1) for v in (-0.1, 0.2)]
    assert [c.verdict for c in exact] == [Verdict.REPRODUCED, Verdict.NOT_REPRODUCED]
    gains = [
        judge_order("x", 0.1, interval, published=0.1, sign=1)
        for interval in ((0.01, 1), (-1, 1), (-1, -0.1))
    ]
    assert [c.verdict for c in gains] == [
        Verdict.REPRODUCED,
        Verdict.NOT_REPRODUCED,
        Verdict.REVERSED,
    ]


# --- settings ---


def test_published_numbers_are_those_of_the_paper():
    assert published_value("table", "dna", Scenario(adherence=0.5)) == (27.2, 8.6)
    assert published_value("figure", "dpfn-s", Scenario(epsilon=1.0)) == (53.0, None)
    assert math.isnan(published_value("figure", "fn", Scenario())[0])
    assert len(list(published_rows("figure"))) == 20
    assert len(list(published_rows("table"))) == 10


def test_the_published_setting_is_the_papers():
    point = Point(setting=Setting.PUBLISHED, method="dpfn-s", scenario=Scenario(epsilon=3.0))
    config = paper_setting.configuration(point, FULL)
    assert config == load_config(preset="paper", overrides={"epsilon": 3.0})
    assert (config.people, config.days) == (10_000, 100)
    assert (config.method.release, config.method.gamma) == ("as_published", 0.7)


def test_the_best_setting_is_sound_and_at_the_best_gamma():
    scenario = Scenario(adherence=0.5, false_positive_rate=0.25, false_negative_rate=0.03)
    point = Point(setting=Setting.BEST, method="dpfn-s", scenario=scenario)
    config = paper_setting.configuration(point, FULL)
    assert (config.method.release, config.method.gamma) == ("linear", 0.2)
    assert config.isolation.adherence == 0.5
    assert config.tests.false_positive_rate == 0.25
    assert config.tests.false_negative_rate == 0.03


def test_the_gamma_of_the_nearest_epsilon():
    assert paper_setting.best_gamma("dpfn", 8.0) == paper_setting.best_gamma("dpfn", 10.0)
    assert paper_setting.best_gamma("unheard-of", 1.0) == paper_setting.best_gamma("dpfn-s", 1.0)


def test_every_method_and_bound_is_there_under_both_settings():
    methods, _ = paper_setting.methods_of("figure", None)
    assert {"traditional", "per-message", "dpfn", "dpfn-s"} <= set(methods)
    points = paper_setting.points_of("figure", methods, FULL)
    assert len(points) == len(set(points))
    for setting in Setting:
        mine = [p for p in points if p.setting is setting]
        bounds = set() if setting is Setting.READING else {"fn", "public-only", "random"}
        assert {p.method for p in mine} >= {*methods, *bounds} - {
            m for m in methods if m not in paper_setting.PUBLISHED_METHODS
        }
        assert {p.scenario.epsilon for p in mine if p.method == "dpfn-s"} == {
            0.1, 0.3, 1.0, 3.0, 10.0, 30.0,
        }  # fmt: skip
    table = paper_setting.points_of("table", ["dpfn-s"], FULL)
    assert len({p.scenario for p in table}) == 5


def test_a_method_that_does_not_exist():
    with pytest.raises(InputError, match="method 'nn' does not exist"):
        paper_setting.methods_of("figure", "nn")


def test_a_method_that_is_not_part_of_this_version_is_noted(monkeypatch):
    monkeypatch.setattr(paper_setting, "OUR_BEST", "to-come")
    methods, notes = paper_setting.methods_of("table", None)
    assert "to-come" not in methods
    assert notes == ["to-come is not part of this version"]


def test_fresh_seeds_are_others():
    assert not set(paper_setting.with_fresh_seeds(FULL).seeds) & set(FULL.seeds)
    assert len(paper_setting.with_fresh_seeds(FULL).seeds) == 20
    assert not set(paper_setting.VALIDATION_SEEDS) & {*FULL.seeds, *paper_setting.FRESH_SEEDS}


# --- runs and files ---


@pytest.mark.parametrize("target", ["figure", "table"])
def test_files_of_a_reproduction(here, target, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paper_setting, "QUICK", TINY)
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    arguments = {"method": "dpfn-s", "quick": True, "out": tmp_path, "as_json": True}
    commands.reproduce(commands.Target(target), **arguments)
    claims = json.loads(capsys.readouterr().out)
    assert claims
    assert all({"claim", "published", "ours", "interval", "verdict"} <= set(c) for c in claims)
    numbers = [c for c in claims if c["rule"] == "number"]
    assert {c["verdict"] for c in numbers} == {"not tested"}  # a small run says nothing about them

    rows = list(csv.DictReader((tmp_path / f"{target}.csv").read_text().splitlines()))
    assert {r["method"] for r in rows} == {"dpfn-s", "fn", "public-only", "random"}
    assert {r["setting"] for r in rows} == {"published", "best reading", "best"}
    both = [c for c in claims if c["best_reading"]]
    assert {c["claim"] for c in both} >= {c["claim"] for c in numbers}
    assert list(commands._rows(claims)[0])[-2:] == ["verdict", "best\nreading"]
    assert {r["runs"] for r in rows} == {"2"}
    page = (tmp_path / f"{target}.md").read_text()
    assert "SMALL VERSION: 60 people, 3 days, 2 seeds" in page
    assert f"`dnatrace reproduce {target} --method dpfn-s --quick`" in page
    assert "docs/results/readings.md says which that is" in page
    assert re.findall(r"\]\((?!https:)", page) == []  # no link that is dead beside it
    stored = json.loads((tmp_path / f"{target}.json").read_text())
    assert stored["claims"] == claims
    assert stored["provenance"]["dnatrace"]
    assert "<svg" in (tmp_path / f"{target}.svg").read_text()
    assert (tmp_path / f"{target}.pdf").read_bytes().startswith(b"%PDF")

    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    monkeypatch.setattr(sweeps, "execute", None)  # everything is in the store
    commands.reproduce(commands.Target(target), **arguments)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def test_files_of_another_command_are_kept(tmp_path, monkeypatch):
    """The work does not begin: nothing is lost, and nothing is done in vain."""
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    monkeypatch.setattr(commands, "_with_runs", lambda *_: commands.Answer(values="done"))
    monkeypatch.setattr(commands, "_choose_gammas", lambda *_: commands.Answer(values="done"))

    def ask(target="figure", **more):
        commands.reproduce(commands.Target(target), out=tmp_path, as_json=True, **more)

    (tmp_path / "figure.md").write_text("my own notes")
    with pytest.raises(InputError, match=r"figure.md: exists already; --force replaces it"):
        ask(quick=True)
    ask(quick=True, force=True)
    (tmp_path / "figure.json").write_text('{"command": "dnatrace reproduce figure"}')
    ask()  # the same command writes its files again
    ask("table")
    ask(fresh=True)
    for other in ({"quick": True}, {"method": "dpfn-s"}, {"seeds": 2}):
        with pytest.raises(InputError, match="was made by `dnatrace reproduce figure`; --force"):
            ask(**other)
    assert (tmp_path / "figure.md").read_text() == "my own notes"
    (tmp_path / "best_gamma.csv").touch()
    for damaged in ("", "[]", "{}", '{"command": 1}'):
        (tmp_path / "best_gamma.json").write_text(damaged)
        with pytest.raises(InputError, match=r"best_gamma.csv: exists already"):
            ask("gamma")
    (tmp_path / "figure.svg").mkdir()
    with pytest.raises(InputError, match=r"figure.svg: is a directory"):
        ask(force=True)


@pytest.mark.parametrize(
    ("target", "fresh", "files"),
    [("figure", True, "figure-fresh"), ("readings", True, "readings-search-verdicts")],
)
def test_every_file_of_a_command_is_looked_for(target, fresh, files, tmp_path):
    (tmp_path / f"{files}.md").touch()
    stems = commands._stems(commands.Target(target), fresh, None)
    with pytest.raises(InputError, match=f"{files}.md: exists already"):
        reproduction_files.keep_others(tmp_path, stems, "command", force=False)


def test_data_of_the_same_name_elsewhere_are_other_data(tmp_path):
    """The command that is kept beside results tells them apart, without folders of a machine."""

    def told(data):
        of = {"method": None, "quick": False, "fresh": False, "seeds": None, "simulator": None}
        return commands._command_line(commands.Target.AUC, data=data, **of)

    assert told(Path("a/runs")) == "dnatrace reproduce auc --data a/runs"
    assert told(Path("a/runs")) != told(Path("b/runs"))
    assert told(tmp_path / "runs") == "dnatrace reproduce auc --data runs"


@pytest.mark.parametrize(("target", "method"), [("figure", "none"), ("table", "dpfn")])
def test_a_method_without_claims_is_refused_where_nothing_is_written(target, method):
    with pytest.raises(InputError, match=f"no claim of the paper's {target} concerns .*{method}"):
        commands.reproduce(commands.Target(target), method=method, quick=True)


@pytest.mark.parametrize("name", ["figure", "table", "auc", "readings-search-verdicts"])
def test_claims_fit_into_80_columns(name, capsys):
    stored = Path(__file__).parents[1] / "docs" / "results" / f"{name}.json"
    claims = [{"best_reading": None} | c for c in json.loads(stored.read_text("utf-8"))["claims"]]
    print_table(commands._claim_table(claims))
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    for claim in claims:
        assert all(commands._number(end) in shown for end in claim["interval"] or ())


def test_rows_are_means_of_the_stored_runs(here, tmp_path):
    done = reproductions.reproduce("figure", store=tmp_path, size=TINY, method="dpfn-s")
    point = next(p for p in done.study.summaries if p.method == "random")
    values = reproduction_files.row_values(done, point)
    peaks = []
    for seed in TINY.seeds:
        digest = done.configs[point].model_copy(update={"seed": seed}).digest
        summary = json.loads((tmp_path / digest / "summary.json").read_text())
        peaks.append(1000 * summary["peak_infected"])
    assert values["mean"] == round(np.mean(peaks), 3)
    assert done.notes[0].startswith("SMALL VERSION")


def test_a_method_that_fails_has_no_row_and_a_note(here, tmp_path):
    scenario = Scenario()
    good = Point(setting=Setting.BEST, method="random", scenario=scenario)
    bad = Point(setting=Setting.BEST, method="fn", scenario=scenario)
    configs = {
        good: paper_setting.configuration(good, TINY),
        bad: load_config(overrides={"simulator": "replay"}),
    }
    study = run_study(configs, seeds=(1,), store=tmp_path)
    assert list(study.summaries) == [good]
    error = "simulator.contacts: replay needs the path of a contact list"
    assert {point: failure.error for point, failure in study.failures.items()} == {bad: error}
    assert reproductions.describe_failures(study) == (
        f"FAILED: fn (best) has no row in 1 scenario: {error}",
    )


def break_method(monkeypatch, name):
    """Let every run of a method fail, and no other."""
    attempt = attempts.attempt
    monkeypatch.setattr(
        attempts,
        "attempt",
        lambda config: (None, "broken") if config.method.name == name else attempt(config),
    )


@pytest.mark.parametrize("target", ["figure", "table"])
def test_failures_are_told_everywhere(here, target, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paper_setting, "QUICK", TINY)
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    break_method(monkeypatch, "dpfn-s")
    arguments = {"method": "dpfn-s", "quick": True, "out": tmp_path, "as_json": True}
    with pytest.raises(typer.Exit) as raised:
        commands.reproduce(commands.Target(target), **arguments)
    assert raised.value.exit_code == 1
    out, err = capsys.readouterr()
    n = 2 if target == "figure" else 5
    failures = [
        f"FAILED: dpfn-s ({setting}) has no row in {n} scenarios: broken" for setting in Setting
    ]
    assert err.splitlines()[-3:] == [f"dnatrace: {failure}" for failure in failures]
    claims = json.loads(out)
    assert [c for c in claims if c["claim"].startswith("dpfn-s")]
    assert {c["verdict"] for c in claims} == {"not tested"}
    assert any(c["note"] == "dpfn-s failed: broken" for c in claims)
    stored = json.loads((tmp_path / f"{target}.json").read_text())
    assert stored["notes"][-3:] == failures
    assert failures[0] in (tmp_path / f"{target}.md").read_text()


def test_orders_with_a_failed_method_are_not_tested(here, tmp_path, monkeypatch):
    break_method(monkeypatch, "dpfn")
    monkeypatch.setattr(paper_setting, "PUBLISHED_METHODS", ("dpfn", "dpfn-s"))
    monkeypatch.setattr(paper_setting, "OUR_BEST", "dpfn-s")
    size = Size(seeds=(1, 2), epsilons=(1.0,), overrides=TINY.overrides, is_small=True)
    done = reproductions.reproduce("figure", store=tmp_path, size=size)
    orders = [c for c in done.claims if c.claim.startswith("dpfn-s has a lower peak than dpfn (")]
    assert [(c.verdict, c.note) for c in orders] == [
        (Verdict.NOT_TESTED, "dpfn failed: broken")
    ] * 2
    # Methods that were not asked for are not missed.
    assert not [c for c in done.claims if "per-message" in c.claim]


def test_our_method_fills_the_table_beside_the_papers_columns(here, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paper_setting, "QUICK", TINY)
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    arguments = {"method": "tally", "quick": True, "out": tmp_path, "as_json": True}
    commands.reproduce(commands.Target.TABLE, **arguments)
    capsys.readouterr()
    lines = (tmp_path / "table.md").read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if "dna in the paper" in line)
    head = [cell.strip() for cell in lines[at].strip("|").split("|")]
    rows = [
        dict(zip(head, (c.strip() for c in line.strip("|").split("|")), strict=True))
        for line in lines[at + 2 : at + 7]
    ]
    assert [r["dna in the paper"] for r in rows] == [
        "6.4 ± 2.6",
        "6.4 ± 2.2",
        "27.2 ± 8.6",
        "19.5 ± 2.5",
        "81.3 ± 1.8",
    ]
    stored = csv.DictReader((tmp_path / "table.csv").read_text().splitlines())
    means = [float(r["mean"]) for r in stored if r["method"] == "tally"]
    assert [float(r["tally"].split()[0]) for r in rows] == pytest.approx(means, abs=0.06)
    assert lines[at + 7] == ""


def test_fresh_seeds_have_files_of_their_own(here, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paper_setting, "QUICK", TINY)
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    arguments = {"method": "random", "quick": True, "out": tmp_path, "as_json": True}
    commands.reproduce(commands.Target.FIGURE, **arguments)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    commands.reproduce(commands.Target.FIGURE, fresh=True, **arguments)
    after = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {
        f"figure-fresh.{kind}" for kind in ("csv", "json", "md", "svg", "pdf")
    }


def test_another_simulator_runs_and_has_files_of_its_own(here, tmp_path, monkeypatch, capsys):
    small = {"people": 1000, "days": 4, "initially_infected": 10}
    tiny = replace(TINY, seeds=(1, 2), epsilons=(1.0,), overrides=small)
    monkeypatch.setattr(paper_setting, "QUICK", tiny)
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    arguments = {"method": "random", "quick": True, "out": tmp_path, "as_json": True}
    commands.reproduce(commands.Target.FIGURE, simulator="covasim", **arguments)
    page = (tmp_path / "figure-covasim.md").read_text()
    assert "--simulator covasim" in page
    assert "2 seeds, simulator covasim." in page
    stored = [json.loads(path.read_text()) for path in tmp_path.glob("runs/*/config.json")]
    assert {config["simulator"]["name"] for config in stored} == {"covasim"}


@pytest.mark.parametrize(
    ("target", "simulator", "words"),
    [
        ("theorems", "covasim", "--simulator has no meaning for theorems"),
        ("table", "nowhere", "nowhere"),
        ("readings", "replay", "replay"),
    ],
)
def test_simulators_that_cannot_be_used_are_refused(target, simulator, words, monkeypatch):
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    with pytest.raises(InputError, match=words):
        commands.reproduce(commands.Target(target), quick=True, simulator=simulator)


def test_rows_say_where_their_gamma_is_from(here, tmp_path):
    origins = {
        (method, epsilon): paper_setting.gamma_origin(
            Point(setting=Setting.BEST, method=method, scenario=Scenario(epsilon=epsilon))
        )
        for method in ("dpfn-s", "dna", "random")
        for epsilon in (1.0, 3.0)
    }
    assert origins == {
        ("dpfn-s", 1.0): "chosen",
        ("dpfn-s", 3.0): "nearest ε, 1.0",
        ("dna", 1.0): "dpfn-s",
        ("dna", 3.0): "dpfn-s, nearest ε, 1.0",
        ("random", 1.0): "",
        ("random", 3.0): "",
    }
    published = Point(setting=Setting.PUBLISHED, method="dna", scenario=Scenario())
    assert paper_setting.gamma_origin(published) == "preset paper"
    done = reproductions.reproduce("figure", store=tmp_path, size=TINY, method="dpfn-s")
    reproduction_files.write_reproduction(done, tmp_path, "command")
    rows = list(csv.DictReader((tmp_path / "figure.csv").read_text().splitlines()))
    assert {(r["method"], r["gamma_from"]) for r in rows if r["setting"] == "best"} == {
        ("dpfn-s", "chosen"),
        ("fn", ""),
        ("public-only", ""),
        ("random", ""),
    }
    assert "| γ | γ from |" in (tmp_path / "figure.md").read_text()


def test_gammas_are_chosen_by_the_mean_peak(here, tmp_path, monkeypatch):
    monkeypatch.setattr(reproductions, "GAMMAS", (0.1, 0.7))
    size = Size(epsilons=(1.0,), overrides=TINY.overrides, is_small=True)
    choices = reproductions.choose_gammas(store=tmp_path, size=size, method="dpfn-s")
    (row,) = choices.rows
    assert choices.failures == ()
    assert row["gamma"] == min(row["means"], key=row["means"].get)
    files = reproduction_files.gamma_files(choices, "dnatrace reproduce gamma")
    assert files["best_gamma.csv"].decode().splitlines()[0] == "method,release,epsilon,gamma,origin"


def test_no_gamma_is_chosen_when_a_run_failed(here, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reproductions, "GAMMAS", (0.1, 0.7))
    monkeypatch.setattr(paper_setting, "QUICK", TINY)
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    attempt = attempts.attempt
    monkeypatch.setattr(
        attempts,
        "attempt",
        lambda c: (
            (None, "broken")
            if (c.method.gamma, c.privacy.epsilon, c.seed) == (0.7, 1.0, 502)
            else attempt(c)
        ),
    )
    with pytest.raises(typer.Exit) as raised:
        commands.reproduce(
            commands.Target.GAMMA, method="dpfn-s", quick=True, out=tmp_path, as_json=True
        )
    assert raised.value.exit_code == 1
    out, err = capsys.readouterr()
    failure = "FAILED: dpfn-s has no γ at ε = 1: broken"
    assert err.splitlines()[-1] == f"dnatrace: {failure}"
    assert [row["epsilon"] for row in json.loads(out)["best_gamma"]] == [0.1]
    notes = json.loads((tmp_path / "best_gamma.json").read_text())["notes"]
    assert notes == [
        "SMALL VERSION: 60 people, 3 days, 3 seeds. Its numbers must not be compared "
        "with published ones.",
        failure,
    ]


# --- theorems ---


def test_small_runs_say_so_and_judge_no_number(tmp_path, monkeypatch):
    small = auc_table.small_test_data(people=400, days=16)
    monkeypatch.setattr(auc_table, "small_test_data", lambda **_: small)
    claims = commands._without_runs(commands.Target.AUC, False, None, tmp_path, "command")
    page = (tmp_path / "auc.md").read_text()
    assert page.startswith("# The paper's auc (SMALL VERSION)\n")
    assert "- Data: SMALL VERSION: a run made for the occasion" in page
    areas = [c for c in claims if c.claim.startswith("The AUC of ")]
    assert {c.verdict for c in areas} == {Verdict.NOT_TESTED}
    assert all(c.note.startswith("SMALL VERSION") for c in areas)
    assert not any(".safetensors" in c.claim for c in claims)
    assert any("network 'dna" in c.claim for c in claims)
    assert len({c.claim for c in claims}) == len(claims)  # each says what it is about
    shown = commands._verdicts(claims, commands.Target.AUC, True, None).shown[1]
    printed = {column.header: list(column.cells) for column in shown.columns}
    assert sum("tested" in cell for cell in printed["best\nreading"]) >= len(areas) > 0
    (tmp_path / "auc.md").unlink()
    # The same samples as a dataset would have them.
    monkeypatch.setattr(auc_table, "read_test_data", lambda _: replace(small, digest="d"))
    claims = commands._without_runs(commands.Target.AUC, False, tmp_path, tmp_path, "command")
    assert (tmp_path / "auc.md").read_text().startswith("# The paper's auc\n")
    assert any(c.verdict is not Verdict.NOT_TESTED for c in claims if "The AUC of FN" in c.claim)
    monkeypatch.setattr(theorems, "FULL_DRAWS", 4_000)
    commands._without_runs(commands.Target.THEOREMS, False, None, tmp_path, "command")
    page = (tmp_path / "theorems.md").read_text()
    assert page.startswith("# The paper's theorems (claims about projection: SMALL VERSION)\n")
    assert "- Claims about projection are a SMALL VERSION: on a small run" in page


def test_theorem_1_holds_without_own_tests_and_fails_with():
    alone, tested = theorems.sensitivity_claims(load_config(preset="paper"))
    assert alone.verdict is Verdict.REPRODUCED
    assert alone.ours == pytest.approx(0.977 * 0.021, rel=1e-3)  # docs/guarantees.md
    assert tested.verdict is Verdict.REVERSED
    assert tested.ours > 8 * tested.published
    assert "positive test" in tested.note


def test_histories_are_all_of_one_or_two_tests():
    histories = theorems.histories(4)
    assert histories.shape == (4, 4 * 2 + 6 * 4)
    assert len(np.unique(histories, axis=1).T) == histories.shape[1]
    assert set(np.count_nonzero(histories >= 0, axis=0)) == {1, 2}


def test_the_lemma_fails_with_own_tests():
    without, with_tests = theorems.audit_claims(draws=20_000)
    assert without.verdict is Verdict.REPRODUCED
    assert with_tests.verdict is Verdict.REVERSED
    assert with_tests.ours > 3.0


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("gamma", "--method", "fn"), "method 'fn' clips no messages: it has no γ to choose"),
        (("gamma", "--method", "tally"), "method 'tally' clips no messages: it has no γ to choose"),
        (("gamma", "--fresh"), "--fresh has no meaning for gamma here"),
        (("gamma", "--data", "x"), "--data has no meaning for gamma here"),
        (("theorems", "--method", "dpfn"), "--method has no meaning for theorems here"),
        (("theorems", "--fresh"), "--fresh has no meaning for theorems here"),
        (("auc", "--method", "dpfn"), "--method has no meaning for auc here"),
        (("table", "--data", "x"), "--data has no meaning for table here"),
        (
            ("auc", "--data", "x"),
            "--quick makes a small run of its own: leave out --data, or --quick",
        ),
    ],
)
def test_reproduce_refuses_what_it_would_ignore(tmp_path, options, line):
    done = run("reproduce", *options, "--quick", "--out", "reproduced", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"dnatrace: {line}\n")
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize("name", ["figure", "table"])
def test_pages_say_whose_error_rates_they_have(name):
    """Rows of the best reading have the rates of the paper, and their runs the exchanged ones."""
    page = (Path(__file__).parents[1] / "docs" / "results" / f"{name}.md").read_text("utf-8")
    assert reproduction_files._EXCHANGED in page
    assert "| best reading |" in page
    row = {"setting": "best reading"} | dict.fromkeys(("method", "release", "gamma_from"), "")
    row |= {"sound": True, "published": "", "published_half_width": "", "high": ""}
    row |= {"gamma": 0.7, "epsilon": 1.0, "adherence": 1.0}
    row |= {"mean": 1.0, "median": 1.0, "p95": 1.0}
    row |= {"false_positive_rate": 0.25, "false_negative_rate": 0.03}
    told = [reproduction_files._all_rows([row | {"setting": s}])[0] for s in Setting]
    assert [reproduction_files._EXCHANGED in text for text in told] == [False, True, False]


@pytest.mark.parametrize("words", [("--quick",), ()])
def test_a_small_choice_of_gammas_is_called_small(monkeypatch, words):
    rows = [{"method": "dpfn-s", "release": "linear", "epsilon": 1.0, "gamma": 0.2}]
    choices = SimpleNamespace(rows=rows, notes=[], failures=[])
    monkeypatch.setattr(reproductions, "choose_gammas", lambda **_: choices)
    done = run("reproduce", "gamma", *words)
    assert ("(SMALL VERSION)" in done.stdout) == bool(words)
