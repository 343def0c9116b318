"""The photographs' experiment on drawn pictures: prepare, train, run, judge, and the page."""

from __future__ import annotations

import gzip
import json
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

import methods_page
import photographs
from photographs import METRICS

COLOURS = {"person": (220, 30, 30), "dog": (30, 220, 30), "zebra": (220, 120, 30)}
NAMES = ("person", "dog", "zebra")

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """Squares at half their stated size: VOC has two classes, COCO another one, too."""
    folder, chance = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    drawn(folder, "voc2007_trainval_coco", chance, count=80, kinds=2, suffix="webp", first=1)
    drawn(
        folder, "voc2007_test_coco_difficult", chance, count=16, kinds=2, suffix="webp", first=500
    )
    drawn(folder, "instances_val2017", chance, count=24, kinds=3, suffix="jpg", first=900)
    target = tmp_path_factory.mktemp("work")
    called("prepare", folder, "--work", target)
    return target


def drawn(folder, name, chance, *, count, kinds, suffix, first):
    from PIL import Image

    images, objects = [], []
    with tarfile.open(folder / f"{name}.tar", "w") as archive:
        for at in range(first, first + count):
            pixels, kind = np.full((48, 64, 3), 90, np.uint8), at % kinds
            x, y, side = chance.integers(2, 30), chance.integers(2, 20), chance.integers(16, 26)
            pixels[y : y + side, x : x + side] = COLOURS[NAMES[kind]]
            Image.fromarray(pixels).save(folder / f"{at:06}.{suffix}", lossless=True, quality=95)
            archive.add(folder / f"{at:06}.{suffix}", f"{at:06}.{suffix}")
            images.append({"id": at, "file_name": f"{at:06}.jpg", "width": 128, "height": 96})
            box = [int(2 * edge) for edge in (x, y, side, side)]
            objects.append({"id": at, "image_id": at, "category_id": kind + 1, "bbox": box})
    categories = [{"id": at + 1, "name": name} for at, name in enumerate(NAMES[:kinds])]
    truth = {"images": images, "annotations": objects, "categories": categories}
    (folder / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(truth).encode()))


def called(*arguments):
    own, sys.argv = sys.argv, ["photographs.py", *map(str, arguments)]
    try:
        photographs.main()
    finally:
        sys.argv = own


def test_boxes_fit_the_pictures_and_splits_are_apart(work):
    from openset.formats import read_annotations

    parts = {split: read_annotations(work / f"{split}.json") for split in photographs.SPLITS}
    ids = [set(part.images.id.tolist()) for part in parts.values()]
    assert not ids[0] & ids[1] | ids[0] & ids[2] | ids[1] & ids[2]
    assert len(ids[0]) + len(ids[1]) == 80 and 0 < len(ids[1]) < 16 and len(ids[2]) == 40
    assert set(parts["test"].role) == {"known", "unknown"}
    assert (parts["train"].box[:, 2] <= 26).all()
    assert (parts["train"].images.width == 64).all()


