"""Growth and memory of an evaluation in parts, from synthetic parts that are made on the fly.

    python speed/scale.py                                # 1e5 and 1e6 detections, minutes
    python speed/scale.py --detections 1e6 1e7 1e8 --engines processes --workers 2

Parts have 2,000 images drawn like workload L (500 classes, 48 detections an image), each from a
seed of its own, so that any number of them can be made, part by part. Every evaluation is a fresh
process; its peak memory is that of the largest process it consists of. Times are wall and processor
time, from parts to all numbers, interpreter start and imports included. Answers of all engines are
compared to the byte. A table goes to stdout.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import workloads
from openset.formats.parts import Parts, planned
from openset.tables import Annotations, Detections, Images

PER_PART = 2_000
LIKE = replace(workloads.SIZES["L"], images=PER_PART)
LABELS = tuple(f"class {at:03d}" for at in range(LIKE.classes))
ROLES = tuple("unknown" if at % 4 == 3 else "known" for at in range(LIKE.classes))


@dataclass(frozen=True)
class Cost:
    """What an evaluation took."""

    wall: float
    cpu: float
    peak_mb: float
    answer: str


def drawn(number: int) -> tuple[Annotations, Detections]:
    """The tables of one part."""
    rng = np.random.default_rng([workloads.SEED, number])
    images = workloads.draw_images(rng, LIKE)
    objects = workloads.draw_objects(rng, images)
    found = workloads.draw_detections(rng, LIKE, images, objects)
    ids = np.arange(number * PER_PART, (number + 1) * PER_PART)
    category = np.arange(1, LIKE.classes + 1)
    truth = Annotations(
        images=Images(ids, None, images.width, images.height),
        labels=LABELS,
        role=ROLES,
        category_id=category,
        image=objects.image,
        label=objects.label,
        box=objects.box,
        area=objects.area,
        crowd=objects.crowd,
    )
    return truth, Detections(ids[found.image], category[found.label], found.box, found.score)


def make(folder: Path, detections: float) -> tuple[Path, Path, int]:
    """Folders of parts with about so many detections, and how many there are."""
    count = max(round(detections / (PER_PART * LIKE.detections_per_image)), 1)
    ids = np.arange(count * PER_PART)
    places = folder / "gt.parts", folder / "dt.parts"
    kinds = ("annotations", "detections")
    each = [
        Parts.plan(place, planned(kind, ids, {}, PER_PART))  # type: ignore[arg-type]
        for place, kind in zip(places, kinds, strict=True)
    ]
    for number in range(count):
        for parts, table in zip(each, drawn(number), strict=True):
            parts.add(number, table)
    rows = sum(part.rows for part in each[1].close().manifest.parts)
    each[0].close()
    return *places, rows


def evaluated(gt: Path, dt: Path, engine: str, options: argparse.Namespace) -> Cost:
    """An evaluation in a fresh process."""
    command = [sys.executable, "-m", "openset", "evaluate", str(gt), str(dt), "--json", "-q"]
    command += ["--engine", engine, "--force"]
    command += ["--workers", str(options.workers)] if engine != "local" else []
    command += [] if options.intervals else ["--no-intervals"]
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        out.seek(0)
        answer = out.read()
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(command)} failed: {answer[:2000].decode()}")
    said = hashlib.sha256(answer).hexdigest()
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, said)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--detections", nargs="+", type=float, default=[1e5, 1e6])
    parser.add_argument("--engines", nargs="+", default=["local", "processes"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--intervals", action="store_true")
    parser.add_argument("--folder", type=Path, help="where parts are made; a temporary one")
    options = parser.parse_args()
    print("| detections | parts | engine | wall s | CPU s | CPU µs per detection | peak MB |")
    print("| --: | --: | --- | --: | --: | --: | --: |")
    for size in options.detections:
        with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
            gt, dt, rows = make(Path(scratch), size)
            costs = {engine: evaluated(gt, dt, engine, options) for engine in options.engines}
            parts = len(Parts.open(dt))
        for engine, cost in costs.items():
            each = 1e6 * cost.cpu / rows
            print(
                f"| {rows:,} | {parts} | {engine} | {cost.wall:.1f} | {cost.cpu:.1f} | "
                f"{each:.2f} | {cost.peak_mb:.0f} |",
                flush=True,
            )
        if len({cost.answer for cost in costs.values()}) > 1:
            raise SystemExit("the engines do not agree")


if __name__ == "__main__":
    main()
