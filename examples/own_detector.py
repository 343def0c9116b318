"""Evaluate a detector of your own, from Python.

Change: `truth` to your ground truth (a COCO file, or any format of `openset list formats`), `roles`
to the labels that your detector was taught, and `detect` to run it on an image.
"""

import numpy as np

import openset
from openset.examples import TRUTH

truth = openset.read(TRUTH)  # yours: openset.read("annotations.json")
roles = openset.Vocabulary.of(None, truth)  # yours: openset.Vocabulary.of(["dog", "cat"])
LABELS = (*roles.known, "unknown")  # what the detector can say; leave out what it cannot
rng = np.random.default_rng(0)


def detect(image: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boxes (x, y, width, height), labels (places in LABELS) and scores of what is found."""
    here = truth.image == image  # this one peeks at the truth, and is wrong three times in ten
    label = roles.classes(truth.labels)[truth.label[here]]
    wrong = rng.random(len(label)) < 0.3
    label = np.where(wrong, rng.integers(len(LABELS), size=len(label)), label)
    box = truth.box[here] + rng.normal(0, 1, (len(label), 4))
    return box, label, rng.uniform(0, 1, len(label)) - 0.3 * wrong


images, boxes, labels, scores = [], [], [], []
for image, name in enumerate(truth.images.id):
    box, label, score = detect(image)
    images += [name] * len(box)
    boxes += list(box)
    labels += list(label)
    scores += list(score)

detections = openset.Detections(images, labels, boxes, scores, LABELS)
print(openset.evaluate(truth, detections, known=roles))
