"""The elephant's workflow, commands only, from official layouts to its tables."""

from __future__ import annotations

import json

import pytest

from scenes.official import coco_file, voc_tree

TESTED = {f"{n:06d}": ["dog", "person"] if n % 2 else ["cat"] for n in range(1, 11)}
WILD = {391895 + n: ["zebra", "elephant"] if n % 3 else ["toothbrush"] for n in range(23)}
TAME = {100 + n: ["dog", "zebra"] for n in range(4)}


@pytest.fixture
def data(here):
    """What is unpacked: VOC 2007 test, and COCO's annotations; no VOC 2012."""
    voc_tree(here / "data", "VOC2007", {"test": TESTED})
    coco_file(here / "data/annotations/instances_train2017.json", WILD | TAME)
    return here / "data"


def images(path):
    return [record["file_name"] for record in json.loads(path.read_text())["images"]]


def test_tests_are_built_without_the_training_data(data, here, openset):
    asked = ("wilderness", "--source", "data", "-o", "out")
    assert "OS902" in openset("build", *asked).err  # all splits need VOC 2012
    done = openset("build", *asked, "--splits", "wr-all,wr-1", "-q")
    assert done.code == 1, done.err  # a small stand-in has not the published counts
    made = sorted(path.stem for path in (here / "out").glob("w*.json"))
    assert made == ["wr-1", "wr-all"]
    assert (here / "out/known.json").is_file()  # what the levels are drawn beside
    every, one = images(here / "out/wr-all.json"), images(here / "out/wr-1.json")
    assert len(every) == len(TESTED) + len(WILD) and len(one) == 2 * len(TESTED)
    assert every[: len(one)] == one  # nested
    held = json.loads((here / "out/wr-all.json").read_text())
    labels = {c["id"]: (c["name"], c["role"]) for c in held["categories"]}
    assert labels[18] == ("dog", "known") and labels[24] == ("zebra", "unknown")


def test_a_split_that_does_not_exist(data, openset):
    done = openset("build", "wilderness", "--source", "data", "-o", "out", "--splits", "wr-3")
    assert done.code == 2 and "unknown split of wilderness 'wr-3'" in done.err
    assert "wr-1" in done.err


def test_fetch_sees_what_is_not_whole(data, openset):
    def state(*flags):
        done = openset("fetch", "wilderness", "-o", "data", *flags, "--json")
        return {k: (v["state"], v["why"]) for k, v in done.json["sources"].items()}, done.code

    found, code = state("--splits", "wr-1")
    assert code == 1 and f"lists {len(TESTED)} pictures" in found["voc07-test"][1]
    voc_tree(data, "VOC2007", {"test": {f"{n:06d}": ["dog"] for n in range(4952)}})
    found, code = state("--splits", "wr-1")
    assert (set(found), code) == ({"voc07-test", "coco-train"}, 0)
    found, code = state()
    assert found["voc07-test"][0] == "there" and found["voc12-trainval"][0] == "missing"
    # The test archive alone is unpacked: the training images of 2007 are not there.
    assert found["voc07-trainval"][0] == "wrong" and "trainval.txt" in found["voc07-trainval"][1]
    (data / "VOCtrainval_11-May-2012.tar").write_bytes(b"")
    assert state()[0]["voc12-trainval"] == ("missing", "VOCtrainval_11-May-2012.tar has 0 bytes")
    (data / "VOCtrainval_11-May-2012.tar").write_bytes(b"x")
    assert state()[0]["voc12-trainval"] == (
        "missing",
        "VOCtrainval_11-May-2012.tar is there, but not unpacked",
    )
    file = data / "annotations/instances_train2017.json"
    whole = file.read_text()
    for text, says in (("", "0 bytes"), (whole[:-900], "no whole JSON"), ("PK\x03\x04", "whole")):
        file.write_text(text)
        assert state()[0]["coco-train"][0] == "wrong" and says in state()[0]["coco-train"][1]
        refused = openset("build", "wilderness", "--source", "data", "-o", "o", "--splits", "wr-1")
        assert refused.code == 2 and "OS913" in refused.err
    said = openset("fetch", "wilderness", "-o", "data").out
    assert "pictures: http://images.cocodataset.org/zips/train2017.zip" in said


def detections(path, truth):
    """A detector that finds the known objects, and calls zebras dogs, the more surely the later."""
    document = json.loads(truth.read_text())
    names = {c["id"]: (c["name"], c["role"]) for c in document["categories"]}
    ids = {name: number for number, (name, _) in names.items()}
    said = []
    for at, box in enumerate(document["annotations"]):
        name, role = names[box["category_id"]]
        if role == "known" or name == "zebra":
            score = round(0.4 + 0.5 * at / len(document["annotations"]), 3)
            called = box["category_id"] if role == "known" else ids["dog"]
            said.append({"image_id": box["image_id"], "category_id": called, "score": score})
            said[-1]["bbox"] = box["bbox"]
    path.write_text(json.dumps(said))


def test_from_official_files_to_the_tables_and_figures(data, here, openset):
    """Tables 1, 2 and 4 and Figures 3, 4 and 5 in five commands."""
    where = ("--source", "data", "-o", "b")
    assert openset("build", "wilderness", *where, "--splits", "wr-all", "-q").code == 1
    detections(here / "dt.json", here / "b/wr-all.json")
    asked = ("--protocol", "paper", "--recall", "0.1,0.3,0.5", "--ratio", "1", "-q", "-o", "run")
    done = openset("evaluate", "b/wr-all.json", "dt.json", *asked, "--no-intervals", "--json")
    assert done.code == 0, done.err
    metrics = done.json["models"]["dt"]["values"]
    assert metrics["wilderness_impact@0.3@ratio=1"]["value"] > 0
    questions = ("--question", "errors,confusion_matrix,operating_points,transfer")
    levels = ("--recall", "0.3", "--ratio", "0,1", "--beta", "0.5,1,1.5")
    done = openset("diagnose", "run", *questions, *levels, "--figures", "svg", "--json")
    assert done.code == 0, done.err
    rows = {name: answer["rows"] for name, answer in done.json["questions"].items()}
    closed, wild = rows["errors"][:2]
    assert closed["unknown-unknown"] == 0 < wild["unknown-unknown"]
    zebra = [row for row in rows["confusion_matrix"] if row["label"] == "zebra"]
    assert [row["as dog"] for row in zebra] == [0, wild["unknown-unknown"]]
    assert zebra[0]["super-class"] == "animal"
    lost = [row for row in rows["transfer"] if row["class"] == "dog" and row["judged_at"] == 1]
    assert {row["rule"] for row in lost} == {"F0.5", "F1", "F1.5", "recall 0.3"}
    assert all(row["precision"] < 1 for row in lost)
    assert len(done.json["figures"]) == 4
