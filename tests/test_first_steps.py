"""What new users stumbled over: tables, names, help, labels, lists, and runs too large to start."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table

import dnatrace as dt
from dnatrace import cli
from dnatrace.cli._command import table
from dnatrace.errors import InputError
from dnatrace.methods.catalogue import METHODS
from dnatrace.runs import console, needs, presentation
from dnatrace.runs.config import load_config
from dnatrace.runs.console import print_table
from dnatrace.runs.parameters import described_settings
from dnatrace.runs.quantities import DAILY, SUMMARY
from dnatrace.runs.quantities import shown as shown_number
from dnatrace.seir import SeirParameters
from dnatrace.sweeps import naming
from dnatrace.sweeps import sweep as sweeps

from .command_line import run, run_process
from .forked_sweeps import in_process
from .odd_calls import commands

ALL_COMMANDS = [[], *(words.split() for words in [*commands(), "app", "reproduce"])]
TINY = ("--preset", "quick", "--people", "200", "--days", "4", "-q")


# --- tables ---


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("terminal", [True, False])
def test_a_table_is_whole_at_any_width(monkeypatch, capsys, columns, terminal):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(Console, "is_terminal", terminal)
    table = Table()
    cells = ["models/of/a/long/name/" * 3 + "dna.safetensors", "0.999998989", "1,234,567"] * 3
    for _ in cells:
        table.add_column("a number", justify="right")
    table.add_row(*cells)
    console.print_table(table)
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert all(cell in shown for cell in cells)


def test_tables_of_commands_are_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    shown = run("certify", "dna").stdout
    assert "…" not in shown
    assert "message.0.weight" in shown


# --- names, dates, bare commands, help ---


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        *(
            ("methd", "method"),
            ("epsilo", "epsilon"),
            ("simulater", "simulator"),
            ("gama", "gamma"),
        ),
        *(("household", "policy.household"), ("capacity", "tests.capacity"), ("eps", "epsilon")),
    ],
)
def test_a_wrong_key_is_told_the_right_one(tmp_path, key, meant):
    message = f"unknown key '{key}'; did you mean '{meant}'?"
    with pytest.raises(InputError) as raised:
        dt.RunConfig(**{key: "fn"})
    assert str(raised.value) == message
    file = tmp_path / "run.toml"
    file.write_text(f"{key} = 'fn'\n")
    for arguments, where in ((["--set", f"{key}=fn"], ""), (["--config", file], f"{file}: ")):
        done = run("run", *arguments)
        assert (done.returncode, done.stderr) == (2, f"dnatrace: {where}{message}\n")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("run --methd fn", "--method"),
        ("run --sede 3", "--seed"),
        ("list x --jsn", "--json"),
        ("privacy calibrate --epsilo 1", "--epsilon"),
        ("run --eps 1", "--epsilon"),  # by letters alone, --yes is more similar
        ("run --met fn", "--method"),
    ],
)
def test_a_wrong_option_is_told_the_right_one_alone(words, meant):
    done = run(*words.split())
    wrong = next(word for word in words.split() if word.startswith("--"))
    expected = f"dnatrace: No such option: {wrong}; did you mean {meant}?\n"
    assert (done.returncode, done.stderr) == (2, expected)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("household.days", "unknown key 'household'; did you mean 'policy.household'?"),
        ("method.epsilon", "unknown key 'method.epsilon'; did you mean 'privacy.epsilon'?"),
        ("tests.adoption", "unknown key 'tests.adoption'; did you mean 'app.adoption'?"),
        ("seir.windw", "unknown key 'seir.windw'; did you mean 'seir.window'?"),
        ("seir.xyz", "unknown key 'seir.xyz'"),
    ],
)
def test_a_key_of_another_section_is_told_where_it_belongs(key, meant):
    with pytest.raises(InputError) as raised:
        dt.load_config(settings=[f"{key}=1"])
    assert str(raised.value) == meant


@pytest.mark.parametrize("date", ["2020-01-31", "2020-01-31T10:00:00", "10:00:00"])
@pytest.mark.parametrize("key", ["people", "method.decoder", "seir", "privacy.epsilon"])
def test_a_date_as_a_value_is_one_plain_line(key, date):
    done = run("run", "--set", f"{key}={date}")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"dnatrace: {key}: ")
    assert f"not the date {date.replace('T', ' ')}" in done.stderr


@pytest.mark.parametrize("words", [[], ["privacy"], ["config"]])
def test_a_bare_command_prints_help(words):
    done = run(*words)
    assert done.returncode in (0, 2)
    assert f"Usage: {' '.join(['dnatrace', *words])}" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("words", ALL_COMMANDS, ids=" ".join)
def test_flags_take_no_value_in_help(words):
    done = run(*words, "--help")
    assert "--help" in done.stdout
    assert "bool" not in done.stdout.lower()


def test_help_is_whole_on_a_narrow_terminal():
    shown = run_process("infer", "--help", COLUMNS="40", TERMINAL_WIDTH="").stdout
    assert "…" not in shown
    words = " ".join(shown.replace("│", " ").split())
    assert "transmission per contact with I that phones assume." in words


def test_an_interrupted_command_says_so(monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dnatrace.runs.listing.list_runs", interrupted)
    done = run("list", "runs")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "dnatrace: interrupted\n")


def test_the_shell_completes_commands():
    code = "from dnatrace.cli import main; main()"
    words = {"COMP_WORDS": "dnatrace rep", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | words | {"_DNATRACE_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["reproduce", "report"]


# --- files ---


def test_export_refuses_another_ending(tmp_path):
    done = run("export", "dna", "x.txt", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "dnatrace: x.txt: the name must end in .onnx\n")
    assert list(tmp_path.iterdir()) == []


def test_attack_says_what_it_wrote(tmp_path):
    command = ("attack", "--method", "dpfn-s", "--draws", "1000", "--out", "a.svg", "-q")
    assert run(*command, cwd=tmp_path).stdout.splitlines()[-1] == "Wrote a.svg"
    assert json.loads(run(*command, "--force", "--json", cwd=tmp_path).stdout)["file"] == "a.svg"


# --- units ---


def test_a_quantity_has_one_unit():
    units = {quantity.label: quantity.unit for quantity in SUMMARY.values()}
    for quantity in DAILY:
        assert units.get(quantity.label, quantity.unit) == quantity.unit, quantity.label


# --- labels and lists ---


def test_a_label_is_kept_listed_and_reported(tmp_path):
    def rows(*arguments):
        assert run("run", *TINY, "--out", tmp_path / "s", *arguments).returncode == 0
        return json.loads(run("list", tmp_path / "s", "--json").stdout)["runs"]

    (first,) = rows("--label", " a first & <last> try ")
    assert first["label"] == "a first & <last> try"
    assert rows() == [first]  # written again without a label
    (renamed,) = rows("--label", "another")
    assert renamed == first | {"label": "another"}  # neither digest nor results change
    page = (tmp_path / "s" / first["digest"] / "report.html").read_text("utf-8")
    assert "<td>another</td>" in page


@pytest.mark.parametrize(
    "arguments", [["--label", "two\nlines", "--out", "s"], ["--label", "x"], ["--label", "x" * 101]]
)
def test_a_label_that_cannot_be_kept_is_refused(tmp_path, arguments):
    done = run("run", *TINY, *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "label" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_list_of_a_store(tmp_path):
    for method in ("fn", "tally"):
        result = run("run", *TINY, "--method", method, "--out", tmp_path, "--json")
    summary = json.loads(result.stdout)
    text = run("list", tmp_path, "--csv").stdout
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(text))}
    assert set(rows) == {"fn", "tally"}
    row = rows["tally"]
    assert row["digest"] == summary["config_digest"]
    assert (row["variant"], row["epsilon"], row["unit"]) == ("gaussian", "1.0", "release")
    assert float(row["peak_infected"]) == summary["peak_infected"]
    assert float(row["isolation_days_per_person"]) == summary["isolation_person_days"] / 200
    assert rows["fn"]["epsilon"] == ""
    assert [(rows[m]["sound"], rows[m]["protects"]) for m in ("fn", "tally")] == [
        ("False", "False"),
        ("True", "False"),
    ]
    shown = run("list", tmp_path).stdout
    assert all(r["digest"] in shown for r in rows.values())
    assert "peak, ‰ of people" in shown


def test_a_list_says_which_runs_are_not_sound(tmp_path):
    order = ("run", *TINY, "--method", "dpfn-s", "--release")
    for release in ("linear", "as_published"):
        assert run(*order, release, "--out", tmp_path).returncode == 0
    rows = run("list", tmp_path).stdout.splitlines()
    said = {name: [r for r in rows if name in r] for name in ("linear", "as_pub")}
    assert not any("NOT" in row for row in said["linear"])
    assert "1, NOT SOUND" in run("list", tmp_path).stdout


@pytest.mark.parametrize(("command", "paper"), [("run", False), ("audit", True), ("attack", True)])
def test_help_says_which_preset_applies(command, paper):
    """Of `run` it said that as_published starts from another one, as of `audit`."""
    words = " ".join(run(command, "--help").stdout.replace("│", " ").split())
    assert ("paper for release as_published" in words) is paper


SWEPT = (
    'preset = "quick"\npeople = 200\ndays = 4\nseeds = [1, 2]\n'
    "[[grid]]\nmethod = 'random'\ntests.capacity = [0.01, 0.04]\n"
    "[[grid]]\nmethod = 'none'\n"
)


def test_a_list_shows_what_a_sweep_varied(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "execute", in_process)
    (tmp_path / "s.toml").write_text(SWEPT)
    run("sweep", "s.toml", cwd=tmp_path)
    rows = json.loads(run("list", "runs", "--json", cwd=tmp_path).stdout)["runs"]
    found = {(row["method"], row["seed"], row["tests.capacity"]) for row in rows}
    assert found == {
        *(("random", seed, capacity) for seed in (1, 2) for capacity in (0.01, 0.04)),
        *(("none", seed, None) for seed in (1, 2)),  # it has no effect
    }
    assert "method.name" not in rows[0]
    table = csv.DictReader(io.StringIO(run("list", "runs", "--csv", cwd=tmp_path).stdout))
    assert {row["tests.capacity"] for row in table} == {"0.01", "0.04", ""}
    shown = run("list", "runs", cwd=tmp_path).stdout
    assert shown.count("tests.capacity=0.04") == 2
    alone = run("list", f"runs/{rows[0]['digest']}", "--json", cwd=tmp_path).stdout
    assert "tests.capacity" not in alone


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 300])
@pytest.mark.parametrize("label", ["", "a label of several words that needs some room of its own"])
def test_a_list_fits_the_terminal(tmp_path, monkeypatch, columns, label):
    monkeypatch.setattr(sweeps, "execute", in_process)
    (tmp_path / "s.toml").write_text(SWEPT)
    run("sweep", "s.toml", cwd=tmp_path)
    run("run", *TINY, "--label", label, "--out", "runs", cwd=tmp_path)
    rows = json.loads(run("list", "runs", "--json", cwd=tmp_path).stdout)["runs"]
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(Console, "is_terminal", True)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", run("list", "runs", cwd=tmp_path).stdout)
    assert max(map(len, shown.splitlines())) <= columns
    assert "…" not in shown
    for row in rows:
        assert row["digest"] in shown
        assert f"{1000 * row['peak_infected']:g}" in shown
    assert all(word in shown for word in label.split())
    assert shown.count("tests.capacity") == 5
    if columns >= 80 and not label:
        assert "│" in shown  # still a table


def test_a_list_of_nothing(tmp_path):
    (tmp_path / "file").touch()
    for directory, words in (
        (tmp_path, "holds no stored run"),
        (tmp_path / "x", "x: no such directory"),
        (tmp_path / "file", "file: is a file, not a directory"),
    ):
        done = run("list", directory)
        assert done.returncode == 2
        assert words in done.stderr


# --- sweeps ---


def test_a_sweep_ends_with_its_results(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "execute", in_process)
    (tmp_path / "s.toml").write_text(
        'preset = "quick"\npeople = 200\ndays = 4\nseeds = [1, 2]\n[grid]\n'
        'method.name = ["fn", "tally"]\nprivacy.epsilon = [0.5, 1.0]\n'
    )
    shown = run("sweep", "s.toml", cwd=tmp_path).stdout
    assert shown.rstrip().endswith("dnatrace report runs")
    values = json.loads(run("sweep", "s.toml", "--json", cwd=tmp_path).stdout)
    rows = values["results"]
    assert [row["runs"] for row in rows] == [2, 2, 2]  # fn has no ε
    assert {(row["metric"], row["unit"]) for row in rows} == {("peak_infected", "‰ of people")}
    assert all(row["setting"] in shown for row in rows)
    stored = json.loads(run("list", "runs", "--json", cwd=tmp_path).stdout)["runs"]
    peaks = [1000 * row["peak_infected"] for row in stored if row["method"] == "fn"]
    (fn,) = (row for row in rows if row["setting"].startswith("fn"))
    assert fn["mean"] == pytest.approx(sum(peaks) / 2)
    half = 6.3138 * abs(peaks[0] - peaks[1]) / 2  # of Student's t with one degree of freedom, 95 %
    assert fn["half_width"] == pytest.approx(half, rel=1e-4)
    told = {row["setting"]: f"{shown_number(row['mean'])} ± {shown_number(row['half_width'])}"
            for row in rows}  # fmt: skip
    for line in shown.splitlines():
        setting, _, peak = ([cell.strip() for cell in line.split("│")[1:-1]] + [""] * 3)[:3]
        if setting in told:
            assert peak.startswith(told.pop(setting))
    assert not told


def test_a_label_of_a_sweep_is_one_of_the_report(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "execute", in_process)
    (tmp_path / "s.toml").write_text(
        'preset = "quick"\npeople = 200\ndays = 4\nseeds = [1]\n'
        "[[grid]]\nmethod = 'tally'\nprivacy.epsilon = [0.1, 1.0]\n"
        "[[grid]]\nmethod = 'public-facts'\ntests.capacity = [0.04, 0.08]\n"
    )
    done = run("sweep", "s.toml", "--json", cwd=tmp_path)
    labels = [row["setting"] for row in json.loads(done.stdout)["results"]]
    assert labels == [
        *("tally, ε 0.1", "tally, ε 1", "public-facts, tests.capacity 0.04", "public-facts")
    ]
    assert "Unless a label says otherwise: per release, tests.capacity 0.08." in run(
        "sweep", "s.toml", cwd=tmp_path
    ).stdout.replace("\n", " ")
    typed = (
        "Public-Facts,tests.capacity=0.04",
        "tally , privacy.epsilon = 0.1",
        "tally, epsilon=1",
    )
    for label in (*labels, *typed, "public-facts, tests.capacity 0.08"):
        done = run("report", "runs", "--baseline", label, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), label
    assert "Differences from public-facts, seed by seed" in done.stdout
    done = run("report", "runs", "--baseline", "tally", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("dnatrace: baseline 'tally' is not among the settings: ")


def test_scenarios_are_named_in_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "execute", in_process)
    base = 'people = 200\ndays = 4\nseeds = [1]\nmethod = "random"\n[grid]\n'
    for extra, ends in (
        ("", [""]),
        ("tests.capacity = [0.01, 0.02]\n", ["", ", tests.capacity 0.02"]),
    ):
        (tmp_path / "s.toml").write_text(f'{base}scenario = ["scarce", "household"]\n{extra}')
        done = run("sweep", "s.toml", "--store", f"runs{len(ends)}", "--json", cwd=tmp_path)
        labels = [row["setting"] for row in json.loads(done.stdout)["results"]]
        assert labels[0] == "random, scenario scarce"
        assert labels[len(ends)].startswith("random, scenario household")
        assert labels[1].endswith(ends[-1])
        for label in labels:
            done = run("report", f"runs{len(ends)}", "--baseline", label, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
    done = run("report", "runs1", "--baseline", labels[0], cwd=tmp_path)
    assert "Differences from random, scenario scarce" in done.stdout
    assert "random, scenario household" in done.stdout


def test_a_baseline_may_be_the_label_of_a_run(tmp_path):
    for method, label in (("none", "nobody acts"), ("fn", "all"), ("random", "all")):
        run("run", *TINY, "--method", method, "--label", label, "--out", "s", cwd=tmp_path)
    done = run("report", "s", "--baseline", "nobody acts", cwd=tmp_path)
    assert "Differences from none, seed by seed" in done.stdout
    done = run("report", "s", "--baseline", "all", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "dnatrace: baseline 'all' is the label of runs of several settings: random; fn\n",
    )


def test_keys_are_as_long_as_tells_them_apart():
    named = {key: naming.short(key) for key in described_settings()}
    assert len(set(named.values())) == len(named)
    assert named["days"] == "days"
    assert named["policy.household.days"] == "household.days"
    assert named["policy.quarantine.adherence"] == "quarantine.adherence"
    assert named["isolation.adherence"] == "isolation.adherence"
    assert named["tests.result_delay"] == "result delay"


# --- what does not fit ---


def test_a_run_that_does_not_fit_says_what_it_needs(tmp_path):
    done = run_process("run", "--people", "1000000000", "--out", "runs", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert re.match(
        r"dnatrace: 1,000,000,000 people need about 1,6\S+ GB of memory and \d+ \w+, and \S+ GB "
        r"are free; --yes starts anyway$",
        done.stderr,
    )
    (tmp_path / "s.toml").write_text("people = 1_000_000_000\nseeds = [1, 2]\n")
    done = run("sweep", "s.toml", "--workers", "2", cwd=tmp_path)
    assert done.returncode == 2
    assert "need about 3,3" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]


@pytest.mark.parametrize(
    "command",
    [
        "plan --scenario scarce --tests 0.1 --quarantine 0.1 --epsilon 1 --people 100000000",
        "dataset --people 100000000",
        "train --network headcount --people 100000000",
        "privacy statement --set people=100000000",
    ],
)
def test_every_command_that_runs_says_what_does_not_fit(tmp_path, command, monkeypatch):
    monkeypatch.setattr(needs, "free_memory", lambda: 16e9)  # whatever this machine has
    done = run(*command.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("dnatrace: 100,000,000 people need about ")
    assert done.stderr.endswith("; --yes starts anyway\n")
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_compares_with_a_baseline_seed_by_seed(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "execute", in_process)
    (tmp_path / "s.toml").write_text(
        "people = 300\ndays = 12\nseeds = [1, 2, 3]\n[grid]\nmethod.name = ['none', 'fn']\n"
    )
    wrong = run("sweep", "s.toml", "--baseline", "nix", cwd=tmp_path)
    assert (wrong.returncode, list(tmp_path.glob("runs"))) == (2, [])  # before anything runs
    assert wrong.stderr.startswith("dnatrace: baseline 'nix' is not among the settings: ")
    asked = ("sweep", "s.toml", "--baseline", "none", "-q")
    values = json.loads(run(*asked, "--json", cwd=tmp_path).stdout)
    none, fn = values["results"]
    gains = [ours - theirs for ours, theirs in zip(fn["values"], none["values"], strict=True)]
    assert fn["difference"] == pytest.approx(sum(gains) / 3)
    half = 2.91999 * np.std(gains, ddof=1) / 3**0.5  # of Student's t with two degrees of freedom
    assert fn["difference_half_width"] == pytest.approx(half, rel=1e-5)
    assert none["difference"] is None
    printed = run(*asked, cwd=tmp_path).stdout
    assert "from none" in printed
    sign = "+" if sum(gains) > 0 else "−" if sum(gains) < 0 else ""
    gain = f"{sign}{shown_number(abs(sum(gains) / 3))} ± {shown_number(half)}"
    (row,) = (line for line in printed.splitlines() if line.startswith("│") and " fn " in line)
    assert row.split("│")[-2].strip() == gain


def test_a_sweep_does_not_subtract_runs_of_different_length(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "execute", in_process)
    (tmp_path / "s.toml").write_text(
        "people = 300\nseeds = [1, 2]\nmethod.name = 'none'\n[grid]\ndays = [10, 12]\n"
    )
    labels = ("none, days 10", "none, days 12")
    asked = ("sweep", "s.toml", "--baseline", labels[0], "-q")
    values = json.loads(run(*asked, "--json", cwd=tmp_path).stdout)
    assert [row["setting"] for row in values["results"]] == list(labels)
    assert [row["difference"] for row in values["results"]] == [None, None]
    printed = " ".join(run(*asked, cwd=tmp_path).stdout.split())
    told = "Without a difference, which would not be one of policies: none, days 12 lasts 12 days,"
    assert f"{told} the baseline 10." in printed


def test_a_list_says_that_a_peak_is_not_reached(tmp_path):
    asked = ("--method", "none", "--people", "300", "--days", "12", "-q", "--out", "runs")
    assert run("run", *asked, cwd=tmp_path).returncode == 0
    (row,) = json.loads(run("list", "runs", "--json", cwd=tmp_path).stdout)["runs"]
    assert row["peak_reached"] is False
    assert "peak_reached" in run("list", "runs", "--csv", cwd=tmp_path).stdout
    shown = run("list", "runs", cwd=tmp_path).stdout
    assert f"{1000 * row['peak_infected']:.3g} ↑" in shown
    assert shown.endswith("↑: still rising on the last day; the peak is yet to come\n")


def test_what_phones_believe_changes_no_epidemic_by_itself():
    """p1 is a belief, and its text says where the transmissibility of the disease is set."""
    daily = [
        dt.run(dt.RunConfig(method="random", people=200, days=10, p1=p1)).daily
        for p1 in (0.01, 0.5)
    ]
    assert daily[0].equals(daily[1])
    meaning = SeirParameters.model_fields["p1"].description
    assert "believe" in meaning
    assert "simulator.transmissibility" in meaning


def test_a_capacity_below_one_test_is_told():
    for capacity, told in (("0.001", True), ("0.1", False), ("0", False)):
        done = run("run", "--people", "60", "--days", "3", "--set", f"tests.capacity={capacity}")
        assert done.returncode == 0
        line = "tests.capacity 0.001 of 60 people is less than one test per day: nobody is tested"
        assert (line in done.stderr) is told


def test_yes_starts_all_the_same(monkeypatch):
    monkeypatch.setattr(needs, "free_memory", lambda: 1.0)
    assert run("run", *TINY).returncode == 2
    assert run("run", *TINY, "--yes").returncode == 0


def test_a_long_run_says_so_and_a_small_one_does_not(caplog):
    caplog.set_level("INFO")
    needs.check([dt.RunConfig(people=1000, days=10)])
    assert caplog.messages == []
    needs.check([dt.RunConfig(people=2_000_000, days=1000)], yes=True)
    assert caplog.messages == ["needs about 3.8 GB of memory and 17 minutes"]


def test_the_estimate_grows_with_people_window_and_days():
    small = needs.estimate(dt.RunConfig(people=100_000))
    assert 0.4e9 < small.memory_bytes < 0.7e9  # measured: 0.47 GB
    longer = needs.estimate(dt.RunConfig(people=100_000, days=200, seir={"window": 28}))
    assert longer.seconds == 2 * small.seconds
    assert longer.memory_bytes > small.memory_bytes


def test_a_method_that_holds_more_says_so():
    def more(method):
        """What another 100,000 people take, in bytes and seconds."""
        few, many = (
            needs.estimate(dt.RunConfig(people=n, method=method)) for n in (10**5, 2 * 10**5)
        )
        return many.memory_bytes - few.memory_bytes, many.seconds - few.seconds

    assert more("bp")[0] > 5 * more("headcount")[0]
    assert more("bp")[1] > 5 * more("fn")[1]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_columns_stay_aligned_where_signs_are_spelled(monkeypatch, encoding):
    """Every line of a table is as wide as the others, whatever a sign becomes."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    cli._make_legible()
    print_table(table([{"ε": "0.5", "peak, ‰": "3 ± 1"}, {"ε": "1", "peak, ‰": "≤ 2"}]))
    stream.flush()
    text = stream.buffer.getvalue().decode(encoding)
    lines = text.splitlines()
    assert len(lines) == 6
    assert len({len(line) for line in lines}) == 1, text
    assert ("epsilon" in text, "per mille" in text) == (encoding != "utf-8",) * 2


