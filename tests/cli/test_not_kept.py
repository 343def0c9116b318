"""What `convert` does not keep is said by name and number, and kept where it is asked for."""

from __future__ import annotations

import json

import pytest

TRUTH = {
    "images": [{"id": 1, "file_name": "a.jpg", "width": 99, "height": 99}],
    "categories": [{"id": 1, "name": "dog"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "iscrowd": 1,
         "segmentation": [[0, 0, 9, 0, 9, 9]], "track_id": 7},
        {"id": 2, "image_id": 1, "category_id": 1, "bbox": [9, 9, 9, 9], "iscrowd": 0,
         "segmentation": [], "keypoints": [1, 2, 2], "track_id": 8},
    ],
}  # fmt: skip
MASKS = "not kept: segmentation (1) and keypoints (1)"


@pytest.fixture
def file(here):
    (here / "masks.json").write_text(json.dumps(TRUTH))
    (here / "plain.json").write_text(json.dumps(TRUTH | {"annotations": [
        {k: v for k, v in one.items() if k in ("id", "image_id", "category_id", "bbox")}
        for one in TRUTH["annotations"]]}))  # fmt: skip
    return here


@pytest.mark.parametrize("to", ["other.json", "other.parquet"])
def test_masks_are_not_kept_unless_asked_for(to, file, openset):
    done = openset("convert", "masks.json", "-o", to)
    assert "warning OS122" in done.err and MASKS in done.err and "--everything" in done.err
    kept = openset("convert", "masks.json", "-o", f"all-{to}", "--everything")
    assert kept.code == 0 and "OS122" not in kept.err
    asked = ["--everything"] if to.endswith(".json") else []  # parquet has nothing that is skipped
    assert openset("convert", f"all-{to}", "-o", "back.json", *asked).code == 0
    back = json.loads((file / "back.json").read_text())["annotations"]
    assert back[0]["segmentation"] == TRUTH["annotations"][0]["segmentation"]
    assert back[1]["keypoints"] == [1, 2, 2]


def test_columns_and_flags_without_a_place_are_named(file, openset):
    done = openset("convert", "masks.json", "-o", "yolo", "--to", "yolo", "--everything")
    assert "warning OS122" in done.err
    said = " ".join(done.err.split())
    assert all(name in said for name in ("track_id (2)", "segmentation (1)", "crowd (1)"))


def test_nothing_is_said_where_nothing_is_lost(file, openset):
    assert "OS122" not in openset("convert", "plain.json", "-o", "yolo", "--to", "yolo").err
