"""Unknown detection by hand: one of three unknown objects is called unknown, one more is found."""

from dataclasses import replace

import numpy as np
import pytest

from openset.metrics import table
from scenes.metrics import hand


def test_recall_and_precision():
    scene = hand()
    assert scene.value("unknown_recall").value == pytest.approx(1 / 3)
    assert scene.value("unknown_precision").value == 1 / 2
    assert scene.value("unknown_recall").count == 3


def test_found_under_any_name_and_called_unknown():
    scene = hand()
    udr, udp = scene.value("udr").value, scene.value("udp").value
    assert (udr, udp) == (pytest.approx(2 / 3), 1 / 2)
    assert udr * udp == pytest.approx(scene.value("unknown_recall").value)


def test_precision_at_recall():
    value = hand().value("unknown_precision_at_recall", "owod")
    assert value.value == 1  # the best recall, 1/3, is reached by the first detection
    assert set(value.parts) == {f"{level / 10:.2f}" for level in range(1, 10)}


def test_nothing_labelled_unknown():
    scene = hand()
    silent = scene.but(found=scene.found.select(scene.found.label != 2))
    assert silent.value("unknown_recall").value == 0
    assert "labelled unknown" in silent.value("unknown_precision").reason
    assert silent.value("unknown_precision", "owod").value == 0  # as that family prints it
    assert silent.value("udp").value == 0


def test_no_unknown_object():
    scene = hand()
    closed = scene.but(truth=scene.truth.select(np.flatnonzero(scene.truth.label != 2)))
    for name in ("unknown_recall", "udr", "a_ose", "nose", "ap_unknown"):
        assert closed.value(name, "owod").reason
        assert closed.value(name, "fmiyc").value == 0  # its code prints 0


def test_resamples_without_unknown_follow_the_protocol_as_the_value_does():
    scene = hand()
    weights = np.array([[1, 1], [1, 0], [1, 0]], np.uint8)  # the second has image 1 only
    expected = {
        "unknown_recall": (np.nan, np.nan, 0),
        "udr": (np.nan, np.nan, 0),
        "nose": (np.nan, np.nan, 0),
        "unknown_precision": (np.nan, 0, 0),
        "unknown_precision_at_recall": (np.nan, np.nan, np.nan),
    }
    for name, numbers in expected.items():
        for protocol, number in zip(("default", "owod", "fmiyc"), numbers, strict=True):
            itself = scene.value(name, protocol).value
            drawn = table()[name].compute(scene.match(protocol).resampled(weights)).value
            assert drawn.tolist() == pytest.approx([itself, number], nan_ok=True), (name, protocol)


def test_only_ignored_detections_labelled_unknown():
    scene = hand()
    flagged = replace(scene.truth, difficult=scene.truth.label == 2)
    ignored = scene.but(truth=flagged, found=scene.found.select(np.array([6])))
    value = ignored.value("unknown_precision_at_recall")
    assert value.value is None and "ignored" in value.reason
    assert ignored.value("unknown_precision_at_recall", "owod").value == 0  # as its code prints