def test_a_label_that_the_shell_cannot_read_says_why(tmp_path):
    """In a locale of ASCII arguments are bytes; that is not too long a label."""
    label = "Gr\udcc3\udcbc\udcc3\udc9fe"
    done = run("run", "--people", "60", "--out", "runs", "--label", label, cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert done.stderr.startswith("dnatrace: label: the encoding of this shell cannot read '")
    assert done.stderr.endswith("; LC_ALL=C.UTF-8 may\n")


@pytest.mark.parametrize(
    ("given", "culprit"),
    [
        (("run", "--preset", "quick", "--out", ""), "--out"),
        (("run", "--preset", "quick", "--out="), "--out"),
        (("run", "--preset", "quick", "--checkpoint", ""), "--checkpoint"),
        (("sweep", "study.toml", "--store", ""), "--store"),
        (("plan", "--out", ""), "--out"),
        (("reproduce", "table", "--quick", "--out", ""), "--out"),
        (("app", "--store", ""), "--store"),
        (("report", ""), "an argument"),
        (("list", ""), "an argument"),
        (("privacy", "statement", ""), "an argument"),
        (("privacy", "ledger", ""), "an argument"),
    ],
)
def test_an_empty_path_is_not_the_current_directory(tmp_path, given, culprit):
    """A variable of the shell that is not set: `--out "$OUT"`."""
    done = run(*given, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"dnatrace: {culprit} is empty\n"
    assert not list(tmp_path.iterdir())


def test_days_between_checkpoints_need_a_checkpoint():
    done = run("run", "--preset", "quick", "--checkpoint-every", 3)
    line = "--checkpoint-every has no effect without --checkpoint"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"dnatrace: {line}\n")


def test_a_path_may_begin_with_the_home_directory(tmp_path, monkeypatch):
    """Of `--out=~/runs` no shell makes a path: a directory named ~ appeared."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    words = ("run", "--people", 60, "--days", 2, "--method", "fn", "--out=~/runs", "--quiet")
    done = run(*words, cwd=tmp_path / "here")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "home" / "runs").iterdir())) == 1
    assert not list((tmp_path / "here").iterdir())


def test_an_option_given_twice_says_which_counts(tmp_path):
    words = ("run", "--people", 60, "--days", 2, "--method", "fn", "--json")
    done = run(*words, "--days", 3)
    assert "warning: --days is given 2 times; the last one counts" in done.stderr.splitlines()
    assert json.loads(done.stdout)["days"] == 3
    several = run(*words, "--set", "seir.window=5", "--set", "app.uptake=0.5")
    assert "times" not in several.stderr
    assert "times" not in run(*words, "--days", 3, "--quiet").stderr


def test_the_top_of_a_drawn_curve_is_its_largest_value():
    """It was the largest mean of the days behind one character."""
    curve = np.zeros(200)
    curve[77] = 40
    assert presentation.sparkline(curve).endswith("  (top 40)")


def test_many_first_infections_matter_to_methods_that_hear_contacts():
    for method in METHODS.names:
        given = {"method": method, "people": 100, "initially_infected": 30}
        told = presentation.first_infections_line(load_config(overrides=given), 100)
        if method in ("none", "random", "oracle", "public-only", "public-facts"):
            assert told is None
        else:
            assert told.startswith("30 of 100 people are infected at first")


def test_a_list_tells_apart_what_only_some_runs_have(tmp_path):
    """Nothing done and the levers of a scenario were two rows without a difference."""
    small = ("run", "--method", "none", "--people", 60, "--days", 2, "--out", "runs", "-q")
    assert run(*small, "--set", "initially_infected=5", cwd=tmp_path).returncode == 0
    levers = ("--scenario", "scarce", "--set", "initially_infected=5")
    assert run(*small, *levers, cwd=tmp_path).returncode == 0
    rows = json.loads(run("list", "runs", "--json", cwd=tmp_path).stdout)["runs"]
    assert {row["policy.name"] for row in rows} == {None, "levers"}
    assert "policy.name=levers" in run("list", "runs", cwd=tmp_path).stdout.replace("\n", "")


def test_a_list_tells_apart_contacts_that_changed(tmp_path):
    replay = ("run", "--simulator", "replay", "--set", "simulator.contacts=c.csv", "--method", "fn")
    for rows in ("0,1,0\n1,0,0\n", "0,1,1\n1,0,1\n"):
        (tmp_path / "c.csv").write_text("sender,receiver,day\n" + rows)
        more = ("--days", 3, "--set", "initially_infected=1", "--out", "runs", "-q")
        assert run(*replay, *more, cwd=tmp_path).returncode == 0
    rows = json.loads(run("list", "runs", "--json", cwd=tmp_path).stdout)["runs"]
    assert len({row["simulator.contacts content"] for row in rows}) == 2


@pytest.mark.parametrize(
    "words", [("list", "--json", ""), ("app", "--no-browser", ""), ("export", "--force", "")]
)
def test_an_empty_argument_is_not_blamed_on_a_flag(words):
    done = run(*words)
    assert (done.returncode, done.stderr) == (2, "dnatrace: an argument is empty\n")


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_completion_of_another_shell_is_refused(option):
    """The name was ignored, and the script of the shell in which it ran came instead."""
    done = run(option, "zsh")
    line = f"{option} stands alone: it is for the shell in which it runs"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"dnatrace: {line}\n")


@pytest.mark.parametrize("words", [("--people", "500.000"), ("--days", "20.0"), ("--seed=1.0",)])
def test_a_whole_number_has_no_point(words):
    """500.000 is half a million to many, and was 500."""
    done = run("run", "--preset", "quick", *words)
    name, text = "=".join(words).split("=")
    line = f"{name}: '{text}' is not a whole number; large ones may be as 500_000"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"dnatrace: {line}\n")


def test_the_usual_first_infections_of_a_list_are_no_more_than_its_people(tmp_path):
    (tmp_path / "c.csv").write_text("sender,receiver,day\n0,1,0\n1,0,0\n1,2,0\n2,1,0\n")
    replay = ("run", "--simulator", "replay", "--set", "simulator.contacts=c.csv", "--days", 2)
    for more in ((), ("--set", "initially_infected=1")):
        done = run(*replay, "--method", "none", *more, "--out", "runs", "-q", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    rows = json.loads(run("list", "runs", "--json", cwd=tmp_path).stdout)["runs"]
    assert sorted(row["initially_infected"] for row in rows) == [1, 3]
