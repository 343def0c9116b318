"""Objectness of boxes on known objects, on unknown ones, and on nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.objectness import objectness
from openset.findings import InputError
from openset.matching import match
from scenes.diagnosis import PAPER, tables

THERE = [(1, "dog", 0, 0, 10, 10), (1, "zebra", 50, 0, 10, 10)]
SAID = [
    (1, "dog", 0, 0, 10, 10, 0.9),
    (1, "cat", 1, 0, 10, 10, 0.5),  # on the dog, whatever it is called
    (1, "dog", 50, 0, 10, 10, 0.8),  # on the zebra
    (1, "unknown", 51, 0, 10, 10, 0.3),  # on the zebra, too
    (2, "car", 0, 0, 10, 10, 0.4),
    (2, "car", 50, 0, 10, 10, 0.2),
]


def held(values):
    truth, detections, vocabulary = tables(THERE, SAID)
    detections = replace(detections, attributes={"objectness": np.array(values)})
    return match(truth, detections, vocabulary, PAPER), detections


def test_by_hand():
    known, unknown, nothing = objectness(*held([0.9, 0.7, 0.8, 0.5, 0.6, 0.1])).rows()
    assert (known["boxes"], known["count"], known["mean"]) == (
        "on known objects",
        2,
        pytest.approx(0.8),
    )
    assert (unknown["count"], unknown["median"]) == (2, pytest.approx(0.65))
    assert (nothing["count"], nothing["lower"]) == (2, pytest.approx(0.225))
    assert known["above_nothing"] == 1.0
    assert unknown["above_nothing"] == 0.75  # 0.8 above both, 0.5 above one
    assert nothing["above_nothing"] is None


def test_the_overlap_decides():
    found = objectness(*held([0.9, 0.7, 0.8, 0.5, 0.6, 0.1]), touch=0.95)
    assert [row["count"] for row in found.rows()] == [1, 1, 4]
    assert "0.95" in found.notes()[0]


def test_numbers_that_are_none_take_no_part():
    found = objectness(*held([np.nan, 0.7, 0.8, 0.5, 0.6, 0.1]))
    assert [row["count"] for row in found.rows()] == [1, 2, 2]


@pytest.mark.parametrize("column", [{}, {"objectness": np.array(["high"] * len(SAID))}])
def test_without_the_column(column):
    truth, detections, vocabulary = tables(THERE, SAID)
    detections = replace(detections, attributes=column)
    with pytest.raises(InputError, match="OS501"):
        objectness(match(truth, detections, vocabulary, PAPER), detections)
