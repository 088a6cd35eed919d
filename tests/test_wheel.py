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
    ).stdout


def test_the_wheel_is_what_runs(installed, tmp_path):
    where = in_empty_directory(
        installed, tmp_path, "-c", "import dnatrace; print(dnatrace.__file__)"
    )
    assert Path(where.strip()).is_relative_to(installed)


def test_presets_and_facts_are_inside(installed, tmp_path):
    arguments = ["-m", "dnatrace", "run", "--preset", "quick", "--method", "fn", "--people", "200"]
    answer = in_empty_directory(installed, tmp_path, *arguments, "--days", "4", "--json", "-q")
    assert json.loads(answer)["people"] == 200
    assert list(tmp_path.iterdir()) == []
    assert (installed / "dnatrace" / "py.typed").exists()


def test_doctor(installed, tmp_path):
    answer = json.loads(
        in_empty_directory(installed, tmp_path, "-m", "dnatrace", "doctor", "--json")
    )
    assert answer["simulators"]["city"]
    assert answer["threads"] >= 1
