"""Missing labels: background detections worth a look."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from openset.diagnosis.missing_labels import calibrated, missing_labels, rising
from openset.matching import match
from scenes.diagnosis import PAPER, by_hand, golden, random_tables, shuffled, tables


def test_by_hand():
    scene = by_hand()
    found = missing_labels(match(*scene, PAPER))
    assert found.candidates == 2
    assert {(s.image, s.row, s.label) for s in found.suspects} == {
        (3, 10, "dog"),
        (3, 11, "unknown"),
    }
    assert all(s.overlap == 0 and s.support is None for s in found.suspects)
    assert "probability" in str(found)


def test_detections_on_one_spot_are_one_suspect():
    boxes = [(3, "dog", 0, 0, 20, 20, 0.9), (3, "cat", 1, 0, 20, 20, 0.8)]
    boxes += [(3, "dog", 2, 1, 20, 20, 0.7), (3, "dog", 60, 60, 9, 9, 0.6)]
    scene = tables([(1, "dog", 0, 0, 10, 10)], boxes)
    matches = match(*scene, PAPER)
    assert len(missing_labels(matches).suspects) == 4
    found = missing_labels(matches, scene[1])
    assert [(s.row, s.support) for s in found.suspects] == [(0, 2), (3, 0)]
    (first,) = missing_labels(matches, scene[1], least_support=1).suspects
    assert first.row == 0


@pytest.mark.parametrize("size", ["tiny", "small"])
def test_suspects_touch_nothing_and_fall(size):
    truth, detections, vocabulary = golden(size, "mixed")
    matches = match(truth, detections, vocabulary, PAPER)
    found = missing_labels(matches, limit=20, minimum_score=0.2)
    overlap = dict(zip(matches.row.tolist(), matches.best_any[0].tolist(), strict=True))
    chance = [s.probability for s in found.suspects]
    assert len(found.suspects) <= 20
    assert chance == sorted(chance, reverse=True) and 0 <= min(chance) <= max(chance) < 1
    for suspect in found.suspects:
        assert suspect.overlap == overlap[suspect.row] < 0.1
        assert suspect.score == detections.score[suspect.row] >= 0.2


def test_calibration_rises_with_the_score():
    rng = np.random.default_rng(0)
    score = rng.random(5000)
    grid = np.linspace(0, 1, 50)
    curve = calibrated(score, rng.random(5000) < score, grid)
    assert (np.diff(curve) >= 0).all()
    assert np.abs(curve - grid).max() < 0.1
    assert calibrated(np.empty(0), np.empty(0, bool), grid).tolist() == [0.0] * 50


@pytest.mark.parametrize("seed", range(5))
def test_isotonic_regression(seed):
    rng = np.random.default_rng(seed)
    values, weights = rng.random(30), rng.integers(1, 9, 30)
    want = isotonic_regression(values, sample_weight=weights)
    assert rising(values, weights) == pytest.approx(want, abs=1e-12)


def test_order_of_the_input_does_not_matter():
    truth, detections, vocabulary = random_tables(1)
    scores = np.random.default_rng(1).permutation(len(detections)) / len(detections)
    object.__setattr__(detections, "score", scores)
    moved = shuffled(truth, detections)
    want = missing_labels(match(truth, detections, vocabulary, PAPER), detections).rows()
    found = missing_labels(match(*moved, vocabulary, PAPER), moved[1]).rows()
    for rows in (want, found):
        for row in rows:
            del row["row"]
    assert found == want


def test_no_detection():
    truth, detections, vocabulary = by_hand()
    none = detections.select(np.empty(0, int))
    assert missing_labels(match(truth, none, vocabulary, PAPER), none).suspects == ()
