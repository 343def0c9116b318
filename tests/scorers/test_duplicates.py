"""Duplicates: who survives when a known and an unknown detection share a place."""

import pytest

from openset.findings import UsageError
from openset.scorers import suppress_duplicates
from openset.tables import Detections

HERE, NEAR, FAR = [0, 0, 10, 10], [0, 0, 10, 8], [50, 0, 10, 10]  # HERE and NEAR overlap by 0.8


def boxes(rows, labels=("dog", "unknown")):
    image, label, box, score = zip(*rows, strict=True)
    return Detections(image, label, box, score, labels)


def scores(rows, **options):
    return suppress_duplicates(boxes(rows), **options).score.tolist()


def test_the_better_one_survives():
    assert scores([(1, 0, HERE, 0.9), (1, 1, NEAR, 0.8), (1, 1, FAR, 0.1)]) == [0.9, 0.1]
    assert scores([(1, 0, HERE, 0.7), (1, 1, NEAR, 0.8)]) == [0.8]
    tie = suppress_duplicates(boxes([(1, 1, HERE, 0.7), (1, 0, NEAR, 0.7)]))
    assert tie.label.tolist() == [0]  # a tie goes to the known one
    assert tie.provenance["duplicates"]["removed"] == 1


def test_neither_survives():
    rows = [(1, 0, HERE, 0.9), (1, 1, NEAR, 0.8), (1, 1, FAR, 0.6)]
    assert scores(rows, survivor="neither") == [0.6]
    weak = [(1, 0, HERE, 0.9), (1, 1, NEAR, 0.4)]
    assert scores(weak, survivor="neither") == [0.9, 0.4]  # below 0.5 they take no part
    assert scores(weak, survivor="neither", minimum_score=0.0) == []


def test_limits_are_those_of_the_code():
    rows = [(1, 0, HERE, 0.9), (1, 1, NEAR, 0.8)]
    assert scores(rows, overlap=0.8) == [0.9, 0.8]  # above it
    assert scores(rows, overlap=0.8, survivor="neither") == []  # from it on
    assert scores(rows, overlap=1.0) == [0.9, 0.8]


def test_only_within_an_image_and_between_known_and_unknown():
    assert len(scores([(1, 0, HERE, 0.9), (2, 1, HERE, 0.8)])) == 2
    assert len(scores([(1, 1, HERE, 0.9), (1, 1, HERE, 0.8)])) == 2
    assert len(suppress_duplicates(boxes([(1, 0, HERE, 0.9)], labels=("dog",)))) == 1
    with pytest.raises(UsageError, match="'better' or 'neither'"):
        scores([(1, 0, HERE, 0.9)], survivor="both")
