"""Other versions of Python: `python -m verification.pythons [PYTHON ...]`.

For every interpreter, this package is installed into a virtual environment in a temporary
directory; it must give the same numbers as the interpreter that runs this, digit for digit, and
pass the tests that `make quick` runs. With `--quick` only the base package is installed and only
numbers are compared. Interpreters that are not installed are reported, not counted as failures.
`make test PYTHON=python3.13` runs the whole suite. Exits with 1 when an interpreter differs or
fails a test.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("python3.12", "python3.13")
_NUMBERS = """
import json, dnatrace as dt
found = {}
for method in ("fn", "headcount", "dna"):
    result = dt.run(dt.RunConfig(method=method, people=300, days=20, seed=1))
    found[method] = [result.summary["peak_infected"], result.summary["auroc"]]
print(json.dumps(found))
"""
_MARKS = "not slow and not browser and not cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The result of an interpreter.

    Attributes:
        python: the interpreter as given.
        version: its version; None when it is not installed.
        same: whether its numbers equal those of this interpreter.
        tests: the last line of its tests; None if they were not run.
        passed: whether nothing is wrong.
    """

    python: str
    version: str | None = None
    same: bool = False
    tests: str | None = None
    passed: bool = True

    def __str__(self) -> str:
        if self.version is None:
            return f"{self.python}: not installed here, not checked"
        numbers = "same numbers" if self.same else "OTHER NUMBERS"
        return f"{self.version}: {numbers}; tests: {self.tests or 'not run'}"


def version_of(python: str) -> str | None:
    """Return the version of an interpreter; None when it is not installed."""
    try:
        done = subprocess.run([python, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def numbers_of(python: str | Path, directory: Path) -> dict[str, list[float]]:
    """Return a few numbers of small runs."""
    command = [str(python), "-c", _NUMBERS]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    numbers: dict[str, list[float]] = json.loads(done.stdout)
    return numbers


def check(python: str, *, quick: bool) -> Found:
    """Install the package for an interpreter, compare its numbers and run its tests."""
    version = version_of(python)
    if version is None:
        return Found(python=python)
    with tempfile.TemporaryDirectory(prefix="dnatrace-python-") as place:
        directory = Path(place)
        subprocess.run([python, "-m", "venv", directory / "venv"], check=True)
        own = str(directory / "venv" / "bin" / "python")
        what = str(ROOT) if quick else f"{ROOT}[dev]"
        pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, what], check=True, stderr=subprocess.DEVNULL)
        same = numbers_of(own, directory) == numbers_of(sys.executable, directory)
        if quick:
            return Found(python=python, version=version, same=same, passed=same)
        tests = [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", _MARKS, str(ROOT)]
        done = subprocess.run(tests, cwd=ROOT, capture_output=True, text=True, check=False)
        lines = done.stdout.strip().splitlines() or ["no output"]
        passed = same and done.returncode == 0
        return Found(python=python, version=version, same=same, tests=lines[-1], passed=passed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check every interpreter and print one line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("pythons", nargs="*", default=list(PYTHONS))
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args(arguments)
    found = []
    for python in asked.pythons:
        found.append(check(python, quick=asked.quick))
        print(found[-1], flush=True)
    return 0 if all(one.passed for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
