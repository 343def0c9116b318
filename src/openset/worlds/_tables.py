"""Tables: the objects of scenes as `Annotations`, with the roles that the file states itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from openset.tables import Annotations, Images
from openset.tables.exemplars import drawn
from openset.tables.union import merged, on_images
from openset.worlds._cast import CATEGORY_ID, LABELS, SUPERCLASS, Split
from openset.worlds._compose import VERSION, SceneObject

if TYPE_CHECKING:
    from openset.worlds.digits import DigitsWorld


def ground_truth(
    world: DigitsWorld,
    split: Split,
    scenes: Sequence[Sequence[SceneObject]],
    *,
    complete: bool,
) -> Annotations:
    """Ground truth of the first scenes of a split."""
    rows = [
        (image, item)
        for image, objects in enumerate(scenes)
        for item in objects
        if complete or item.labelled
    ]
    labels = _labels(world, split, complete=complete)
    column = {label: index for index, label in enumerate(labels)}
    return Annotations(
        images=_images(world, split, scenes),
        labels=labels,
        image=np.array([image for image, _ in rows], np.int32),
        label=np.array([column[item.label] for _, item in rows], np.int32),
        box=np.array([item.box for _, item in rows], np.float64).reshape(-1, 4),
        crowd=np.array([item.crowd for _, item in rows], np.bool_),
        category_id=np.array([CATEGORY_ID[label] for label in labels], np.int64),
        supercategory=tuple(SUPERCLASS.get(label, "") for label in labels),
        role=tuple(str(world.vocabulary.role(label)) for label in labels),
        attributes=_attributes([item for _, item in rows], complete=complete),
        info=_info(world, split),
    )


def fine_tuning(world: DigitsWorld, parts: Sequence[Annotations]) -> Annotations:
    """The exemplars among the training files of all tasks so far, with every class so far."""
    labels = _labels(world, "train", complete=False)
    pool = merged(parts, labels)
    images = drawn(pool, world.exemplars, world.seed)
    return replace(
        on_images(pool, images),
        category_id=np.array([CATEGORY_ID[label] for label in labels], np.int64),
        supercategory=tuple(SUPERCLASS.get(label, "") for label in labels),
        info=_info(world, "finetune"),
    )


def file_name(world: DigitsWorld, split: Split, index: int) -> str:
    """Where an image lies in the world's folder."""
    return f"images/{split}/{world.image_id(split, index):08d}.png"


def _labels(world: DigitsWorld, split: Split, *, complete: bool) -> tuple[str, ...]:
    """Who trains on a file should learn nothing of the unknown, not even their names."""
    if split == "test" or complete:
        possible = {*world.taught("test"), *(label for t in world.unknown_labels for label in t)}
        return tuple(label for label in LABELS if label in possible or label not in SUPERCLASS)
    return tuple(label for label in LABELS if label in world.known_labels)


def _images(world: DigitsWorld, split: Split, scenes: Sequence[Sequence[SceneObject]]) -> Images:
    count = len(scenes)
    return Images(
        id=np.array([world.image_id(split, index) for index in range(count)], np.int64),
        file_name=np.array([file_name(world, split, index) for index in range(count)]),
        width=np.full(count, float(world.size)),
        height=np.full(count, float(world.size)),
        attributes={
            "wild": np.array([int(all(i.tier for i in objects)) for objects in scenes], np.int64)
        },
    )


def _attributes(items: Sequence[SceneObject], *, complete: bool) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "tier": np.array([item.tier for item in items], np.str_),
        "visible": np.array([item.visible for item in items], np.float64),
        "instance": np.array([item.instance for item in items], np.int64),
    }
    if complete:
        columns["labelled"] = np.array([int(item.labelled) for item in items], np.int64)
    return columns


def _info(world: DigitsWorld, split: str) -> dict[str, Any]:
    current, previous = world.vocabulary.current, world.vocabulary.previous
    return {
        "description": f"openset digits world, {split}",
        "openset": {
            "known": [CATEGORY_ID[label] for label in (*previous, *current)],
            "known_prev": [CATEGORY_ID[label] for label in previous],
            "known_cur": [CATEGORY_ID[label] for label in current],
            "unknown_id": CATEGORY_ID["unknown"],
        },
        "world": parameters(world),
    }


def parameters(world: DigitsWorld) -> dict[str, Any]:
    """The world's name and parameters, as JSON holds them."""
    values = asdict(world)
    lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
    return {"name": "digits", "version": VERSION, **values, **lists}
