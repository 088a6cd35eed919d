"""The pages of reference that are made from the code: `python -m docs.tools.reference`.

`docs/reference/python.md` comes from `dnatrace.__all__` and its docstrings, with what the plug-ins
of the pages import; `docs/reference/commands.md` from the parser of the command line. A test says
when either is stale.
"""

import ast
import enum
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import dnatrace as dt

DOCS = Path(__file__).parents[1]
PLUGIN_PAGES = (DOCS / "plugins.md", DOCS / "tutorials" / "own-method.md")
_SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Yields):$")
_ITEM = re.compile(r"^    (?=\S)")

PYTHON_HEAD = """\
# Python

This page is generated from the code (`python -m docs.tools.reference`); a test fails when it is
stale.

**What is stable.** The names of `import dnatrace as dt` below, and the names that
[plug-ins](../plugins.md) import, listed at the end, are stable: they are not renamed or removed
without a line in the changelog and, for one minor version, an alias that says what replaced them.
Everything else is internal, even where its name has no underscore. Files and `--json` are stable as
[What a run writes](../outputs.md) describes them.

`help(dt.run)` and so on show the same text. Invalid input raises `dt.InputError` with a one-line
message.

**Processes.** Kernels run on threads of OpenMP, which do not survive `fork`: once `dt.infer`,
`dt.run` or another kernel has run, a forked child that runs one is ended by the library
("Terminating: fork() called from a process already using GNU OpenMP"), and a pool then waits for it
for ever. Start processes by `spawn` or `forkserver`, for instance with
`multiprocessing.get_context("spawn").Pool()` or `ProcessPoolExecutor(mp_context=…)`; `dt.compare`
does so itself.
"""

COMMANDS_HEAD = """\
# Commands

This page is generated from the parser (`python -m docs.tools.reference`); a test fails when it is
stale. [Use the command line](../how-to/command-line.md) shows the commands at work.

Every command also has `--json` (one JSON object on standard output), `-q` (no log lines) and
`--help`; those that compute have `--threads`. Exit codes: 0 for success, 1 for failure or a refuted
claim, 2 for invalid input, 130 when interrupted.
"""
_COMMON = {"json", "quiet", "threads", "help"}


def signature(thing: Any) -> str:
    """Return how something is called, as the source has it."""
    tree = _tree(thing)
    if isinstance(tree, ast.FunctionDef):
        return f"{tree.name}({_arguments(tree)})" + _returned(tree)
    if not isinstance(tree, ast.ClassDef):
        raise TypeError(thing)
    made = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    if made:
        return f"{tree.name}({_arguments(made[0])})"
    if issubclass(thing, enum.Enum):
        return tree.name
    return f"{tree.name}({', '.join([*_by_name_alone(thing), *_all_fields(thing).values()])})"


def _tree(thing: Any) -> ast.stmt:
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def _by_name_alone(thing: type) -> list[str]:
    """Return the star in front of arguments that are given by name, where all are."""
    kinds = {parameter.kind for parameter in inspect.signature(thing).parameters.values()}
    return ["*"] if kinds == {inspect.Parameter.KEYWORD_ONLY} else []


def _all_fields(thing: type) -> dict[str, str]:
    """Return the fields of a class of values by name, with those that it inherits."""
    fields: dict[str, str] = {}
    for kind in reversed(thing.__mro__):
        if kind.__module__.startswith("dnatrace.") and isinstance(
            tree := _tree(kind), ast.ClassDef
        ):
            fields |= _fields(tree)
    return fields


def _arguments(tree: ast.FunctionDef) -> str:
    return ast.unparse(tree.args).removeprefix("self").removeprefix("cls").removeprefix(", ")


def _returned(tree: ast.FunctionDef) -> str:
    return f" -> {ast.unparse(tree.returns)}" if tree.returns else ""


