"""Files cut to a part: capped detections, crowds, areas of another scale, unknown objects."""

from __future__ import annotations

import numpy as np
import pytest

from scenes.mistakes import EVALUATE, IDS, Mistake, answered, both, good, kept, objects


def capped(most):
    """At most so many detections an image, the surest."""

    def spoil(world):
        world.dt.sort(key=lambda one: -one["score"])
        seen = {}
        for one in world.dt:
            one["place"] = seen[one["image_id"]] = seen.get(one["image_id"], 0) + 1
        kept(lambda one: one.pop("place") <= most)(world)

    return spoil


def of_first(images):
    """Objects of unknown classes on the first images alone."""

    def spoil(world):
        some = {one["id"] for one in world.gt["images"][:images]}
        world.gt["annotations"] = [
            one
            for one in world.gt["annotations"]
            if one["category_id"] in IDS[:5] or one["image_id"] in some
        ]

    return spoil


def another_source(world):
    """The images after the first 30 are called otherwise: a set of its own."""
    for one in world.gt["images"][30:]:
        one["file_name"] = "wild_" + one["file_name"]


def apart(world):
    """Images with unknown objects first, and no known ones on them."""
    first = {one["id"] for one in world.gt["images"][:30]}
    world.gt["annotations"] = [
        one
        for one in world.gt["annotations"]
        if (one["category_id"] in IDS[:5]) != (one["image_id"] in first)
    ]


def pseudo_labels(share, jitter, label=91):
    """Known objects a second time, as unknown."""

    def spoil(world):
        rng = np.random.default_rng(1)
        for one in [*world.gt["annotations"]]:
            if one["category_id"] in IDS[:5] and rng.random() < share:
                x, y, w, h = one["bbox"]
                box = [x + rng.normal(0, jitter) * w, y + rng.normal(0, jitter) * h, w, h]
                again = {"category_id": label, "id": 9000 + one["id"], "bbox": box}
                world.gt["annotations"].append(one | again)

    return spoil


def more_persons(world):
    """Two classes instead of four, so that each has enough objects."""
    for one in (*world.gt["annotations"], *world.dt):
        one["category_id"] = {2: 1, 10: 3}.get(one["category_id"], one["category_id"])


def not_annotated(labels, which, folder=False):
    """Classes that have no object on the images of a part."""

    def spoil(world):
        more_persons(world)
        part = {one["id"] for at, one in enumerate(world.gt["images"]) if which(at)}
        for one in world.gt["images"] if folder else []:
            one["file_name"] = ("siteB/" if one["id"] in part else "siteA/") + one["file_name"]
        world.gt["annotations"] = [
            one
            for one in world.gt["annotations"]
            if one["category_id"] not in labels or one["image_id"] not in part
        ]

    return spoil


def not_found_either(world):
    """A class that is not there on the second half, nor found."""
    last = {one["id"] for one in world.gt["images"][50:]}
    not_annotated({1}, lambda at: at >= 50)(world)
    kept(lambda one: one["category_id"] != 1 or one["image_id"] not in last)(world)


def found_as_background(world):
    """A class that is not there on the second half, and named on background now and then."""
    not_found_either(world)
    nothing = [one for one in world.dt if one["score"] < 0.5 and one["category_id"] != 1]
    for at, one in enumerate(nothing[::6]):
        one |= {"category_id": 1, "score": 0.6 if at % 3 else 0.4}


def area(value):
    """The area of each object, made of its width, its height and the size of its image."""

    def spoil(world):
        for one in world.gt["annotations"]:
            one["area"] = value(*one["bbox"][2:], *world.size(one))

    return spoil


def one_object_each(world):
    first = {}
    for one in world.gt["annotations"]:
        first.setdefault(one["image_id"], one)
    world.gt["annotations"] = [*first.values()]


def missed(world):
    """A weak detector: of each image a few boxes, of the others one."""
    rng = np.random.default_rng(0)
    kept(lambda one: rng.random() < 0.3)(world)


def thin(w, h, *_):
    """Of a wire, from corner to corner."""
    return max(w, h) * (1 + w / h / 10)


def crowds(every, change=lambda world, one: None):
    """One object of so many is a crowd, of which something else is true."""

    def spoil(world):
        for one in world.gt["annotations"][::every]:
            one["iscrowd"] = 1
            change(world, one)

    return spoil


def hard_to_see(world, one):
    """Of three there, one is found."""
    rng = np.random.default_rng(one["id"])
    near = [dt for dt in world.dt if dt["image_id"] == one["image_id"]]
    near = [dt for dt in near if abs(np.subtract(dt["bbox"], one["bbox"])).max() < 60]
    world.dt = [dt for dt in world.dt if dt not in near or rng.random() < 0.35]


