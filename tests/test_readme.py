"""README's commands run as printed in a fresh clone, the how-to's in a copy of `examples/`.

Those of the how-to are made smaller; with HYPOTHESIS_PROFILE=nightly only those that take hours.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dnatrace.paper import setting
from dnatrace.sweeps import sweep as sweeps

from .command_line import run
from .forked_sweeps import in_process

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
HOW_TO = (ROOT / "docs" / "how-to" / "command-line.md").read_text("utf-8")


def lines_of(page, program):
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S)
    lines = (line for block in blocks for line in block.splitlines())
    return [shlex.split(line, comments=True) for line in lines if line.startswith(f"{program} ")]


COMMANDS = [words[1:] for words in lines_of(HOW_TO, "dnatrace")]
MAKE = lines_of(README, "make")
# The only changes to what is printed: sizes, appended to commands that begin so. `reproduce` gets
# the size TINY, too, for which it has no option; sweeps run in the process of the tests.
SMALLER = {
    "run": "--people 300 --days 5",
    "audit": "--draws 20000",
    "attack": "--draws 2000",
    "dataset": "--people 400 --days 12 --set initially_infected=20",
    "train data": "--epochs 1 --samples 300 --variant combined",
    "train --network headcount": "--rounds 1 --runs 1 --people 2000 --days 10 --steps 5",
    "evaluate": "--resamplings 5",
    "sweep": "--workers 1",
    "plan": "--people 200 --days 5 --evaluations 4 --seeds 1",
    "reproduce": "--method dpfn-s",
}
TINY = setting.Size(
    seeds=(1, 2),
    epsilons=(1.0,),
    overrides={"people": 60, "days": 3, "initially_infected": 8},
    is_small=True,
)
EXIT_CODES = {"audit": 1}  # it shows a flaw
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
HOURS = ("reproduce",)
SLOW = ("dataset", "train", "evaluate", "certify", "reproduce")


def smaller(command):
    if NIGHTLY and command[0] not in HOURS:
        return command
    text = shlex.join(command)
    return [*command, *(w for k, v in SMALLER.items() if text.startswith(k) for w in v.split())]


def run_all(commands, directory):
    shutil.copytree(ROOT / "examples", directory, dirs_exist_ok=True)
    for command in commands:
        done = run(*smaller(command), cwd=directory)
        assert done.returncode == EXIT_CODES.get(command[0], 0), (command, done.stderr)
        assert done.stdout, command


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(sweeps, "execute", in_process)
    for name in ("FULL", "QUICK"):
        monkeypatch.setattr(setting, name, TINY)


def test_the_blocks_are_found():
    assert len(COMMANDS) >= 16
    assert {command[0] for command in COMMANDS} >= {
        "infer",
        "run",
        "list",
        "sweep",
        "plan",
        "reproduce",
    }


def test_the_page_says_where_the_files_of_its_commands_are():
    """Each file that a command reads is in `examples/`, tracked, and the page leads there."""
    assert "The lists and the study that these commands read are in `examples/`: `cd examples`" in (
        " ".join(HOW_TO.split())
    )
    tracked = subprocess.run(
        ["git", "ls-files", "examples"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    read = {word for command in COMMANDS for word in command if re.search(r"\.(csv|toml)$", word)}
    assert read == {"contacts.csv", "tests.csv", "study.toml"}
    assert all((ROOT / "examples" / name).is_file() for name in read)
    if tracked.returncode == 0:  # in a checkout
        assert {f"examples/{name}" for name in read} <= set(tracked.stdout.split())


def test_the_readme_is_one_screen_with_one_picture_and_five_links():
    assert len(README.splitlines()) <= 45
    assert README.count("![") == 1
    links = re.findall(r"^- \*\*\[[^]]+\]\(([^)]+)\)", README, re.M)
    assert len(links) == 5
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
    assert [t for t in targets if not (ROOT / t).is_file()] == []


def test_commands_run_as_printed(tmp_path, here):
    run_all([command for command in COMMANDS if command[0] not in SLOW], tmp_path)
    assert (tmp_path / "runs" / "report.html").is_file()
    assert (tmp_path / "attack.png").is_file()


@pytest.mark.slow
def test_commands_of_networks_and_the_paper_run_as_printed(tmp_path, here):
    run_all([command for command in COMMANDS if command[0] in SLOW], tmp_path)
    assert (tmp_path / "models" / "dna.safetensors").is_file()


def make(directory, *words):
    command = ["make", "--no-print-directory", *words]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def copy_of_the_makefile(directory):
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, directory)


def test_make_installs_what_it_needs_and_ci_runs_the_same(tmp_path):
    assert MAKE == [["make", "run"], ["make", "test"]]
    copy_of_the_makefile(tmp_path)
    plans = {words[1]: make(tmp_path, "-n", words[1]).stdout.splitlines() for words in MAKE}
    for plan, extra in ((plans["run"], "."), (plans["test"], "'.[dev]'")):
        (install,) = (line for line in plan if "pip install" in line)
        assert install.endswith(f"--editable {extra}")
        assert any("-m venv .venv" in line for line in plan[: plan.index(install)])
    checks = ("ruff format --check", "ruff check", "mypy", "pytest")
    for check in checks:
        assert any(line.startswith(f".venv/bin/{check}") for line in plans["test"])
    assert (ROOT / ".ci" / "run").read_text("utf-8").rstrip().endswith("\nexec make test")


def fresh_clone(directory):
    """What a clone holds, and nothing that was made beside it: no `.venv`, no compiled kernels."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    made = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "_site", "runs")
    if listed.returncode:  # not in a checkout
        shutil.copytree(ROOT, directory, ignore=made)
        return
    for name in filter(None, listed.stdout.decode().split("\0")):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, directory / name)


