"""The digits table of trained methods: a training is done once, and its rows become a section."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

import methods_digits
import methods_page

import openset
from openset.examples import DETECTIONS, TRUTH
from openset.formats import read_annotations, read_detections


def about(method, seed, **more):
    recipe = methods_digits.recipe_of(method, seed)
    plain = {"method": method, "seed": seed, "recipe": asdict(recipe), "seconds": 60.0 + seed}
    return {**plain, "findings": [], "device": "CPU", "rows": {method: {}}, **more}


@pytest.fixture
def worked(tmp_path):
    """Facts and results of two trainings, whose scores differ a little."""
    truth, found = read_annotations(TRUTH), read_detections(DETECTIONS)
    facts = tmp_path / "facts"
    facts.mkdir()
    for seed in range(2):
        folder = tmp_path / f"siren-{seed}"
        folder.mkdir()
        some = found.select(np.arange(len(found)) % 10 != seed)
        result = openset.evaluate(truth, some, metrics=["a_ose", "ap_known"])
        result.to_json(folder / f"siren{methods_digits.RESULT}", replicates=True)
        made = about("siren", seed, findings=["OS641: one of six"][:seed])
        (facts / f"siren-{seed}.json").write_text(json.dumps(made), "utf-8")
    images = methods_digits.Worlds({}, {"train": truth, "val": truth, "test": truth})
    return facts, tmp_path, images


def test_means_hold_both_chances(worked):
    held = methods_digits.means(*worked)
    value = held["methods"]["siren"]["values"]["a_ose"]
    assert held["methods"]["siren"]["runs"] == 2 and len(value["runs"]) == 2
    assert value["value"] == np.mean(value["runs"]) and value["runs"][0] != value["runs"][1]
    assert value["sd_training"] > 0 and value["sd_images"] > 0
    low, high = value["interval"]
    assert high - low > 2 * 1.9 * value["sd_images"]  # wider than images alone would make it
    assert [one["seed"] for one in held["trainings"]] == [0, 1]


def test_the_section_has_a_row_per_method(worked):
    text = methods_page.on_digits(json.loads(json.dumps(methods_digits.means(*worked))), [])
    assert "## The digits world" in text and "on CPU) and up to 2 trainings" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| SIREN |") and "[" in line]
    assert row.count("|") == 4
    assert "| SIREN | 60, 61 | OS641: one of six |" in text


def test_a_training_is_done_once_and_another_is_another(tmp_path):
    path, recipe = tmp_path / "siren-0.json", methods_digits.recipe_of("siren", 0)
    assert not methods_digits.is_done(path, recipe)
    path.write_text(json.dumps(about("siren", 0)), "utf-8")
    assert methods_digits.is_done(path, recipe)
    assert not methods_digits.is_done(path, methods_digits.recipe_of("siren", 0, steps=10))
    assert not methods_digits.is_done(path, methods_digits.recipe_of("siren", 1))


@pytest.mark.parametrize("method", methods_digits.METHODS)
def test_methods_of_a_detector_have_one_recipe_and_a_name(method):
    plain = "rt_detr" if method in methods_digits.ON_QUERIES else "base"
    first, mine = (asdict(methods_digits.recipe_of(name, 1)) for name in (plain, method))
    different = {key for key, value in first.items() if mine[key] != value}
    free = {"name", "method", "method_options", "paper", "differs", "later", "finetune"}
    assert different <= free
    assert method in methods_page.NAMES and mine["seed"] == 1


def test_what_was_trained_elsewhere_is_not_trained_again(tmp_path):
    recipe = methods_digits.recipe_of("base", 0)
    (tmp_path / "about.json").write_text(json.dumps(about("base", 0, seconds=7.0)), "utf-8")
    assert methods_digits.taught(recipe, tmp_path / "nowhere", tmp_path)["seconds"] == 7.0
    with pytest.raises(openset.InputError):  # of another seed: it would train, and has no world
        methods_digits.taught(methods_digits.recipe_of("base", 1), tmp_path / "nowhere", tmp_path)


def test_a_method_replaces_all_its_rows_and_leaves_those_of_others(worked):
    new = methods_digits.means(*worked)
    old = {"value": 0}
    before = {
        "images": new["images"],
        "methods": {"base, 30 passes + dropout_mean": old, "siren": old, "siren + siren_knn": old},
        "trainings": [{"method": "siren", "seed": 9}, {"method": "base", "seed": 0}],
    }
    both = methods_digits.added(before, new)
    assert list(both["methods"]) == ["base, 30 passes + dropout_mean", "siren"]
    assert both["methods"]["siren"] is new["methods"]["siren"]
    told = [(one["method"], one["seed"]) for one in both["trainings"]]
    assert told == [("base", 0), ("siren", 0), ("siren", 1)]
    assert methods_digits.added(None, new) is new
    with pytest.raises(SystemExit, match="other images"):
        methods_digits.added({**before, "images": {"test": 1}}, new)
