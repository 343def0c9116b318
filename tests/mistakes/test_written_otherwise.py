"""Files in a shape of their own: by columns, rotated, as outlines, in dates, mapped backwards."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from openset.formats import read_annotations, read_detections
from scenes.mistakes import EVALUATE, Mistake, answered, each, good


def by_columns(wrap):
    def spoil(world):
        world.dt = {key: wrap([one[key] for one in world.dt]) for key in world.dt[0]}

    return spoil


def numbered(values):
    return {str(at): value for at, value in enumerate(values)}


def own_numbers(world):
    """Labels counted from 1, as a detector does, and a mapping from the ground truth to them."""
    place = {one["id"]: at + 1 for at, one in enumerate(world.gt["categories"])}
    each("category_id", place.get)(world)
    world.files["map.json"] = {str(key): at for key, at in place.items()}


def turned_map(world):
    own_numbers(world)
    world.files["map.json"] = {str(at): int(key) for key, at in world.files["map.json"].items()}


def dates(month):
    """A table whose images a spreadsheet has read."""

    def spoil(world):
        lines = ["image,label,x,y,w,h,score"]
        for one in world.dt:
            box = ",".join(map(str, one["bbox"]))
            lines.append(f"{one['image_id'] % 28 + 1:02d}-{month},cat,{box},{one['score']}")
        world.files["dt.csv"] = "\n".join(lines) + "\n"

    return spoil


def still_camera(world):
    """Frames of one film, in which the same objects stand."""
    first = world.gt["images"][0]
    seen = [one for one in world.gt["annotations"] if one["image_id"] == first["id"]]
    size = {key: first[key] for key in ("width", "height")}
    for at, one in enumerate(world.gt["images"]):
        one |= size | {"file_name": f"cam1/frame_{at:05d}.jpg"}
    world.gt["annotations"] = [
        one | {"image_id": image["id"], "id": 10 * at + place + 1}
        for at, image in enumerate(world.gt["images"])
        for place, one in enumerate(seen)
    ]
    world.dt = [
        {key: one[key] for key in ("image_id", "category_id", "bbox")} | {"score": 0.5}
        for one in world.gt["annotations"]
    ]


MAPPED = ("--category-ids", "map.json")
TABLE = ("evaluate", "gt.json", "dt.csv", *EVALUATE[3:])
CASES = [
    Mistake("to_json()", by_columns(numbered), "refused OS104", says='orient=\\"records\\"'),
    Mistake("to_dict('list')", by_columns(list), "refused OS104", says='orient=\\"records\\"'),
    Mistake(
        "rotated", each("bbox", lambda b: [*b, 0.1]), "refused OS108", says="boxes are rotated"
    ),
    Mistake("three numbers", each("bbox", lambda b: b[:3]), "refused OS108", says="nested list"),
    Mistake("map from the ground truth", own_numbers, "refused OS374", MAPPED),
    Mistake("map from the detections", turned_map, "accepted", MAPPED),
    Mistake("names as dates", dates("Feb"), "refused OS403", TABLE, says="spreadsheet"),
    Mistake("names of another split", dates("x"), "refused OS403", TABLE, says="another split"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_file_in_a_shape_of_its_own(case, here, openset):
    assert answered(case, here, openset) == ""


def test_frames_of_a_still_camera_are_to_be_grouped(here, openset):
    still_camera(world := good())
    world.write(here)
    said = " ".join(openset("check", "gt.json", "--known", "cat").out.split())
    assert "OS425" in said and "--group-by" in said
    grouped = openset("check", "gt.json", "--known", "cat", "--group-by", r"^(.*?)\d+\.jpg$")
    assert "OS425" not in grouped.out


def outlined(folder, lines):
    (folder / "labels").mkdir(parents=True)
    (folder / "images").mkdir()
    Image.new("L", (200, 100)).save(folder / "images/one.png")
    (folder / "labels/one.txt").write_text("\n".join(lines) + "\n")
    (folder / "data.yaml").write_text("names: [cat, dog]\n")
    return folder


def test_outlines_are_read_as_the_boxes_around_them(tmp_path):
    lines = ["1 0.1 0.5 0.2 0.3 0.4 0.5 0.2 0.7", "0 0.5 0.5 0.6 0.9 0.7 0.5", "0 0.5 0.5 0.2 0.4"]
    truth = read_annotations(outlined(tmp_path / "a", lines))
    boxes = [[20, 30, 60, 40], [100, 50, 40, 40], [80, 30, 40, 40]]
    assert np.allclose(truth.box, boxes) and truth.label.tolist() == [1, 0, 0]


def test_outlines_with_a_confidence_are_detections(tmp_path):
    found = read_detections(outlined(tmp_path / "b", ["1 0.1 0.5 0.2 0.3 0.4 0.5 0.25"]))
    assert found.score.tolist() == [0.25] and len(found) == 1


def test_track_ids_are_no_triangles(tmp_path):
    found = read_detections(outlined(tmp_path / "c", ["1 0.1 0.5 0.2 0.3 0.4 7"] * 3))
    assert found.score.tolist() == [0.4] * 3


def evidence(folder, world, seed=0):
    """Logits beside the detections that are right about known classes."""
    ids = [one["id"] for one in world.gt["categories"][:5]]
    world.dt = [one for one in world.dt if one["category_id"] in ids]
    rng = np.random.default_rng(seed)
    logits = rng.normal(-3, 0.5, (len(world.dt), 5))
    for row, one in enumerate(world.dt):
        logits[row, ids.index(one["category_id"])] = np.log(one["score"] / (1 - one["score"]))
    names = [one["name"] for one in world.gt["categories"][:5]]
    np.savez(folder / "e.npz", logits=logits, layout="sigmoid", classes=names)
    world.write(folder)


def test_evidence_with_a_ground_truth_can_be_calibrated(here, openset):
    argv = ("convert", "dt.json", "--evidence", "e.npz", "-o")
    scored = ("score", "a.parquet", "--scorers", "energy", "--calibrate", "b.parquet", "-o", "c")
    for truth in ((), ("--truth", "gt.json")):
        for seed, name in enumerate("ab"):
            evidence(here, good(), seed)
            assert openset(*argv, f"{name}.parquet", *truth).code == 0
        said = openset(*scored)
        assert said.code == (0 if truth else 2)
        assert truth or "with --truth names them" in " ".join(said.err.split())
