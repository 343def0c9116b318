"""Wilderness Impact by hand: images 1 and 2 have known objects, image 3 is wild.

At recall .8 dog stands at score .7 and cat at .8. Closed images: dog 2 right of 2, cat 1 of 2.
The wild image adds one wrong dog (.95).
"""

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis._points import chosen_images
from openset.findings import UsageError
from openset.metrics import table
from openset.tables import Annotations, Detections, Images, Vocabulary
from scenes.metrics import LEFT, NOWHERE, RIGHT, Scene, hand


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("pooled", 1 / 4),  # 1 / (2 + 2)
        ("mean-ratio", 1 / 4),  # (1/2 + 0/2) / 2
        ("mean-precision", 2 / 7),  # mean(1, 1/2) / mean(2/3, 1/2) - 1
        ("ratio-of-sums", 2 / 5),  # (1 + 1) / (3 + 2)
        ("nearest-recall", 2 / 3),  # (1 + 1) / (2 + 1)
    ],
)
def test_variants(variant, expected):
    value = hand().value("wilderness_impact", variant=variant)
    assert value.value == pytest.approx(expected)
    assert value.params["variant"] == variant
    assert value.params["recall"] == 0.8


@pytest.mark.parametrize("variant", ["pooled", "mean-ratio", "mean-precision"])
def test_what_it_rests_on(variant):
    value = hand().value("wilderness_impact", variant=variant)
    counts = {"fp_open": 1, "tp_closed": 3, "fp_closed": 1, "classes_reached": 2}
    assert value.rests_on == counts | {"closed_detections": 4, "known_classes": 2}
    assert (value.count, value.left_out) == (4, ())


def test_classes_that_do_not_reach_the_recall_are_said():
    matches = hand().match()
    dropped = matches.only(~((matches.klass == 1) & matches.outcome().correct))  # no cat is right
    value = table()["wilderness_impact"].compute(dropped, variant="pooled")
    assert value.value == pytest.approx(1 / 2)  # dog alone
    assert value.rests_on["classes_reached"] == 1
    assert str(value.left_out[0]).startswith("rests on 1 of 2 known classes")
    assert hand().value("wilderness_impact", variant="ratio-of-sums").left_out == ()


def test_the_authors_code():
    # Images 2 and 3 hold unknown objects: wild. Alone, image 1 is perfect; then 2/3 and 1/2.
    value = hand().value("wilderness_impact", "elephant")
    assert value.value == pytest.approx(12 / 7 - 1, abs=1e-6)


def test_denominator_with_and_without_the_errors():
    code = hand().value("wilderness_impact", variant="ratio-of-sums").value
    printed = hand().value("wilderness_impact", variant="nearest-recall").value
    assert printed == pytest.approx(code / (1 - code))


def test_operating_point():
    value = hand().value("score_at_recall")
    assert value.parts == {"dog": 0.7, "cat": 0.8}
    assert value.value == pytest.approx(0.75)


def test_curve():
    curve = hand().value("wilderness_curve")
    assert curve.value == pytest.approx(1 / 4)
    levels = [curve.parts[f"{level / 10:.1f}"] for level in range(10)]
    assert levels == pytest.approx([0] * 5 + [1 / 4] * 5)  # one wild image from ratio 0.5 on
    assert hand().value("average_wilderness_impact").value == pytest.approx(5 / 4 / 9)
    with_zero = hand().value("average_wilderness_impact", include_zero=True)
    assert with_zero.value == pytest.approx(5 / 4 / 10)


def test_ap_curve():
    curve = hand().value("ap_known_curve")
    assert curve.parts["0.0"] == pytest.approx(3 / 4, abs=1e-6)  # without the wild image
    assert curve.value == pytest.approx(7 / 12, abs=1e-6)


