"""Test images that are training images under other names and ids, without the pictures."""

import json

import numpy as np
import pytest

KNOWN = "dog,cat"


def split(name, seed, images=8, objects=3):
    """A ground truth of so many images, with objects of a known and of an unknown class."""
    rng = np.random.default_rng(seed)
    sizes = {"width": 200, "height": 150}
    return {
        "images": [{"id": i + 1, "file_name": f"{name}{i}.jpg", **sizes} for i in range(images)],
        "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "cat"}, {"id": 3, "name": "ox"}],
        "annotations": [
            {
                "id": i * objects + k + 1,
                "image_id": i + 1,
                "category_id": k % 3 + 1,
                "bbox": [*rng.uniform(0, 90, 2).round(2).tolist(), 20 + k, 30],
            }
            for i in range(images)
            for k in range(objects)
        ],
    }


def renamed(held, first=0, known=False):
    """The same photographs, called otherwise, maybe with the objects of known classes alone."""
    images = [
        one | {"id": one["id"] + 1000, "file_name": f"export_{one['id']}.jpg"}
        for one in held["images"][first:]
    ]
    ids = {one["id"] for one in images}
    objects = [one | {"image_id": one["image_id"] + 1000} for one in held["annotations"]]
    kept = [o for o in objects if o["image_id"] in ids and not (known and o["category_id"] == 3)]
    return held | {"images": images, "annotations": kept}


def resized(held):
    """The same boxes in images of another size are other photographs."""
    return held | {"images": [one | {"width": 300} for one in held["images"]]}


def alike(held):
    """All objects at one place, as those of a catalogue: boxes say nothing then."""
    same = [one | {"bbox": [10, 10, 50, 50]} for one in held["annotations"]]
    return held | {"annotations": same}


TRAIN = split("a", 1)
CASES = {
    "others": (TRAIN, split("b", 2), 0),
    "copies": (TRAIN, renamed(TRAIN), 8),
    "the known objects of them": (TRAIN, renamed(TRAIN, known=True), 8),
    "some": (TRAIN, renamed(TRAIN, first=5), 3),
    "two, which may be chance": (TRAIN, renamed(TRAIN, first=6), 0),
    "of another size": (TRAIN, resized(renamed(TRAIN)), 0),
    "one place": (alike(TRAIN), alike(split("b", 2)), 0),
    "one object each": (split("a", 1, objects=1), renamed(split("a", 1, objects=1)), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_copies_of_training_images_are_told_by_their_boxes(here, openset, name):
    train, test, count = CASES[name]
    (here / "train.json").write_text(json.dumps(train))
    (here / "test.json").write_text(json.dumps(test))
    asked = ("audit", "--train", "train.json", "--test", "test.json", "--known", KNOWN)
    done = openset(*asked, "--principles", "data_specificity", "--json")
    assert done.code in (0, 1), done.err
    said = " ".join(json.dumps(done.json).split())
    assert ("share no image by its boxes" in said) is (count > 0)
    assert not count or f"{count} images have boxes of the other stage" in said
    assert ("UNKNOWN" in said) is (count > 0), said
