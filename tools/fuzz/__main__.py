"""``python -m tools.fuzz``: see the package."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from tools.fuzz.readers import readers
from tools.fuzz.running import Task, fed, place


def main() -> int:
    """Feed every reader, and say what became of it."""
    parser = argparse.ArgumentParser(description="Feed damaged files to every reader.")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all readers together")
    parser.add_argument("--cases", type=int, default=0, help="of each reader, instead of minutes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="readers whose names begin with one of these")
    parser.add_argument("--jobs", type=int, default=1, help="readers at a time")
    given = parser.parse_args()
    wanted = tuple(given.only.split(","))
    chosen = [reader.name for reader in readers() if reader.name.startswith(wanted)]
    seconds = 0 if given.cases else 60 * given.minutes * given.jobs / max(len(chosen), 1)
    tasks = [(name, given.seed, given.cases, seconds) for name in chosen]
    failed = 0
    with ThreadPoolExecutor(given.jobs) as threads:
        for said, failures in threads.map(_apart, tasks):
            print(said, *failures, sep="\n", flush=True)
            failed += len(failures)
    return int(bool(failed))


def _apart(task: Task) -> tuple[str, list[str]]:
    """Feed a reader in a process of its own: what it leaves behind, or dies of, is its own.

    Started anew, since threads of polars do not survive a fork.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        try:
            return process.submit(fed, task).result()
        except BrokenProcessPool:
            return f"{task[0]:22} ended its process", [f"its last file lies in {place(task[0])}*"]


if __name__ == "__main__":
    sys.exit(main())
