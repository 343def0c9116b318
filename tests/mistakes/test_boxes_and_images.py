"""Boxes and image ids that are read wrongly, as careless hands write them."""

from __future__ import annotations

import numpy as np
import pytest

from scenes.mistakes import (
    EVALUATE,
    KNOWN,
    Mistake,
    answered,
    both,
    codes,
    each,
    good,
    nothing,
    objects,
)


def truth_with_y_first(world):
    for one in world.gt["annotations"]:
        x, y, w, h = one["bbox"]
        one["bbox"] = [y, x, h, w]


def on_grid(step):
    return lambda b: [step * max(1, round(x / step)) for x in b]


def corners(b):
    return [b[0], b[1], b[0] + b[2], b[1] + b[3]]


def centres(b):
    return [b[0] + b[2] / 2, b[1] + b[3] / 2, b[2], b[3]]


def scaled(by):
    return lambda b: [by * x for x in b]


def squeezed(side):
    return lambda b, s: [
        b[0] * side / s[0],
        b[1] * side / s[1],
        b[2] * side / s[0],
        b[3] * side / s[1],
    ]


def padded(side, corner=False):
    def box(b, s):
        by = side / max(s)
        dx, dy = (0, 0) if corner else ((side - by * s[0]) / 2, (side - by * s[1]) / 2)
        return [b[0] * by + dx, b[1] * by + dy, b[2] * by, b[3] * by]

    return box


def after(*steps):
    def box(b, s):
        for step in steps:
            b = step(b, s) if step.__code__.co_argcount == 2 else step(b)
        return b

    return box


def moved(x, y):
    return lambda b: [b[0] + x, b[1] + y, b[2], b[3]]


def about(share, by):
    """Resized about a point, which is a share of the box."""
    return lambda b: [
        b[0] + share * (1 - by) * b[2],
        b[1] + share * (1 - by) * b[3],
        b[2] * by,
        b[3] * by,
    ]


def middle(side=None):
    """Boxes of the square in the middle, resized."""

    def box(b, s):
        least = min(s)
        by = (side or least) / least
        return [
            by * (b[0] - (s[0] - least) / 2),
            by * (b[1] - (s[1] - least) / 2),
            by * b[2],
            by * b[3],
        ]

    return box


def swapped(b):
    return [b[1], b[0], b[3], b[2]]


def crossed(b, s):
    """Shares of the image times its other side."""
    across, down = s[1] / s[0], s[0] / s[1]
    return [b[0] * across, b[1] * down, b[2] * across, b[3] * down]


def in_square(step):
    """Boxes of a picture padded to a square, whose padding a step got wrong."""

    def box(b, s):
        longest = max(s)
        dx, dy = (longest - s[0]) / 2, (longest - s[1]) / 2
        if step == "squeezed":
            x, y = (b[0] + dx) * s[0] / longest, (b[1] + dy) * s[1] / longest
            return [x, y, b[2] * s[0] / longest, b[3] * s[1] / longest]
        by = 1 if step == "padded" else -1
        return [b[0] + by * dx, b[1] + by * dy, b[2], b[3]]

    return box


def shares(b, s):
    return [b[0] / s[0], b[1] / s[1], b[2] / s[0], b[3] / s[1]]


def whole(b):
    return [int(x) for x in b]


def thumbnails(factor):
    """Ground truth of pictures that were resized by a factor of their width and height."""

    def spoil(world):
        for one in world.gt["annotations"]:
            by = factor(*world.size(one))
            one["bbox"] = [round(x * by, 2) for x in one["bbox"]]
            one["area"] *= by * by

    return spoil


def places(order, start):
    def spoil(world):
        images = sorted(world.gt["images"], key=order) if order else world.gt["images"]
        place = {one["id"]: at + start for at, one in enumerate(images)}
        for one in world.dt:
            one["image_id"] = place[one["image_id"]]

    return spoil


def names(change):
    def spoil(world):
        name = {one["id"]: change(one["file_name"]) for one in world.gt["images"]}
        for one in world.dt:
            one["image_id"] = name[one["image_id"]]

    return spoil


def cameras(alike, named=lambda name: name):
    """Images in folders of two cameras, some of which number them alike; names without folders."""

    def spoil(world):
        for at, one in enumerate(world.gt["images"]):
            number = at // 2 if at < 2 * alike else at
            one["file_name"] = f"cam{at % 2 + 1}/{number:04d}.jpg"
        names(named)(world)

    return spoil


