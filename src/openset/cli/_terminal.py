"""Terminal: text as it reaches a screen, a pipe or a file.

Colour only on a terminal and without ``NO_COLOR``. Control characters in labels or file names are
shown, never sent: a hostile name cannot move the cursor.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TextIO

FAILED, BROKEN_PIPE = 2, 141
STYLES = {  # of lines, by their first words
    r"^(error\b.*?:|error OS\d+)": "bold red",
    r"^warning( OS\d+)?": "yellow",
    r"^note( OS\d+)?": "cyan",
    r"^(next|report|wrote|checked)\b": "bold",
}


def put(written: Callable[[TextIO], None]) -> int:
    """Write to stdout; the exit code if nobody reads it, or if it has no room, else 0."""
    try:
        written(sys.stdout)
    except BrokenPipeError:
        return BROKEN_PIPE
    except OSError as error:
        with suppress(OSError, ValueError):  # what is left in the buffer must not fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        write(f"error: cannot write the answer: {error}", sys.stderr)
        return FAILED
    return 0


def write(text: str, stream: TextIO, styles: Mapping[str, str] = STYLES) -> None:
    """Write text and a line end, coloured where colour is welcome.

    Args:
        text: The text.
        stream: Where to.
        styles: Patterns, and the colour of what they match.
    """
    text = clean(text)
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        stream.write(text + "\n")
        stream.flush()
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    for pattern, style in styles.items():
        styled.highlight_regex(re.compile(pattern, re.MULTILINE), style)
    Console(file=stream, highlight=False, soft_wrap=True).print(styled)


def clean(text: str) -> str:
    r"""Text whose control and direction characters are shown instead of obeyed.

    >>> clean("zebra\x1b[2J")
    'zebra\\x1b[2J'
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or _harmless(c) else _escaped(c) for c in text)


def _harmless(char: str) -> bool:
    return unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def width() -> int:
    """Columns there are to fill: the terminal's, ``COLUMNS``, or 80."""
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def wrapped(text: str, indent: str) -> str:
    """Text as wide as the terminal, its further lines indented."""
    return textwrap.fill(
        text, width(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
