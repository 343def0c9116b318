"""What is given in place of a file of boxes: exports of tools, archives, junk, folders."""

from __future__ import annotations

import json
import tarfile

import pytest

from openset.formats import read_annotations, write
from scenes.mistakes import KNOWN, good

EVALUATE = ("--known", ",".join(KNOWN), "--no-intervals")
LINE = "Car 0.00 0 -1.57 599.41 156.40 629.75 189.25 2.85 2.63 12.34 0.47 1.49 69.44 -1.56\n"
SHAPES = {"version": "5", "shapes": [{"label": "cat", "points": [[1, 2], [3, 4]]}]}
TASKS = [{"id": 1, "annotations": [{"result": [{"from_name": "label", "value": {"x": 1}}]}]}]
CVAT = '<?xml version="1.0"?>\n<annotations><version>1.1</version></annotations>'
STRANGERS = {
    "kitti": ({"label_2/000001.txt": LINE}, "label_2", "KITTI"),
    "kitti, its parent": ({"kitti/label_2/000001.txt": LINE}, "kitti", "KITTI"),
    "labelme": ({"a.json": json.dumps(SHAPES)}, "a.json", "labelme"),
    "labelme, a folder": ({"lm/a.json": json.dumps(SHAPES)}, "lm", "labelme"),
    "label studio": ({"a.json": json.dumps(TASKS)}, "a.json", "Label Studio"),
    "cvat": ({"annotations.xml": CVAT}, "annotations.xml", "CVAT"),
    "cvat, a folder": ({"cvat/annotations.xml": CVAT}, "cvat", "COCO 1.0"),
    "one of voc": ({"a.xml": "<annotation><filename>a</filename></annotation>"}, "a.xml", "folder"),
    "a refusal": ({"a.json": '{"message": "Not Found"}'}, "a.json", "server"),
    "names of classes": ({"d/labels/a.txt": "traffic light 0.5 0.5 0.1 0.1 0.9\n"}, "d", "names"),
    "commas": ({"d/labels/a.txt": "3,0.5,0.5,0.1,0.1\n"}, "d", "commas"),
    "tensors": ({"d/labels/a.txt": "3 tensor(0.5) tensor(0.5)\n"}, "d", "tensor"),
    "a merge": ({"a.csv": "image,label,x_x,y_x,w,h,score\na,b,1,2,3,4,0.5\n"}, "a.csv", "x_x"),
    "another corner": ({"a.csv": "image,label,xmin,ymin,width,height\n"}, "a.csv", "column"),
    "no header": ({"a.csv": "a.jpg,cat,1,2.5,3,4,0.5\n"}, "a.csv", "without a header"),
}


@pytest.mark.parametrize("what", STRANGERS)
def test_a_stranger_is_named(what, here, openset):
    files, given, word = STRANGERS[what]
    for name, text in files.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)
    good().write(here)
    done = openset("evaluate", given, "dt.json", *EVALUATE, "--json")
    assert done.code == 2
    (finding,) = done.json["error"]["findings"]
    assert finding["code"] in {"OS104", "OS107", "OS118"}
    assert word in json.dumps(finding)
    assert finding["fix"]
    assert "no known format" not in finding["message"]


def test_a_tar_archive_is_named(here, openset):
    good().write(here)
    with tarfile.open(here / "a.tar.gz", "w:gz") as archive:
        archive.add(here / "gt.json", "gt.json")
    done = openset("evaluate", "a.tar.gz", "dt.json", *EVALUATE)
    assert done.code == 2
    assert "tar archive" in done.err


def test_a_column_more_makes_json_lines_no_stranger(here, openset):
    world = good()
    world.files["dt.jsonl"] = "\n".join(
        json.dumps({"message": "x", "coordinates": [1], "shapes": [], "points": [], **one})
        for one in world.dt
    )
    world.write(here)
    done = openset("evaluate", "gt.json", "dt.jsonl", *EVALUATE)
    assert done.code == 0, done.err


@pytest.mark.parametrize("kind", ["voc", "yolo"])
def test_what_macos_leaves_beside_files_is_not_read(kind, here, openset):
    good().write(here)
    write(read_annotations(here / "gt.json"), here / "d", format=kind)
    inside = sorted(path for path in (here / "d").rglob("*") if path.is_file())
    for path in inside:
        path.with_name(f"._{path.name}").write_bytes(b"\0\5\x16\7\0\2\0\0Mac OS X")
    done = openset("describe", "d", "--json")
    assert done.code == 0, done.err
    plain = openset("describe", "gt.json", "--json").json
    assert done.json["images"] == plain["images"]
    assert done.json["objects"] == plain["objects"]


def test_labels_that_are_not_where_data_yaml_says(here, openset):
    good().write(here)
    write(read_annotations(here / "gt.json"), here / "d", format="yolo")
    said = (here / "d/data.yaml").read_text()
    (here / "d/data.yaml").write_text(said.replace("val: images", "val: images/valid"))
    done = openset("evaluate", "d", "dt.json", *EVALUATE)
    assert done.code == 2
    assert "OS103" in done.err
    assert "neither d/images/valid nor d/labels/valid is a folder" in " ".join(done.err.split())
    (here / "d/data.yaml").write_text(said)
    (here / "d/images").mkdir()
    (here / "d/labels").rename(here / "d/annotations")
    done = openset("evaluate", "d", "dt.json", *EVALUATE)
    assert "move the text files to d/labels" in " ".join(done.err.split())


def test_folders_of_ours_say_which_file_is_meant(here, openset):
    good().write(here)
    assert openset("evaluate", "gt.json", "dt.json", *EVALUATE, "-o", "run").code == 0
    done = openset("evaluate", "run", "dt.json", *EVALUATE)
    assert done.code == 2
    assert "run/truth.parquet" in done.err
    assert openset("evaluate", "run/truth.parquet", "dt.json", *EVALUATE).code == 0
    done = openset("report", "run/run.json")
    assert done.code == 2
    assert "give run" in done.err
    assert "-o run/run.json" not in done.err
