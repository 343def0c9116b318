"""Operating points by F-beta, and counts at score thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from openset.diagnosis.operating_point import OUTCOMES, operating_points, thresholds
from openset.matching import match
from scenes.diagnosis import (
    PAPER,
    by_hand,
    random_tables,
    shuffled,
    tables,
)


def brute(matches, klass, beta):
    """The best (F, threshold) by trying every score."""
    mine = matches.klass == klass
    right, score = matches.outcome().correct[mine], matches.score[mine]
    counted = ~matches.outcome().ignored[mine]
    best = (-1.0, 0.0)
    for level in sorted(set(score.tolist()), reverse=True):
        hits, n = right[score >= level].sum(), counted[score >= level].sum()
        if n == 0:
            continue
        p, r = hits / n, hits / matches.positives[klass]
        f = (1 + beta**2) * p * r / (r + beta**2 * p) if hits else 0.0
        best = (f, level) if f > best[0] else best
    return best


@pytest.mark.parametrize("protocol", ["default", PAPER])
@pytest.mark.parametrize("seed", range(5))
def test_second_implementation(seed, protocol):
    matches = match(*random_tables(seed), protocol)
    for point in operating_points(matches, betas=(0.5, 2.0)).points:
        klass = matches.vocabulary.known.index(point.label)
        assert (point.f, point.threshold) == brute(matches, klass, point.beta)


def test_ties_go_to_the_highest_threshold():
    scene = tables(
        [(1, "dog", 0, 0, 10, 10)],
        [(1, "dog", 0, 0, 10, 10, 0.9), (2, "cat", 0, 0, 10, 10, 0.5)],
    )
    points = operating_points(match(*scene, PAPER), betas=(1.0,)).points
    assert [(p.label, p.threshold, p.f) for p in points] == [("dog", 0.9, 1.0)]  # no cat to find
    assert "threshold" in str(operating_points(match(*scene, PAPER)))


def test_ties_in_counts_are_ties_in_f():
    """3 of 4 right and 4 of 7 right, of 5 objects: both F are 2/3, but not by floating point."""
    right = [(1, "dog", 20 * at, 0, 10, 10) for at in range(5)]
    wrong = [(2, "dog", 20 * at, 0, 10, 10) for at in range(3)]
    scores = (0.9, 0.9, 0.9, 0.5)
    found = [(*box, score) for box, score in zip(right, scores, strict=False)]
    found += [(*box, score) for box, score in zip(wrong, (0.9, 0.5, 0.5), strict=True)]
    (point,) = operating_points(match(*tables(right, found), PAPER), betas=(1.0,)).points
    assert (point.threshold, point.precision, point.recall) == (0.9, 0.75, 0.6)
    assert point.f == pytest.approx(2 / 3)


def test_equal_scores_are_kept_together():
    scene = tables(
        [(1, "dog", 0, 0, 10, 10)],
        [(1, "dog", 0, 0, 10, 10, 0.9), (2, "dog", 0, 0, 10, 10, 0.9)],
    )
    (point,) = operating_points(match(*scene, PAPER), betas=(1.0,)).points
    assert (point.precision, point.recall) == (0.5, 1.0)


def test_only_unknown_detections():
    scene = tables(
        [(1, "dog", 0, 0, 10, 10)], [(1, "unknown", 0, 0, 10, 10, s) for s in (0.2, 0.3)]
    )
    assert operating_points(match(*scene, PAPER)).points == ()


# ---------------------------------------------------------------------- thresholds


def test_counts_by_hand():
    found = thresholds(match(*by_hand(), PAPER))
    assert found.levels.shape == (101,) and found.counts.shape == (101, len(OUTCOMES))
    at_zero = dict(zip(OUTCOMES, found.counts[0].tolist(), strict=True))
    assert at_zero == {
        "known_correct": 2,
        "known_duplicate": 1,
        "known_as_other_known": 2,
        "unknown_as_known": 3,
        "background_as_known": 1,
        "unknown_correct": 1,
        "unknown_duplicate": 0,
        "known_as_unknown": 1,
        "background_as_unknown": 1,
        "ignored": 0,
    }
    row = found.rows()[90]  # a score of exactly the threshold stays
    assert row["threshold"] == pytest.approx(0.9) and row["known_correct"] == 1
    assert row["known_missed"] == 1 and row["unknown_missed"] == 2
    assert found["unknown_as_known"][-1] == 0


@pytest.mark.parametrize("protocol", ["default", "owod", PAPER])
@pytest.mark.parametrize("seed", range(4))
def test_every_detection_counts_once(seed, protocol):
    matches = match(*random_tables(seed), protocol)
    found = thresholds(matches)
    for level, counts in zip(found.levels, found.counts, strict=True):
        assert counts.sum() == np.count_nonzero(matches.score >= level)
    assert (
        found["known_correct"][0] + found["unknown_correct"][0] == matches.outcome().correct.sum()
    )
    assert (np.diff(found.counts, axis=0) <= 0).all()


def test_scores_outside_of_zero_and_one():
    truth, detections, vocabulary = by_hand()
    object.__setattr__(detections, "score", detections.score * 20 - 10)
    found = thresholds(match(truth, detections, vocabulary, PAPER))
    assert found.counts[0].sum() == len(detections)
    assert thresholds(match(truth, detections, vocabulary, PAPER), levels=[5.0]).counts.sum() == 5


def test_order_of_the_input_does_not_matter():
    truth, detections, vocabulary = by_hand()
    moved = match(*shuffled(truth, detections), vocabulary, PAPER)
    want = match(truth, detections, vocabulary, PAPER)
    assert (thresholds(moved).counts == thresholds(want).counts).all()
    assert operating_points(moved).points == operating_points(want).points
