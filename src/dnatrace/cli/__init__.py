"""The command line: parse, call the library, print. Nothing is computed here.

Heavy imports happen inside the commands, so that `dnatrace --help` is instant.
"""

import codecs
import errno
import io
import os
import shutil
import sys
import unicodedata
from importlib import import_module
from typing import Annotated, Any

import typer

from dnatrace._version import __version__
from dnatrace.cli._command import Command, Group
from dnatrace.errors import InputError, nearest

_NARROW = 80  # columns that the help needs
# What is shown instead of these characters in encodings that lack them; Greek letters are spelled
# by name.
_SPELLED = dict(zip("▁▂▃▄▅▆▇█–—−“”’", '_.-~=+*#---""\'', strict=True)) | {
    "‰": "per mille",
    "±": "+-",
    "×": "x",
    "·": "*",
    "√": "sqrt ",
    "≤": "<=",
    "≥": ">=",
    "…": "...",
    "→": "->",
    "↑": "^",
}
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    name="dnatrace",
    help="Contact tracing with privacy guarantees: simulate, infer, release, audit.",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
# Each is a module here: of one command with that name, or of a group of commands, which is its
# `app`. The command `app` has another module, because the name is taken here.
_LIVE = {"app": "live"}
for name in (
    *("run", "infer", "privacy", "audit", "attack", "dataset", "train", "evaluate", "certify"),
    *("export", "sweep", "plan", "reproduce", "report", "app", "list", "config", "doctor"),
):
    module = import_module(f"dnatrace.cli.{_LIVE.get(name, name)}")
    if isinstance(getattr(module, "app", None), typer.Typer):
        app.add_typer(module.app, name=name)
    else:
        app.command(name, cls=Command)(getattr(module, name))


def main() -> None:
    """Run the command line; exit with 0 for success, 1 for failure, 2 for wrong input."""
    _open_streams()
    _make_legible()
    _widen_help()
    try:
        code = app(standalone_mode=False, prog_name="dnatrace")
        sys.stdout.flush()
    except InputError as error:
        _fail(str(error), 2)
    except MemoryError as error:
        _fail(f"not enough memory for this many people, days or contacts: {error}", 2)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output is gone; nobody is left to tell
        sys.exit(1)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            _drop_output()
            _fail(f"output cannot be written: {error.strerror}", 1)
        boundary = sys.modules.get("dnatrace.privacy.release")  # too slow to import beforehand
        if boundary is not None and isinstance(error, boundary.TrustBoundaryError):
            _fail(str(error), 2)
        if isinstance(error, OSError) and error.filename is not None:
            _fail(f"{os.fsdecode(error.filename)}: {error.strerror}", 2)
        if hasattr(error, "format_message"):  # wrong usage, as reported by the parser
            _fail(_usage(error), 2)
        if type(error).__name__ == "Abort":
            _fail("interrupted", 130)
        raise
    sys.exit(code if isinstance(code, int) else 0)


def _open_streams() -> None:
    """Let output that nobody wants go nowhere: a shell can close it, and then it is None."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123


def _usage(error: Any) -> str:
    """Return what was wrong with a command, with the most similar option."""
    if not getattr(error, "possibilities", None):
        return str(error.format_message())
    similar = nearest(error.option_name, error.possibilities, cutoff=0.0)
    return f"{error.message}; did you mean {similar}?"


def _make_legible() -> None:
    """Spell out letters that the output's encoding lacks (ε: epsilon) rather than fail."""
    codecs.register_error("dnatrace", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="dnatrace")


def _widen_help() -> None:
    """Let help be wider than a narrow terminal, which then wraps it, rather than cut off words."""
    if shutil.get_terminal_size().columns < _NARROW and not os.environ.get("TERMINAL_WIDTH"):
        os.environ["TERMINAL_WIDTH"] = str(_NARROW)


def _spelled(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_spelled_sign, error.object[error.start : error.end])), error.end


def _spelled_sign(sign: str) -> str:
    name = unicodedata.name(sign, "")
    return name.split()[-1].lower() if name.startswith("GREEK") else _SPELLED.get(sign, "?")


def _drop_output() -> None:
    """Drop what still waits for standard output; otherwise Python tries again on exit."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())


def _fail(message: str, code: int) -> None:
    if message:  # empty when help was printed because nothing was asked
        print(f"dnatrace: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
