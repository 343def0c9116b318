"""Tasks: the files of all tasks of a digits world, and the exemplars between them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from openset.findings import InputError
from openset.formats import read_annotations
from openset.worlds.digits import DigitsWorld


@pytest.fixture(scope="module")
def world():
    return DigitsWorld(images=60, size=64, tasks=3, exemplars=5)


@pytest.fixture(scope="module")
def folder(world, tmp_path_factory):
    return world.write(tmp_path_factory.mktemp("tasks") / "world")


def test_every_task_has_its_files_and_no_file_is_of_none(folder):
    names = {path.stem for path in folder.glob("*.json")}
    splits = {f"{kind}-t{task}" for kind in ("train", "val", "test") for task in (1, 2, 3)}
    assert names == splits | {"finetune-t2", "finetune-t3", "world"}


def test_files_are_those_of_the_world_at_each_task(world, folder, tmp_path):
    alone = DigitsWorld(**{**vars(world), "task": 2}).write(tmp_path / "second")
    for kind in ("train", "val", "test"):
        both = (alone / f"{kind}.json", folder / f"{kind}-t2.json")
        assert both[0].read_bytes() == both[1].read_bytes()


def test_training_images_are_of_one_task_and_test_images_of_all(folder):
    def images(name):
        return set(read_annotations(folder / f"{name}.json").images.file_name.tolist())

    assert not images("train-t1") & images("train-t2") and not images("train-t2") & images("val-t2")
    assert images("test-t1") == images("test-t3")
    assert images("finetune-t2") < images("train-t1") | images("train-t2")
    assert images("finetune-t2") & images("train-t1") and images("finetune-t2") & images("train-t2")


def test_exemplars_show_every_class_so_far(folder):
    for task, classes in ((2, 4), (3, 6)):
        truth = read_annotations(folder / f"finetune-t{task}.json")
        assert len(truth.labels) == classes and set(truth.role) == {"known"}
        assert np.bincount(truth.label, minlength=classes).min() >= 5
        about = json.loads((folder / f"finetune-t{task}.json").read_text())["info"]
        assert about["world"]["task"] == task and len(about["openset"]["known_cur"]) == 2


def test_a_stopped_write_goes_on(world, folder):
    before = (folder / "finetune-t3.json").read_bytes()
    (folder / "finetune-t3.json").unlink()
    world.write(folder)
    assert (folder / "finetune-t3.json").read_bytes() == before


def test_no_exemplars_cannot_be():
    with pytest.raises(InputError, match="exemplars"):
        DigitsWorld(tasks=2, exemplars=0)
