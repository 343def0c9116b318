"""Work for engines: functions of a module, so that other processes can import them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import InputError, refuse


def late(item: int) -> int:
    """The square; that of the first item is ready last."""
    time.sleep(0.02 / (1 + item))
    return item * item


def sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers whose last bits would show another order of work."""
    return np.asarray((values @ values.T).sum(axis=0))


def arrays(count: int) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Two columns, of which one may be large."""
    return np.sqrt(np.arange(count)), np.array([1, 2, 3], np.int8)


def waits(folder: Path, item: int) -> None:
    """Note the process in a folder, and stay."""
    (folder / str(os.getpid())).touch()
    time.sleep(60)


def odd_is_bad(folder: Path, item: int) -> int:
    """The item, noted in a folder, or a finding about it."""
    (folder / f"{item}-{os.getpid()}-{threading.get_ident()}").touch()
    if item % 2:
        raise refuse("OS101", f"no such file: {item % 5}")
    return item


def fails(item: int) -> int:
    """Bad input, or another failure that is the later the earlier its item."""
    time.sleep(0.02 if item == 1 else 0)
    raise (refuse("OS101", "bad") if item == 0 else KeyError(item))


def an_error(item: Any) -> InputError:
    """A result that is an error."""
    return refuse("OS101", "bad")


def lost_at(folder: Path, times: int, item: int) -> int:
    """The item; the process that has item 2 is killed the first so many times."""
    if item == 2 and len([*folder.iterdir()]) < times:
        (folder / str(time.monotonic_ns())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def killed(folder: Path, times: int, function: Callable[[Any], Any], item: Any) -> Any:
    """What a function gives; whoever is asked is killed, the first so many times."""
    if len([*folder.iterdir()]) < times:
        (folder / str(time.monotonic_ns())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return function(item)


class OnGpu(int):
    """A number that takes a GPU."""

    gpus = 1
