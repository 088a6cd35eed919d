"""A progress bar on a terminal, plain log lines elsewhere."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress

Item = TypeVar("Item")
Track = Callable[[Iterable[Any], int], Iterable[Any]]
LabelledTrack = Callable[[Iterable[Any], int, str], Iterable[Any]]
_LOG = logging.getLogger(__name__)


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items and show on stderr how far they are; log a line at each tenth elsewhere."""
    if not _LOG.isEnabledFor(logging.INFO):
        yield from items
    elif sys.stderr.isatty():
        # Speed over an hour: runs that take minutes come in too rarely for the usual half minute.
        with Progress(
            console=Console(stderr=True), transient=True, speed_estimate_period=3600.0
        ) as bar:
            yield from bar.track(items, total=total, description=label)
    else:
        start = time.monotonic()
        for done, item in enumerate(items, start=1):
            yield item
            if done * 10 // total > (done - 1) * 10 // total:
                left = (time.monotonic() - start) / done * (total - done)
                _LOG.info("%s: %d of %d, about %s left", label, done, total, _duration(left))


def labelled(track: LabelledTrack | None, label: str) -> Track | None:
    """Return a wrapper of items that always shows the same label; None when there is none."""
    return None if track is None else lambda items, total: track(items, total, label)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
