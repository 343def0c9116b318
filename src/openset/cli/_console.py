"""Console: what a verb says while it works, and its answer.

stdout is the answer, stderr everything else; progress only on a terminal and after half a second.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._terminal import clean, wrapped, write
from openset.findings import Finding, Level
from openset.flags import as_flags

if TYPE_CHECKING:
    from rich.progress import Progress

SCHEMA_VERSION = 1
PATIENCE = 0.5  # seconds without a progress bar
PAUSE = 10.0  # seconds between lines of progress where there is no terminal


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
