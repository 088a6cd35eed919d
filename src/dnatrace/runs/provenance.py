"""Where a result comes from: version, commit, configuration and libraries."""

import importlib.metadata
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from dnatrace._version import __version__
from dnatrace.runs.config import RunConfig

LIBRARIES = ("numpy", "numba", "scipy", "pyarrow", "pydantic")


def provenance(config: RunConfig) -> dict[str, Any]:
    """Return where a result comes from, the same for every run of one configuration and code."""
    return {
        "dnatrace": __version__,
        "commit": commit(),
        "config_digest": config.digest,
        "seed": config.seed,
        "contents": config.contents,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "libraries": libraries(*LIBRARIES),
    }


def libraries(*names: str) -> dict[str, str]:
    """Return the versions of installed libraries by name."""
    return {name: importlib.metadata.version(name) for name in names}


@cache
def commit() -> str | None:
    """Return the commit of the source tree that this package runs from; None outside of one.

    Git is asked once per process, without taking a lock: a killed process must not leave one
    behind.
    """
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    git = ["git", "--no-optional-locks", "-C", str(root)]
    try:
        head, changes = (
            subprocess.run([*git, *command], capture_output=True, text=True, check=True).stdout
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "-uno"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.strip() + ("-dirty" if changes.strip() else "")
