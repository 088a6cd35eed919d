"""The command line as a person uses it."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

import dnatrace
from dnatrace.cli import app
from dnatrace.networks.decoder import decoder_path
from dnatrace.networks.runtime import model_path

from .command_line import run, run_process


@pytest.fixture
def files(tmp_path):
    (tmp_path / "contacts.csv").write_text("sender,receiver,day\n0,1,2\n1,0,2\n1,2,3\n")
    (tmp_path / "tests.csv").write_text("person,day,positive\n0,4,1\n2,1,0\n")
    return tmp_path


def test_help_and_version_load_nothing_heavy():
    code = (
        "import sys; from dnatrace.cli import main\n"
        "sys.argv = ['dnatrace', '--help']\n"
        "try: main()\n"
        "except SystemExit as end: print('exit', end.code, file=sys.stderr)\n"
        "heavy = {'numba', 'numpy', 'pyarrow', 'scipy', 'matplotlib', 'jax', 'pydantic'}\n"
        "heavy |= {'markdown_it', 'pygments', 'rich.markdown', 'rich.traceback'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "infer" in done.stdout
    assert done.stderr.split() == ["exit", "0", "[]"]
    assert run("--version").stdout.strip() == dnatrace.__version__


def test_what_help_leaves_out_is_there_for_others():
    code = (
        "from dnatrace.cli._light import light_help\n"
        "with light_help(): from rich.markdown import Markdown as later\n"
        "made = later('a *word*')\n"
        "from rich.markdown import Markdown\n"
        "with light_help(): from rich.markdown import Markdown as again\n"
        "print(later is Markdown, type(made) is Markdown, again is Markdown)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


def test_infer_prints_a_table(files):
    done = run("infer", "contacts.csv", "tests.csv", cwd=files)
    assert done.returncode == 0
    assert "P(E)+P(I)" in done.stdout
    assert len(list(files.iterdir())) == 2


def test_infer_prints_json(files):
    done = run("infer", "contacts.csv", "tests.csv", "--json", "--p1", "0.5", cwd=files)
    answer = json.loads(done.stdout)
    assert (answer["people"], answer["days"], answer["contacts"], answer["tests"]) == (3, 5, 3, 2)
    first = answer["highest"][0]
    assert first["person"] == 0
    assert sum(first[f"P({s})"] for s in "SEIR") == pytest.approx(1.0, abs=1e-5)


def test_infer_by_belief_propagation(files):
    choice = ("infer", "contacts.csv", "tests.csv", "--json", "--inference", "bp")
    answer = json.loads(run(*choice, "--transmission", "2", cwd=files).stdout)
    assert answer["highest"][0]["person"] == 0
    done = run(*choice, "--p1", "0.5", cwd=files)
    assert done.returncode == 2
    assert "--p1 has no effect with --inference bp" in done.stderr


@pytest.mark.parametrize("name", ["beliefs.csv", "beliefs.parquet"])
def test_infer_writes_everybody(files, name):
    done = run("infer", "contacts.csv", "tests.csv", "--out", name, cwd=files)
    assert done.returncode == 0
    assert done.stdout == ""
    read = pacsv.read_csv if name.endswith("csv") else pq.read_table
    table = read(files / name)
    assert table.column_names == ["person", "day", "S", "E", "I", "R"]
    assert table.num_rows == 3 * 5
    assert len(list(files.iterdir())) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["infer", "none.csv", "tests.csv"], "none.csv: no such file"),
        (["infer", ".", "tests.csv"], "is a directory"),
        (["infer", "contacts.csv", "tests.csv", "--days", "3"], "outside the window"),
        (["infer", "contacts.csv", "tests.csv", "--p1", "2"], "p1: input should be"),
        (["infer", "contacts.csv", "tests.csv", "--p1", "nan"], "p1: input should be"),
        (["infer", "contacts.csv", "tests.csv", "--out", "x.txt"], "must end in .csv or .parquet"),
        (["infer", "contacts.csv", "tests.csv", "--out", "no/x.csv"], "no: no such directory"),
        (["infer", "contacts.csv", "tests.csv", "--threads", "999"], "--threads 999"),
        (["infer", "contacts.csv", "tests.csv", "--colour", "red"], "--colour"),
        (["infer", "contacts.csv"], "tests"),
        (["inferr"], "inferr"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(files, arguments, message):
    before = sorted(files.iterdir())
    done = run(*arguments, cwd=files)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert sorted(files.iterdir()) == before


QUICK = ["run", "--preset", "quick", "--method", "fn", "--people", "300", "--days", "6"]


def test_run_prints_json_and_writes_nothing(tmp_path):
    done = run(*QUICK, "--json", "-q", "--seed", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    for key in [
        "peak_infected",
        "peak_infected_with_asymptomatic",
        "peak_exposed_or_infected",
        "day_of_peak",
        "attack_rate",
        "deaths",
        "tests_used",
        "isolation_person_days",
        "isolation_precision",
        "isolation_recall",
        "people",
        "days",
        "seed",
        "method",
        "simulator",
        "config_digest",
        "version",
    ]:
        assert key in answer
    assert set(answer["seconds"]) >= {"simulate", "infer", "release", "total"}
    assert (answer["people"], answer["days"], answer["seed"]) == (300, 6, 3)
    assert list(tmp_path.iterdir()) == []


def test_run_stores_and_tells(tmp_path):
    done = run(*QUICK, "--out", "store", "--set", "tests.capacity=0.5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Peak of infected people" in done.stdout
    assert "days: 6 of 6" in done.stderr
    (stored,) = (tmp_path / "store").iterdir()
    assert str(stored.name) in done.stdout
    config = json.loads((stored / "config.json").read_text())
    assert config["tests"]["capacity"] == 0.5
    assert config["method"]["name"] == "fn"


def test_run_replays_a_contact_list(files):
    replay = ["run", "--simulator", "replay", "--set", "simulator.contacts=contacts.csv"]
    replay += ["--method", "fn", "--days", "5", "--json", "-q"]
    done = run(*replay, "--preset", "quick", cwd=files)  # the preset's size is not the list's
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout)
    assert first["people"] == 3
    (files / "contacts.csv").write_text("sender,receiver,day\n0,1,2\n1,3,2\n")
    second = json.loads(run(*replay, "--preset", "quick", cwd=files).stdout)
    assert second["people"] == 4
    assert first["config_digest"] != second["config_digest"]
    household = run(*replay, "--set", "isolation.keeps_household=true", cwd=files)
    assert household.returncode == 2
    assert "isolation.keeps_household" in household.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "best"], "preset 'best' does not exist"),
        (["--method", "magic"], "method 'magic' does not exist; there are"),
        (["--set", "tests.capcity=1"], "did you mean 'tests.capacity'"),
        (["--people", "0"], "people: input should be greater than or equal to 1"),
        (["--epsilon", "nan"], "privacy.epsilon: input should be a finite number"),
        (["--config", "none.toml"], "none.toml: no such file"),
        (["--simulator", "replay"], "simulator.contacts: replay needs"),
        (["--out", "contacts.csv"], "contacts.csv: cannot be written"),
    ],
)
def test_bad_runs_are_one_line_and_exit_2(files, arguments, message):
    before = sorted(files.iterdir())
    done = run(*QUICK, "-q", *arguments, cwd=files)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(files.iterdir()) == before


def test_calibrate():
    answer = json.loads(run("privacy", "calibrate", "--sensitivity", "0.02", "--json").stdout)
    assert answer["sigma"] == pytest.approx(0.02 * 2.574657, rel=1e-6)
    assert set(answer) == {"sigma", "epsilon", "delta", "sensitivity"}


def test_audit_catches_the_published_release_and_passes_the_sound_one():
    options = ["--own-tests", "positive", "--draws", "100000", "--json", "-q"]
    flawed = run("audit", "--method", "dpfn-s", "--release", "as_published", *options)
    assert flawed.returncode == 1
    answer = json.loads(flawed.stdout)
    assert answer["empirical_epsilon_lower_bound"] > 4 > answer["claimed_epsilon"]
    assert answer["passed"] is False
    sound = run("audit", "--method", "dpfn-s", "--release", "linear", *options)
    assert sound.returncode == 0
    answer = json.loads(sound.stdout)
    assert 0.5 < answer["empirical_epsilon_lower_bound"] <= answer["claimed_epsilon"]
    assert (answer["method"], answer["release"], answer["own_tests"]) == (
        "dpfn-s",
        "linear",
        "positive",
    )


def test_attack_tells_and_draws(tmp_path):
    done = run("attack", "--draws", "5000", "--co-attackers", "2", "--out", "a.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 attackers who meet only the victim once" in done.stdout
    assert "95 % interval" in done.stdout
    answer = json.loads(run("attack", "--draws", "1000", "--json", "-q").stdout)
    low, high = answer["success_interval"]
    assert low < answer["success"] < high
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_statement_and_ledger_of_a_run(tmp_path):
    arguments = [*QUICK, "--method", "dpfn-s", "--out", "store", "-q"]
    assert run(*arguments, cwd=tmp_path).returncode == 0
    (stored,) = (tmp_path / "store").iterdir()
    statement = run("privacy", "statement", stored).stdout
    assert "ε = 1 at δ = 0.001 per release" in statement
    assert "variant linear" in statement
    assert "not a medical device" in statement
    ledger = json.loads(run("privacy", "ledger", stored, "--json").stdout)
    assert ledger["spent"]["per_release_epsilon"] == pytest.approx(1.0)
    assert len(ledger["releases"]) == 6
    assert "every cost is proved" in run("privacy", "ledger", stored).stdout
    summary = json.loads((stored / "summary.json").read_text())
    assert summary["privacy"]["sound"] is True
    assert summary["privacy"]["per_contact_epsilon"] > 1


@pytest.mark.parametrize(
    ("method", "release"),
    [
        ("traditional", "gaussian"),
        ("traditional", "exact"),
        ("per-message", "frozen"),
        ("per-message", "as_published"),
        ("dpfn", "frozen"),
        ("dpfn", "correlated"),
        ("dpfn", "as_published"),
        ("dpfn", "analytic"),
        ("dpfn-s", "linear"),
        ("dpfn-s", "restart"),
        ("dpfn-s", "as_published"),
    ],
)
def test_every_release_runs(method, release):
    done = run(*QUICK, "--method", method, "--release", release, "--json", "-q")
    assert done.returncode == 0, done.stderr
    privacy = json.loads(done.stdout)["privacy"]
    unsound = {("traditional", "exact"), ("dpfn-s", "as_published")}
    assert privacy["sound"] is ((method, release) not in unsound)
    assert (privacy["per_contact_epsilon"] is None) == (release == "exact")
    if (method, release) == ("dpfn-s", "as_published"):
        assert privacy["true_epsilon"]["worst"] > 5 * privacy["nominal_epsilon"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["privacy", "calibrate", "--epsilon", "0"], "epsilon"),
        (["privacy", "calibrate", "--epsilon", "nan"], "epsilon"),
        (["privacy", "calibrate", "--delta", "1"], "delta"),
        (["privacy", "ledger", "."], "is not a stored run"),
        (["audit", "--method", "fn"], "method 'fn' adds no noise"),
        (["audit", "--release", "magic"], "magic"),
        (["audit", "--own-tests", "maybe"], "maybe"),
        (["audit", "--method", "dpfn", "--gamma", "1.5"], "method.gamma"),
        (["audit", "--draws", "5"], "draws"),
        (["audit", "--releases", "1000000"], "releases must be at most 100, not 1000000"),
        (["attack", "--out", "a.txt"], "a.txt: the name must end"),
        (["attack", "--days", "99"], "shows at most 14 days"),
        (["run", "--method", "fn", "--release", "linear"], "method.release: method 'fn' has none"),
    ],
)
def test_bad_privacy_input_is_one_line_and_exit_2(tmp_path, arguments, message):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


SMALL = ["privacy", "statement", "--set", "people=60", "--set", "days=4"]


def test_an_audit_is_kept_for_the_statement(tmp_path):
    quiet = ("--epsilon", "0.1")  # a thousand draws show nothing of it
    few = run("audit", *quiet, "--draws", "1000", "--out", "few.json", "-q", cwd=tmp_path)
    assert few.returncode == 0
    assert "So few draws show nothing" in few.stdout
    assert "stands" not in few.stdout
    kept = json.loads((tmp_path / "few.json").read_text())
    told = ("method", "release", "epsilon", "delta", "unit", "own_tests", "releases", "draws")
    expected = ["headcount", "daily", 0.1, 1e-3, "release", "none", 1, 1000]
    assert [kept[key] for key in told] == expected
    assert kept["confidence"] == 0.99
    # Neither the city nor the seed is part of what was audited.
    for more in ([], ["--set", "seed=7", "--set", "tests.capacity=0.1"]):
        text = run(*SMALL, *quiet, *more, "--audit", "few.json", cwd=tmp_path).stdout
        assert "Last audit: on 20" in text
        assert "1,000 draws show at least 0 (99 % confidence). So few draws show nothing" in text
        assert "passed" not in text
        assert "checksum catches slips, not forgery" in text
    # Somebody's slip in the file, by as little as one digit.
    (tmp_path / "few.json").write_text(json.dumps(kept | {"draws": 1_000_000}))
    done = run(*SMALL, *quiet, "--audit", "few.json", cwd=tmp_path)
    expected = "dnatrace: few.json: was changed after the audit: its checksum does not match\n"
    assert (done.returncode, done.stderr) == (2, expected)
    (tmp_path / "few.json").write_text(json.dumps(dict(reversed(kept.items()))))  # no change
    assert run(*SMALL, *quiet, "--audit", "few.json", cwd=tmp_path).returncode == 0
    (tmp_path / "few.json").write_text("[]")
    done = run(*SMALL, *quiet, "--audit", "few.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "few.json: is not the result of an audit" in done.stderr


def test_an_audit_of_many_releases_plays_a_contact_that_is_in_all_of_them():
    order = ["audit", "--method", "traditional", "--releases", "14", "--draws", "20000", "-q"]
    found = json.loads(run(*order, "--json").stdout)
    assert (found["contact_age"], found["releases_reached"]) == (0, 14)
    assert found["claimed_epsilon"] == pytest.approx(5.02, abs=0.005)  # as of a whole life
    longer = ["--releases", "20", "--draws", "2000"]
    text = run(*order, *longer).stdout
    assert "over 20 releases, of which 14 can show it: it was made on the day of the first" in text


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (["--method", "dpfn-s"], "method.name is headcount there and dpfn-s here"),
        (["--epsilon", "2"], "privacy.epsilon is 1.0 there and 2.0 here"),
        (["--unit", "contact"], "privacy.unit is release there and contact here"),
        (["--set", "seir.window=10"], "seir.window is 14 there and 10 here"),
        (["--set", "tests.false_negative_rate=0.2"], "tests.false_negative_rate is 0.001 there"),
        (["--method", "fn"], "method.name is headcount there and fn here"),
    ],
)
def test_an_audit_of_something_else_is_refused(tmp_path, other, named):
    run("audit", "--draws", "1000", "--out", "audit.json", "-q", cwd=tmp_path)
    done = run(*SMALL, *other, "--audit", "audit.json", "-q", cwd=tmp_path)
    assert done.returncode == 2
    assert "audit.json: is an audit of something else: " in done.stderr
    assert named in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_audit_is_laid_beside_the_statement_of_a_stored_run(tmp_path):
    for epsilon in ("1", "2"):
        arguments = [*QUICK, "--method", "dpfn-s", "--epsilon", epsilon, "--out", epsilon, "-q"]
        assert run(*arguments, cwd=tmp_path).returncode == 0
    about = ["--preset", "quick", "--method", "dpfn-s", "--draws", "20000", "--out", "a.json"]
    said = run("audit", *about, "-q", cwd=tmp_path).stdout
    assert "Nothing above the claim was found. That proves nothing more" in said
    (same,), (other,) = ((tmp_path / name).iterdir() for name in ("1", "2"))
    text = run("privacy", "statement", same, "--audit", "a.json", cwd=tmp_path).stdout
    assert "20,000 draws show at least 0." in text
    assert "none for this run" not in text
    assert "none for this run" in run("privacy", "statement", same).stdout
    done = run("privacy", "statement", other, "--audit", "a.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "privacy.epsilon is 1.0 there and 2.0 here" in done.stderr


def test_a_network_of_other_content_is_another_audit(tmp_path, monkeypatch):
    run("audit", "--draws", "1000", "--out", "audit.json", "-q", cwd=tmp_path)
    from dnatrace.methods.headcount import HeadcountSettings

    monkeypatch.setattr(HeadcountSettings, "fingerprint", lambda _: "another decoder")
    done = run(*SMALL, "--audit", "audit.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "what the method ships or reads has other content" in done.stderr


def test_the_ledger_tells_the_score_and_what_it_means(tmp_path):
    arguments = [*QUICK, "--method", "tally", "--days", "20", "--out", "store", "-q"]
    assert run(*arguments, cwd=tmp_path).returncode == 0
    (stored,) = (tmp_path / "store").iterdir()
    rows = _cells(run("privacy", "ledger", stored).stdout)
    assert rows["release"] == ["1", "0.001", "57.7"]
    assert rows["score"] == ["5.02", "0.001", "76.6"]
    assert rows["pair"][2] == "over 99.9"
    kept = json.loads((stored / "ledger.json").read_text())
    del kept["spent"]["per_score_epsilon"]  # as stored before it was told
    (stored / "ledger.json").write_text(json.dumps(kept))
    assert _cells(run("privacy", "ledger", stored).stdout)["score"] == ["–", "0.001", "–"]
    statement = run("privacy", "statement", stored).stdout
    odds = "at most 57.7 times in 100 from one release, at most 76.6 times in 100 from one score"
    assert f"{odds} alone, " in statement


def test_the_how_to_tells_what_the_default_costs(tmp_path):
    """The three ε beside `dnatrace run --epsilon 1`, from the ledger of a run of the default."""
    arguments = ["run", "--epsilon", "1", "--people", "300", "--days", "20", "--out", "store", "-q"]
    assert run(*arguments, cwd=tmp_path).returncode == 0
    (stored,) = (tmp_path / "store").iterdir()
    assert json.loads((stored / "config.json").read_text())["method"]["name"] == "headcount"
    rows = _cells(run("privacy", "ledger", stored).stdout)
    release, score, person = (rows[unit][0] for unit in ("release", "score", "person"))
    page = Path(__file__).parents[1] / "docs" / "how-to" / "command-line.md"
    (line,) = re.findall(r"dnatrace run --epsilon 1 .*", page.read_text("utf-8"))
    assert f"ε = {release} per release, {score} for one score alone and for one test" in line
    assert score == person


def _cells(shown):
    """Return the rows of printed tables by their first cell."""
    rows = ([c.strip() for c in line.strip("│").split("│")] for line in shown.splitlines())
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize(
    ("about", "said"),
    [
        (["--method", "fn"], "NOT PRIVATE"),
        (["--method", "oracle"], "NOT PRIVATE"),
        (["--method", "traditional", "--release", "exact"], "NOT PRIVATE"),
        (["--method", "public-only"], "The scores depend on public facts alone."),
    ],
)
def test_statements_without_noise_tell_of_none(about, said):
    text = run(*SMALL, *about, "-q").stdout
    assert said in text
    assert ("\n\nProtected:" in text) == (said != "NOT PRIVATE")
    for pretence in ("Accountant:", "Noise:", "Mechanism:", "Last audit:", "Cost at"):
        assert pretence not in text


def test_a_damaged_ledger(tmp_path):
    (tmp_path / "summary.json").write_text("{}")
    for text in ("{}", "[]", "{"):
        (tmp_path / "ledger.json").write_text(text)
        done = run("privacy", "ledger", tmp_path)
        assert done.returncode == 2
        assert "ledger.json: is damaged" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["privacy", "calibrate", "--delta", "0.99999999"],
        ["privacy", "calibrate", "--epsilon", "1e308"],
        ["privacy", "calibrate", "--delta", "1e-320"],
        ["run", "--epsilon", "1e300"],
        ["run", "--method", "dpfn", "--release", "correlated", "--set", "seir.window=1"],
        ["run", "--set", "isolation.days=99999999999"],
        ["run", "--set", "people=true"],
        ["run", "--out", "afile/x"],
    ],
)
def test_extreme_values_are_refused_in_one_line(tmp_path, arguments):
    (tmp_path / "afile").touch()
    small = ["--set", "days=3"] if arguments[0] == "run" else []
    done = run(*arguments, *small, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "afile"]


@pytest.mark.parametrize(
    ("method", "release", "words"),
    [
        ("fn", None, "Privacy: none"),
        ("public-only", None, "no message is used"),
        (
            "dpfn-s",
            "linear",
            "no bound for one test of a person (measured with noise for ε = 1 per release at δ",
        ),
        ("headcount", "daily", "ε = 2.95 for one test of a person, so far, against one receiver"),
        ("dpfn-s", "as_published", "NOT SOUND. Stated ε = 1 per release"),
    ],
)
def test_a_run_tells_its_privacy(method, release, words):
    arguments = ["--method", method] + (["--release", release] if release else [])
    done = run(*QUICK, *arguments, "-q")
    assert done.returncode == 0, done.stderr
    assert words in " ".join(done.stdout.split())


def all_commands(group, path=()):
    """Every command of the app with its words, also those of groups."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from all_commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def lacking(group):
    """What each command lacks of the contract: --json, -q and an example."""
    lacks = {}
    for name, command in all_commands(group):
        options = {word for p in command.params for word in p.opts}
        missing = {"--json", "-q", "--quiet"} - options
        example = f"Example: dnatrace {name}"
        lacks[name] = missing | (set() if example in (command.help or "") else {example})
    return lacks


