"""Run one contender on one workload in a fresh process and measure the process from outside.

This module stays light on purpose: Linux counts the parent's resident memory at the time of the
fork towards the child's peak, so the parent must not hold NumPy or a workload.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OURS = "openset"


@dataclass(frozen=True)
class Limits:
    """When a process is stopped, and the interpreters that run openset and its peers."""

    memory_gb: float = 14.0
    seconds: float = 1200.0
    python: str = str(ROOT / ".venv/bin/python")
    peers_python: str = str(ROOT / ".venv-peers/bin/python")

    def interpreter(self, contender: str) -> str:
        """Return the interpreter for a contender."""
        return self.python if contender.startswith(OURS) else self.peers_python


@dataclass
class Run:
    """One measured process: seconds and megabytes from the system, numbers from its output."""

    contender: str
    workload: str
    round: int
    wall: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0
    load: float = 0.0
    failure: str = ""
    stopped: bool = False
    phases: dict[str, float] = field(default_factory=dict)
    stats: list[float] = field(default_factory=list)
    ap_known: float | None = None

    def to_json(self) -> str:
        """Return the run as one line of JSON."""
        return json.dumps({key: value for key, value in asdict(self).items() if value != ""})


class Guard(threading.Thread):
    """Kills a process that takes too much memory or time, and remembers why."""

    def __init__(self, pid: int, limits: Limits) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.limits = limits
        self.over = threading.Event()
        self.reason = ""

    def run(self) -> None:
        """Look at the process five times a second until it is over."""
        start = time.perf_counter()
        while not self.over.wait(0.2):
            memory, seconds = resident_gb(self.pid), time.perf_counter() - start
            if memory > self.limits.memory_gb or seconds > self.limits.seconds:
                self.reason = f"killed at {memory:.1f} GB after {seconds:.0f} s"
                os.kill(self.pid, signal.SIGKILL)
                return


def resident_gb(pid: int) -> float:
    """Return the resident memory of a process, 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


def measure(run: Run, limits: Limits, *, check: bool = False) -> Run:
    """Run the contender to its end and fill in what it took.

    Args:
        run: Contender, workload and round; completed in place.
        limits: Interpreters, memory and time.
        check: Also ask a peer for its AP over the known classes, which takes time.
    """
    interpreter = limits.interpreter(run.contender)
    command = [interpreter, str(HERE / "contenders.py"), run.contender, run.workload]
    run.load = round(os.getloadavg()[0], 2)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                command + ["--check"] * check,
                stdout=out,
                stderr=err,
                stdin=subprocess.DEVNULL,
                env=environment(),
            )
        except OSError as error:
            run.failure = f"cannot start {interpreter}: {error.strerror}"
            return run
        guard = Guard(process.pid, limits)
        guard.start()
        _, status, usage = os.wait4(process.pid, 0)
        run.wall = round(time.perf_counter() - start, 4)
        guard.over.set()
        process.returncode = os.waitstatus_to_exitcode(status)
        run.cpu = round(usage.ru_utime + usage.ru_stime, 4)
        run.peak_mb = round(usage.ru_maxrss / 1024, 1)
        run.stopped = bool(guard.reason)
        read_output(run, process.returncode, out, err)
        run.failure = guard.reason or run.failure
    return run


def environment() -> dict[str, str]:
    """Return the environment less what keeps an interpreter from caching bytecode.

    Peers were compiled when they were installed; a checkout of openset is on its first run.
    """
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def read_output(run: Run, code: int, out: IO[str], err: IO[str]) -> None:
    """Take the contender's numbers from its last line, or its error from the last of stderr."""
    out.seek(0)
    err.seek(0)
    lines, errors = out.read().strip().splitlines(), err.read().strip().splitlines()
    if code != 0 or not lines:
        run.failure = errors[-1] if errors else f"exit status {code}"
        return
    numbers: dict[str, Any] = json.loads(lines[-1])
    run.phases = numbers["phases"]
    run.stats = numbers.get("stats", [])
    run.ap_known = numbers.get("ap_known")


def warm(path: Path) -> None:
    """Read a file once, in blocks, so that every contender finds it in the page cache."""
    with path.open("rb") as file:
        while file.read(1 << 22):
            pass
