"""The package as others get it: a wheel, in an empty directory."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Build the wheel and unpack it, as an installer would."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(place / "site")
    return place / "site"


def in_empty_directory(installed, tmp_path, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )


def test_the_wheel_is_what_runs(installed, tmp_path):
    code = "import dnatrace; print(dnatrace.__file__)"
    where = in_empty_directory(installed, tmp_path, "-c", code).stdout
    assert Path(where.strip()).is_relative_to(installed)


def test_the_first_run_says_that_it_compiles_once_and_finds_its_data(installed, tmp_path):
    """Kernels are compiled on the first run of an installation; the second finds them."""
    arguments = ["-m", "dnatrace", "run", "--preset", "quick", "--method", "random"]
    arguments += ["--people", "200", "--days", "4", "--json"]
    first, second = (in_empty_directory(installed, tmp_path, *arguments) for _ in range(2))
    assert json.loads(first.stdout)["people"] == 200
    assert first.stderr.count("compiling") == 1
    assert "compiling" not in second.stderr
    assert list(tmp_path.iterdir()) == []
    assert (installed / "dnatrace" / "py.typed").exists()


def test_doctor(installed, tmp_path):
    done = in_empty_directory(installed, tmp_path, "-m", "dnatrace", "doctor", "--json")
    answer = json.loads(done.stdout)
    assert answer["simulators"]["city"]
    assert answer["threads"] >= 1
