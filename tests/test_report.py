"""The report: what it reads, what it computes, and what hostile or damaged files do to it."""

import base64
import dataclasses
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from dnatrace.errors import InputError
from dnatrace.report import measures, page, write_report
from dnatrace.report.grouping import group_runs
from dnatrace.report.reading import read_runs
from dnatrace.runs import parameters, presentation
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.quantities import DAILY, RESULTS, SUMMARY, rounded, shown
from dnatrace.runs.run import run
from dnatrace.runs.store import write_run
from dnatrace.sweeps.naming import Names
from dnatrace.sweeps.spread import Spread
from tests import command_line
from tests.command_line import run as run_command
from tests.report_store import DAYS, HOSTILE, SEEDS, SETTINGS, config_of, copy_run, poison

ROOT = Path(__file__).parents[1]


def runs_by_label(directory):
    return {group.label: group for group in group_runs(read_runs(directory)[0])}


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


def _set(run, section, **values):
    """Change settings of a stored run."""
    config = json.loads((run / "config.json").read_text())
    config[section] = config.get(section, {}) | values
    (run / "config.json").write_text(json.dumps(config))


def test_settings_without_effect_tell_no_runs_apart(report_store, tmp_path):
    """fn clips nothing and adds no noise; dpfn-s does both."""
    for label in ("fn", "dpfn-s, ε 1"):
        for seed in SEEDS:
            run = copy_run(report_store, tmp_path, label, seed)
            _set(run, "method", gamma=0.1 * seed, model="dna-paper")
    groups = runs_by_label(tmp_path)
    assert set(groups) == {"fn", "dpfn-s, γ 0.1", "dpfn-s", "dpfn-s, γ 0.3"}
    assert tuple(run.seed for run in groups["fn"].runs) == SEEDS


def test_runs_that_differ_in_nothing_that_has_an_effect_count_once(report_store, tmp_path):
    for label in ("fn", "dpfn-s, ε 1"):
        run = copy_run(report_store, tmp_path, label)
        other = shutil.copytree(run, tmp_path / run.name[::-1])
        _set(other, "privacy", epsilon=7.0)
    assert {label: len(group.runs) for label, group in runs_by_label(tmp_path).items()} == {
        "fn": 1,
        "dpfn-s, ε 1": 1,
        "dpfn-s, ε 7": 1,
    }


def test_labels_are_unique(report_store):
    """A default that one run does not tell is named in the other."""
    known = next(run for run in read_runs(report_store)[0] if run.settings["method.name"] == "fn")
    settings = dict(known.settings)
    del settings["isolation.dropout"]
    runs = [
        dataclasses.replace(known, settings=settings | dropout)
        for dropout in ({}, {"isolation.dropout": 0.0}, {"isolation.dropout": 0.5})
    ]
    labels = [group.label for group in group_runs(runs)]
    assert sorted(labels) == [
        "fn, isolation.dropout 0",
        "fn, isolation.dropout 0.5",
        "fn, isolation.dropout absent",
    ]


# ---- Numbers ----------------------------------------------------------------------------------


def test_numbers_are_rounded_once():
    """72.35 is between 72.3 and 72.4: to four digits first and then to three is another number."""
    assert [rounded(v) for v in (72.351, 0.12345, 999.7, 1234.5, -0.5, 3.0, 0.0)] == [
        72.4, 0.123, 1000, 1235, -0.5, 3, 0,
    ]  # fmt: skip
    assert [rounded(v) for v in (None, np.nan, np.inf)] == [None] * 3
    for share in (0.7235, 0.0145, 0.1005):  # ties: the binary numbers below and above them
        assert rounded(100 * share) == rounded(10 * rounded(1000 * share) / 100)
    assert rounded(1e300) == 10**300
    assert [shown(v) for v in (72.351, 1234567.8, 999.7, 1e-5, None)] == [
        "72.4", "1,234,568", "1,000", "1e-05", "–",
    ]  # fmt: skip
    assert float(f"{float(f'{72.351:.4g}'):.3g}") == 72.3


