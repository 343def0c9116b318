"""One contender on one workload in this process: from two files to the result, as one JSON line.

    .venv/bin/python speed/contenders.py openset M
    .venv-peers/bin/python speed/contenders.py hotcoco M

The line holds the seconds of each phase, the peak memory and the numbers: the twelve COCO
statistics of a closed-set evaluator, ``ap_known`` of openset. With ``--check`` a closed-set
evaluator that offers its precision array also reports ``ap_known``, the mean over the known
classes, which openset must equal; that costs time, so ``run.py`` asks for it outside its rounds.

Only light modules are imported before the contender is, so that process time is its own.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "workloads"

Numbers = dict[str, Any]
Contender = Callable[["Phases", str, str, bool], Numbers]


class Phases(dict[str, float]):
    """Seconds by phase."""

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add the time of the block to a phase."""
        start = time.perf_counter()
        yield
        self[name] = self.get(name, 0.0) + time.perf_counter() - start


def coco_api(coco: tuple[str, str], evaluator: tuple[str, str], **options: Any) -> Contender:
    """Return a contender that offers the classes of pycocotools.

    Args:
        coco: Module and name of the dataset class.
        evaluator: Module and name of the evaluation class.
        options: Further arguments of the evaluation class.
    """

    def run(phase: Phases, truth: str, results: str, check: bool) -> Numbers:
        with phase("import"):
            dataset_class = getattr(importlib.import_module(coco[0]), coco[1])
            evaluator_class = getattr(importlib.import_module(evaluator[0]), evaluator[1])
        with phase("read ground truth"):
            dataset = dataset_class(truth)
        with phase("read detections"):
            detections = dataset.loadRes(results)
        with phase("evaluate"):
            evaluation = evaluator_class(dataset, detections, "bbox", **options)
            evaluation.evaluate()
            evaluation.accumulate()
        with phase("summarize"):
            evaluation.summarize()
        numbers: Numbers = {"stats": [float(value) for value in list(evaluation.stats)[:12]]}
        if check:
            numbers["ap_known"] = ap_known(evaluation.eval["precision"], truth)
        return numbers

    return run


def ap_known(precision: Any, truth: str) -> float:
    """Return COCO AP over the known classes from an array [T, R, K, areas, max detections]."""
    import numpy as np

    categories = json.loads(Path(truth).read_bytes())["categories"]
    categories.sort(key=lambda category: category["id"])
    known = np.array([category["role"] == "known" for category in categories])
    values = np.asarray(precision)[:, :, known, 0, -1]
    return float(values[values > -1].mean())


def vernier(phase: Phases, truth: str, results: str, check: bool) -> Numbers:
    """Run vernier, which reads the detections inside its evaluation."""
    with phase("import"):
        from vernier.instance import Bbox, CocoDataset, Evaluator
    with phase("read ground truth"):
        dataset = CocoDataset.from_json(Path(truth).read_bytes())
    with phase("evaluate"):
        evaluator = Evaluator(iou=Bbox(), parity_mode="strict")
        threads = len(os.sched_getaffinity(0))  # its default is one; the others take all
        summary = evaluator.evaluate(dataset, Path(results).read_bytes(), num_threads=threads)
    with phase("summarize"):
        return {"stats": [float(value) for value in summary.stats]}


def openset(*, kernels: str = "", **options: Any) -> Contender:
    """Return openset with the given options of ``openset.evaluate``.

    Args:
        kernels: Value for ``OPENSET_KERNELS``.
        options: Arguments of ``openset.evaluate``.
    """

    def run(phase: Phases, truth: str, results: str, check: bool) -> Numbers:
        if kernels:
            os.environ["OPENSET_KERNELS"] = kernels
        with phase("import"):
            evaluate = importlib.import_module("openset").evaluate
        with phase("evaluate"):
            result = evaluate(truth, results, **options)
        return {"ap_known": float(result.value("ap_known"))}

    return run


CONTENDERS: dict[str, Contender] = {
    "openset": openset(intervals=False),
    "openset-intervals": openset(intervals=True),
    "openset-numpy": openset(kernels="numpy", intervals=False),
    "openset-closed": openset(metrics=["ap_known"], intervals=False),
    "ultrafast-pycocotools": coco_api(
        ("ultrafast_pycocotools", "COCO"), ("ultrafast_pycocotools", "COCOeval")
    ),
    "hotcoco": coco_api(("hotcoco", "COCO"), ("hotcoco", "COCOeval")),
    "vernier": vernier,
    "faster-coco-eval": coco_api(
        ("faster_coco_eval", "COCO"),
        ("faster_coco_eval", "COCOeval_faster"),
        print_function=lambda *_: None,
    ),
    "pycocotools": coco_api(("pycocotools.coco", "COCO"), ("pycocotools.cocoeval", "COCOeval")),
}


def main() -> None:
    """Run the contender that the command line names."""
    start = time.perf_counter()
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(arguments) != 2 or arguments[0] not in CONTENDERS:
        raise SystemExit(f"usage: contenders.py {{{','.join(CONTENDERS)}}} WORKLOAD [--check]")
    name, workload = arguments
    truth, results = (str(FOLDER / f"{workload}_{kind}.json") for kind in ("gt", "dt"))
    phase = Phases()
    with contextlib.redirect_stdout(io.StringIO()):
        numbers = CONTENDERS[name](phase, truth, results, "--check" in sys.argv)
    phase["total"] = time.perf_counter() - start
    line = {
        "contender": name,
        "workload": workload,
        "phases": {key: round(seconds, 4) for key, seconds in phase.items()},
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
    print(json.dumps(line | numbers))


if __name__ == "__main__":
    main()
