"""Processes: on this machine, several at a time, each with memory of its own.

Worth it for parts of a data set: a process holds one part, and ends with it. New processes are
started afresh, not forked, since threads of this one would be forked half alive. So the function
must be one of a module, and what it is given and gives back must be picklable.

Arrays of a result come in a file that is mapped and has no name by then, not through a pipe: for
millions of boxes that is a third of the cost of matching them.

A process that is lost (the system ends the largest one when memory runs out) is replaced, and its
item tried again; only where nothing is done between several losses is that given up.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from openset.engines._spec import engine
from openset.files import unwritable
from openset.findings import UsageError, refuse

IN_FLIGHT = 4  # items per process: what waits for an earlier one is held
LOSSES = 4  # in a row, without a result in between
_SMALL = 1 << 16  # bytes of arrays for which a file is not worth it
_ALIGNED = 64


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
    from tempfile import TemporaryDirectory

    busy = True
    with TemporaryDirectory(prefix="openset-", ignore_cleanup_errors=True) as folder:
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _alone, (folder,))
        work = partial(_sent, function, Path(folder))
        try:
            waiting = deque(pool.submit(work, item) for item in items[: IN_FLIGHT * workers])
            for item in items[len(waiting) :]:
                yield _received(waiting.popleft().result())  # and is forgotten: it may be large
                waiting.append(pool.submit(work, item))
            while waiting:
                last, busy = waiting.popleft().result(), len(waiting) > 0
                yield _received(last)
        finally:
            pool.shutdown(wait=busy, cancel_futures=True)  # idle ones end while others go on


class _Sent(NamedTuple):
    """A result on its way: pickled but for its arrays, and these.

    Attributes:
        pickled: All but the arrays.
        small: The arrays, if they are small.
        file: Where they lie one after another, if they are not.
        sizes: How many bytes each has there.
    """

    pickled: bytes
    small: list[bytearray]
    file: Path | None = None
    sizes: tuple[int, ...] = ()


def _sent(function: Callable[[Any], Any], folder: Path, item: Any) -> _Sent:
    """What a function gives, as the process that asked for it gets it."""
    import tempfile

    result, buffers = function(item), list[pickle.PickleBuffer]()
    pickled = pickle.dumps(result, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    sizes = tuple(map(len, raw))
    if sum(sizes) < _SMALL:
        return _Sent(pickled, list(map(bytearray, raw)))
    try:
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            for one in raw:
                file.write(one)
                file.write(bytes(-len(one) % _ALIGNED))
    except OSError as error:
        raise unwritable(folder, error) from error
    return _Sent(pickled, [], Path(file.name), sizes)


def _received(sent: _Sent) -> Any:
    """The result; its arrays are pages of the file, which is gone with the last of them."""
    import mmap

    if sent.file is None:
        # Of a process that we started.
        return pickle.loads(sent.pickled, buffers=sent.small)  # noqa: S301
    with sent.file.open("rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    with suppress(OSError):  # Windows keeps a file that is mapped
        sent.file.unlink()
    starts = [0]
    for size in sent.sizes:
        starts.append(starts[-1] + size + -size % _ALIGNED)
    pieces = [mapped[at : at + size] for at, size in zip(starts, sent.sizes, strict=False)]
    return pickle.loads(sent.pickled, buffers=pieces)  # noqa: S301


def _alone(folder: str) -> None:
    """One thread for a process that is one of several; an interrupt is for who started it."""
    import os
    import signal
    import threading

    os.environ |= {"OPENSET_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()


def _end_with_parent(folder: str) -> None:
    """Leave neither process nor files behind who was killed: nobody would wait for either."""
    import os
    import shutil
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None, "a process that was started here"
    parent.join()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _refuse_unpicklable(function: Callable[[Any], Any]) -> None:
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        said = "work for other processes is a function of a module, which they can import"
        raise UsageError(f"{said}: {error}") from error
