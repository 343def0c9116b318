"""Open-set errors by hand: three detections (.95, .85, .35) on two of three unknown objects."""

from dataclasses import replace

import pytest
from metric_scenes import hand


def test_detections():
    value = hand().value("a_ose")
    assert value.value == 3
    assert value.parts == {"dog": 1, "cat": 2}
    assert value.count == 3


def test_objects():
    scene = hand()
    assert scene.value("a_ose_objects").value == 2
    assert scene.value("nose").value == pytest.approx(2 / 3)
    assert scene.value("nose", "fmiyc").value == 1  # detections over objects


def test_by_score():
    value = hand().value("a_ose_profile")
    assert value.value == 2  # above .5
    filled = {level: count for level, count in value.parts.items() if count}
    assert filled == {"0.30": 1, "0.80": 1, "0.90": 1}
    assert hand().value("a_ose_profile", threshold=0.9).value == 1


def test_by_recall():
    # At recall 1 dog is cut after its third detection, cat after its second.
    assert hand().value("a_ose_at_recall", "owod").value == 2
    # Nearest to .1 is recall 0, at the first detection of each class: both are errors.
    assert hand().value("a_ose_at_recall", "owod", recall=0.1).value == 2


def test_ignored_unknown_objects():
    scene = hand()
    difficult = scene.truth.label == 2
    flagged = scene.but(truth=replace(scene.truth, difficult=difficult))
    assert flagged.value("a_ose", "owod").value == 3  # published code counts them
    assert flagged.value("a_ose", "paper").value == 0
    assert flagged.value("a_ose_objects", "owod").value is None
