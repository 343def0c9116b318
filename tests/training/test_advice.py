"""Advice: the best boxes of each image, in its pixels, that go where the image goes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.detectors import METHOD_BOXES  # noqa: E402
from openset.findings import InputError  # noqa: E402
from openset.formats import read_annotations, write  # noqa: E402
from openset.tables import Detections  # noqa: E402
from openset.training.advice import ORACLE, Advisor, advised  # noqa: E402
from openset.training.data import TrainingData, Views  # noqa: E402
from scenes.training import make_data, recipe  # noqa: E402


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


def table(folder, image, box, score=None, **attributes):
    count = len(image)
    score = np.linspace(0.9, 0.1, count) if score is None else score
    found = Detections(np.asarray(image), np.zeros(count, int), np.asarray(box, float), score,
                       ("object",), attributes=attributes)  # fmt: skip
    write(found, folder / "boxes.parquet")
    return str(folder / "boxes.parquet")


def every(box, count=8):
    """The same boxes on each image."""
    return np.repeat(np.arange(count), len(box)), np.tile(box, (count, 1))


def test_the_best_boxes_that_do_not_fill_the_image(truth, tmp_path):
    boxes = [[0, 0, 64, 60], [1, 2, 10, 10], [3, 4, 20, 20], [5, 6, 0, 7], [7, 8, 9, 9]]
    score = np.tile([0.9, 0.2, 0.8, 0.7, 0.6], 8)
    file = table(tmp_path, *every(boxes), score)
    data = advised(TrainingData.of(truth), Advisor(file, most=3))
    assert data.advised[0].tolist() == [[3, 4, 23, 24], [7, 8, 16, 17]]
    assert len(data.advised) == len(data) and data.leaks == ()
    whole = advised(TrainingData.of(truth), Advisor(file, most=9, area=1.01))
    best = [[0, 0, 64, 60], [3, 4, 23, 24], [7, 8, 16, 17], [1, 2, 11, 12]]
    assert whole.advised[3].tolist() == best
    assert data.fingerprint() != whole.fingerprint() != TrainingData.of(truth).fingerprint()
    file = table(tmp_path, *every(boxes), score, objectness=1 - score)
    by = advised(TrainingData.of(truth), Advisor(file, most=1))
    assert by.advised[0].tolist() == [[1, 2, 11, 12]]


def test_a_ground_truth_knows_its_images_and_is_a_leak(truth, tmp_path):
    known = read_annotations(truth)
    data = advised(TrainingData.of(truth), Advisor(str(truth)))
    assert data.leaks == (ORACLE,)
    for one, two in zip(data.advised, TrainingData.of(truth).boxes, strict=True):
        assert sorted(one.tolist()) == sorted(two.tolist())
    empty = replace(known, image=known.image[:0], label=known.label[:0], box=known.box[:0],
                    id=None, area=None, crowd=None, difficult=None, attributes={})  # fmt: skip
    write(empty, tmp_path / "empty.json")
    none = advised(TrainingData.of(truth), Advisor(str(tmp_path / "empty.json")))
    assert not any(map(len, none.advised))  # it has looked, and found nothing


def test_other_images_and_sizes_are_refused(truth, tmp_path):
    data = TrainingData.of(truth)
    some = table(tmp_path, *every([[1, 2, 10, 10]], count=6))
    with pytest.raises(InputError, match=r"OS672.*for 2 of 8[\s\S]*image 6"):
        advised(data, Advisor(some))
    assert [*map(len, advised(data, Advisor(some, without="accept")).advised)] == [1] * 6 + [0, 0]
    other = table(tmp_path, [f"{at}" for at in range(8)], [[1, 2, 10, 10]] * 8)
    with pytest.raises(InputError, match=r"OS672.*for 8 of 8"):
        advised(data, Advisor(other, without="accept"))
    large = table(tmp_path, *every([[1, 2, 10, 10], [40, 2, 60, 10]]))
    with pytest.raises(InputError, match=r"OS673.*8 of 16[\s\S]*image 0, 64 x 64.*40, 2, 100, 12"):
        advised(data, Advisor(large))
    near = table(tmp_path, *every([[40, 2, 25.5, 10]]))  # rounding
    assert advised(data, Advisor(near)).advised[0].tolist() == [[40, 2, 64, 12]]


def test_advice_is_in_pixels_of_the_stated_size(truth, tmp_path):
    known = read_annotations(truth)
    sides = np.full(len(known.images), 128.0)
    images = replace(known.images, width=sides, height=sides)
    twice = replace(known, images=images, box=2 * known.box, area=None)
    file = table(tmp_path, *every([[60, 4, 60, 20]]))
    data = advised(TrainingData.of(twice, truth.parent), Advisor(file))
    assert Views(data, recipe(flip=0.0))[(0, 2)][1][METHOD_BOXES].tolist() == [[30, 2, 60, 12]]
    with pytest.raises(InputError, match=r"OS673[\s\S]*image 0, 64 x 64"):
        advised(TrainingData.of(truth), Advisor(file))


def test_advice_is_flipped_and_cut_with_its_image(truth, tmp_path):
    data = advised(TrainingData.of(truth), Advisor(str(truth)))
    for changes in ({"flip": 1.0}, {"flip": 0.5, "zoom": 2.0}):
        views = Views(data, recipe(**changes))
        for epoch in range(3):
            _, seen = views[(epoch, 2)]
            assert sorted(seen[METHOD_BOXES].tolist()) == sorted(seen["boxes"].tolist())
            assert (seen["labels"] >= 0).all() and len(seen["labels"]) == len(seen["boxes"])
    _, plain = Views(data, recipe(flip=0.0))[(0, 2)]
    _, flipped = Views(data, recipe(flip=1.0))[(0, 2)]
    x1, y1, x2, y2 = plain[METHOD_BOXES].unbind(1)
    assert torch.equal(flipped[METHOD_BOXES], torch.stack([64 - x2, y1, 64 - x1, y2], 1))
    assert METHOD_BOXES not in Views(TrainingData.of(truth), recipe())[(0, 2)][1]
