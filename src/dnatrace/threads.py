"""Run kernels that release the interpreter on several threads.

This suits loops that are long enough to justify starting threads, a few times per day: a serial
kernel compiles in a fraction of the time of one with `parallel=True`.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from numba import get_num_threads

Part = TypeVar("Part")


def in_parts(n: int, part: Callable[[int, int], Part], *, worth: bool = True) -> list[Part]:
    """Return part(begin, end) of consecutive ranges that cover 0 … n-1, one per thread.

    There is one range when threads are not `worth` starting, which takes some 0.1 ms. The combined
    result must not depend on where ranges end.
    """
    parts = min(n, get_num_threads()) if worth else 1
    if parts <= 1:
        return [part(0, n)]
    borders = [n * k // parts for k in range(parts + 1)]
    with ThreadPoolExecutor(max_workers=parts) as threads:
        return list(threads.map(part, borders[:-1], borders[1:]))