def _fields(tree: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield name and declaration of the fields of a class of values that can be given."""
    for node in tree.body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        name, kind = node.target.id, ast.unparse(node.annotation)
        if name.startswith("_") or kind.startswith("ClassVar"):
            continue
        yield name, f"{name}: {kind}" + _default(node.value)


def _default(value: ast.expr | None) -> str:
    """Return the default of a field; that of a setting is its first argument."""
    if value is None:
        return ""
    if isinstance(value, ast.Call):
        called = ast.unparse(value.func)
        if called == "setting" and value.args:
            return f" = {ast.unparse(value.args[0])}"
        return " = …"
    return f" = {ast.unparse(value)}"


def described(doc: str) -> list[str]:
    """Return a docstring as Markdown: its sections become lists."""
    lines: list[str] = []
    inside = False
    for line in doc.splitlines():
        heading = _SECTION.match(line)
        if heading:
            inside = True
            lines += [f"*{heading[1]}*", ""]
        elif inside and _ITEM.match(line):
            name, colon, rest = line.strip().partition(": ")
            lines.append(f"- `{name}`: {rest}" if colon else f"- {line.strip()}")
        elif inside and line.strip() and line.startswith("     "):
            lines.append(f"  {line.strip()}")
        else:
            inside = inside and (not line or line.startswith(" "))
            lines.append(line)
    return lines


def _entry(name: str, thing: Any, level: str = "##") -> Iterator[str]:
    yield f"{level} `{name}`"
    yield ""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        yield from described(inspect.getdoc(thing) or "")
        return
    if name == "RunConfig":
        shown = 'RunConfig(method="headcount", people=10_000, days=100, seed=1, …)'
    else:
        shown = signature(thing)
    yield from ("```", *textwrap.wrap(shown, 96, subsequent_indent="    "), "```", "")
    yield from described(inspect.getdoc(thing) or "")
    if name == "RunConfig":
        yield from ("", "[Parameters](../parameters.md) has every key.")
    if inspect.isclass(thing):
        yield from _members(thing)


def _members(thing: type) -> Iterator[str]:
    if issubclass(thing, enum.Enum):
        yield from ("", "Members: " + ", ".join(f"`{m.name}`" for m in thing) + ".")
    for name, member in vars(thing).items():
        if name.startswith(("_", "model_")):
            continue
        if isinstance(member, property):
            yield from ("", f"**`.{name}`**: " + " ".join((inspect.getdoc(member) or "").split()))
            continue
        function = inspect.unwrap(getattr(member, "__func__", member))
        if inspect.isfunction(function) and function.__module__.startswith("dnatrace"):
            yield from ("", f"**`.{signature(function)}`**", "")
            yield from described(inspect.getdoc(function) or "")


def extension_names() -> list[tuple[str, str]]:
    """Return (module, name) of everything that the plug-ins of the pages import from here."""
    found = set()
    for page in PLUGIN_PAGES:
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dnatrace."):
                    found |= {(str(node.module), alias.name) for alias in node.names}
    return sorted(found)


def python_page() -> str:
    """Return the reference of the Python interface."""
    lines = PYTHON_HEAD.splitlines()
    names = [n for n in sorted(dt.__all__, key=str.lower) if n not in ("__version__", *_ROOMS)]
    for name in names:
        thing = getattr(dt, name)
        same = getattr(thing, "__name__", name)
        if same != name:
            lines += ["", f"## `{name}`", "", f"Another name of [`{same}`](#{same.lower()})."]
            continue
        lines += ["", *_entry(name, thing)]
    lines += ["", "## `methods`", "", "`dt.methods()` returns every method by name, with one line."]
    lines += ["Those of this package:", "", "| method | what it is |", "|---|---|"]
    lines += [f"| `{name}` | {line} |" for name, line in dt.methods().items()]
    lines += ["", "## `privacy`", "", "Closed forms of the Gaussian mechanism."]
    for name in dir(dt.privacy):
        lines += ["", *_entry(f"privacy.{name}", getattr(dt.privacy, name), "###")]
    lines += ["", "## What plug-ins import", "", "A method, a simulator or a policy of your own"]
    lines += ["([how](../plugins.md)) needs these, and may rely on them:", ""]
    lines += ["| import | what it is |", "|---|---|"]
    for module, name in extension_names():
        lines.append(f"| `from {module} import {name}` | {_one_line(module, name)} |")
    return "\n".join(lines).rstrip() + "\n"


_ROOMS = ("methods", "privacy")


def _one_line(module: str, name: str) -> str:
    """Return the first line of a docstring; of a value or an alias, what it stands for."""
    thing = getattr(import_module(module), name)
    if inspect.isclass(thing) or inspect.isfunction(thing) or hasattr(thing, "py_func"):
        return (inspect.getdoc(getattr(thing, "py_func", thing)) or "").split("\n", maxsplit=1)[0]
    if isinstance(thing, int):
        return f"`{thing}`"
    return "a type for annotations"


def commands_page() -> str:
    """Return the reference of the command line."""
    from typer.main import get_command  # noqa: PLC0415

    from dnatrace.cli import app  # noqa: PLC0415

    lines = COMMANDS_HEAD.splitlines()
    for path, command in _commands(get_command(app), "dnatrace"):
        lines += ["", f"## `{path}`", "", *_help(command.help or "")]
        rows = [row for parameter in command.params if (row := _row(parameter))]
        if rows:
            lines += ["", "| option | default | meaning |", "|---|---|---|", *rows]
    return "\n".join(lines).rstrip() + "\n"


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, with its full name."""
    if hasattr(command, "commands"):
        for name, inner in sorted(command.commands.items()):
            yield from _commands(inner, f"{path} {name}")
        return
    yield path, command


def _help(text: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("Example: "):
            yield from ("```", paragraph.removeprefix("Example: ").replace("\n", " "), "```", "")
        else:
            yield from (paragraph, "")


def _row(parameter: Any) -> str | None:
    if parameter.name in _COMMON or getattr(parameter, "hidden", False):
        return None
    is_option = parameter.param_type_name == "option"
    names = ", ".join(parameter.opts) if is_option else str(parameter.name).upper()
    shown = getattr(parameter, "show_default", None)
    default = shown if isinstance(shown, str) else parameter.default
    if parameter.required:
        default = "required"
    elif default is None or default is False or default in ((), []) or callable(default):
        default = ""
    meaning = " ".join((parameter.help or "").replace("|", "\\|").split())
    return f"| `{names}` | {default} | {meaning} |"


PAGES = {"python.md": python_page, "commands.md": commands_page}


def main() -> None:
    """Write the pages."""
    for name, make in PAGES.items():
        (DOCS / "reference" / name).write_text(make(), "utf-8")


if __name__ == "__main__":
    main()
