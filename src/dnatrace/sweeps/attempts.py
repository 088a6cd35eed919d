"""Attempt one run at a time in a worker: what local processes and clusters share.

A worker runs a configuration and returns its files as bytes; the caller writes them. So no worker
touches a store, and one that dies loses nothing but its current run, which another worker repeats.
"""

import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path

from dnatrace.errors import InputError
from dnatrace.runs.config import RunConfig

MOST_DEATHS = 3  # of workers during one run, before the run is taken to be the cause

# Asked before a run begins; True means that it is no longer needed.
Done = Callable[[RunConfig], bool]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finished:
    """The outcome of a run.

    Attributes:
        config: the configuration to run.
        files: its files by name; None when it failed or was not needed.
        error: why it failed, in one line; None when it did not.
    """

    config: RunConfig
    files: dict[str, bytes] | None = None
    error: str | None = None


class WorkersLostError(RuntimeError):
    """No worker is available any more; finished runs are kept."""


def attempt(config: RunConfig) -> tuple[dict[str, bytes] | None, str | None]:
    """Run a configuration and return its files, or what went wrong in one line."""
    from dnatrace.runs import run as runs  # noqa: PLC0415 - in the worker, not before
    from dnatrace.runs import store  # noqa: PLC0415 - in the worker, not before

    try:
        return store.render(runs.run(config)), None
    except InputError as error:
        return None, str(error)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return None, f"{type(error).__name__} in {where}: {' '.join(str(error).split())}"


class Queue:
    """Runs that wait for a worker.

    Attributes:
        waiting: the runs in the order in which they begin.
        deaths: how many workers died during a run, by digest.
    """

    def __init__(self, configs: Iterable[RunConfig], done: Done) -> None:
        self.waiting = deque(configs)
        self.deaths: Counter[str] = Counter()
        self._done = done

    def next_needed(self) -> Generator[Finished, None, RunConfig | None]:
        """Return the next run, None when there is none; yield those that are no longer needed."""
        while self.waiting:
            config = self.waiting.popleft()
            if not self._done(config):
                return config
            yield Finished(config=config)
        return None

    def worker_died(self, config: RunConfig, how: str) -> Finished | None:
        """Put a run back into the queue; after too many deaths of workers it has failed."""
        self.deaths[config.digest] += 1
        if self.deaths[config.digest] < MOST_DEATHS:
            self.waiting.appendleft(config)
            return None
        return Finished(config=config, error=f"{MOST_DEATHS} workers died of it ({how})")
