"""The open-world experiment on a few digits: learn, judge again, keep, and compare."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")

import open_world
import open_world_photos

from openset.evaluation.result import Evaluation
from openset.tables import Detections
from openset.training import Recipe
from openset.worlds.digits import DigitsWorld

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Two seeds of a plain detector, one of ORE*, and what judges their trainings again."""
    folder = tmp_path_factory.mktemp("work")
    world = DigitsWorld(images=60, tasks=2, train_unknowns="unlabelled").write(folder / "world")
    recipe = Recipe.of("digits-tasks").scaled(9)
    settings = replace(open_world.Settings(), force=True)
    course = open_world.Course(world, world, recipe, settings=settings)
    for name, seed in (("base", 0), ("base", 1), ("base + cec", 1), ("ore", 0), ("ore + ebui", 0)):
        open_world.learned(name, seed, open_world.CHAINS, course, folder)
    return folder


def test_every_stage_of_every_chain_is_kept(work):
    facts = open_world.means(work)
    assert [*facts["stages"]] == ["t1", "t2", "t2-ft"]
    for rows in facts["stages"].values():
        assert [*rows] == ["base", "base + cec", "ore", "ore + ebui"]
        assert [row["runs"] for row in rows.values()] == [2, 1, 1, 1]
        assert all(set(row["values"]) <= set(open_world.METRICS) for row in rows.values())
    pairs = [(one["first"], one["second"]) for one in facts["differences"]["t2"]]
    assert pairs == [("base", "ore"), ("base", "base + cec"), ("ore", "ore + ebui")]
    assert [*facts["restored"]] == ["t2"]
    assert [(one["chain"], one["steps"]) for one in facts["cost"]][:1] == [("base", 19)]
    assert facts["learned"]["base"]["rows"] and [*facts["refused"][0]] == ["t1", "t2", "t2-ft"]
    json.dumps(facts)


def test_what_judges_again_has_not_trained_again(work):
    for name, other, seed in (("base", "base + cec", 1), ("ore", "ore + ebui", 0)):
        places = (open_world.folder(work, each, seed) for each in (name, other))
        one, two = (place / "t2" / "model.pt" for place in places)
        assert one.samefile(two)


def test_resamples_are_kept_for_differences(work):
    kept = open_world.folder(work / open_world.KEPT, "base", 0) / "t2-ft.json"
    result = Evaluation.from_json(kept)
    assert len(result.replicates["a_ose"]) > 100
    assert np.isfinite(result.replicates["a_ose"]).all()


def test_the_best_boxes_of_every_image():
    image, score = np.array([2, 1, 2, 2, 1]), np.array([0.1, 0.9, 0.8, 0.3, 0.2])
    found = Detections(image, np.zeros(5, int), np.ones((5, 4)), score, ("a",))
    assert open_world.best_boxes(found, 2).score.tolist() == [0.9, 0.8, 0.3, 0.2]
    assert open_world.best_boxes(found, 1).score.tolist() == [0.9, 0.8]


def test_rows_are_compared_by_their_best_boxes(work):
    facts = open_world.by_best_boxes(work, ("base", "ore"), 3)
    assert [*facts["stages"]] == ["t1", "t2", "t2-ft"] and facts["boxes"] == 3
    rows = facts["stages"]["t1"]["rows"]
    assert {name: one["runs"] for name, one in rows.items()} == {"base": 2, "ore": 1}
    assert open_world.by_best_boxes(work) == {}


def test_names_of_pictures_are_those_that_are_there(tmp_path):
    (tmp_path / "000007.webp").touch()
    held = {"images": [{"id": 7, "file_name": "000007.jpg"}], "annotations": []}
    (tmp_path / "truth.json").write_text(json.dumps(held))
    named = open_world_photos.named(tmp_path / "truth.json", tmp_path)
    assert named["images"][0]["file_name"] == "000007.webp"


def test_pad_acts_at_once_in_later_tasks():
    chain = open_world.CHAINS["pad"]
    recipe = open_world._recipe(open_world_photos.RECIPE, chain, 2)
    starts = [recipe.at(*task).method_options["start"] for task in ((1,), (2,), (4,))]
    assert starts == [0.1, 0.0, 0.0] and recipe.seed == 2
    assert recipe.at(3, finetune=True).method_options["start"] == 0.0
    assert recipe.at(3, finetune=True).steps == 100


def test_photographs_that_were_not_learned_are_named_with_their_command(tmp_path, monkeypatch):
    given = ["x", "judge", "--work", str(tmp_path), "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(SystemExit, match=r"has no bundle .*open_world_photos.py prepare DATA"):
        open_world_photos.main()
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "bundle.json").write_text("{}")
    with pytest.raises(SystemExit, match="no training is in") as caught:
        open_world_photos.main()
    for name in open_world_photos.ONLY:
        assert f"--only '{name}'`" in str(caught.value)