def test_every_command_has_json_quiet_and_an_example():
    lacks = lacking(typer.main.get_command(app))
    assert len(lacks) >= 17
    assert {"run", "privacy ledger", "config schema", "doctor"} <= set(lacks)
    assert {name: missing for name, missing in lacks.items() if missing} == {}


def test_the_check_of_commands_can_fail():
    bare = typer.Typer()
    bare.command()(lambda: None)
    bare.command("other")(lambda: None)
    assert {"--json", "-q"} <= lacking(typer.main.get_command(bare))["other"]


def test_the_schema_of_the_configuration():
    plain = CliRunner().invoke(app, ["config", "schema"])
    assert plain.exit_code == 0
    assert CliRunner().invoke(app, ["config", "schema", "--json", "-q"]).stdout == plain.stdout
    assert {"people", "method", "privacy"} <= set(json.loads(plain.stdout)["properties"])


def test_doctor_prints_what_is_installed():
    done = CliRunner().invoke(app, ["doctor", "-q"])
    assert done.exit_code == 0
    assert f"dnatrace {dnatrace.__version__}" in done.stdout
    assert "simulator city" in done.stdout


@pytest.mark.parametrize("name", ["contacts.csv", "tests.csv", "link.csv"])
def test_infer_does_not_overwrite_what_it_reads(files, name):
    (files / "link.csv").symlink_to(files / "contacts.csv")
    before = [(files / name).read_text() for name in ("contacts.csv", "tests.csv")]
    done = run("infer", "contacts.csv", "tests.csv", "--out", name, cwd=files)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"{name}: is read by this command and would be overwritten" in done.stderr
    assert [(files / name).read_text() for name in ("contacts.csv", "tests.csv")] == before


