"""A process that has imported everything and forks a sweep for every line it reads.

Only the imports are saved: each sweep does its own real runs, in its own process and group, so that
killing one at a random moment costs a test a second rather than five.
"""

import os
import sys
from contextlib import contextmanager
from pathlib import Path

import numba
import pytest

from dnatrace.sweeps import attempts
from dnatrace.sweeps import sweep as sweeps


def in_process(configs, *, workers=None, cluster=None, done=lambda _: False):
    """Do runs one after the other in this process."""
    for config in configs:
        if done(config):
            yield attempts.Finished(config=config)
        else:
            files, error = attempts.attempt(config)
            yield attempts.Finished(config=config, files=files, error=error)


@contextmanager
def alone():
    """Do runs of sweeps in this process, on one thread: for few people more hinder each other."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "execute", in_process)
        yield
    numba.set_num_threads(before)


def main():
    file, store = map(Path, sys.argv[1:])
    sweeps.execute = in_process
    print("ready", flush=True)
    for _ in sys.stdin:
        process = os.fork()
        if process == 0:
            os.setsid()
            sweeps.sweep(sweeps.read_sweep(file), store)
            os._exit(0)
        print(process, flush=True)
        print(os.waitpid(process, 0)[1], flush=True)


if __name__ == "__main__":
    main()
