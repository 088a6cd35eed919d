"""The scripts of large sizes, at their smallest: one city, killed in between; a contact list."""

import csv
import json

import numpy as np
import pytest

from verification import rows as long_lists
from verification import scale


class KilledError(Exception):
    """What ends the run in this test."""


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_a_large_city_is_measured_day_by_day_and_resumes(tmp_path, monkeypatch, capsys):
    out = tmp_path / "scale.md"
    observe = scale.Curve.observe

    def killed(self, row):
        if row["day"] == 5:
            raise KilledError
        observe(self, row)

    monkeypatch.setattr(scale.Curve, "observe", killed)
    with pytest.raises(KilledError):
        scale.main(["--quick", "--every", "2", "--out", str(out)])
    before = table(tmp_path / "scale.csv")
    assert [r["day"] for r in before] == ["1.0", "2.0", "3.0", "4.0"]
    monkeypatch.setattr(scale.Curve, "observe", observe)
    assert scale.main(["--quick", "--every", "2", "--out", str(out)]) == 0
    after = table(tmp_path / "scale.csv")
    assert [r["day"] for r in after] == [f"{day}.0" for day in range(1, 7)]
    assert after[:4] == before  # run once
    assert all(0.0 < float(r["resident_gb"]) <= float(r["peak_gb"]) + 0.01 for r in after)
    assert "| 500 | 6 |" in out.read_text()
    assert capsys.readouterr().out.strip().endswith(out.read_text().strip())
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"scale.md", "scale.csv", "scale.svg", "scale.json"}


def test_a_long_list_is_read_as_it_was_written(tmp_path, capsys):
    out = tmp_path / "rows.md"
    assert long_lists.main(["--quick", "--out", str(out)]) == 0
    assert capsys.readouterr().out == out.read_text() + "\n"
    found = table(tmp_path / "rows.csv")
    assert [(r["order"], r["rows"], r["same"]) for r in found] == [
        ("by day", "200000", "True"),
        ("none", "200000", "True"),
    ]
    assert all(0 < float(r["before_gb"]) <= float(r["peak_gb"]) for r in found)
    assert json.loads((tmp_path / "rows.json").read_text())["provenance"]["dnatrace"]


def test_a_row_that_was_lost_or_changed_changes_the_hash():
    rows = np.arange(60).reshape(3, 20) % 7
    whole = long_lists.hashed(*rows)
    assert long_lists.hashed(*rows[:, np.random.default_rng(1).permutation(20)]) == whole
    parts = (long_lists.hashed(*rows[:, :9]), long_lists.hashed(*rows[:, 9:]))
    assert sum(parts) % 2**64 == whole
    others = [rows[:, 1:], rows[[1, 0, 2]]]
    for column in range(3):
        changed = rows.copy()
        changed[column, 5] += 1
        others.append(changed)
    assert whole not in [long_lists.hashed(*other) for other in others]
