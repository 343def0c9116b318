"""Verbs that only look at a file, or make another of it, say what is wrong with it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from scenes.mistakes import each, good, objects


def corners(box):
    return [box[0], box[1], round(box[0] + box[2], 2), round(box[1] + box[3], 2)]


def shares(box, size):
    return (np.array(box) / [*size, *size]).round(6).tolist()


@pytest.fixture
def world(here):
    made = good()
    made.write(here)
    return made


TRUTH = [("describe", "gt.json"), ("convert", "gt.json", "-o", "new.json"),
         ("select", "gt.json", "-o", "new.json")]  # fmt: skip
FOUND = [("convert", "dt.json", "--truth", "gt.json", "-o", "new.parquet"),
         ("select", "dt.json", "--truth", "gt.json", "-o", "new.json")]  # fmt: skip


@pytest.mark.parametrize("argv", [*TRUTH, *FOUND], ids=" ".join)
def test_nothing_is_said_of_a_file_that_is_right(world, openset, argv):
    done = openset(*argv)
    assert done.code == 0 and "warning" not in done.err


@pytest.mark.parametrize("argv", TRUTH, ids=" ".join)
def test_corners_and_copies_in_a_ground_truth(world, here, openset, argv):
    again = [one | {"id": one["id"] + 10_000} for one in world.gt["annotations"]]
    world.gt["annotations"] += again
    world.write(here)
    assert "warning OS216" in openset(*argv).err
    world.gt["annotations"] = world.gt["annotations"][: len(again)]
    for one in world.gt["annotations"]:
        del one["area"]
    objects("bbox", corners)(world)
    world.write(here)
    done = openset(*argv)
    assert done.code == 0 and "warning OS204" in done.err


@pytest.mark.parametrize("argv", FOUND, ids=" ".join)
def test_corners_in_detections(world, here, openset, argv):
    each("bbox", corners)(world)
    world.write(here)
    done = openset(*argv)
    assert done.code == 0 and "warning OS204" in done.err
    assert "--force" not in done.err  # nothing is refused that could be forced


def test_convert_reads_the_layout_that_its_warning_names(world, here, openset):
    each("bbox", corners)(world)
    world.write(here)
    done = openset("convert", "dt.json", "--truth", "gt.json", "-o", "new.json", "--boxes", "xyxy")
    assert done.code == 0 and "OS204" not in done.err
    new, right = (json.loads((here / "new.json").read_text()), good().dt)
    assert np.allclose([one["bbox"] for one in new], [one["bbox"] for one in right], atol=0.02)
    done = openset("convert", "gt.json", "-o", "new.json", "--boxes", "xyxy")
    assert done.code == 2 and "belongs to detections" in done.err


@pytest.fixture
def photos(world, here):
    """The first four images as files, and their boxes in a table, by file name."""
    images = world.gt["images"][:4]
    for one in images:
        picture = Image.new("RGB", (one["width"], one["height"]))
        (here / "img").mkdir(exist_ok=True)
        picture.save(here / "img" / one["file_name"])
    names = {one["id"]: one["file_name"] for one in images}

    def table(change):
        lines = ["image,label,x,y,w,h,score"]
        for one in world.dt:
            if one["image_id"] in names:
                box = ",".join(map(str, change(one["bbox"], world.size(one))))
                lines.append(f"{names[one['image_id']]},thing,{box},{one['score']}")
        (here / "dt.csv").write_text("\n".join(lines) + "\n")

    return table


def test_draw_finds_photos_by_their_whole_names(photos, openset):
    photos(lambda box, size: box)
    done = openset("draw", "dt.csv", "--images", "img")
    assert done.code == 0 and "wrote 4 images" in done.out and "warning" not in done.err


def test_draw_says_that_boxes_are_shares_of_the_photo_and_reads_them(photos, openset):
    photos(shares)
    done = openset("draw", "dt.csv", "--images", "img")
    assert done.code == 0 and "warning OS203" in done.err and "--boxes xywh-norm" in done.err
    done = openset(
        "draw", "dt.csv", "--images", "img", "--boxes", "xywh-norm", "--json", "-o", "new"
    )
    boxes = [box["box"] for photo in done.json["boxes"].values() for box in photo]
    assert done.code == 0 and "OS203" not in done.err and np.max(boxes) > 100
