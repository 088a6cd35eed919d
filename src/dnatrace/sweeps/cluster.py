"""Do many runs on a Dask cluster."""

import logging
import re
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from dnatrace.errors import InputError
from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.attempts import Done, Finished, Queue, WorkersLostError, attempt

_CONNECT_SECONDS = "20s"
_ANSWER_SECONDS = 30.0
_ADDRESS = re.compile(r"([a-z]+://)?(\[[^\s\[\]]+\]|[^\s:/\[\]]+):\d{1,5}")  # host:port
_PATIENCE = 60.0  # seconds that a cluster may be without workers
_LOOK, _COUNT = 0.02, 1.0  # seconds between checks for finished runs, and for workers
_GONE = "the Dask scheduler has gone; the same command resumes"
_ONE_AT_A_TIME = threading.Lock()  # a worker's threads belong to one run

_LOG = logging.getLogger(__name__)


def run_on_cluster(
    configs: Sequence[RunConfig], *, address: str, done: Done, patience: float = _PATIENCE
) -> Generator[Finished, None, None]:
    """Yield the outcome of every configuration, run on the cluster at a scheduler's address.

    Two callers of one cluster that want the same run share it. Only as many runs are handed out at
    a time as keep all workers busy, so that runs which another caller finishes are not begun. The
    cluster may be without any worker for `patience` seconds; a warning is logged at once.

    Raises:
        InputError: dask.distributed is not installed, or nothing answers at the address.
        WorkersLostError: the scheduler is gone, or there was no worker for too long.
    """
    client = _connect(address)
    queue = Queue(configs, done)
    try:
        running: dict[str, RunConfig] = {}
        ended = _distributed().as_completed(loop=client.loop)
        while queue.waiting or running:
            room = 2 + 2 * _threads(client)
            while len(running) < room and (config := (yield from queue.next_needed())):
                key = f"dnatrace-{config.digest}-{queue.deaths[config.digest]}"
                running[key] = config
                ended.add(client.submit(attempt_on_cluster, config, key=key))
            if running:
                _await_one(client, ended, address, patience)
                future = next(ended)
                finished = _collect(future, running.pop(future.key), queue)
                if finished is not None:
                    yield finished
    finally:
        client.close(timeout=5)


def attempt_on_cluster(config: RunConfig) -> tuple[dict[str, bytes] | None, str | None]:
    """Run a configuration in a Dask worker, with all of its threads."""
    import numba  # noqa: PLC0415

    with _ONE_AT_A_TIME:
        threads = _distributed().get_worker().state.nthreads
        numba.set_num_threads(min(threads, numba.get_num_threads()))
        return attempt(config)


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise InputError(
            "a cluster needs dask.distributed: pip install 'dnatrace[cluster]'"
        ) from error


def _connect(address: str) -> Any:
    made = _distributed().Client
    if not _ADDRESS.fullmatch(address):
        raise InputError(f"{address}: no Dask scheduler answers: give its port, tcp://host:port")
    client = made.__new__(made)  # so that one whose construction fails can be closed
    try:
        _in_time(lambda: client.__init__(address, timeout=_CONNECT_SECONDS, set_as_default=False))
    except (OSError, ValueError) as error:  # an unknown protocol is a ValueError
        _abandon(client)
        raise InputError(f"{address}: no Dask scheduler answers: {error}") from error
    return client


def _in_time(connect: Callable[[], None]) -> None:
    """Connect, or raise: Dask's own limit ends once somebody listens, even if nobody answers."""
    raised: list[BaseException] = []

    def attempt_it() -> None:
        try:
            connect()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=attempt_it, daemon=True)
    thread.start()
    thread.join(_ANSWER_SECONDS)
    if raised:
        raise raised[0]
    if thread.is_alive():
        raise OSError(f"something listens there and said nothing for {_ANSWER_SECONDS:g} s")


def _abandon(client: Any) -> None:
    """Close a client that never connected; its destructor would wait long and then complain."""
    with suppress(Exception):
        client.close(timeout=1)
    client.status = "closed"


def _threads(client: Any) -> int:
    """Return how many threads the workers of a cluster have."""
    try:
        return sum(client.nthreads().values())
    except OSError as error:  # a closed connection or no answer in time
        raise WorkersLostError(_GONE) from error


def _await_one(client: Any, ended: Any, address: str, patience: float) -> None:
    """Wait until a run has ended, as long as there are workers."""
    alone_since, next_count = None, 0.0
    while not ended.has_ready():
        now = time.monotonic()
        if now >= next_count:
            next_count = now + _COUNT
            if _threads(client):
                alone_since = None
            elif alone_since is None:
                alone_since = now
                _LOG.warning("%s: has no workers; waiting %g s for one", address, patience)
        if alone_since is not None and now - alone_since >= patience:
            raise WorkersLostError(
                f"{address}: no worker for {patience:g} s; the same command resumes"
            )
        time.sleep(_LOOK)


def _collect(future: Any, config: RunConfig, queue: Queue) -> Finished | None:
    distributed = _distributed()
    try:
        files, error = future.result()
    except distributed.KilledWorker:
        return queue.worker_died(config, "on the cluster")
    except distributed.CancelledError as cancelled:
        raise WorkersLostError(_GONE) from cancelled
    except Exception as raised:  # by the worker, not the run: another version, a missing module
        return Finished(config=config, error=f"{type(raised).__name__}: {raised}")
    finally:
        future.release()
    return Finished(config=config, files=files, error=error)
