"""Turn a function into a command: common options, the set-up, the answer."""

import functools
import inspect
import json
import logging
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Exit, Option
from typer.core import TyperCommand, TyperGroup

from dnatrace.cli._light import light_help
from dnatrace.errors import InputError, is_readable

if TYPE_CHECKING:
    from rich.table import Table

Json = Annotated[bool, Option("--json", help="Print one JSON object on stdout.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No log lines on stderr.")]
Force = Annotated[bool, Option("--force", help="Replace an existing file.")]
Threads = Annotated[
    int | None, Option("--threads", min=1, help="Threads to use; all cores by default.")
]

_SHORT = 20  # characters: a number with its interval stays on one line


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a command.

    Attributes:
        values: the values that --json prints.
        shown: what a person reads: texts, tables, or functions that print.
        indent: the indentation of the JSON; None for one line.
        failed: whether the exit code is 1.
        failures: lines for standard error, even when quiet; the exit code is then 1.
    """

    values: Any
    shown: "Sequence[str | Table | Callable[[], None]]" = ()
    indent: int | None = None
    failed: bool = False
    failures: Sequence[str] = ()


def command(
    *, threads: bool = False, kernels: bool = False
) -> Callable[[Callable[..., Answer]], Callable[..., None]]:
    """Turn a function that returns an answer into a command: add --json and -q, set up, print.

    Args:
        threads: whether it has --threads, which implies that it runs kernels.
        kernels: whether it runs compiled kernels, so that it says when they are compiled.
    """

    def decorate(function: Callable[..., Answer]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(
            *arguments: Any,
            as_json: bool | None = None,
            quiet: bool | None = None,
            n_threads: int | None = None,
            **options: Any,
        ) -> None:
            set_up(bool(quiet), n_threads)
            if as_json and options.get("csv"):
                raise InputError("--csv, --json: choose one of them")
            if threads or kernels:
                from dnatrace.runs.progress import announce_compilation

                announce_compilation()
            try:
                answer = function(*arguments, **options)
            except KeyboardInterrupt:
                print("dnatrace: interrupted", file=sys.stderr)
                raise Exit(130) from None
            _give(answer, bool(as_json))

        shared = {"as_json": Json, "quiet": Quiet} | ({"n_threads": Threads} if threads else {})
        return with_options(run, function, shared)

    return decorate


def with_options(
    run: Callable[..., Any], function: Callable[..., Any], options: dict[str, Any], hidden: str = ""
) -> Callable[..., Any]:
    """Tell the parser that `run` takes the parameters of a function, except one, plus options."""
    names = [p for p in inspect.signature(function).parameters.values() if p.name != hidden]
    names += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=None)
        for name, kind in options.items()
    ]
    by_name = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in names]
    run.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in by_name}
    return run


def _without_types(parameters: list[Any]) -> list[Any]:
    """Return options in which flags such as `--json` show no type, because they take no value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


_OF_THIS_SHELL = frozenset({"--show-completion", "--install-completion"})
_MAY_BE_EMPTY = "--label"  # an empty label removes that of a stored run


def _refuse_empty(given: Sequence[str], flags: Collection[str]) -> None:
    """Raise if a value is empty.

    `--out "$OUT"` with an unset variable would write to the current directory. `flags` take none.
    """
    for before, value in zip(("", *given), given, strict=False):
        name = value.removesuffix("=")
        if not value and before != _MAY_BE_EMPTY:
            culprit = before if before.startswith("-") and before not in flags else "an argument"
            raise InputError(f"{culprit} is empty")
        if name != value and name.startswith("--") and "=" not in name and name != _MAY_BE_EMPTY:
            raise InputError(f"{name} is empty")


def _refuse_unreadable(given: dict[str, Any]) -> None:
    """Raise if a value has bytes that are no text here, unless it is a file that exists.

    A file can be read under any name; whatever else is given ends up in texts and in new files.
    """
    for name, values in given.items():
        for value in values if isinstance(values, list | tuple) else (values,):
            if not isinstance(value, str | Path) or is_readable(str(value)):
                continue
            if not (isinstance(value, Path) and value.exists()):
                why = f"the encoding of this shell cannot read {str(value)!r}"
                raise InputError(f"{name.replace('_', '-')}: {why}; LC_ALL=C.UTF-8 may")


