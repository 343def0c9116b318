"""Weak detectors and odd but right data: never refused, and hardly ever suspected."""

from __future__ import annotations

import numpy as np
import pytest

from scenes.film import anywhere, moved
from scenes.mistakes import (
    IDS,
    UNKNOWN,
    Mistake,
    answered,
    each,
    kept,
    nothing,
)

RNG = 3


def detector(right=1.0, jitter=0.0, noise=0.0, seed=RNG):
    """Boxes of which a share is moved a little, the others anywhere; scores that mean less."""

    def spoil(world):
        rng = np.random.default_rng(seed)
        for one in world.dt:
            box, size = np.array([one["bbox"]]), np.array([world.size(one)])
            new = moved(box, jitter, rng) if rng.random() < right else anywhere(size, rng)
            low, high = np.clip([new[0, :2], new[0, :2] + new[0, 2:]], 0, size[0])
            one["bbox"] = np.append(low, high - low).round(2).tolist()
            one["score"] = float(np.clip(one["score"] + rng.normal(0, noise), 0, 1))

    return spoil


def labels(draw):
    def spoil(world):
        rng = np.random.default_rng(RNG)
        for one in world.dt:
            one["category_id"] = int(draw(rng, one["category_id"]))

    return spoil


def size_of_everything(factor):
    """Tiny, or huge, objects and boxes in images as they are."""

    def spoil(world):
        for one in (*world.gt["annotations"], *world.dt):
            x, y, w, h = one["bbox"]
            one["bbox"] = [x, y, max(2.0, w * factor), max(2.0, h * factor)]
            one.pop("area", None)

    return spoil


def crops(world):
    """An object an image, which fills it."""
    first = {}
    for one in world.gt["annotations"]:
        first.setdefault(one["image_id"], one)
    size = {one["id"]: (one["width"], one["height"]) for one in world.gt["images"]}
    world.gt["annotations"] = [
        one | {"bbox": [0, 0, *size[key]], "area": size[key][0] * size[key][1]}
        for key, one in first.items()
    ]
    rng = np.random.default_rng(RNG)
    world.dt = [
        {
            "image_id": key,
            "category_id": one["category_id"] if one["category_id"] in IDS[:5] else UNKNOWN,
            "bbox": [1.0, 1.0, size[key][0] - 3, size[key][1] - 2],
            "score": round(float(rng.random()), 3),
        }
        for key, one in first.items()
    ]


def frames(world):
    """Ten videos whose frames are alike, of which two are dark."""
    shown = world.gt["images"][:10]
    size = {one["id"]: one for one in shown}
    objects = [o for o in world.gt["annotations"] if o["image_id"] in size]
    found = [o for o in world.dt if o["image_id"] in size]
    images, annotations, detections, rng = [], [], [], np.random.default_rng(RNG)
    for video, one in enumerate(shown):
        for frame in range(12):
            new = len(images) + 1
            images.append(one | {"id": new, "file_name": f"video{video}/{frame:04d}.jpg"})
            for o in objects:
                if o["image_id"] == one["id"]:
                    box = [round(x + frame, 2) for x in o["bbox"][:2]] + o["bbox"][2:]
                    annotations.append(
                        o | {"id": len(annotations) + 1, "image_id": new, "bbox": box}
                    )
            for o in found:
                if o["image_id"] == one["id"] and video not in (4, 9):
                    box = [round(x + frame + rng.normal(0, 2), 2) for x in o["bbox"]]
                    detections.append(
                        o
                        | {
                            "image_id": new,
                            "bbox": box,
                            "score": round(
                                float(np.clip(o["score"] + rng.normal(0, 0.05), 0, 1)), 3
                            ),
                        }
                    )
    world.gt |= {"images": images, "annotations": annotations}
    world.dt = detections


def first_image(world):
    image = world.gt["images"][0]
    world.gt["images"] = [image]
    world.gt["annotations"] = [o for o in world.gt["annotations"] if o["image_id"] == image["id"]]
    world.dt = [o for o in world.dt if o["image_id"] == image["id"]]


