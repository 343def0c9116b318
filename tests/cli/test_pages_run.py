"""Command lines of the documentation, run in the order in which a page has them.

A stage holds files of the names that pages use: a small ground truth, two detectors, pictures, a
tiny world and a model. What takes hours is shortened by `SHORTER`; what takes the official files of
a data set, a film or other weights is named in `ELSEWHERE`, with what tries it. `docs/inputs.md`
has a test of its own, and pages about papers are verified number by number (`tests/papers`).
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scenes.cli import write_pictures, write_scene

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.M | re.S)
PAGES = ("README", "benchmarks", "cli", "diagnosis", "evaluation", "report", "worlds")
WITH_TORCH = ("detectors", "scale", "training")
OFFICIAL = "official files: tests/benchmarks and tests/cli/test_benchmarks.py have small ones"
ELSEWHERE = {
    r"^demo( --photo)?$": "tests/cli/test_demo.py",
    r"owod|wilderness|fmiyc-coco|bench/|wild/|--train 1=": OFFICIAL,
    r"yolox\.onnx|photo\.parquet|street|sheet\.png": "exports and films: tests/cli/test_photos.py",
    r"r50\.pt|--shard|merge|theirs|openset-demo": "tests/cli/test_run.py, test_parts.py, test_demo",
}
SHORTER = {
    "build digits": ("--option", "images=12"),
    "train": ("--steps", "2", "--device", "cpu"),
    "run": ("--device", "cpu"),
}


def text_of(page):
    return (DOCS.parent / "README.md" if page == "README" else DOCS / f"{page}.md").read_text(
        "utf-8"
    )


def commands(page):
    """The command lines of its blocks, without the name of the program."""
    for language, block in BLOCK.findall(text_of(page)):
        for line in block.replace("\\\n", " ").splitlines():
            said = line.removeprefix("$ ")
            if language in ("", "bash") and said.startswith("openset "):
                yield " ".join(shlex.split(said, comments=True)[1:])


def elsewhere(line):
    return any(re.search(pattern, line) for pattern in ELSEWHERE)


def to_run(page):
    return [line for line in commands(page) if not elsewhere(line)]


def shortened(line):
    more = next((words for start, words in SHORTER.items() if line.startswith(start)), ())
    return [*shlex.split(line), *more]


def noise(folder):
    """No two pictures alike: an audit would call the same one in two splits a leak."""
    chance = np.random.default_rng(0)
    for path in sorted(folder.iterdir()):
        Image.fromarray(chance.integers(0, 256, (240, 320, 3), np.uint8)).save(path)


@pytest.fixture
def stage(here, monkeypatch):
    """Files of the names that pages use."""
    write_scene(here)
    for name in ("yolo", "rtdetr", "detr", "dt", "detections", "yolo-voc", "yolo-coco"):
        given = "base.json" if name in ("yolo", "yolo-voc") else "shy.json"
        shutil.copy(here / given, here / f"{name}.json")
    noise(write_pictures(here / "photos"))
    for name in ("images", "val2017"):
        shutil.copytree(here / "photos", here / name)
    truth = json.loads((here / "gt.json").read_text())
    for one in truth["annotations"]:  # every second image holds zebras only
        one["category_id"] = 3 if one["image_id"] % 2 else one["category_id"]
    (here / "gt.json").write_text(json.dumps(truth))
    (here / "annotations.json").write_text(json.dumps(truth))
    for name, images in {
        **dict.fromkeys(("part1", "voc"), slice(12)),
        **dict.fromkeys(("part2", "coco"), slice(12, None)),
        **{"a": slice(8), "b": slice(8, 16), "c": slice(16, None)},
    }.items():
        kept = truth["images"][images]
        ids = {image["id"] for image in kept}
        objects = [one for one in truth["annotations"] if one["image_id"] in ids]
        part = {**truth, "images": kept, "annotations": objects}
        (here / f"{name}.json").write_text(json.dumps(part))
    (mine,) = re.findall(r"```toml\n(summary.*?)```", text_of("benchmarks"), flags=re.S)
    (here / "mine.toml").write_text(mine)
    monkeypatch.setattr("webbrowser.open", lambda page: None)
    return here


def run_all(page, openset):
    lines = to_run(page)
    assert lines
    for line in lines:
        done = openset(*shortened(line))
        verdict = {0, 1} if line.startswith("audit") else {0}  # a small world does fail
        assert done.code in verdict, f"{line}\n{done.err}"


@pytest.mark.parametrize("page", PAGES)
def test_commands(page, stage, openset):
    runs = {"cli": ("main-run", "pr-run"), "benchmarks": ("run",)}
    for name in runs.get(page, ()):
        openset("evaluate", "gt.json", "base.json", "--known", "voc20", "-o", name)
    if page == "benchmarks":
        openset("build", "digits", "-o", "world", "--option", "images=12")
    run_all(page, openset)


@pytest.mark.parametrize("page", WITH_TORCH)
def test_commands_of_detectors(page, stage, openset):
    if find_spec("torchvision") is None:
        pytest.skip("the torch extra is not installed")
    import torch

    from openset.detectors import find, save

    assert openset("build", "digits", "-o", "world", "--option", "images=12").code == 0
    torch.manual_seed(0)
    small = {"backbone": "small", "shortest": 64, "longest": 64}
    labels = ("zero", "one", "two", "three", "four", "five")
    (stage / "model").mkdir()
    save(find("faster_rcnn").build(labels, device="cpu", **small), stage / "model" / "model.pt")
    if page == "training":  # which makes both itself
        shutil.rmtree(stage / "world")
        shutil.rmtree(stage / "model")
    run_all(page, openset)


def test_most_commands_are_run():
    every = [line for page in (*PAGES, *WITH_TORCH) for line in commands(page)]
    assert sum(not elsewhere(line) for line in every) > 35
    for pattern in ELSEWHERE:
        assert any(re.search(pattern, line) for line in every), pattern
