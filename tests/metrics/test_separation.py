"""Separation by hand: five detections on closed images (.1 .2 .3 .4 .5), four on the wild one.

Wild: .35 .6 .7 .8. By rising unknownness: c c c w c c w w w.
"""

from dataclasses import replace

import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from openset.matching import Protocol
from scenes.metrics import hand


def test_area_under_roc():
    value = hand().value("auroc")
    assert value.value == pytest.approx((3 + 5 + 5 + 5) / 20)
    assert value.parts == {"closed": 5, "wild": 4}


def test_false_positives_at_full_recall():
    # 95 % of five detections are five of them, up to .5: one of four wild ones is accepted.
    assert hand().value("fpr_at_95_tpr").value == 1 / 4
    assert hand().value("fpr_at_95_tpr", tpr=0.6).value == 0
    # 80 % is not reached by 3 of 5; the nearest to 72 % is 80 %, to 69 % is 60 %.
    assert hand().value("fpr_at_95_tpr", "vos", tpr=0.72).value == 1 / 4
    assert hand().value("fpr_at_95_tpr", "vos", tpr=0.69).value == 1 / 4  # the plateau's end


def test_area_under_precision_recall():
    assert hand().value("aupr").value == pytest.approx((1 + 1 + 1 + 4 / 5 + 5 / 6) / 5)
    steps = (3 + (3 / 4 + 4 / 5) / 2 + (4 / 5 + 5 / 6) / 2) / 5
    assert hand().value("aupr", "fmiyc").value == pytest.approx(steps)


def test_ties_count_half():
    scene = hand()
    tied = scene.but(found=replace(scene.found, unknownness=[0.5] * 9))
    assert tied.value("auroc").value == 1 / 2
    assert tied.value("fpr_at_95_tpr").value == 1


def test_agrees_with_scikit_learn():
    scene = hand()
    closed = scene.found.image < 3
    known = -scene.found.unknownness
    assert scene.value("auroc").value == pytest.approx(roc_auc_score(closed, known))
    assert scene.value("aupr").value == pytest.approx(average_precision_score(closed, known))


def test_minimum_score():
    value = hand().value("auroc", Protocol.of("default").but(minimum_score=0.5))
    assert value.parts == {"closed": 4, "wild": 1}
    assert value.value == pytest.approx(2 / 4)  # .35 against .1 .2 .4 .5


def test_without_unknownness():
    scene = hand()
    bare = scene.but(found=replace(scene.found, unknownness=None))
    assert "unknownness" in bare.value("auroc").reason


@pytest.mark.parametrize("name", ["auroc", "aupr", "fpr_at_95_tpr"])
def test_an_unknownness_that_is_not_a_number_gives_no_number(name):
    scene = hand()
    value = scene.but(found=replace(scene.found, unknownness=[float("nan")] * 9)).value(name)
    assert value.value is None
    assert "not a number" in value.reason
