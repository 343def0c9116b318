"""forget: one result per task in, the drop of every earlier class out."""

import json

import pytest

from scenes.cli import write_scene


@pytest.fixture
def scene(here):
    write_scene(here)
    return here


def test_two_tasks(openset, scene):
    (scene / "two.toml").write_text('tasks = [["dog"], ["cat"]]\n')
    for task, known in (("t1", "dog,"), ("t2", "two.toml")):
        done = openset("evaluate", "gt.json", "base.json", "--known", known, "-o", task, "--force")
        assert done.code == 0
    files = ["t1/base.result.json", "t2/base.result.json"]
    said = json.loads(openset("forget", *files, "--json").out)
    assert list(said["classes"]) == ["dog"]
    assert said["classes"]["dog"]["task"] == 1
    assert said["forgetting"] == said["classes"]["dog"]["drop"]
    low, high = said["interval"]
    assert low <= said["forgetting"] <= high
    assert "AP when taught" in openset("forget", *files).out


def test_one_result_is_too_few(openset, scene):
    openset("evaluate", "gt.json", "base.json", "--known", "dog,cat", "-o", "t1", "--no-intervals")
    done = openset("forget", "t1/base.result.json")
    assert done.code == 2
    assert "two tasks or more" in done.err