def test_the_first_commands_of_the_readme_run_as_printed_in_a_fresh_clone(tmp_path):
    """They install the package from its index, simulate the whole city and write its page."""
    (activate,) = re.findall(r"^\S.*Then `(\. [^`]+)` puts the command `dnatrace`", README, re.M)
    script = "\n".join(["set -e", shlex.join(MAKE[0]), activate, "dnatrace list runs --json"])
    clone = tmp_path / "clone"
    fresh_clone(clone)
    names = set(os.environ) - {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "VIRTUAL_ENV", "PYTHONPATH"}
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
        env={name: os.environ[name] for name in names},
    )
    assert done.returncode == 0, done.stderr
    assert "headcount on city: 10,000 people, 100 days" in done.stdout
    assert "Next: . .venv/bin/activate && dnatrace --help\n" in done.stdout
    (stored,) = (path for path in (clone / "runs").iterdir() if path.is_dir())
    (listed,) = json.loads(done.stdout.splitlines()[-1])["runs"]
    assert listed["digest"] == stored.name
    names = {path.name for path in stored.iterdir()}
    assert names >= {"summary.json", "daily.csv", "statement.txt", "provenance.json", "report.html"}


def test_a_python_of_another_name_will_do(tmp_path):
    """A machine that has `python3` and no `python3.11`."""
    copy_of_the_makefile(tmp_path)
    for name, program in (("python3", sys.executable), ("sh", "/bin/sh")):
        (tmp_path / "bin" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(program)
    done = subprocess.run(
        [shutil.which("make"), "-n", "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(tmp_path / "bin")},
    )
    (venv,) = (line for line in done.stdout.splitlines() if "-m venv" in line)
    assert venv == f"{tmp_path / 'bin' / 'python3'} -m venv .venv"


def test_a_newer_python_is_found_beside_an_old_one(tmp_path):
    """A machine whose `python3` is too old, and that has `python3.12`."""
    copy_of_the_makefile(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sh").symlink_to("/bin/sh")
    for name, code in (("python3", 1), ("python3.12", 0)):
        (programs / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (programs / name).chmod(0o755)
    command = [shutil.which("make"), "-n", "run"]
    environment = {"PATH": str(programs)}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    (venv,) = (line for line in done.stdout.splitlines() if "-m venv" in line)
    assert venv == f"{programs / 'python3.12'} -m venv .venv"


def test_the_command_is_put_on_the_path():
    assert "`. .venv/bin/activate` puts the command `dnatrace` on the path" in README


def test_an_older_python_is_refused_in_one_line(tmp_path):
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    command = ["make", "run", f"PYTHON={old}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("make: needs Python 3.11 or later")
    assert not (tmp_path / ".venv").exists()
