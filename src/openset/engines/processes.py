"""Processes: on this machine, several at a time, each with memory of its own.

Worth it for parts of a data set: a process holds one part, and ends with it. New processes are
started afresh, not forked, since threads of this one would be forked half alive. So the function
must be one of a module, and what it is given and gives back must be picklable.

A process that is lost (the system ends the largest one when memory runs out) is replaced, and its
item tried again; only where nothing is done between several losses is that given up.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from openset.engines._spec import engine
from openset.findings import UsageError, refuse

IN_FLIGHT = 4  # items per process: what waits for an earlier one is held
LOSSES = 4  # in a row, without a result in between


@engine("processes")
def processes(
    function: Callable[[Any], Any], items: Sequence[Any], workers: int | None
) -> Iterator[Any]:
    """Several at a time, each in a process of its own: as many as there are cores, or as asked for.

    Each has one thread. A process that is lost is replaced, and its item tried again.
    """
    from concurrent.futures.process import BrokenProcessPool

    from openset.kernels import threads as allowed

    _refuse_unpicklable(function)
    done, losses, count = 0, 0, min(workers or allowed(), max(len(items), 1))
    while done < len(items):
        try:
            for result in _from_pool(function, items[done:], count):
                yield result
                done, losses = done + 1, 0
        except BrokenProcessPool as error:
            losses += 1
            if losses == LOSSES:
                said = f"{losses} times in a row a process was lost before it had done anything"
                raise refuse("OS367", said, count=losses, example=f"item {done}") from error


def _from_pool(function: Callable[[Any], Any], items: Sequence[Any], workers: int) -> Iterator[Any]:
    """Results in order, from new processes; what was not begun is not done after an error."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_alone)
    try:
        waiting = deque(pool.submit(function, item) for item in items[: IN_FLIGHT * workers])
        for item in items[len(waiting) :]:
            yield waiting.popleft().result()  # and is forgotten: results may be large
            waiting.append(pool.submit(function, item))
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _alone() -> None:
    """One thread for a process that is one of several; an interrupt is for who started it."""
    import os
    import signal

    os.environ |= {"OPENSET_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _refuse_unpicklable(function: Callable[[Any], Any]) -> None:
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        said = "work for other processes is a function of a module, which they can import"
        raise UsageError(f"{said}: {error}") from error
