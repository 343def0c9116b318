"""RE-OWOD's workflow, commands only, from official layouts: lists, builds, audits."""

from __future__ import annotations

import json

import pytest

from scenes.official import coco_file, coco_pictures
from scenes.workflows import follow, tiny

TASK1, TASK2, TASK4 = ["person", "dog"], ["elephant", "zebra"], ["toothbrush"]
TRAIN = {
    "t1_train": [(9, TASK1), (25, ["car", "cat", "zebra"])],
    "t2_train": [(30, TASK2), (34, ["zebra", "person"])],
    "t3_train": [(36, ["car", "apple"])],
    "t4_train": [(42, TASK4)],
    "all_task_val": [(49, ["person", "zebra"])],
}
TESTED = {139: ["person", "zebra"], 285: ["dog", "car", "cat"], 632: ["toothbrush", "elephant"]}


def stem(number):
    return f"{number:012d}"


@pytest.fixture
def data(here):
    """annotations/ as it is unpacked, and the lists of the repository in Main/."""
    folder = here / "data"
    held = {number: labels for images in TRAIN.values() for number, labels in images}
    coco_file(folder / "annotations/instances_train2017.json", held)
    coco_file(folder / "annotations/instances_val2017.json", TESTED)
    lists = {name: [number for number, _ in images] for name, images in TRAIN.items()}
    lists |= {f"t{task}_ft": [9, 30] for task in (2, 3, 4)} | {"all_task_test": [*TESTED]}
    lists["t1_train_with_unk"] = lists["t1_train"]
    (folder / "Main").mkdir()
    for name, images in lists.items():
        (folder / "Main" / f"{name}.txt").write_text("".join(f"{stem(n)}\n" for n in images))
    return folder


def labels(path):
    document = json.loads(path.read_text())
    names = {c["id"]: c["name"] for c in document["categories"]}
    return sorted({names[box["category_id"]] for box in document["annotations"]})


def test_build_and_audit(data, here, openset):
    done = openset("build", "re-owod", "--source", "data", "-o", "out", "-q")
    assert done.code == 1, done.err  # not the published counts
    assert labels(here / "out/train-t1.json") == ["car", "cat", "dog", "person"]
    assert labels(here / "out/train-t2.json") == ["elephant", "zebra"]
    found = openset("audit", "out", "--json").json["audits"][0]["principles"]
    assert found["data_specificity"]["verdict"] == "PASS", found["data_specificity"]
    # A stand-in of seven classes: most of the eighty are neither taught nor tested.
    said = [c["what"] for c in found["class_openness"]["checks"] if c["verdict"] == "FAIL"]
    assert said and set(said) == {"the test has objects of every known class"}


def test_the_oracle_labels_unknown_objects(data, here, openset):
    done = openset("build", "re-owod:oracle", "--source", "data", "-o", "out", "-q")
    assert done.code == 1, done.err
    assert labels(here / "out/train-t1.json") == ["car", "cat", "dog", "person", "zebra"]
    assert labels(here / "out/train-t2.json") == ["elephant", "zebra"]
    audit = openset("audit", "out", "--principles", "class_openness", "--json").json["audits"][0]
    wrong = audit["principles"]["class_openness"]["checks"]
    assert any("no box of an unknown class" in c["what"] and c["verdict"] == "FAIL" for c in wrong)


def test_a_part_of_the_data(data, here, openset):
    file = data / "annotations/instances_val2017.json"
    document = json.loads(file.read_text())
    document["images"] = document["images"][1:]
    document["annotations"] = [a for a in document["annotations"] if a["image_id"] != 139]
    file.write_text(json.dumps(document))
    refused = openset("build", "re-owod", "--source", "data", "-o", "out")
    assert refused.code == 2 and "OS910" in refused.err
    done = openset("build", "re-owod", "--source", "data", "-o", "out", "--partial", "--json")
    assert done.code == 1
    assert done.json["bundle"]["splits"]["test-t1"]["images"] == 2
    left = [finding for finding in done.json["findings"] if finding["code"] == "OS915"]
    assert len(left) == 4 and {f["example"] for f in left} == {stem(139)}


@pytest.mark.usefixtures("one_torch_thread")
def test_the_commands_of_the_page_lead_to_the_table_of_all_tasks(data, here, openset):
    pytest.importorskip("torchvision")
    for name, method in {"reowod": "", "reowod-pad": "pad", "ore-owod": "ore"}.items():
        tiny(here, name, method)
    data.rename(here / "official")
    for year in ("train2017", "val2017"):
        annotations = here / "official" / "annotations" / f"instances_{year}.json"
        coco_pictures(annotations, here / "official" / year)
    # Eight classes of eighty: the audit fails.
    fetched, *_ = follow(openset, here, "re-owod", more={"learn": ("--force",)})
    assert fetched.code == 0 and "there   official/Main" in fetched.out
    table = json.loads((here / "ours" / "learned.json").read_text())
    assert {"faster-rcnn", "ore", "ours"} <= {path.name for path in here.iterdir()}
    assert (here / "table-3.svg").is_file() and (here / "table-3.html").is_file()
    assert "t4" in json.dumps(table)
