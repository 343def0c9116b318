"""Console: the only module that writes to the terminal.

stdout is the answer, stderr everything else. Colour only on a terminal and without ``NO_COLOR``;
progress only on a terminal and after half a second. Control characters in labels or file names are
shown, never sent: a hostile name cannot move the cursor.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
import textwrap
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from cyclopts import Parameter

from openset.findings import Finding, Level
from openset.flags import as_flags

if TYPE_CHECKING:
    from rich.progress import Progress

SCHEMA_VERSION = 1
PATIENCE = 0.5  # seconds without a progress bar
PAUSE = 10.0  # seconds between lines of progress where there is no terminal
_STYLES = {
    r"^(error\b.*?:|error OS\d+)": "bold red",
    r"^warning( OS\d+)?": "yellow",
    r"^note( OS\d+)?": "cyan",
    r"^(next|report|wrote|checked)\b": "bold",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a verb found out.

    Attributes:
        text: For people, on stdout.
        document: For programs, with ``--json``; made only when it is wanted.
        code: Exit code: 0 computed, 1 computed and the answer is no.
    """

    text: str
    document: Callable[[], Mapping[str, Any]] = dict
    code: int = 0


Flag = Annotated[bool, Parameter(show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Output:
    """How a verb speaks: the options that all verbs share."""

    json: Annotated[Flag, Parameter(help="Print one JSON object, errors included.")] = False
    quiet: Annotated[
        Flag, Parameter(name=("--quiet", "-q"), help="Say nothing on stderr but errors.")
    ] = False
    no_progress: Annotated[Flag, Parameter(help="Show no progress bar.")] = False

    def say(self, text: str) -> None:
        """Tell people something that is not the answer."""
        if not self.quiet:
            write(text, sys.stderr)

    def report(self, finding: Finding, about: str = "") -> None:
        """Tell people a finding; notes in one line."""
        self.say(finding_text(finding, about, short=finding.level is Level.NOTE))

    @contextmanager
    def progress(self, steps: int, of: str = "") -> Iterator[Callable[[str], None]]:
        """A function to call with a few words before each of `steps` steps.

        Args:
            steps: How many there will be.
            of: What most of them are of, if that is long work (`track`).
        """
        if of:
            with self.track(steps, of) as at:
                done = itertools.count()
                yield lambda words: at(next(done), words)
            return
        if self.quiet or self.no_progress or not sys.stderr.isatty():
            yield lambda words: None
            return
        with _bar(steps) as bar:
            task = bar.add_task("", total=steps)
            seen = -1

            def step(words: str) -> None:
                nonlocal seen
                seen += 1
                bar.update(task, description=clean(words), completed=seen)

            yield step

    @contextmanager
    def track(self, total: int, of: str = "") -> Iterator[Callable[[int, str], None]]:
        """A function to call with how many of `total` are done, and a few words, for long work.

        Where there is no terminal, a line now and then shows that there is life.

        Args:
            total: How many there are.
            of: What they are, to say how many are done in a second or a minute.
        """
        if self.quiet or self.no_progress:
            yield lambda done, words: None
            return
        left = _Remaining(total, of)
        if not sys.stderr.isatty():
            yield partial(self._say_at_times, left, [left.start])
            return
        with _bar(total) as bar:
            task = bar.add_task("", total=total)

            def at(done: int, words: str) -> None:
                text = clean(f"{words}, {left.after(done)}")
                bar.update(task, description=text, completed=done)

            yield at

    def _say_at_times(self, left: _Remaining, said: list[float], done: int, words: str) -> None:
        remaining, now = left.after(done), time.monotonic()
        if now - said[-1] >= PAUSE:
            said.append(now)
            self.say(f"{done} of {left.total}: {words}, {remaining}")


class _Remaining:
    """How fast work goes and how long it will still take, from its pace since the first report."""

    def __init__(self, total: int, of: str = "") -> None:
        self.total, self.of = total, of
        self.start = time.monotonic()
        self.first: tuple[int, float] | None = None

    def after(self, done: int) -> str:
        """In words, once `done` are done."""
        now = time.monotonic()
        self.first = self.first or (done, now)
        before, since = self.first
        if done == before:
            return "time left unknown"
        each = (now - since) / (done - before)
        seconds = round(each * (self.total - done))
        return f"{self._rate(each)}{seconds // 60}:{seconds % 60:02d} left"

    def _rate(self, each: float) -> str:
        if not self.of or not each:
            return ""
        per, unit = (1, "s") if each < 1 else (60, "min")
        return f"{per / each:.3g} {self.of}/{unit}, "


@contextmanager
def _bar(steps: int) -> Iterator[Progress]:
    """A progress bar on stderr that appears when its work turns out to be long."""
    from threading import Timer

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn())
    words = TextColumn("{task.description}", markup=False)
    bar = Progress(*columns, words, console=Console(stderr=True), transient=True)
    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield bar
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def write(text: str, stream: TextIO) -> None:
    """Write text and a line end, coloured where colour is welcome."""
    text = clean(text)
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        stream.write(text + "\n")
        stream.flush()
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    for pattern, style in _STYLES.items():
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


def finding_text(finding: Finding, about: str = "", *, short: bool = False) -> str:
    """A finding for the terminal: wrapped, in words of the command line, with what to type next."""
    head = f"{finding.level} {finding.code}  "
    pad = " " * 4
    what = f"{about}: {finding.message}" if about else finding.message
    lines = [wrapped(head + what, pad)]
    if not short:
        rows = {"first": finding.example, "cause": finding.cause, "fix": finding.fix}
        rows["more"] = f"openset explain {finding.code}"
        lines += [
            wrapped(f"{pad}{k:<6}{as_flags(v)}", pad * 2 + "  ") for k, v in rows.items() if v
        ]
    return "\n".join(lines)


def wrapped(text: str, indent: str) -> str:
    """Text as wide as the terminal, its further lines indented."""
    return textwrap.fill(
        text, width(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
