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
    assert (set(found), code) == ({"voc07-test", "coco-train"}, 0)
    found, code = state()
    assert found["voc07-test"][0] == "there" and found["voc12-trainval"][0] == "missing"
    # The test archive alone is unpacked: the training images of 2007 are not there.
    assert found["voc07-trainval"][0] == "wrong" and "trainval.txt" in found["voc07-trainval"][1]
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
        assert refused.code == 2 and "OS521" in refused.err
    said = openset("fetch", "wilderness", "-o", "data").out
    assert "pictures: http://images.cocodataset.org/zips/train2017.zip" in said