def test_from_pictures_to_the_page(work, tmp_path, monkeypatch):
    quick = {"precision": "float32", "optimizer": "adamw", "lr": 2e-3, "schedule": "cosine"}
    plain = replace(photographs.RECIPE, **quick, milestones=(), options={"backbone": "small"})
    monkeypatch.setattr(photographs, "RECIPE", plain)
    trained = {
        ("base", 0): 60,
        ("base", 1): 50,
        ("opendet", 0): 60,
        ("vos", 0): 60,
        ("stock", 0): 50,
    }
    for (method, seed), steps in trained.items():
        given = ("--work", work, "--method", method, "--seed", seed)
        called("train", *given, "--steps", steps, "--batch", 4, "--side", 64)
        called("find", *given, "--out", tmp_path / "found")
    about = json.loads((tmp_path / "found" / "base-0.json").read_text("utf-8"))
    assert about["fitted_on"] > 10
    assert set(about["refused"]) <= {"vim"}  # too few detections to have a residual
    assert about["images_per_second"] > 0 and about["tails"]["knn"] > 0
    results = tmp_path / "results.json"
    called("judge", tmp_path / "found", "--work", work, "--results", results)
    held = json.loads(results.read_text("utf-8"))
    assert held["methods"]["base"]["runs"] == 2
    assert held["methods"]["base"]["values"]["unknown_recall"]["value"] == 0
    assert held["methods"]["base + knn"]["values"]["auroc"]["value"] > 0.5
    text = methods_page.photographs(held, [], [])
    assert "| Faster R-CNN + knn |" in text and "| OpenDet |" in text
    assert "nan" not in text.lower().split()
    later = tmp_path / "later"
    later.mkdir()
    for name in ("opendet-0.npz", "opendet-0.json"):
        (tmp_path / "found" / name).rename(later / name)
    called("judge", later, "--work", work, "--results", results)
    again = json.loads(results.read_text("utf-8"))
    assert again["methods"] == held["methods"]  # the one is as before, the others stay
    assert len(again["trainings"]) == len(held["trainings"])
    apart = {(one["first"], one["second"]): one for one in again["differences"]}
    paired = {(one["first"], one["second"]): one for one in held["differences"]}
    assert apart.keys() == paired.keys()
    assert apart["base + energy", "vos + energy"] == paired["base + energy", "vos + energy"]
    one, two = (told["base", "opendet"]["values"]["ap_known"] for told in (apart, paired))
    assert apart["base", "opendet"]["paired"] is False
    assert one["difference"] == pytest.approx(two["difference"])


def test_a_training_that_finds_nothing_on_val_is_said():
    with pytest.raises(SystemExit, match="no detection on val is right"):
        photographs.tail_unknown(None, np.zeros(2), None)


def test_data_may_lie_in_folders_of_data(tmp_path):
    (tmp_path / "voc2007").mkdir()
    (tmp_path / "voc2007" / "a.tar").touch()
    (tmp_path / "b.tar").touch()
    assert [path.name for path in photographs.in_data(tmp_path, "*.tar")] == ["b.tar", "a.tar"]
    assert photographs.one_in(tmp_path, "a*").parent.name == "voc2007"
    with pytest.raises(SystemExit, match=r"\(DATA\) has 2 \*\.tar, in it or in a folder"):
        photographs.one_in(tmp_path, "*.tar")
    with pytest.raises(SystemExit, match="has no c"):
        photographs.one_in(tmp_path, "c")


def test_a_table_without_its_trainings_names_the_rows_and_their_commands(work, tmp_path):
    judge = ("judge", tmp_path, "--results", tmp_path / "results.json", "--work")
    with pytest.raises(SystemExit, match=r"no test.json .*photographs.py prepare DATA --work"):
        called(*judge, tmp_path)
    with pytest.raises(SystemExit, match="no training is in") as caught:
        called(*judge, work)
    for method in photographs.METHODS:
        assert f"train --work PHOTOS --method {method} --seed 0`" in str(caught.value)
    assert not (tmp_path / "results.json").exists()


def test_methods_that_were_judged_apart_are_compared_by_their_deviations():
    def held(value, sd):
        return {"values": {n: {"value": value, "sd_images": sd, "runs": [value]} for n in METRICS}}

    found = photographs.unpaired("a", "b", {"a": held(10.0, 3.0), "b": held(40.0, 4.0)})
    one = found["values"]["a_ose"]
    assert one["difference"] == 30 and found["paired"] is False
    assert one["interval"] == pytest.approx([30 - 1.96 * 5, 30 + 1.96 * 5], abs=1e-3)
    assert one["p"] == pytest.approx(2e-9, rel=0.05)  # six deviations


def test_a_method_is_not_replaced_by_fewer_of_its_seeds():
    held = [{"method": "siren", "seed": seed} for seed in range(3)]
    facts = {"pictures": {}, "methods": {}, "differences": [], "trainings": held}
    with pytest.raises(SystemExit, match="not found here: siren-0; find"):
        photographs.added(facts, facts | {"trainings": held[1:]})
    assert photographs.added(facts, facts)["trainings"] == held
