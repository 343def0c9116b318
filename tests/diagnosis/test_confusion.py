"""Confusion: Figure 4's definition, by the golden numbers and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from openset.diagnosis.confusion import confusion
from openset.matching import match
from scenes.diagnosis import (
    PAPER,
    by_hand,
    random_tables,
    shuffled,
)


def test_by_hand():
    found = confusion(match(*by_hand(), PAPER))
    assert found.labels == ("dog", "cat", "car", "zebra", "boat")
    assert found.classes == ("dog", "cat", "car", "unknown")
    assert found.counts.tolist() == [
        [2, 1, 0, 0],
        [0, 0, 0, 0],
        [1, 0, 1, 1],
        [2, 0, 0, 1],
        [0, 0, 1, 0],
    ]
    assert found.total.tolist() == [1, 0, 1, 2, 1]
    assert (found.mapped, found.unmapped, found.agreeing) == (10, 2, 3)
    said = [str(item) for item in found.misnomers()]
    assert said == [
        "1 in 1 objects of boat are called car",
        "1 in 2 objects of zebra are called dog",
    ]
    assert found.misnomers()[1].detections == 2
    assert "zebra" in str(found)


def test_score_threshold():
    found = confusion(match(*by_hand(), PAPER), minimum_score=0.9)
    assert found.mapped == 3 and found.unmapped == 0


@pytest.mark.parametrize("seed", range(4))
def test_every_detection_is_mapped_or_not(seed):
    scene = random_tables(seed)
    found = confusion(match(*scene, PAPER))
    assert found.mapped + found.unmapped == len(scene[1])
    assert (found.objects <= found.counts).all()
    assert (found.objects <= found.total[:, None]).all()


def test_ignored_objects_have_no_cell():
    truth, detections, vocabulary = random_tables(2)
    found = confusion(match(truth, detections, vocabulary, PAPER.but(ignore=("difficult",))))
    every = confusion(match(truth, detections, vocabulary, PAPER))
    assert found.total.sum() == np.count_nonzero(~truth.difficult)
    assert found.mapped < every.mapped and found.unmapped == every.unmapped


def test_order_of_the_input_does_not_matter():
    truth, detections, vocabulary = by_hand()
    moved = shuffled(truth, detections)
    want = confusion(match(truth, detections, vocabulary, PAPER))
    assert confusion(match(*moved, vocabulary, PAPER)).rows() == want.rows()
