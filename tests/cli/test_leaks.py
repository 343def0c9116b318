"""A detector that was taught the unknown classes: said before any number and in the ledger."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

LEAD = "This is not an open-set result: base was taught classes that are unknown here; "
ASKED = ("evaluate", "gt.json", "base.json", "--no-intervals")


@pytest.fixture
def one_class(scene):
    """Known is the dog alone, though the detector names cats."""
    (scene / "known.txt").write_text("dog\n")
    return scene


def cats(folder):
    found = json.loads((folder / "base.json").read_text())
    return sum(one["category_id"] == 2 for one in found), len(found)


@pytest.mark.parametrize("more", [(), ("--leaked", "drop")])
def test_the_first_sentence(one_class, openset, more):
    done = openset(*ASKED, "--known", "known.txt", *more)
    some, whole = cats(one_class)
    text = " ".join(done.out.split())
    assert done.code == 0 and text.startswith(LEAD)
    assert (
        f"{some} of {whole} detections are labelled with 1 class that is unknown here: cat" in text
    )
    assert "LEAK: the detector was taught classes" in text and "no leak" not in text


def test_json_and_comparison(one_class, openset):
    asked = ("--known", "known.txt", "--metrics", "a_ose")
    document = openset(*ASKED, *asked, "-o", "run", "--json").json
    assert document["leaks"][0].startswith(LEAD)
    assert "LEAK: " in document["models"]["base"]["provenance"]["ledger"]
    path = "run/base.result.json"
    (one_class / "other").mkdir()
    (one_class / "other" / "x.json").write_text((one_class / path).read_text())
    done = openset("compare", path, "other/x.json")
    assert done.out.startswith("This is not an open-set result: ")
    assert len(openset("compare", path, "other/x.json", "--json").json["leaks"]) == 2


def test_an_honest_detector_is_not_accused(scene, openset):
    done = openset(*ASKED, "--known", "known.txt", "--json")
    assert done.json["leaks"] == []
    assert "not an open-set" not in openset(*ASKED, "--known", "known.txt").out


REFUSED = {
    "the unknown classes": (("--known", "zebra,"), "OS327", "the labels that the detector was"),
    "a built-in and a name": (("--known", "voc20,zebra"), "OS329", "--known voc20 alone"),
    "a built-in twice": (("--known", "voc20", "--known", "coco80"), "OS329", "labels alone"),
    "unknown is a known class": (
        ("--known", "known.txt", "--unknown-label", "cat"),
        "OS328",
        "leave the class out of --known",
    ),
    "its id": (("--known", "known.txt", "--unknown-label", "2"), "OS328", "--unknown-label"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_roles_that_cannot_be_meant(name, scene, openset):
    options, code, fix = REFUSED[name]
    done = openset(*ASKED, *options)
    assert done.code == 2 and done.out == ""
    assert f"error {code}" in done.err and fix in " ".join(done.err.split())


def test_a_word_longer_than_any_file_name(scene, openset):
    done = openset(*ASKED, "--known", "x" * 5000)
    assert done.code == 2 and "unknown vocabulary" in done.err and len(done.err) < 1000
    assert openset(*ASKED, "--known", ",".join(["dog", "cat", "x" * 5000])).code == 0
    assert "OS101" in openset(*ASKED, "--known", "x" * 5000 + ".txt").err


def test_logits_of_unknown_classes_are_a_leak(scene, openset):
    """Boxes of known classes alone, with the logits of a detector that was taught more."""
    truth = json.loads((scene / "gt.json").read_text())
    names = {one["id"]: one["name"] for one in truth["categories"]}
    known = (scene / "known.txt").read_text().split()
    found = [
        one for one in json.loads((scene / "base.json").read_text())
        if names[one["category_id"]] in known
    ]  # fmt: skip
    (scene / "base.json").write_text(json.dumps(found))
    for classes, leak in ((known, False), ([*known, "zebra"], True), ([*known, "yak"], False)):
        place = {name: at for at, name in enumerate(classes)}
        logits = np.full((len(found), len(classes)), -3.0)
        scores = np.array([one["score"] for one in found])
        rows = [place[names[one["category_id"]]] for one in found]
        logits[np.arange(len(found)), rows] = np.log(scores / (1 - scores))
        np.savez(scene / "e.npz", logits=logits, layout="sigmoid", classes=np.array(classes))
        more = ("--truth", "gt.json", "--evidence", "e.npz")
        assert openset("convert", "base.json", "-o", "base.parquet", *more).code == 0
        line = ("evaluate", "gt.json", "base.parquet", "--known", "known.txt", "--no-intervals")
        for asked in ((*line, "--unknownness", "energy"), line):
            done = openset(*asked)
            said = " ".join(done.out.split())
            assert ("OS333" in done.err, said.startswith(LEAD)) == (leak, leak), done.err
            assert ("LEAK: the detector was taught classes" in said) == leak
            assert not leak or "no leak known" not in said


def test_a_detector_that_was_taught_every_label_is_a_leak_without_their_boxes(scene, openset):
    """A ground truth whose labels, "unknown" among them, were all taken for known ones."""
    from openset.formats import read_annotations, read_detections, write

    known = (scene / "known.txt").read_text().split()
    table = read_annotations(scene / "gt.json")
    labels = (*known, *(name for name in table.labels if name not in known), "unknown")
    found = read_detections(scene / "base.json")
    own = np.array([labels.index(table.labels[list(table.category_id).index(one)])
                    for one in found.label.tolist()])  # fmt: skip
    kept = own < len(known)
    logits = np.full((len(found), 1 + len(labels)), -3.0)
    logits[np.arange(len(found)), 1 + own] = 5.0
    columns = {"logits": logits, "layout": "softmax-background-first"}
    said = {"model": {"detector": "faster_rcnn"}}
    whole = replace(found, labels=labels, label=own, provenance=said, **columns)
    write(whole.select(kept), scene / "base.parquet")
    line = ("evaluate", "gt.json", "base.parquet", "--known", "known.txt", "--no-intervals")
    done = openset(*line)
    assert "OS333" in done.err and " ".join(done.out.split()).startswith(LEAD)
    fixed = openset("score", "base.parquet", "--known", "known.txt", "--scorers", "energy",
                    "-o", "mended.parquet")  # fmt: skip
    assert fixed.code == 0, fixed.err
