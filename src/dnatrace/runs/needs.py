"""Estimate, before a run starts, how much memory and time it needs.

Memory is a base for the libraries and compiled kernels, plus, per person, `_PERSON_BYTES + window ·
(_CONTACTS · 4 + bytes of the method)`: contacts take 4 bytes each in the window; what the method
adds for messages, exposures and noisy counts, and how long it takes, its settings say
(`person_day_bytes`, `person_day_microseconds`). Both were measured on the built-in city with a
window of 14 days and two cores, and rounded up; docs/performance.md compares.
"""

import heapq
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dnatrace.errors import InputError
from dnatrace.runs.config import RunConfig

_BASE_BYTES = 0.4e9
_PERSON_BYTES = 600.0
_CONTACTS = 12.6  # per person and day, directed
_LONG = 600.0  # seconds; from here on the estimate is announced
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """An estimate, good to a factor of about two."""

    memory_bytes: float
    seconds: float

    def __str__(self) -> str:
        return f"about {self.memory_bytes / 1e9:,.1f} GB of memory and {_duration(self.seconds)}"


def estimate(config: RunConfig) -> Needs:
    """Return what a run needs; unknown for a simulator that decides the number of people itself."""
    people, method = config.n_people or 0, config.method
    per_person = _PERSON_BYTES + config.seir.window * (_CONTACTS * 4 + method.person_day_bytes)
    return Needs(
        memory_bytes=_BASE_BYTES + people * per_person,
        seconds=people * config.days * method.person_day_microseconds / 1e6,
    )


def check(configs: Sequence[RunConfig], *, at_once: int = 1, yes: bool = False) -> None:
    """Announce what runs need if they are long, and refuse if memory is too small.

    `at_once` runs share the memory; `yes` starts them regardless.
    """
    each = [estimate(config) for config in configs]
    needs = Needs(
        memory_bytes=sum(heapq.nlargest(at_once, (one.memory_bytes for one in each))),
        seconds=sum(one.seconds for one in each),
    )
    free = free_memory()
    if free is not None and needs.memory_bytes > free and not yes:
        most = max((config.n_people or 0 for config in configs), default=0)
        raise InputError(
            f"{most:,} people need {needs}, and {free / 1e9:,.1f} GB are free; --yes starts anyway"
        )
    if needs.seconds > _LONG:
        _LOG.info("needs %s", needs)


def free_memory() -> float | None:
    """Return how many bytes this process could still allocate; None if unknown."""
    found = []
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        found += [int(x.split()[1]) * 1024.0 for x in lines if x.startswith("MemAvailable")]
    with suppress(OSError, ValueError):  # the limit of a container; "max" where there is none
        most, used = (
            int(Path(f"/sys/fs/cgroup/memory.{name}").read_text("ascii"))
            for name in ("max", "current")
        )
        found.append(float(most - used))
    if not found:
        with suppress(AttributeError, OSError, ValueError):
            found.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    return min(found, default=None)


def _duration(seconds: float) -> str:
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {name}"
    return f"{max(seconds, 1.0):.0f} seconds"
