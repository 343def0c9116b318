"""One of each image: values scaled within it, and what a dictionary keeps of a class."""

from __future__ import annotations

import numpy as np
import pytest

from openset.tables import Annotations, Detections, Images, Vocabulary
from openset.tables.check import check
from scenes.mistakes import EVALUATE, Mistake, answered, both, good, kept, nothing


def per_image(key, value):
    """A value that is made anew from those of its image, best first."""

    def spoil(world):
        of = {}
        for one in world.dt:
            of.setdefault(one["image_id"], []).append(one)
        for some in of.values():
            some.sort(key=lambda one: -one[key])
            held = [one[key] for one in some]
            for place, one in enumerate(some):
                one[key] = value(held, place)

    return spoil


def over_largest(held, place):
    return round(held[place] / held[0], 6)


def over_range(held, place):
    return (held[place] - held[-1]) / ((held[0] - held[-1]) or 1)


def saturated(held, place):
    return 1.0 if held[place] > 0.3 else held[place]


def softmax_of_boxes(held, place):
    shares = np.exp(4 * np.array(held))
    return round(float(shares[place] / shares.sum()), 5)


def clipped(low, high):
    """A weak unknownness that ends, so that several boxes of an image have its least."""

    def spoil(world):
        weak(world)
        for one in world.dt:
            one["unknownness"] = float(np.clip(one["unknownness"], low, high))

    return spoil


def weak(world):
    rng = np.random.default_rng(1)
    for one in world.dt:
        one["unknownness"] = 1 - one["score"] + rng.normal(0, 0.5)


def last_of_class(world):
    """Boxes in a dictionary by class, of each image."""
    world.dt = [*{(one["image_id"], one["category_id"]): one for one in world.dt}.values()]


def doubled(world):
    """Beside every object another of its class, and a sure box on it."""
    size = {one["id"]: (one["width"], one["height"]) for one in world.gt["images"]}
    by = len(world.gt["annotations"])
    for table, key in ((world.gt["annotations"], "id"), (world.dt, None)):
        for one in [*table]:
            x, y, w, h = one["bbox"]
            wide = size[one["image_id"]][0]
            other = one | {"bbox": [(x + 0.37 * wide) % max(wide - w, 1), y, w, h]}
            if key:
                other["id"] = one["id"] + by + 1000
            table.append(other)


def sure(world):
    for one in world.dt:
        one["score"] = round(0.5 + one["score"] / 2, 4)


def last_object(*keys):
    def spoil(world):
        held = {tuple(one[key] for key in keys): one for one in world.gt["annotations"]}
        world.gt["annotations"] = [*held.values()]

    return spoil


def on_it(world):
    """Boxes around the one object of an image, and unsure ones anywhere."""
    of = {one["image_id"]: one["bbox"] for one in world.gt["annotations"]}

    def near(one):
        x, y, w, h = one["bbox"]
        a, b, c, d = of.get(one["image_id"], (0, 0, 0, 0))
        return one["score"] < 0.4 or (a <= x + w / 2 <= a + c and b <= y + h / 2 <= b + d)

    kept(near)(world)


CASES = [
    Mistake("scores over the largest of an image", per_image("score", over_largest),
            "warned OS225", says="the largest score of an image is 1"),
    Mistake("scores are one over a rank", per_image("score", lambda held, at: 1 / (at + 1)),
            "warned OS225"),
    Mistake("unknownness from 0 to 1 in each image", both(weak, per_image(
        "unknownness", over_range)), "warned OS377"),
    Mistake("a clipped unknownness from 0 to 1 in each image", both(clipped(0.3, 1), per_image(
        "unknownness", over_range)), "warned OS377"),
    Mistake("a softmax over the boxes of an image", per_image("score", softmax_of_boxes),
            "warned OS225", says="the scores of an image sum to 1"),
    Mistake("boxes in a dictionary by class", both(doubled, last_of_class), "warned OS458"),
    Mistake("objects in a dictionary by class", both(doubled, sure, last_object(
        "image_id", "category_id")), "warned OS459", says="two objects of one class"),
    Mistake("objects in a dictionary by image", both(doubled, sure, last_object("image_id")),
            "warned OS459", says="no image has two objects, and"),
]  # fmt: skip
HARMLESS = [
    Mistake("scores that saturate", per_image("score", saturated), "accepted"),
    Mistake("a weak unknownness", weak, "accepted"),
    Mistake("a clipped unknownness", clipped(0.3, 1), "accepted"),
    Mistake("two of everything", doubled, "accepted"),
    Mistake("sure of everything", sure, "warned OS218"),
    Mistake("an object for each image, that is found", both(last_object("image_id"), on_it),
            "accepted"),
    Mistake("nothing", nothing, "accepted"),
]  # fmt: skip


@pytest.mark.parametrize("case", [*CASES, *HARMLESS], ids=str)
def test_answer(case, tmp_path, openset):
    assert answered(case, tmp_path, openset) == ""


def test_scaled_scores_of_few_images_say_nothing(tmp_path, openset):
    world = good(40)
    per_image("score", over_largest)(world)
    world.write(tmp_path)
    assert "OS225" not in str(openset(*EVALUATE, "--json").json)


def over_largest_of_class(label, score):
    best = np.zeros(label.max() + 1)
    np.maximum.at(best, label, score)
    return score / best[label]


@pytest.mark.parametrize(
    ("change", "keep", "told"),
    [
        (lambda label, score: score, lambda label, score: (label > 0) | (score > 0.3), {"OS226"}),
        (lambda label, score: score, lambda label, score: score > 0.05, set()),
        (lambda label, score: score, lambda label, score: (label > 8) | (score > 0.3), set()),
        (over_largest_of_class, lambda label, score: score > 0, {"OS227"}),
        (lambda label, score: np.minimum(1, 2 * score), lambda label, score: score > 0, set()),
    ],
    ids=["one class cut", "all cut low", "most cut", "scaled in each class", "saturated"],
)
def test_scores_of_single_classes(change, keep, told):
    names, images = tuple(f"class {at}" for at in range(12)), 400
    rng = np.random.default_rng(0)
    label = np.tile(np.arange(12), images)
    image = np.repeat(np.arange(images), 12)
    box = rng.uniform(20, 200, (len(label), 4))
    score = change(label, rng.beta(1, 3, len(label)))
    some = keep(label, score)
    sizes = {"width": np.full(images, 640), "height": np.full(images, 480)}
    truth = Annotations(
        Images(np.arange(1, images + 1), **sizes), names, image, label, box,
        category_id=np.arange(12),
    )  # fmt: skip
    found = Detections(image[some] + 1, label[some], box[some] + 2, score[some])
    codes = {one.code for one in check(truth, found, Vocabulary.of(names))}
    assert codes & {"OS226", "OS227"} == told
