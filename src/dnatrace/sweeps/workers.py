"""Do many runs: in processes of this machine, or on a Dask cluster.

A worker runs a configuration and returns its files as bytes; whoever asked writes them. So no
worker touches a store, and one that dies takes nothing with it but the run it was at, which another
worker does again.
"""

import logging
import os
import signal
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.runs.config import RunConfig

MOST_DEATHS = 3  # of workers at one run, before the run is held to be the cause
_THREAD_SETTINGS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_CONNECT_SECONDS = "20s"
_PATIENCE = 60.0  # seconds that a cluster may be without workers
_LOOK, _COUNT = 0.02, 1.0  # seconds between looks for a finished run, and for workers

_LOG = logging.getLogger(__name__)

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


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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


# --- processes of this machine -------------------------------------------------------------------


@dataclass(slots=True, kw_only=True, eq=False)
class _Worker:
    """A process and what it is at."""

    process: BaseProcess
    connection: Connection
    ready: bool = False
    config: RunConfig | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class _Team:
    """Worker processes that are replaced when they die."""

    threads: int
    workers: list[_Worker] = field(default_factory=list)
    stillborn: int = 0

    def hire(self) -> None:
        """Start another worker."""
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self.threads), daemon=True)
        with deaf_to_interrupts(), thread_settings(self.threads):
            process.start()
        theirs.close()  # so that the worker's death closes the pipe
        self.workers.append(_Worker(process=process, connection=ours))

    def bury(self, worker: _Worker) -> int | None:
        """Forget a worker that died and return its exit code.

        Raises:
            WorkersLostError: workers die before they are ready, so that more would not help.
        """
        self.workers.remove(worker)
        worker.connection.close()
        worker.process.join()
        self.stillborn = 0 if worker.ready else self.stillborn + 1
        if self.stillborn >= MOST_DEATHS:
            raise WorkersLostError(
                "worker processes end before they begin (a script that starts runs in processes "
                'must do so under `if __name__ == "__main__":`)'
            )
        return worker.process.exitcode

    def dismiss(self) -> None:
        """End all workers at once; they hold nothing that would be lost."""
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.join()
            worker.connection.close()


def run_locally(
    configs: Sequence[RunConfig], *, workers: int, threads: int, done: Done
) -> Generator[Finished, None, None]:
    """Yield what came of every configuration, in the order in which runs end.

    Args:
        configs: what to run.
        workers: processes.
        threads: of each process.
        done: asked before a run is begun; True means that it is not needed any more.

    Raises:
        WorkersLostError: no worker can be started.
    """
    waiting = deque(configs)
    deaths: Counter[str] = Counter()
    team = _Team(threads=threads)
    try:
        while waiting or any(w.config for w in team.workers):
            while len(team.workers) < min(workers, len(waiting) + _busy(team)):
                team.hire()
            for worker in [w for w in team.workers if w.ready and w.config is None]:
                yield from _hand_out(worker, waiting, done)
            for connection in wait([w.connection for w in team.workers], timeout=1.0):
                worker = next(w for w in team.workers if w.connection is connection)
                finished = _hear(worker, team, waiting, deaths)
                if finished is not None:
                    yield finished
    finally:
        team.dismiss()


def _busy(team: _Team) -> int:
    return sum(worker.config is not None for worker in team.workers)


def _hand_out(worker: _Worker, waiting: deque[RunConfig], done: Done) -> Iterator[Finished]:
    """Give a worker the next run that is needed; yield those that are not."""
    while waiting and worker.config is None:
        config = waiting.popleft()
        if done(config):
            yield Finished(config=config)
            continue
        worker.config = config
        try:
            worker.connection.send(config)
        except (BrokenPipeError, ConnectionResetError):
            return  # it has died; `_hear` will learn of it


def _hear(
    worker: _Worker, team: _Team, waiting: deque[RunConfig], deaths: Counter[str]
) -> Finished | None:
    """Take what a worker says; a worker that died has its run done again."""
    try:
        message = worker.connection.recv()
    except (EOFError, OSError):
        code, config = team.bury(worker), worker.config
        if config is None:
            return None
        deaths[config.digest] += 1
        if deaths[config.digest] < MOST_DEATHS:
            waiting.appendleft(config)
            return None
        return Finished(config=config, error=f"{MOST_DEATHS} workers died of it (exit code {code})")
    if not worker.ready:
        worker.ready = True
        return None
    config, worker.config = worker.config, None
    assert config is not None  # workers speak when they are asked
    files, error = message
    return Finished(config=config, files=files, error=error)