def rolled(by):
    def spoil(world):
        ids = [one["id"] for one in world.gt["images"]]
        other = dict(zip(ids, ids[by:] + ids[:by], strict=True))
        for one in world.dt:
            one["image_id"] = other[one["image_id"]]

    return spoil


def renumbered(world):
    """Dense ids from 1, so that neighbours are ids as well."""
    new = {one["id"]: at + 1 for at, one in enumerate(world.gt["images"])}
    for one in (*world.gt["images"],):
        one["id"] = new[one["id"]]
    for one in (*world.gt["annotations"], *world.dt):
        one["image_id"] = new[one["image_id"]]


def through_float32(world):
    """Large ids, those of the detections after a tensor of floats."""
    new = {one["id"]: 2**25 + 2**24 + 3 * at for at, one in enumerate(world.gt["images"])}
    for one in world.gt["images"]:
        one["id"] = new[one["id"]]
    for one in (*world.gt["annotations"], *world.dt):
        one["image_id"] = new[one["image_id"]]
    for one in world.dt:
        one["image_id"] = int(np.float32(one["image_id"]))


def large_ids(world):
    """Large ids as they are."""
    for one in world.gt["images"]:
        one["id"] += 2**25
    for one in (*world.gt["annotations"], *world.dt):
        one["image_id"] += 2**25


def as_table(names):
    """Detections as a table, under names of columns."""

    def spoil(world):
        rows = [f"image_id,category_id,{names},score"]
        rows += [
            ",".join(map(str, [one["image_id"], one["category_id"], *one["bbox"], one["score"]]))
            for one in world.dt
        ]
        world.files["dt.csv"] = "\n".join(rows) + "\n"

    return spoil


