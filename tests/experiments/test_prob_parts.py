"""What PROB costs, part by part: pairs that are kept, and what the page says of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("transformers", reason="the transformers extra is not installed")

import methods_page
import prob_parts

from openset.tables import Detections, LogitLayout


def pairs():
    """Two images, with two queries each that have a known and an unknown column."""
    image, label = np.repeat([5, 2], 4), np.tile([0, 1], 4)
    score = np.array([0.9, 0.8, 0.1, 0.7, 0.2, 0.3, 0.6, 0.5])
    logits = np.log([[0.4, 0.8]] * 2 + [[0.9, 0.7]] * 2 + [[0.5, 0.5]] * 4)
    return Detections(image, label, np.tile([0.0, 0, 4, 4], (8, 1)), score, ("dog", "unknown"),
                      logits=logits, layout=LogitLayout.SIGMOID_UNKNOWN_LAST)  # fmt: skip


def test_the_best_pairs_of_each_image_stay():
    kept = prob_parts.best(pairs(), pairs().score, 2)
    assert sorted(zip(kept.image.tolist(), kept.score.tolist(), strict=True)) == [
        (2, 0.5), (2, 0.6), (5, 0.8), (5, 0.9)]  # fmt: skip
    by_column = prob_parts.best(pairs(), np.arange(8.0), 1)
    assert dict(zip(by_column.image.tolist(), by_column.score.tolist(), strict=True)) == {
        2: 7,
        5: 3,
    }


def test_the_score_of_a_column_is_that_of_its_logit(monkeypatch):
    monkeypatch.setattr(prob_parts, "QUERIES", 1)
    ways = prob_parts.ways(pairs())
    assert [len(ways[way]) for way in ("kept", "many", "column")] == [2, 8, 8]
    first = ways["column"].select(ways["column"].image == 5).score
    assert sorted(first) == pytest.approx(sorted(x / (1 + x) for x in (0.4, 0.8, 0.9, 0.7)))


def test_it_is_trained_judged_and_told(tmp_path, monkeypatch):
    monkeypatch.setattr(prob_parts, "PARTS", {k: prob_parts.PARTS[k] for k in ("plain", "prob")})
    asked = ["--work", tmp_path / "work", "--results", tmp_path, "--images", "40", "--steps", "2"]
    monkeypatch.setattr("sys.argv", ["prob_parts.py", *map(str, asked)])
    prob_parts.main()
    held = json.loads((tmp_path / "prob_parts.json").read_text("utf-8"))
    assert held["steps"] == 2 and held["images"] == 12
    assert held["ap_known"].keys() == {"plain", "prob"}
    assert all(ways.keys() == {"kept", "many", "column"} for ways in held["ap_known"].values())
    numbers = {way: 0.1 for way in ("kept", "many", "column")}
    parts = {part: dict(numbers) for part in ("plain", "prob", "column", "objectness")}
    parts["objectness"]["column"] = 0.345
    said = methods_page.parts_of_prob({"steps": 9, "images": 12, "ap_known": parts})
    assert "by objectness alone to 34.5." in said and methods_page.parts_of_prob(None) == ""
