"""Right detections: those of their own class on their own object, once."""

import numpy as np
import pytest

from openset.matching import right_detections
from openset.tables import Annotations, Detections, Images


def test_only_what_found_its_object_is_right():
    truth = Annotations(
        images=Images(np.arange(2)),
        labels=("dog", "cat", "zebra"),
        image=np.array([0, 0, 1]),
        label=np.array([0, 1, 2]),
        box=np.array([[0, 0, 10, 10], [50, 0, 10, 10], [0, 0, 10, 10]], float),
    )
    box = truth.box[[0, 0, 1, 1, 2, 2]] + np.array([[30.0], [0], [0], [0], [0], [0]]) * [1, 0, 0, 0]
    label = np.array([0, 0, 0, 1, 0, 2])  # beside, right, wrong class, right, on a zebra, unknown
    image = np.array([0, 0, 0, 0, 1, 1])
    score = np.array([0.9, 0.2, 0.8, 0.7, 0.6, 0.5])
    found = Detections(image, label, box, score, ("dog", "cat", "unknown"))
    right = right_detections(truth, found)
    assert right.score.tolist() == [0.2, 0.7]
    assert right.attributes["overlap"].tolist() == [1.0, 1.0]


def test_how_much_they_overlap_in_the_order_given():
    truth = Annotations(
        images=Images(np.arange(2)),
        labels=("dog",),
        image=np.array([0, 1]),
        label=np.array([0, 0]),
        box=np.array([[0, 0, 10, 10]] * 2, float),
    )
    box = np.array([[0, 0, 10, 8], [0, 0, 10, 6]], float)
    found = Detections(np.array([1, 0]), np.zeros(2, int), box, np.array([0.3, 0.9]), ("dog",))
    assert right_detections(truth, found).attributes["overlap"] == pytest.approx([0.8, 0.6])
