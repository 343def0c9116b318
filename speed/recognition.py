"""Recognition metrics: how long all of them take, beside scikit-learn's AUC alone.

    python speed/recognition.py     # 10,000,000 known and as many unknown scores

Each is measured in a process of its own, without intervals. scikit-learn's `roc_auc_score` sorts
the same scores for one number. ARPL's evaluator, which most papers copy, sums over all scores at
every threshold: its time grows with their square.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from openset.recognition import Scores, evaluate_recognition
from openset.render import Table

CLASSES = 10


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=10_000_000, help="of known; of unknown too")
    given = parser.parse_args()
    rows = []
    for title, measured in (("openset, all metrics", ours), ("scikit-learn, AUC", sklearn)):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            rows.append((title, *pool.submit(measured, given.samples).result()))
    load = f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} at the end"
    print(Table(("what", "wall s", "CPU s", "peak MB", "AUC"), tuple(rows), (load,)).markdown())


def ours(samples: int) -> tuple[str, ...]:
    """Every metric of recognition."""
    openness, unknown = drawn(samples)
    rng = np.random.default_rng(1)
    label = rng.integers(0, CLASSES, samples, np.int32)
    predicted = np.where(rng.random(samples) < 0.9, label, (label + 1) % CLASSES)
    strange = rng.integers(0, CLASSES, samples, np.int32)
    names = tuple(map(str, range(CLASSES)))
    start = (time.perf_counter(), time.process_time())
    scores = Scores(predicted, label, openness, unknown, strange, names)
    result = evaluate_recognition(scores, intervals=False)
    return spent(start, float(result.value("auc")))


def sklearn(samples: int) -> tuple[str, ...]:
    """The AUC of known against unknown."""
    from sklearn.metrics import roc_auc_score

    openness, unknown = drawn(samples)
    is_unknown = np.repeat([0, 1], [samples, samples])
    start = (time.perf_counter(), time.process_time())
    auc = roc_auc_score(is_unknown, np.concatenate([openness, unknown]))
    return spent(start, float(auc))


def drawn(samples: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Openness of known and of unknown samples: two normal heaps that overlap."""
    rng = np.random.default_rng(0)
    return rng.normal(0, 1, samples), rng.normal(1.5, 1, samples)


def spent(start: tuple[float, float], auc: float) -> tuple[str, ...]:
    """Seconds since the start, and the largest memory of this process."""
    wall, processor = time.perf_counter() - start[0], time.process_time() - start[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{wall:.1f}", f"{processor:.1f}", f"{peak:,.0f}", f"{auc:.6f}"


if __name__ == "__main__":
    main()
