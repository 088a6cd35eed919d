"""What is installed here and what works."""

import importlib.util
import os
import platform
from typing import Any

import numba
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dnatrace._version import __version__
from dnatrace.errors import InputError
from dnatrace.runs.provenance import LIBRARIES, libraries
from dnatrace.simulators import covasim, openabm

# Optional part, the module it needs, and where the module comes from.
_PARTS = (
    ("training", "equinox", "pip install 'dnatrace[train]'"),
    ("secure noise", "opendp", "pip install 'dnatrace[secure]'"),
    ("clusters", "distributed", "pip install 'dnatrace[cluster]'"),
    ("model export", "onnx", "pip install 'dnatrace[export]'"),
)


def examine() -> dict[str, Any]:
    """Return versions, threads, and which simulators and optional parts are usable."""
    simulators = _examine_simulators()
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


def _examine_simulators() -> dict[str, tuple[bool, str]]:
    """Return whether each simulator is usable, and what it is or what is missing.

    OpenABM-Covid19 is imported, in a process of its own: only then it tells its variant.
    """
    version = covasim.installed_version()
    notes = {"city": (True, "built in"), "replay": (True, "built in")}
    if version is None:
        notes["covasim"] = (False, "absent: pip install 'dnatrace[covasim]'")
    else:
        supported = version.startswith(covasim.SUPPORTED)
        note = f"Covasim {version}" if supported else f"unsupported: Covasim {version}"
        notes["covasim"] = (supported, note)
    if not openabm.is_installed():
        notes["openabm"] = (False, f"absent: see {openabm.ADDRESS}")
        return notes
    try:
        facts = openabm.describe()
        notes["openabm"] = (True, f"OpenABM-Covid19 ({facts['variant']})")
    except InputError as error:
        notes["openabm"] = (False, str(error))
    return notes


def show(report: dict[str, Any]) -> None:
    """Print a report for a person."""
    table = Table(title=f"dnatrace {report['version']}", title_justify="left", show_header=False)
    table.add_row("Python", f"{report['python']} on {report['machine']}")
    table.add_row("threads", f"{report['threads']} of {report['cores']} cores")
    for name, version in report["libraries"].items():
        table.add_row(name, version)
    for name, note in report["simulator_notes"].items():
        table.add_row(f"simulator {name}", escape(note))
    for name, part in report["parts"].items():
        table.add_row(name, "installed" if part["installed"] else escape(f"absent: {part['how']}"))
    Console().print(table)
