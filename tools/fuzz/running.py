"""Running: cases of a reader, and what became of them."""

from __future__ import annotations

import faulthandler
import io
import random
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path

from tools.fuzz.damage import Calm
from tools.fuzz.readers import Reader, readers

MEMORY = 6 << 30  # bytes of addresses beyond those in use: many times what a case needs
LONGEST = 60.0  # seconds of a case: what takes longer ends the process, and says where it was
_MEMORY = Path("/dev/shm")  # noqa: S108 - a private folder in there
Task = tuple[str, int, int, float]  # reader, seed, cases or 0, seconds


@dataclass
class Outcome:
    """What became of the cases of a reader."""

    said: Counter[str]
    failures: list[str]


def place(name: str) -> Path:
    """How the folders begin that the cases of a reader lie in."""
    folder = _MEMORY if _MEMORY.is_dir() else Path(tempfile.gettempdir())
    return folder / f"fuzz-{name.replace(' ', '-')}-"


def fed(task: Task) -> tuple[str, list[str]]:
    """What became of a reader: a line, and a failure of each kind."""
    name, seed, cases, seconds = task
    reader = next(one for one in readers() if one.name == name)
    start = time.monotonic()

    def more(at: int) -> bool:
        faulthandler.dump_traceback_later(LONGEST, exit=True, file=sys.__stderr__)
        return at < cases if cases else time.monotonic() - start < seconds

    with bounded():
        outcome = tried(reader, seed, more)
    faulthandler.cancel_dump_traceback_later()
    said = f"{name:22} {dict(outcome.said)} in {time.monotonic() - start:.1f} s"
    kinds = {failure.strip().rpartition("\n")[2][:60]: failure for failure in outcome.failures}
    return said, list(kinds.values())[:5]


def tried(reader: Reader, seed: int, more: Callable[[int], bool]) -> Outcome:
    """Feed a reader as long as there is more to do."""
    outcome, at = Outcome(Counter(), []), 0
    start = place(reader.name)
    home = Path(tempfile.mkdtemp(prefix=start.name, dir=start.parent))
    try:
        _refuse_bad_seed(reader, home)
        while more(at - outcome.said["no file"]):
            rng = random.Random(f"{reader.name} {seed} {at}")  # noqa: S311 - for damage
            at += 1
            shutil.rmtree(home / "data", ignore_errors=True)
            _try(reader, home, rng, outcome, f"case {at - 1} of seed {seed}")
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return outcome


def _refuse_bad_seed(reader: Reader, home: Path) -> None:
    """The file that is damaged must be a good one: all damage would look alike else."""
    for name, data in reader.encode(reader.tree, Calm()).items():
        path = home / ("file" if name == "file" else f"data/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    reader.read(home / ("data" if reader.is_folder else "file"))


def _try(reader: Reader, home: Path, rng: random.Random, outcome: Outcome, case: str) -> None:
    try:
        path = reader.write(home, rng)
    except Exception:  # a tree that its format has no words for, such as half a character
        outcome.said["no file"] += 1
        return
    try:
        reader.read(path)
        outcome.said["read"] += 1
    except reader.refusal:
        outcome.said["refused"] += 1
    except BaseException as error:  # polars panics are none of Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        outcome.said["FAILED"] += 1
        outcome.failures.append(f"{reader.name}, {case}\n{traceback.format_exc(limit=-6)}")


@contextmanager
def bounded() -> Iterator[None]:
    """Memory that a small file cannot need is an error meanwhile, and so is a warning of NumPy."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
