"""The last digits of torch, held against torch itself."""

import numpy as np
import pytest

from openset.matching import match
from openset.metrics import table
from openset.metrics._float32 import torch_levels, torch_mean
from openset.metrics._wilderness import curve_levels
from openset.metrics.average_precision import _POINTS
from openset.tables import Annotations, Detections, Images, Vocabulary
from scenes.metrics import LEFT

torch = pytest.importorskip("torch")


def test_levels():
    assert torch_levels().tolist() == torch.arange(0, 5, 0.1).tolist()


def test_levels_are_not_numpys():
    apart = np.flatnonzero(torch_levels() != np.arange(0, 5, 0.1).astype(np.float32))
    assert (apart / 10).tolist() == [0.9, 1.8, 2.6, 2.8, 3.1, 3.6]


def test_recall_points():
    assert _POINTS["11-point-float32"].tolist() == torch.arange(0, 1.1, 0.1).tolist()


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 19, 20, 21, 63, 64, 65, 80, 127, 130, 400])
def test_means_of_classes(rows):
    values = np.random.default_rng(rows).random((rows, 3), np.float32)
    want = torch.mean(torch.tensor(values), dim=0).tolist()
    assert torch_mean(values, np.ones(values.shape, np.bool_)).tolist() == want


def test_means_leave_absent_classes_out():
    rng = np.random.default_rng(0)
    values, present = rng.random((30, 3), np.float32), rng.random(30) < 0.7
    want = torch.mean(torch.tensor(values[present]), dim=0).tolist()
    assert torch_mean(values, np.repeat(present[:, None], 3, axis=1)).tolist() == want
    assert np.isnan(torch_mean(values, np.zeros(values.shape, np.bool_))).all()


def scene(objects, found, images):
    labels = ("dog", "unknown")
    where, what = zip(*objects, strict=True)
    truth = Annotations(
        Images(list(range(images))),
        labels,
        list(where),
        [labels.index(w) for w in what],
        [LEFT] * len(what),
    )
    boxes = [box for _, box, _ in found]
    seen = Detections([i for i, *_ in found], [0] * len(found), boxes, [s for *_, s in found])
    seen = Detections(seen.image, seen.label, seen.box, seen.score, ("dog",))
    return match(truth, seen, Vocabulary.of(["dog"]), "elephant")


def test_forty_five_closed_images_take_117_wild_ones_at_level_26():
    objects = [(i, "dog" if i < 45 else "unknown") for i in range(45 + 130)]
    ratios, wanted = curve_levels(scene(objects, [(0, LEFT, 0.9)], 175))
    assert ratios[26] == 2.6
    assert wanted[26] == int(torch.arange(0, 5, 0.1)[26].numpy() * np.float32(45)) == 117


def test_ap_at_a_recall_of_nine_tenths():
    objects = [(i, "dog") for i in range(10)]
    matches = scene(objects, [(i, LEFT, 0.9) for i in range(9)], 10)
    value = table()["ap_known"].compute
    assert value(matches).value == pytest.approx(10 / 11, abs=1e-6)
    again = matches.resampled(np.ones((10, 2), np.uint8))
    assert value(again).value == pytest.approx([10 / 11] * 2, abs=1e-6)
