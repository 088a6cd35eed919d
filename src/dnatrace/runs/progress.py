"""A progress bar on a terminal, plain log lines elsewhere."""

import functools
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from numba.core import event
from rich.console import Console
from rich.progress import Progress

from dnatrace.errors import InputError, shown

Item = TypeVar("Item")
# Wraps a number of items, for instance with a progress bar.
Track = Callable[[Iterable[Any], int], Iterable[Any]]
LabelledTrack = Callable[[Iterable[Any], int, str], Iterable[Any]]
_LOG = logging.getLogger(__name__)


def labelled(track: LabelledTrack | None, label: str) -> Track | None:
    """Return a wrapper of items with a fixed label; None if there is nothing to wrap with."""
    return None if track is None else lambda items, total: track(items, total, label)


def tracked(track: Track | None, items: Iterable[Item], total: int) -> Iterable[Item]:
    """Return items wrapped by what a caller gave, or as they are without it."""
    if track is None:
        return items
    wrapped: Any = track(items, total)
    if not isinstance(wrapped, Iterable):
        told = "track must return what yields the days or runs it is given, not"
        raise InputError(f"{told} {shown(wrapped)}")
    return wrapped


def tracker(label: str) -> Track:
    """Return `track` for items that have a name."""
    return lambda items, total: track(items, total, label)


def track(
    items: Iterable[Item], total: int, label: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[Item]:
    """Yield the items and show progress on stderr; without a terminal, log every tenth.

    The time left is estimated from the second item on: kernels are compiled during the first.
    """
    if not _LOG.isEnabledFor(logging.INFO):
        yield from items
    elif sys.stderr.isatty():
        # Average speed over an hour: runs that take minutes finish too rarely for the usual half
        # minute.
        with Progress(
            console=Console(stderr=True),
            transient=True,
            speed_estimate_period=3600.0,
            get_time=clock,
        ) as bar:
            task = bar.add_task(label, total=total)
            for item in items:
                yield item
                bar.advance(task)  # the speed is measured from the first advance on
    else:
        first = 0.0
        for done, item in enumerate(items, start=1):
            yield item
            if done == 1:
                first = clock()
            if done * 10 // total > (done - 1) * 10 // total:
                left = _time_left(clock() - first, done, total)
                _LOG.info("%s: %d of %d%s", label, done, total, left)


def _time_left(since_first: float, done: int, total: int) -> str:
    """Return what to say about the time left; "" after the first item and after the last."""
    if not 1 < done < total:
        return ""
    minutes, seconds = divmod(round(since_first / (done - 1) * (total - done)), 60)
    return f", about {minutes} min {seconds:02d} s left" if minutes else f", about {seconds} s left"


@functools.cache
def announce_compilation() -> None:
    """Log one line, once per process, when a kernel of the package has to be compiled.

    Numba reports compilations only, not kernels that it finds in its cache.
    """
    event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


class _Announcer(event.Listener):
    """Log the first compilation of a kernel of this package."""

    def __init__(self) -> None:
        self._told = False

    def on_start(self, event: event.Event) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if not self._told and module.startswith("dnatrace."):
            self._told = True
            _LOG.info(
                "compiling on first use: ten seconds to a minute, more on a busy machine; kept"
            )

    def on_end(self, event: event.Event) -> None:
        """Do nothing: the start was announced."""
