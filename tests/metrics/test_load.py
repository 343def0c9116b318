"""Load by hand: nine detections on three images."""

import pytest

from scenes.metrics import hand


def test_detections_per_image():
    assert hand().value("detections_per_image").value == 3
    assert hand().value("false_unknowns_per_image").value == pytest.approx(1 / 3)


def test_images_without_predictions():
    scene = hand()
    assert scene.value("images_without_predictions").value == 0
    silent = scene.value("images_without_predictions", minimum_score=0.9)
    assert silent.value == pytest.approx(1 / 3)
    assert scene.value("images_without_predictions", minimum_score=0.96, wild=True).value == 1


def test_best_threshold():
    # F1 rises with recall while precision stays: dog ends at .7, cat at .8.
    assert hand().value("best_threshold").value == pytest.approx(0.75)
    assert hand().value("best_threshold", classes="published").value == pytest.approx(0.75)
    assert "does not match at many IoUs" in hand().value("best_threshold", "owod").reason
