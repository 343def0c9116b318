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
from scenes.workflows import commands, follow

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
SIDE, OBJECTS = 64, 2
pytestmark = pytest.mark.usefixtures("one_torch_thread")


def corners(at):
    """Left and right half, so that a detector learns where to look in a few steps."""
    return (0.1 + 0.45 * at, 0.45 + 0.45 * at, 0.2, 0.8)


@pytest.fixture
def official(here):
    """Boxes, names and hierarchy of Open Images, and pictures of coloured squares."""
    lists = load("osod3-animal").lists
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
    (here / "osod3-animal.toml").write_text(TINY)
    return here


def test_from_official_files_to_means_over_splits(openset, official):
    """As the page about the paper prints it."""
    # It has hardly learnt anything: no larger gamma would leave its known classes alone.
    choice = ("--force", "--option", "gamma=1,1.5")
    more = {"--calibrate": choice, "evaluate": ("--force",)}
    answers = follow(openset, official, "osod3", more=more)
    built, chosen = answers[1], answers[-6]
    assert built.code == 1 and "OS916" not in built.err  # sizes are those of the pictures
    assert "AP_known of held-out images" in chosen.out
    assert (read_detections(official / "split1" / "published.parquet").label == 24).any()
    assert "over 4 class splits" in answers[-1].out
    numbers = openset(*[*commands("osod3")][-1], "--json").json["methods"]
    assert set(numbers) == {"published", "chosen"}
    assert {"ap_known", "ap_unknown"} <= set(numbers["chosen"]["values"])
