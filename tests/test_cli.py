"""The command line as a person uses it: real processes."""

import json
import subprocess
import sys

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import dnatrace


def run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "dnatrace", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


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
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "infer" in done.stdout
    assert done.stderr.split() == ["exit", "0", "[]"]
    assert run("--version").stdout.strip() == dnatrace.__version__


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
        (["infer", "contacts.csv", "tests.csv", "--p1", "2"], "p1 must be a fraction"),
        (["infer", "contacts.csv", "tests.csv", "--p1", "nan"], "p1 must be a fraction"),
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
