"""Random tables that use everything a format may have to carry."""

import numpy as np
import pytest

from openset.tables import Annotations, Detections, Head, Images, LogitLayout

NAMES = ("dog", "wild boar", "éléphant", "犬", "never used", "O'Brien & <co>")


def random_images(rng, count, ids="int"):
    id_ = np.sort(rng.choice(10_000, count, replace=False)).astype(np.int64)
    stems = np.array([f"{'名' if i % 3 else 'img'} {value:06d}" for i, value in enumerate(id_)])
    return Images(
        id=id_ if ids == "int" else stems,
        file_name=np.array([f"{stem}.jpg" for stem in stems]),
        width=rng.integers(50, 900, count).astype(float),
        height=rng.integers(50, 900, count).astype(float),
        attributes={"wild": rng.integers(0, 2, count), "site": np.array(["a", "bb"])[id_ % 2]},
    )


def random_boxes(rng, images, index):
    size = np.stack([images.width, images.height], 1)[index]
    corner = rng.random((len(index), 2)) * size * 0.7
    return np.hstack([corner, rng.random((len(index), 2)) * (size - corner) * 0.9 + 1])


def random_annotations(seed=0, objects=30, images=9, ids="int"):
    rng = np.random.default_rng(seed)
    held = random_images(rng, images, ids)
    image = np.sort(rng.integers(0, max(images - 1, 1), objects)).astype(np.int32)
    box = random_boxes(rng, held, image)
    return Annotations(
        images=held,
        labels=NAMES,
        image=image,
        label=rng.choice([0, 1, 2, 3, 5], objects),
        box=box,
        area=box[:, 2] * box[:, 3] * 0.7,
        crowd=rng.random(objects) < 0.2,
        difficult=rng.random(objects) < 0.2,
        id=rng.permutation(objects) * 7 + 3,
        category_id=np.array([3, 1, 90, 17, 44, 45]),
        supercategory=("animal", "animal", "animal", "animal", "", "human"),
        role=("known", "known", "known", "unknown", "unknown", "ignored"),
        attributes={
            "occlusion": rng.random(objects),
            "visits": rng.integers(0, 9, objects),
            "sure": rng.random(objects) < 0.5,
            "note": np.array(["plain", 'ünïcode, "quoted"', "x"])[rng.integers(0, 3, objects)],
        },
        info={"description": "random", "openset": {"known": [3, 1, 90]}},
    )


def random_head(seed=1):
    rng = np.random.default_rng(seed)
    return Head(rng.normal(size=(7, 3)), rng.normal(size=7), LogitLayout.SOFTMAX_BACKGROUND_LAST)


def random_detections(truth, seed=1, count=50, named=False):
    rng = np.random.default_rng(seed)
    index = rng.integers(0, len(truth.images), count)
    label = rng.choice([0, 1, 2, 3, 5], count)
    return Detections(
        image=truth.images.id[index],
        label=label if named else truth.category_id[label],
        box=random_boxes(rng, truth.images, index),
        score=rng.random(count),
        labels=truth.labels if named else (),
        unknownness=rng.normal(size=count),
        logits=rng.normal(size=(count, 7)).astype(np.float32),
        layout=LogitLayout.SOFTMAX_BACKGROUND_LAST,
        embedding=rng.normal(size=(count, 3)).astype(np.float32),
        head=random_head(seed),
        attributes={"rank": rng.integers(0, 100, count), "head": np.array(["a", "b"])[index % 2]},
        provenance={"model": "random", "score_threshold": 0.05},
    )


@pytest.fixture
def make_truth():
    return random_annotations


@pytest.fixture
def make_found():
    return random_detections


@pytest.fixture
def truth():
    return random_annotations()


@pytest.fixture
def found(truth):
    return random_detections(truth)
