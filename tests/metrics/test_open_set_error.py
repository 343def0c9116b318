"""Open-set errors by hand: three detections (.95, .85, .35) on two of three unknown objects."""

from dataclasses import replace

import numpy as np
import pytest

from openset.matching import Protocol
from openset.tables import Annotations, Detections, Images, Vocabulary
from scenes.metrics import LEFT, Scene, hand


def test_detections():
    value = hand().value("a_ose")
    assert value.value == 3
    assert value.parts == {"dog": 1, "cat": 2}
    assert value.count == 3


def test_objects():
    scene = hand()
    assert scene.value("a_ose_objects").value == 2
    assert scene.value("nose").value == pytest.approx(2 / 3)
    assert scene.value("nose", "fmiyc").value == 1  # detections over objects


def test_by_score():
    value = hand().value("a_ose_profile")
    assert value.value == 2  # above .5
    filled = {level: count for level, count in value.parts.items() if count}
    assert filled == {"0.30": 1, "0.80": 1, "0.90": 1}
    assert hand().value("a_ose_profile", threshold=0.9).value == 1


def test_by_recall():
    # At recall 1 dog is cut after its third detection, cat after its second.
    assert hand().value("a_ose_at_recall", "owod").value == 2
    # Nearest to .1 is recall 0, at the first detection of each class: both are errors.
    assert hand().value("a_ose_at_recall", "owod", recall=0.1).value == 2


def test_ignored_unknown_objects():
    scene = hand()
    difficult = scene.truth.label == 2
    flagged = scene.but(truth=replace(scene.truth, difficult=difficult))
    assert flagged.value("a_ose", "owod").value == 3  # published code counts them
    assert flagged.value("a_ose", "paper").value is None  # nothing is left that could be hit
    assert flagged.value("a_ose_objects", "owod").value is None


def test_every_positive_score_falls_into_one_bin():
    scene = hand()
    score = np.concatenate([np.arange(1, 21) / 20, np.arange(1, 21) * 0.05, [1e-9, 1.0, 7.5]])
    n = len(score)
    boxes = np.tile(np.array(LEFT, float), (n, 1))
    found = Detections(np.full(n, 3), np.zeros(n, int), boxes, score, scene.found.labels)
    value = scene.but(found=found).value("a_ose_profile")
    assert sum(value.parts.values()) == value.count == n
    alone = scene.but(found=found.select(np.array([7]))).value("a_ose_profile")  # a score of .4
    assert {level for level, count in alone.parts.items() if count} == {"0.35"}
    silent = scene.but(found=replace(found, score=np.zeros(n)))
    assert sum(silent.value("a_ose_profile").parts.values()) == 0


@pytest.mark.parametrize("name", ["a_ose_at_recall", "unknown_precision_at_recall"])
def test_levels_that_print_alike_are_kept_apart(name):
    value = hand().value(name, recall=0.7951)
    assert {"0.80", "0.7951"} <= set(value.parts)
    alone = hand().value(name, Protocol.of("default").but(recalls=()), recall=0.7951)
    assert value.value == alone.value == value.parts["0.7951"]


def test_a_level_between_two_hits_is_not_that_of_its_rounding():
    """22 dogs, 17 found above an error and one below: 17 / 22 is nearest up to .7954."""
    boxes = [[20 * at, 0, 10, 10] for at in range(22)]
    labels = ("dog", "unknown")
    truth = Annotations(
        Images([1, 2]), labels, [0] * 22 + [1], [0] * 22 + [1], [*boxes, [0, 0, 10, 10]]
    )
    score = [*(0.99 - 0.01 * np.arange(17)), 0.7, 0.6]
    image = [1] * 17 + [2, 1]
    found = Detections(image, [0] * 19, [*boxes[:17], boxes[0], boxes[17]], score, labels)
    scene = Scene(truth, found, Vocabulary.of(["dog"]))
    assert scene.value("a_ose_at_recall", recall=0.8).value == 1
    assert scene.value("a_ose_at_recall", recall=0.7951).value == 0


def test_a_score_of_exactly_four_tenths_falls_in_no_published_bin():
    scores = [0.35, 0.4, 0.401, 0.45, 1.0]
    truth = Annotations(Images([1]), ("dog", "unknown"), [0], [1], [LEFT])
    found = Detections([1] * 5, [0] * 5, [LEFT] * 5, scores, ("dog",))
    scene = Scene(truth, found, Vocabulary.of(["dog"]))
    assert 0.35 + 0.05 < 0.4
    bins = {"0.30": 1, "0.35": 0, "0.40": 2, "0.95": 1}
    for protocol, at in (("osod3-voc", 0), ("default", 1)):
        parts = scene.value("a_ose_profile", protocol).parts
        assert {name: parts[name] for name in bins} == bins | {"0.35": at}


@pytest.mark.parametrize("name", ["a_ose", "wilderness_impact", "a_ose_profile", "a_ose_at_recall"])
def test_osod3_says_that_its_errors_are_published_by_another_loop(name):
    assert hand().value(name, "osod3").params["published_by"] == "osod3-voc"
    assert "published_by" not in hand().value(name, "osod3-voc").params
