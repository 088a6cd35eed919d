"""The script of one large city, at its smallest, killed in between."""

import csv

import pytest

from verification import scale


class KilledError(Exception):
    """What ends the run in this test."""


def rows(path):
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
    before = rows(tmp_path / "scale.csv")
    assert [r["day"] for r in before] == ["1.0", "2.0", "3.0", "4.0"]
    monkeypatch.setattr(scale.Curve, "observe", observe)
    assert scale.main(["--quick", "--every", "2", "--out", str(out)]) == 0
    after = rows(tmp_path / "scale.csv")
    assert [r["day"] for r in after] == [f"{day}.0" for day in range(1, 7)]
    assert after[:4] == before  # run once
    assert all(0.0 < float(r["resident_gb"]) <= float(r["peak_gb"]) + 0.01 for r in after)
    assert "| 500 | 6 |" in out.read_text()
    assert capsys.readouterr().out.strip().endswith(out.read_text().strip())
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"scale.md", "scale.csv", "scale.svg", "scale.json"}
