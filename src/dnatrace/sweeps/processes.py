"""Do many runs in processes on this machine."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from multiprocessing import current_process, get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.attempts import (
    MOST_DEATHS,
    Done,
    Finished,
    Queue,
    WorkersLostError,
    attempt,
)

_THREAD_SETTINGS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(slots=True, kw_only=True, eq=False)
class _Worker:
    """A process and its current run."""

    process: BaseProcess
    connection: Connection
    ready: bool = False
    config: RunConfig | None = None

    def begin(self, config: RunConfig) -> None:
        """Hand a run to the process."""
        self.config = config
        with suppress(BrokenPipeError, ConnectionResetError):  # `_receive` will notice its death
            self.connection.send(config)


@dataclass(slots=True, kw_only=True, eq=False)
class _Team:
    """Worker processes that are replaced when they die."""

    threads: int
    workers: list[_Worker] = field(default_factory=list)
    failed_starts: int = 0  # in a row

    @property
    def n_busy(self) -> int:
        """How many workers are busy with a run."""
        return sum(worker.config is not None for worker in self.workers)

    def start_worker(self) -> None:
        """Start another worker."""
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self.threads), daemon=True)
        with deaf_to_interrupts(), thread_settings(self.threads), _no_file_that_is_gone():
            process.start()
        theirs.close()  # so that the worker's death closes the pipe
        self.workers.append(_Worker(process=process, connection=ours))

    def remove(self, worker: _Worker) -> int | None:
        """Forget a worker that died and return its exit code.

        Raises:
            WorkersLostError: workers die before they are ready, so that starting more would not
                help.
        """
        self.workers.remove(worker)
        worker.connection.close()
        worker.process.join()
        self.failed_starts = 0 if worker.ready else self.failed_starts + 1
        if self.failed_starts >= MOST_DEATHS:
            raise WorkersLostError(
                "worker processes end before they begin (a script that starts runs in processes "
                'must do so under `if __name__ == "__main__":`)'
            )
        return worker.process.exitcode

    def stop(self) -> None:
        """End all workers at once; nothing they hold would be lost."""
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.join()
            worker.connection.close()


@dataclass(slots=True, kw_only=True, eq=False)
class _Shared:
    """A team that outlives a batch of runs."""

    team: _Team | None = None

    def of(self, threads: int) -> _Team:
        """Return the existing team, or a new one for another number of threads."""
        if self.team is None or self.team.threads != threads:
            self.stop()
            self.team = _Team(threads=threads)
        return self.team

    def stop(self) -> None:
        """End the workers."""
        if self.team is not None:
            self.team.stop()
        self.team = None


_SHARED: ContextVar[_Shared | None] = ContextVar("dnatrace_workers", default=None)


@contextmanager
def workers_stay() -> Iterator[None]:
    """Let batches of runs in the block share their workers, which end after it.

    A worker takes seconds to start. Its results do not depend on what it did before.
    """
    shared = _Shared()
    token = _SHARED.set(shared)
    try:
        yield
    finally:
        _SHARED.reset(token)
        shared.stop()


def run_locally(
    configs: Sequence[RunConfig], *, workers: int, threads: int, done: Done
) -> Generator[Finished, None, None]:
    """Yield the outcome of every configuration, in the order in which runs end.

    Raises:
        WorkersLostError: no worker can be started.
    """
    if getattr(current_process(), "_inheriting", False):
        os._exit(1)  # a worker that reruns its caller's script; the caller learns why it ended
    queue, shared = Queue(configs, done), _SHARED.get()
    team = shared.of(threads) if shared is not None else _Team(threads=threads)
    try:
        while queue.waiting or team.n_busy:
            while len(team.workers) < min(workers, len(queue.waiting) + team.n_busy):
                team.start_worker()
            for worker in team.workers:
                if worker.ready and worker.config is None:
                    config = yield from queue.next_needed()
                    if config is not None:
                        worker.begin(config)
            for connection in wait([w.connection for w in team.workers], timeout=1.0):
                worker = next(w for w in team.workers if w.connection is connection)
                finished = _receive(worker, team, queue)
                if finished is not None:
                    yield finished
    finally:
        if shared is None:
            team.stop()
        elif queue.waiting or team.n_busy:  # interrupted: nobody would take their results
            shared.stop()


def _receive(worker: _Worker, team: _Team, queue: Queue) -> Finished | None:
    """Take a worker's answer; if the worker died, its run is repeated."""
    message = None
    with suppress(EOFError, OSError):
        message = worker.connection.recv()
    if message is None:  # it has died
        how = f"exit code {team.remove(worker)}"
        return queue.worker_died(worker.config, how) if worker.config else None
    if not worker.ready:
        worker.ready = True
        return None
    config, worker.config = worker.config, None
    assert config is not None  # workers only answer requests
    files, error = message
    return Finished(config=config, files=files, error=error)


def _serve(connection: Connection, threads: int) -> None:
    """Be a worker: run what comes through the pipe until it closes."""
    import numba  # noqa: PLC0415 - in the worker, not before

    threading.Thread(target=die_with_parent, daemon=True).start()
    logging.getLogger("dnatrace").setLevel(logging.ERROR)  # the sweep says it once for all runs
    numba.set_num_threads(min(threads, numba.get_num_threads()))
    connection.send("ready")
    while True:
        try:
            connection.send(attempt(connection.recv()))
        except (EOFError, OSError):
            return  # nobody is listening any more


def die_with_parent() -> None:
    """End this process when the one that started it has ended, for whatever reason."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Let processes started in the block ignore Ctrl-C: their parent ends them.

    The resource tracker must already be running: a process that starts it (the first one spawned)
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
def _no_file_that_is_gone() -> Iterator[None]:
    """Let processes started in the block not look for a script that is not in a file.

    A script on standard input says that its file is `<stdin>`; workers would fail to open it.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or Path(file).exists():
        yield
        return
    del main.__file__
    try:
        yield
    finally:
        main.__file__ = file


@contextmanager
def thread_settings(threads: int) -> Iterator[None]:
    """Let processes started in the block use this many threads, or fewer if the user says so."""
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
