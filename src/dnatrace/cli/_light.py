"""Help in half the time: what the help of typer imports and never shows is not loaded."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

# Text in Markdown, which brings a parser of it, and coloured tracebacks, which bring those of
# programming languages: help here has neither.
_UNUSED = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}


@contextmanager
def light_help() -> Iterator[None]:
    """Let imports of unused modules in the block find a class that loads its own when called.

    Modules that are loaded already stay; afterwards everybody finds the true ones.
    """
    absent = {name: made for name, made in _UNUSED.items() if name not in sys.modules}
    for name, made in absent.items():
        module = ModuleType(name)
        setattr(module, made, _later(name, made))
        sys.modules[name] = module
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def _later(module: str, name: str) -> type:
    """Return a class whose instances are those of a module that is loaded when one is made."""

    def new(_: type, *arguments: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **options)

    return type(name, (), {"__new__": new})
