"""Kernels that release the interpreter, on several threads.

For loops that are long enough to start threads for, a few times per day: a serial kernel compiles
in a fraction of the time of one with `parallel=True`.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from numba import get_num_threads

Part = TypeVar("Part")


def in_parts(n: int, part: Callable[[int, int], Part], *, worth: bool = True) -> list[Part]:
    """Return part(begin, end) of consecutive ranges that make up 0 … n-1, as many as threads.

    One range when threads are not `worth` their start, some 0.1 ms. What the parts come to must not
    depend on where they end.
    """
    parts = min(n, get_num_threads()) if worth else 1
    if parts <= 1:
        return [part(0, n)]
    borders = [n * k // parts for k in range(parts + 1)]
    with ThreadPoolExecutor(max_workers=parts) as threads:
        return list(threads.map(part, borders[:-1], borders[1:]))
