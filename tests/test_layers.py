"""The house rules that source files can show (docs/architecture.md)."""

import ast
import statistics
from pathlib import Path

import dnatrace

SOURCE = Path(dnatrace.__file__).parent

# Every room may import the rooms below it; rooms on one floor do not know each other.
FLOORS = [
    {"errors", "_version", "threads"},
    {"settings", "sheets"},
    {"files", "tables", "_csr", "reference_data", "plugins"},
    {"gamma", "records", "rng", "seir", "lists", "directions"},
    {"parquet", "slips"},
    {"simulators", "inference", "networks"},
    {"privacy"},
    {"methods"},
    {"policy"},
    {"contracts"},
    {"tracing"},
    {"runs"},
    {"sweeps"},
    {"report", "training"},
    {"app", "paper", "plans"},
    {"cli"},
    {"__main__"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MOST_LINES, MOST_OF_A_FUNCTION, MEDIAN_FUNCTION = 400, 60, 8


def module_name(path):
    return ".".join(("dnatrace", *path.relative_to(SOURCE).with_suffix("").parts))


MODULES = {
    module_name(path): ast.parse(path.read_text("utf-8"))
    for path in sorted(SOURCE.rglob("*.py"))
    if path != SOURCE / "__init__.py"
}


def room_of(module):
    return module.split(".")[1]


def imports_of(tree):
    """Every dnatrace module that a file imports, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("dnatrace."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dnatrace"):
            if node.module == "dnatrace":
                yield from (f"dnatrace.{alias.name}" for alias in node.names)
            else:
                yield node.module


def upward_imports(name, imported):
    mine = room_of(name)
    return [
        f"{name} imports {other}"
        for other in imported
        if room_of(other) != mine and FLOOR_OF[room_of(other)] >= FLOOR_OF[mine]
    ]


def test_layers_point_one_way():
    for name, tree in MODULES.items():
        assert upward_imports(name, imports_of(tree)) == []
    assert upward_imports("dnatrace.inference.x", ["dnatrace.privacy.release"])  # it can fail
    assert upward_imports("dnatrace.rng", ["dnatrace.cli"])


def nodes(kind, *, outside=()):
    for name, tree in MODULES.items():
        if room_of(name) not in outside:
            yield from ((name, node) for node in ast.walk(tree) if isinstance(node, kind))


def called(node):
    return getattr(node.func, "attr", getattr(node.func, "id", None))


def test_no_relative_imports():
    assert [name for name, node in nodes(ast.ImportFrom) if node.level] == []


def test_only_the_privacy_package_releases_scores():
    """`Released` and `Protected` are constructed, and their seal is named, in privacy/ alone."""
    makers = [
        f"{name}:{node.lineno}"
        for name, node in nodes(ast.Call, outside={"privacy"})
        if called(node) in ("Released", "Protected")
    ]
    assert makers == []
    for name, node in nodes((ast.Name, ast.alias, ast.Attribute), outside={"privacy"}):
        words = (getattr(node, word, None) for word in ("id", "name", "attr"))
        assert "_SEAL" not in words, name


def test_only_kinds_of_methods_and_the_loop_publish_scores():
    """So that a method can publish nothing but by the rules of its kind."""
    publish = {"publish_public", "publish_unprotected", "publish_processed"}
    callers = {name for name, node in nodes(ast.Call) if called(node) in publish}
    assert callers == {"dnatrace.methods.kinds", "dnatrace.tracing"}


def test_only_a_query_sees_secrets():
    """In a private method no function but `query` and what it calls takes `SecretFacts`."""
    after_noise = {"sent", "settle", "decode", "prepare", "remember"}
    for name, node in nodes(ast.FunctionDef):
        if node.name in after_noise and room_of(name) == "methods":
            taken = {ast.unparse(a.annotation) for a in node.args.args if a.annotation}
            assert not any("Secret" in kind for kind in taken), f"{name}.{node.name}"


def test_sizes():
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert [str(path) for path, lines in lengths.items() if lines > MOST_LINES] == []
    functions = {
        f"{name}.{node.name}": node.end_lineno - node.lineno + 1
        for name, node in nodes(ast.FunctionDef)
    }
    assert [name for name, lines in functions.items() if lines > MOST_OF_A_FUNCTION] == []
    assert statistics.median(functions.values()) <= MEDIAN_FUNCTION
