"""Ray: on this machine, or on the cluster that ``RAY_ADDRESS`` names.

Tasks of Ray Core (Moritz et al., Ray, OSDI 2018), a bounded number in flight, their results taken
in the order of the items whatever the order in which they arrive. Ray tries a lost task again by
itself. Where none runs yet, one is started here and stopped at the end: seconds, and some 250 MB,
so it is for work that one machine is too small for.

An extra (``openset[ray]``): nothing is imported unless this engine is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from openset.engines._spec import engine
from openset.findings import InputError, refuse

IN_FLIGHT = 4  # tasks per worker
RETRIES = 4
WAIT = 5.0  # seconds


@engine("ray")
def on_ray(
    function: Callable[[Any], Any], items: Sequence[Any], workers: int | None
) -> Iterator[Any]:
    """Tasks of Ray, on this machine or on the cluster that RAY_ADDRESS names.

    Each takes a core, and as many GPUs as its item says (an attribute `gpus`), where there are any.
    """
    from openset.plugins import check_installed

    check_installed("the engine ray", ["ray"])
    import ray

    with cluster(workers):
        task = ray.remote(max_retries=RETRIES, num_cpus=1)(_applied)
        work, here = ray.put(function), Path.cwd()  # once, whatever it holds
        there = ray.cluster_resources()
        most = IN_FLIGHT * (workers or int(there.get("CPU", 1)))

        def begun(item: Any) -> Any:
            gpus = min(getattr(item, "gpus", 0), there.get("GPU", 0))
            return task.options(num_gpus=gpus).remote(work, item, here)

        flying = [begun(item) for item in items[:most]]
        for at in range(len(items)):
            try:
                yield ray.get(flying[at])
            except ray.exceptions.WorkerCrashedError as error:
                said = f"a task was lost {RETRIES + 1} times"
                raise refuse("OS367", said, count=RETRIES + 1, example=f"item {at}") from error
            flying[at] = None  # and is forgotten: results may be large
            if at + most < len(items):
                flying.append(begun(items[at + most]))


def _applied(function: Callable[[Any], Any], item: Any, folder: Path) -> Any:
    """Apply a function where paths mean what they mean to who asked, if that is here, too."""
    if folder.is_dir():
        os.chdir(folder)
    return function(item)


@contextmanager
def cluster(workers: int | None) -> Iterator[None]:
    """A Ray that runs: the one that is there, that of ``RAY_ADDRESS``, or one of our own.

    Args:
        workers: Cores of one of our own; all by default.
    """
    import signal

    import ray

    if ray.is_initialized():
        yield
        return
    address = os.environ.get("RAY_ADDRESS")
    _knock(address)
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address,
            num_cpus=None if address else workers,
            include_dashboard=None if address else False,
            log_to_driver=False,
            configure_logging=False,
        )
    except Exception as error:  # Ray has no type for what it says of a start that failed
        raise _unreachable(address, error) from error
    try:
        yield
    finally:
        ray.shutdown()
        signal.signal(signal.SIGTERM, before)  # which Ray has replaced


def _knock(address: str | None) -> None:
    """Refuse at once where nobody listens: Ray itself would wait for minutes."""
    import socket

    host, colon, port = (address or "").rpartition(":")
    if not colon or not port.isdecimal() or "/" in host:  # auto, or a client's ray://
        return
    try:
        socket.create_connection((host, int(port)), WAIT).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str | None, error: Exception) -> InputError:
    said = f"no Ray at {address}" if address else "Ray cannot be started here"
    return refuse("OS366", f"{said}: {str(error).partition(chr(10))[0][:200]}")
