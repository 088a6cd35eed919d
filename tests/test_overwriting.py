"""Results that exist, files of other commands and labels are replaced when asked for alone."""

import json

import pytest

from dnatrace.networks.runtime import model_path

from .command_line import run


@pytest.fixture
def files(tmp_path):
    (tmp_path / "contacts.csv").write_text("sender,receiver,day\n0,1,2\n1,0,2\n1,2,3\n")
    (tmp_path / "tests.csv").write_text("person,day,positive\n0,4,1\n2,1,0\n")
    return tmp_path


def test_results_are_replaced_by_force_alone(files):
    order = ["infer", "contacts.csv", "tests.csv", "-q", "--out", "beliefs.csv"]
    audit = ["audit", "--draws", "2000", "-q", "--out", "audit.json"]
    attack = ["attack", "--draws", "200", "-q", "--out", "attack.png"]
    names = [*order[:-2], "--id-map", "names.csv"]
    export = ["export", "dna", "dna.onnx", "-q"]
    orders = ((order, "beliefs.csv"), (audit, "audit.json"), (attack, "attack.png"))
    for command, name in (*orders, (names, "names.csv"), (export, "dna.onnx")):
        assert run(*command, cwd=files).returncode == 0
        (files / name).write_text("mine")
        again = run(*command, cwd=files)
        assert again.returncode == 2
        assert again.stderr == f"dnatrace: {name}: exists already; --force replaces it\n"
        assert (files / name).read_text() == "mine"
        assert run(*command, "--force", cwd=files).returncode == 0
        assert (files / name).read_bytes() != b"mine"


def test_force_does_not_replace_what_is_read(files):
    """The lists, the network and the dataset of a command, under --force as well."""
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    for name in ("contacts.csv", "tests.csv"):
        order = ("infer", "contacts.csv", "tests.csv", "--out", name, "--force")
        done = run(*order, cwd=files)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{name}: is read by this command and would be overwritten" in done.stderr
    model = files / "m.onnx"  # a network may have any name
    model.write_bytes(model_path("dna").read_bytes())
    done = run("export", model, model, "--force", cwd=files)
    assert done.returncode == 2
    assert "m.onnx: is read by this command and would be overwritten" in done.stderr
    assert model.read_bytes() == model_path("dna").read_bytes()
    assert {p.name: p.read_bytes() for p in files.iterdir() if p != model} == before


def test_pages_and_audits_have_their_suffix(files):
    stored = run("run", "--preset", "quick", "--people", 150, "--days", 3, "--out", "r", "-q",
                      cwd=files)  # fmt: skip
    assert stored.returncode == 0
    before = (files / "contacts.csv").read_text()
    for command in (["report", "r"], ["audit", "--draws", "2000"]):
        done = run(*command, "--out", "contacts.csv", "-q", cwd=files)
        assert done.returncode == 2
        assert "contacts.csv: the name must end in ." in done.stderr
    assert (files / "contacts.csv").read_text() == before


def test_a_report_replaces_pages_and_nothing_else(tmp_path):
    small = ("--people", "60", "--days", "3", "--method", "none", "-q")
    assert run("run", *small, "--out", "runs", cwd=tmp_path).returncode == 0
    (tmp_path / "notes.html").write_text("mine")
    done = run("report", "runs", "--out", "notes.html", cwd=tmp_path)
    assert (done.returncode, (tmp_path / "notes.html").read_text()) == (2, "mine")
    for _ in range(2):  # a page of ours may be made anew
        assert run("report", "runs", "--out", "page.html", cwd=tmp_path).returncode == 0
    assert run("report", "runs", "--out", "notes.html", "--force", cwd=tmp_path).returncode == 0
    (tmp_path / "runs" / "report.html").write_text("mine")
    done = run("report", "runs", cwd=tmp_path)
    assert (done.returncode, (tmp_path / "runs" / "report.html").read_text()) == (2, "mine")
    assert run("report", "runs", "--force", cwd=tmp_path).returncode == 0
    assert run("report", "runs", cwd=tmp_path).returncode == 0  # a page of its own is replaced


