"""Growth and memory of an evaluation in parts, from synthetic parts or those of your own.

    python speed/scale.py                                # 1e5 and 1e6 detections, minutes
    python speed/scale.py --detections 1e6 1e8 --engines processes:2
    python speed/scale.py --given gt.parts dt.parts --rounds 3 --engines local processes:2 ray:2

Synthetic parts have images drawn like workload L (500 classes, 48 detections an image), each from a
seed of its own, so that any number of them can be made, part by part. Every evaluation is a fresh
process. Its peak memory is that of the largest of all processes it consists of; its time is wall
and processor time, from parts to all numbers, interpreter start and imports included (processes of
Ray that nobody waits for are in neither). A round has every engine once. Answers of all engines are
compared to the byte. A table goes to stdout.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import workloads
from openset.formats.manifest import planned
from openset.formats.parts import Parts
from openset.tables import Annotations, Detections, Images

LIKE = workloads.SIZES["L"]
LABELS = tuple(f"class {at:03d}" for at in range(LIKE.classes))
ROLES = tuple("unknown" if at % 4 == 3 else "known" for at in range(LIKE.classes))


@dataclass(frozen=True)
class Cost:
    """What an evaluation took; the memory is that of its largest process."""

    wall: float
    cpu: float
    peak_mb: float
    answer: str


class Watch(threading.Thread):
    """The peak memory of a process and of all that it starts, the largest of them."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self.pid, self.peak_mb = pid, 0.0

    def run(self) -> None:
        """Look at them until it is over; the system remembers the peak of each that is alive."""
        while not self.over.wait(0.2):
            self.peak_mb = max(self.peak_mb, *map(peak_mb, family(self.pid)))


def family(pid: int) -> set[int]:
    """A process and its descendants."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:  # gone meanwhile
            continue
    found, more = set(), {pid}
    while more:
        found |= more
        more = {child for child, parent in parents.items() if parent in more} - found
    return found


def peak_mb(pid: int) -> float:
    """The most memory that a process has had, 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return max((int(line.split()[1]) / 1024 for line in lines if line[:6] == "VmHWM:"), default=0.0)


def drawn(number: int, per_part: int) -> tuple[Annotations, Detections]:
    """The tables of one part."""
    rng, size = np.random.default_rng([workloads.SEED, number]), replace(LIKE, images=per_part)
    images = workloads.draw_images(rng, size)
    objects = workloads.draw_objects(rng, images)
    found = workloads.draw_detections(rng, size, images, objects)
    ids = np.arange(number * per_part, (number + 1) * per_part)
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


def make(folder: Path, detections: float, per_part: int) -> tuple[Path, Path]:
    """Folders of parts with about so many detections."""
    count = max(round(detections / (per_part * LIKE.detections_per_image)), 1)
    ids = np.arange(count * per_part)
    gt = Parts.plan(folder / "gt.parts", planned("annotations", ids, {}, per_part))
    dt = Parts.plan(folder / "dt.parts", planned("detections", ids, {}, per_part))
    for number in range(count):
        for parts, table in zip((gt, dt), drawn(number, per_part), strict=True):
            parts.add(number, table)
    return gt.close().folder, dt.close().folder


def evaluated(gt: Path, dt: Path, asked: str, options: argparse.Namespace) -> Cost:
    """An evaluation in a fresh process."""
    engine, _, workers = asked.partition(":")
    command = [sys.executable, "-m", "openset", "evaluate", str(gt), str(dt), "--json", "-q"]
    command += ["--engine", engine, "--force", *options.more.split()]
    command += ["--workers", workers] if workers else []
    command += [] if options.intervals else ["--no-intervals"]
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out)
        watch = Watch(process.pid)
        watch.start()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        watch.over.set()
        out.seek(0)
        answer = out.read()
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(command)} failed: {answer[:2000].decode()}")
    said = hashlib.sha256(answer).hexdigest()
    return Cost(wall, used.ru_utime + used.ru_stime, watch.peak_mb, said)


def compared(gt: Path, dt: Path, options: argparse.Namespace) -> None:
    """Print what every engine took, round by round."""
    parts = Parts.open(dt)
    rows, answers = sum(part.rows for part in parts.manifest.parts), set()
    for _ in range(options.rounds):
        for engine in options.engines:
            cost = evaluated(gt, dt, engine, options)
            answers.add(cost.answer)
            print(
                f"| {rows:,} | {len(parts)} | {engine} | {cost.wall:.1f} | {cost.cpu:.1f} | "
                f"{1e6 * cost.cpu / rows:.2f} | {cost.peak_mb:.0f} |",
                flush=True,
            )
    if len(answers) > 1:
        raise SystemExit("the engines do not agree")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--detections", nargs="+", type=float, default=[1e5, 1e6])
    parser.add_argument("--per-part", type=int, default=2_000, help="images in a synthetic part")
    parser.add_argument("--given", nargs=2, type=Path, metavar=("GT", "DT"), help="parts to use")
    parser.add_argument("--engines", nargs="+", default=["local", "processes:2"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--intervals", action="store_true")
    parser.add_argument("--more", default="", help="further options of `openset evaluate`")
    parser.add_argument("--folder", type=Path, help="where parts are made; a temporary one")
    options = parser.parse_args()
    print("| detections | parts | engine | wall s | CPU s | CPU µs per detection | peak MB |")
    print("| --: | --: | --- | --: | --: | --: | --: |")
    if options.given:
        compared(*options.given, options)
        return
    for size in options.detections:
        with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
            compared(*make(Path(scratch), size, options.per_part), options)


if __name__ == "__main__":
    main()
