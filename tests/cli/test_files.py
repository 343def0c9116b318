"""What a command may write to, what it must leave alone, and which files it refuses."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

EVALUATE = ("evaluate", "gt.json", "base.json", "--known", "dog,cat", "--no-intervals")


def test_a_run_through_a_link(scene, openset):
    (scene / "real").mkdir()
    (scene / "link").symlink_to("real")
    for _ in range(2):
        assert openset(*EVALUATE, "-o", "link").code == 0
        assert (scene / "link").is_symlink() and (scene / "real" / "run.json").is_file()


def test_the_working_folder_is_no_place_for_a_run(scene, openset, monkeypatch):
    (scene / "empty").mkdir()
    monkeypatch.chdir(scene / "empty")
    done = openset("evaluate", "../gt.json", "../base.json", "--known", "dog,cat", "-o", ".")
    assert done.code == 2 and "is the working folder" in done.err and "checked" not in done.err
    assert not any((scene / "empty").iterdir())


@pytest.mark.parametrize("arguments", [EVALUATE, ("convert", "base.json")])
def test_what_cannot_be_written_is_said_to_be(arguments, scene, openset):
    place = "base.json/run/x.csv"
    done = openset(*arguments, "-o", place)
    assert done.code == 2 and f"cannot write {place}" in done.err
    assert "download" not in done.err


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_an_answer_that_cannot_be_written(arguments, here):
    (here / "closed").touch()
    with (here / "closed").open("rb") as unwritable:
        done = subprocess.run(
            [sys.executable, "-m", "openset", "list", "metrics", *arguments],
            stdout=unwritable,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write the answer") and done.stderr.count("\n") == 1


def test_open_images_to_pixels(scene, openset):
    to = ("--to", "openimages", "--truth", "gt.json")
    assert openset("convert", "base.json", "-o", "dt.csv", *to).code == 0
    done = openset("convert", "dt.csv", "-o", "again.json", "--truth", "gt.json")
    assert done.code == 0
    boxes = [record["bbox"] for record in json.loads((scene / "base.json").read_text())]
    again = [record["bbox"] for record in json.loads((scene / "again.json").read_text())]
    np.testing.assert_allclose(again, boxes)
    done = openset("convert", "dt.csv", "-o", "fractions.csv")
    assert done.code == 2 and "OS110" in done.err
    done = openset("convert", "gt.json", "-o", "gt.csv", "--to", "openimages")
    assert done.code == 0 and "empty images" in " ".join(done.err.split())
    assert openset("convert", "gt.csv", "-o", "fractions.json").code == 2
    assert not list(scene.glob("fractions*"))


def test_a_fifo_stays_one(scene, openset):
    os.mkfifo(scene / "pipe.csv")
    done = openset("convert", "base.json", "-o", "pipe.csv")
    assert done.code == 2 and "is not a regular file" in done.err
    assert stat.S_ISFIFO((scene / "pipe.csv").stat().st_mode)


def test_training_leaves_other_folders_alone(scene, openset):
    pytest.importorskip("torchvision")
    (scene / "mine").mkdir()
    (scene / "mine" / "notes.txt").write_text("keep")
    done = openset("train", "digits-small", "gt.json", "-o", "mine")
    assert done.code == 2 and "holds something else than a training" in done.err
    assert [path.name for path in (scene / "mine").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("verb", ["report", "diagnose", "draw"])
def test_a_run_that_was_changed_is_refused(verb, scene, openset):
    asked = ("--known", "known.txt", "--no-intervals", "-o", "run", "-q")
    assert openset("evaluate", "gt.json", "base.json", *asked).code == 0
    path = scene / "run" / "base.result.json"
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 1'))
    more = ("--images", ".", "-o", "pictures") if verb == "draw" else ()
    done = openset(verb, "run", *more)
    assert done.code == 2 and "error OS427" in done.err and "base.result.json" in done.err
    done = openset("compare", "run/base.result.json", "run/base.result.json", "--force")
    assert done.code == 2
    (scene / "again.json").write_text((scene / "base.json").read_text())
    assert openset("evaluate", "gt.json", "again.json", *asked[:-2], "other", "-q").code == 0
    done = openset("compare", "run", "other", "--force")
    assert "a file of the run in run is not the one that was written" in " ".join(done.err.split())
