"""Unknown detection by hand: one of three unknown objects is called unknown, one more is found."""

import numpy as np
import pytest
from metric_scenes import hand


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
