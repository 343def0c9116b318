"""Locks on folders: the system's, which end with the process and leave no file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openset.findings import refuse

_PATIENCE = 10.0  # seconds; torch's loaders look for their parent every five


def locked(folder: Path) -> tuple[int, bool]:
    """A lock, -1 for none, and whether that is because somebody has it."""
    try:
        import fcntl
    except ImportError:
        return -1, False
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # somebody's, or a file system without locks
        os.close(lock)
        return -1, isinstance(error, BlockingIOError)
    return lock, False


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else is let in while the context lasts; refused if somebody is.

    The lock is the system's: it ends with the process, however that ends, and leaves no file.
    Where there are none, as on some network disks, everybody is let in. Processes that a killed one
    had started notice it within seconds, and are waited for.
    """
    import time

    folder.mkdir(parents=True, exist_ok=True)
    lock, busy = locked(folder)
    until = time.monotonic() + _PATIENCE
    while busy and time.monotonic() < until:
        time.sleep(_PATIENCE / 20)
        lock, busy = locked(folder)
    if busy:
        raise refuse("OS622", f"another process is writing to {folder}", example=str(folder))
    try:
        yield
    finally:
        if lock >= 0:
            os.close(lock)