def _refuse_fraction(option: Any, text: Any) -> None:
    """Raise for a whole number with a point: 500.000 is half a million to many, and was 500."""
    kind = getattr(getattr(option, "type_descriptor", None), "annotation", None)
    if kind is int and isinstance(text, str) and "." in text:
        name = max(option.opts, key=len)
        raise InputError(f"{name}: {text!r} is not a whole number; large ones may be as 500_000")


def _from_home(value: Any) -> Any:
    """Return a path with the home directory for ~, as in `--out=~/runs`, where no shell puts it."""
    return value.expanduser() if isinstance(value, Path) else value


def _tell_repeated(order: Sequence[Any]) -> None:
    """Say which options were given several times although one value counts, the last."""
    single = [option for option in order if not (option.multiple or option.nargs != 1)]
    for option in dict.fromkeys(single):
        times = single.count(option)
        if times > 1 and not option.is_flag:
            name = max(option.opts, key=len)
            message = f"warning: {name} is given {times} times; the last one counts"
            print(message, file=sys.stderr)


def _joined(text: str) -> str:
    """Return a text whose paragraphs are one line each, for the terminal to wrap."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


class Command(TyperCommand):
    """A command whose help shows flags as flags, and that refuses empty and unreadable values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was given."""
        flags = {
            one
            for p in self.params
            if getattr(p, "is_flag", False)
            for one in (*p.opts, *p.secondary_opts)
        }
        _refuse_empty(args, flags)
        given = list(args)
        rest = super().parse_args(ctx, args)
        _refuse_unreadable(ctx.params)
        ctx.params = {name: _from_home(value) for name, value in ctx.params.items()}
        texts, _, order = self.make_parser(ctx).parse_args(given)
        for option in self.params:
            _refuse_fraction(option, texts.get(option.name))
        if not ctx.params.get("quiet"):
            _tell_repeated(order)
        return rest

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its options and arguments."""
        return _without_types(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write its help."""
        self.help = _joined(self.help or "")
        with light_help():
            super().format_help(ctx, formatter)


class Group(TyperGroup):
    """A group of commands whose help shows flags as flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its options."""
        return _without_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was given; scripts of completion are those of the shell that runs this."""
        for option in _OF_THIS_SHELL.intersection(args) if len(args) > 1 else ():
            raise InputError(f"{option} stands alone: it is for the shell in which it runs")
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write its help."""
        with light_help():
            super().format_help(ctx, formatter)


class _Stderr(logging.StreamHandler[Any]):
    """Log to the current stderr: above the progress bar while one is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def set_up(quiet: bool, threads: int | None) -> None:
    """Set up logging, warnings and threads for a command."""
    level = logging.ERROR if quiet else logging.INFO
    logging.basicConfig(level=level, format="%(message)s", handlers=[_Stderr()])
    logging.captureWarnings(True)
    warnings.showwarning = lambda message, *_: logging.getLogger("dnatrace").warning(
        "warning: %s", message
    )
    if threads is not None:
        import numba

        most = numba.get_num_threads()
        if threads > most:
            raise InputError(f"--threads {threads}: this machine offers {most}")
        numba.set_num_threads(threads)


def _give(answer: Answer, as_json: bool) -> None:
    """Print an answer, and end with exit code 1 if it reports a failure."""
    if as_json:
        print(json.dumps(answer.values, allow_nan=False, indent=answer.indent))
    else:
        _show(answer.shown)
    for failure in answer.failures:
        print(f"dnatrace: {failure}", file=sys.stderr)
    if answer.failed or answer.failures:
        raise Exit(1)


def _show(parts: "Sequence[str | Table | Callable[[], None]]") -> None:
    from dnatrace.runs.console import print_table

    for part in parts:
        if isinstance(part, str):
            print(part)
        elif callable(part):
            part()
        else:
            print_table(part)


def table(rows: Sequence[dict[str, Any]]) -> "Table":
    """Return rows as a table with column headings."""
    from rich.markup import escape
    from rich.table import Table

    made = Table()
    for column in rows[0] if rows else ():
        longest = max(len(_text(row[column])) for row in rows)
        made.add_column(column, justify="right", min_width=longest if longest <= _SHORT else None)
    for row in rows:
        made.add_row(*(escape(_text(value)) for value in row.values()))
    return made


def _text(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Say which extra is missing when an import in the block fails without it."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("dnatrace"):
            raise
        message = f"{what} needs {error.name}: pip install 'dnatrace[{extra}]'"
        raise InputError(message) from error
