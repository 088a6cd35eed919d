"""What the tests of sweeps look at in a store."""

import time

import pytest

from dnatrace.runs import store

LONGEST_WAIT = 120.0  # seconds; only a sweep that hangs takes so long


def contents(directory):
    """All bytes of a store but those of the clock; unfinished runs are not left out."""
    return {
        f"{path.parent.name}/{path.name}": path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name not in store.NOT_REPRODUCIBLE
    }


def count(directory):
    """How many runs there are."""
    return len(list(directory.glob("[0-9a-f]*")))


def wait_until(happened, *, pause=0.005):
    """Wait for something that a sweep does; fail when it never does."""
    deadline = time.monotonic() + LONGEST_WAIT
    while not happened():
        if time.monotonic() > deadline:
            pytest.fail("the sweep hangs")
        time.sleep(pause)
