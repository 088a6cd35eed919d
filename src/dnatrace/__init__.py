"""Contact tracing with privacy guarantees: simulate, infer, release, audit.

Each name below is loaded when it is first used, so that importing the package costs nothing.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dnatrace._version import __version__ as __version__

# Threads that wait for work must not spin for long: on a busy machine, as in a sweep, they would
# take time from the threads that have work. A short spin keeps small kernels fast. OpenMP reads
# this when numba starts; values that the user has set win.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "20000")

if TYPE_CHECKING:
    from dnatrace import privacy as privacy
    from dnatrace.errors import InputError as InputError
    from dnatrace.inference.beliefs import Beliefs as Beliefs
    from dnatrace.inference.course import CourseParameters as CourseParameters
    from dnatrace.inference.infer import infer as infer
    from dnatrace.records import ContactWindow as ContactWindow
    from dnatrace.records import DayContacts as DayContacts
    from dnatrace.records import TestLog as TestLog
    from dnatrace.rng import Stream as Stream
    from dnatrace.runs.config import RunConfig as RunConfig
    from dnatrace.runs.config import load_config as load_config
    from dnatrace.runs.presets import presets as presets
    from dnatrace.runs.run import RunResult as RunResult
    from dnatrace.runs.run import run as run
    from dnatrace.runs.scenarios import scenarios as scenarios
    from dnatrace.seir import SeirParameters as SeirParameters
    from dnatrace.seir import State as State
    from dnatrace.seir import TestErrors as TestErrors
    from dnatrace.sweeps.study import Comparison as Comparison
    from dnatrace.sweeps.study import Study as Study
    from dnatrace.sweeps.study import compare as compare

    def methods() -> dict[str, str]:
        """Return one line about every method, by name; the package of this name can be called."""


_ROOMS = ("methods", "privacy")
_HOMES = {
    "InputError": "dnatrace.errors",
    "Comparison": "dnatrace.sweeps.study",
    "Study": "dnatrace.sweeps.study",
    "compare": "dnatrace.sweeps.study",
    "RunConfig": "dnatrace.runs.config",
    "load_config": "dnatrace.runs.config",
    "presets": "dnatrace.runs.presets",
    "RunResult": "dnatrace.runs.run",
    "run": "dnatrace.runs.run",
    "CourseParameters": "dnatrace.inference.course",
    "infer": "dnatrace.inference.infer",
    "scenarios": "dnatrace.runs.scenarios",
    "Beliefs": "dnatrace.inference.beliefs",
    "ContactWindow": "dnatrace.records",
    "DayContacts": "dnatrace.records",
    "TestLog": "dnatrace.records",
    "Stream": "dnatrace.rng",
    "SeirParameters": "dnatrace.seir",
    "State": "dnatrace.seir",
    "TestErrors": "dnatrace.seir",
}

# The stable surface: docs/reference/python.md is generated from it.
__all__ = [*_HOMES, *_ROOMS, "__version__"]  # noqa: PLE0604  (names, as the type checker sees)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"dnatrace.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'dnatrace' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*_HOMES, *_ROOMS, "__version__"])
