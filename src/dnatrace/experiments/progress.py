"""A progress bar on a terminal, plain log lines elsewhere."""

import logging
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress

Item = TypeVar("Item")
_LOG = logging.getLogger(__name__)


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items and show on stderr how far they are; log a line at each tenth elsewhere."""
    if not _LOG.isEnabledFor(logging.INFO):
        yield from items
    elif sys.stderr.isatty():
        with Progress(console=Console(stderr=True), transient=True) as bar:
            yield from bar.track(items, total=total, description=label)
    else:
        for done, item in enumerate(items, start=1):
            yield item
            if done * 10 // total > (done - 1) * 10 // total:
                _LOG.info("%s: %d of %d", label, done, total)