def annotated(change):
    """Change what categories objects have."""

    def spoil(world):
        for one in world.gt["annotations"]:
            one["category_id"] = change(one["category_id"])

    return spoil


def agnostic(world):
    for one in world.dt:
        one["category_id"] = UNKNOWN


def crowds(world):
    for one in world.gt["annotations"]:
        one["iscrowd"] = 1


def some_crowds(world):
    """Regions, of which each has several objects."""
    for one in world.gt["annotations"][::3]:
        x, y, w, h = one["bbox"]
        one |= {"iscrowd": 1, "bbox": [max(0.0, x - w), max(0.0, y - h), 2 * w, 2 * h]}
        one["area"] = 4 * w * h


def without_sizes(world):
    for one in world.gt["images"]:
        del one["width"], one["height"]


def grid(world):
    """An untrained network: the same anchors on every image, scores around one half."""
    rng = np.random.default_rng(RNG)
    world.dt = [
        {
            "image_id": one["id"],
            "category_id": int(rng.choice(IDS[:5])),
            "score": round(float(rng.normal(0.5, 0.01)), 5),
            "bbox": [
                one["width"] * x / 4,
                one["height"] * y / 4,
                one["width"] / 4,
                one["height"] / 4,
            ],
        }
        for one in world.gt["images"]
        for x in range(4)
        for y in range(4)
    ]


def on_background(world):
    """Three boxes of two pixels in a corner."""
    world.dt = [one | {"bbox": [0.0, 0.0, 2.0, 2.0]} for one in world.dt[:3]]


def only(*ids):
    return kept(lambda one: one["category_id"] in ids)


def wild_images(world):
    """Every second image has unknown objects alone."""
    wild = {one["id"] for one in world.gt["images"][::2]}
    world.gt["annotations"] = [
        o
        for o in world.gt["annotations"]
        if o["image_id"] not in wild or o["category_id"] not in IDS[:5]
    ]


def no_wild(world):
    """Every image has a known object."""
    for one in world.gt["annotations"][::4]:
        one["category_id"] = 1


def every(n):
    def spoil(world):
        world.dt = world.dt[::n]

    return spoil


def shuffled(world):
    order = np.random.default_rng(RNG).permutation(len(world.dt))
    world.dt = [world.dt[at] for at in order]


def subset_of_truth(world):
    """Ground truth of a tenth of the images that the detector saw."""
    seen = {one["id"] for one in world.gt["images"][::10]}
    world.gt["images"] = [one for one in world.gt["images"] if one["id"] in seen]
    world.gt["annotations"] = [one for one in world.gt["annotations"] if one["image_id"] in seen]


