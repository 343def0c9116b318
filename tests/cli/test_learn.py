"""learn: a benchmark of tasks by one command, and one task at a time by another."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("torchvision")

from openset.nets.weights import read_model
from openset.worlds.digits import DigitsWorld
from scenes.learning import make_world

RECIPE = """
detector = "faster_rcnn"
steps = 4
batch = 2
optimizer = "adamw"
lr = 1e-3
[options]
backbone = "small"
shortest = 64
longest = 64
[later]
steps = 3
[finetune]
steps = 2
"""
LEARN = ("learn", "world", "--recipe", "tiny.toml", "-o", "out", "--device", "cpu")
TRAIN = ("train", "tiny.toml", "world", "--device", "cpu")

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture
def world(here):
    make_world(here / "world")
    (here / "tiny.toml").write_text(RECIPE)
    return here / "world"


def test_all_tasks_by_one_command(openset, here, world):
    done = openset(*LEARN)
    assert done.code == 0, done.err
    assert all(word in done.out for word in ("t2-ft", "AP previous", "forgetting", "learned.svg"))
    assert "next: openset report out" in done.out
    assert "<svg" in (here / "out" / "learned.svg").read_text()
    again = openset(*LEARN, "--json")
    assert again.code == 0, again.err
    held = json.loads((here / "out" / "learned.json").read_text())
    assert again.json["rows"] == held["rows"]
    drawn = openset("timeline", "out", "-o", "time.svg")
    assert drawn.code == 0 and "wrote time.svg" in drawn.out
    assert openset("report", "out/evaluation/t2-ft", "-q").code == 0
    page = openset("report", "out")
    assert page.code == 0 and "report out/report.html" in page.out


def test_of_one_task_nothing_can_be_forgotten(openset, here, world):
    assert openset("build", "digits", "-o", "one", "--option", "images=40").code == 0
    done = openset("learn", "one", *LEARN[2:], "--steps", "2")
    assert done.code == 0, done.err
    assert "one task: nothing can be forgotten" in done.out
    assert "one task" not in openset(*LEARN[:-4], "-o", "several", *LEARN[-2:]).out


def test_one_task_after_the_other(openset, here, world):
    for name, more in {
        "a1": ("--task", "1"),
        "a2": ("--task", "2", "--from", "a1/model.pt"),
        "a2-ft": ("--task", "2", "--finetune", "--from", "a2"),
    }.items():
        done = openset(*TRAIN, *more, "-o", name)
        assert done.code == 0, done.err
        assert f"next: openset run {name} world/test-t{more[1]}.json" in done.out
    assert [read_model(here / n / "model.pt")[0]["labels"] for n in ("a1", "a2")] == [
        ["zero", "one", "two"], ["zero", "one", "two", "three", "four", "five"],
    ]  # fmt: skip
    assert "4 of 4" not in done.out and "2 of 2 steps" in done.out
    wrong = openset(*TRAIN, "--task", "1", "--from", "a2", "-o", "wrong")
    assert wrong.code == 2 and "OS664" in wrong.err and not (here / "wrong").exists()
    wrong = openset(*TRAIN, "--task", "2", "--from", "a2", "-o", "wrong")
    said = " ".join(wrong.err.split())
    assert wrong.code == 2 and "OS664 a2/model.pt was taught 3 classes of t2 already" in said
    assert "start from the model of t1" in said and not (here / "wrong").exists()


def test_a_task_that_was_left_out_is_said(openset, here):
    make_world(here / "world", tasks=3)
    (here / "tiny.toml").write_text(RECIPE)
    assert openset(*TRAIN, "--task", "1", "-o", "a1").code == 0
    for more in (("--task", "3"), ("--task", "2", "--finetune")):
        done = openset(*TRAIN, *more, "--from", "a1", "-o", "wrong")
        assert done.code == 2 and "OS664" in done.err and not (here / "wrong").exists()
        assert "2 classes that come before" in " ".join(done.err.split())
        assert "start from the model of t2" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((*TRAIN, "--task", "2", "-o", "x"), "--from t1/model.pt"),
        ((*TRAIN, "--finetune", "-o", "x"), "--finetune belongs to a task"),
        ((*TRAIN, "--task", "5", "--from", "x", "-o", "x"), "t1, t2, t2-ft"),
        ((*LEARN, "--exemplars", "publishd"), "Did you mean 'published'"),
        ((*LEARN, "--exemplars", "none", "--method", "sirn"), "Did you mean 'siren'"),
        ((*LEARN, "--exemplars", "mine"), "OS666"),
        ((*LEARN, "--exemplar-count", "0"), "0 exemplars"),
        (("learn", "world/images", "-o", "out"), "--recipe says how to train"),
        (("learn", "world/images", "--recipe", "tiny.toml", "-o", "out"), "OS912"),
        (("timeline", "world"), "no such file"),
        (("timeline", "one", "two"), "no such file (2 of 2): one, two"),  # neither is there
    ],
)
def test_mistakes(openset, here, world, command, words):
    test = json.loads((world / "test-t2.json").read_text())["images"][0]
    (here / "mine").mkdir()
    (here / "mine" / "exemplars-t2.txt").write_text(f"{test['id']}\n")
    done = openset(*command)
    assert done.code == 2, done.out
    assert words in " ".join(done.err.split())
    assert not (here / "out").exists() and not (here / "x").exists()


def test_a_folder_that_is_not_there_is_said_to_be_so(openset, here):
    done = openset("learn", "nothing", "-o", "out")
    assert done.code == 2 and "OS101" in done.err and "no such folder: nothing" in done.err


def test_the_world_names_its_next_command(openset, here):
    done = openset("build", "digits", "-o", "w", "--option", "tasks=4", "--option", "images=10")
    assert done.code == 0, done.err
    assert "next: openset learn w -o learned" in done.out
    names = sorted(path.stem for path in (here / "w").glob("*.json"))
    assert {f"{kind}-t{t}" for kind in ("train", "val", "test") for t in (1, 2, 3, 4)} < {*names}
    assert {"finetune-t2", "finetune-t3", "finetune-t4"} < {*names} and "finetune-t1" not in names


def test_a_users_own_file_in_three_tasks_as_the_page_says(openset, here):
    """The definition on the page, on one COCO file whose labels nobody has given roles."""
    page = (Path(__file__).parents[2] / "docs" / "open-world.md").read_text("utf-8")
    (here / "mine.toml").write_text(re.search(r"```toml\n(# mine.*?)```", page, re.S)[1])
    DigitsWorld(images=150, size=64, crowds=0.0, objects=(3, 6)).write(here / "images")
    held = json.loads((here / "images" / "train.json").read_text())
    del held["info"]
    (here / "source").mkdir()
    (here / "source" / "annotations.json").write_text(json.dumps(held))
    (here / "tiny.toml").write_text(RECIPE)
    done = openset("build", "mine.toml", "--source", "source", "-o", "bundle")
    assert done.code == 0, done.err
    command = ("learn", "bundle", "--images", "images", "--recipe", "tiny.toml", "-o", "out")
    done = openset(*command, "--exemplar-count", "5", "--device", "cpu", "--json")
    assert done.code == 0, done.err
    rows = {row["name"]: row for row in done.json["rows"]}
    assert [*rows] == ["t1", "t2", "t2-ft", "t3", "t3-ft"]
    assert rows["t2"]["objects"].keys() == {"two", "three"}
    assert min(rows["t3-ft"]["objects"].values()) >= 5
    assert done.json["about"]["exemplars"]["rule"] == "published"
    assert (here / "out" / "exemplars-t3.txt").read_text()


BOTH = "no such file (2 of 2): ours, theirs"


@pytest.mark.parametrize(
    ("verb", "says", "fix"),
    [
        ("timeline plain ours", "no such file (1 of 2): ours", "openset learn BUNDLE --recipe"),
        ("report plain ours -o page.html", "no such file (1 of 2): ours", "openset learn BUNDLE"),
        (
            "compare a=plain,ours b=plain,theirs",
            "no such file (2 of 4): ours, theirs",
            "openset evaluate GT DT -o RUN",
        ),
        ("compare ours theirs", BOTH, "openset evaluate GT DT -o RUN"),
        ("compare ours theirs --splits", BOTH, "openset learn BUNDLE --recipe"),
    ],
)
def test_rows_that_are_not_there_are_all_named(openset, here, verb, says, fix):
    """A table asked for without its trainings."""
    (here / "plain").mkdir()
    done = openset(*verb.split())
    words = " ".join(done.err.split())
    assert done.code == 2 and "OS101" in words and fix in words, done.err
    assert says in words
