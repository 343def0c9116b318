"""Tiers: one file of all of them, on the real layout of WordNet's file and of COCO's."""

from __future__ import annotations

import json

import pytest

import openset
from openset.benchmarks.building import build
from openset.findings import InputError
from openset.tables.vocabulary import vocabularies
from scenes.benchmarks import LICENCE, write_coco
from scenes.wordnet import nouns

COCO = vocabularies()["coco80"].known
IMAGES = {
    "000000000001": ["dog"],
    "000000000002": ["zebra", "pizza"],  # near a horse, and farther
    "000000000003": ["pizza"],
    "000000000004": ["kite", "pizza"],
    "000000000005": ["zebra", "person"],
    "000000000006": [],
}


@pytest.fixture
def source(tmp_path):
    write_coco(tmp_path / "annotations" / "instances_val2017.json", IMAGES, labels=COCO)
    (tmp_path / "data.noun").write_text(nouns())
    return tmp_path


def tiers(path):
    images = openset.read(path).images
    return dict(zip(images.id.tolist(), images.attributes["tier"].tolist(), strict=True))


def test_the_nearest_object_of_an_image_decides(source):
    built = build("fmiyc-coco", source, source / "out")
    assert tiers(built.folder / "ood.json") == {2: "near", 3: "farther", 4: "far"}
    assert openset.read(built.folder / "id.json").images.id.tolist() == [1]
    assert built.manifest["identity"]["lists"].keys() == {"data.noun"}


def test_another_dictionary_is_another_build(source):
    build("fmiyc-coco", source, source / "out")
    assert build("fmiyc-coco", source, source / "out").again
    (source / "data.noun").write_text(nouns() + nouns().splitlines()[-1] + "\n")
    with pytest.raises(InputError, match="OS909"):
        build("fmiyc-coco", source, source / "out")


def test_a_dictionary_that_is_absent_or_empty_is_refused(source):
    (source / "data.noun").write_text(LICENCE)
    with pytest.raises(InputError, match=r"OS102(.|\n)*bytes"):
        build("fmiyc-coco", source, source / "out")
    (source / "data.noun").unlink()
    with pytest.raises(InputError, match=r"OS902(.|\n)*data\.noun"):
        build("fmiyc-coco", source, source / "out")


OWN = """
summary = "tiers of earlier splits"
[classes]
known = ["dog"]
[sources.coco]
path = ["annotations/instances_val2017.json"]
[splits]
one = { kind = "ood", source = "coco", select = [{ with = ["zebra"] }, { without = "known" }] }
two = { kind = "ood", source = "coco", select = [{ with = ["kite"] }] }
all = { kind = "ood", source = "coco", select = [{ without = "known" }], tiers = ["one", "two"] }
"""


def test_tiers_of_earlier_splits(source):
    (source / "own.toml").write_text(OWN)
    out = build(source / "own.toml", source, source / "out").folder
    assert tiers(out / "all.json") == {2: "one", 3: "", 4: "two", 5: "one", 6: ""}
    (source / "own.toml").write_text(OWN.replace('["one", "two"]', '["one", "too"]'))
    with pytest.raises(ValueError, match="'two'"):
        build(source / "own.toml", source, source / "other")


def test_a_tier_without_image_is_refused(source):
    document = json.loads((source / "annotations" / "instances_val2017.json").read_text())
    document["annotations"] = [a for a in document["annotations"] if a["image_id"] != 4]
    (source / "annotations" / "instances_val2017.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"OS906(.|\n)*'far'"):
        build("fmiyc-coco", source, source / "out")


def test_a_class_that_is_spelt_otherwise_is_told_what_it_may_be():
    from openset.benchmarks.taxonomy import Taxonomy, placed

    pets = Taxonomy({"motorcycle": ("vehicle",), "cat": ("animal",)})
    assert placed(pets, ["cat"]) == ["cat"]
    with pytest.raises(InputError) as caught:
        placed(pets, ["motorcicle", "cat", "wug"])
    (finding,) = caught.value.findings
    assert finding.code == "OS904" and finding.count == 2
    assert finding.example == "motorcicle, wug"
    assert "'motorcicle' for 'motorcycle'; else pin" in finding.fix