def _serve(connection: Connection, threads: int) -> None:
    """Be a worker: run what comes through the pipe until it closes."""
    import numba  # noqa: PLC0415 - in the worker, not before

    threading.Thread(target=_die_with_parent, daemon=True).start()
    numba.set_num_threads(min(threads, numba.get_num_threads()))
    connection.send("ready")
    while True:
        try:
            connection.send(attempt(connection.recv()))
        except (EOFError, OSError):
            return  # nobody listens any more


def _die_with_parent() -> None:
    """End this process when the one that started it has ended, however it did."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Let processes started in the block not hear Ctrl-C: whoever started them ends them.

    The resource tracker must run before: a process that starts it (the first that is spawned)
    unblocks the signal.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def thread_settings(threads: int) -> Iterator[None]:
    """Let processes started in the block use so many threads, or fewer if the user says so."""
    before = {name: os.environ.get(name) for name in _THREAD_SETTINGS}
    for name, value in before.items():
        given = int(value) if value is not None and value.isdigit() else threads
        os.environ[name] = str(min(threads, given))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# --- a Dask cluster ------------------------------------------------------------------------------

_ONE_AT_A_TIME = threading.Lock()  # a worker's threads belong to one run


def attempt_on_cluster(config: RunConfig) -> tuple[dict[str, bytes] | None, str | None]:
    """Run a configuration in a Dask worker, with all of its threads."""
    import numba  # noqa: PLC0415

    with _ONE_AT_A_TIME:
        numba.set_num_threads(
            min(_distributed().get_worker().state.nthreads, numba.get_num_threads())
        )
        return attempt(config)


def run_on_cluster(
    configs: Sequence[RunConfig], *, address: str, done: Done, patience: float = _PATIENCE
) -> Generator[Finished, None, None]:
    """Yield what came of every configuration, run on the cluster at a scheduler's address.

    Two callers of one cluster that want the same run share it. No more runs are handed out at a
    time than keep all workers busy, so that what another caller finishes is not begun.

    Args:
        configs: what to run.
        address: of the scheduler.
        done: asked before a run is handed out; True means that it is not needed any more.
        patience: seconds that the cluster may be without any worker; a warning is logged at once.

    Raises:
        InputError: dask.distributed is not installed, or nobody answers at the address.
        WorkersLostError: the scheduler has gone, or there was no worker for too long.
    """
    client = _connect(address)
    waiting = deque(configs)
    deaths: Counter[str] = Counter()
    try:
        running: dict[str, RunConfig] = {}
        ended = _distributed().as_completed(loop=client.loop)
        while waiting or running:
            room = 2 + 2 * sum(client.nthreads().values())
            while waiting and len(running) < room:
                config = waiting.popleft()
                if done(config):
                    yield Finished(config=config)
                    continue
                key = f"dnatrace-{config.digest}-{deaths[config.digest]}"
                running[key] = config
                ended.add(client.submit(attempt_on_cluster, config, key=key))
            if running:
                _await_one(client, ended, address, patience)
                future = next(ended)
                finished = _collect(future, running.pop(future.key), waiting, deaths)
                if finished is not None:
                    yield finished
    finally:
        client.close(timeout=5)


def _await_one(client: Any, ended: Any, address: str, patience: float) -> None:
    """Wait until a run has ended, as long as there is somebody to do it."""
    alone_since, next_count = None, 0.0
    while not ended.has_ready():
        now = time.monotonic()
        if now >= next_count:
            next_count = now + _COUNT
            if client.nthreads():
                alone_since = None
            elif alone_since is None:
                alone_since = now
                _LOG.warning("%s: has no workers; waiting %g s for one", address, patience)
        if alone_since is not None and now - alone_since >= patience:
            raise WorkersLostError(
                f"{address}: no worker for {patience:g} s; the same command goes on"
            )
        time.sleep(_LOOK)


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise InputError(
            "a cluster needs dask.distributed: pip install 'dnatrace[cluster]'"
        ) from error


def _connect(address: str) -> Any:
    try:
        return _distributed().Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise InputError(f"{address}: no Dask scheduler answers: {error}") from error


def _collect(
    future: Any, config: RunConfig, waiting: deque[RunConfig], deaths: Counter[str]
) -> Finished | None:
    distributed = _distributed()
    try:
        files, failure = future.result()
    except distributed.KilledWorker:
        deaths[config.digest] += 1
        if deaths[config.digest] < MOST_DEATHS:
            waiting.append(config)
            return None
        return Finished(config=config, error=f"workers died of it {MOST_DEATHS} times")
    except distributed.CancelledError as error:
        raise WorkersLostError("the Dask scheduler has gone; the same command goes on") from error
    except Exception as error:  # of the worker, not of the run: another version, a lost module
        return Finished(config=config, error=f"{type(error).__name__}: {error}")
    finally:
        future.release()
    return Finished(config=config, files=files, error=failure)
