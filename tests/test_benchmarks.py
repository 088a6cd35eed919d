"""What benchmarks/ says of itself; the figures are not tested, they belong to the machine."""

from collections import Counter

import numpy as np
import pytest

from benchmarks import closed_loop, first_run, guard, peers
from benchmarks.all import ratios_of

QUICK = ["run", "--quiet", "--people", "300", "--days", "3"]


@pytest.mark.slow
def test_the_first_run_compiles_each_kernel_once_and_none_of_another_method():
    first, second = first_run.first_and_second(QUICK)
    ours = Counter(
        row["kernel"] for row in first["compiled"] if row["kernel"].startswith("dnatrace.")
    )
    assert "dnatrace.networks._runtime_kernels.decode" in ours  # it would say nothing without
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
        {"people": 10, "method": m, "processor_s": s}
        for m, s in (("simulator", 2.0), ("headcount", 3.0), ("fn", 8.0))
    ]
    figures = {
        "loops": loops,
        "inference": [{"people": 10, "from_rows_s": 1.0, "infer_2_thread_s": 4.0}],
        "peers": [{"race": "city over covasim", "people": 10, "ratio": 0.1}],
        "first_run": [{"processor_s": 9.0}, {"processor_s": 3.0}],
    }
    assert ratios_of(figures) == {
        "headcount over simulator, 10 people": 1.5,
        "fn over simulator, 10 people": 4.0,
        "window from rows over inference, 10 people": 0.25,
        "city over covasim, 10 people": 0.1,
        "first run over second, processor time": 3.0,
    }


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
