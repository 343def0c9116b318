"""The process of a command: ``openset``, and ``python -m openset`` where no script is installed.

While it imports and when it is done, Ctrl-C ends it without a word; in between `openset.cli.main`
says that it was interrupted.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

INTERRUPTED = 130
_IMPORTING = "<frozen importlib._bootstrap>"
_AGAIN = 0.01  # seconds


def run() -> int:
    """Run the command line of this process and return its exit code."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:  # not where somebody ignores it, as a shell does for jobs in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from openset.cli import main

    try:
        if usual:
            signal.signal(signal.SIGINT, interrupt)
            if hasattr(signal, "SIGALRM"):
                signal.signal(signal.SIGALRM, interrupt)
        return main()
    except KeyboardInterrupt:  # a second one, while the first is being told
        return INTERRUPTED
    finally:
        if usual:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if hasattr(signal, "SIGALRM"):
                signal.setitimer(signal.ITIMER_REAL, 0)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but not while Python holds its import lock: a moment later, then.

    In there it may be swallowed, or leave with the lock held: a thread that imports, or Python when
    it waits for that thread at its end, would wait for ever.
    """
    if frame is not None and frame.f_code.co_filename == _IMPORTING and hasattr(signal, "SIGALRM"):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        return
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(run())
