"""The README's commands run as they are printed, from a copy of `examples/`."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from dnatrace.paper import setting
from dnatrace.sweeps import sweep as sweeps

from .command_line import run
from .forked_sweeps import in_process

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for block in BLOCKS
    for line in block.splitlines()
    if line.startswith("dnatrace ")
]
# The only changes to what is printed: sizes, appended to commands that begin so. `reproduce` gets
# the size TINY, too, for which it has no option; sweeps run in the process of the tests.
SMALLER = {
    "run": "--people 300 --days 5",
    "audit": "--draws 20000",
    "attack": "--draws 2000",
    "dataset": "--people 400 --days 12 --set initially_infected=20",
    "train data": "--epochs 1 --samples 300 --variant combined",
    "train --network headcount": "--rounds 1 --runs 1 --people 300 --days 16 --steps 5",
    "evaluate": "--resamplings 5",
    "sweep": "--workers 1",
    "reproduce": "--method dpfn-s",
}
TINY = setting.Size(
    seeds=(1, 2),
    epsilons=(1.0,),
    overrides={"people": 60, "days": 3, "initially_infected": 8},
    is_small=True,
)
EXIT_CODES = {"audit": 1}  # it shows a flaw
SLOW = ("dataset", "train", "evaluate", "certify", "reproduce")


def smaller(command):
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
    assert {command[0] for command in COMMANDS} >= {"infer", "run", "list", "sweep", "reproduce"}


def test_commands_run_as_printed(tmp_path, here):
    run_all([command for command in COMMANDS if command[0] not in SLOW], tmp_path)
    assert (tmp_path / "runs" / "report.html").is_file()
    assert (tmp_path / "attack.png").is_file()


@pytest.mark.slow
def test_commands_of_networks_and_the_paper_run_as_printed(tmp_path, here):
    run_all([command for command in COMMANDS if command[0] in SLOW], tmp_path)
    assert (tmp_path / "models" / "dna.safetensors").is_file()


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
