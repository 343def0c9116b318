"""build digits: images and ground truth from a seed, with no files to start from."""

from __future__ import annotations

import pytest

import openset as package
from scenes.files import contents

BUILD = ("build", "digits", "-o", "world", "--option", "images=20")


def test_a_world_is_built_and_says_what_is_next(openset, here, snapshot):
    snapshot("worlds/digits", openset(*BUILD))
    truth = package.read(here / "world" / "test.json")
    assert all((here / "world" / name).is_file() for name in truth.images.file_name)


def test_the_same_seed_gives_the_same_files(openset, here):
    for folder in ("one", "two"):
        assert openset("build", "digits", "-o", folder, *BUILD[4:]).code == 0
    for one in (here / "one").rglob("*.*"):
        assert one.read_bytes() == (here / "two" / one.relative_to(here / "one")).read_bytes()
    assert openset("build", "digits", "-o", "three", *BUILD[4:], "--option", "seed=1").code == 0
    assert (here / "three" / "train.json").read_bytes() != (here / "one/train.json").read_bytes()


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_every_engine_makes_the_same_files(openset, here, engine):
    assert openset(*BUILD).code == 0
    there = ("build", "digits", "-o", "there", *BUILD[4:], "--engine", engine, "--workers", "2")
    assert openset(*there).code == 0
    assert contents(here / "there") == contents(here / "world")


def test_for_programs(openset):
    done = openset(*BUILD, "--option", "known=[3, 5]", "--option", "unknown=[7]", "--json").json
    assert done["world"] == "digits" and done["parameters"]["known"] == [3, 5]
    assert done["splits"]["train"]["images"] == 12
    assert done["splits"]["train"]["unknown"] == 0 < done["splits"]["test"]["unknown"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((*BUILD, "--option", "imges=4"), "Did you mean 'images'"),
        ((*BUILD, "--option", "hidden=3"), "OS701"),
        ((*BUILD, "--option", "hidden"), "name=value"),
        (("build", "digits", "-o", "taken", *BUILD[4:]), "OS702"),
        (("build", "owod", "-o", "world", "--option", "images=4"), "belongs to a world"),
        (("build", "owod", "-o", "world", "--engine", "processes"), "in one pass"),
        ((*BUILD, "--engine", "proceses"), "Did you mean 'processes'"),
        (("build", "digts", "-o", "world"), "Did you mean 'digits'"),
    ],
)
def test_mistakes(openset, here, command, words):
    (here / "taken").mkdir()
    (here / "taken" / "mine.txt").write_text("mine")
    done = openset(*command)
    assert done.code == 2
    assert words in " ".join(done.err.split())
    assert not (here / "world").exists()


def test_a_world_is_audited_as_it_is(openset, here):
    size = ("--option", "images=100")
    assert openset("build", "digits", "-o", "world", *size, "-q").code == 0
    done = openset("audit", "world", "--images", "world", "--json")
    assert done.code == 0, done.out
    found = {k: v["verdict"] for k, v in done.json["audits"][0]["principles"].items()}
    assert found.pop("pretraining_hygiene") == "UNKNOWN" and set(found.values()) == {"PASS"}


def test_the_tasks_of_a_world_are_audited_together(openset, here):
    """Each task is a world of its own, whose files say which; they share images in the test."""
    for task in ("1", "2"):
        size = ("--option", "images=60", "--option", "tasks=2", "--option", f"task={task}")
        assert openset("build", "digits", "-o", f"t{task}", *size, "-q").code == 0
    files = [
        f for t in (1, 2) for k in ("train", "val", "test") for f in (f"--{k}", f"t{t}/{k}.json")
    ]
    done = openset("audit", *files, "--json")
    found = done.json["audits"][0]["principles"]
    assert found["task_increment"]["verdict"] == "PASS", found["task_increment"]
    said = [check["said"] for check in found["task_increment"]["checks"]]
    assert "2 tasks add 3 + 3" in said
    assert found["annotation_specificity"]["verdict"] == "PASS"
