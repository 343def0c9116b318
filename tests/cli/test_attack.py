"""attack: changed pictures from the command line, and SAFE fitted on them, to a number."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torchvision")

import torch

from openset.detectors import find, save
from openset.formats import read_detections
from scenes.training import LABELS, make_data

SMALL = {"backbone": "small", "shortest": 64, "longest": 64}
ATTACK = ("attack", "model", "data/train.json", "-o", "attacked.parquet", "--device", "cpu")
pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture
def data(here):
    (here / "data").mkdir()
    (here / "model").mkdir()
    make_data(here / "data")
    torch.manual_seed(0)
    model = find("faster_rcnn").build(LABELS, device="cpu", score=0.0, **SMALL)
    save(model, here / "model" / "model.pt")
    return here


def test_from_pictures_to_a_number(openset, data):
    done = openset(*ATTACK, "--most", "6", "--step", "16")
    assert done.code == 0 and "wrote attacked.parquet" in done.out and "--scorers safe" in done.out
    made = read_detections(data / "attacked.parquet")
    assert np.bincount(made.image).max() <= 6
    assert made.provenance["attack"] == {"step": 16 / 255, "most": 6}
    assert made.provenance["split"] == "data train"
    kept = ("--evidence", "logits,shortcut", "--split", "squares test", "--device", "cpu")
    ran = openset("run", "model", "data/train.json", "-o", "test.parquet", *kept)
    assert ran.code == 0, ran.err
    fit = ("--scorers", "safe", "--fit", "attacked.parquet", "--minimum-score", "0.0")
    leaked = openset("score", "test.parquet", *fit, "-o", "safe.parquet")
    assert leaked.code == 2 and "OS505" in leaked.err  # the pictures are those that were attacked
    scored = openset("score", "test.parquet", *fit, "-o", "safe.parquet", "--force")
    assert scored.code == 0, scored.err
    assert "safe fitted on data train" in scored.out
    known = ("--known", "red,green", "--no-intervals")
    judged = openset("evaluate", "data/train.json", "safe.parquet", *known)
    assert judged.code == 0, judged.err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--step", "-1"), "step must be"),
        (("--most", "0"), "most must be"),
    ],
)
def test_what_cannot_be_is_said(openset, data, more, said):
    done = openset(*ATTACK, *more)
    assert done.code == 2 and said in done.err


def test_another_kind_of_file_is_refused(openset, data):
    done = openset(*ATTACK[:4], "attacked.json")
    assert done.code == 2 and "should end in .parquet" in done.err


def test_a_folder_without_a_model_is_named(openset, data):
    (data / "model" / "model.pt").unlink()
    assert "OS101" in openset(*ATTACK).err