def test_profile():
    # At score 0 all count: 1 of 4 dogs and 2 of 3 cats lie on unknown objects.
    value = hand().value("wilderness_profile", threshold=0.0)
    assert value.value == pytest.approx((1 / 4 + 2 / 3) / 2)


def ignored_dog(flag, *found):
    """A dog, and an ignored dog in the place of an unknown object; dogs found: box and score."""
    labels = ("dog", "unknown")
    flags = {flag: [False, True, False]}
    truth = Annotations(Images([1]), labels, [0, 0, 0], [0, 0, 1], [LEFT, RIGHT, RIGHT], **flags)
    box, score = zip(*found, strict=True)
    n = len(found)
    return Scene(truth, Detections([1] * n, [0] * n, box, score, labels), Vocabulary.of(["dog"]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("protocol", "flag"), [("default", "difficult"), ("paper", "crowd"), ("coco", "crowd")]
)
def test_profile_leaves_ignored_detections_out(protocol, flag):
    only = ignored_dog(flag, (RIGHT, 0.9)).value("wilderness_profile", protocol)
    assert only.value is None and "ignored" in only.reason
    assert set(only.parts.values()) == {None}
    beside = ignored_dog(flag, (RIGHT, 0.9), (LEFT, 0.8))
    assert beside.value("wilderness_profile", protocol).value == 0


@pytest.mark.filterwarnings("error")
def test_profile_of_published_code_counts_ignored_errors():
    scene = ignored_dog("difficult", (RIGHT, 0.9), (LEFT, 0.8), (NOWHERE, 0.7))
    levels = scene.value("wilderness_profile", "owod").parts
    assert (levels["0.70"], levels["0.80"], levels["0.90"]) == (1 / 2, 1, None)


def test_profile_at_a_threshold_that_it_does_not_have():
    with pytest.raises(UsageError, match="threshold"):
        hand().value("wilderness_profile", threshold=0.501)


def test_ratio_takes_the_images_that_it_says():
    n = 108  # 45 closed-set images, 63 wild ones: 1.4 each, but int(1.4 * 45) is 62
    labels = ("dog", "unknown")
    boxes = np.tile(np.array(LEFT, float), (n, 1))
    wild = np.arange(n) >= 45
    truth = Annotations(Images(np.arange(n)), labels, np.arange(n), wild.astype(int), boxes)
    found = Detections(np.arange(n), np.zeros(n, int), boxes, np.full(n, 0.9), labels)
    scene = Scene(truth, found, Vocabulary.of(["dog"]))
    assert scene.value("wilderness_impact").value == pytest.approx(1.4)
    assert scene.value("wilderness_impact", ratio=1.4).value == pytest.approx(1.4)
    assert scene.value("wilderness_curve").parts["1.4"] == pytest.approx(1.4)
    assert chosen_images(scene.match(), 1.4).all()
    assert chosen_images(scene.match(), 1.39).sum() == 45 + 62


def test_reason_without_known_detections():
    scene = hand()
    silent = scene.but(found=scene.found.select(scene.found.label == 2))
    for protocol in ("default", "owod", "elephant"):
        assert "known label" in silent.value("wilderness_impact", protocol).reason


def test_ratio():
    scene = hand()
    assert scene.value("wilderness_ratio").value == 1 / 2
    assert scene.value("wilderness_ratio", "elephant").value == 2
    assert "too few wild images" in scene.value("wilderness_impact", ratio=3.0).reason
    assert scene.value("wilderness_impact", ratio=0.5).value == pytest.approx(1 / 4)


def test_no_split():
    scene = hand()
    first_two = replace(scene.truth.select(scene.truth.image < 2), images=Images([1, 2]))
    closed = scene.but(truth=first_two)
    assert "no wild image" in closed.value("wilderness_impact").reason
    assert closed.value("wilderness_impact", variant="ratio-of-sums").value is not None
    empty = scene.but(truth=scene.truth.select(scene.truth.label < 0))
    assert "no closed-set image" in empty.value("wilderness_impact").reason
