"""What benchmarks/ says of itself; the figures are not tested, they belong to the machine."""

import csv
import json
import re
from collections import Counter

import numpy as np
import pytest

from benchmarks import closed_loop, first_run, guard, pages, peers
from benchmarks.all import SECTIONS, ratios_of
from benchmarks.all import main as measure_all
from dnatrace.runs import needs
from dnatrace.runs.config import RunConfig

QUICK = ["run", "--quiet", "--people", "300", "--days", "3"]


@pytest.mark.slow
def test_the_first_run_compiles_each_kernel_once_and_none_of_another_method():
    first, second = first_run.first_and_second(QUICK)
    ours = Counter(
        row["kernel"] for row in first["compiled"] if row["kernel"].startswith("dnatrace.")
    )
    assert "dnatrace.networks._decoder_kernels.decode" in ours  # it would say nothing without
    # One signature per kernel: `_layer` reads read-only weights and noisy numbers alike.
    assert {name: n for name, n in ours.items() if n > 1} == {}
    assert not [name for name in ours if "inference._kernels" in name]  # rounds of fn
    assert len(ours) <= 40
    assert not [row for row in second["compiled"] if row["kernel"].startswith("dnatrace.")]


def test_a_ratio_that_rose_by_more_than_a_quarter_is_red(tmp_path):
    committed = {"a": 1.0, "b": 1.0, "gone": 2.0}
    rows = {row.name: row for row in guard.compare(committed, {"a": 1.26, "b": 1.24, "new": 9.0})}
    assert [name for name, row in rows.items() if row.slower] == ["a"]
    assert rows["a"].line().startswith("\033[31m")
    assert "1.26 times" in rows["a"].line(colour=False)
    assert "\033" not in rows["a"].line(colour=False)
    assert "\033" not in rows["b"].line()
    assert "–" in rows["gone"].line()
    guard.write({"b": 1 / 3, "a": 2.0}, tmp_path / "r.json")
    assert guard.read(tmp_path / "r.json") == {"a": 2.0, "b": 0.333}
    assert guard.read(tmp_path / "absent.json") == {}


def test_ratios_are_of_things_measured_side_by_side():
    loops = [
        {"people": n, "method": m, "processor_s": s, "days": days}
        for n, m, s, days in (
            *((10, "simulator", 2.0, 9), (10, "headcount", 3.0, 9), (10, "fn", 8.0, 9)),
            *((99, "simulator", 4.0, 9), (99, "fn", 8.0, 3)),  # other days: not compared
        )
    ]
    figures = {
        "loops": loops,
        "inference": {
            "people": [
                {"people": 10, "rows_over_infer": 0.25},
                {"people": 9, "rows_over_infer": None},
            ]
        },
        "peers": [{"race": "city over covasim", "people": 10, "ratio": 0.1}],
        "first_run": [{"processor_s": 9.0}, {"processor_s": 3.0}],
        "plain_loops": [
            {"people": 10, "method": m, "times_fn": t} for m, t in (("fn", 1.0), ("bp", 9.0))
        ],
        "release": {
            "releases": [
                {"method": m, "over_inference": t} for m, t in (("inference", 1.0), ("dna", 1.2))
            ]
        },
        "memory": {"headcount": 1600.0},
    }
    assert ratios_of({name: {"figures": found} for name, found in figures.items()}) == {
        "headcount over simulator, 10 people": 1.5,
        "fn over simulator, 10 people": 4.0,
        "window from rows over inference, 10 people": 0.25,
        "city over covasim, 10 people": 0.1,
        "first run over second, processor time": 3.0,
        "bp over fn, 10 people": 9.0,
        "release of dna over inference": 1.2,
    }
    assert ratios_of({}) == {}


def test_the_page_shows_the_committed_figures():
    """Stale? `python -m benchmarks.pages`."""
    page, sections = pages.PAGE.read_text("utf-8"), pages.read()
    assert set(sections) == set(SECTIONS)
    assert sorted(re.findall(r"<!-- benchmark: (\w+) -->", page)) == sorted(pages.BLOCKS)
    assert pages.refreshed(page, sections) == page
    assert max(map(len, page.splitlines())) < 200


