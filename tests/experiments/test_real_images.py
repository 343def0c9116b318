"""The photographs' example, on drawn pictures: split, train, run, score, and write the page."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")
ROOT = Path(__file__).parents[2]

import real_images  # noqa: E402

COLOURS = {"person": (220, 30, 30), "dog": (30, 220, 30), "zebra": (220, 60, 30)}


pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """Sixty pictures of squares at half their stated size, two classes known, one unknown."""
    from PIL import Image

    folder, chance = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    images, objects = [], []
    with tarfile.open(folder / "pictures.tar", "w") as archive:
        for at in range(60):
            pixels, name = np.full((48, 64, 3), 90, np.uint8), f"{at:03}.png"
            kind = at % 3
            x, y, side = chance.integers(2, 30), chance.integers(2, 20), chance.integers(16, 26)
            pixels[y : y + side, x : x + side] = list(COLOURS.values())[kind]
            Image.fromarray(pixels).save(folder / name)
            archive.add(folder / name, name)
            images.append({"id": at, "file_name": name, "width": 128, "height": 96})
            box = [int(2 * edge) for edge in (x, y, side, side)]
            objects.append({"id": at + 1, "image_id": at, "category_id": kind + 1, "bbox": box})
    categories = [{"id": at + 1, "name": name} for at, name in enumerate(COLOURS)]
    truth = {"images": images, "annotations": objects, "categories": categories}
    (folder / "truth.json").write_text(json.dumps(truth), "utf-8")
    return folder


@pytest.fixture(scope="module")
def work(pictures, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    real_images.prepare(pictures / "pictures.tar", pictures / "truth.json", folder)
    return folder


def test_boxes_fit_the_pictures_and_splits_are_apart(work):
    from openset.formats import read_annotations

    parts = {split: read_annotations(work / f"{split}.json") for split in real_images.SPLITS}
    ids = [set(part.images.id.tolist()) for part in parts.values()]
    assert not ids[0] & ids[1] | ids[0] & ids[2] | ids[1] & ids[2]
    assert all(real_images.split_of(id_) == "test" for id_ in ids[2])
    train = parts["train"]
    assert train.role == ("known", "known", "unknown")
    assert set(train.label.tolist()) == {0, 1}  # a picture with nothing known is of no use
    assert 2 in parts["test"].label
    assert (train.box[:, 2] <= 26).all()
    assert (train.images.width == 64).all()
    names = [str(name) for part in parts.values() for name in part.images.file_name]
    assert sorted(f"images/{path.name}" for path in (work / "images").iterdir()) == sorted(names)


def test_from_pictures_to_the_page(work, tmp_path, monkeypatch):
    quick = real_images.Recipe.of(real_images.RECIPE, precision="float32", lr=2e-3, ema=0)
    monkeypatch.setattr(real_images, "RECIPE", quick)
    results, page = tmp_path / "results", tmp_path / "page.md"
    asked = ["--backbone", "small", "--work", str(work)]
    sized = ["--size", "64", "--batch", "4"]
    steps = {0: "60", 1: "40"}
    given = [["train", *asked, *sized, "--steps", n, "--seed", str(s)] for s, n in steps.items()]
    given += [["score", *asked, "--out", str(results), "--seed", str(seed)] for seed in (0, 1)]
    given += [["limits", *asked, "--out", str(results)]]
    for arguments in given:
        monkeypatch.setattr(sys, "argv", ["real_images.py", *arguments])
        real_images.main()
    about = json.loads((results / "small.json").read_text("utf-8"))
    assert about["fitted_on"] > 10
    assert set(about["refused"]) <= {"vim"}  # too few detections to have a residual
    assert about["flops_per_image"] > 1e6
    assert about["images_per_second"] > 0
    command = [sys.executable, str(ROOT / "experiments/real_images_page.py"), "--page", str(page)]
    subprocess.run([*command, "--work", str(work), "--results", str(results)], check=True)
    text = page.read_text("utf-8")
    assert "trained with 2 seeds" in text
    assert text.count("| msp |") == 1  # one table for both trainings
    assert "| knn |" in text
    assert "nan" not in text.lower().split()


def test_steps_are_chosen_by_speed(work, monkeypatch):
    monkeypatch.setattr(real_images, "PROBE", 30)
    options = {"backbone": "small", "shortest": 64, "longest": 64}
    recipe = real_images.Recipe(options=options, optimizer="adamw", lr=1e-4, batch=2)
    data = real_images.TrainingData.of(work / "train.json")
    few, many = (real_images.affordable(recipe, data, minutes) for minutes in (0.01, 10))
    assert 0 < few < many
