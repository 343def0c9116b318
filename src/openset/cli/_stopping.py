"""Stopping: a long verb that is asked to end, and says so by its exit code."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from openset.findings import UsageError

STOPPED = 130


def positive(steps: int) -> int:
    """Steps between checkpoints, refused if they are none."""
    if steps < 1:
        raise UsageError(f"--checkpoint-every must be at least 1, not {steps}")
    return steps


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or a kill has asked for the end; the second time it comes at once.

    Several processes cannot end at the same step: they end at once, and go on from a checkpoint.
    """
    from openset.nets.processes import number

    asked: list[int] = []

    def ask(received: int, frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(received)

    signals = (signal.SIGINT, signal.SIGTERM) if number() == 1 else ()
    before = {one: signal.signal(one, ask) for one in signals}
    try:
        yield lambda: bool(asked)
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
