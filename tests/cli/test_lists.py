"""list: detectors, recipes and scorers with their papers, and what they need, keep and fit on."""

from __future__ import annotations

import pytest

from openset import detectors, scorers
from openset.training import Recipe


def squeezed(text):
    return " ".join(text.split())


def test_detectors_say_what_they_keep_and_need(openset):
    done = openset("list", "detectors")
    assert done.code == 0
    text = squeezed(done.out)
    for name, record in detectors.table().items():
        assert name in text
        assert f"keeps: {', '.join(record.keeps)} needs: {', '.join(record.requires)}" in text
        assert f"paper: {record.paper}" in text


def test_scorers_say_what_they_read_and_fit_on(openset):
    text = squeezed(openset("list", "scorers").out)
    for record in scorers.table().values():
        assert f"reads: {', '.join(record.requires)} fits on: {record.fits_on}" in text


def test_recipes_say_what_differs_from_the_paper(openset):
    text = squeezed(openset("list", "recipes").out)
    for name, recipe in Recipe.presets().items():
        assert f"{name} {recipe.detector}, {recipe.steps} steps of {recipe.batch} images" in text
        assert recipe.differs in text and recipe.paper in text


@pytest.mark.parametrize("topic", ["detectors", "recipes", "scorers"])
def test_for_programs(openset, topic):
    entries = openset("list", topic, "--json").json["entries"]
    assert all(entry["summary"] and "paper" in entry for entry in entries.values())


def test_no_line_is_wider_than_the_terminal(openset):
    for topic in ("detectors", "recipes", "scorers"):
        assert max(map(len, openset("list", topic).out.splitlines())) <= 80


def test_recognition_names_metrics_methods_and_the_recipes_of_each_data_set(openset):
    pytest.importorskip("torch", reason="the torch extra is not installed")
    entries = openset("list", "recognition", "--json").json["entries"]
    assert {"openauc", "oscr", "method openauc", "recipes mnist-*"} <= entries.keys()
    assert entries["recipes cub-*"]["methods"] == ["acc_auc", "ce_plus", "openauc"]
    assert len(entries["recipes digits-*"]["methods"]) == 8