CASES = [
    Mistake("one box an image", capped(1), "warned OS451"),
    Mistake("three boxes an image", capped(3), "warned OS451", says="cannot be found"),
    Mistake("one box an image of one object", both(one_object_each, capped(1)), "accepted"),
    Mistake("few boxes, of a weak detector", missed, "accepted"),
    Mistake("half are crowds", objects("iscrowd", lambda _: 1, slice(0, None, 2)), "warned OS452"),
    Mistake(
        "a third are crowds, and single objects",
        crowds(3),
        "warned OS452",
        says="as they fit single objects",
    ),
    Mistake("a third are crowds, and hard to see", crowds(3, hard_to_see), "accepted"),
    Mistake("a tenth are crowds", objects("iscrowd", lambda _: 1, slice(0, None, 10)), "accepted"),
    Mistake("unknown objects at first", of_first(30), "warned OS453", says="have known ones alone"),
    Mistake(
        "unknown objects at last",
        both(lambda w: w.gt["images"].reverse(), of_first(30)),
        "warned OS453",
    ),
    Mistake("unknown objects of another set", both(of_first(30), another_source), "accepted"),
    Mistake("images of unknown objects", apart, "accepted"),
    Mistake(
        "known objects again as unknown",
        pseudo_labels(0.5, 0.02),
        "warned OS348",
        says="have the box of an unknown object (unknown), or nearly so",
    ),
    Mistake("exactly so, a few", pseudo_labels(0.05, 0), "warned OS348"),
    Mistake(
        "as a class that is unknown", pseudo_labels(0.5, 0, 20), "warned OS348", says="'sheep'"
    ),
    Mistake("as another known class", pseudo_labels(0.05, 0.01, 3), "accepted"),
    Mistake("unknown objects in front of known ones", pseudo_labels(0.5, 0.3), "accepted"),
    Mistake(
        "a class that nobody annotated in a second set",
        not_annotated({1}, lambda at: at >= 50, folder=True),
        "warned OS456",
        says="50 of 100 images (siteB/*) have no object that is called person",
    ),
    Mistake(
        "two classes, in the first part, images in another order",
        both(not_annotated({1, 3}, lambda at: at < 50), lambda w: w.dt.reverse()),
        "warned OS456",
        says="in the order of the file",
    ),
    Mistake(
        "a class by folders that alternate",
        not_annotated({1}, lambda at: at % 2 == 0, folder=True),
        "warned OS456",
        says="siteB/*",
    ),
    Mistake("a class that is not there", not_found_either, "accepted"),
    Mistake("a class that is named where it is not", found_as_background, "accepted"),
    Mistake("areas as shares", area(lambda w, h, x, y: w * h / x / y), "warned OS240"),
    Mistake("areas in a small picture", area(lambda w, h, *_: w * h * 0.16), "warned OS240"),
    Mistake("areas in a large picture", area(lambda w, h, *_: w * h * 4), "warned OS240"),
    Mistake("areas of ellipses", area(lambda w, h, *_: w * h * np.pi / 4), "accepted"),
    Mistake("areas of inclusive boxes", area(lambda w, h, *_: (w + 1) * (h + 1)), "accepted"),
    Mistake("areas of wires", area(thin), "accepted"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_part_of_what_is_there(case, here, openset):
    assert answered(case, here, openset) == ""


def beside(change):
    """A second detector, which is the first but for a little, with some of its boxes."""

    def spoil(world):
        rng = np.random.default_rng(2)
        moved = [one | {"score": round(one["score"] * 0.9, 4)} for one in world.dt]
        seen = {one["id"] for one in world.gt["images"] if rng.random() < 0.7}
        world.files["other.json"] = [one for one in moved if change(one, seen)]

    return spoil


BOTH = (*EVALUATE[:3], "other.json", *EVALUATE[3:])
PAIRS = {
    "run on a part": (lambda one, seen: one["image_id"] in seen, True),
    "cautious": (lambda one, seen: one["score"] > 0.75, False),
    "run on all": (lambda one, seen: True, False),
}


@pytest.mark.parametrize("what", PAIRS)
def test_a_second_detector_on_a_part_of_the_images(what, here, openset):
    change, wrong = PAIRS[what]
    beside(change)(world := good())
    world.write(here)
    done = openset(*BOTH)
    assert done.code == 0 and ("warning OS454" in done.err) is wrong


def lost(world, share=0.5):
    rng = np.random.default_rng(3)
    world.gt["annotations"] = [one for one in world.gt["annotations"] if rng.random() > share]


def scored(low, high):
    """Boxes on nothing, the last two of each image, with scores of that range."""

    def spoil(world):
        rng = np.random.default_rng(3)
        for at, one in enumerate(world.dt):
            following = world.dt[at + 2 : at + 3]
            if not following or following[0]["image_id"] != one["image_id"]:
                one["score"] = round(float(rng.uniform(low, high)), 4)

    return spoil


ANNOTATED = {
    "half of the annotations are lost": (lost, True),
    "all are there": (lambda world: None, False),
    "of a detector that is as sure of nothing": (scored(0.3, 1.0), False),
    "of a detector that is surer of nothing": (scored(0.5, 1.0), False),
    "of a detector that is nearly as sure of nothing": (scored(0.1, 0.9), False),
}


@pytest.mark.parametrize("what", ANNOTATED)
def test_objects_without_annotations(what, here, openset):
    spoil, told = ANNOTATED[what]
    spoil(world := good(400))
    world.write(here)
    assert ("warning OS472" in openset(*EVALUATE).err) is told
