"""Objects, images and detections that are there twice, or only half."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from openset import evaluate
from openset.examples import DIGITS, DIGITS_TRUTH
from openset.formats import read_annotations, read_detections
from scenes.film import anywhere, moved
from scenes.mistakes import EVALUATE, KNOWN, UNKNOWN, Mistake, answered, both, codes, good, kept


def again(records, change=lambda one, at: one):
    return [*records, *(change(deepcopy(one), at) for at, one in enumerate(records))]


def objects_twice(share=1.0, nudge=0.0, label=None):
    def spoil(world):
        old = world.gt["annotations"]
        new = deepcopy(old[: int(share * len(old))])
        for at, one in enumerate(new):
            one["id"] = len(old) + at + 1
            one["bbox"] = [one["bbox"][0] + nudge, *one["bbox"][1:]]
            one["category_id"] = label or one["category_id"]
        world.gt["annotations"] = old + new

    return spoil


def images_twice(count, name):
    def spoil(world):
        for at, one in enumerate(world.gt["images"][:count]):
            copy = dict(one, id=50_000 + at, file_name=name(one["file_name"]))
            world.gt["images"].append(copy)
            for each in [a for a in world.gt["annotations"] if a["image_id"] == one["id"]]:
                new = dict(each, image_id=copy["id"], id=90_000 + len(world.gt["annotations"]))
                world.gt["annotations"].append(new)
            world.dt += [
                d | {"image_id": copy["id"]} for d in world.dt if d["image_id"] == one["id"]
            ]

    return spoil


def detections_twice(change):
    def spoil(world):
        world.dt = again(world.dt, change)

    return spoil


def rounded(digits):
    return lambda one, at: (
        one
        | {
            "bbox": [round(x, digits) for x in one["bbox"]],
            "score": round(one["score"], 2),
        }
    )


def filled_up(world):
    """Twenty rows on each image, as exported models write them."""
    empty = {"category_id": 1, "bbox": [0, 0, 0, 0], "score": 0.0}
    some = world.gt["images"]
    world.dt += [empty | {"image_id": one["id"]} for one in some for _ in range(20)]


def half(order, share=0.5):
    def spoil(world):
        images = sorted(world.gt["images"], key=order) if order else world.gt["images"]
        seen = {one["id"] for one in images[: int(share * len(images))]}
        world.dt = [one for one in world.dt if one["image_id"] in seen]

    return spoil


def other_half(world):
    seen = {one["id"] for one in world.gt["images"][50:]}
    world.dt = [one for one in world.dt if one["image_id"] in seen]


def middle_lost(world):
    lost = {one["id"] for one in world.gt["images"][30:60]}
    world.dt = [one for one in world.dt if one["image_id"] not in lost]


def cut_list(world):
    world.dt = world.dt[: len(world.dt) // 2]


def every_second(world):
    seen = {one["id"] for one in world.gt["images"][::2]}
    world.dt = [one for one in world.dt if one["image_id"] in seen]


def without_suppression(world):
    """Several boxes of decreasing score around each, as before suppression."""
    world.dt = [
        one | {"bbox": [x + 4 * n for x in one["bbox"]], "score": one["score"] * (1 - 0.1 * n)}
        for one in world.dt
        for n in range(3)
    ]


def another_detector(share=0.05):
    """The same objects, found by another detector: boxes and scores differ a little."""

    def change(one, at):
        rng = np.random.default_rng(at)
        one["bbox"] = moved(np.array([one["bbox"]]), share, rng)[0].tolist()
        one["score"] = round(one["score"] * rng.uniform(0.7, 1), 4)
        return one

    return detections_twice(change)


def in_order(*keys):
    """The list sorted."""

    def spoil(world):
        world.dt.sort(key=lambda one: [one[key] if key != "score" else -one[key] for key in keys])

    return spoil


def around(count, falls, share=0.03):
    """Boxes around each, moved by a share of it, whose scores fall with each by a factor."""

    def spoil(world):
        world.dt = [
            one
            | {
                "bbox": moved(np.array([one["bbox"]]), share, rng)[0].tolist(),
                "score": one["score"] * falls**n,
            }
            for one, rng in ((one, np.random.default_rng(at)) for at, one in enumerate(world.dt))
            for n in range(count)
        ]

    return spoil


def mirrored(jitter=0.0):
    """A second pass over mirrored pictures, whose boxes nobody mirrored back."""

    def spoil(world):
        rng, second = np.random.default_rng(0), deepcopy(world.dt)
        for one in second:
            (x, y, w, h), (width, _) = one["bbox"], world.size(one)
            box = np.array([[width - x - w, y, w, h]])
            one["bbox"] = (moved(box, jitter, rng) if jitter else box)[0].round(2).tolist()
            one["score"] *= 0.98
        world.dt += second

    return spoil


def half_mirrored(world):
    """Every second box is mirrored, and none is there twice."""
    for one in world.dt[::2]:
        x, y, w, h = one["bbox"]
        one["bbox"] = [round(world.size(one)[0] - x - w, 2), y, w, h]


def upside_down(world):
    """Boxes of pictures upside down, beside those of the pictures as they are."""
    rng, second = np.random.default_rng(0), deepcopy(world.dt)
    for one in second:
        x, y, w, h = one["bbox"]
        box = np.array([[x, world.size(one)[1] - y - h, w, h]])
        one["bbox"] = moved(box, 0.03, rng)[0].round(2).tolist()
    world.dt += second


def sure_on_nothing(world):
    """As many sure boxes on background as on objects."""
    rng = np.random.default_rng(0)
    for one in [*world.dt]:
        box = anywhere(np.array([world.size(one)]), rng)[0].round(2).tolist()
        world.dt.append(one | {"bbox": box})
    in_order("image_id", "score")(world)


def unknown_after_all(world):
    """Known classes of all images, then the unknown boxes of all."""
    world.dt.sort(key=lambda one: one["category_id"] == UNKNOWN)


def shuffled(world):
    world.dt = [world.dt[at] for at in np.random.default_rng(0).permutation(len(world.dt))]


def relabelled(one, at):
    return one | {"category_id": UNKNOWN, "score": round(one["score"] * 0.37, 4)}


def all_unknown(world):
    for one in world.dt:
        one["category_id"] = UNKNOWN


CASES = [
    Mistake("objects twice", objects_twice(), "refused OS216"),
    Mistake("objects twice, a pixel off", objects_twice(nudge=1.0), "refused OS216"),
    Mistake("a fifth of the objects twice", objects_twice(0.2), "warned OS216"),
    Mistake("objects again under another label", objects_twice(0.3, label=UNKNOWN), "warned OS348"),
    Mistake(
        "annotations concatenated with their ids",
        lambda w: w.gt.update(annotations=again(w.gt["annotations"])),
        "refused OS216",
    ),
    Mistake("images twice as png", images_twice(20, lambda n: n[:-3] + "png"), "warned OS425"),
    Mistake(
        "images twice in another folder", images_twice(20, lambda n: f"copy/{n}"), "warned OS425"
    ),
    Mistake(
        "images twice with a new name", images_twice(20, lambda n: f"copy of {n}"), "warned OS425"
    ),
    Mistake("detections twice", detections_twice(lambda one, at: one), "warned OS210"),
    Mistake("rows without a box", filled_up, "warned OS210", says="up to a fixed number"),
    Mistake("detections twice in whole pixels", detections_twice(rounded(0)), "warned OS217"),
    Mistake("detections twice with one digit", detections_twice(rounded(1)), "warned OS217"),
    Mistake(
        "regions again as unknown",
        both(all_unknown, detections_twice(relabelled)),
        "warned OS210",
        says="several classes",
    ),
    Mistake(
        "regions under known and unknown",
        detections_twice(relabelled),
        "warned OS210",
        says="relabelled",
    ),
    Mistake("no suppression of overlapping boxes", without_suppression, "warned OS437"),
    Mistake("two detectors in one file", another_detector(), "refused OS232"),
    Mistake(
        "two detectors sorted by image",
        both(another_detector(), in_order("image_id", "score")),
        "warned OS232",
        says="hardly any has two",
    ),
    Mistake(
        "two detectors sorted by score", both(another_detector(), in_order("score")), "warned OS232"
    ),
    Mistake("two detectors in no order", both(another_detector(), shuffled), "warned OS232"),
    Mistake("a soft suppression", both(around(2, 0.3), in_order("score")), "accepted"),
    Mistake("many boxes around each", both(around(4, 0.85), in_order("score")), "warned OS437"),
    Mistake("raw boxes of many anchors", around(6, 0.9, 0.07), "warned OS437"),
    Mistake("mirrored boxes beside", mirrored(), "refused OS231", says="mirrored back"),
    Mistake("the same in no order", both(mirrored(), shuffled), "refused OS231"),
    Mistake("a mirrored pass", mirrored(0.03), "refused OS231", says="of a mirrored picture"),
    Mistake(
        "the same, image by image",
        both(mirrored(0.03), in_order("image_id", "score")),
        "refused OS231",
        says="found on mirrored pictures",
    ),
    Mistake(
        "half of the boxes, mirrored", half_mirrored, "refused OS231", says="mirrored pictures"
    ),
    Mistake(
        "boxes upside down, image by image",
        both(upside_down, in_order("image_id", "score")),
        "refused OS231",
        says="upside down",
    ),
    Mistake("sure boxes on nothing", sure_on_nothing, "accepted"),
    Mistake("unknown boxes after all others", unknown_after_all, "accepted"),
    Mistake("stopped half way", half(None), "refused OS426"),
    Mistake(
        "stopped half way by name",
        half(lambda i: i["file_name"]),
        "refused OS426",
        says="file names",
    ),
    Mistake("stopped after nine tenths", half(None, 0.85), "refused OS426"),
    Mistake("stopped after a tenth", half(None, 0.1), "refused OS426"),
    Mistake("the first half lost", other_half, "refused OS426"),
    Mistake("a worker's share in the middle lost", middle_lost, "accepted"),
    Mistake("the list of detections cut in the middle", cut_list, "refused OS426"),
    Mistake("every second image", every_second, "warned OS426", says="1 of every 2"),
    Mistake("one image", kept(lambda one: one["image_id"] == 1013), "accepted"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_mistake_of_too_much_or_too_little(case, here, openset):
    assert answered(case, here, openset) == ""


def cut(found):
    """The boxes above a score, as of a demo."""
    return found.select(found.score >= 0.3)


def capped(found):
    """The ten best boxes of each image."""
    order = np.lexsort((-found.score, found.image))
    image = found.image[order]
    first = np.r_[0, np.flatnonzero(np.diff(image)) + 1]
    place = np.arange(len(image)) - np.repeat(first, np.diff(np.r_[first, len(image)]))
    return found.select(np.sort(order[place < 10]))


@pytest.mark.parametrize("keep", [cut, capped])
def test_a_detector_without_suppression_that_was_cut_is_not_two(keep):
    """Its third boxes have lower scores, so that a cut leaves two of many."""
    truth, found = read_annotations(DIGITS_TRUTH), read_detections(DIGITS / "rt_detr.parquet")
    said = evaluate(truth, keep(found), intervals=False).findings
    assert "OS232" not in [one.code for one in said]


def versions(world, copies, name="{}_jpg.rf.{:032x}.jpg"):
    """Each picture under names that Roboflow gives to versions of it, boxes moved a little."""
    old = world.gt["images"]
    world.gt["images"] = [
        dict(one, id=one["id"] * 10 + k, file_name=name.format(one["id"], one["id"] * 977 + k))
        for one in old
        for k in range(copies)
    ]
    for kind in (world.gt["annotations"], world.dt):
        kind[:] = [
            dict(one, image_id=one["image_id"] * 10 + k, bbox=[x + k for x in one["bbox"]])
            for one in kind
            for k in range(copies)
        ]
    for at, one in enumerate(world.gt["annotations"]):
        one["id"] = at + 1


@pytest.mark.parametrize("copies", [1, 3])
def test_versions_of_a_picture_are_no_pictures_of_their_own(copies):
    world = good()
    versions(world, copies)
    options = {"known": [*KNOWN], "metrics": ["udr"]}
    result = evaluate(world.gt, world.dt, **options)
    said = [one for one in result.findings if one.code == "OS425"]
    assert [one.count for one in said] == [2 * len(world.gt["images"]) // 3] * (copies > 1)
    for one in said:
        groups = one.fix.partition("groups='")[2].partition("'")[0]
        grouped = evaluate(world.gt, world.dt, **options, groups=groups)
        assert grouped.provenance.counts["groups"] * copies == len(world.gt["images"])
        assert "OS425" not in {finding.code for finding in grouped.findings}
        low, high = result.value("udr").interval
        wide = grouped.value("udr").interval
        assert wide[1] - wide[0] > high - low


def collided(world):
    """The second half of the images is of another set, whose ids are those of the first half."""
    images = world.gt["images"]
    half = len(images) // 2
    other = {b["id"]: a["id"] for a, b in zip(images[:half], images[half:], strict=True)}
    order = sorted(world.gt["annotations"], key=lambda one: one["image_id"] in other)
    for one in order:
        one["image_id"] = other.get(one["image_id"], one["image_id"])
    world.gt.update(images=images[:half], annotations=order)
    kept(lambda one: one["image_id"] not in other)(world)


def area(one):
    return one["bbox"][2] * one["bbox"][3]


def in_the_order_of(key):
    def spoil(world):
        world.gt["annotations"].sort(key=key)

    return spoil


def blind_to_small(world):
    areas = sorted(map(area, world.gt["annotations"]))
    kept(lambda one: area(one) > areas[len(areas) // 2])(world)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (collided, True),
        (in_the_order_of(lambda one: one["category_id"]), False),
        (in_the_order_of(lambda one: one["bbox"][0]), False),
        (both(blind_to_small, in_the_order_of(lambda one: -area(one))), False),
    ],
)
def test_objects_of_another_set_on_images_of_the_same_id(spoil, told, here, openset):
    world = good(240)
    spoil(world)
    world.write(here)
    done = openset(*EVALUATE, "--json")
    assert ("OS468" in codes(done.json)) == told, codes(done.json)
