"""What every metric leaves out is said beside its number, and what it rests on is counted."""

from __future__ import annotations

import numpy as np
import pytest

import openset
from openset.matching import Protocol, match
from openset.metrics import table
from openset.tables import Annotations, Detections, Images, Vocabulary
from scenes.metrics import PROTOCOLS, perfect, random_scene

CLOSED, WILD = 25, 4  # the curve of ratios ends at 0.1, with 2 of the wild images
LABELS = ("dog", "cat", "cow", "zebra", "unknown")
LEFT, RIGHT, FAR = (0, 0, 50, 50), (100, 0, 50, 50), (200, 0, 50, 50)
RULES = Protocol.of("default").but(max_detections=2, minimum_score=0.25)


def lossy():
    """Something of every kind is left out.

    Cow has neither an object nor a detection, and no cat is found. A dog and a zebra are crowds,
    each with a detection on it. Image 1 has three dogs where two count, image 2 three unknowns and
    one zebra called dog three times, one image no detection, and one detection a low score.
    """
    image = [*range(CLOSED), *range(CLOSED), *range(CLOSED, CLOSED + WILD), 3, 3]
    label = np.repeat([0, 1, 3, 0, 3], [CLOSED, CLOSED, WILD, 1, 1])
    box = np.array([LEFT, RIGHT, LEFT])[np.repeat([0, 1, 2], [CLOSED, CLOSED, WILD])]
    box = np.vstack([box, [FAR, (300, 0, 50, 50)]])
    crowd = np.arange(len(label)) >= len(label) - 2
    ids = np.arange(1, CLOSED + WILD + 1)
    truth = Annotations(Images(ids), LABELS, image, label, box, crowd=crowd)
    rows = [(at, 0, LEFT, 0.9) for at in range(1, CLOSED)]  # not on the last
    rows += [(1, 0, FAR, 0.5), (1, 0, FAR, 0.4), (5, 1, FAR, 0.2)]
    rows += [(4, 0, FAR, 0.8), (4, 4, (300, 0, 50, 50), 0.8)]  # on crowds
    wild = CLOSED + 1
    rows += [(wild, 0, LEFT, 0.95), (wild, 0, LEFT, 0.6), (wild, 0, LEFT, 0.55)]
    rows += [(wild + 1, 4, LEFT, 0.7), (wild + 1, 4, FAR, 0.6), (wild + 1, 4, FAR, 0.5)]
    where, label, box, score = zip(*rows, strict=True)
    found = Detections(
        where, label, box, score, LABELS, unknownness=np.linspace(0, 1, len(rows)).tolist()
    )
    return truth, found, Vocabulary(tasks=(("dog",), ("cat", "cow")))


