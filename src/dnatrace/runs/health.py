"""What is installed here and what works."""

import importlib.util
import os
import platform
from typing import Any

import numba

from dnatrace._version import __version__
from dnatrace.runs.provenance import LIBRARIES, libraries
from dnatrace.simulators.catalogue import SIMULATORS

# Each optional part, the module it needs, and where the module comes from.
_PARTS = (
    ("training", "equinox", "pip install 'dnatrace[train]'"),
    ("secure noise", "opendp", "pip install 'dnatrace[secure]'"),
    ("clusters", "distributed", "pip install 'dnatrace[cluster]'"),
    ("plans", "optuna", "pip install 'dnatrace[plan]'"),
    ("live page", "starlette", "pip install 'dnatrace[app]'"),
    ("model export", "onnx", "pip install 'dnatrace[export]'"),
)


def examine() -> dict[str, Any]:
    """Return versions, threads, and which simulators and optional parts are usable."""
    simulators = {simulator.title(): simulator.availability() for simulator in SIMULATORS}
    return {
        "version": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": numba.get_num_threads(),
        "libraries": libraries(*LIBRARIES),
        "simulators": {name: usable for name, (usable, _) in simulators.items()},
        "simulator_notes": {name: note for name, (_, note) in simulators.items()},
        "parts": {
            name: {"installed": importlib.util.find_spec(module) is not None, "how": how}
            for name, module, how in _PARTS
        },
    }
