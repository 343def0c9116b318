"""Regions before suppression: sure ones on known objects, torn ones on others, and their truth."""

import numpy as np

from openset.scorers import of_split
from openset.tables import Annotations, Detections, Images, LogitLayout
from openset.tables.logits import softmax

NAMES = ("dog", "cat", "cow", "hen")
PER_IMAGE = 4


def regions_and_truth(images=60, seed=0, *, least=0.05, split="farm val"):
    """Four objects an image, one of them a moose; two regions on each, slightly apart."""
    chance = np.random.default_rng(seed)
    count = images * PER_IMAGE
    label = np.where(np.arange(count) % PER_IMAGE, chance.integers(0, 4, count), 4)
    place = np.arange(count) % PER_IMAGE
    box = np.column_stack([100.0 * place, np.zeros(count), np.full((count, 2), 60.0)])
    image = np.arange(count) // PER_IMAGE
    truth = Annotations(
        Images(np.arange(images), width=np.full(images, 400), height=np.full(images, 100)),
        (*NAMES, "moose"),
        image,
        label,
        box,
        role=("known",) * 4 + ("unknown",),
    )
    margin = np.where(label < 4, chance.gamma(4.0, 1.0, count), chance.gamma(1.0, 0.5, count))
    logits = chance.normal(size=(count, 5)) * 0.3
    rows, first = np.arange(count), np.where(label < 4, label, chance.integers(0, 4, count))
    logits[:, -1] -= 1
    logits[rows, first] = logits[:, :4].max(axis=1) + margin
    twice = np.repeat(rows, 2)
    shift = np.zeros((2 * count, 4))
    shift[1::2, 0] = 5
    logits = logits[twice] + chance.normal(size=(2 * count, 5)) * 0.5
    return _pairs(image[twice], box[twice] + shift, logits, least, split), truth


def _pairs(image, box, logits, least, split):
    logits = logits.astype(np.float32)
    score = softmax(logits.astype(float))[:, :-1]
    region, label = np.nonzero(score > least)
    filters = {"score": least, "nms": 0.5, "most": 100}
    found = Detections(
        image[region],
        label,
        box[region],
        score[region, label],
        NAMES,
        logits=logits[region],
        layout=LogitLayout.SOFTMAX_BACKGROUND_LAST,
        attributes={"region": region},
        provenance={"model": {"detector": "faster_rcnn"}, "regions": filters},
    )
    return of_split(found, split)
