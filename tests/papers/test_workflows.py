"""The workflow of a page runs as it is printed, from files in official layout to its table."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torchvision")

from openset.tables.vocabulary import vocabularies
from scenes.benchmarks import write_coco
from scenes.official import coco_file, coco_pictures, voc_pictures, voc_tree
from scenes.workflows import follow, tiny

COCO = vocabularies()["coco80"].known
pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture
def voc_and_coco(here):
    """What the archives of VOC 2007, VOC 2012 and COCO train2017 unpack to."""
    folder = here / "official"
    tested = {f"{n:06d}": ["dog", "person"] if n % 2 else ["cat"] for n in range(1, 5)}
    taught = {f"{n:06d}": ["person", "cat"] for n in range(20, 26)}
    later = {f"2008_{n:06d}": ["dog"] for n in range(6)}
    voc_tree(folder, "VOC2007", {"test": tested, "trainval": taught})
    voc_tree(folder, "VOC2012", {"trainval": later})
    for year in ("VOC2007", "VOC2012"):
        voc_pictures(folder / "VOCdevkit" / year)
    wild = {391895 + n: ["zebra", "elephant"] if n % 3 else ["toothbrush"] for n in range(20)}
    annotations = coco_file(folder / "annotations/instances_train2017.json", wild)
    coco_pictures(annotations, folder / "train2017")
    return folder


@pytest.fixture
def val(voc_and_coco):
    """COCO val2017 beside them, with all of its classes; without classes of VOC on any picture."""
    shown = {f"{8000 + n:012d}": ["zebra", "apple"] if n % 3 else ["kite"] for n in range(12)}
    path = voc_and_coco / "annotations/instances_val2017.json"
    coco_pictures(write_coco(path, shown, labels=COCO), voc_and_coco / "val2017")


def test_elephant(voc_and_coco, here, openset):
    tiny(here, "elephant-faster-rcnn", steps=4)
    answers = follow(openset, here, "elephant")
    assert len(json.loads((here / "wilderness/wr-all.json").read_text())["images"]) == 24
    assert "Wilderness Impact" in answers[-3].out and (here / "run/report.html").is_file()
    assert list(here.rglob("*.svg"))


@pytest.mark.usefixtures("val")
def test_fmiyc(here, openset):
    tiny(here, "vos-voc", "vos", steps=4)
    # It has hardly learnt anything: no t*, and no score that anyone would call sure.
    more = {"score": ("--minimum-score", "0"), "evaluate": ("--force",)}
    *_, evaluated, _ = follow(openset, here, "fmiyc", {"best": "0.01"}, more)
    methods = ("GEN", "Energy", "Mahalanobis", "ViM", "ReAct")  # and five more
    assert all(name in evaluated.out for name in methods), evaluated.out
    assert "near" in evaluated.out and "far" in evaluated.out and "nOSE" in evaluated.out
    assert len(list((here / "run").glob("*.result.json"))) == 10
    assert "by-stratum" in (here / "run/report.html").read_text("utf-8")