TABLE = ("evaluate", "gt.json", "dt.csv", "--known", ",".join(KNOWN), "--no-intervals")
CASES = [
    Mistake(
        "sizes under the names of corners",
        as_table("xmin,ymin,xmax,ymax"),
        "refused OS215",
        TABLE,
        says="naming the columns x, y, w, h",
    ),
    Mistake("sizes under their names", as_table("x,y,w,h"), "accepted", TABLE),
    Mistake(
        "names of two cameras",
        cameras(50, lambda name: name[5:]),
        "refused OS471",
        says="0000.jpg is cam1/0000.jpg and cam2/0000.jpg",
    ),
    Mistake("stems of two cameras", cameras(50, lambda name: name[5:-4]), "refused OS471"),
    Mistake(
        "a few of two cameras",
        cameras(3, lambda name: name[5:-4]),
        "refused OS471",
        says="3 names of 6 images",
    ),
    Mistake("names of one camera", cameras(0, lambda name: name[5:]), "accepted"),
    Mistake("paths of two cameras", cameras(50), "accepted"),
    Mistake("ids through float32", through_float32, "refused OS470", says="24 bits"),
    Mistake("large ids", large_ids, "accepted"),
    Mistake("boxes on a grid of 16 pixels", each("bbox", on_grid(16)), "warned OS228", says="16"),
    Mistake("boxes in whole pixels", each("bbox", on_grid(1)), "accepted"),
    Mistake(
        "all boxes on a grid",
        both(each("bbox", on_grid(4)), objects("bbox", on_grid(4))),
        "accepted",
    ),
    Mistake("corners", each("bbox", corners), "refused OS204|OS215", says="--boxes xyxy"),
    Mistake("centres", each("bbox", centres), "refused OS215", says="--boxes cxcywh"),
    Mistake(
        "an offset",
        each("bbox", moved(-40, -30)),
        "refused OS230",
        says="moved by about -",
    ),
    Mistake(
        "a bar on top", each("bbox", moved(0, 60)), "refused OS230", says="about +0 pixels in x"
    ),
    Mistake(
        "sizes halved",
        each("bbox", about(0, 0.5)),
        "refused OS230",
        says="0.5 times as large at their upper left corners",
    ),
    Mistake(
        "doubled at the other corner",
        each("bbox", about(1, 2)),
        "refused OS230",
        says="2 times as large at their lower right corners",
    ),
    Mistake(
        "half as large",
        each("bbox", about(0.5, 0.5)),
        "refused OS230",
        says="0.5 times as large about their centres",
    ),
    Mistake(
        "a third too large",
        each("bbox", about(0.5, 1.3)),
        "refused OS230",
        says="1.3 times as large about their centres",
    ),
    Mistake(
        "half as high",
        each("bbox", lambda b: [b[0], b[1] + b[3] / 4, b[2], b[3] / 2]),
        "refused OS230",
        says="1 x 0.5 times as large about their centres",
    ),
    Mistake(
        "a corner of a resized picture",
        each("bbox", after(scaled(0.5), moved(-40, 10))),
        "refused OS230",
        says="0.5 times as large and moved by about -",
    ),
    Mistake(
        "height and width exchanged",
        each("bbox", crossed),
        "refused OS215",
        says="--boxes xywh-crossed",
    ),
    Mistake(
        "likewise, and said so", each("bbox", crossed), "accepted", ("--boxes", "xywh-crossed")
    ),
    *(
        Mistake(
            f"a square, {how}",
            each("bbox", in_square(how)),
            "refused OS215",
            says=f"--boxes xywh-{how}",
        )
        for how in ("padded", "unpadded", "squeezed")
    ),
    *(
        Mistake(
            f"a square, {how}, and said so",
            each("bbox", in_square(how)),
            "accepted",
            ("--boxes", f"xywh-{how}"),
        )
        for how in ("padded", "unpadded", "squeezed")
    ),
    Mistake(
        "shares as whole numbers",
        each("bbox", after(shares, whole)),
        "refused OS203",
        says="cast to whole numbers",
    ),
    Mistake("pixels as whole numbers", each("bbox", whole), "accepted"),
    Mistake(
        "width - x",
        each("bbox", lambda b, s: [s[0] - b[0], *b[1:]]),
        "refused OS230",
        says="in place of width - x - width",
    ),
    Mistake(
        "height - y",
        each("bbox", lambda b, s: [b[0], s[1] - b[1], *b[2:]]),
        "refused OS230",
        says="in place of height - y - height",
    ),
    Mistake("the middle", each("bbox", middle()), "refused OS215", says="xywh-cropped"),
    Mistake("the middle in 224", each("bbox", middle(224)), "refused OS215", says="xywh-crop-224"),
    Mistake("y before x", each("bbox", swapped), "refused OS215", says="--boxes yxhw"),
    Mistake(
        "shares times the sides of a camera's picture",
        each("bbox", lambda b, s: [b[i] / s[i % 2] * (1920, 1080)[i % 2] for i in range(4)]),
        "refused OS215|OS207",
        says="--boxes xywh-norm-1920-1080",
    ),
    Mistake(
        "columns x and y exchanged",
        each("bbox", lambda b: [b[1], b[0], *b[2:]]),
        "refused OS215",
        says="--boxes yxwh",
    ),
    Mistake(
        "corners y first in 0..1000",
        each("bbox", after(corners, squeezed(1000), swapped)),
        "refused OS215|OS204",
        says="yxyx-norm-1000",
    ),
    Mistake(
        "corners in 0..1",
        each("bbox", after(corners, squeezed(1))),
        "refused OS203",
        says="xyxy-norm",
    ),
    Mistake(
        "centres in 0..1",
        each("bbox", after(centres, squeezed(1))),
        "refused OS203",
        says="cxcywh-norm",
    ),
    Mistake(
        "centres in percent",
        each("bbox", after(centres, squeezed(100))),
        "refused OS215",
        says="cxcywh-norm-100",
    ),
    Mistake("squeezed to 300", each("bbox", squeezed(300)), "refused OS215", says="xywh-norm-300"),
    Mistake(
        "squeezed to 1333",
        each("bbox", after(corners, squeezed(1333))),
        "refused OS215",
        says="xyxy-norm-1333",
    ),
    Mistake("three quarters", each("bbox", scaled(0.75)), "refused OS215", says="scaled-0.75"),
    Mistake("twice", each("bbox", scaled(2)), "refused OS215", says="scaled-2"),
    Mistake("one tenth off", each("bbox", scaled(1.1)), "refused OS215", says="scaled-1.1"),
    Mistake("odd factor", each("bbox", scaled(0.613)), "refused OS215", says="scaled-0.613"),
    Mistake("letterboxed to 512", each("bbox", padded(512)), "refused OS215", says="letterbox-512"),
    Mistake(
        "letterboxed corners to 1280",
        each("bbox", after(padded(1280), corners)),
        "refused OS215|OS204",
        says="xyxy-letterbox-1280",
    ),
    Mistake(
        "padded below and right to 608",
        each("bbox", padded(608, corner=True)),
        "refused OS215",
        says="longest-608",
    ),
    Mistake(
        "letterboxed in 0..1",
        each("bbox", after(padded(640), scaled(1 / 640))),
        "refused OS203|OS215",
        says="letterbox",
    ),
    Mistake(
        "corners x x y y",
        each("bbox", lambda b: [b[0], b[0] + b[2], b[1], b[1] + b[3]]),
        "refused OS215",
        says="--boxes x1x2y1y2",
    ),
    Mistake(
        "origin below",
        each("bbox", lambda b, s: [b[0], s[1] - b[1] - b[3], b[2], b[3]]),
        "refused OS215",
        says="flipped",
    ),
    Mistake(
        "boxes given as corners", nothing, "refused OS215", ("--boxes", "xyxy"), says="--boxes xywh"
    ),
    Mistake(
        "boxes given as letterbox",
        nothing,
        "refused OS215",
        ("--boxes", "xywh-letterbox-416"),
        says="--boxes xywh",
    ),
    Mistake(
        "boxes given as fractions",
        nothing,
        "refused",
        ("--boxes", "cxcywh-norm"),
        says="--boxes xywh",
    ),
    Mistake(
        "corners given as centres",
        each("bbox", corners),
        "refused",
        ("--boxes", "cxcywh"),
        says="--boxes xyxy",
    ),
    Mistake("corners, and said so", each("bbox", corners), "accepted", ("--boxes", "xyxy")),
    Mistake("places from 0", places(None, 0), "refused OS423", says="--image-ids index"),
    Mistake(
        "places from 1 by name",
        places(lambda i: i["file_name"], 1),
        "refused OS423",
        says="index-by-name-1",
    ),
    Mistake("ids one too large", each("image_id", lambda i: i + 1), "refused OS423|OS403"),
    Mistake(
        "dense ids one too large",
        both(renumbered, each("image_id", lambda i: i + 1)),
        "refused OS423",
        says="minus-1",
    ),
    Mistake(
        "dense ids one too small",
        both(renumbered, each("image_id", lambda i: i - 1)),
        "refused OS423",
        says="--image-ids index",
    ),
    Mistake(
        "dense ids two too large",
        both(renumbered, each("image_id", lambda i: i + 2)),
        "refused OS423|OS448",
    ),
    Mistake("stems", names(lambda n: n[:-4]), "accepted"),
    Mistake("stems, asked for", names(lambda n: n[:-4]), "accepted", ("--image-ids", "stem")),
    Mistake("file names", names(lambda n: n), "accepted"),
    Mistake(
        "file names in a folder",
        names(lambda n: "/data/coco/val2017/" + n),
        "accepted",
    ),
    Mistake(
        "file names of Windows",
        names(lambda n: "C:\\data\\val\\" + n),
        "accepted",
    ),
    Mistake(
        "numbers of file names",
        names(lambda n: int(n[:-4])),
        "refused OS423",
        says="--image-ids number",
    ),
    Mistake("ids as text", each("image_id", str), "accepted"),
    Mistake("ids as text with zeros", each("image_id", lambda i: f"{i:012d}"), "refused"),
    Mistake("ids as fractions", each("image_id", float), "accepted"),
    Mistake("ids rolled by 17", rolled(17), "refused OS448", says="17 before theirs"),
    Mistake("ids rolled by one", rolled(1), "refused OS448", says="1 before theirs"),
    Mistake(
        "corners and places",
        both(each("bbox", corners), places(None, 0)),
        "refused OS423",
        says="--image-ids index and --boxes xyxy",
    ),
    Mistake(
        "centres and ids one off",
        both(renumbered, each("bbox", centres), each("image_id", lambda i: i + 1)),
        "refused OS423",
        says="--image-ids minus-1 and --boxes cxcywh",
    ),
    Mistake(
        "ids from 0 and corners",
        both(renumbered, each("bbox", corners), each("image_id", lambda i: i - 1)),
        "refused",
        says="xyxy",
    ),
    Mistake(
        "scaled and y first",
        each("bbox", after(swapped, scaled(0.5))),
        "refused OS215",
        says="yxhw-scaled-0.5",
    ),
    Mistake(
        "shares and shuffled",
        both(each("bbox", squeezed(1)), rolled(17)),
        "refused OS203",
    ),
    Mistake(
        "corners of a mirrored picture",
        each("bbox", lambda b, s: corners([s[0] - b[0] - b[2], *b[1:]])),
        "refused",
        says="mirrored",
    ),
    Mistake(
        "places and half the pixels",
        both(each("bbox", scaled(0.5)), places(None, 0)),
        "refused OS423",
        says="scaled-0.5",
    ),
    Mistake(
        "places by name and letterboxed",
        both(each("bbox", padded(640)), places(lambda i: i["file_name"], 0)),
        "refused OS423",
        says="index-by-name",
    ),
    Mistake(
        "ground truth in corners", objects("bbox", corners), "refused OS204|OS215", says="ground"
    ),
    Mistake(
        "ground truth of thumbnails",
        thumbnails(lambda w, h: 256 / max(w, h)),
        "refused OS430",
        says="a picture whose longer side is 256; boxes fill their images",
    ),
    Mistake(
        "ground truth of larger pictures",
        thumbnails(lambda w, h: 2),
        "refused OS430",
        says="a picture 2 times as large; boxes fill their images",
    ),
    Mistake("ground truth in centres", objects("bbox", centres), "refused OS430", says="centre x"),
    Mistake(
        "both in corners",
        both(objects("bbox", corners), each("bbox", corners)),
        "refused OS204",
        says="ground",
    ),
    Mistake(
        "the ground truth has y first",
        truth_with_y_first,
        "refused OS430",
        says="ground truth is y, x",
    ),
    Mistake(
        "image sizes exchanged",
        lambda w: [i.update(width=i["height"], height=i["width"]) for i in w.gt["images"]],
        "refused OS219",
        says="exchange width and height",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_mistake_in_boxes_or_images(case, here, openset):
    assert answered(case, here, openset) == ""


def test_objects_that_are_shares_are_all_that_is_said(here, openset):
    """Whatever fits them is no reading of the detections."""
    world = good()
    for one in world.gt["annotations"]:
        one["bbox"] = shares(one["bbox"], world.size(one))
    world.write(here)
    found = openset(*EVALUATE, "--json").json["error"]["findings"]
    assert [one["code"] for one in found] == ["OS203"]


def test_negative_sizes_are_no_shuffled_ids(here, openset):
    world = good()
    for one in world.dt:
        (x, y, w, h), (width, _) = one["bbox"], world.size(one)
        one["bbox"] = [width - x, y, -w, h]
    world.write(here)
    found = openset(*EVALUATE, "--json").json["error"]["findings"]
    assert "OS205" in [one["code"] for one in found]
    assert "OS424" not in [one["code"] for one in found]


def test_a_ground_truth_with_y_first_is_no_matter_of_image_sizes(here, openset):
    world = good()
    truth_with_y_first(world)
    world.write(here)
    found = codes(openset(*EVALUATE, "--json").json)
    assert "OS430" in found and not {"OS215", "OS219"} & found.keys()


def test_shares_of_images_whose_sides_are_exchanged_are_not_blamed(here, openset):
    """They end where the other side does, because they are multiplied by it."""
    world = good(200)
    for one in world.dt:
        one["bbox"] = shares(one["bbox"], world.size(one))
    world.write(here)
    asked = (*EVALUATE, "--boxes", "xywh-norm", "--json")
    assert openset(*asked).code == 0
    for one in world.gt["images"]:
        one |= {"width": one["height"], "height": one["width"]}
    world.write(here)
    assert [one["code"] for one in openset(*asked).json["error"]["findings"]] == ["OS219"]


def test_a_conversion_that_took_sizes_for_corners_can_be_made_again(here, openset):
    good().write(here)
    asked = ("convert", "dt.json", "--truth", "gt.json", "-o", "again.json")
    wrong = " ".join(openset(*asked, "--boxes", "xyxy").err.split())
    assert "warning OS215" in wrong and "converting again without --boxes xyxy" in wrong
    assert openset("evaluate", "gt.json", "again.json", *EVALUATE[3:]).code == 2
    assert "OS215" not in openset(*asked).err
    assert openset("evaluate", "gt.json", "again.json", *EVALUATE[3:]).code == 0
