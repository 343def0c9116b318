"""OSOD-III by commands alone: from files in official layout to means over class splits."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

pytest.importorskip("torchvision")

from PIL import Image

from openset.benchmarks import load
from openset.formats import read_detections
from scenes.benchmarks import open_images

TINY = """
detector = "faster_rcnn"
steps = 10
batch = 4
optimizer = "adamw"
lr = 2e-3
[options]
backbone = "small"
shortest = 64
longest = 64
"""
SPLITS = ("split1", "split2")
SIDE, OBJECTS = 64, 2
pytestmark = pytest.mark.usefixtures("one_torch_thread")


def corners(at):
    """Left and right half, so that a detector learns where to look in a few steps."""
    return (0.1 + 0.45 * at, 0.45 + 0.45 * at, 0.2, 0.8)


@pytest.fixture
def official(here):
    """Boxes, names and hierarchy of Open Images, and pictures of coloured squares."""
    lists = load("osod3-vehicle").lists
    names = list(chain(*lists.values()))
    chance = np.random.default_rng(0)
    colours = dict(zip(names, chance.integers(0, 255, (len(names), 3)), strict=True))
    files = {
        "train": "oidv6-train-annotations-bbox.csv",
        "validation": "validation-annotations-bbox.csv",
        "test": "test-annotations-bbox.csv",
    }
    parts = {}
    for folder, file in files.items():
        (here / "official" / folder).mkdir(parents=True)
        images = {
            f"{folder}{n:03}": [*chance.choice(names, OBJECTS, replace=False).tolist()]
            for n in range(16)
        }
        parts[file] = images
        for name, labels in images.items():
            pixels = np.full((SIDE, SIDE, 3), 90, np.uint8)
            for at, label in enumerate(labels):
                left, right, top, bottom = (int(SIDE * edge) for edge in corners(at))
                pixels[top:bottom, left:right] = colours[label]
            Image.fromarray(pixels).save(here / "official" / folder / f"{name}.jpg")
    open_images(here / "official", parts, names, corners)
    (here / "tiny.toml").write_text(TINY)
    return here


def done(openset, *command):
    """A command that succeeds."""
    found = openset(*command)
    assert found.code in (0, 1), found.err  # 1: counts are not the published ones
    return found


def test_from_official_files_to_means_over_splits(openset, official):
    built = done(openset, "build", "osod3-vehicle:all", "--source", "official", "-o", "bench")
    assert built.code == 1 and "OS907" in built.err and "OS916" not in built.err
    for at in SPLITS:
        pictures = ("--images", "official", "--device", "cpu")
        train = ("train", "tiny.toml", f"bench/{at}/train.json", *pictures)
        done(openset, *train, "-o", f"model-{at}")
        for part in ("val", "test"):
            run = ("run", f"model-{at}", f"bench/{at}/{part}.json", "--regions", *pictures)
            done(openset, *run, "-o", f"{at}-{part}.parquet")
        score = ("score", f"{at}-test.parquet", "--rule", "gamma")
        done(openset, *score, "--option", "gamma=1", "-o", f"{at}/base.parquet")
        free = ("--force", "--known-share", "0.3")  # it has hardly learnt anything
        held_out = ("--calibrate", f"{at}-val.parquet", "--calibrate-truth", f"bench/{at}/val.json")
        chosen = done(openset, *score, *held_out, *free, "-o", f"{at}/gamma.parquet")
        assert "AP_known of held-out images" in chosen.out
        files = (f"{at}/base.parquet", f"{at}/gamma.parquet")
        done(openset, "evaluate", f"bench/{at}/test.json", *files, "--force", "-o", f"run-{at}",
             "--protocol", "osod3", "--metrics", "ap_known,ap_unknown")  # fmt: skip
    assert (read_detections(official / "split1" / "gamma.parquet").label == 6).any()
    sides = [
        f"{name}=" + ",".join(f"run-{at}/{name}.result.json" for at in SPLITS)
        for name in ("base", "gamma")
    ]
    told = done(openset, "compare", *sides, "--splits", "--metrics", "ap_known,ap_unknown")
    assert "over 2 class splits" in told.out
    numbers = openset("compare", *sides, "--splits", "--json").json["methods"]
    found = {name: numbers[name]["values"]["ap_unknown"]["value"] for name in ("base", "gamma")}
    assert found["base"] == 0 < found["gamma"]
