"""The process of a command: ``openset``, and ``python -m openset`` where no script is installed.

While it imports and when it is done, Ctrl-C ends it without a word; in between `openset.cli.main`
says that it was interrupted.
"""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130


def run() -> int:
    """Run the command line of this process and return its exit code."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:  # not where somebody ignores it, as a shell does for jobs in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from openset.cli import main

    try:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return main()
    except KeyboardInterrupt:  # a second one, while the first is being told
        return INTERRUPTED
    finally:
        if usual:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(run())
