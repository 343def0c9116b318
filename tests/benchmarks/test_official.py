"""Published numbers, from the official lists and annotations (set OPENSET_DATA to their folder)."""

from __future__ import annotations

from pathlib import Path

import pytest

import openset
from openset.benchmarks.auditing import audit, page
from openset.benchmarks.building import build
from openset.benchmarks.bundle import of_folder, of_lists
from openset.learning import stages_of


def found(official, name):
    return audit(of_lists(name, official / "official_splits"))


def wrong(judgement):
    return {(c.count, c.where) for c in judgement.checks if c.verdict == "FAIL"}


def test_owod(official):
    result = found(official, "owod")
    assert not result.passed
    data = wrong(result["data_specificity"])
    assert {(1127, f"test-t{t}") for t in range(1, 5)} <= data
    assert {(22, f"val-t{t}") for t in range(1, 5)} <= data
    assert (3978, "") in data  # every validation image is a training image
    assert "3978 of 3978 val images" in result.text()
    assert "1127 of 10246 lines repeat an image (9119 unique)" in result.text()
    assert (4952, "test-t1") in wrong(result["label_integrity"])
    assert "2 label universes" in result.text()
    assert (3978, "val-t1") in wrong(result["annotation_specificity"])


def test_re_owod(official):
    result = found(official, "re-owod")
    assert result.passed
    assert result["data_specificity"].verdict == "PASS"
    sizes = {p.name: len(p.lines) for p in of_lists("re-owod", official / "official_splits").parts}
    train = [sizes[f"train-t{task}"] for task in range(1, 5)]
    assert train == [91903, 43684, 37677, 38446]
    assert sizes["test-t1"] == 4952


def test_voc_coco(official):
    result = found(official, "voc-coco")
    assert wrong(result["class_openness"]) == {(4952, "t2-15000")}  # a stale list
    assert (4952, "t1-20-40") in wrong(result["label_integrity"])


def test_the_page_of_results_is_current(official):
    names = ("owod", "re-owod", "voc-coco")
    page_ = Path(__file__).parents[2] / "docs" / "results" / "audit.md"
    assert page_.read_text("utf-8") == page([found(official, name) for name in names], lists=True)


def test_cub(official, tmp_path):
    built = build("osod3-cub:split1", official / "cub200", tmp_path / "out")
    assert built.findings == ()
    splits = built.manifest["splits"]
    assert (splits["test"]["images"], splits["val"]["images"]) == (5794, 500)
    assert abs(splits["train"]["images"] - 4109) < 30  # which images validate is not published


VOC = """
summary = "Pascal VOC 2007 test"
[classes]
known = ["@voc20"]
[sources.voc]
path = ["voc2007/voc2007_test_coco.json.gz"]
[splits.known]
kind = "id"
source = "voc"
expect = { images = 4952, known = 14976 }
"""


def test_voc(official, tmp_path):
    (tmp_path / "voc.toml").write_text(VOC)
    assert build(tmp_path / "voc.toml", official, tmp_path / "out").findings == ()


@pytest.mark.parametrize("name", ["Animal", "Vehicle"])
def test_classes_of_osod3_are_leaves_of_the_hierarchy(official, name):
    from openset.benchmarks import load
    from openset.benchmarks.taxonomy import of_open_images

    folder = official / "openimages"
    taxonomy = of_open_images(
        folder / "bbox_labels_600_hierarchy.json", folder / "class-descriptions-boxable.csv"
    )
    benchmark = load(f"osod3-{name.lower()}")
    other = {label: group[1] for group in benchmark.synonyms for label in group}
    listed = {other.get(k, k) for split in benchmark.lists.values() for k in split}
    assert listed == set(taxonomy.leaves(name))


@pytest.mark.parametrize("name", ["fmiyc-voc", "fmiyc-bdd"])
def test_lists_of_fmiyc_are_labels_of_open_images(official, name):
    import csv

    from openset.benchmarks import load

    with (official / "openimages" / "class-descriptions-boxable.csv").open() as stream:
        labels = {row[1] for row in csv.reader(stream)}
    lists = {k: v for k, v in load(name).lists.items() if k.endswith("openimages") or k == "people"}
    assert lists
    assert {label for chosen in lists.values() for label in chosen} <= labels


BOTH = """
summary = "taught on VOC, tested on COCO"
[classes]
known = ["@voc20"]
[sources.voc]
path = ["voc2007/voc2007_test_coco.json.gz"]
[sources.coco]
path = ["coco/instances_val2017_4697.json.gz"]
[splits.train]
kind = "train"
source = "voc"
[splits.test]
kind = "test"
source = "coco"
"""


def test_a_detector_keeps_its_ids_on_a_built_test(official, tmp_path):
    (tmp_path / "both.toml").write_text(BOTH)
    built = build(tmp_path / "both.toml", official, tmp_path / "out")
    assert [finding.code for finding in built.findings] == ["OS320"]
    options = {"known": "voc20", "metrics": ["ap_known"], "intervals": False}
    found_by = official / "coco" / "yolox_nano_bbox.json.gz"
    source = official / "coco" / "instances_val2017_4697.json.gz"
    numbers = [
        openset.evaluate(truth, found_by, **options).value("ap_known").value
        for truth in (source, tmp_path / "out" / "test.json")
    ]
    assert numbers[0] == numbers[1] > 0.2


@pytest.mark.parametrize(("name", "train"), [("owod-val", 5008), ("s-owodb-val", 1484)])
def test_tasks_on_the_pictures_of_val2017(official, tmp_path, name, train):
    for file in ("voc2007/voc2007_trainval_coco.json.gz", "coco/instances_val2017_4697.json.gz"):
        copy = tmp_path / Path(file).name.replace("_4697", "")
        copy.write_bytes((official / file).read_bytes())
    built = build(name, tmp_path, tmp_path / "out")
    assert built.manifest["splits"]["train-t1"]["images"] == train
    bundle = of_folder(tmp_path / "out")
    assert audit(bundle).passed
    assert len(stages_of(bundle)) == 7
