"""The one exception that says that the input is wrong, and where."""

import difflib
import os
import reprlib
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any


class InputError(ValueError):
    """A wrong file, option, id or value, named in one line; the command line exits with 2."""


_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 10
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def shown(value: Any) -> str:
    """Return a value in one short line, as messages quote it; of a large array, its shape."""
    text, shape = _SHORT.repr(value), getattr(value, "shape", None)
    if isinstance(shape, tuple) and ("\n" in text or "..." in text):
        return f"a value of type {type(value).__name__} and shape {list(shape)}"
    return " ".join(text.split())


def require_number(**values: Any) -> None:
    """Raise unless every value is a number; texts, booleans and arrays are not."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise InputError(f"{name} must be a number, not {shown(value)}")


def closest(given: object, known: Iterable[str], *, within: str = "") -> str:
    """Return "; did you mean 'x'?" for the most similar known name, or "" if none is similar."""
    close = nearest(str(given), known)
    return f"; did you mean '{within}{close}'?" if close is not None else ""


def nearest(given: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name that was probably meant, or None if none is similar.

    A dotted name that ends with what was given comes first, then one that begins with it, then the
    most similar one, if difflib's ratio is at least `cutoff`.
    """
    names = list(dict.fromkeys(known))
    ending = [name for name in names if name.endswith(f".{given}")]
    begun = [name for name in names if name.startswith(given)] if len(given) > 1 else []
    alike = difflib.get_close_matches(given, begun or names, n=1, cutoff=0.0 if begun else cutoff)
    return next(iter(ending + alike), None)


def require_share(name: str, value: float) -> None:
    """Raise unless `value` is a number in [0, 1]."""
    require_number(**{name: value})
    if not 0.0 <= value <= 1.0:  # also catches NaN
        raise InputError(f"{name} must be a fraction between 0 and 1, not {value}")


def require_at_least(name: str, value: float, least: float) -> None:
    """Raise unless `value` is a number of at least `least`."""
    require_number(**{name: value})
    if not value >= least:  # also catches NaN
        raise InputError(f"{name} must be at least {least}, not {value}")


def require_between(name: str, value: float, least: float, most: float) -> None:
    """Raise unless `value` is a number from `least` to `most`."""
    require_number(**{name: value})
    if not least <= value <= most:  # also catches NaN
        raise InputError(f"{name} must be between {least} and {most}, not {value}")


def require_whole(**values: Any) -> None:
    """Raise unless every value is a whole number or None."""
    for name, value in values.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, Integral)):
            raise InputError(f"{name} must be a whole number, not {shown(value)}")


def require_whole_given(**values: Any) -> None:
    """Raise unless every value is a whole number; None is none."""
    for name, value in values.items():
        if value is None:
            raise InputError(f"{name} must be a whole number, not None")
    require_whole(**values)


def require_kind(name: str, value: Any, kind: type) -> None:
    """Raise unless a value is an instance of a class or None."""
    if value is not None and not isinstance(value, kind):
        raise InputError(f"{name} must be a {kind.__name__}, not {shown(value)}")


def is_readable(text: str) -> bool:
    """Tell whether a text has no bytes that the encoding of the shell could not read."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def require_text(**values: Any) -> None:
    """Raise unless every value is a text or None."""
    for name, value in values.items():
        if not isinstance(value, str | None):
            raise InputError(f"{name} must be a text, not {shown(value)}")


def require_path(**values: Any) -> None:
    """Raise unless every value is the path of a file or directory, or None."""
    for name, value in values.items():
        if not isinstance(value, str | os.PathLike | None):
            raise InputError(f"{name} must be a path, not {shown(value)}")
        if value == "":
            raise InputError(f"{name} is empty, expected a path")
        if value is not None and (home := os.path.expanduser(value)) != os.fspath(value):  # noqa: PTH111
            raise InputError(
                f"{name}: {shown(os.fspath(value))} begins with the home directory as a shell has "
                f"it: give {shown(home)}, as Path.expanduser() does"
            )


def require_callable(**values: Any) -> None:
    """Raise unless every value is a function or None."""
    for name, value in values.items():
        if value is not None and not callable(value):
            raise InputError(f"{name} must be a function, not {shown(value)}")
