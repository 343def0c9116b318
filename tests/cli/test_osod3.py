"""OSOD-III by commands alone: from files in official layout to means over class splits."""

from __future__ import annotations

import json
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
    (here / "osod3-fcos.toml").write_text(TINY.replace("faster_rcnn", "fcos"))
    return here


def test_from_official_files_to_means_over_splits(openset, official):
    """As the page about the paper prints it: each detector on four splits of the classes."""
    answers = follow(openset, official, "osod3")
    built, ours = answers[1], answers[2]
    assert built.code == 1 and "OS916" not in built.err  # sizes are those of the pictures
    assert "over 4 class splits" in ours.out and "mean ± sample deviation" in ours.out
    assert (official / "fcos" / "split3" / "evaluation" / "t1").is_dir()
    learn, compared = [*commands("osod3")][2], answers[-2]
    learn[learn.index("osod3-animal")] += ".toml"
    del learn[
        learn.index("pretrained=resnet50.pth") - 1 : learn.index("pretrained=resnet50.pth") + 1
    ]
    again = openset(*learn, "--device", "cpu", "--json").json  # nothing is trained anew
    means = again["means"]["ap_unknown"]
    numbers = openset(*[*commands("osod3")][-2], "--json").json["methods"]["faster-rcnn"]["values"]
    assert numbers["ap_unknown"]["runs"] == means["values"] and len(means["values"]) == 4
    assert means["mean"] == pytest.approx(sum(means["values"]) / 4) and means["mean"] > 0
    assert list(again["variants"]) == ["split1", "split2", "split3", "split4"]
    # Tables 12 to 14: the other loop judges the same trainings.
    learn[learn.index("osod3")] = "osod3-voc"
    logged = (official / "faster-rcnn/split1/t1/log.jsonl").read_bytes()
    other = openset(*learn, "--device", "cpu", "--json").json
    assert (official / "faster-rcnn/split1/t1/log.jsonl").read_bytes() == logged
    assert other["means"]["ap_unknown"]["values"] != means["values"]
    assert "over 4 class splits, each a training of its own" in compared.out


def test_the_rule_on_regions_is_what_decides(openset, official):
    """The same training by the verbs one at a time, with the same gamma, and one that is chosen."""
    openset("build", "osod3-animal:split1", "--source", "official", "-o", "bench", "-q")
    learn = ("learn", "bench", "--recipe", "osod3-animal.toml", "--rule", "gamma", "--force", "-q")
    more = ("--images", "official", "--protocol", "osod3", "--device", "cpu", "-o", "out")
    assert openset(*learn, *more, "--gamma", "1.5").code == 0
    run = ("run", "out/t1", "bench/test.json", "bench/val.json", "--images", "official")
    assert openset(*run, "--regions", "-o", "found", "--device", "cpu", "-q").code == 0
    score = ("score", "found/test.parquet", "--rule", "gamma", "-o", "gamma.parquet", "-q")
    assert openset(*score, "--option", "gamma=1.5").code == 0
    judge = ("evaluate", "bench/test.json", "gamma.parquet", "--protocol", "osod3", "--force", "-q")
    values = openset(*judge, "--json").json["models"]["gamma"]["values"]
    held = json.loads((official / "out/evaluation/t1/model.result.json").read_text())["values"]
    for name in ("ap_known", "ap_unknown", "a_ose"):
        assert held[name]["value"] == values[name]["value"], name
    assert (read_detections(official / "gamma.parquet").label == 24).any()
    refused = openset(*learn[:4], *more, "--gamma", "3")
    assert refused.code == 2 and "--gamma belongs to --rule gamma" in refused.err