def test_audit_and_attack_do_not_overwrite_what_they_read(tmp_path):
    shipped = decoder_path("tally").read_bytes()
    for name, command in (("d.json", "audit"), ("d.png", "attack")):
        (tmp_path / name).write_bytes(shipped)
        done = run(command, "--set", f"method.decoder={name}", "--out", name, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "would be overwritten" in done.stderr
        assert (tmp_path / name).read_bytes() == shipped


def test_a_model_is_not_overwritten_by_its_export(tmp_path):
    model = tmp_path / "m.safetensors"
    model.write_bytes(model_path("dna").read_bytes())
    before = model.read_bytes()
    assert run("export", model, model).returncode == 2
    assert model.read_bytes() == before


def test_output_that_is_not_unicode_is_spelled(tmp_path):
    """Also where our letters cannot be written there is output and no traceback."""
    commands = [("run", "--help"), ("run", "--people", "60", "--days", "4", "-q")]
    for arguments in commands:
        for encoding in ("latin-1", "ascii"):
            done = run_process(*arguments, PYTHONIOENCODING=encoding)
            assert (done.returncode, done.stderr) == (0, "")
            assert "epsilon" in done.stdout
            assert "?" not in done.stdout
            assert "per mille" in done.stdout or "--help" in arguments


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [("--version",), ("run", "--help"), ("doctor", "--json")])
def test_a_full_device_is_one_line(arguments, unbuffered):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dnatrace", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 1
    assert done.stderr == "dnatrace: output cannot be written: No space left on device\n"


