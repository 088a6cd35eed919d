"""One file per tracing method: window and public facts in, released scores out.

`dt.methods()` lists them. The list has the same name as this package, so the package itself can be
called.
"""

import sys
from types import ModuleType


class _Room(ModuleType):
    def __call__(self) -> dict[str, str]:
        """Return one line about every method, by name, including those of other packages."""
        from dnatrace.methods.catalogue import METHODS  # noqa: PLC0415  (methods import this room)

        return METHODS.described()


sys.modules[__name__].__class__ = _Room
