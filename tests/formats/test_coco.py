"""COCO: every key is kept, on the fast path and on the general one alike."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import openset
from openset.formats import _coco, coco, read, read_annotations, read_detections, write

GOLDEN = Path(__file__).parents[1] / "golden" / "inputs"
COUNTS = {"tiny/mixed": (57, 44), "tiny/wild": (64, 48), "edge/mixed": (23, 17)}
COUNTS |= {"small/mixed": (1864, 819), "small/wild": (4592, 1970)}


def save(path, value):
    path.write_text(json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize("case", COUNTS)
def test_golden(case):
    found, truth = read(GOLDEN / case / "dt.json"), read(GOLDEN / case / "gt.json")
    assert (len(found), len(truth)) == COUNTS[case]
    raw = json.loads((GOLDEN / case / "gt.json").read_text())
    assert truth.info["openset"] == raw["info"]["openset"]
    assert truth.images.attributes["wild"].tolist() == [image["wild"] for image in raw["images"]]
    held = raw["annotations"]
    assert truth.difficult.tolist() == [bool(item["difficult"]) for item in held]
    assert truth.attributes["orig_category_id"].tolist() == [a["orig_category_id"] for a in held]
    assert truth.box.tolist() == [item["bbox"] for item in held]
    assert found.attributes["id"].tolist() == list(range(1, len(found) + 1))


@pytest.mark.parametrize("case", COUNTS)
def test_both_paths_agree(case, monkeypatch):
    for name, reader in (("dt.json", read_detections), ("gt.json", read_annotations)):
        fast = reader(GOLDEN / case / name)
        with monkeypatch.context() as patch:
            patch.setattr(coco, "_fast_results", lambda *_: None)
            patch.setattr(coco, "_fast_truth", lambda *_: None)
            slow = reader(GOLDEN / case / name)
        assert repr(fast) == repr(slow)
        np.testing.assert_array_equal(fast.box, slow.box)


def test_whole_numbers_that_all_are_text(tmp_path):
    truth = json.loads((GOLDEN / "tiny/mixed/gt.json").read_text())
    found = json.loads((GOLDEN / "tiny/mixed/dt.json").read_text())
    plain = read_annotations(GOLDEN / "tiny/mixed/gt.json")
    for one in (*truth["annotations"], *found):
        one["category_id"] = str(one["category_id"])
    for one in truth["categories"]:
        one["id"] = str(one["id"])
    read_ = read_annotations(save(tmp_path / "gt.json", truth))
    assert read_.category_id.tolist() == plain.category_id.tolist()
    assert read_.label.tolist() == plain.label.tolist()
    want = read_detections(GOLDEN / "tiny/mixed/dt.json").label
    assert read_detections(save(tmp_path / "dt.json", found)).label.tolist() == want.tolist()
    for other in ("07", "7.0", "", 7):  # one among the others
        found[0]["category_id"] = other
        with pytest.raises(openset.InputError, match="OS108"):
            read_detections(save(tmp_path / "dt.json", found))


DOCUMENT = {
    "info": {"year": 2024},
    "licenses": [{"id": 1, "name": "CC"}],
    "images": [
        {"id": 5, "file_name": "a.jpg", "width": 10, "height": 20, "wild": True, "lat": 1.5},
        {"id": 2, "file_name": "b.jpg", "wild": False, "coco_url": "http://x"},
    ],
    "annotations": [
        {
            "id": 9,
            "image_id": 2,
            "category_id": 7,
            "bbox": [1, 2, 3, 4],
            "area": 5.5,
            "iscrowd": 1,
            "ignore": 1,
            "segmentation": [[1, 2.5, 3]],
            "tags": {"a": [1]},
            "depth": 3,
        },
        {
            "id": 3,
            "image_id": 5,
            "category_id": 90,
            "bbox": [0, 0, 2, 2],
            "depth": 2.5,
            "who": "me",
        },
    ],
    "categories": [
        {"id": 90, "name": "dog", "supercategory": "animal", "role": "known", "isthing": 1},
        {"id": 7, "name": "blob", "role": "unknown"},
    ],
}


@pytest.mark.parametrize("packed", [False, True])
def test_extra_keys(tmp_path, packed):
    path = save(tmp_path / "gt.json", DOCUMENT)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    table = read(path)
    assert table.category_id.tolist() == [90, 7]
    assert table.role == ("known", "unknown")
    assert table.supercategory == ("animal", "")
    assert table.crowd.tolist() == table.difficult.tolist() == [True, False]
    assert table.area.tolist() == [5.5, 4.0]
    assert table.images.width.tolist()[0] == 10
    assert np.isnan(table.images.width[1])
    assert table.images.attributes["wild"].dtype == bool
    assert set(table.images.attributes) == {"wild", "lat"}
    assert table.attributes["tags"].tolist() == ['{"a":[1]}', ""]
    assert table.attributes["depth"].tolist() == [3.0, 2.5]
    assert table.attributes["who"].tolist() == ["", "me"]
    assert set(table.attributes) == {"tags", "depth", "who"}
    assert table.info["year"] == 2024


def test_everything_comes_back(tmp_path):
    table = read(save(tmp_path / "gt.json", DOCUMENT), everything=True)
    assert table.attributes["segmentation"].tolist() == ["[[1,2.5,3]]", ""]
    write(table, tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    for key in ("info", "licenses", "images", "categories"):
        assert again[key] == DOCUMENT[key]
    first = dict(DOCUMENT["annotations"][0])
    first["difficult"] = first.pop("ignore")
    assert again["annotations"][0] == first


def test_results_with_everything(tmp_path):
    records = [
        {
            "image_id": name,
            "category_id": 90,
            "bbox": [0, 0, 1, 1],
            "score": 1,
            "unknownness": 0.25,
            "logits": [1, 2.5],
            "embedding": [0, 0, 1],
            "layout": "sigmoid",
            "model v2": "x",
        }
        for name in ("000001", "b")
    ]
    table = read(save(tmp_path / "dt.json", records))
    assert table.image.tolist() == ["000001", "b"]
    assert table.layout is openset.tables.LogitLayout.SIGMOID
    assert table.logits.tolist() == [[1, 2.5]] * 2
    assert table.attributes["model v2"].tolist() == ["x", "x"]
    for record in records:
        del record["layout"]
    assert read(save(tmp_path / "dt.json", records), layout="softmax").layout == "softmax"
    assert read_detections(records, layout="softmax").logits.shape == (2, 2)


def test_not_finite_is_read_and_written(tmp_path):
    path = tmp_path / "dt.json"
    path.write_text('[{"image_id":1,"category_id":1,"bbox":[NaN,0,Infinity,1],"score":-Infinity}]')
    table = read(path)
    for name in ("again.json", "again.csv", "again.parquet"):
        write(table, tmp_path / name)
        again = read(tmp_path / name)
        np.testing.assert_array_equal(again.box, [[np.nan, 0, np.inf, 1]])
        assert again.score.tolist() == [-np.inf]


def test_ids_of_other_types(tmp_path):
    changed = json.loads(json.dumps(DOCUMENT))
    changed["annotations"][0]["id"] = "x-1"
    table = read(save(tmp_path / "gt.json", changed))
    assert table.id.tolist() == [1, 2]
    assert table.attributes["id"].tolist() == ["x-1", "3"]
    changed["images"][0]["id"], changed["annotations"][1]["image_id"] = "five", "five"
    table = read(save(tmp_path / "gt.json", changed))
    assert table.images.id.tolist() == ["five", "2"]
    results = [{"image_id": 5.0, "category_id": 7, "bbox": [0, 0, 1, 1], "score": 1}]
    assert read(save(tmp_path / "dt.json", results)).image.tolist() == [5]


def test_long_text_does_not_widen_a_column():
    values = ["x"] * 5000 + ["y" * 5000]
    column = _coco.attribute(values)
    assert column.dtype.kind == "T"
    assert column.tolist() == values


@pytest.mark.parametrize("text", ["[]", " [ ] "])
def test_empty_results(tmp_path, text):
    path = tmp_path / "dt.json"
    path.write_text(text)
    assert len(read(path)) == 0
