"""One file per tracing method: window and public facts in, released scores out.

`dt.methods()` lists them. The name is that of this room, too, so the room itself can be called.
"""

import sys
from types import ModuleType


class _Room(ModuleType):
    def __call__(self) -> dict[str, str]:
        """Return every method by name with one line about it, those of other packages included."""
        from dnatrace.methods.catalogue import METHODS  # noqa: PLC0415  (methods import this room)

        return METHODS.described()


sys.modules[__name__].__class__ = _Room
