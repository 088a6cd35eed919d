"""One run at a time, attempted by a worker wherever it is: what processes and clusters share.

A worker runs a configuration and returns its files as bytes; whoever asked writes them. So no
worker touches a store, and one that dies takes nothing with it but the run it was at, which another
worker does again.
"""

import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path

from dnatrace.errors import InputError
from dnatrace.runs.config import RunConfig

MOST_DEATHS = 3  # of workers at one run, before the run is held to be the cause

# Asked before a run is begun; True means that it is not needed any more.
Done = Callable[[RunConfig], bool]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finished:
    """What came of a run.

    Attributes:
        config: what was to be run.
        files: what it gave, by name; None when it failed or was not needed.
        error: why it failed, in one line; None when it did not.
    """

    config: RunConfig
    files: dict[str, bytes] | None = None
    error: str | None = None


class WorkersLostError(RuntimeError):
    """No worker can be had any more; what was finished is kept."""


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
        waiting: in the order in which they are begun.
        deaths: how many workers died at a run, by digest.
    """

    def __init__(self, configs: Iterable[RunConfig], done: Done) -> None:
        self.waiting = deque(configs)
        self.deaths: Counter[str] = Counter()
        self._done = done

    def next_needed(self) -> Generator[Finished, None, RunConfig | None]:
        """Return the next run, None when there is none; yield those not needed any more."""
        while self.waiting:
            config = self.waiting.popleft()
            if not self._done(config):
                return config
            yield Finished(config=config)
        return None

    def worker_died(self, config: RunConfig, how: str) -> Finished | None:
        """Let a run wait again; one at which too many workers died has failed."""
        self.deaths[config.digest] += 1
        if self.deaths[config.digest] < MOST_DEATHS:
            self.waiting.appendleft(config)
            return None
        return Finished(config=config, error=f"{MOST_DEATHS} workers died of it ({how})")
