"""The package as others get it: a wheel, in an empty directory."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import dnatrace

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


def in_empty_directory(installed, tmp_path, *arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)} | environment,
        capture_output=True,
        text=True,
        check=True,
    )


def test_the_wheel_is_what_runs(installed, tmp_path):
    code = "import dnatrace; print(dnatrace.__file__)"
    where = in_empty_directory(installed, tmp_path, "-c", code).stdout
    assert Path(where.strip()).is_relative_to(installed)


def test_the_first_run_says_that_it_compiles_once(installed, tmp_path):
    """Kernels are compiled on the first use of an installation; the second finds them."""
    arguments = ["-m", "dnatrace", "attack", "--method", "traditional", "--draws", "1000", "--json"]
    first, second = (in_empty_directory(installed, tmp_path, *arguments) for _ in range(2))
    assert json.loads(first.stdout) == json.loads(second.stdout)
    assert first.stderr.count("compiling") == 1
    assert "compiling" not in second.stderr
    assert list(tmp_path.iterdir()) == []


def test_it_finds_its_data(installed, tmp_path):
    """A run reads presets, populations and a decoder; as plain Python, so that nothing compiles."""
    arguments = ["-m", "dnatrace", "run", "--preset", "quick", "--people", "60", "--days", "2"]
    done = in_empty_directory(installed, tmp_path, *arguments, "--json", NUMBA_DISABLE_JIT="1")
    assert json.loads(done.stdout)["people"] == 60
    source = ROOT / "src" / "dnatrace"
    data = {p.relative_to(source) for p in source.rglob("*") if p.is_file()}
    data = {p for p in data if "__pycache__" not in p.parts}
    assert {p.suffix for p in data} > {".py", ".toml", ".csv", ".safetensors", ".js", ".typed"}
    assert [p for p in sorted(data) if not (installed / "dnatrace" / p).is_file()] == []


def test_doctor(installed, tmp_path):
    done = in_empty_directory(installed, tmp_path, "-m", "dnatrace", "doctor", "--json")
    answer = json.loads(done.stdout)
    assert answer["simulators"]["city"]
    assert answer["threads"] >= 1


def test_archives_are_built_the_same_twice(tmp_path):
    """Wheel and source archive, byte for byte, from copies of the sources with other file times."""
    archives = []
    for place, when in (("first", 1_500_000_000), ("second", 1_600_000_000)):
        source = tmp_path / place
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.splitlines()
        if not listed:
            pytest.skip("not a clone: the files of the archive are not known")
        for name in listed:
            if (ROOT / name).is_file() and not name.startswith("tests/"):
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, source / name)
                os.utime(source / name, (when, when))
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", "dist"],
            cwd=source,
            env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"},
            check=True,
            capture_output=True,
        )
        archives.append({p.name: p.read_bytes() for p in (source / "dist").iterdir()})
    first, second = archives
    version = dnatrace.__version__
    assert set(first) == {f"dnatrace-{version}.tar.gz", f"dnatrace-{version}-py3-none-any.whl"}
    assert first == second
