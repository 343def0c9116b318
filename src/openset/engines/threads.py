"""Threads: in this process, several at a time.

Worth it where the work is done by compiled kernels, by NumPy, or by a decoder of images: all of
them release the interpreter. Plain Python gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from openset.engines._spec import engine


@engine("threads")
def threads(
    function: Callable[[Any], Any], items: Sequence[Any], workers: int | None
) -> Iterator[Any]:
    """Several at a time, in this process: as many as OPENSET_THREADS says, or as there are cores.

    Work that has threads of its own, as BLAS has, should be told to use one.
    """
    from concurrent.futures import ThreadPoolExecutor

    from openset.kernels import threads as allowed

    with ThreadPoolExecutor(workers or allowed()) as pool:
        yield from pool.map(function, items)