def test_a_stored_run_has_its_own_configuration(tmp_path):
    assert run("run", "--people", 60, "--days", 3, "--out", tmp_path, "-q").returncode == 0
    (stored,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert run("privacy", "statement", stored).returncode == 0
    for option in (("--epsilon", 3), ("--set", "people=70"), ("--method", "fn")):
        done = run("privacy", "statement", stored, *option)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"{option[0]}: a stored run has its own configuration" in done.stderr


def test_help_says_that_p1_is_what_phones_believe():
    for command in ("run", "infer"):
        text = " ".join(run(command, "--help").stdout.replace("│", "").split())
        assert "phones assume" in text[text.rindex("--p1") :][:200]


def test_a_run_that_ends_before_its_peak_says_so():
    usual = ("run", "--method", "none", "--people", 1000, "--set", "initially_infected=20", "-q")
    assert "still rising on the last day" in run(*usual, "--days", 10).stdout
    assert "still rising" not in run(*usual, "--days", 100).stdout


def test_a_read_only_file_system_is_one_line(files):
    """Of every command that writes one file."""
    place = files / "fixed"
    place.mkdir()
    stored = run("run", "--people", 60, "--days", 3, "--out", files / "runs", "-q")
    assert stored.returncode == 0
    mounts = (["mount", "-t", "tmpfs", "none", place], ["mount", "-o", "remount,ro", place])
    try:
        if not shutil.which("mount") or any(
            subprocess.run(command, capture_output=True, check=False).returncode
            for command in mounts
        ):
            pytest.skip("a read-only file system cannot be mounted here")
        for arguments in (
            ("infer", "contacts.csv", "tests.csv", "--out", "fixed/b.csv"),
            ("report", "runs", "--out", "fixed/r.html"),
            ("attack", "--draws", 1000, "--out", "fixed/a.png"),
            ("audit", "--draws", 10_000, "--out", "fixed/a.json"),
            ("run", "--people", 60, "--days", 2, "--out", "fixed/runs"),
        ):
            done = run(*arguments, "-q", cwd=files)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
            assert "Read-only file system" in done.stderr or "no permission" in done.stderr
    finally:
        if shutil.which("umount"):
            subprocess.run(["umount", place], capture_output=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "work"),
    [
        ("run --people 60 --days 2 --out runs", "dnatrace.runs.run.run"),
        ("run --people 60 --days 2 --checkpoint c", "dnatrace.tracing.Loop.step"),
        ("infer contacts.csv tests.csv --out b.csv", "dnatrace.inference.infer.infer"),
        ("infer contacts.csv tests.csv --id-map m.csv", "dnatrace.inference.infer.infer"),
        ("attack --out a.png", "dnatrace.runs.audits.attack"),
        ("audit --out a.json", "dnatrace.runs.audits.audit"),
        ("evaluate --out auc.md", "dnatrace.training.auc_table.small_test_data"),
        ("export dna dna.onnx", "dnatrace.networks.runtime.load_model"),
        ("dataset --people 60 --days 2 --out data", "dnatrace.training.generate._split_steps"),
        ("train --network tally --out models", "dnatrace.training.decoder_rounds.train_decoders"),
        ("train --out models", "dnatrace.training.recipes.train_models"),
        ("reproduce theorems --quick --out r", "dnatrace.paper.theorems.theorem_claims"),
        ("reproduce figure --quick --out r", "dnatrace.paper.reproduce.reproduce"),
        ("sweep study.toml --store runs", "dnatrace.sweeps.sweep.execute"),
        (
            "plan --scenario autumn --tests 0.01 --quarantine 0.02 --epsilon 5 --quick --out p",
            "dnatrace.plans.planning.make_plan",
        ),
        ("report stored", "dnatrace.report.page.render"),
        ("report stored --out r.html", "dnatrace.report.page.render"),
    ],
)
def test_a_full_disk_is_told_before_the_work(files, monkeypatch, arguments, work):
    """Of every command that works before it writes."""
    (files / "study.toml").write_text("preset = 'quick'\npeople = 60\nseeds = [1]\n")
    if "stored" in arguments:
        small = ("--preset", "quick", "--people", 60, "--days", 3, "-q")
        assert run("run", *small, "--out", files / "stored").returncode == 0

    def full(self, *_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def too_late(*_, **__):
        pytest.fail("the work began")

    monkeypatch.setattr(work, too_late)
    monkeypatch.setattr(Path, "write_bytes", full)
    done = run(*arguments.split(), "-q", cwd=files)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "cannot be written: No space left on device" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        ("attack --set people=5", "people=5: people has no effect on `dnatrace attack`"),
        ("attack --set tests.capacity=0.5", "tests.capacity=0.5: tests.capacity has no effect"),
        ("audit --set days=5", "days=5: days has no effect on `dnatrace audit`"),
        ("audit --world couple --set isolation.days=5", "isolation.days=5: isolation.days has no"),
        ("audit --world couple --set seed=5", "seed=5: seed has no effect on `dnatrace audit`"),
        ("dataset --set seed=5", "seed=5: seed is not read: seeds are --train-seeds"),
        ("PLAN --set privacy.epsilon=9", "privacy.epsilon=9: privacy.epsilon is what a plan"),
        ("PLAN --set people=5", "people=5: people is given by an option or --quick"),
    ],
)
def test_settings_that_a_command_does_not_read_are_refused(tmp_path, arguments, culprit):
    plan = "plan --scenario autumn --tests 0.01 --quarantine 0.02 --epsilon 5 --quick"
    done = run(*arguments.replace("PLAN", plan).split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"dnatrace: --set {culprit}")
    assert not list(tmp_path.iterdir())


