"""Make the digits example: four detectors trained on the digits world, and their scored detections.

One command, from the repository's root, with the extras ``torch`` and ``transformers``:

    python experiments/make_digits.py --work runs/digits --target src/openset/examples/digits

The work folder gets images, trainings, and lossless detections (logits and embeddings) of the
train, val and test images: what scorers are fitted on. A command that was stopped goes on where it
was. The target folder gets what is small enough to be shipped: the ground truth of the first test
images, and for each detector its detections there with logits and one column per scorer. What
exceeds the 95 % quantile of the chosen scorer on the val images is called unknown. Both splits
lend only detections that found their object.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openset import scorers
from openset.detectors import ImageFiles, find, load, run
from openset.formats import read_annotations, read_detections, write
from openset.matching import right_detections
from openset.tables import Annotations, Detections
from openset.training import Recipe, TrainingData, train
from openset.worlds.digits import SPLITS, DigitsWorld

RECIPES = ("digits-small", "digits-retinanet", "digits-fcos", "digits-rtdetr")
SCORERS = ("msp", "max_logit", "energy", "knn", "mahalanobis")
EVIDENCE = ("logits", "embedding", "latent", "latent_samples", "logit_samples")  # scorers read it
CHOSEN = "knn"  # whose tail is called unknown
SHIPPED_SCORE, SHIPPED_MOST, SHIPPED_IMAGES = 0.1, 20, 300


def main() -> None:
    """Build the world, train, run, score, and write what is shipped."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--steps", type=int, help="fewer steps, to try the script out")
    given = parser.parse_args()
    world = DigitsWorld(images=given.images).write(given.work / "world")
    truth = first_images(read_annotations(world / "test.json"))
    given.target.mkdir(parents=True, exist_ok=True)
    write(truth, given.target / "truth.json.gz")
    for name in RECIPES:
        recipe = Recipe.of(name) if given.steps is None else Recipe.of(name).shortened(given.steps)
        model = trained(recipe, world, given.work / name)
        found = {split: read_detections(detected(model, world, split)) for split in SPLITS}
        fit, held_out = (
            right_detections(read_annotations(world / f"{split}.json"), found[split])
            for split in ("train", "val")
        )
        shipped = scored(fit, held_out, found["test"], truth)
        write(shipped, given.target / f"{recipe.detector}.parquet")
        print(f"{recipe.detector}: {len(shipped):,} detections")


def trained(recipe: Recipe, world: Path, folder: Path) -> Path:
    """The model of a recipe, trained here unless it is there."""
    data = TrainingData.of(world / "train.json")
    steps = f"{recipe.steps:,} steps"
    return train(
        recipe,
        data,
        folder,
        log_every=100,
        progress=lambda p: print(f"{recipe.name}: {p.step} of {steps}, loss {p.loss:.3f}"),
    ).model


def detected(model: Path, world: Path, split: str) -> Path:
    """The file of a model's detections on a split, with logits and embeddings; made if need be."""
    path = model.parent / f"{world.name}-{split}.parquet"
    if not path.exists():
        files = ImageFiles.of_annotations(read_annotations(world / f"{split}.json"), world)
        loaded = load(str(model))
        keep = tuple(name for name in EVIDENCE if name in find(loaded.about["detector"]).keeps)
        write(run(loaded, files, keep=keep, batch=32, split=f"digits {split}"), path)
    return path


def scored(
    fit: Detections,
    held_out: Detections,
    test: Detections,
    truth: Annotations,
) -> Detections:
    """Test detections with a column per scorer, the tail of one called unknown, no embeddings."""
    test = test.select(np.isin(test.image, truth.images.id) & best(test))
    options = scorers.suited(test)
    fitted = {
        name: scorers.find(name).fit(fit, **options[name]) for name in SCORERS if name in options
    }
    columns = {name: one.score(test).astype(np.float32) for name, one in fitted.items()}
    threshold = scorers.calibrate(fitted[CHOSEN].scored(held_out))
    named = threshold.relabel(fitted[CHOSEN].scored(test))
    return replace(named, embedding=None, head=None, box=test.box.round(2), attributes=columns)


def best(found: Detections) -> NDArray[np.bool_]:
    """The boxes of each image that are worth shipping."""
    order = np.lexsort((-found.score, found.image))
    _, starts, counts = np.unique(found.image[order], return_index=True, return_counts=True)
    place = np.arange(len(found)) - np.repeat(starts, counts)
    kept = np.zeros(len(found), bool)
    kept[order] = place < SHIPPED_MOST
    return kept & (found.score >= SHIPPED_SCORE)


def first_images(truth: Annotations) -> Annotations:
    """The first test images, every kind of them: a prefix of the world is fair."""
    from dataclasses import fields

    images = truth.images
    count = min(SHIPPED_IMAGES, len(images))
    held = {item.name: getattr(images, item.name) for item in fields(images)}
    some = {name: v if v is None else v[:count] for name, v in held.items() if name != "attributes"}
    some["attributes"] = {name: v[:count] for name, v in images.attributes.items()}
    return replace(truth.select(truth.image < count), images=type(images)(**some))


if __name__ == "__main__":
    main()
