"""Worker processes that wait for work with everything loaded and compiled.

A worker does one task at a time, reports what happens in it, and can be asked to stop. One that
dies is replaced, and its task is repeated.
"""

import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.sweeps.attempts import MOST_DEATHS
from dnatrace.sweeps.processes import deaf_to_interrupts, die_with_parent, thread_settings

_STOP = "stop"
_PATIENCE_SECONDS = 3.0  # for a worker that was asked to stop, before it is killed

# Given to a function in a worker: reports something to the caller; raises when it is to stop.
Tell = Callable[[Any], None]


class Heard(StrEnum):
    """What a task reports."""

    BEGUN = "begun"
    TOLD = "told"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    AGAIN = "again"


class StoppedError(Exception):
    """The task is no longer wanted."""


@dataclass(slots=True, kw_only=True, eq=False)
class Task:
    """Something for a worker to do.

    Attributes:
        function: at the top of a module; takes a `Tell` and the arguments.
        arguments: its further arguments.
        heard: called, in the thread of the team, with everything that the task reports.
        deaths: how many workers died while doing it.
        stopped_at: when it was asked to stop, by the monotonic clock; None if it was not.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    heard: Callable[[Heard, Any], None]
    deaths: int = 0
    stopped_at: float | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection
    ready: bool = False
    task: Task | None = None

    def send(self, message: Any) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # its death is noticed elsewhere
            self.connection.send(message)


@dataclass(slots=True, eq=False)
class Team:
    """Warm workers, and a thread that hands out tasks and receives their reports.

    Attributes:
        size: how many workers there are.
        warm_up: called by every worker before its first task.
        threads: how many threads each worker has.
    """

    size: int
    warm_up: Callable[[], None]
    threads: int = 1
    _workers: list[_Worker] = field(default_factory=list)
    _waiting: deque[Task] = field(default_factory=deque)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _failed_starts: int = 0
    _why_none: str = ""
    _closing: bool = False
    _closed: bool = False
    _thread: threading.Thread | None = None
    _bell: Any = None
    _news: list[tuple[Task, Heard, Any]] = field(default_factory=list)

    def open(self) -> None:
        """Start the workers, once; they warm up in the background."""
        with self._lock:
            if self._thread is None:
                self._start()

    def _start(self) -> None:
        self._bell = get_context("spawn").Pipe(duplex=False)
        self._thread = threading.Thread(target=self._work, name="team", daemon=True)
        self._thread.start()

    @property
    def n_ready(self) -> int:
        """How many workers are warm."""
        return sum(worker.ready for worker in self._workers)

    @property
    def processes(self) -> list[int]:
        """The ids of the worker processes."""
        return [worker.process.pid or 0 for worker in self._workers]

    def submit(self, task: Task, *, first: bool = False) -> None:
        """Queue a task for a worker; with `first`, ahead of all others."""
        self.open()
        with self._lock:
            closed = self._closed
            if not self._workers:
                self._failed_starts = 0  # the obstacle may be gone
            if first:
                self._waiting.appendleft(task)
            else:
                self._waiting.append(task)
        if closed:  # nobody is there to take it
            task.heard(Heard.STOPPED, None)
        self._ring()

    def stop(self, task: Task) -> None:
        """Ask a task to stop; it reports once more."""
        with self._lock:
            task.stopped_at = time.monotonic()
            if task in self._waiting:
                self._waiting.remove(task)
                self._news.append((task, Heard.STOPPED, None))
            for worker in self._workers:
                if worker.task is task:
                    worker.send(_STOP)
        self._ring()

    def close(self) -> None:
        """End all workers; tasks that are not done are told to be stopped."""
        with self._lock:  # a thread that is there has begun
            self._closing, thread = True, self._thread
        if thread is not None:
            self._ring()
            thread.join()

    def _ring(self) -> None:
        with suppress(OSError):
            self._bell[1].send_bytes(b"!")

    def _work(self) -> None:
        try:
            while not self._closing:
                with self._lock:
                    self._staff()
                    self._hand_out()
                    self._end_deaf()
                    listened = [worker.connection for worker in self._workers]
                self._spread_news()
                for connection in wait([*listened, self._bell[0]], timeout=0.5):
                    self._listen(connection)
                self._spread_news()
        finally:
            for worker in self._workers:
                worker.process.kill()
                worker.process.join()
            with self._lock:
                self._closed = True
                under_way = [worker.task for worker in self._workers if worker.task is not None]
                left = [*under_way, *self._waiting]
                self._news += [(task, Heard.STOPPED, None) for task in left]
            self._spread_news()

    def _spread_news(self) -> None:
        """Pass reports on, outside the lock, so that receivers may call back."""
        with self._lock:
            news, self._news = self._news, []
        for task, kind, content in news:
            task.heard(kind, content)

    def _staff(self) -> None:
        """Start missing workers, unless they die before they begin."""
        while len(self._workers) < self.size and self._failed_starts < MOST_DEATHS:
            try:
                self._workers.append(self._hired())
            except OSError as error:  # no process, memory or file handle is left for it
                self._failed_starts += 1
                self._why_none = f"worker processes cannot be started: {error}"
        while self._waiting and not self._workers:
            self._news.append((self._waiting.popleft(), Heard.FAILED, self._why_none))

    def _hired(self) -> _Worker:
        """Return a worker that is warming up; raise OSError if none can be started."""
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        try:
            arguments = (theirs, self.threads, self.warm_up)
            process = context.Process(target=_serve, args=arguments, daemon=True)
            with deaf_to_interrupts(), thread_settings(self.threads):
                process.start()
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()  # so that the worker's death closes the pipe
        return _Worker(process=process, connection=ours)

    def _hand_out(self) -> None:
        for worker in self._workers:
            if worker.ready and worker.task is None and self._waiting:
                task = worker.task = self._waiting.popleft()
                worker.send((task.function, task.arguments))
                self._news.append((task, Heard.BEGUN, None))

    def _end_deaf(self) -> None:
        """Kill workers that were asked to stop and did not."""
        late = time.monotonic() - _PATIENCE_SECONDS
        for worker in self._workers:
            if worker.task is not None and (worker.task.stopped_at or late) < late:
                worker.process.kill()

    def _listen(self, connection: Any) -> None:
        if connection is self._bell[0]:
            connection.recv_bytes()
            return
        with self._lock:
            worker = next(w for w in self._workers if w.connection is connection)
            message = None
            with suppress(EOFError, OSError):
                message = connection.recv()
            if message is None:
                self._bury(worker)
            else:
                self._hear(worker, *message)

    def _hear(self, worker: _Worker, kind: str, content: Any) -> None:
        if kind == "ready":
            worker.ready, self._failed_starts = True, 0
            return
        task = worker.task
        assert task is not None  # workers report only on their task
        heard = Heard(kind)
        if heard is not Heard.TOLD:
            worker.task = None
        self._news.append((task, heard, content))

    def _bury(self, worker: _Worker) -> None:
        """Forget a worker that died; its task is repeated unless it seems to be the cause."""
        self._workers.remove(worker)
        worker.connection.close()
        worker.process.join()
        if not worker.ready:
            self._failed_starts += 1
            self._why_none = "worker processes end before they begin"
        task, code = worker.task, worker.process.exitcode
        if task is None:
            return
        task.deaths += 1
        if task.stopped_at is not None:
            news: tuple[Heard, Any] = (Heard.STOPPED, None)
        elif task.deaths >= MOST_DEATHS:
            news = (Heard.FAILED, f"{MOST_DEATHS} worker processes died of it (code {code})")
        else:
            news = (Heard.AGAIN, f"A worker process ended (code {code}); its run starts again.")
            self._waiting.appendleft(task)
        self._news.append((task, *news))


def _serve(connection: Connection, threads: int, warm_up: Callable[[], None]) -> None:
    """Be a worker: do what comes through the pipe until it closes."""
    import numba  # noqa: PLC0415 - in the worker, not before

    threading.Thread(target=die_with_parent, daemon=True).start()
    numba.set_num_threads(min(threads, numba.get_num_threads()))
    warm_up()
    with suppress(EOFError, OSError):  # nobody is listening any more
        connection.send(("ready", None))
        while True:
            message = connection.recv()
            if message != _STOP:  # otherwise meant for a task that had just ended
                connection.send(_done(connection, *message))
    os._exit(0)


def _done(
    connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[str, Any]:
    """Do a task and return its final report."""

    def tell(content: Any) -> None:
        if connection.poll() and connection.recv() == _STOP:
            raise StoppedError
        connection.send((Heard.TOLD.value, content))

    try:
        return Heard.DONE.value, function(tell, *arguments)
    except StoppedError:
        return Heard.STOPPED.value, None
    except (InputError, MemoryError) as error:
        return Heard.FAILED.value, str(error) or "not enough memory"
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        words = " ".join(str(error).split())
        return Heard.FAILED.value, f"{type(error).__name__} in {where}: {words}"
