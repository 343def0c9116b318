r"""What PROB costs a detector of the digits world in AP of the known classes, part by part.

    python experiments/prob_parts.py --work runs/parts --results experiments/results

trains the small RT-DETR plainly, by PROB, by PROB's column "unknown" alone and by its objectness
alone, with one seed and fewer steps than `methods_digits`, an hour of a CPU in all, and goes on
where it was stopped. Each is judged on test images of its world by as many pairs of a query and a
column as it keeps, by a hundred of them, and by the score of the column without that of an object.
`methods_page` says what came out of ``prob_parts.json``.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from photographs import write_json

import openset
from openset.detectors import ImageFiles, load, run
from openset.formats import read_annotations, read_detections, write
from openset.tables import Annotations, Detections
from openset.training import Recipe, TrainingData, train
from openset.worlds.digits import DigitsWorld

PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("digits-rtdetr", {}),
    "prob": ("digits-prob", {}),
    "column": ("digits-prob", {"method_options": {"weight": 0.0}}),
    "objectness": ("digits-prob", {"method_options": {"empty": 0.0}}),
}
QUERIES, MANY = 30, 100  # pairs of an image: those that are kept, and those of the paper


def main() -> None:
    """Train and judge what is not there yet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--steps", type=int, default=700)
    given = parser.parse_args()
    world = DigitsWorld(images=given.images).write(given.work / "world")
    truth = read_annotations(world / "test.json")
    files = ImageFiles.of_annotations(truth, world)
    data, parts = TrainingData.of(world / "train.json"), {}
    for part, (name, options) in PARTS.items():
        recipe = Recipe.of(name, later={}, finetune={}, **options).shortened(given.steps)
        pairs = pairs_of(recipe, data, files, given.work / part)
        parts[part] = {way: known_ap(kept, truth) for way, kept in ways(pairs).items()}
        print(part, parts[part], flush=True)
    about = {"steps": given.steps, "images": len(truth.images), "ap_known": parts}
    write_json(given.results / "prob_parts.json", about)


def pairs_of(recipe: Recipe, data: TrainingData, files: ImageFiles, folder: Path) -> Detections:
    """All pairs of a query and a column that a training finds on the test images."""
    done, path = train(recipe, data, folder), folder / "regions.parquet"
    if not path.exists():
        found = run(load(str(done.model)), files, batch=32, regions=True, split="digits test")
        write(found, path)
    return read_detections(path)


def ways(pairs: Detections) -> dict[str, Detections]:
    """What is kept of them: as the detector does, more of them, and by another score."""
    column = 1 / (1 + np.exp(-pairs.logits[np.arange(len(pairs)), pairs.label]))
    return {
        "kept": best(pairs, pairs.score, QUERIES),
        "many": best(pairs, pairs.score, MANY),
        "column": best(pairs, column, MANY),
    }


def best(pairs: Detections, score: NDArray[Any], most: int) -> Detections:
    """The best pairs of each image, by a score."""
    order = np.lexsort((-score, pairs.image))
    first = np.searchsorted(pairs.image[order], pairs.image[order])
    rows = order[np.arange(len(order)) - first < most]
    return replace(pairs.select(rows), score=score[rows])


def known_ap(found: Detections, truth: Annotations) -> float:
    """AP of the known classes."""
    few = openset.evaluate(truth, found, metrics=("ap_known",), intervals=False, force=True)
    return float(few.value("ap_known"))


if __name__ == "__main__":
    main()
