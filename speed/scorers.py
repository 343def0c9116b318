"""Scorers: how long they take at scale.

    python speed/scorers.py         # 1,000,000 embeddings against 100,000; 500,000 logits

The embeddings' variance falls with the rank of the axis as that of trained detectors does (35 of
256 axes hold 95 %; 32 of 128 in the Faster R-CNN of the digits world), and a quarter of them is of
classes that are not in the fit. Embeddings without such axes or classes leave kNN nothing to skip:
``--power 0`` shows that. Which scorer is right more often is another question.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace

import numpy as np

from openset import scorers
from openset.render import Table
from openset.tables import Detections, LogitLayout

WIDTH, CLASSES = 256, 20


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--bank", type=int, default=100_000)
    parser.add_argument("--power", type=float, default=1.5, help="how fast variances fall")
    given = parser.parse_args()
    print(speed(given.queries, given.bank, given.power).markdown())


def speed(queries: int, bank: int, power: float) -> Table:
    """Seconds of the scorers of embeddings and of logits."""
    train, test = embedded(bank, 1, power), embedded(queries, 2, power, unknown=0.25)
    rows = [
        timed(f"{name}, {queries:,} against {bank:,}", name, train, test)
        for name in ("knn", "mahalanobis", "relative_mahalanobis")
    ]
    rng = np.random.default_rng(3)
    half = queries // 2
    logits = rng.normal(size=(half, CLASSES + 1)).astype(np.float32)
    layout = LogitLayout.SOFTMAX_BACKGROUND_LAST
    boxes = replace(test.select(np.arange(half)), embedding=None, logits=logits, layout=layout)
    names = ("msp", "max_logit", "entropy", "energy", "gen", "gamma_ratio")
    rows += [timed(f"{name}, {half:,} detections", name, None, boxes) for name in names]
    load = f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} at the end"
    return Table(("scorer", "fit s", "score s", "score CPU s"), tuple(rows), (load,))


def timed(title: str, name: str, train: Detections | None, test: Detections) -> tuple[str, ...]:
    """Wall and processor seconds of one scorer."""
    started = time.perf_counter()
    fitted = scorers.find(name).fit(train)
    ready, processor = time.perf_counter(), time.process_time()
    fitted.score(test)
    done, used = time.perf_counter(), time.process_time() - processor
    return title, f"{ready - started:.1f}", f"{done - ready:.2f}", f"{used:.2f}"


def embedded(count: int, seed: int, power: float, unknown: float = 0.0) -> Detections:
    """Detections with embeddings around class means; a share is of classes that have no name."""
    fixed, rng = np.random.default_rng(0), np.random.default_rng(seed)
    scale = np.arange(1, WIDTH + 1) ** (-power / 2)
    scale /= np.sqrt((scale**2).sum())
    turn = np.linalg.qr(fixed.normal(size=(WIDTH, WIDTH)))[0]
    means = fixed.normal(size=(2 * CLASSES, WIDTH)) * np.sqrt(0.6)
    label = rng.integers(0, CLASSES, count)
    group = label + CLASSES * (rng.random(count) < unknown)
    values = np.empty((count, WIDTH), np.float32)
    for start in range(0, count, 1 << 16):
        rows = slice(start, start + (1 << 16))
        noise = rng.normal(size=(len(group[rows]), WIDTH)) * np.sqrt(0.4)
        values[rows] = ((means[group[rows]] + noise) * scale) @ turn + 0.03
    names = tuple(f"class {i}" for i in range(CLASSES))
    box = np.tile([0.0, 0.0, 9.0, 9.0], (count, 1))
    return Detections(
        np.arange(count) // 10, label, box, np.full(count, 0.9), names, embedding=values
    )


if __name__ == "__main__":
    main()
