"""Boxes of an image that are there again on others: a list not emptied, or a still camera."""

from __future__ import annotations

import pytest

from scenes.mistakes import EVALUATE, Mistake, answered, both, codes, good


def carried(images, far=1):
    """Every image also has the boxes of so many images before it, so many images on."""
    return lambda world: setattr(world, "dt", on(world, world.dt, images, far))


def on(world, rows, images, far=1):
    order = [one["id"] for one in world.gt["images"]]
    of = {key: [one for one in rows if one["image_id"] == key] for key in order}
    return [
        one | {"image_id": key}
        for at, key in enumerate(order)
        for before in [*range(at - far, max(-1, at - far * images - 1), -far)[::-1], at]
        for one in of[order[before]]
    ]


def by_score(world):
    world.dt.sort(key=lambda one: -one["score"])


def padded(world):
    """Arrays of one length, whose rest is the same everywhere."""
    for image in world.gt["images"]:
        for _ in range(6):
            row = {"image_id": image["id"], "category_id": 1, "score": 0.001}
            world.dt.append(row | {"bbox": [0.0, 0.0, 1.0, 1.0]})


def copies(world):
    """Every image a second time, beside the first, with the same boxes."""
    images, objects, found = [], [], []
    for image in world.gt["images"]:
        for more in (0, 50_000):
            key, name = image["id"] + more, f"{more}_{image['file_name']}"
            images.append(image | {"id": key, "file_name": name})
            for held, rows in ((objects, world.gt["annotations"]), (found, world.dt)):
                held += [one | {"image_id": key} for one in rows if one["image_id"] == image["id"]]
    for number, one in enumerate(objects):
        one["id"] = number + 1
    world.gt |= {"images": images, "annotations": objects}
    world.dt = found


def still(world):
    """A film of a still camera: what comes stays where it is for a few frames."""
    first = world.gt["images"][0]
    for number, image in enumerate(world.gt["images"]):
        name = f"lot_{number:04d}.jpg"
        image |= {"width": first["width"], "height": first["height"], "file_name": name}
    objects = on(world, world.gt["annotations"], 3)
    world.gt["annotations"] = [one | {"id": at + 1} for at, one in enumerate(objects)]
    world.dt = on(world, world.dt, 3)


CASES = [
    Mistake("the boxes of the image before", carried(1), "refused OS233", says="on the next image"),
    Mistake("of all images before", carried(99), "refused OS233", says="on the next image"),
    Mistake("of the batch before", carried(1, far=8), "refused OS233", says="8 images on"),
    Mistake("the same in order of scores", both(carried(1), by_score), "refused OS233"),
    Mistake("rows that fill up an array", padded, "warned OS210"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_boxes_that_were_carried_on(case, here, openset):
    assert answered(case, here, openset) == ""


@pytest.mark.parametrize("spoil", [padded, copies, still])
def test_what_is_the_same_by_itself_is_no_such_list(spoil, here, openset):
    spoil(world := good())
    world.write(here)
    assert "OS233" not in codes(openset(*EVALUATE, "--json").json)
