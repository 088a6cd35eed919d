"""The command line as a person uses it: in this process, which is quick, or in one of its own."""

import contextlib
import io
import logging
import os
import subprocess
import sys
import warnings
from types import SimpleNamespace
from unittest import mock

import numba

from dnatrace.cli import main


def run_process(*arguments, cwd=None, **environment):
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "dnatrace", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        env=os.environ | environment,
    )


def run(*arguments, cwd=None):
    """Run a command here, from the parser to the exit code, and leave no trace of it."""
    out, err = io.StringIO(), io.StringIO()
    root, threads, show = logging.getLogger(), numba.get_num_threads(), warnings.showwarning
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    code = 0
    with (
        mock.patch.object(sys, "argv", ["dnatrace", *map(str, arguments)]),
        contextlib.chdir(cwd or "."),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        finally:
            logging.captureWarnings(False)
            warnings.showwarning = show
            root.handlers[:] = handlers
            root.setLevel(level)
            numba.set_num_threads(threads)
    # Which test compiles first depends on their order; tests/test_wheel.py looks at that line.
    lines = err.getvalue().splitlines(keepends=True)
    told = "".join(line for line in lines if not line.startswith("compiling on first use"))
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=told)
