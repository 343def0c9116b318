"""Intervals: what 1,000 resamples of every metric cost, beside the metrics alone.

    python speed/intervals.py --rounds 7      # workload M, and six scorers of the demo

With and without an unknownness column, in one process. A round evaluates every case without and
with intervals, so that a drift of the machine falls on both; the first round is not counted.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from openset import evaluate, read, write
from openset.evaluation.run import evaluate_all
from openset.examples import DIGITS, DIGITS_TRUTH
from openset.render import Table
from workloads import FOLDER, generate, paths

Case = Callable[[bool], object]
Seconds = tuple[float, float]  # wall and CPU


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where workload M is, or goes")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        cases = {**large(given.folder, Path(folder)), **small()}
        times = [measured(cases) for _ in range(given.rounds + 1)][1:]
    rows = [row(name, [one[name] for one in times]) for name in cases]
    load = f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} at the end"
    head = ("case", "wall s", "with intervals", "ratio", "CPU s", "with intervals", "ratio")
    print(Table(head, tuple(rows), (load,)).markdown())


def large(folder: Path, scratch: Path) -> dict[str, Case]:
    """Workload M as JSON, and as Parquet with an unknownness."""
    truth, results = paths("M", folder)
    if not truth.exists():
        generate("M", folder)
    found, unknown = read(results), scratch / "unknown.parquet"
    write(replace(found, unknownness=1 - found.score), unknown)
    return {
        "M": lambda intervals: evaluate(truth, results, intervals=intervals),
        "M, unknownness": lambda intervals: evaluate(truth, unknown, intervals=intervals),
    }


def small() -> dict[str, Case]:
    """The demo's RT-DETR, with each of its six scorers, and as often with none."""
    truth, found = read(DIGITS_TRUTH), read(DIGITS / "rt_detr.parquet")
    scored = {name: replace(found, unknownness=found.attributes[name]) for name in found.attributes}
    six = {"kept": found, **scored}
    plain = {name: replace(one, unknownness=None) for name, one in six.items()}
    return {
        f"demo, {len(six)} detectors": lambda intervals: evaluate_all(
            truth, plain, intervals=intervals
        ),
        f"demo, {len(six)} scorers": lambda intervals: evaluate_all(
            truth, six, intervals=intervals
        ),
    }


def measured(cases: dict[str, Case]) -> dict[str, tuple[Seconds, Seconds]]:
    """Seconds of every case, without and with intervals."""
    return {name: (timed(case, False), timed(case, True)) for name, case in cases.items()}


def timed(case: Case, intervals: bool) -> Seconds:
    wall, cpu = time.perf_counter(), time.process_time()
    case(intervals)
    return time.perf_counter() - wall, time.process_time() - cpu


def row(name: str, times: list[tuple[Seconds, Seconds]]) -> tuple[str, ...]:
    """Medians, and the median of the rounds' ratios."""
    return (name, *(text for clock in (0, 1) for text in shown(times, clock)))


def shown(times: list[tuple[Seconds, Seconds]], clock: int) -> Iterator[str]:
    yield f"{median(bare[clock] for bare, _ in times):.2f}"
    yield f"{median(full[clock] for _, full in times):.2f}"
    yield f"{median(full[clock] / bare[clock] for bare, full in times):.2f}"


if __name__ == "__main__":
    main()
