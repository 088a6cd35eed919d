"""Versions of all libraries of this environment: `python -m docs.tools.lock`.

Writes `requirements/lock.txt`: what `pip install -e '.[dev]'` brought, name and version, without
the package itself, addresses or paths.
"""

import importlib.metadata
import platform
import re
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement

LOCK = Path(__file__).parents[2] / "requirements" / "lock.txt"


def needed(name: str = "dnatrace", extras: Iterable[str] = ("dev",)) -> dict[str, str]:
    """Return the versions of everything that a distribution needs here, by normal name."""
    found: dict[str, str] = {}
    waiting, seen = [(name, frozenset(extras))], set()
    while waiting:
        asked = waiting.pop()
        if asked in seen:
            continue
        seen.add(asked)
        installed = importlib.metadata.distribution(asked[0])
        found[_normal(asked[0])] = installed.version
        for line in installed.requires or ():
            requirement = Requirement(line)
            if _holds(requirement, asked[1]):
                waiting.append((_normal(requirement.name), frozenset(requirement.extras)))
    del found[_normal(name)]
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _holds(requirement: Requirement, extras: frozenset[str]) -> bool:
    """Whether a requirement counts here, with one of the extras or with none."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": e}) for e in (*extras, ""))


def text() -> str:
    """Return the lines of the file."""
    python = ".".join(platform.python_version_tuple()[:2])
    head = f"# What the tests of this version ran with, on Python {python}: `make lock`.\n"
    return head + "".join(f"{name}=={version}\n" for name, version in sorted(needed().items()))


def main() -> None:
    """Write the file."""
    LOCK.parent.mkdir(exist_ok=True)
    LOCK.write_text(text(), "utf-8")


if __name__ == "__main__":
    main()
