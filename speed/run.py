"""Benchmark openset against other evaluators: fresh processes, from files to the result.

    python speed/run.py --workloads M --rounds 5 --contenders openset hotcoco ultrafast
    python speed/run.py --check --workloads S
    python speed/run.py --growth

Every round runs each contender once, in an order of its own, so that a drift of the machine falls
on all of them. Times are wall time of the whole process, with
interpreter start and imports. Tables go to stdout, every run to ``speed/results/``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import report
from contenders import CONTENDERS, FOLDER
from measure import HERE, OURS, Limits, Run, measure, warm

GROWTH = {f"SC{n}": n for n in (1_000, 2_000, 4_000, 8_000, 16_000)}
WORKLOADS = ("S", "M", "M_full", "L", *GROWTH)
DEFAULT = ("openset", "openset-closed", *(name for name in CONTENDERS if OURS not in name))


def contender(text: str) -> str:
    """Return the contender that a name, or the only one that its beginning, stands for."""
    if text in CONTENDERS:
        return text
    matches = [name for name in CONTENDERS if name.startswith(text)]
    if len(matches) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(CONTENDERS)}")
    return matches[0]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    limits = Limits()
    parser = argparse.ArgumentParser(description="Benchmark openset against other evaluators.")
    add = parser.add_argument
    add("--workloads", nargs="+", choices=WORKLOADS, metavar="NAME", help="; ".join(WORKLOADS))
    add("--contenders", nargs="+", type=contender, metavar="NAME", help="; ".join(CONTENDERS))
    add("--rounds", type=int, default=5)
    add("--once", nargs="*", type=contender, default=[], help="contenders for one round only")
    add("--against", type=contender, default=OURS, help="contender in the ratios")
    add("--growth", action="store_true", help="time per image over SC1000 ... SC16000")
    add("--check", action="store_true", help="one run each: do the numbers agree?")
    add("--memory-gb", type=float, default=limits.memory_gb, help="kill above this")
    add("--timeout", type=float, default=limits.seconds, help="kill after these seconds")
    add("--python", default=limits.python, help="interpreter with openset")
    add("--peers-python", default=limits.peers_python, help="interpreter with the peers")
    add("--results", type=Path, default=HERE / "results")
    options = parser.parse_args()
    options.workloads = options.workloads or (list(GROWTH) if options.growth else ["S", "M"])
    options.contenders = options.contenders or ([OURS] if options.growth else list(DEFAULT))
    return options


def prepare(workloads: Sequence[str], python: str) -> None:
    """Write the workloads that are missing, and read all of them once."""
    files = [FOLDER / f"{name}_{kind}.json" for name in workloads for kind in ("gt", "dt")]
    if not all(file.exists() for file in files):
        command = [python, str(HERE / "workloads.py"), *workloads]
        subprocess.run(command, check=True, stdout=sys.stderr)
    for file in files:
        warm(file)


def schedule(options: argparse.Namespace, jobs: Sequence[tuple[str, str]]) -> Iterator[Run]:
    """Yield the runs, each round in an order of its own.

    Shuffled, not rotated: after a process that freed gigabytes the next one pays for fresh pages,
    and in a rotation that would always be the same contender.
    """
    for number in range(1 if options.check else options.rounds):
        for name, workload in random.Random(number).sample(jobs, len(jobs)):
            if number == 0 or name not in options.once:
                yield Run(name, workload, number)


def collect(
    options: argparse.Namespace, limits: Limits, jobs: Sequence[tuple[str, str]], log: TextIO
) -> list[Run]:
    """Measure all runs of the jobs and log each as it ends."""
    runs = []
    for run in schedule(options, jobs):
        measure(run, limits, check=options.check)
        runs.append(run)
        log.write(run.to_json() + "\n")
        log.flush()
        result = run.failure or f"{run.wall:.3f} s, {run.peak_mb:.0f} MB"
        print(f"{run.workload} {run.round} {run.contender}: {result}", file=sys.stderr)
    return runs


def compare(options: argparse.Namespace, limits: Limits, log: TextIO) -> list[Run]:
    """Run workload by workload and print a table of each."""
    everything: list[Run] = []
    for workload in options.workloads:
        jobs = [(name, workload) for name in options.contenders]
        runs = collect(options, limits, jobs, log)
        everything += runs
        if options.check:
            body = report.agreement(runs)
        else:
            body = report.table(runs, options.contenders, options.against)
        print(f"\n### {workload}\n\n{body}", flush=True)
    return everything


def grow(options: argparse.Namespace, limits: Limits, log: TextIO) -> list[Run]:
    """Run all sizes interleaved and print the time per image."""
    sizes = {name: n for name, n in GROWTH.items() if name in options.workloads}
    jobs = [(name, workload) for workload in sizes for name in options.contenders]
    runs = collect(options, limits, jobs, log)
    for name in options.contenders:
        print("\n### Growth: " + report.growth(runs, sizes, name), flush=True)
    return runs


def main() -> int:
    """Run the benchmark; the exit status is 1 if a contender failed without being stopped."""
    options = arguments()
    limits = Limits(options.memory_gb, options.timeout, options.python, options.peers_python)
    facts = report.machine(limits, options.contenders)
    print(report.describe(facts), flush=True)
    prepare(options.workloads, options.python)
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"
    with path.open("w") as log:
        log.write(json.dumps({"machine": facts, "command": sys.argv[1:]}) + "\n")
        runs = (grow if options.growth else compare)(options, limits, log)
    print(f"every run: {path}", file=sys.stderr)
    return int(any(run.failure and not run.stopped for run in runs))


if __name__ == "__main__":
    raise SystemExit(main())
