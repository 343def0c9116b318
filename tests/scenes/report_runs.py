"""Runs to report on: small, random by seed, with every kind of outcome."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openset.evaluation.run import Run, evaluate_all
from openset.matching import Matches, match
from openset.tables import Detections, Vocabulary
from scenes import builders


def matches(
    seed: int, *, images: int = 16, unknownness: bool = True, protocol: str = "default"
) -> Matches:
    """A matched random scene."""
    truth, found = builders.scene(seed, images=images, unknownness=unknownness).tables()
    return match(truth, found, builders.KNOWN, protocol)


def worse(detections: Detections, seed: int = 1) -> Detections:
    """A second detector: the boxes of a first one with other scores, some of them gone."""
    rng = np.random.default_rng(seed)
    kept = detections.select(rng.random(len(detections)) < 0.8)
    score = np.clip(kept.score + rng.choice([-0.25, 0, 0.125], len(kept)), 0.01, 1)
    return replace(kept, score=score)


def run(
    seed: int = 0,
    *,
    images: int = 24,
    models: int = 2,
    unknownness: bool = True,
    intervals: bool = True,
    protocol: str = "default",
    names: tuple[str, ...] = ("first", "second", "third"),
) -> Run:
    """A run of a few detectors on a random scene."""
    truth, found = builders.scene(seed, images=images, unknownness=unknownness).tables()
    tables = [found, *(worse(found, step) for step in range(1, models))]
    return evaluate_all(
        truth,
        dict(zip(names, tables, strict=False)),
        known=builders.KNOWN,
        protocol=protocol,
        intervals=intervals,
        command="openset evaluate gt.json first.json second.json",
    )


def hostile(name: str, *, images: int = 12) -> Run:
    """A run whose labels, file names and detectors all bear a hostile name."""
    scene = builders.scene(5, images=images)
    categories = [
        category | {"name": f"{category['name']} {name}", "supercategory": name}
        for category in scene.truth["categories"]
        if category["name"] != "unknown"
    ]
    kept = {category["id"] for category in categories}
    listed = [image | {"file_name": f"{name}{image['id']}"} for image in scene.truth["images"]]
    objects = [one for one in scene.truth["annotations"] if one["category_id"] in kept]
    found = [one for one in scene.found if one["category_id"] in kept]
    truth = {"images": listed, "annotations": objects, "categories": categories}
    tables = builders.Scene(truth, found).tables()
    known = Vocabulary(tasks=((f"dog {name}", f"cat {name}", f"cow {name}"),))
    detectors = {f"A {name}": tables[1], f"B {name}": worse(tables[1])}
    return evaluate_all(tables[0], detectors, known=known, intervals=False, command=name)