TWO_OF_3 = "rests on 2 of 3 known classes: the others have no {}"
KNOWN_IGNORED = "1 known object takes no part: ignored"
UNKNOWN_IGNORED = "1 unknown object takes no part: ignored"
KNOWN_LIMIT = "2 detections take no part: beyond the best 2 of image and class"
UNKNOWN_LIMIT = "1 detection takes no part: beyond the best 2 of image and class"
KNOWN_NEITHER = "3 detections take no part: neither right nor wrong"
UNKNOWN_NEITHER = "2 detections take no part: neither right nor wrong"
ONLY_DOG = "rests on 1 of 3 known classes: the others do not reach recall 0.8"
AT_RECALL = (ONLY_DOG, KNOWN_IGNORED, KNOWN_NEITHER)
OVER_RATIO = "2 wild images take no part: beyond the ratio"
SEPARATION = (
    "1 detection takes no part: below score 0.25",
    "3 images take no part: without a detection",
)
EXPECTED = {
    "ap_known": (TWO_OF_3.format("object"), KNOWN_IGNORED, KNOWN_LIMIT),
    "ap_unknown": (UNKNOWN_IGNORED, UNKNOWN_LIMIT),
    "ap_previous": (KNOWN_IGNORED, KNOWN_LIMIT),
    "ap_current": (
        "rests on 1 of 2 classes of the current task: the others have no object",
        KNOWN_IGNORED,
        KNOWN_LIMIT,
    ),
    "ar_known": (TWO_OF_3.format("object"), KNOWN_IGNORED, KNOWN_LIMIT),
    "ar_unknown": (UNKNOWN_IGNORED, UNKNOWN_LIMIT),
    "precision_known": (TWO_OF_3.format("detection"), KNOWN_NEITHER),
    "recall_known": (TWO_OF_3.format("object"), KNOWN_IGNORED, KNOWN_LIMIT),
    "detections_per_image": (),
    "false_unknowns_per_image": (UNKNOWN_NEITHER,),
    "images_without_predictions": (),
    "best_threshold": (
        "rests on 1 of 3 known classes: the others have no object or no true positive",
    ),
    "a_ose": (UNKNOWN_IGNORED, KNOWN_LIMIT),
    "a_ose_objects": (UNKNOWN_IGNORED, KNOWN_LIMIT),
    "nose": (UNKNOWN_IGNORED, KNOWN_LIMIT),
    "a_ose_profile": (KNOWN_LIMIT,),
    "a_ose_at_recall": (TWO_OF_3.format("detection"), KNOWN_LIMIT),
    "auroc": SEPARATION,
    "aupr": SEPARATION,
    "fpr_at_95_tpr": SEPARATION,
    "unknown_recall": (UNKNOWN_IGNORED, UNKNOWN_LIMIT),
    "unknown_recall_at_k": (UNKNOWN_IGNORED, UNKNOWN_LIMIT),
    "unknown_f1": (UNKNOWN_IGNORED, UNKNOWN_NEITHER),
    "unknown_recall_any_label": (UNKNOWN_IGNORED,),
    "unknown_precision": (UNKNOWN_NEITHER,),
    "udr": (UNKNOWN_IGNORED, UNKNOWN_LIMIT, KNOWN_LIMIT),
    "udp": (UNKNOWN_IGNORED,),
    "unknown_precision_at_recall": (UNKNOWN_NEITHER,),
    "wilderness_impact": AT_RECALL,
    "average_wilderness_impact": (*AT_RECALL, OVER_RATIO),
    "wilderness_curve": (*AT_RECALL, OVER_RATIO),
    "ap_known_curve": (TWO_OF_3.format("object"), KNOWN_IGNORED, KNOWN_LIMIT, OVER_RATIO),
    "score_at_recall": (ONLY_DOG,),
    "wilderness_ratio": (),
    "wilderness_profile": (TWO_OF_3.format("detection"), KNOWN_NEITHER),
}


@pytest.fixture(scope="module")
def matches():
    return match(*lossy(), RULES)


@pytest.mark.parametrize("name", sorted(table()))
def test_what_is_left_out_is_said(name, matches):
    value = table()[name].compute(matches)
    assert value.value is not None
    assert tuple(map(str, value.left_out)) == EXPECTED[name]


def test_limits_and_ratios_that_are_asked_for(matches):
    at_2 = table()["unknown_recall"].compute(matches, limit=2)
    assert "4 detections take no part: beyond the best 2 of the image" in map(str, at_2.left_out)
    at_1 = table()["ar_known"].compute(matches, limit=1)
    assert "beyond the best 1 of image and class" in {left.why for left in at_1.left_out}
    some = table()["wilderness_impact"].compute(matches, ratio=0.12)
    assert str(some.left_out[-1]) == "1 wild image takes no part: beyond the ratio"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_count_is_named(protocol):
    for name, value in random_scene(5).values(protocol).items():
        if value.value is not None:
            assert value.rests_on, name
            assert value.count == next(iter(value.rests_on.values())) > 0, name
            assert all(isinstance(number, int) for number in value.rests_on.values()), name


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_where_nothing_is_left_out_nothing_is_said(protocol):
    for name, value in perfect(random_scene(6, mixed=False)).values(protocol).items():
        assert value.left_out == (), name


@pytest.fixture(scope="module")
def result():
    truth, found, known = lossy()
    return openset.evaluate(truth, found, known=known, protocol=RULES, intervals=False)


def test_classes_have_footnotes_and_the_rest_a_line(result):
    text = result.board().text()
    for said in {text for every in EXPECTED.values() for text in every}:
        assert text.count(f") {said}\n") == said.startswith("rests on")
    assert (
        "left out of some numbers: 1 known object (ignored), up to 2 detections (beyond the best 2 "
        "of image and class), 1 unknown object (ignored)"
    ) in text
    assert result.board().left_out in text
    assert "(below score 0.25)" in result.board().left_out


def test_results_keep_it(result):
    again = openset.Evaluation.from_json(result.to_json())
    assert {n: v.left_out for n, v in again.values.items()} == {
        n: v.left_out for n, v in result.values.items()
    }
