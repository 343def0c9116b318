"""main: what needs no parser, the front page and the version; or the command of a verb."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial

from openset.cli._front import STYLES, front_page, is_asked_for
from openset.cli._terminal import put, width, write
from openset.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:  # a file name that is not Unicode must not stop an answer
            reconfigure(errors="backslashreplace")
    if tokens and tokens[0] in {"help", "--help", "-h"}:  # also as other tools have it
        tokens = [*tokens[1:], "--help"]
    if tokens == ["--version"]:
        return put(partial(write, __version__))
    if is_asked_for(tokens):
        page = front_page(width(), encoding=sys.stdout.encoding or "utf-8")
        return put(partial(write, page, styles=STYLES))
    from openset.cli._command import run  # and with it the parser

    return run(tokens)


def _open_closed() -> None:
    """Streams that were closed before the start (``>&-``) lead nowhere, as /dev/null does.

    Their numbers are taken, too: else the next file that is opened would be the process's stdout,
    and whatever a library prints would end up in it.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
