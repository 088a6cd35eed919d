"""A process that holds one OpenABM-Covid19 model and answers requests, and the line to it.

The simulator has one global random generator, writes to standard output and ends its process when
it cannot continue. With one process per model, several models do not disturb each other, their
output stays out of ours, and the end of a process is an error we can report.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable
from typing import IO, Any

from dnatrace.errors import InputError

_START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from dnatrace.simulators._openabm_process import serve; serve()"
)

_PIPE_BYTES = 2**20  # a day of 10,000 people in one piece, where the system allows it


class Line:
    """A child process and the requests it answers; it ends when this object is collected."""

    def __init__(self) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 -- closed by the finaliser
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            pipesize=_PIPE_BYTES,
        )
        self.close = weakref.finalize(self, _end, self._process, self._output)
        self._send(sys.path)

    def ask(self, request: str, **arguments: Any) -> Any:
        """Send a request and wait for its answer.

        Raises:
            InputError: what the child says is wrong, or its last words when it has ended.
        """
        self._send((request, arguments))
        try:
            good, answer = pickle.load(self._process.stdout)  # type: ignore[arg-type]
        except (EOFError, pickle.UnpicklingError):
            raise self._ended() from None
        if not good:
            raise InputError(answer)
        return answer

    def _send(self, message: Any) -> None:
        pipe = self._process.stdin
        try:
            pickle.dump(message, pipe, protocol=5)  # type: ignore[arg-type]
            pipe.flush()  # type: ignore[union-attr]
        except BrokenPipeError:
            raise self._ended() from None

    def _ended(self) -> InputError:
        self._process.wait()
        self._output.seek(0)
        lines = self._output.read().decode(errors="replace").strip().splitlines()
        code = self._process.returncode
        return InputError(
            f"simulator openabm: OpenABM-Covid19 ended (code {code}): "
            + (lines[-1] if lines else "it gave no reason")
        )


def _end(process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
    process.terminate()  # it holds nothing that must be saved
    process.wait()
    output.close()


def serve() -> None:
    """Answer requests from standard input on standard output until it closes."""
    from dnatrace.simulators import _openabm_model  # noqa: PLC0415 -- the parent never needs it

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the simulator prints must not mix with the answers
    model: list[_openabm_model.Model] = []

    def build(**options: Any) -> Any:
        model.append(_openabm_model.Model(**options))
        return (model[0].states(), *model[0].ages_and_households())

    def advance(isolated: Any, away: Any) -> Any:
        model[0].isolate(isolated, away)
        model[0].step()
        return (*model[0].pairs(), model[0].states())

    requests: dict[str, Callable[..., Any]] = {
        "describe": _openabm_model.describe,
        "build": build,
        "advance": advance,
    }
    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = (True, requests[name](**arguments))
        except InputError as error:
            answer = (False, str(error))
        pickle.dump(answer, answers, protocol=5)
        answers.flush()