def test_a_report_does_not_replace_the_page_of_another_study(tmp_path):
    small = ("--people", "60", "--days", "3", "--method", "none", "-q")
    for seed, store in ((1, "first"), (2, "second")):
        order = ("run", *small, "--seed", seed, "--out", store)
        assert run(*order, cwd=tmp_path).returncode == 0
    assert run("report", "first", "--out", "page.html", cwd=tmp_path).returncode == 0
    kept = (tmp_path / "page.html").read_bytes()
    done = run("report", "second", "--out", "page.html", cwd=tmp_path)
    assert done.stderr == "dnatrace: page.html: exists already; --force replaces it\n"
    assert (tmp_path / "page.html").read_bytes() == kept
    assert run("run", *small, "--seed", 3, "--out", "first", cwd=tmp_path).returncode == 0
    assert run("report", "first", "--out", "page.html", cwd=tmp_path).returncode == 0  # it grew
    assert (tmp_path / "page.html").read_bytes() != kept
    order = ("report", "second", "--out", "page.html", "--force")
    assert run(*order, cwd=tmp_path).returncode == 0


def test_a_report_does_not_replace_the_page_of_a_study_that_shares_a_run(tmp_path):
    """Two studies often share a run in which nothing is done."""
    small = ("run", "--people", "60", "--days", "3", "-q")
    for method, store in (("none", "a"), ("none", "b"), ("fn", "a"), ("public-facts", "b")):
        assert run(*small, "--method", method, "--out", store, cwd=tmp_path).returncode == 0
    assert run("report", "a", "--out", "page.html", cwd=tmp_path).returncode == 0
    (one, *_) = (path for path in (tmp_path / "a").iterdir() if path.is_dir())
    for other in ("b", one):
        done = run("report", other, "--out", "page.html", cwd=tmp_path)
        assert done.stderr == "dnatrace: page.html: exists already; --force replaces it\n"


def test_a_label_that_is_replaced_is_told(tmp_path):
    small = ("run", "--people", "60", "--days", "3", "--method", "none", "--out", "runs")
    assert "becomes" not in run(*small, "--label", "first", cwd=tmp_path).stderr
    done = run(*small, "--label", "second", cwd=tmp_path)
    assert "the label 'first' of this run becomes 'second'" in done.stderr


def test_an_empty_label_takes_the_name_away(tmp_path):
    small = ("run", "--preset", "quick", "--people", 60, "--days", 3, "--out", "runs", "--label")
    for label in ("first", ""):
        assert run(*small, label, cwd=tmp_path).returncode == 0
    (row,) = json.loads(run("list", "runs", "--json", cwd=tmp_path).stdout)["runs"]
    assert not row["label"]


def test_a_foreign_page_is_kept_under_either_ending(tmp_path):
    store = "--preset", "quick", "--people", 60, "--days", 3, "--out", "runs"
    assert run("run", *store, cwd=tmp_path).returncode == 0
    for name in ("mine.html", "mine.htm"):
        (tmp_path / name).write_text("mine")
        done = run("report", "runs", "--out", name, cwd=tmp_path)
        assert done.stderr == f"dnatrace: {name}: exists already; --force replaces it\n"
        assert (tmp_path / name).read_text() == "mine"
    done = run("list", "runs", "--csv", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "dnatrace: --csv, --json: choose one of them\n")
    (tmp_path / "runs" / "0123456789abcdef").mkdir()
    done = run("list", "runs", cwd=tmp_path)
    line = "warning: runs/0123456789abcdef: is not a complete run; this run is left out\n"
    assert (done.returncode, done.stderr) == (0, line)


def test_a_report_that_somebody_edited_is_kept(tmp_path):
    small = ("run", "--people", 60, "--days", 3, "--method", "none", "-q", "--out", "runs")
    assert run(*small, cwd=tmp_path).returncode == 0
    for words, path in (((), "runs/report.html"), (("--out", "page.html"), "page.html")):
        for _ in range(2):  # as it was written it is replaced
            assert run("report", "runs", *words, cwd=tmp_path).returncode == 0
        page = tmp_path / path
        page.write_text(page.read_text("utf-8").replace("</h1>", "</h1><p>Mine.</p>"), "utf-8")
        done = run("report", "runs", *words, cwd=tmp_path)
        assert done.stderr == f"dnatrace: {path}: exists already; --force replaces it\n"
        assert "Mine." in page.read_text("utf-8")
        assert run("report", "runs", *words, "--force", cwd=tmp_path).returncode == 0
