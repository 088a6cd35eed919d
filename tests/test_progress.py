"""What is shown while work is under way: how far it is, what is left, that kernels compile."""

import io
import logging
import sys
from types import SimpleNamespace

import pytest

from dnatrace.runs import progress


class Clock:
    """Seconds that pass only when somebody works."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def work(self, seconds):
        for number, taken in enumerate(seconds):
            self.now += taken
            yield number


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO)
    return caplog


def test_the_time_left_does_not_count_the_first_item(lines, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    clock = Clock()
    # A minute of compilation, then two seconds per item.
    done = progress.track(clock.work([60.0] + [2.0] * 4), 5, "days", clock)
    assert list(done) == [0, 1, 2, 3, 4]
    assert lines.messages == [
        "days: 1 of 5",
        "days: 2 of 5, about 6 s left",
        "days: 3 of 5, about 4 s left",
        "days: 4 of 5, about 2 s left",
        "days: 5 of 5",
    ]


def test_long_times_are_told_in_minutes_and_lines_come_by_tenths(lines, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    clock = Clock()
    list(progress.track(clock.work([9.0] + [5.0] * 99), 100, "runs", clock))
    assert len(lines.messages) == 10
    assert lines.messages[0] == "runs: 10 of 100, about 7 min 30 s left"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_bar_does_not_count_the_first_item_either(lines, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    clock = Clock()
    done = progress.track(clock.work([3600.0, 2.0, 2.0, 2.0]), 10, "days", clock)
    for _ in range(4):
        next(done)
    done.close()  # three items are done, and the bar shows itself once more
    assert terminal.getvalue().count("0:00:14") == 1
    assert lines.messages == []


def test_quiet_shows_nothing(caplog, monkeypatch):
    caplog.set_level(logging.ERROR)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(progress.track(range(3), 3, "days")) == [0, 1, 2]
    assert terminal.getvalue() == ""
    assert caplog.messages == []


def compilation(module):
    dispatcher = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
    return SimpleNamespace(data={"dispatcher": dispatcher})


def test_the_first_compilation_of_our_kernels_is_told_once(lines):
    announcer = progress._Announcer()
    announcer.on_start(compilation("somewhere.else"))
    assert lines.messages == []
    for _ in range(2):
        announcer.on_start(compilation("dnatrace.inference._kernels"))
    assert lines.messages == [
        "compiling on first use: ten seconds to a minute, more on a busy machine; kept"
    ]


def test_quiet_does_not_tell_of_compilation(caplog):
    caplog.set_level(logging.ERROR)
    progress._Announcer().on_start(compilation("dnatrace.inference._kernels"))
    assert caplog.messages == []
