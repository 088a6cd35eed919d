"""The report: what it reads, what it computes, and what hostile or damaged files do to it."""

import base64
import csv
import hashlib
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dnatrace.errors import InputError
from dnatrace.report import measures, page, write_report
from dnatrace.report.grouping import group_runs
from dnatrace.report.quantities import BY_KEY, DAILY
from dnatrace.report.reading import read_runs
from dnatrace.sweeps.study import Spread
from tests.report_store import DAYS, SEEDS, SETTINGS, copy_run

ROOT = Path(__file__).parents[1]
HOSTILE = "</script><script>window.hacked = 1</script><img src=https://example.invalid/x onerror=y>"


def runs_by_label(directory):
    return {group.label: group for group in group_runs(read_runs(directory))}


@pytest.fixture(scope="module")
def groups(report_store):
    return runs_by_label(report_store)


@pytest.fixture(scope="module")
def html(report_store, tmp_path_factory):
    out = tmp_path_factory.mktemp("page") / "page.html"
    write_report(report_store, out)
    return out.read_text("utf-8")


@pytest.fixture
def one_run(report_store, tmp_path):
    """A store of one run that a test may break."""
    return copy_run(report_store, tmp_path / "store", "dpfn-s, ε 1")


class Reader(HTMLParser):
    """Collects elements, attributes and texts as a browser would see them."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data):
        self.texts.append(data)


def embedded_data(html):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    return json.loads(text)


# ---- What differs is the name ---------------------------------------------------------------


def test_runs_that_differ_only_in_the_seed_are_one_setting(groups):
    assert set(groups) == set(SETTINGS)
    for group in groups.values():
        assert tuple(run.seed for run in group.runs) == SEEDS
    plain = [label for label, group in groups.items() if group.plain]
    assert plain == ["none", "public-only", "fn", "dpfn-s, ε 1"]


def test_settings_without_effect_are_named_only_when_nothing_else_tells_runs_apart(report_store):
    runs = [run for run in read_runs(report_store) if run.settings["method.name"] == "fn"]
    for run in runs:
        run.settings["method.gamma"] = 0.1 * run.seed  # fn clips nothing
        run.settings["isolation.adherence"] = 1.0
    labels = {group.label for group in group_runs(runs)}
    assert labels == {"fn, γ 0.1", "fn, γ 0.2", "fn, γ 0.3"}


# ---- Numbers ----------------------------------------------------------------------------------


def test_peaks_are_those_of_the_runs(groups, html):
    for row in measures.summaries(list(groups.values())):
        peaks = [1000 * r.summary["peak_infected"] for r in groups[row["label"]].runs]
        expected = Spread(values=np.array(peaks))
        shown = row["values"]["peak_infected"]
        assert shown["mean"] == pytest.approx(expected.mean, rel=1e-3)
        assert shown["half"] == pytest.approx(expected.half_width, rel=1e-3)
        assert shown["median"] == pytest.approx(expected.median, rel=1e-3)
        assert page.shown_spread(shown) in html


def test_curves_have_the_intervals_of_a_spread(groups):
    drawn = measures.curves(list(groups.values()))
    assert drawn["step"] == 1
    for series in drawn["series"]:
        runs = groups[series["label"]].runs
        assert series["days"] == list(range(1, DAYS + 1))
        curve = series["values"]["exposed_or_infected"]
        for i in range(DAYS):
            values = [(r.daily["exposed"] + r.daily["infected"])[i] / 300 * 1000 for r in runs]
            expected = Spread(values=np.array(values))
            assert curve["mean"][i] == pytest.approx(expected.mean, rel=5e-3)
            assert curve["half"][i] == pytest.approx(expected.half_width, rel=5e-3, abs=1e-9)
            assert curve["median"][i] == pytest.approx(expected.median, rel=5e-3)


def test_days_without_a_value_do_not_count():
    nan = np.nan
    mean, half, median = measures.over_seeds(
        np.array([[1.0, 1.0, nan], [3.0, nan, nan], [8.0, nan, nan]])
    )
    expected = Spread(values=np.array([1.0, 3.0, 8.0]))
    assert mean[0] == expected.mean
    assert half[0] == pytest.approx(expected.half_width)
    assert median.tolist()[:2] == [3.0, 1.0]
    assert mean[1] == 1.0
    assert np.isnan([half[1], mean[2], half[2], median[2]]).all()


def test_changes_are_paired_by_seed(groups):
    table = measures.robustness(list(groups.values()), _names(groups))
    assert table["keys"] == ["adherence", "false negatives"]
    (row,) = [r for r in table["rows"] if r["label"] == "fn" and r["settings"][0] == "0.5"]
    peaks = {
        label: np.array([1000 * r.summary["peak_infected"] for r in groups[label].runs])
        for label in ("fn", "fn, adherence 0.5")
    }
    expected = Spread(values=peaks["fn, adherence 0.5"] - peaks["fn"])
    assert row["change"]["mean"] == pytest.approx(expected.mean, rel=1e-3)
    assert row["change"]["half"] == pytest.approx(expected.half_width, rel=1e-3)
    unpaired = np.hypot(*(Spread(values=p).half_width for p in peaks.values()))
    assert row["change"]["half"] != pytest.approx(unpaired, rel=1e-3)


def _names(groups):
    from dnatrace.report.grouping import Names

    return Names([group.runs[0] for group in groups.values()])


def test_privacy_is_drawn_at_its_cost(groups):
    shown = measures.privacy_against_outcome(list(groups.values()), _names(groups))
    series = {s["label"]: s for s in shown["series"]}
    points = series["dpfn-s"]["points"]
    assert [p["epsilons"]["epsilon"] for p in points] == [0.3, 1.0, 3.0]
    for p in points:
        privacy = groups[p["label"]].runs[0].summary["privacy"]
        assert p["epsilons"]["per_contact_epsilon"] == privacy["per_contact_epsilon"]
        assert p["sound"]
    assert not series["dpfn-s, release as_published"]["points"][0]["sound"]
    assert not series["fn"]["private"]
    assert series["fn"]["points"][0]["epsilons"]["epsilon"] is None


def test_burdens_are_means_of_the_groups(groups):
    shown = measures.burdens([groups["fn"]])
    assert [kind["key"] for kind in shown["kinds"]] == ["age", "household size"]
    at = shown["kinds"][0]["classes"].index("30-39")
    days = [
        next(row for row in run.groups if row["group"] == "30-39")["isolation_days_per_person"]
        for run in groups["fn"].runs
    ]
    found = shown["series"][0]["values"]["age"]["isolation_days_per_person"]
    assert found["mean"][at] == pytest.approx(np.mean(days), rel=5e-3)


def test_many_settings_are_thinned_and_the_page_says_so(groups, monkeypatch):
    some = list(groups.values())
    monkeypatch.setattr(measures, "MOST_POINTS", len(some) * DAYS * len(DAILY) // 2)
    drawn = measures.curves(some)
    assert drawn["step"] == 2
    assert drawn["series"][0]["days"] == list(range(1, DAYS + 1, 2))
    assert "One day in 2 is drawn" in page.render(some)


# ---- The page ---------------------------------------------------------------------------------


def test_one_file_without_a_network(html):
    reader = Reader(html)
    loading = {"src", "srcset", "data", "action", "poster", "style", "background"}
    assert [a for a in reader.attributes if a[1] in loading] == []
    assert all(value.startswith("#") for _, name, value in reader.attributes if name == "href")
    assert not {"link", "img", "iframe", "object", "base", "form"} & set(reader.tags)
    assert len(html.encode()) < 1_000_000
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|innerHTML", html)


def test_only_its_own_script_and_style_may_run(html):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy.startswith("default-src &#39;none&#39;;")
    for tag in ("style", "script"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"sha256-{digest}".replace("+", "&#43;") in policy.replace("+", "&#43;")
    assert "unsafe" not in policy


def test_everything_the_page_promises_is_there(html):
    text = " ".join(" ".join(Reader(html).texts).split())
    for words in [
        "Research software, not a medical device.",
        "27 runs in 9 settings, 3 seeds each: 300 people, 20 days, simulator city.",
        "Unless a label says otherwise: false negatives 0.001, adherence 1",
        "not private",
        "NOT SOUND",
        "no message is used",
        "Adversary: the person who receives the score",
        "DNA paper; other sources say 0.01, 0.02, 0.05",
        "OpenABM-Covid19: Hinch et al. 2021",
        "mean_work_interactions_child",
        "numba",
    ]:
        assert words in text, words
    for label in SETTINGS:
        assert label in text
    assert embedded_data(html)["methods"] == ["none", "public-only", "fn", "dpfn-s"]


def test_the_same_runs_give_the_same_bytes(report_store, html, tmp_path):
    assert write_report(report_store, tmp_path / "again.html").bytes == len(html.encode())
    assert (tmp_path / "again.html").read_text("utf-8") == html


def test_a_single_run_says_what_it_cannot_show(one_run):
    report = write_report(one_run)
    assert report.path == one_run / "report.html"
    assert (report.runs, report.settings) == (1, 1)
    text = " ".join(report.path.read_text("utf-8").split())
    assert "One setting alone has no other ε to compare with." in text
    assert "so there is nothing to compare." in text
    assert "One setting alone has no trade-off to show." in text
    assert "A setting with one seed has no interval" in text
    assert "±" not in "".join(re.findall(r"<td>(.*?)</td>", text))


def test_runs_of_two_versions_are_told(report_store, one_run, html):
    shutil.copytree(report_store, one_run.parent, dirs_exist_ok=True)
    provenance = json.loads((one_run / "provenance.json").read_text())
    (one_run / "provenance.json").write_text(json.dumps(provenance | {"commit": "another"}))
    text = write_report(one_run.parent).path.read_text("utf-8")
    assert "These runs come from 2 versions of the code" in text
    assert "versions of the code" not in html


def test_parameters_agree_with_the_documentation():
    text = (ROOT / "docs" / "parameters.md").read_text("utf-8")
    cells = [line.strip()[1:-1].split("|") for line in text.splitlines() if line.startswith("| `")]
    documented = {
        row[0].strip(" `"): (row[2].strip().replace("`", ""), row[3].strip().replace("`", ""))
        for row in cells
    }
    with (ROOT / "src/dnatrace/report/parameters.csv").open(encoding="utf-8") as file:
        shown = {row["key"]: (row["meaning"], row["source"]) for row in csv.DictReader(file)}
    assert {key: documented.get(key) for key in shown} == shown
    sourced = {key for key, (_, source) in documented.items() if source}
    assert sourced <= set(shown), "say the source in report/parameters.csv, too"


# ---- Hostile and damaged files ------------------------------------------------------------------


def poison(run):
    """Put markup into every text of a run."""
    config = json.loads((run / "config.json").read_text())
    config["method"]["name"] = config["simulator"]["contacts"] = HOSTILE
    config["<b>key"] = HOSTILE
    (run / "config.json").write_text(json.dumps(config))
    summary = json.loads((run / "summary.json").read_text())
    summary |= {"method": HOSTILE, "simulator": HOSTILE}
    texts = ("mechanism", "unit", "release", "noise")
    summary["privacy"] |= dict.fromkeys(texts, HOSTILE)
    (run / "summary.json").write_text(json.dumps(summary))
    provenance = dict.fromkeys(("dnatrace", "commit", "config_digest", "python"), HOSTILE)
    (run / "provenance.json").write_text(json.dumps(provenance | {"libraries": {HOSTILE: HOSTILE}}))
    ledger = json.loads((run / "ledger.json").read_text())
    ledger["releases"] = [{"day": 1, "kind": HOSTILE, HOSTILE: HOSTILE, "spent": HOSTILE}]
    (run / "ledger.json").write_text(json.dumps(ledger))
    (run / "statement.txt").write_text(HOSTILE)
    groups = pq.read_table(run / "groups.parquet").to_pylist()
    for row in groups:
        row["grouped_by"] = row["group"] = HOSTILE
    pq.write_table(pa.Table.from_pylist(groups), run / "groups.parquet")


def test_markup_in_files_stays_text(one_run, html):
    poison(one_run)
    poisoned = write_report(one_run).path.read_text("utf-8")
    reader = Reader(poisoned)
    assert reader.tags.count("script") == Reader(html).tags.count("script") == 2
    assert "img" not in reader.tags
    assert "b" not in reader.tags
    assert not [a for a in reader.attributes if a[1].startswith("on")]
    assert sum(HOSTILE in text for text in reader.texts) > 5
    assert embedded_data(poisoned)["methods"] == [HOSTILE]
    assert "img" in Reader(poisoned.replace("&lt;", "<").replace("&gt;", ">")).tags  # it could be


def _drop(key):
    def change(run):
        summary = json.loads((run / "summary.json").read_text())
        del summary[key]
        (run / "summary.json").write_text(json.dumps(summary))

    return change


def _put(key, value):
    def change(run):
        summary = json.loads((run / "summary.json").read_text()) | {key: value}
        (run / "summary.json").write_text(json.dumps(summary))

    return change


def _lose_column(run):
    table = pq.read_table(run / "daily.parquet").drop_columns(["isolated"])
    pq.write_table(table, run / "daily.parquet")


DAMAGE = {
    "no summary": (lambda run: (run / "summary.json").unlink(), "is not a stored run"),
    "no config": (lambda run: (run / "config.json").unlink(), "config.json: cannot be read"),
    "half a config": (
        lambda run: (run / "config.json").write_text('{"people": 3'),
        "config.json: is damaged",
    ),
    "a list": (lambda run: (run / "config.json").write_text("[]"), "config.json: is damaged"),
    "no seed": (lambda run: (run / "config.json").write_text("{}"), "it has no seed"),
    "no peak": (_drop("peak_infected"), "'peak_infected' is missing"),
    "a text as peak": (_put("peak_infected", "0.1"), "'peak_infected' is not a number"),
    "an infinite peak": (_put("peak_infected", float("inf")), "'peak_infected' is not a number"),
    "nobody": (_put("people", 0), "'people' is not a positive number"),
    "no privacy": (_put("privacy", None), "it says nothing about privacy"),
    "half a table": (
        lambda run: (run / "daily.parquet").write_bytes(b"PAR1"),
        "daily.parquet: is damaged",
    ),
    "no table": (lambda run: (run / "groups.parquet").unlink(), "groups.parquet: is damaged"),
    "a lost column": (_lose_column, "daily.parquet: is damaged"),
    "no ledger": (lambda run: (run / "ledger.json").write_text("{}"), "it is not a ledger"),
    "not text": (
        lambda run: (run / "statement.txt").write_bytes(b"\xff\xfe\xff"),
        "statement.txt: cannot be read",
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_run_is_named_and_nothing_is_written(one_run, case):
    store = one_run.parent
    (store / "report.html").write_text("the earlier one")
    damage, words = DAMAGE[case]
    damage(one_run)
    with pytest.raises(InputError, match=re.escape(words)) as raised:
        write_report(store)
    assert str(one_run) in str(raised.value)
    assert (store / "report.html").read_text() == "the earlier one"
    assert sorted(p.name for p in store.iterdir()) == [one_run.name, "report.html"]


def test_unfinished_and_foreign_directories_are_no_runs(one_run):
    store = one_run.parent
    (store / ".0123456789abcdef.1-2-3.partial").mkdir()
    (store / "notes").mkdir()
    (store / "0123456789abcdef").write_text("a file")
    assert write_report(store).runs == 1


# ---- The command --------------------------------------------------------------------------------


def command(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "dnatrace", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


def test_the_command_tells_what_it_wrote(report_store, tmp_path):
    done = command("report", report_store, "--out", "page.html", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["path"], answer["runs"], answer["settings"]) == ("page.html", 27, 9)
    assert answer["bytes"] == (tmp_path / "page.html").stat().st_size
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_wrong_input_ends_with_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    for arguments, words in [
        (["no"], "no: no such directory"),
        (["empty"], "empty: holds no stored run"),
    ]:
        done = command("report", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stdout == ""
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["empty"]


def test_a_stored_run_has_its_page(tmp_path):
    small = ["--preset", "quick", "--method", "fn", "--people", "200", "--days", "4"]
    done = command("run", *small, "--out", "runs", "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "runs").iterdir()
    assert f"report in {Path('runs') / run.name / 'report.html'}" in " ".join(done.stdout.split())
    written = (run / "report.html").read_text("utf-8")
    again = command("report", "runs", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "runs" / "report.html").read_text("utf-8") == written


def test_quantities_of_the_report_are_documented():
    text = (ROOT / "docs" / "outputs.md").read_text("utf-8")
    assert [key for key in BY_KEY if key not in text and not key.endswith("_uninfected")] == []
