import os

import numba
import pytest
from hypothesis import HealthCheck, settings

# Compiling a kernel on first use is slow, so no example has a deadline.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=60, **_COMMON)
settings.register_profile("ci", max_examples=60, derandomize=True, **_COMMON)
settings.register_profile("nightly", max_examples=3000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))


# Several test processes share the cores: one thread each, except in tests about threads.
_THREADS = 1 if "PYTEST_XDIST_WORKER" in os.environ else numba.config.NUMBA_NUM_THREADS
numba.set_num_threads(_THREADS)


@pytest.fixture
def threads():
    """Set the number of numba threads, back to the usual one afterwards."""
    yield numba.set_num_threads
    numba.set_num_threads(_THREADS)


@pytest.fixture(scope="session")
def report_store(tmp_path_factory):
    """A small store of real runs: several methods, ε, adherences and seeds."""
    from tests.report_store import fill

    return fill(tmp_path_factory.mktemp("report") / "store")


# Modules that take long, by what makes them so; `make quick` leaves them out.
_SLOW = {
    "slow": "app attack audit city cli comparison covasim dataset decoder_training deepset dna "
    "evaluation first_steps largest odd_calls openabm overwriting plugins ranker readme report "
    "reproduce runtime site store sweep tally training verification wheel",
    "browser": "app_browser report_browser",
    "cluster": "sweep_cluster",
}
_MARK_OF = {f"test_{name}": mark for mark, names in _SLOW.items() for name in names.split()}


def pytest_collection_modifyitems(items):
    for item in items:
        mark = _MARK_OF.get(item.module.__name__.rpartition(".")[2])
        if mark is not None:
            item.add_marker(mark)
    # Long ones first, so that no process is left with them when the others are done.
    items.sort(key=lambda item: not any(item.get_closest_marker(mark) for mark in _SLOW))
