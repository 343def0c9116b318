"""train: a recipe on data, stopped and gone on with, and every everyday mistake as a finding."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("torchvision")

import torch

from openset.detectors._rcnn import RegionModel
from openset.nets.weights import read
from openset.training import Recipe, TrainingData, train
from scenes.training import make_data

RECIPE = """
detector = "faster_rcnn"
steps = 6
batch = 2
optimizer = "adamw"
lr = 1e-3
[options]
backbone = "small"
shortest = 64
longest = 64
"""
TRAIN = ("train", "tiny.toml", "data", "-o", "model", "--device", "cpu")


pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture
def data(here):
    (here / "data").mkdir()
    make_data(here / "data")
    (here / "tiny.toml").write_text(RECIPE)
    return here


def weights(path):
    return read(path)["model"]


def same(first, second):
    return all(torch.equal(value, second[name]) for name, value in first.items())


def test_it_trains_and_says_what_is_next(openset, data, snapshot):
    snapshot("train/done", openset(*TRAIN))
    assert (data / "model" / "model.pt").is_file()


def test_training_on_the_test_split_is_said(openset, data):
    (data / "data" / "train.json").rename(data / "data" / "voc_test.json")
    done = openset("train", "tiny.toml", "data/voc_test.json", *TRAIN[3:], "--steps", "1")
    assert done.code == 0
    assert "OS676" in done.err


@pytest.mark.parametrize("out", ["found.parquet", "found.parts"])
def test_testing_on_images_that_were_taught_is_a_leak(out, openset, data):
    """Their file names play no part, and neither does what the file is called."""
    from PIL import Image, ImageOps

    assert openset(*TRAIN, "--steps", "1").code == 0
    (data / "data").rename(data / "val")
    line = ("evaluate", "val/train.json", out, "--known", "red,green", "--no-intervals")
    for leak in (True, False):
        done = openset("run", "model", "val/train.json", "-o", out, "--device", "cpu")
        assert done.code == 0, done.err
        said = " ".join(openset(*line, "--force").out.split())
        assert ("LEAK: the detector was taught images of this test" in said) == leak, said
        assert said.startswith("The numbers of found are too good: ") == leak
        for path in (data / "val").glob("*.png"):
            ImageOps.mirror(Image.open(path)).save(path)
        shutil.rmtree(data / out) if (data / out).is_dir() else (data / out).unlink()


def test_what_an_earlier_training_was_taught_stays(openset, data):
    from openset.detectors import load

    assert openset(*TRAIN, "--steps", "1").code == 0
    first = load(str(data / "model" / "model.pt"), device="cpu").pictures
    for path in (data / "data").glob("*.png"):
        path.write_bytes(path.read_bytes() + b"other")
    more = ("--steps", "1", "--from", "model/model.pt", "-o", "next")
    done = openset("train", "tiny.toml", "data", "--device", "cpu", *more)
    assert done.code == 0, done.err
    both = load(str(data / "next" / "model.pt"), device="cpu").pictures
    assert set(first.tolist()) < set(both.tolist())


@pytest.mark.parametrize("put", ["copied", "in part", "the other"])
def test_training_on_what_is_tested_is_told_by_content(put, openset, data):
    """A test split under the name of a training split, whole or among other images."""
    train = data / "data" / "train.json"
    held = json.loads(train.read_text())
    if put == "in part":
        held["images"] = held["images"][:3]
        kept = {one["id"] for one in held["images"]}
        held["annotations"] = [one for one in held["annotations"] if one["image_id"] in kept]
    if put == "the other":  # numbered alike, and annotated otherwise: another split
        for one in held["annotations"]:
            one["bbox"][0] += 1
    (data / "data" / "test.json").write_text(json.dumps(held))
    done = openset(*TRAIN, "--steps", "1")
    assert done.code == 0
    told = {"copied": "8 of 8 images of", "in part": "3 of 8 images of"}.get(put)
    assert told in done.err if told else "OS676" not in done.err


def test_for_programs(openset, data):
    done = openset(*TRAIN, "--steps", "2", "--batch", "4", "--seed", "7", "--json").json
    assert done["step"] == 2 and done["resumed"] == 0
    assert done["recipe"]["batch"] == 4 and done["recipe"]["seed"] == 7
    assert done["labels"] == ["red", "green"] and done["images"] == 8 and done["objects"] == 16
    assert Path(done["model"]).is_file()


def test_a_method_is_trained_with_the_detector(openset, data):
    method = ("--method", "recognition_loss", "--method-option", "weight=0.5")
    done = openset(*TRAIN, *method, "--steps", "2")
    assert done.out.startswith("trained faster_rcnn with recognition_loss on 8 images")
    about = read(data / "model" / "model.pt")["openset"]
    assert about["method"] == "recognition_loss" and about["method_options"]["weight"] == 0.5
    found = openset("run", "model", "data/train.json", "-o", "found.parquet", "--device", "cpu")
    assert found.code == 0, found.err


def test_known_chooses_what_is_taught(openset, data):
    done = openset(*TRAIN, "--steps", "1", "--known", "green,", "--json").json
    assert done["labels"] == ["green"]
    assert done["left_out"]["of other classes"] > 0


def test_a_single_known_class_needs_no_comma(openset, data):
    done = openset(*TRAIN, "--steps", "1", "--known", "green", "--json").json
    assert done["labels"] == ["green"]
    openset("run", "model", "data/train.json", "-o", "one.parquet", "--device", "cpu")
    scored = ("score", "one.parquet", "--scorers", "energy", "-o", "scored.parquet", "--known")
    assert openset(*scored, "green").code == 0
    misspelt = openset(*scored, "gren")
    assert misspelt.code == 2 and "unknown vocabulary 'gren'" in misspelt.err


def test_the_precision_of_a_recipe_can_be_changed(openset, data):
    done = openset(*TRAIN, "--steps", "1", "--precision", "bfloat16", "--json").json
    assert done["recipe"]["precision"] == "bfloat16"
    wrong = openset(*TRAIN[:3], "-o", "other", "--precision", "double")
    assert wrong.code == 2 and "OS612" in wrong.err and "precision is 'double'" in wrong.err


def test_no_rule_is_suggested_for_regions_of_a_detector_that_says_unknown(openset, data):
    assert openset(*TRAIN, "--method", "opendet", "--steps", "1").code == 0
    line = ("run", "model", "data/train.json", "-o", "found.parquet", "--device", "cpu")
    done = openset(*line, "--regions")
    assert done.code == 0 and "--rule gamma" not in done.out
    assert "next: the same without --regions" in done.out


def test_weights_that_would_not_be_read_are_refused(openset, data):
    file = ("--option", "pretrained=nosuch.pth")
    for more in ((), ("--option", "frozen=2"), ("--option", "norm=frozen")):
        done = openset(*TRAIN, *file, *more)
        assert done.code == 2 and "the backbone 'small' has no option pretrained" in done.err
    assert not (data / "model").exists()


def test_a_training_starts_from_a_model_of_its_own_method(openset, data):
    vos = ("--method", "vos", "--method-option", "queue=3", "--steps", "1")
    assert openset(*TRAIN, *vos).code == 0
    again = (*TRAIN[:3], "-o", "again", "--device", "cpu", "--weights", "model/model.pt")
    assert openset(*again, *vos).code == 0
    for method in ((), ("--method", "opendet")):
        other = (*TRAIN[:3], "-o", "other", "--weights", "model/model.pt", *method)
        done = openset(*other)
        assert done.code == 2 and "OS605  model/model.pt was trained with method 'vos'" in done.err
        assert "--method vos" in done.err
    assert not (data / "other").exists()


def test_a_method_starts_from_a_plain_detector(openset, data):
    assert openset(*TRAIN, "--steps", "1").code == 0
    line = (*TRAIN[:3], "-o", "vos", "--device", "cpu", "--method", "vos", "--steps", "1")
    refused = openset(*line, "--from", "model")
    assert refused.code == 2 and "--weights in place of --from" in refused.err
    assert openset(*line, "--weights", "model/model.pt").code == 0


def interrupt_at(step, monkeypatch, number):
    plain, calls = RegionModel.forward, []

    def counted(*arguments):
        calls.append(1)
        if len(calls) == step:
            os.kill(os.getpid(), number)
        return plain(*arguments)

    monkeypatch.setattr(RegionModel, "forward", counted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_goes_on_to_the_same_weights(number, openset, data, snapshot, monkeypatch):
    assert openset(*TRAIN[:4], "whole", *TRAIN[5:]).code == 0
    handlers = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    with monkeypatch.context() as patched:
        interrupt_at(3, patched, number)
        snapshot("train/stopped", openset(*TRAIN))
    assert handlers == [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    assert read(data / "model" / "checkpoint.pt")["step"] == 3
    assert not (data / "model" / "model.pt").exists()
    snapshot("train/gone-on", openset(*TRAIN))
    assert same(weights(data / "model" / "model.pt"), weights(data / "whole" / "model.pt"))


def test_the_second_interruption_ends_at_once(openset, data, monkeypatch):
    def twice(*_):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(RegionModel, "forward", twice)
    done = openset(*TRAIN)
    assert done.code == 130
    assert done.err == "interrupted\n"


def unreadable(here):
    (here / "data" / "5.png").write_bytes(b"no image")


def missing(here):
    (here / "data" / "5.png").unlink()


def nothing(here):
    pass


def begun(here):
    recipe = Recipe.of(here / "tiny.toml", lr=0.01).shortened(1)
    train(recipe, TrainingData.of(here / "data" / "train.json"), here / "model", device="cpu")


def pickled(here):
    torch.save({"model": Path("x")}, here / "start.pt")


def truncated(here):
    (here / "start.pt").write_bytes(b"PK\x03\x04 cut off")


def one_stage(here):
    (here / "tiny.toml").write_text(RECIPE.replace("faster_rcnn", "fcos"))


def misspelt(here):
    (here / "tiny.toml").write_text(RECIPE.replace("optimizer", "optimiser"))


MISTAKES = {
    "unknown-recipe": (nothing, ("train", "digits-smal", "data", "-o", "model")),
    "data-before-recipe": (nothing, ("train", "data", "digits-small", "-o", "model")),
    "unknown-key": (misspelt, TRAIN),
    "unknown-option": (nothing, (*TRAIN, "--option", "backbon=small")),
    "unknown-method": (nothing, (*TRAIN, "--method", "recognition-loss")),
    "method-option": (nothing, (*TRAIN, "--method-option", "weight")),
    "option-of-no-method": (nothing, (*TRAIN, "--method-option", "weight=1")),
    "method-of-another-detector": (one_stage, (*TRAIN, "--method", "recognition_loss")),
    "no-steps": (nothing, (*TRAIN, "--steps", "0")),
    "no-checkpoints": (nothing, (*TRAIN, "--checkpoint-every", "0")),
    "no-train-json": (nothing, ("train", "tiny.toml", ".", "-o", "model")),
    "no-data": (nothing, ("train", "tiny.toml", "dta/train.json", "-o", "model")),
    "unknown-label": (nothing, (*TRAIN, "--known", "red,gren")),
    "missing-image": (missing, TRAIN),
    "unreadable-image": (unreadable, TRAIN),
    "no-gpu": (nothing, (*TRAIN[:-1], "cuda:7")),
    "another-training": (begun, TRAIN),
    "pickled-weights": (pickled, (*TRAIN, "--weights", "start.pt")),
    "truncated-weights": (truncated, (*TRAIN, "--weights", "start.pt")),
    "nothing-learned-before": (nothing, ("train", "vos-voc", "data", "-o", "model")),
}
# What torch says of its devices and of broken bytes is its own business.
_TORCH = re.compile(r"(?<=\n    first )(.|\n)*?(?=\n    (cause|fix) )")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_said(name, openset, data, snapshot):
    spoil, command = MISTAKES[name]
    spoil(data)
    done = openset(*command)
    assert done.code == 2 and done.out == ""
    torchs = name in {"no-gpu", "pickled-weights", "truncated-weights"}
    err = _TORCH.sub("...", done.err) if torchs else done.err
    snapshot(f"train/{name}", type(done)(done.command, done.code, done.out, err))


def test_memory_that_runs_out_advises_a_batch(openset, data, monkeypatch):
    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(RegionModel, "forward", full)
    done = openset(*TRAIN, "--batch", "4")
    assert done.code == 2
    assert "OS607" in done.err and "batch of 2" in done.err


def test_without_torch_it_says_what_to_install(openset, data, monkeypatch):
    from openset import plugins

    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    done = openset(*TRAIN)
    assert done.code == 2
    assert "OS601" in done.err and "openset[torch]" in done.err


def test_several_processes_speak_with_one_voice(data):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    done = subprocess.run(
        [*command, "-m", "openset", *TRAIN, "--steps", "2"],
        capture_output=True,
        text=True,
        check=False,
        cwd=data,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("wrote model/model.pt") == 1


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_ray_trains_as_torchrun_does(openset, data, ray_here):
    there = openset(*TRAIN, "--engine", "ray", "--workers", "2")
    assert there.code == 0, there.err
    assert "6 of 6 steps" in there.out and "from step" not in there.out
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    line = [*torchrun, "-m", "openset", *TRAIN[:3], "-o", "other", *TRAIN[5:]]
    subprocess.run(line, check=True, timeout=200, cwd=data, capture_output=True)
    assert same(weights(data / "model" / "model.pt"), weights(data / "other" / "model.pt"))


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_what_is_wrong_in_a_process_of_ray_is_said_here(openset, data, ray_here):
    odd = openset(*TRAIN, "--engine", "ray", "--workers", "2", "--batch", "3")
    assert odd.code == 2 and "cannot be shared by 2" in odd.err
    (data / "data" / "0.png").write_bytes(b"no picture")
    done = openset(*TRAIN, "--engine", "ray", "--workers", "1")
    assert done.code == 2 and "OS603" in done.err and "0.png" in done.err


@pytest.mark.parametrize("name", ["processes", "threads"])
def test_other_engines_do_not_train(openset, data, name):
    done = openset(*TRAIN, "--engine", name, "--workers", "4")
    assert done.code == 2
    assert "torchrun --nproc-per-node 4 -m openset train" in " ".join(done.err.split())
    assert not (data / "model").exists()


def test_a_training_that_diverged_is_no_success(openset, data):
    """Also without warnings: the answer says it. The next command finds nothing, and says so."""
    recipe = (data / "tiny.toml").read_text().splitlines()
    wild = [line for line in recipe if not line.startswith(("lr", "steps"))]
    (data / "wild.toml").write_text("\n".join(["lr = 2.0", "steps = 20", *wild]) + "\n")
    done = openset("train", "wild.toml", "data", "-o", "model", "--device", "cpu", "-q")
    assert done.code == 0 and "training has diverged" in " ".join(done.out.split())
    assert "diverged" not in openset(*TRAIN[:3], "-o", "tame", *TRAIN[5:]).out


def test_a_run_that_finds_nothing_says_so(openset, data):
    assert openset(*TRAIN, "--steps", "1").code == 0
    line = ("run", "model", "data/train.json", "-o", "none.parquet", "--device", "cpu")
    assert "OS402" in openset(*line, "--minimum-score", "0.9999").err
    empty = openset("evaluate", "data/train.json", "none.parquet", "--known", "red,green")
    assert empty.code == 2 and "has diverged" in " ".join(empty.err.split())
