"""Files of which a part is right: other boxes among them, and what is said of a part."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from openset import InputError, evaluate
from scenes.mistakes import IDS, Mistake, answered, good


def in_later_images(change):
    """Boxes of the second half of the images; of the ground truth."""

    def spoil(world):
        later = {one["id"] for one in world.gt["images"][len(world.gt["images"]) // 2 :]}
        for one in world.gt["annotations"]:
            if one["image_id"] in later:
                one["bbox"] = change(*one["bbox"])
                one.pop("area", None)

    return spoil


def with_objects(share):
    """Objects among the boxes, as some detectors add them to their proposals."""

    def spoil(world):
        rng = np.random.default_rng(1)
        world.dt += [
            {"image_id": one["image_id"], "category_id": one["category_id"], "bbox": one["bbox"],
             "score": round(rng.uniform(0.5, 1), 3)}
            for one in world.gt["annotations"]
            if one["category_id"] in IDS[:5] and rng.random() < share
        ]  # fmt: skip

    return spoil


def in_steps(part, side=None):
    """Centre and size in such parts of the image, or of a side for all."""

    def spoil(world):
        for one in world.dt:
            size = world.size(one) if side is None else (side, side)
            x, y, w, h = one["bbox"]
            box = [(x + w / 2) / size[0], (y + h / 2) / size[1], w / size[0], h / size[1]]
            a, b, c, d = (max(round(value / part) * part, part * (at > 1))
                          for at, value in enumerate(box))  # fmt: skip
            one["bbox"] = [(a - c / 2) * size[0], (b - d / 2) * size[1], c * size[0], d * size[1]]

    return spoil


def whole(world):
    for one in world.gt["annotations"]:
        one["bbox"] = [0, 0, *world.size(one)]
        one.pop("area", None)


def whole_pixels(world):
    for one in world.dt:
        one["bbox"] = [float(max(round(value), 2)) for value in one["bbox"]]


def of_the_batch(world):
    """The boxes of the first image of eight, written for all."""
    ids = [one["id"] for one in world.gt["images"]]
    of = {}
    for one in world.dt:
        of.setdefault(one["image_id"], []).append(one)
    world.dt = [
        one | {"image_id": key}
        for at, key in enumerate(ids)
        for one in of.get(ids[at // 8 * 8], [])
    ]


CORNERS = in_later_images(lambda x, y, w, h: [x, y, x + w, y + h])
SMALLER = in_later_images(lambda *box: [value / 2 for value in box])
CASES = [
    Mistake("corners in a part of the ground truth", CORNERS, "refused OS204",
            says="a part of the file"),
    Mistake("objects among the boxes", with_objects(0.7), "warned OS436", says="add_gt"),
    Mistake("shares with two digits", in_steps(0.01), "warned OS245"),
    Mistake("objects are whole images", whole, "refused OS246"),
    Mistake("boxes of one image for its batch", of_the_batch, "refused OS448", says="its batch"),
    Mistake("unknown objects are ignored", lambda world: [
        one.update(ignore=1) for one in world.gt["annotations"] if one["category_id"] > 17],
        "warned OS302", says="difficult or ignore"),
]  # fmt: skip
HARMLESS = [
    Mistake("shares with three digits", in_steps(0.001), "accepted"),
    Mistake("boxes in whole pixels", whole_pixels, "accepted"),
    Mistake("boxes in steps of two pixels", in_steps(1 / 100, 200), "accepted"),
    Mistake("a few objects that are met exactly", with_objects(0.05), "accepted"),
]


@pytest.mark.parametrize("case", [*CASES, *HARMLESS], ids=str)
def test_answer(case, tmp_path, openset):
    assert answered(case, tmp_path, openset) == ""


def test_smaller_pictures_of_a_part_of_the_ground_truth_are_told(tmp_path, openset):
    world = good(200)
    for one in world.gt["images"]:  # an object at the left border, and one at the top
        own = [o for o in world.gt["annotations"] if o["image_id"] == one["id"]]
        at = [min((o["bbox"][axis] for o in own), default=0) for axis in (0, 1)]
        for o in [*own, *(o for o in world.dt if o["image_id"] == one["id"])]:
            x, y, w, h = o["bbox"]
            o["bbox"] = [x - at[0], y - at[1], w, h]
    SMALLER(world)
    world.write(tmp_path)
    told = openset("check", "gt.json", "dt.json", "--known", "person,car").out
    told = " ".join(told.split())
    assert "OS433" in told and "a part of the ground truth is of smaller pictures" in told


def test_classes_counted_from_1_are_told_from_a_short_list(tmp_path, openset):
    (tmp_path / "labels").mkdir()
    (tmp_path / "data.yaml").write_text("names: [dog, cat]\nval: images\n")
    (tmp_path / "images").mkdir()
    Image.new("L", (50, 40)).save(tmp_path / "images/a.png")
    (tmp_path / "labels/a.txt").write_text("1 0.5 0.5 0.2 0.2\n2 0.3 0.3 0.2 0.2\n")
    assert "counted from 1" in openset("describe", ".").err
    (tmp_path / "data.yaml").write_text("names: [none, dog, cat]\nval: images\n")
    assert openset("describe", ".").code == 0


def test_draw_says_which_pictures_are_not_there(tmp_path, openset):
    world = good(8)
    world.write(tmp_path)
    (tmp_path / "some").mkdir()
    for one in world.gt["images"][:5]:
        Image.new("L", (one["width"], one["height"])).save(tmp_path / "some" / one["file_name"])
    assert openset("evaluate", "gt.json", "dt.json", "--known", "person,car", "--no-intervals",
                   "-o", "run", "--force").code == 0  # fmt: skip
    done = openset("draw", "run", "--images", "some", "-o", "drawn")
    assert done.code == 0 and "3 of 8 images to draw are not in some" in done.err


def test_a_share_of_frames_is_warned_of_and_a_share_of_films_is_not(tmp_path, openset):
    world = good(40)
    for at, one in enumerate(world.gt["images"]):
        one["file_name"] = f"film_{at // 10}_{at % 10:03d}.jpg"
    world.write(tmp_path)
    share = ("select", "gt.json", "--share", "0.5", "-o", "a.json", "--rest", "b.json")
    parted = openset(*share)
    assert "warning OS412" in parted.err and "both parts" in parted.err
    again = openset(*share, "--group-by", "film_*_")
    assert again.code == 0 and "OS412" not in again.err


def test_convert_names_the_option_that_makes_sizes_negative(tmp_path, openset):
    good(20).write(tmp_path)
    told = openset("convert", "dt.json", "--boxes", "xyxy", "-o", "out.csv").err
    assert "OS205" in told and "leave out --boxes xyxy" in told and "--drop-invalid" not in told


def test_a_copied_file_of_results_is_no_class(tmp_path, openset):
    world = good(20)
    world.write(tmp_path)
    for name in ("cat", "cat (1)"):
        (tmp_path / f"comp4_det_test_{name}.txt").write_text("000000000007 0.9 1 1 9 9\n")
    done = openset("convert", ".", "--from", "voc", "-o", "out.csv")
    assert done.code == 2 and "OS126" in done.err and "cat (1).txt beside" in done.err


def in_memory(world, of_truth, of_found, ids=True):
    """Targets and outputs as training loops hold them, without sizes of images."""
    size = {one["id"]: np.array([one["width"], one["height"]]) for one in world.gt["images"]}
    tables = []
    for records, change in ((world.gt["annotations"], of_truth), (world.dt, of_found)):
        table = []
        for key, sides in size.items():
            some = [one for one in records if one["image_id"] == key]
            box = np.array([one["bbox"] for one in some], float).reshape(-1, 4)
            held = {"boxes": change(box, sides), "labels": [one["category_id"] for one in some]}
            held |= {"image_id": key} if ids else {}
            table.append(held | {"scores": [one["score"] for one in some]} if change is of_found
                         and records is world.dt else held)  # fmt: skip
        tables.append(table)
    return tables


def corners(box, sides):
    return np.hstack([box[:, :2], box[:, :2] + box[:, 2:]])


def as_written(box, sides):
    return box


def shares(box, sides):
    return np.hstack([box[:, :2] + box[:, 2:] / 2, box[:, 2:]]) / np.tile(sides, 2)


def resized(box, sides):
    return corners(box, sides) * min(800 / sides.min(), 1333 / sides.max())


def refusal(world, *how, **options):
    settings = {"known": [str(id_) for id_ in IDS[:5]], "intervals": False} | options
    with pytest.raises(InputError) as error:
        evaluate(*in_memory(world, *how), **settings)
    return str(error.value)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ((as_written, as_written), "width and height stand where xmax and ymax are expected"),
        ((shares, corners), "shares of the image, whose width and height"),
        ((corners, resized), "or each of its own factor"),
    ],
)
def test_what_is_wrong_in_memory(how, said):
    assert said in refusal(good(100), *how)


def test_exchanged_corners_in_memory_are_told():
    def turned(box, sides):
        return corners(box, sides)[:, [2, 3, 0, 1]]

    def by_axis(box, sides):
        return corners(box, sides)[:, [0, 2, 1, 3]]

    assert "corners are exchanged" in refusal(good(100), turned, corners)
    assert "in the order xmin, xmax" in refusal(good(100), by_axis, corners)


def test_ids_that_are_one_off_from_an_image_on(tmp_path, openset):
    world = good(200)
    ids = [one["id"] for one in world.gt["images"]]
    place = {key: at for at, key in enumerate(ids)}
    for table, key in ((world.gt["images"], "id"), (world.gt["annotations"], "image_id")):
        for one in table:
            one[key] = place[one[key]] + 1
    world.dt = [
        one | {"image_id": at + 1 - (at > 30)}
        for one in world.dt
        if (at := place[one["image_id"]]) != 30
    ]
    world.write(tmp_path)
    known = "person,bicycle,car,traffic light,cat"
    told = openset("check", "gt.json", "dt.json", "--known", known).out
    told = " ".join(told.split())
    assert "OS448" in told and "before them as they are" in told