CLEAN = [
    Mistake("clean", nothing, "accepted"),
    Mistake("in any order", shuffled, "accepted"),
    Mistake("jittered", detector(jitter=0.1), "accepted"),
    Mistake("much jittered", detector(jitter=0.3), "accepted"),
    Mistake("late in training", detector(right=0.6, jitter=0.1, noise=0.2), "accepted"),
    Mistake("early in training", detector(right=0.3, jitter=0.2, noise=0.4), "accepted"),
    Mistake("very early in training", detector(right=0.12, jitter=0.2, noise=0.4), "accepted"),
    Mistake("random classes", labels(lambda rng, c: rng.choice(IDS[:5])), "accepted"),
    Mistake(
        "classes at random half the time",
        labels(lambda rng, c: c if rng.random() < 0.5 else rng.choice(IDS[:5])),
        "accepted",
    ),
    Mistake("cats are cars", labels(lambda rng, c: 3 if c == 17 else c), "accepted"),
    Mistake("two classes", labels(lambda rng, c: rng.choice([1, 3])), "accepted"),
    Mistake("everything unknown", agnostic, "accepted"),
    Mistake(
        "unknown at random", labels(lambda rng, c: UNKNOWN if rng.random() < 0.5 else c), "accepted"
    ),
    Mistake("known only", only(*IDS[:5]), "accepted"),
    Mistake("unknown only", only(UNKNOWN), "accepted"),
    Mistake("one class only", only(17), "accepted"),
    Mistake("every tenth detection", every(10), "accepted"),
    Mistake("every hundredth detection", every(100), "accepted"),
    Mistake("three detections", lambda w: w.dt.__delitem__(slice(3, None)), "accepted"),
    Mistake("one detection", lambda w: w.dt.__delitem__(slice(1, None)), "accepted"),
    Mistake("high scores only", kept(lambda one: one["score"] > 0.8), "accepted"),
    Mistake("random scores", detector(noise=9.0), "accepted"),
    Mistake(
        "boxes 5 % too large",
        each(
            "bbox", lambda b: [b[0] - 0.025 * b[2], b[1] - 0.025 * b[3], 1.05 * b[2], 1.05 * b[3]]
        ),
        "accepted",
    ),
    Mistake(
        "boxes a tenth too large",
        each("bbox", lambda b: [b[0] - b[2] / 20, b[1] - b[3] / 20, b[2] * 1.1, b[3] * 1.1]),
        "accepted",
    ),
    Mistake(
        "boxes a tenth too small",
        each("bbox", lambda b: [b[0] + b[2] / 20, b[1] + b[3] / 20, b[2] * 0.9, b[3] * 0.9]),
        "accepted",
    ),
    Mistake("boxes in whole pixels", each("bbox", lambda b: [round(x) for x in b]), "accepted"),
    Mistake(
        "boxes one pixel off",
        each("bbox", lambda b: [b[0] - 1, b[1] - 1, b[2] + 1, b[3] + 1]),
        "accepted",
    ),
    Mistake("tiny objects", size_of_everything(0.03), "accepted"),
    Mistake("small objects", size_of_everything(0.2), "accepted"),
    Mistake("crops", crops, "accepted"),
    Mistake("some crowds", some_crowds, "accepted"),
    Mistake("no image sizes", without_sizes, "accepted"),
    Mistake("no wild images", no_wild, "accepted"),
    Mistake("many wild images", wild_images, "accepted"),
    Mistake("one image", first_image, "accepted"),
    Mistake(
        "all unknown objects of one kind",
        annotated(lambda c: c if c in IDS[:5] else 20),
        "accepted",
    ),
    Mistake(
        "named unknown in the truth",
        annotated(lambda c: c if c in IDS[:5] else UNKNOWN),
        "accepted",
    ),
]
ODD = [
    Mistake("three detections on background", on_background, "warned OS410"),
    Mistake("the same anchors everywhere", grid, "warned"),
    Mistake(
        "all objects unknown", annotated(lambda c: c if c not in IDS[:5] else 20), "warned OS303"
    ),
    Mistake("no object unknown", annotated(lambda c: c if c in IDS[:5] else 1), "warned OS302"),
    Mistake("one known class", annotated(lambda c: 1 if c in IDS[:5] else 20), "warned"),
    Mistake("frames of videos, of which some are dark", frames, "accepted OS412"),
    Mistake("ground truth of a part", subset_of_truth, "warned OS403"),
]


@pytest.mark.parametrize("case", CLEAN, ids=str)
def test_an_honest_file_raises_no_alarm(case, here, openset):
    assert answered(case, here, openset) == ""


@pytest.mark.parametrize("case", ODD, ids=str)
def test_an_odd_file_is_not_refused(case, here, openset):
    assert answered(case, here, openset) == ""


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("right", [0.05, 0.15, 0.4])
def test_no_early_checkpoint_is_refused(seed, right, here, openset):
    case = Mistake("early", detector(right, jitter=0.25, noise=0.5, seed=seed), "accepted")
    assert answered(case, here, openset) == ""
