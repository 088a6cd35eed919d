"""The house rules that imports can show (docs/architecture.md)."""

import ast
from pathlib import Path

import pytest

import dnatrace

SOURCE = Path(dnatrace.__file__).parent

# Every room may import the rooms below it; rooms on one floor do not know each other.
FLOORS = [
    {"errors", "_version"},
    {"files", "tables", "_csr", "reference_data"},
    {"records", "rng", "seir"},
    {"simulators", "inference", "networks"},
    {"privacy"},
    {"methods"},
    {"policy"},
    {"tracing"},
    {"runs"},
    {"sweeps"},
    {"report", "training"},
    {"paper"},
    {"cli"},
    {"__main__"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def room_of(module):
    return module.split(".")[1]


def module_name(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(("dnatrace", *parts))


def imports_of(path):
    """Every dnatrace module that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("dnatrace."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dnatrace"):
            if node.module == "dnatrace":
                yield from (f"dnatrace.{alias.name}" for alias in node.names)
            else:
                yield node.module


MODULES = sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py")


def upward_imports(name, imported):
    mine = room_of(name)
    return [
        other
        for other in imported
        if room_of(other) != mine and FLOOR_OF[room_of(other)] >= FLOOR_OF[mine]
    ]


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_layers_point_one_way(path):
    assert upward_imports(module_name(path), imports_of(path)) == []


def test_the_check_can_fail():
    assert upward_imports("dnatrace.inference.x", ["dnatrace.privacy.release"])
    assert upward_imports("dnatrace.rng", ["dnatrace.cli"])


def test_no_relative_imports():
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path


def test_only_the_privacy_package_releases_scores():
    """`Released` is constructed, and its seal is named, inside privacy/ alone."""
    for path in MODULES:
        if room_of(module_name(path)) == "privacy":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
                name = called.id if isinstance(called, ast.Name) else called
                assert name != "Released", f"{path}:{node.lineno}"
            names = {getattr(alias, "name", alias) for alias in getattr(node, "names", [])}
            assert "_SEAL" not in names, path
            assert getattr(node, "attr", None) != "_SEAL", path


def test_only_methods_without_messages_publish_as_public():
    callers = {
        module_name(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "publish_public"
    }
    assert callers == {
        "dnatrace.methods.chance",
        "dnatrace.methods.public_only",
        "dnatrace.tracing",
    }
