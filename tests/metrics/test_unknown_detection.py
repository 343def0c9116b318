"""Unknown detection by hand: one of three unknown objects is called unknown, one more is found."""

from dataclasses import replace

import numpy as np
import pytest

from openset.findings import UsageError
from openset.matching import match
from openset.metrics import table
from scenes.diagnosis import PAPER, tables
from scenes.metrics import hand, random_scene


def test_recall_and_precision():
    scene = hand()
    assert scene.value("unknown_recall").value == pytest.approx(1 / 3)
    assert scene.value("unknown_precision").value == 1 / 2
    assert scene.value("unknown_recall").count == 3


def test_found_under_any_name_and_called_unknown():
    scene = hand()
    udr, udp = scene.value("udr").value, scene.value("udp").value
    assert (udr, udp) == (pytest.approx(2 / 3), 1 / 2)
    assert udr * udp == pytest.approx(scene.value("unknown_recall").value)


def test_misnamed_as_the_paper_words_it():
    """A right dog that lies on a zebra finds the zebra by overlap, and does not misname it."""
    there = [(1, "dog", 0, 0, 10, 10), (1, "zebra", 0, 0, 10, 9), (2, "boat", 0, 0, 10, 10)]
    said = [(1, "dog", 0, 0, 10, 10, 0.9), (2, "car", 0, 0, 10, 10, 0.8)]
    matches = match(*tables(there, said), PAPER)
    udr, udp = table()["udr"].compute, table()["udp"].compute
    assert udr(matches).value == 1 and udr(matches, misnamed="wrong").value == 1 / 2
    assert udr(matches).parts == {"overlapping": 1, "wrong": 1 / 2}
    assert udp(matches).value == udp(matches, misnamed="wrong").value == 0
    called = [*said, (2, "unknown", 0, 0, 10, 10, 0.3)]
    matches = match(*tables(there, called), PAPER)
    assert udp(matches).parts == {"overlapping": 1 / 2, "wrong": 1}
    with pytest.raises(UsageError, match="unknown value of misnamed"):
        udr(matches, misnamed="right")


def test_precision_at_recall():
    value = hand().value("unknown_precision_at_recall", "owod")
    assert value.value == 1  # the best recall, 1/3, is reached by the first detection
    assert set(value.parts) == {f"{level / 10:.2f}" for level in range(1, 10)}


def test_nothing_labelled_unknown():
    scene = hand()
    silent = scene.but(found=scene.found.select(scene.found.label != 2))
    assert silent.value("unknown_recall").value == 0
    assert "labelled unknown" in silent.value("unknown_precision").reason
    assert silent.value("unknown_precision", "owod").value == 0  # as that family prints it
    assert silent.value("udp").value == 0


def test_no_unknown_object():
    scene = hand()
    closed = scene.but(truth=scene.truth.select(np.flatnonzero(scene.truth.label != 2)))
    for name in ("unknown_recall", "udr", "a_ose", "nose", "ap_unknown"):
        assert closed.value(name, "owod").reason
        assert closed.value(name, "fmiyc").value == 0  # its code prints 0


def test_resamples_without_unknown_follow_the_protocol_as_the_value_does():
    scene = hand()
    weights = np.array([[1, 1], [1, 0], [1, 0]], np.uint8)  # the second has image 1 only
    expected = {
        "unknown_recall": (np.nan, np.nan, 0),
        "udr": (np.nan, np.nan, 0),
        "nose": (np.nan, np.nan, 0),
        "unknown_precision": (np.nan, 0, 0),
        "unknown_precision_at_recall": (np.nan, np.nan, np.nan),
    }
    for name, numbers in expected.items():
        for protocol, number in zip(("default", "owod", "fmiyc"), numbers, strict=True):
            itself = scene.value(name, protocol).value
            drawn = table()[name].compute(scene.match(protocol).resampled(weights)).value
            assert drawn.tolist() == pytest.approx([itself, number], nan_ok=True), (name, protocol)


def test_only_ignored_detections_labelled_unknown():
    scene = hand()
    flagged = replace(scene.truth, difficult=scene.truth.label == 2)
    ignored = scene.but(truth=flagged, found=scene.found.select(np.array([6])))
    value = ignored.value("unknown_precision_at_recall")
    assert value.value is None and "ignored" in value.reason
    assert ignored.value("unknown_precision_at_recall", "owod").value == 0  # as its code prints


# ---------------------------------------------------------------------- the best K of an image


def test_recall_at_k():
    # In image 3 the detection labelled unknown that is right is the second of four by score.
    scene = hand()
    assert scene.value("unknown_recall", limit=1).value == 0
    assert scene.value("unknown_recall", limit=2).value == scene.value("unknown_recall").value
    at_k = scene.value("unknown_recall_at_k")
    assert at_k.value == at_k.parts["100"] == pytest.approx(1 / 3)
    assert list(at_k.parts) == ["10", "30", "50", "100"]
    with pytest.raises(UsageError, match="1 or more"):
        scene.value("unknown_recall", limit=0)


def test_f1_is_the_harmonic_mean():
    for protocol in ("default", "owod", "paper"):
        scene = hand()
        p, r = (scene.value(n, protocol).value for n in ("unknown_precision", "unknown_recall"))
        assert scene.value("unknown_f1", protocol).value == pytest.approx(2 * p * r / (p + r))


def test_recall_by_any_label():
    # Image 2: cat on the unknown object. Image 3: dog, cat and unknown on the left one.
    scene = hand()
    value = scene.value("unknown_recall_any_label")
    assert value.value == pytest.approx(2 / 3)
    assert value.parts == pytest.approx(
        {"R@10": 2 / 3, "R@100": 2 / 3, "AR@10": 2 / 3, "AR@100": 2 / 3}
    )
    assert scene.value("unknown_recall_any_label", limit=1).value == pytest.approx(2 / 3)
    assert scene.value("unknown_recall_any_label", iou="mean").value == pytest.approx(2 / 3)


@pytest.mark.parametrize("seed", range(4))
def test_any_label_against_all_pairs(seed):
    """By loops over boxes and objects: the best unknown object of each of the best K boxes."""
    scene, limit = random_scene(seed), 3
    matches = scene.match("paper")
    truth, found = scene.truth, scene.found
    unknown = [
        i for i, k in enumerate(truth.label) if truth.labels[k] not in scene.vocabulary.known
    ]
    covered = set()
    for image in range(len(truth.images)):
        rows = [r for r in range(len(found)) if found.image[r] == truth.images.id[image]]
        rows = sorted(rows, key=lambda r: -found.score[r])[:limit]
        here = [i for i in unknown if truth.image[i] == image]
        for row in rows:
            overlaps = [overlap(found.box[row], truth.box[i]) for i in here]
            if overlaps and max(overlaps) >= 0.5:
                covered.add(here[int(np.argmax(overlaps))])
    counts = [i for i in unknown if not (truth.crowd[i] or truth.difficult[i])]
    value = scene.value("unknown_recall_any_label", "paper", limit=limit).value
    assert value == pytest.approx(len(covered & set(counts)) / len(counts))
    assert len(matches) > limit


def overlap(a, b):
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    inside = max(width, 0) * max(height, 0)
    return inside / (a[2] * a[3] + b[2] * b[3] - inside)
