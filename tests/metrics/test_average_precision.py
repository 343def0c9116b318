"""Average precision, computed by hand (see `scenes.metrics`).

dog: .95 wrong, .9 right, .7 right, .3 wrong, 2 objects: precision 1/2 and 2/3, envelope 2/3.
cat: .85 wrong, .8 right, .35 wrong, 1 object: 1/2.  unknown: .4 right, .2 wrong, 3 objects.
"""

import numpy as np
import pytest

from openset.findings import UsageError
from openset.matching import Protocol
from openset.metrics.average_precision import ap_known, ar_known
from openset.tables import Annotations, Detections, Images, Vocabulary
from scenes.metrics import Scene, hand

NEAR = {"abs": 1e-6}


@pytest.mark.parametrize("protocol", ["default", "coco", "owod", "opendet-2007", "paper", "vos"])
def test_known(protocol):
    value = hand().value("ap_known", protocol)
    assert value.value == pytest.approx(7 / 12, **NEAR)
    assert value.parts == {"dog": pytest.approx(2 / 3, **NEAR), "cat": pytest.approx(0.5, **NEAR)}
    assert value.count == 2


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [("coco", 34 / 101), ("owod", 1 / 3), ("opendet-2007", 4 / 11), ("paper", 1 / 3)],
)
def test_unknown_depends_on_the_estimator(protocol, expected):
    assert hand().value("ap_unknown", protocol).value == pytest.approx(expected, **NEAR)


def test_one_overlap_and_one_size():
    scene = hand()
    assert scene.value("ap_known", iou=0.75).value == pytest.approx(7 / 12, **NEAR)
    assert scene.value("ap_known", size="large").value == pytest.approx(7 / 12, **NEAR)
    assert "no" in scene.value("ap_known", size="small").reason
    with pytest.raises(UsageError, match=r"IoU 0\.42"):
        scene.value("ap_known", iou=0.42)
    with pytest.raises(UsageError, match="Did you mean"):
        scene.value("ap_known", size="smal")


@pytest.mark.parametrize("size", ["all", "small", "large"])
def test_recall_of_one_size_has_the_same_resamples(size):
    """A resample that draws every image once is the data itself, whatever the size."""
    matches = hand().match("default")
    itself = ar_known(matches, size=size)
    once = ar_known(matches.resampled(np.ones((matches.n_images, 1), np.uint8)), size=size)
    if itself.value is None:
        assert np.isnan(once.value).all()
    else:
        assert once.value.tolist() == [pytest.approx(itself.value)]


def test_tasks():
    scene = hand()
    assert scene.value("ap_current").value == pytest.approx(7 / 12, **NEAR)
    assert "earlier tasks" in scene.value("ap_previous").reason


def test_recall():
    scene = hand()
    assert scene.value("ar_known").value == 1
    assert scene.value("ar_unknown").value == pytest.approx(1 / 3)
    assert scene.value("ar_known", limit=1).parts == {"dog": 1, "cat": 1}
    assert "does not match at many IoUs" in scene.value("ar_known", "owod").reason
    with pytest.raises(UsageError, match="limit"):
        scene.value("ar_known", limit=3)


def test_precision_and_recall_of_all_detections():
    scene = hand()
    assert scene.value("precision_known").parts == {"dog": 1 / 2, "cat": 1 / 3}
    assert scene.value("recall_known").value == 1


def test_class_without_objects():
    scene = hand()
    alone = scene.but(truth=scene.truth.select(scene.truth.label != 1))
    assert alone.value("ap_known", "paper").value == pytest.approx(2 / 3)  # skipped
    assert "'cat' has detections but no object" in alone.value("ap_known", "owod").reason
    assert alone.value("ap_known", "fmiyc").value == pytest.approx(1 / 3)  # counts 0
    rules = Protocol.of("owod").but(drop_nan=True)
    assert alone.value("ap_known", rules).value == pytest.approx(2 / 3)


def many(n_objects, n_found=None, *, together=False):
    """Objects of one class, on one image or on one each; the first are found."""
    boxes = [[20 * at, 0, 10, 10] for at in range(n_objects)]
    image = np.zeros(n_objects, int) if together else np.arange(n_objects)
    truth = Annotations(Images(np.arange(image.max() + 1)), ("dog",), image, image * 0, boxes)
    n = n_objects if n_found is None else n_found
    score = 0.9 - np.arange(n) / 1000
    found = Detections(image[:n], image[:n] * 0, boxes[:n], score, ("dog",))
    return Scene(truth, found, Vocabulary.of(["dog"]))


@pytest.mark.parametrize("protocol", ["coco", "tide"])
@pytest.mark.parametrize("cut", [1, 5, 10, 50, 100, 300, None])
@pytest.mark.parametrize("limit", [1, 10, 100])
def test_recall_at_a_limit_is_that_of_the_lower_limit(protocol, cut, limit):
    rules = Protocol.of(protocol).but(max_detections=cut)
    matches = many(150, together=True).match(rules)
    kept = min(limit, cut or 150)
    assert ar_known(matches, limit=limit).value == pytest.approx(kept / 150)
    once = matches.resampled(np.ones((1, 1), np.uint8))
    assert ar_known(once, limit=limit).value.tolist() == [pytest.approx(kept / 150)]
    assert ap_known(matches).value == pytest.approx(min(cut or 150, 150) / 150, abs=0.01)


@pytest.mark.parametrize("hits", range(11))
def test_float32_points_have_the_same_resamples(hits):
    """In float32 a recall of 9/10 misses the .9 point, and no other tenth misses its own."""
    matches = many(10, hits).match("elephant")
    itself = ap_known(matches).value or 0
    once = ap_known(matches.resampled(np.ones((10, 1), np.uint8))).value
    assert np.nan_to_num(once).tolist() == [pytest.approx(itself, abs=3e-7)]