def test_the_terminal_says_what_the_page_says(one_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    text = write_report(one_run).path.read_text("utf-8")
    result = run(config_of("dpfn-s, ε 1", SEEDS[0]))
    presentation.show_run(result)
    printed = " ".join(capsys.readouterr().out.split())
    for quantity in RESULTS:
        number = shown(quantity.in_unit(result.summary[quantity.key], 300))
        assert f"{quantity.label} │ {number} {quantity.unit}".rstrip() in printed
        assert f'<th scope="col">{quantity.name}</th>' in text
        assert f"<td>{number}</td>" in text


def test_peaks_are_those_of_the_runs(groups, html):
    for row in measures.results(list(groups.values()))["rows"]:
        peaks = [1000 * r.summary["peak_infected"] for r in groups[row["label"]].runs]
        expected = Spread(values=np.array(peaks))
        found = row["values"]["peak_infected"]
        assert found["mean"] == rounded(expected.mean)
        assert found["half"] == rounded(expected.half_width)
        assert found["median"] == rounded(expected.median)
        assert page.shown_spread(found) in html


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
    assert table["keys"] == ["isolation.adherence", "false negatives"]
    (row,) = [r for r in table["rows"] if r["label"] == "fn" and r["settings"][0] == "0.5"]
    peaks = {
        label: np.array([1000 * r.summary["peak_infected"] for r in groups[label].runs])
        for label in ("fn", "fn, isolation.adherence 0.5")
    }
    expected = Spread(values=peaks["fn, isolation.adherence 0.5"] - peaks["fn"])
    assert row["change"]["mean"] == rounded(expected.mean)
    assert row["change"]["half"] == rounded(expected.half_width)
    unpaired = np.hypot(*(Spread(values=p).half_width for p in peaks.values()))
    assert row["change"]["half"] != rounded(unpaired)


def _names(groups):
    return Names([group.settings for group in groups.values()])


def test_differences_are_from_the_chosen_setting_on_common_seeds(groups):
    base, fn = groups["none"], groups["fn"]
    rows = {row["label"]: row for row in measures.differences(list(groups.values()), base)}
    assert "none" not in rows
    peak = SUMMARY["peak_infected"]
    expected = Spread(values=fn.values(peak) - base.values(peak))
    found = rows["fn"]["peak_infected"]
    assert found["mean"] == pytest.approx(expected.mean, rel=0.01)
    assert found["half"] == pytest.approx(expected.half_width, rel=0.01)
    alone = dataclasses.replace(base, runs=base.runs[:1])
    assert measures.differences([fn], alone)[0]["peak_infected"]["half"] is None
    elsewhere = dataclasses.replace(base, runs=(dataclasses.replace(base.runs[0], seed=99),))
    assert measures.differences([fn], elsewhere)[0]["peak_infected"] is None


def test_a_setting_of_other_length_has_no_difference_and_is_named(report_store, tmp_path):
    for name in ("none", "fn"):
        copy_run(report_store, tmp_path / "store", name)
    for days, people in ((10, 300), (DAYS, 400)):
        config = RunConfig(people=people, days=days, initially_infected=8, seed=1, method="none")
        write_run(run(config), tmp_path / "store")
    asked = ("report", tmp_path / "store", "--baseline", f"fn, people 300, days {DAYS}")
    done = command_line.run(*asked, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    peaks = {row["label"]: row["peak_infected"] for row in answer["differences"]}
    (short,) = (label for label, peak in peaks.items() if peak is None)
    assert "days 10" in short
    length, size = answer["other_extent"]
    assert length.endswith(f"policies: {short} lasts 10 days, the baseline {DAYS}.")
    assert size.startswith("Compared per person: none, people 400, days 20 has 400 people")
    assert size.endswith(", the baseline 300.")
    assert "Without a difference, which would not be one of policies: " in (
        command_line.run(*asked).stdout
    )


def test_the_page_has_what_differences_are_made_of(groups, html):
    several = list(groups.values())
    found = measures.results(several)
    assert found["quantiles"] == pytest.approx([stats.t.ppf(0.95, n) for n in (1, 2)])
    for group, row in zip(several, found["rows"], strict=True):
        assert row["each"]["seed"] == list(SEEDS)
        for quantity in RESULTS:
            each = np.array(row["each"][quantity.key], dtype=float)
            np.testing.assert_allclose(each, group.values(quantity), rtol=1e-5)
    assert '<option value="1">' in html
    (alone,) = measures.results(several[:1])["rows"]
    assert alone["each"] == {}  # nothing to compare with


def difference_told(mean, half):
    sign = "" if mean == 0.0 else "+" if mean > 0.0 else "−"
    return f"{sign}{shown(abs(mean))} ± {shown(half)}"


def cells_of(line):
    """Return the cells of a line of a printed table."""
    return [cell.strip() for cell in line.split("│")[1:-1]]


def test_the_command_compares_with_a_baseline(report_store, tmp_path):
    page = tmp_path / "x.html"
    done = command_line.run("report", report_store, "--out", page, "--baseline", "none")
    assert done.returncode == 0, done.stderr
    assert "Differences from none, seed by seed" in done.stdout
    assert re.search(r'<option value="\d" selected>none</option>', page.read_text("utf-8"))
    answer = json.loads(
        command_line.run(
            "report", report_store, "--out", page, "--baseline", "none", "--json"
        ).stdout
    )
    assert {row["label"] for row in answer["differences"]} == set(SETTINGS) - {"none"}
    shown = {row[0]: row[1:] for row in map(cells_of, done.stdout.splitlines()) if len(row) > 1}
    for row in answer["differences"]:
        found = [row[key] for key in row if key != "label"]
        assert shown[row["label"]] == [difference_told(n["mean"], n["half"]) for n in found]
    page.unlink()
    done = command_line.run("report", report_store, "--out", page, "--baseline", "nine")
    assert done.returncode == 2
    assert "baseline 'nine' is not among the settings: none; " in done.stderr
    assert not page.exists()


def test_privacy_is_drawn_at_its_cost(groups):
    some = list(groups.values())
    rows = measures.results(some)["rows"]
    drawn = measures.privacy_against_outcome(some, _names(groups), rows)
    series = {s["label"]: s for s in drawn["series"]}
    points = series["dpfn-s"]["points"]
    assert [p["epsilons"]["epsilon"] for p in points] == [0.3, 1.0, 3.0]
    for p in points:
        privacy = groups[p["label"]].runs[0].summary["privacy"]
        assert p["epsilons"]["per_contact_epsilon"] == privacy["per_contact_epsilon"]
        assert p["epsilons"]["per_score_epsilon"] == privacy["per_score_epsilon"]
        assert p["sound"]
    assert not series["dpfn-s, release as_published"]["points"][0]["sound"]
    assert not series["fn"]["private"]
    assert series["fn"]["points"][0]["epsilons"]["epsilon"] is None


def _rows_of(html, heading):
    """The rows of a table of the page, as lists of texts."""
    part = html[html.index(f'aria-label="{heading}"') :].split("</table>")[0]
    return [
        [
            re.sub(r"<[^>]+>", "", cell).strip()
            for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)
        ]
        for row in part.split("<tr>")[2:]
    ]


def test_costs_are_the_same_in_both_tables_of_privacy(tmp_path):
    """No message is no cost, not a dash; what still grows is so far in either."""
    for given in ({"method": "fn"}, {"method": "public-facts"}, {"epsilon": 2.0, "unit": "person"}):
        write_run(run(load_config(overrides=given | {"people": 100, "days": 3})), tmp_path)
    html = write_report(tmp_path).path.read_text("utf-8")
    drawn = {row[0]: row[1] for row in _rows_of(html, "Outcomes by ε")}
    told = {row[0]: row[2] for row in _rows_of(html, "Privacy of every setting")}
    assert drawn == told
    assert told["public-facts"] == "0"
    assert told["fn"] == "–"
    assert told["headcount"].endswith(" so far")
    assert "Unless a label says otherwise: per person." in html


def test_noise_that_protects_in_part_is_not_called_repeatable(one_run):
    (group,) = group_runs(read_runs(one_run)[0])
    assert page._verdict(group) == page.SIMULATED
    summary = group.runs[0].summary
    weak = {"noise": "secure", "protects": False, "simulated": {"threshold": "fast"}}
    partly = dataclasses.replace(
        group.runs[0], summary=summary | {"privacy": summary["privacy"] | weak}
    )
    assert page._verdict(dataclasses.replace(group, runs=(partly,))) == (
        "SIMULATION: proved for ideal noise, that of the threshold (fast) protects nobody"
    )


def test_the_usual_first_infections_are_told_where_others_differ(tmp_path):
    for n in (None, 9):
        write_run(run(RunConfig(method="fn", people=60, days=2, initially_infected=n)), tmp_path)
    listed = json.loads(run_command("list", tmp_path, "--json").stdout)["runs"]
    assert sorted(row["initially_infected"] for row in listed) == [5, 9]
    assert "otherwise: initially infected 5." in write_report(tmp_path).path.read_text("utf-8")


def test_burdens_are_means_of_the_groups(groups):
    drawn = measures.burdens([groups["fn"]])
    assert [kind["key"] for kind in drawn["kinds"]] == ["age", "household size"]
    at = drawn["kinds"][0]["classes"].index("30-39")
    days = [
        next(row for row in run.groups if row["group"] == "30-39")["isolation_days_per_person"]
        for run in groups["fn"].runs
    ]
    found = drawn["series"][0]["values"]["age/isolation_days_per_person"]
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
        "Unless a label says otherwise: per release, false negatives 0.001, isolation.adherence 1",
        "not private",
        "NOT SOUND",
        "no message is used",
        "ε of one release ε of one score alone ε of one contact over its life",
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


@pytest.mark.parametrize(
    ("days", "settings", "score", "contact", "told"),
    [
        (20, {"method": "tally"}, "5.02", "5.02", ""),
        (5, {"method": "tally"}, "2.64 so far", "2.64 so far", ""),
        (20, {"method": "dpfn-s", "epsilon": 2.0}, "2", "10.2", ""),
        (
            *(5, {"epsilon": 20.0, "unit": "contact", "privacy": {"calibration": "classical"}}),
            *("14.1 so far", "14.1 so far", "TARGET MET SO FAR ALONE: ε = 20 per contact"),
        ),
        (
            *(20, {"epsilon": 20.0, "unit": "contact", "privacy": {"calibration": "classical"}}),
            *("29.6", "29.6", "TARGET NOT MET: ε = 20 per contact was asked for."),
        ),
    ],
)
def test_the_table_of_privacy_has_every_cost_under_its_name(
    days, settings, score, contact, told, tmp_path
):
    config = RunConfig(people=60, days=days, initially_infected=6, **settings)
    write_run(run(config), tmp_path)
    page = write_report(tmp_path).path.read_text("utf-8")
    section = page[page.index('<section id="privacy">') :]
    heads, cells = (
        [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.findall(pattern, row)]
        for pattern, row in (
            (r"<th[ >].*?</th>", re.search(r"<thead.*?</thead>", section, re.DOTALL)[0]),
            (r"(?s)<t[hd][ >].*?</t[hd]>", re.search(r"<tbody.*?</tr>", section, re.DOTALL)[0]),
        )
    )
    row = dict(zip(heads, cells, strict=True))
    assert row["ε of one score alone"] == score
    assert row["ε of one contact over its life"] == contact
    assert told in row["Guarantee"]
    assert ("TARGET" in row["Guarantee"]) is bool(told)


def test_every_table_has_a_heading_for_each_of_its_cells(html):
    """Also where a reading of ε that no run has is left out: numbers stand under their names."""
    tables = re.findall(r"<table.*?</table>", html, re.DOTALL)
    assert len(tables) > 5
    for table in tables:
        rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        widths = {len(re.findall(r"<t[hd][ >]", row)) for row in rows}
        assert len(widths) == 1, re.sub(r"<[^>]+>", " ", table)[:200]


def test_the_same_runs_give_the_same_bytes(report_store, html, tmp_path):
    assert write_report(report_store, tmp_path / "again.html").bytes == len(html.encode())
    assert (tmp_path / "again.html").read_text("utf-8") == html


def test_a_single_run_leaves_out_what_it_cannot_show(one_run):
    report = write_report(one_run)
    assert report.path == one_run / "report.html"
    assert (report.runs, report.settings) == (1, 1)
    text = " ".join(report.path.read_text("utf-8").split())
    assert re.findall(r'<section id="(.*?)"', text) == [
        *("results", "curves", "burden", "privacy", "parameters", "provenance")
    ]
    linked = re.findall(r'<a href="#(.*?)"', text)
    assert linked == re.findall(r'<section id="(.*?)"', text)
    assert "A setting with one seed has no interval" in text
    assert "±" not in "".join(re.findall(r"<td>(.*?)</td>", text))


def test_runs_of_two_versions_are_told(report_store, one_run, html):
    shutil.copytree(report_store, one_run.parent, dirs_exist_ok=True)
    provenance = json.loads((one_run / "provenance.json").read_text())
    (one_run / "provenance.json").write_text(json.dumps(provenance | {"commit": "another"}))
    text = write_report(one_run.parent).path.read_text("utf-8")
    assert "These runs come from 2 versions of the code" in text
    assert "versions of the code" not in html


def test_the_page_of_parameters_is_what_the_settings_say():
    """Stale? `dnatrace config parameters > docs/parameters.md`."""
    assert (ROOT / "docs" / "parameters.md").read_text("utf-8") == parameters.as_markdown()


def test_every_setting_has_a_meaning():
    assert [
        key for key, known in parameters.described_settings().items() if not known.meaning
    ] == []


# ---- Hostile and damaged files ------------------------------------------------------------------


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


def _drop(*keys):
    def change(run):
        summary = json.loads((run / "summary.json").read_text())
        kept = {key: value for key, value in summary.items() if key not in keys}
        (run / "summary.json").write_text(json.dumps(kept))

    return change


def _put(key, value):
    def change(run):
        summary = json.loads((run / "summary.json").read_text()) | {key: value}
        (run / "summary.json").write_text(json.dumps(summary))

    return change


def _change_table(name, change):
    def changed(run):
        pq.write_table(change(pq.read_table(run / name)), run / name)

    return changed


def _without(name, *columns):
    return _change_table(name, lambda table: table.drop_columns(list(columns)))


def _with_texts(table):
    """The numbers of a column as texts, one of them NaN."""
    texts = pa.array(["NaN", *map(str, table["isolated"].to_pylist()[1:])])
    return table.set_column(table.column_names.index("isolated"), "isolated", texts)


DAMAGE = {
    "no summary": (lambda run: (run / "summary.json").unlink(), "is not a stored run"),
    "no config": (lambda run: (run / "config.json").unlink(), "config.json: is missing"),
    "half a config": (
        lambda run: (run / "config.json").write_text('{"people": 3'),
        "config.json: is damaged",
    ),
    "a list": (lambda run: (run / "config.json").write_text("[]"), "config.json: is damaged"),
    "no seed": (lambda run: (run / "config.json").write_text("{}"), "it has no seed"),
    "a text as peak": (_put("peak_infected", "0.1"), "'peak_infected' is not a number"),
    "an infinite peak": (_put("peak_infected", float("inf")), "Infinity is not a finite number"),
    "NaN as peak": (_put("peak_infected", float("nan")), "NaN is not a finite number"),
    "nobody": (_put("people", 0), "'people' is not a positive number"),
    "no people": (_drop("people"), "'people' is not a positive number"),
    "a text as ε": (
        _put("privacy", {"per_pair_epsilon": "much"}),
        "summary.json: is damaged: 'per_pair_epsilon' is not a number",
    ),
    "no privacy": (_put("privacy", None), "it says nothing about privacy"),
    "half a table": (
        lambda run: (run / "daily.parquet").write_bytes(b"PAR1"),
        "daily.parquet: is damaged",
    ),
    "no table": (lambda run: (run / "groups.parquet").unlink(), "groups.parquet: is missing"),
    "no days": (_without("daily.parquet", "day"), "daily.parquet: is damaged"),
    "an empty table": (
        _change_table("daily.parquet", lambda table: table.slice(0, 0)),
        "daily.parquet: is damaged: it has no days",
    ),
    "texts in a table": (
        _change_table("daily.parquet", _with_texts),
        "daily.parquet: is damaged: 'isolated' is not a number",
    ),
    "groups of nobody": (_without("groups.parquet", "group"), "groups.parquet: is damaged"),
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
    assert len(str(raised.value).splitlines()) == 1
    assert (store / "report.html").read_text() == "the earlier one"
    assert sorted(p.name for p in store.iterdir()) == [one_run.name, "report.html"]


def test_damaged_runs_of_a_store_are_left_out_with_their_names(report_store, tmp_path):
    """As `list` does; the page says so, too."""
    store, empty = tmp_path / "store", "0123456789abcdef"
    shutil.copytree(report_store, store)
    runs = sorted(p for p in store.iterdir() if p.is_dir())
    (runs[0] / "summary.json").write_text("{")
    (runs[1] / "config.json").unlink()
    (store / empty).mkdir()
    done = run_command("report", store)
    assert done.returncode == 0, done.stderr
    assert f"runs {len(runs) - 2}, settings" in done.stdout
    assert done.stdout.endswith(", left out 3\n")
    told = done.stderr.splitlines()
    assert [line.count("warning: ") for line in told] == [1, 1, 1]
    for name, line in zip(sorted([empty, runs[0].name, runs[1].name]), told, strict=True):
        assert name in line
        assert line.endswith("; this run is left out")
    page = " ".join(Reader((store / "report.html").read_text("utf-8")).texts)
    assert "could not be read: 3 runs of the store" in page
    assert runs[0].name in page
    listed = json.loads(run_command("list", store, "--json", "-q").stdout)
    assert sorted(listed["left_out"]) == sorted([empty, runs[0].name, runs[1].name])
    assert len(listed["runs"]) == len(runs) - 2
    for path in runs:
        (path / "summary.json").write_text("[]")
    for command in ("report", "list"):
        done = run_command(command, store)
        assert done.returncode == 2
        assert f"none of its {len(runs) + 1} runs can be read: " in done.stderr
        assert len(done.stderr.splitlines()) == 1


# ---- Stores of older versions ------------------------------------------------------------------


def test_what_an_older_version_did_not_write_is_a_dash(one_run):
    """A key of the summary, a column by day and one by group; the rest of the page stays."""
    whole = Reader(write_report(one_run).path.read_text("utf-8")).texts
    _drop("deaths", "auroc")(one_run)
    _without("daily.parquet", "hospitalised", "auroc")(one_run)
    _without("groups.parquet", "tests_per_person")(one_run)
    (group,) = group_runs(read_runs(one_run)[0])
    text = write_report(one_run).path.read_text("utf-8")
    (row,) = measures.results([group])["rows"]
    assert {key for key, value in row["values"].items() if value is None} == {"deaths", "auroc"}
    data = embedded_data(text)
    assert data["curves"]["series"][0]["values"]["hospitalised"]["mean"] == [None] * DAYS
    assert None not in data["curves"]["series"][0]["values"]["infected"]["mean"]
    assert set(data["burden"]["series"][0]["values"]["age/tests_per_person"]["mean"]) == {None}
    assert Reader(text).texts.count("–") > whole.count("–") + 2


def test_a_run_that_says_nothing_of_privacy_is_called_neither_private_nor_not(one_run):
    _drop("privacy")(one_run)
    words = Reader(write_report(one_run).path.read_text("utf-8")).texts
    assert not {"proved", "NOT SOUND", "not private", "no message is used"} & set(words)


def test_a_column_is_found_under_its_old_name(one_run):
    new = "isolated_exposed_or_infected"
    (before,) = read_runs(one_run)[0]
    old_names = [
        {new: "isolated_ill"}.get(n, n) for n in pq.read_schema(one_run / "daily.parquet").names
    ]
    _change_table("daily.parquet", lambda table: table.rename_columns(old_names))(one_run)
    assert new not in pq.read_schema(one_run / "daily.parquet").names
    (after,) = read_runs(one_run)[0]
    assert after.daily[new].sum() > 0
    assert set(after.daily) == set(before.daily)
    np.testing.assert_array_equal(after.daily[new], before.daily[new])


def test_unfinished_and_foreign_directories_are_no_runs(one_run):
    store = one_run.parent
    (store / ".0123456789abcdef.1-2-3.partial").mkdir()
    (store / "notes").mkdir()
    (store / "0123456789abcdef").write_text("a file")
    assert write_report(store).runs == 1


# ---- The command --------------------------------------------------------------------------------


def test_the_command_tells_what_it_wrote(report_store, tmp_path):
    done = run_command("report", report_store, "--out", "page.html", "--json", cwd=tmp_path)
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
        done = run_command("report", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stdout == ""
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["empty"]


def test_a_stored_run_has_its_page(tmp_path):
    small = ["--preset", "quick", "--method", "fn", "--people", "200", "--days", "4"]
    done = run_command("run", *small, "--out", "runs", "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "runs").iterdir()
    assert f"report in {Path('runs') / run.name / 'report.html'}" in " ".join(done.stdout.split())
    written = (run / "report.html").read_text("utf-8")
    again = run_command("report", "runs", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "runs" / "report.html").read_text("utf-8") == written


def test_quantities_of_the_report_are_documented():
    text = (ROOT / "docs" / "outputs.md").read_text("utf-8")
    assert [key for key in SUMMARY if key not in text and not key.endswith("_uninfected")] == []


def test_no_default_is_told_that_no_run_has(tmp_path):
    """Two replays, of 300 people and of 200: nobody had the 10,000 that are the default."""
    path = tmp_path / "contacts.csv"
    rows = [f"{a},{(a + 1) % 200},{day}" for day in range(3) for a in range(200)]
    path.write_text("\n".join(["sender,receiver,day", *rows]) + "\n")
    for people in ({}, {"people": 300}, {"people": 250}):
        simulator = {"name": "replay", "contacts": str(path)}
        write_run(run(RunConfig(days=3, simulator=simulator, **people)), tmp_path / "store")
    html = write_report(tmp_path / "store", tmp_path / "page.html").path.read_text("utf-8")
    said = " ".join(Reader(html).texts)
    assert "people 300" in said
    assert "people 10" not in said
    assert Names([{"people": 10_000}, {"people": 300}]).unsaid == {"people": 10_000}
    assert Names([{"people": 400}, {"people": 300}]).unsaid == {}


def test_runs_that_end_before_their_peak_are_marked(one_run, tmp_path):
    def shown():
        out = write_report(one_run.parent, tmp_path / "page.html").path
        return re.sub(r"\s+", " ", out.read_text("utf-8"))

    path, note = one_run / "summary.json", "<mark>I still rising on the last day</mark>"
    summary = json.loads(path.read_text())
    for value, marked in ((True, False), (False, True)):
        path.write_text(json.dumps(summary | {"peak_reached": value}))
        assert (note in shown()) is marked
    del summary["peak_reached"]  # an older version did not say
    path.write_text(json.dumps(summary))
    assert note not in shown()


def test_a_page_does_not_overwrite_a_stored_run(one_run):
    before = (one_run / "summary.json").read_bytes()
    (one_run / "linked.html").hardlink_to(one_run / "summary.json")
    for directory in (one_run, one_run.parent):
        with pytest.raises(InputError, match="would be overwritten"):
            write_report(directory, one_run / "linked.html")
        with pytest.raises(InputError, match="must end in"):
            write_report(directory, one_run / "summary.json")
    assert (one_run / "summary.json").read_bytes() == before
    for _ in range(2):  # an earlier page is no input
        write_report(one_run, one_run / "page.html")


# ---- Stores of older versions -------------------------------------------------------------------


def test_a_store_written_before_methods_had_settings_of_their_own_is_read(tmp_path):
    """tests/old_store was written by commit 9313b6f: all settings, short names, old columns."""
    store = shutil.copytree(ROOT / "tests" / "old_store", tmp_path / "store")
    found = runs_by_label(store)
    assert set(found) == {"fn", "dpfn-s"}
    private = found["dpfn-s"]
    assert private.settings["privacy.epsilon"] == 0.5
    assert private.settings["seir.transmission_per_contact"] == 0.03
    assert private.settings["method.gamma"] == 0.2
    assert not any(key.startswith("privacy.") for key in found["fn"].settings)
    assert np.isfinite(private.runs[0].daily["isolated_exposed_or_infected"]).all()
    assert "dpfn-s" in write_report(store).path.read_text("utf-8")
    again = run(RunConfig(**json.loads((store / "5bf0097db87c4c37" / "config.json").read_text())))
    stored = found[again.config.method.name].runs[0]
    for name in ("infected", "tests", "isolated", "auroc"):  # and the run is the same today
        now = again.daily[name].to_numpy(zero_copy_only=False).astype(float)
        np.testing.assert_array_equal(now, stored.daily[name])


# ---- Runs that are the same, and lists that are not ---------------------------------------------


def test_runs_of_the_same_settings_and_seed_are_named(report_store, tmp_path):
    run = copy_run(report_store, tmp_path, "fn")
    shutil.copytree(run, tmp_path / run.name[::-1])
    digest = json.loads((run / "provenance.json").read_text("utf-8"))["config_digest"]
    done = run_command("report", tmp_path, "--json")
    told = f"warning: run {digest} has the settings and the seed of another run; it is left out"
    assert told in done.stderr.splitlines()
    assert json.loads(done.stdout)["runs"] == 1
    line = "because another run has the same settings and seed: 1 run of the store (" + digest
    assert line in (tmp_path / "report.html").read_text("utf-8")


def _replayed(contacts, store, rows):
    contacts.write_text("sender,receiver,day\n" + rows)
    config = load_config(
        overrides={"simulator": "replay", "simulator.contacts": str(contacts), "method": "fn"}
        | {"days": 3, "seed": 1, "initially_infected": 1}
    )
    write_run(run(config), store)


def test_lists_of_the_same_path_and_other_content_are_two_settings(tmp_path):
    """One of the two runs was dropped from the report without a word."""
    store, contacts = tmp_path / "runs", tmp_path / "contacts.csv"
    for rows in ("0,1,0\n1,0,0\n", "0,1,1\n1,0,1\n"):
        _replayed(contacts, store, rows)
    labels = [group.label for group in group_runs(read_runs(store)[0])]
    assert len(set(labels)) == 2
    digests = {
        json.loads(path.read_text("utf-8"))["contents"]["simulator.contacts"][:8]
        for path in store.glob("*/provenance.json")
    }
    assert {label.rpartition("content ")[2] for label in labels} == digests
    assert not any(group.repeated for group in group_runs(read_runs(store)[0]))