def test_a_page_that_shows_another_figure_is_told(tmp_path):
    slopes = {"few": 100, "many": 400, "days": 20, "headcount": 1630.0, "fn": 1400.0}
    sections = {"memory": {"figures": slopes, "load": [0.1, 1.2], "commit": "abcdef0123456"}}
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- benchmark: memory -->\nold\n<!-- end -->\n\nAfter: 7.\n")
    pages.refresh(sections, page)
    text = page.read_text()
    assert text.startswith("Before.\n\n<!-- benchmark: memory -->\n")
    assert text.endswith("<!-- end -->\n\nAfter: 7.\n")
    assert "old" not in text
    assert "1,630 for `headcount`, 1,400 for `fn`" in " ".join(text.split())
    assert "Load of the machine 0.1 before, 1.2 after; commit abcdef0123." in text
    assert pages.refreshed(text, sections) == text
    sections["memory"]["figures"]["fn"] += 1000
    assert pages.refreshed(text, sections) != text
    assert pages.refreshed(text, {}) == text  # nothing was measured: nothing changes
    pages.write(sections, tmp_path / "figures.json")
    again = pages.read(tmp_path / "figures.json")
    assert pages.refreshed(text, again) == pages.refreshed(text, sections)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *((0.0123456, "12 ms"), (0.00078, "0.78 ms"), (0.09, "90 ms"), (0.0996, "0.1 s")),
        *((0.512, "0.51 s"), (3.49, "3.5 s"), (41.2, "41 s"), (157.4, "157 s"), (None, "–")),
    ],
)
def test_times_have_two_digits(value, shown):
    assert pages.seconds(value) == shown


@pytest.mark.slow
def test_all_sections_are_measured_and_shown(tmp_path):
    out = tmp_path / "figures.json"
    few = ("start", "loops", "memory", "inference", "release", "sweep")
    assert measure_all(["--quick", "--out", str(out), "--only", *few]) == 0
    sections = pages.read(out)
    assert list(sections) == list(few)
    for name, (source, _) in pages.BLOCKS.items():
        block = f"<!-- benchmark: {name} -->\n<!-- end -->"
        assert (len(pages.refreshed(block, sections)) > 100) == (source in few)


def test_the_estimate_of_memory_is_somewhat_more_than_what_was_measured():
    slopes = pages.read()["memory"]["figures"]
    for method in ("headcount", "fn"):
        few, many = (
            needs.estimate(RunConfig(people=n, method=method)).memory_bytes
            for n in (slopes["few"], slopes["many"])
        )
        estimated = (many - few) / (slopes["many"] - slopes["few"])
        assert 1.0 <= estimated / slopes[method] < 1.35
    results = pages.PAGE.parent / "results"
    people = json.loads((results / "scale.json").read_text("utf-8"))["summary"]["people"]
    days = csv.DictReader((results / "scale.csv").read_text("utf-8").splitlines())
    most = 1e9 * max(float(day["peak_gb"]) for day in days)
    assert 1.0 <= needs.estimate(RunConfig(people=people)).memory_bytes / most < 1.35


def test_the_plain_inference_of_the_race_says_the_same():
    ours, theirs = peers._inference(200)
    assert np.allclose(ours().values[:, :, 2].T, theirs(), atol=1e-5)


@pytest.mark.slow
def test_races_by_turns():
    rows = peers.races([200], quick=True, programs=["python=python3 -c pass"])
    assert rows[0]["race"] == "inference over plain"
    assert rows[-1]["race"] == "city over python"
    assert all(0.0 < r["least"] <= r["ratio"] <= r["most"] for r in rows)


def test_a_loop_is_measured():
    row = closed_loop.measure(200, "headcount", days=3)
    assert row["person_days_per_s"] > 0
    assert row["processor_s"] > 0
    phases = {phase: row[f"{phase}_s"] for phase in (*closed_loop.PHASES, "rest")}
    assert sum(phases.values()) == pytest.approx(row["total_s"])
    assert min(phases.values()) > -1e-3  # rounded to 0.1 ms each
    assert phases["rest"] < 0.5 * row["total_s"]
