"""Every command and every piece of code on the page about inputs runs, on files of its names."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

import openset as package
from scenes import frameworks
from scenes.builders import Scene
from scenes.origins import ORIGINS, Of, cvat, label_studio, roboflow, save_json

PAGE = (Path(__file__).parents[2] / "docs/inputs.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
# What the code of a section calls the ground truth and the detections of an origin.
CALLED = {
    "Ultralytics": ("ultralytics", None, "results"),
    "torchvision, torchmetrics": ("torchmetrics", "targets", "outputs"),
    "transformers": ("transformers", None, "outputs"),
    "supervision": ("supervision", None, "found"),
    "MMDetection": ("mmdet", "samples", "samples"),
    "Detectron2": ("detectron2", "dicts", "outputs"),
    "pycocotools": ("pycocotools", "coco", "results"),
    "FiftyOne": ("fiftyone", "dataset", "dataset"),
    "Logits and embeddings": ("torchvision", None, "outputs"),
    "In a training loop": ("torchmetrics", "targets", "outputs"),
}


def blocks(text, language):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for name, block in found if name == language]


@pytest.fixture
def of(scene):
    """The files that the page names."""
    read = (json.loads((scene / name).read_text()) for name in ("gt.json", "base.json"))
    made = Of(Scene(*read))
    save_json(made, scene)
    label_studio(made, scene)
    cvat(made, scene)
    roboflow(made, scene)
    (scene / "data.yaml").write_text(f"names: {made.names}\n")
    for name in ("results.bbox.json", "coco_instances_results.json"):
        (scene / name).write_text((scene / "base.json").read_text())
    logits = np.random.default_rng(0).normal(size=(len(made.scene.found), len(made.names)))
    np.savez(scene / "logits.npz", logits=logits, layout="sigmoid", classes=np.array(made.names))
    return made


COMMANDS = {title: "".join(blocks(text, "")) for title, text in SECTIONS.items()}


@pytest.mark.parametrize("section", [title for title, lines in COMMANDS.items() if lines])
def test_commands(section, of, openset):
    for line in COMMANDS[section].splitlines():
        program, *words = shlex.split(line)
        done = openset(*words)
        assert program == "openset" and done.code == 0, done.err


@pytest.mark.parametrize("section", CALLED)
def test_code(section, of, scene, monkeypatch):
    pytest.importorskip("torch")
    ours = "openset.integrations._open_set_metric"
    for name, module in frameworks.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules.pop(ours, None)
    origin, truth, found = CALLED[section]
    gt, dt, _ = ORIGINS[origin](of, scene)
    archive = np.load(scene / "logits.npz")
    names = {"openset": package, "CLASSES": of.names, truth: gt, found: dt}
    code = blocks(SECTIONS[section], "python")
    assert code
    for text in code:
        exec(text, {**names, "logits": archive["logits"]})
    sys.modules.pop(ours, None)


def test_every_section_is_run():
    assert set(CALLED) | {title for title, lines in COMMANDS.items() if lines} == set(SECTIONS)
