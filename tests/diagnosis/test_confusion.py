"""Confusion: Figure 4's definition, by the golden numbers and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.confusion import confusion, confusion_matrix
from openset.diagnosis.errors import errors
from openset.matching import match
from openset.tables import Vocabulary
from scenes.diagnosis import (
    PAPER,
    by_hand,
    golden_matches,
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


def test_at_a_recall_and_a_ratio_by_brute_force():
    """Figure 4: each class at its own threshold, one wild image in two."""
    matches = golden_matches("small")
    found = confusion(matches, recall=0.3, ratio=0.5, touch=0.25)
    images = ~matches.wild
    images[np.flatnonzero(matches.wild)[: round(0.5 * images.sum())]] = True
    thresholds = errors(matches, recall=0.3).threshold
    overlap, best = matches.best_any
    counts = np.zeros_like(found.counts)
    row = {name: at for at, name in enumerate(found.labels)}
    unmapped = 0
    for at in range(matches.known_end):
        klass = matches.klass[at]
        if not matches.score[at] >= thresholds[klass] or not images[matches.image[at]]:
            continue
        if overlap[at] >= 0.25:
            counts[row[matches.labels[matches.objects.label[best[at]]]], klass] += 1
        else:
            unmapped += 1
    assert counts.sum() > 50 and (found.counts == counts).all()
    assert found.unmapped == unmapped
    assert found.total.sum() == np.count_nonzero(images[matches.objects.image])
    assert (found.touch, found.recall, found.ratio) == (0.25, 0.3, 0.5)
    assert "by 0.25" in found.notes()[0]


def test_classes_that_never_reach_a_recall_are_named():
    found = confusion(match(*by_hand(), PAPER), recall=1.0)
    assert found.unreached and "never reached" in found.notes()[-1]


def test_the_matrix_holds_every_label_by_super_class():
    truth, detections, vocabulary = by_hand()
    above = ("animal", "animal", "vehicle", "animal", "vehicle")  # dog cat car zebra boat
    truth = replace(truth, labels=truth.labels, supercategory=above)
    found = confusion(match(truth, detections, vocabulary, PAPER))
    rows = confusion_matrix(found, truth, vocabulary).rows()
    assert [row["label"] for row in rows] == ["dog", "cat", "car", "zebra", "boat"]
    mixed = replace(truth, supercategory=("b", "a", "b", "z", "b"))
    rows = confusion_matrix(found, mixed, vocabulary).rows()
    assert [row["label"] for row in rows] == ["dog", "car", "cat", "boat", "zebra"]
    assert list(rows[0])[3:] == ["as dog", "as car", "as cat", "as unknown"]
    assert rows[-1] == {
        "label": "zebra",
        "super-class": "z",
        "objects": 2,
        "as dog": 2,
        "as car": 0,
        "as cat": 0,
        "as unknown": 1,
    }
    assert sum(sum(list(row.values())[3:]) for row in rows) == found.mapped


def test_super_classes_are_found_under_another_spelling():
    """The vocabulary says aeroplane, the file airplane."""
    truth, detections, _ = by_hand()
    vocabulary = Vocabulary.of(["dog", "aeroplane", "car"])
    names = ("dog", "airplane", "car", "zebra", "boat")
    above = ("animal", "vehicle", "vehicle", "animal", "vehicle")
    truth = replace(truth, labels=names, supercategory=above)
    detections = replace(detections, labels=("dog", "airplane", "car", "unknown"))
    found = confusion(match(truth, detections, vocabulary, PAPER))
    rows = confusion_matrix(found, truth, vocabulary).rows()
    assert [(row["label"], row["super-class"]) for row in rows[:3]] == [
        ("dog", "animal"),
        ("aeroplane", "vehicle"),
        ("car", "vehicle"),
    ]
