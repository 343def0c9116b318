"""Right detections: those of their own class on their own object, once."""

import numpy as np

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
    assert right_detections(truth, found).score.tolist() == [0.2, 0.7]
