"""Labels of other boxes, boxes that are known and unknown at once, and lines out of order."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scenes.mistakes import IDS, UNKNOWN, Mistake, answered, good


def scenes(world):
    """Two classes on each image, and a detector that tells them."""
    place = {one["id"]: at for at, one in enumerate(world.gt["images"])}
    world.dt = []
    for at, one in enumerate(world.gt["annotations"]):
        known = one["category_id"] in IDS[:5]
        if known:
            one["category_id"] = IDS[(place[one["image_id"]] + at % 2 * 2) % 5]
        label = one["category_id"] if known else UNKNOWN
        score = round(0.98 - at % 10 / 10, 2)
        x, y, w, h = one["bbox"]
        box = [x + 0.01 * w, y, w, h]
        found = {"image_id": one["image_id"], "category_id": label, "bbox": box, "score": score}
        world.dt.append(found)


def labels_not_kept(world):
    """Boxes and scores after suppression, labels before it: those of other boxes of the image."""
    scenes(world)
    rng = np.random.default_rng(0)
    rows = {}
    for one in world.dt:
        rows.setdefault(one["image_id"], []).append(one)
    for some in rows.values():
        labels = rng.permutation([one["category_id"] for one in some]).tolist()
        for one, label in zip(some, labels, strict=True):
            one["category_id"] = label


def drawn(world):
    """Labels of a detector that tells none."""
    rng = np.random.default_rng(0)
    for one in world.dt:
        one["category_id"] = int(rng.choice(IDS[:5]))


def unknown_too(world):
    known = [one for one in world.dt if one["category_id"] != UNKNOWN]
    world.dt = [*known, *(one | {"category_id": UNKNOWN} for one in known)]


def unknown_beside(world):
    """The same regions, by another head: scores of its own."""
    known = [one for one in world.dt if one["category_id"] != UNKNOWN]
    more = [one | {"category_id": UNKNOWN, "score": one["score"] * 0.9} for one in known]
    world.dt = [*known, *more]


CASES = [
    Mistake("labels of other boxes", labels_not_kept, "warned OS346", says="labels[keep]"),
    Mistake("labels of their own boxes", scenes, "accepted"),
    Mistake("labels as if drawn", drawn, "accepted"),
    Mistake("known boxes again as unknown", unknown_too, "warned OS347"),
    Mistake("regions of two heads", unknown_beside, "accepted"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_mistake_in_labels(case, here, openset):
    assert answered(case, here, openset) == ""


@pytest.mark.parametrize("last", [True, False])
def test_result_lines_with_the_score_last_are_refused(last, here, openset):
    world = good()
    world.write(here)
    names = {one["id"]: one["file_name"][:-4] for one in world.gt["images"]}
    lines = []
    for one in world.dt:
        x, y, w, h = one["bbox"]
        box, score = [x + 1, y + 1, x + w, y + h], [one["score"]]
        numbers = [*box, *score] if last else [*score, *box]
        lines.append(" ".join(map(str, [names[one["image_id"]], *numbers])))
    (here / "res").mkdir()
    (here / "res" / "comp4_det_test_person.txt").write_text("\n".join(lines))
    done = openset("convert", "res", "-o", "dt.csv")
    assert (done.code, "OS439" in done.err) == ((2, True) if last else (0, False)), done.err


def test_parts_that_count_their_images_anew_are_told_from_two_detectors(here, openset):
    world = good()
    ids = [one["id"] for one in world.gt["images"]]
    half = dict(zip(ids[50:], ids[:50], strict=True))
    first = [one for one in world.dt if one["image_id"] not in half]
    second = [one | {"image_id": half[o]} for one in world.dt if (o := one["image_id"]) in half]
    twin = [one | {"score": one["score"] / 2} for one in first]
    world.files = {"a.json": first, "b.json": second, "c.json": twin}
    world.write(here)
    for name, anew in (("b.json", True), ("c.json", False)):
        done = openset("select", "a.json", name, "--truth", "gt.json", "-o", f"all-{name}")
        assert done.code == 0 and "OS232" in done.err
        assert ("begin anew" in done.err) == anew


def test_annotations_that_all_state_one_file_name_are_told(here, openset):
    world = good(20)
    names = {one["id"]: one["file_name"] for one in world.gt["images"]}
    rows = [
        f"{names[one['image_id']]},cat,{','.join(map(str, one['bbox']))},{one['score']}"
        for one in world.dt
    ]
    (here / "ann").mkdir()
    (here / "dt.csv").write_text("\n".join(["image,label,x,y,w,h,score", *rows]))
    for image, name in names.items():
        boxes = [o["bbox"] for o in world.gt["annotations"] if o["image_id"] == image]
        objects = "".join(
            f"<object><name>cat</name><bndbox><xmin>{x + 1}</xmin><ymin>{y + 1}</ymin>"
            f"<xmax>{x + w}</xmax><ymax>{y + h}</ymax></bndbox></object>"
            for x, y, w, h in boxes
        )
        size = "<size><width>0</width><height>0</height></size>"
        text = f"<annotation><filename>1.jpg</filename>{size}{objects}</annotation>"
        (here / "ann" / f"{name[:-4]}.xml").write_text(text)
    done = openset("evaluate", "ann", "dt.csv", "--known", "cat,", "--no-intervals", "--json")
    assert done.code == 0, done.err
    said = json.dumps(done.json)
    assert "OS425" in said and "a template which was copied" in said