def test_settings_that_a_release_depends_on_are_taken():
    given = ("seir.window=10", "privacy.delta=0.01", "tests.false_positive_rate=0.05")
    for command in (("attack",), ("audit", "--world", "couple", "--closed-loop")):
        more = ("isolation.days=3", "tests.capacity=0.5") if command[0] == "audit" else ()
        chosen = [word for text in (*given, *more) for word in ("--set", text)]
        assert run(*command, *chosen, "--draws", 1000, "-q").returncode in (0, 1)


def test_an_option_and_a_setting_that_disagree_are_refused():
    done = run("run", "--preset", "quick", "--epsilon", 2, "--set", "privacy.epsilon=3")
    line = "--epsilon 2.0, --set privacy.epsilon=3: choose one of them"
    assert (done.returncode, done.stderr) == (2, f"dnatrace: {line}\n")


def test_settings_of_a_method_that_is_not_chosen_are_told():
    given = ("--preset", "quick", "--people", 60, "--days", 2, "--set", "method.fn.own_rounds=3")
    line = "warning: --set method.fn.own_rounds=3 has no effect: method is 'headcount'"
    assert line in run("run", *given).stderr.splitlines()
    assert "no effect" not in run("run", *given, "--method", "fn").stderr


def test_certify_says_what_there_is_to_certify():
    done = run("certify", "nope")
    assert done.returncode == 2
    assert "none that ships (dna, " in done.stderr
    assert "; decoders: headcount, " in done.stderr


def test_a_run_is_stored_where_files_are_written_in_ascii(tmp_path):
    """In the locale C without UTF-8 mode, files are what they are elsewhere."""
    for store, environment in (("c", {"LC_ALL": "C", "PYTHONUTF8": "0"}), ("utf", {})):
        private = [*QUICK, "--method", "headcount", "--out", store]
        done = run_process(*private, cwd=tmp_path, **environment)
        assert done.returncode == 0, done.stderr
    written, expected = ((tmp_path / store).glob("*/*.txt") for store in ("c", "utf"))
    pages = {path.name: path.read_bytes() for path in expected}
    assert pages  # the statement, with its ε
    assert {path.name: path.read_bytes() for path in written} == pages
    assert "ε" in b"".join(pages.values()).decode("utf-8")
