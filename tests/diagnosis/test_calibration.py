"""Calibration: counted by hand, by loops, and refused where scores are no probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.calibration import ALL, CLOSED, OPEN, UNKNOWN, VIEWS, calibration
from openset.findings import InputError
from openset.matching import match
from scenes.diagnosis import FOUND, OBJECTS, PAPER, by_hand, random_tables, tables


def test_by_hand():
    found = calibration(match(*by_hand(), PAPER))
    # Known boxes: .9 right, .8 .7 .65 wrong, .6 right; on image 2 .95 .3 .7 and on 3 .85 wrong.
    assert found[OPEN].boxes.sum() == 9 and found[OPEN].right.sum() == 2
    assert found[OPEN].on_unknown.tolist() == [0, 0, 0, 1, 0, 0, 0, 1, 0, 1]
    assert found[CLOSED].boxes.sum() == 5 and found[CLOSED].on_unknown.sum() == 0
    # Closed set, bin by bin: .6 and .65 with one right, .7 wrong, .8 wrong, .9 right.
    gaps = np.abs([0.625 - 0.5, 0.7, 0.8, 0.9 - 1])
    assert found[CLOSED].ece == pytest.approx(np.average(gaps, weights=[2, 1, 1, 1]))
    assert found[CLOSED].largest == pytest.approx(0.8)
    assert found[UNKNOWN].boxes.sum() == 3 and found[UNKNOWN].right.sum() == 1
    assert found[OPEN].ece > found[CLOSED].ece


def test_the_closed_set_has_no_boxes_on_unknown_objects():
    objects = [*OBJECTS, (1, "zebra", 70, 0, 10, 10)]  # on an image with known objects
    scene = tables(objects, [*FOUND, (1, "dog", 70, 0, 10, 10, 0.4)])
    found, before = calibration(match(*scene)), calibration(match(*by_hand()))
    assert found[CLOSED].boxes.tolist() == before[CLOSED].boxes.tolist()
    assert found[OPEN].boxes.sum() == before[OPEN].boxes.sum() + 1
    assert found[OPEN].on_unknown[4] == 1


@pytest.mark.parametrize("seed", range(4))
def test_errors_are_those_of_a_loop(seed):
    matches = match(*random_tables(seed))
    found, outcome = calibration(matches), matches.outcome()
    for view, said in ((OPEN, False), (UNKNOWN, True)):
        bins: dict[int, list[tuple[float, bool]]] = {}
        for at in range(len(matches)):
            if matches.labelled_unknown[at] == said and not outcome.ignored[at]:
                score = float(matches.score[at])
                box = (score, bool(outcome.correct[at]))
                bins.setdefault(min(int(score * 10), 9), []).append(box)
        total = sum(map(len, bins.values()))
        ece = sum(abs(sum(s - r for s, r in boxes)) for boxes in bins.values()) / total
        assert found[view].ece == pytest.approx(ece)


def test_a_score_of_one_is_in_the_last_bin():
    truth, detections, vocabulary = by_hand()
    sure = replace(detections, score=np.ones(len(detections)))
    assert calibration(match(truth, sure, vocabulary))[OPEN].boxes[-1] == 9


def test_rows_begin_with_the_whole():
    rows = calibration(match(*by_hand(), PAPER)).rows()
    assert [row["view"] for row in rows if row["scores"] == ALL] == list(VIEWS)
    assert [row["scores"] for row in rows[:3]] == [ALL] * 3
    for view in VIEWS:
        bins = [row for row in rows if row["view"] == view and row["scores"] != ALL]
        whole = next(row for row in rows if row["view"] == view)
        assert sum(row["boxes"] for row in bins) == whole["boxes"]


def test_nothing_said_is_no_number():
    truth, detections, vocabulary = by_hand()
    silent = detections.select(np.zeros(len(detections), np.bool_))
    found = calibration(match(truth, silent, vocabulary))
    assert found[OPEN].ece is None and found.notes() == [] and len(found.rows()) == 3


@pytest.mark.parametrize("score", [1.5, -0.1])
def test_scores_that_are_no_probabilities(score):
    truth, detections, vocabulary = by_hand()
    scores = detections.score.copy()
    scores[3] = score
    matches = match(truth, replace(detections, score=scores), vocabulary)
    with pytest.raises(InputError, match=f"OS380.*1 of 12 .*\n.*score {score} on image 1"):
        calibration(matches)
